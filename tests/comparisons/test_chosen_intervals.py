"""Which interval a mean over queries has: bounded where the range is known, bootstrap-t elsewhere, kept within it."""

import numpy as np
import pytest

from endoxa.comparisons import chosen_intervals
from endoxa.comparisons.chosen_intervals import can_be_short, intervals_over_queries
from endoxa.errors import TextError
from endoxa.statistics.bootstrap import mean_intervals
from endoxa.statistics.bounded import bounded_intervals


def rng(seed=7):
    return np.random.default_rng(seed)


def chosen(values, low=-np.inf, high=np.inf, interval="bootstrap-t"):
    return intervals_over_queries(
        values, low, high, interval=interval, confidence=0.95, resamples=500, rng=rng()
    )  # fmt: skip


def test_each_kind_is_the_one_of_statistics():
    values = rng(1).beta(1, 2, (4, 60))
    for interval in ("bootstrap-t", "percentile"):
        plain = mean_intervals(values, method=interval, confidence=0.95, resamples=500, rng=rng())
        found = chosen(values, 0.0, 1.0, interval)
        np.testing.assert_array_equal(found.lo, plain.lo)
        np.testing.assert_array_equal(found.hi, plain.hi)
        np.testing.assert_allclose(found.se, plain.se)
    within = bounded_intervals(values, 0.0, 1.0, confidence=0.95, resamples=500, rng=rng())
    np.testing.assert_array_equal(chosen(values, 0.0, 1.0, "bounded").hi, within.hi)


def test_without_a_range_bounded_is_bootstrap_t():
    values = rng(1).beta(1, 2, (3, 60))
    high = np.array([1.0, np.inf, 1.0])
    found = chosen(values, 0.0, high, "bounded")
    assert found.hi[1] == pytest.approx(chosen(values).hi[1])
    assert found.hi[0] == pytest.approx(chosen(values, 0.0, 1.0, "bounded").hi[0])
    assert found.hi[0] != pytest.approx(chosen(values).hi[0])


def test_where_few_values_differ_the_ends_follow_from_the_range():
    """Two of ten differences are not 0: the bootstrap has infinite ends."""
    d = np.array([0.0] * 8 + [0.3, 0.5])
    assert chosen(d).hi == np.inf
    found, within = chosen(d, -1.0, 1.0), bounded_intervals(d, -1.0, 1.0, confidence=0.95, resamples=500, rng=rng())
    assert (found.lo, found.hi) == (within.lo, within.hi)
    assert -0.35 < found.lo < found.hi < 0.5


def test_the_nearer_end_counts():
    d = rng(2).normal(0.1, 0.1, 20)
    free, found = chosen(d), chosen(d, -1.0, 1.0)
    assert (found.lo, found.hi) == (free.lo, free.hi)
    within = bounded_intervals(d, -1.0, 1.0, confidence=0.95, resamples=500, rng=rng())
    assert within.lo < found.lo < found.hi < within.hi


@pytest.mark.parametrize("interval", ["bootstrap-t", "bounded", "percentile"])
def test_equal_values_have_no_empty_interval(interval):
    found = chosen(np.full(20, 0.25), -1.0, 1.0, interval)
    assert found.lo < 0.25 < found.hi
    alone = chosen(np.full(20, 0.25), interval=interval)
    assert alone.lo == alone.hi == 0.25
    half = chosen(np.zeros(20), 0.0, np.inf, interval)
    assert half.lo == half.hi == 0


def test_few_values_and_none():
    values = np.array([[0.2, np.nan, np.nan], [np.nan, np.nan, np.nan], [0.1, 0.5, 0.3]])
    found = chosen(values, 0.0, 1.0, "bounded")
    assert 0 < found.lo[0] < 0.2 < found.hi[0] < 1
    assert np.isnan([found.lo[1], found.hi[1]]).all()
    plain = chosen(values, 0.0, 1.0)
    assert np.isnan(plain.lo).tolist() == [True, True, False]
    assert chosen(np.empty((2, 0)), 0.0, 1.0).n.tolist() == [0, 0]


def test_an_unknown_kind_is_refused():
    with pytest.raises(TextError, match="interval must be one of bootstrap-t, bounded, percentile, not 'bound'; did"):
        chosen(np.array([0.1, 0.2]), interval="bound")


def test_short_samples_are_told_and_skewed_ones():
    skewed, even = np.array([0.0] * 9 + [1.0]), np.linspace(0, 1, 10)
    rows = np.full((6, 60), np.nan)
    for row, (values, times) in enumerate([(skewed, 2), (even, 2), (skewed, 4), (even, 4), (skewed, 6)]):
        rows[row, : 10 * times] = np.repeat(values, times)
    rows[5, 0] = 0.5
    assert can_be_short(rows).tolist() == [True, True, True, False, False, False]


def test_few_are_fewer_than_30_values_beside_the_middle_one():
    rows = np.full((4, 61), 0.5)
    rows[0, :29] = np.linspace(0, 0.4, 29)
    rows[1, :30] = np.linspace(0, 0.4, 30)
    rows[2, :30] = np.linspace(0.6, 1, 30)
    rows[3, :31] = np.nan  # of 30 equal values none differs
    assert chosen_intervals._few(rows).tolist() == [True, False, False, True]
    odd = np.full((1, 59), 0.5)
    odd[0, :29] = np.linspace(0, 0.4, 29)  # the 30th of 59 is the middle one
    assert chosen_intervals._few(odd).tolist() == [True]
