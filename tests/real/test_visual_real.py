"""Which words are visual, on real drawings fetched into the cache; and the coverage of the intervals, at length."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

from endoxa.errors import EndoxaError
from endoxa.io import packages
from endoxa.verbs.fetch import fetch
from endoxa.verbs.visual import visual
from endoxa.words.excess_intervals import excess_errors, half_widths
from endoxa.words.profiles import Profiles, contrasts, mean_excess
from endoxa.words.visualness import Visualness
from endoxa.words.word_nulls import picture_null, topic_null

NAME = "emoji" if "emoji" in packages.COLLECTIONS else "stamps"
LEAST = 20 if NAME == "emoji" else 8


@pytest.fixture(scope="module")
def corpus():
    try:
        return fetch(NAME)
    except EndoxaError as error:
        pytest.skip(f"{NAME} cannot be fetched here: {error}")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory):
    return tmp_path_factory.mktemp("visual")


@pytest.fixture(scope="module")
def found(corpus, home) -> Visualness:
    return visual(corpus, least=LEAST, iterated=True, home=home)


def test_some_words_are_visual_and_some_are_not(found: Visualness) -> None:
    print(f"\n{NAME}: {found.pictures:,} pictures, {found.regions:,} regions, {found.topics} topics")
    for row in found.frame.iter_rows(named=True):
        print(
            f"  {row['word']:16} n {row['n']:4} excess {row['excess']:.3f} above {row['above']:+.3f} "
            f"[{row['lo']:+.3f}, {row['hi']:+.3f}] z {row['z']:5.1f} q {row['q']:.3f} E {row['E']:.2f} "
            f"Hessel {row['hessel']:5.2f} selected E {row['selected_E']:.2f} of {row['selected_share']:.0%}"
        )
    assert 0 < len(found.visual) < found.frame.height
    if NAME == "emoji":
        assert {"hand", "clock", "arrow"} <= set(found.visual[:6])


def test_random_pictures_call_more_words_visual_than_random_topics(corpus, home, found: Visualness) -> None:
    """On Corel: 141 of 153 words with p ≤ .05 by pictures, 49 by topics."""
    by_pictures = visual(corpus, least=LEAST, null="pictures", home=home)
    counts = [int((one.frame["p"] <= 0.05).sum()) for one in (by_pictures, found)]
    print(f"\np ≤ .05: {counts[0]} of {found.frame.height} words by random pictures, {counts[1]} by random topics")
    assert counts[0] >= counts[1]


def test_raw_entropy_depends_on_the_number_of_pictures(found: Visualness) -> None:
    """On Corel the rank correlation of E and n is .63."""
    ranks = found.frame.select(pl.col("E", "n", "z").rank())
    values = {name: float(np.corrcoef(ranks[name], ranks["n"])[0, 1]) for name in ("E", "z")}
    print(f"\nrank correlation with the number of pictures: E {values['E']:+.2f}, z of excess {values['z']:+.2f}")


SETTINGS = [
    (special, topics, share) for special in (0.0, 0.15, 0.4) for topics, share in ((5, 0.5), (10, 0.5), (20, 0.2))
]


def world(rng: np.random.Generator, special: float, topics: int, share: float, by: str):
    """24 topics, each with its looks, and a word on a share of some topics; by pictures, each is its own topic."""
    sizes = rng.poisson(25, 24) + 5
    of = np.repeat(np.arange(24), sizes)
    has = np.isin(of, rng.permutation(24)[:topics]) & (rng.random(len(of)) < share)
    of = of if by == "topics" else np.arange(len(of))
    base, own = BASE
    count = int(of.max()) + 1
    looks, special_looks = rng.dirichlet(20 * base, count), rng.dirichlet(20 * own + 1e-3, count)
    part = rng.beta(4 * special, 4 * (1 - special), count)[of] if special else np.zeros(len(of))
    part = np.where(has, part, 0.0)[:, None]
    drawn = rng.gamma(15 * ((1 - part) * looks[of] + part * special_looks[of]) + 1e-3)
    return Profiles((6 * drawn / drawn.sum(axis=1, keepdims=True),), np.full(len(of), 6)), has[None], of


BASE = (
    np.random.default_rng(1).dirichlet(np.full(30, 1.0)), np.random.default_rng(2).dirichlet(np.full(30, 0.15))
)  # fmt: skip


def deleting(profiles: Profiles, has: np.ndarray, of: np.ndarray) -> float:
    """Half the width of the interval by deleting a topic at a time."""
    values = []
    for topic in np.unique(of[has[0]]):
        keep = of != topic
        fewer = Profiles(tuple(one[keep] for one in profiles.sums), profiles.counts[keep])
        values.append(mean_excess(contrasts(fewer, has[:, keep]))[0])
    k = len(values)
    return float(student.ppf(0.975, k - 1) * np.sqrt((k - 1) / k * np.sum((values - np.mean(values)) ** 2)))


@pytest.mark.parametrize("by", ["topics", "pictures"])
def test_the_coverage_of_the_intervals(by: str) -> None:
    """They cover the mean of excess above chance over repetitions; 200 of these leave an error of 1.5 %."""
    print(f"\n95 % intervals over {by}, 200 repetitions: special, topics, share; mean; coverage (deleting a topic)")
    covered = []
    for special, topics, share in SETTINGS:
        rng = np.random.default_rng(3)
        rows = []
        for repetition in range(200):
            profiles, has, of = world(rng, special, topics, share, by)
            one = contrasts(profiles, has)
            if by == "topics":
                null = topic_null(profiles, has, of, ["x"], draws=39, seed=repetition)
                other = deleting(profiles, has, of)
            else:
                other = np.nan
                null = picture_null(profiles, has, draws=39, rng=np.random.default_rng(repetition))
            half = half_widths(*excess_errors(profiles, has, one, of))[0]
            rows.append((mean_excess(one)[0] - null.excess.mean(), half, other))
        value, half, other = np.array(rows).T
        away = np.abs(value - value.mean())
        covered.append(float((away <= half).mean()))
        beside = f"{covered[-1]:.3f} ({(away <= other).mean():.3f})"
        print(f"  {special:.2f} {topics:3} {share:.1f}  {value.mean():+.3f}  {beside}")
    assert min(covered) >= 0.93
