"""Weighted estimates against a worked example and every outcome of its two draws."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from endoxa.errors import TableError, TextError
from endoxa.statistics import propensity
from endoxa.statistics.propensity import effective, inclusion, largest_share

Z = 1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5
Q1 = 1 / np.array([1, 2, 3, 4, 5]) / Z
Q2 = 1 / np.array([3, 1, 5, 2, 4]) / Z
Y = np.array([1.0, 1, 0, 0, 1])
PI = inclusion([Q1, Q2])


def horvitz_thompson(y, pi):
    """Total over all items from the sampled ones, each once: unbiased."""
    return (y / pi).sum()


def hajek(y, pi):
    """Mean over all items from the sampled ones."""
    return (y / pi).sum() / (1 / pi).sum()


def balance(y, expected):
    """Total from all draws, repeated ones kept; `expected` is how often systems together draw the item: unbiased."""
    return (y / expected).sum()


def outcomes():
    """Every pair of draws with its probability: 25 of them."""
    return [((a, b), Q1[a] * Q2[b]) for a, b in product(range(5), repeat=2)]


def moments(estimate):
    values = np.array([estimate(drawn) for drawn, _ in outcomes()])
    chances = np.array([p for _, p in outcomes()])
    first = (chances * values).sum()
    return first, np.sqrt((chances * (values - first) ** 2).sum())


@pytest.mark.parametrize(
    ("made", "printed"),
    [
        (Q1, [0.437956, 0.218978, 0.145985, 0.109489, 0.087591]),
        (Q2, [0.145985, 0.437956, 0.087591, 0.218978, 0.109489]),
        (PI, [0.520006, 0.561031, 0.220790, 0.304491, 0.187490]),
        (Q1 + Q2, [0.583942, 0.656934, 0.233577, 0.328467, 0.197080]),
    ],
)
def test_golden_chances(made, printed):
    assert made == pytest.approx(printed, abs=5e-7)


def test_golden_of_one_sample():
    drawn = [0, 3]
    assert horvitz_thompson(Y[drawn], PI[drawn]) == pytest.approx(1.923053, abs=5e-7)
    assert hajek(Y[drawn], PI[drawn]) == pytest.approx(0.369305, abs=5e-7)
    assert balance(Y[drawn], (Q1 + Q2)[drawn]) == pytest.approx(1.7125, abs=5e-7)


def test_over_all_outcomes():
    def once(drawn):
        return sorted(set(drawn))

    assert moments(lambda d: horvitz_thompson(Y[once(d)], PI[once(d)])) == pytest.approx((3, 2.001094), abs=5e-7)
    assert moments(lambda d: balance(Y[list(d)], (Q1 + Q2)[list(d)])) == pytest.approx((3, 1.951218), abs=5e-7)
    assert moments(lambda d: hajek(Y[once(d)], PI[once(d)]))[0] == pytest.approx(0.664676, abs=5e-7)
    # what the original did: pooled draws, weighted as if system 1 had made them all
    assert moments(lambda d: (Y[list(d)] / (2 * Q1[list(d)])).sum())[0] == pytest.approx(3.291667, abs=5e-7)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=1, max_size=2),
    st.lists(st.integers(0, 2), min_size=2, max_size=2),
)
def test_inclusion_is_the_chance_of_being_drawn(shares, draws):
    q = np.array(shares, dtype=float)
    q /= q.sum(axis=1, keepdims=True)
    draws = draws[: len(q)]
    systems = [m for m, n in enumerate(draws) for _ in range(n)]
    expected = np.zeros(3)
    for drawn in product(range(3), repeat=len(systems)):
        chance = np.prod([q[m, j] for m, j in zip(systems, drawn, strict=True)])
        expected[list(set(drawn))] += chance
    assert inclusion(q, draws) == pytest.approx(expected)


def test_inclusion_at_the_ends():
    assert inclusion([[1.0, 0.0]], 3).tolist() == [1, 0]
    assert inclusion([[1.0, 0.0]], 0).tolist() == [0, 0]
    assert inclusion([[1e-18]], 1)[0] == pytest.approx(1e-18, rel=1e-12)


def test_worth_of_weights():
    assert effective([1, 1, 1, 1]) == 4
    assert effective([3, 1]) == pytest.approx(1.6)
    assert effective([]) == 0
    assert largest_share([3, 1]) == 0.75
    assert np.isnan(largest_share([]))


def test_mean_of_equal_weights_and_clusters_of_one_is_students():
    y = np.random.default_rng(3).normal(size=40)
    made = propensity.mean(y, np.full(40, 7.0), np.arange(40))
    found = stats.ttest_1samp(y, 0).confidence_interval(0.95)
    assert (made.value, made.lo, made.hi) == pytest.approx((y.mean(), found.low, found.high))
    assert (made.effective, made.share, made.n, made.clusters) == pytest.approx((40, 1 / 40, 40, 40))
    assert not made.refused


def test_mean_with_clusters_by_hand():
    y, w, query = np.array([1.0, 0, 1, 1]), np.array([1.0, 2, 3, 4]), np.array(["b", "a", "b", "c"])
    made = propensity.mean(y, w, query)
    parts = {name: sum(b * (a - 0.8) for a, b, c in zip(y, w, query, strict=True) if c == name) / 10 for name in "abc"}
    assert made.value == pytest.approx(0.8)
    assert made.se == pytest.approx(np.sqrt(3 / 2 * sum(v**2 for v in parts.values())))


def test_no_interval_below_thirty():
    few = propensity.mean(np.arange(29.0), np.ones(29), np.arange(29))
    assert few.value == 14
    assert np.isnan([few.lo, few.hi]).all()
    assert "29.0, below 30" in few.refused
    assert not propensity.mean(np.arange(30.0), np.ones(30), np.arange(30)).refused
    lopsided = propensity.mean(np.arange(200.0), np.append(np.ones(199), 1e6), np.arange(200))
    assert lopsided.refused
    assert lopsided.share > 0.99
    assert "one query" in propensity.mean(np.arange(40.0), np.ones(40), np.zeros(40)).refused
    nothing = propensity.mean([], [], [])
    assert np.isnan(nothing.value)
    assert nothing.refused


def test_intervals_cover():
    """Hájek means of samples with unequal chances, 40 queries of 30 items that differ: 95 % cover some 95 %."""
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(400):
        level = rng.beta(2, 3, 40)
        y = (rng.random((40, 30)) < level[:, None]).astype(float)
        pi = np.broadcast_to(np.where(np.arange(30) < 10, 0.5, 0.15), y.shape)
        asked = rng.random(y.shape) < pi
        query = np.broadcast_to(np.arange(40)[:, None], y.shape)
        made = propensity.mean(y[asked], 1 / pi[asked], query[asked])
        covered += made.lo <= 2 / 5 <= made.hi
    assert 0.92 <= covered / 400 <= 0.98


def test_refusals():
    with pytest.raises(TableError, match=r"q 1\.5 is not in"):
        inclusion([[1.5]])
    with pytest.raises(TableError, match="one row per system"):
        inclusion([0.5, 0.5])
    with pytest.raises(TextError, match="draws 0 times or more"):
        inclusion([[0.5]], -1)
    with pytest.raises(TableError, match="give one of each"):
        propensity.mean([1], [1, 2], [1])
    with pytest.raises(TableError, match="a number above 0"):
        propensity.mean([1], [0], [1])
    with pytest.raises(TextError, match="between 0 and 1"):
        propensity.mean([1], [1], [1], confidence=95)
