"""Errors of excess: the formula beside its definition, and coverage, simulated."""

from __future__ import annotations

import numpy as np
import pytest
from region_samples import drawn_profiles
from scipy.stats import t as student

from endoxa.words.excess_intervals import excess_errors, half_widths
from endoxa.words.profiles import Profiles, contrasts, mean_excess
from endoxa.words.word_nulls import topic_null


def test_the_error_is_that_of_leaving_out_a_little_of_each_topic() -> None:
    """se² = k/(k-1) Σ_t (d excess / d weight of topic t)², where the components that exceed do not change."""
    topics = np.repeat(np.arange(6), 7)
    profiles = drawn_profiles(topics, seed=1)
    rng = np.random.default_rng(2)
    has = (rng.random((2, 42)) < 0.5) & np.isin(topics, [0, 1, 2, 3])
    found = contrasts(profiles, has)
    errors, k = excess_errors(profiles, has, found, topics)
    assert k.tolist() == [4, 4]
    for word in range(2):
        slopes = []
        for topic in range(6):
            weight = np.where(topics == topic, 1 + 1e-6, 1.0)
            changed = Profiles(tuple(weight[:, None] * sums for sums in profiles.sums), profiles.counts * weight)
            slopes.append((mean_excess(contrasts_of(changed, has))[word] - mean_excess(found)[word]) / 1e-6)
        assert errors[word] == pytest.approx(np.sqrt(4 / 3 * np.sum(np.square(slopes))), rel=1e-3)


def contrasts_of(profiles: Profiles, has: np.ndarray):
    """As `contrasts`, with weights instead of counts of regions."""
    from endoxa.words.profiles import Contrast

    own, whole = has.astype(float), float(profiles.counts.sum())
    pairs = zip(profiles.sums, profiles.totals, strict=True)
    return [Contrast.of(own @ sums, own @ profiles.counts, total, whole) for sums, total in pairs]  # type: ignore[arg-type]


def test_one_topic_has_no_error() -> None:
    topics = np.repeat([0, 1, 2], 5)
    profiles = drawn_profiles(topics, seed=1)
    has = np.stack([topics == 0, topics < 2])
    errors, k = excess_errors(profiles, has, contrasts(profiles, has), topics)
    assert k.tolist() == [1, 2] and np.isnan(errors[0]) and errors[1] > 0
    half = half_widths(errors, k)
    assert np.isnan(half[0]) and half[1] == pytest.approx(student.ppf(0.975, 1) * errors[1])


def world(rng: np.random.Generator, special: float) -> tuple[Profiles, np.ndarray, np.ndarray]:
    """20 topics with looks of their own; a word on about half the pictures of 8, `special` of whose regions are its."""
    sizes = rng.poisson(15, 20) + 5
    topics = np.repeat(np.arange(20), sizes)
    looks, own = rng.dirichlet(np.full(12, 2.0), 20), rng.dirichlet(np.where(np.arange(12) < 2, 8.0, 0.2), 20)
    has = np.isin(topics, rng.permutation(20)[:8]) & (rng.random(len(topics)) < 0.5)
    share = np.where(has, rng.beta(4 * special, 4 * (1 - special), 20)[topics] if special else 0.0, 0.0)[:, None]
    means = (1 - share) * looks[topics] + share * own[topics]
    draws = rng.gamma(10 * means + 1e-3)
    sums = 4 * draws / draws.sum(axis=1, keepdims=True)
    return Profiles((sums,), np.full(len(topics), 4)), has[None], topics


@pytest.mark.parametrize("special", [0.0, 0.3])
def test_intervals_cover_the_average_of_other_topics(special: float) -> None:
    """95 % intervals contain what excess - null mean is on average, in 94 % of 150 repetitions or more."""
    rng = np.random.default_rng(3)
    found, half = [], []
    for repetition in range(150):
        profiles, has, topics = world(rng, special)
        one = contrasts(profiles, has)
        null = topic_null(profiles, has, topics, ["x"], draws=19, seed=repetition).excess.mean()
        found.append(mean_excess(one)[0] - null)
        half.append(half_widths(*excess_errors(profiles, has, one, topics))[0])
    covered = np.abs(np.array(found) - np.mean(found)) <= np.array(half)
    assert covered.mean() >= 0.94
    assert np.mean(half) < 0.5, "and they say something"
    if not special:
        assert abs(np.mean(found)) < 0.01, "a word without a look of its own has no excess above chance"
