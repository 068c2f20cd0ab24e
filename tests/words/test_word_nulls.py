"""Random words: a worked enumeration, each null beside its plain definition, uniform p values."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from region_samples import drawn_profiles, golden
from scipy.stats import chisquare, kstest

from endoxa.words.profiles import contrasts, mean_entropy, mean_excess
from endoxa.words.word_nulls import against, picture_null, placed, topic_null


def subsets(pictures: int, size: int) -> np.ndarray:
    has = np.zeros((0, pictures), np.bool_)
    for chosen in combinations(range(pictures), size):
        has = np.concatenate([has, np.isin(np.arange(pictures), chosen)[None]])
    return has


def test_all_subsets_of_the_example() -> None:
    found = contrasts(golden(), subsets(5, 2))
    excess, entropy = mean_excess(found), mean_entropy(found)
    beside = against(excess[:1], excess[:, None])
    assert (beside.mean[0], beside.sd[0], beside.z[0]) == pytest.approx((0.240833, 0.143877, 1.801303), abs=5e-7)
    assert against(-entropy[:1], -entropy[:, None]).z[0] == pytest.approx(0.166250, abs=5e-7)
    # The word itself is one of the ten subsets, so that p counts it and the nine others.
    assert against(excess[:1], excess[1:, None]).p[0] == pytest.approx(0.1)
    assert against(-entropy[:1], -entropy[1:, None]).p[0] == pytest.approx(0.3)


def test_a_null_without_spread_has_no_z() -> None:
    beside = against(np.array([1.0]), np.ones((9, 1)))
    assert np.isnan(beside.z[0]) and beside.sd[0] == 0 and beside.p[0] == 1


def test_random_pictures_are_all_subsets_equally_often() -> None:
    profiles = drawn_profiles(np.repeat([0, 1], 3), seed=3)
    has = subsets(6, 2)[:1]
    null = picture_null(profiles, has, draws=1500, rng=np.random.default_rng(0))
    found = contrasts(profiles, subsets(6, 2))
    for drawn, known in ((null.excess, mean_excess(found)), (null.entropy, mean_entropy(found))):
        counts = Counter(np.round(drawn[:, 0], 9))
        assert set(counts) == set(np.round(known, 9))
        assert chisquare(list(counts.values())).pvalue > 0.01


def test_one_permutation_serves_all_sizes() -> None:
    profiles = drawn_profiles(np.repeat(np.arange(5), 8), seed=4)
    sizes = [3, 3, 10, 20]
    has = np.arange(40) < np.array(sizes)[:, None]
    null = picture_null(profiles, has, draws=3, rng=np.random.default_rng(7))
    rng = np.random.default_rng(7)
    for draw in range(3):
        order = rng.permutation(40)[:20]
        chosen = np.stack([np.isin(np.arange(40), order[:size]) for size in sizes])
        found = contrasts(profiles, chosen)
        assert null.excess[draw] == pytest.approx(mean_excess(found), abs=1e-12)
        assert null.entropy[draw] == pytest.approx(mean_entropy(found), abs=1e-12)


def test_random_topics_are_all_placements_equally_often() -> None:
    """Counts 2 and 1 in topics of 3, 2, 2 and 1 pictures: 2 goes to one of three topics, 1 to one of the others."""
    topics = np.repeat([0, 1, 2, 3], [3, 2, 2, 1])
    profiles = drawn_profiles(topics, seed=5)
    has = np.array([[True, True, False, True, False, False, False, False]])
    null = topic_null(profiles, has, topics, ["x"], draws=1500, seed=1)
    weights: dict[float, float] = {}
    for pair in combinations(range(8), 3):
        held = np.bincount(topics[list(pair)], minlength=4)
        if sorted(held[held > 0]) != [1, 2]:
            continue
        two, one = int(np.flatnonzero(held == 2)[0]), int(np.flatnonzero(held == 1)[0])
        inside = {3: 3, 2: 1}[int((topics == two).sum())] * int((topics == one).sum())
        value = float(mean_excess(contrasts(profiles, np.isin(np.arange(8), pair)[None]))[0])
        weights[round(value, 9)] = 1500 / (3 * 3 * inside)
    counts = Counter(np.round(null.excess[:, 0], 9))
    assert set(counts) == set(weights)
    assert chisquare([counts[one] for one in weights], list(weights.values())).pvalue > 0.01


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(0, 1000))
def test_counts_always_find_topics_that_hold_them(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = np.array([rng.integers(0, size + 1) for size in sizes])
    counts[0] = max(counts[0], 1)  # a word is on some picture
    wanted, topics = placed(counts, np.array(sizes), 7, rng=rng)
    assert sorted(wanted) == sorted(counts[counts > 0])
    for row in topics:
        assert len(set(row)) == len(row), "no topic twice"
        assert (np.array(sizes)[row] >= wanted).all()


def test_a_word_has_the_same_null_in_any_company() -> None:
    topics = np.repeat(np.arange(6), 5)
    profiles = drawn_profiles(topics, seed=6)
    rng = np.random.default_rng(0)
    has = rng.random((3, 30)) < 0.3
    together = topic_null(profiles, has, topics, ["a", "b", "c"], draws=20, seed=2)
    alone = topic_null(profiles, has[1:2], topics, ["b"], draws=20, seed=2)
    assert together.excess[:, 1] == pytest.approx(alone.excess[:, 0], abs=1e-12)


@pytest.fixture(scope="module")
def corpus() -> tuple[np.ndarray, object]:
    """400 pictures of 20 topics; pictures of a topic look alike."""
    topics = np.repeat(np.arange(20), 20)
    return topics, drawn_profiles(topics, 16, spread=12.0, seed=8)


def test_words_on_random_pictures_are_not_visual(corpus) -> None:
    """Over 200 words on 20 to 120 random pictures, p is uniform."""
    _, profiles = corpus
    rng = np.random.default_rng(9)
    has = np.zeros((200, 400), np.bool_)
    for row in has:
        row[rng.permutation(400)[: rng.integers(20, 121)]] = True
    null = picture_null(profiles, has, draws=999, rng=np.random.default_rng(10))
    beside = against(mean_excess(contrasts(profiles, has)), null.excess)
    assert kstest(beside.p, "uniform").pvalue > 0.05
    assert abs(beside.z.mean()) < 0.2 and 0.85 < beside.z.std() < 1.15


def test_words_on_random_topics_are_visual_by_pictures_but_not_by_topics(corpus) -> None:
    """Words that cling to random topics: uniform p under the null of topics; the null of pictures calls them visual."""
    topics, profiles = corpus
    rng = np.random.default_rng(12)
    has = np.zeros((200, 400), np.bool_)
    for row in has:
        chosen = rng.permutation(20)[: rng.integers(2, 7)]
        row[:] = np.isin(topics, chosen) & (rng.random(400) < 0.6)
    words = [f"w{at}" for at in range(200)]
    excess = mean_excess(contrasts(profiles, has))
    by_topic = against(excess, topic_null(profiles, has, topics, words, draws=199, seed=13).excess)
    assert kstest(by_topic.p, "uniform").pvalue > 0.05
    by_picture = against(excess, picture_null(profiles, has, draws=199, rng=np.random.default_rng(14)).excess)
    assert (by_picture.p <= 0.05).mean() > 0.9
