"""Intervals within a known range against exact laws of weighted sums, Clopper and Pearson, and their own laws."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from endoxa.errors import TextError
from endoxa.statistics import bounded
from endoxa.statistics.bounded import bounded_intervals

VALUES = st.lists(st.integers(0, 20), min_size=1, max_size=20)


def rng(seed=7):
    return np.random.default_rng(seed)


def ends(values, low=0.0, high=1.0, **given):
    made = bounded_intervals(np.array(values, dtype=float), low, high, rng=rng(), **{"resamples": 400} | given)
    return float(made.lo), float(made.hi)


def chance_above(points, t):
    """P(Σ w x > t), w ~ Dirichlet(1, …, 1), distinct x: Σ over x_i > t of Π over j ≠ i of (x_i - t)/(x_i - x_j)."""
    total = Fraction(0)
    for i, x in enumerate(points):
        if x > t:
            part = Fraction(1)
            for other in points[:i] + points[i + 1 :]:
                part *= (x - t) / (x - other)
            total += part
    return float(total)


@pytest.mark.parametrize("values", [[30], [5, 80], [5, 30, 35, 60], [1, 2, 3, 4, 5, 6, 7, 80]])
def test_ends_are_quantiles_of_the_exact_law(values):
    """2.5 % of the drawn means lie beyond an end; of 200,000 draws this is known to ±.1 %."""
    lo, hi = ends([value / 100 for value in values], resamples=200_000)
    points = [Fraction(value, 100) for value in values]
    assert chance_above([*points, Fraction(1)], Fraction(hi)) == pytest.approx(0.025, abs=0.0015)
    assert chance_above([*points, Fraction(0)], Fraction(lo)) == pytest.approx(0.975, abs=0.0015)


@pytest.mark.parametrize(("hits", "queries"), [(0, 10), (2, 10), (5, 25), (59, 60), (60, 60)])
def test_hits_and_misses_have_clopper_and_pearsons_interval(hits, queries):
    lo, hi = ends([1.0] * hits + [0.0] * (queries - hits), resamples=200_000)
    exact = binomtest(hits, queries).proportion_ci(method="exact")
    assert (lo, hi) == pytest.approx((exact.low, exact.high), abs=0.002)
    assert hits > 0 or lo == 0
    assert hits < queries or hi == 1


@pytest.mark.parametrize("queries", [1, 10, 50])
def test_equal_values_leave_room_to_the_ends_of_the_range(queries):
    """The weight of one more query exceeds 1 - (α/2)^(1/n) with probability α/2."""
    lo, hi = ends([0.4] * queries, resamples=200_000)
    weight = 1 - 0.025 ** (1 / queries)
    assert (lo, hi) == pytest.approx((0.4 - 0.4 * weight, 0.4 + 0.6 * weight), abs=0.003)


@settings(max_examples=60, deadline=None)
@given(VALUES, st.randoms(use_true_random=False))
def test_laws(drawn, chance):
    values = np.array(drawn) / 20
    lo, hi = ends(values)
    assert 0 <= lo <= values.mean() + 1e-12
    assert values.mean() - 1e-12 <= hi <= 1
    turned = drawn.copy()
    chance.shuffle(turned)
    assert ends(np.array(turned) / 20) == pytest.approx((lo, hi), abs=1e-12)  # the order of the queries
    assert ends(-values, -1.0, 0.0) == pytest.approx((-hi, -lo), abs=1e-12)  # the sign
    assert ends(3 * values - 2, -2.0, 1.0) == pytest.approx((3 * lo - 2, 3 * hi - 2), abs=1e-9)  # the scale
    more = np.minimum(values + 0.1, 1)
    assert ends(more)[0] >= lo - 1e-12
    assert ends(more)[1] >= hi - 1e-12
    wide = ends(values, confidence=0.99)
    assert wide[0] <= lo
    assert wide[1] >= hi


def test_a_row_alone_is_a_row_in_a_batch():
    values = rng(1).beta(1, 2, (7, 20))
    values[2, [3, 8]] = np.nan
    values[5] = np.nan
    high = np.linspace(1, 2, 7)
    batch = bounded_intervals(values, 0.0, high, resamples=500, rng=rng())
    for row in (0, 1, 2, 3, 4, 6):
        known = values[row][~np.isnan(values[row])]
        assert (batch.lo[row], batch.hi[row]) == pytest.approx(ends(known, high=high[row], resamples=500))
        assert batch.n[row] == len(known)
    assert np.isnan([batch.mean[5], batch.lo[5], batch.hi[5]]).all()


def test_axes_before_the_last_broadcast():
    values = rng(1).random((2, 3, 15))
    cube = bounded_intervals(values, 0.0, 1.0, resamples=300, rng=rng())
    flat = bounded_intervals(values.reshape(6, 15), 0.0, 1.0, resamples=300, rng=rng())
    assert cube.lo.shape == (2, 3)
    np.testing.assert_array_equal(cube.hi.ravel(), flat.hi)
    assert bounded_intervals(np.empty((0, 15)), 0.0, 1.0, rng=rng()).lo.shape == (0,)


def test_small_blocks_change_nothing_but_memory(monkeypatch):
    values = rng(1).random((9, 20))
    whole = bounded_intervals(values, 0.0, 1.0, resamples=2_000, rng=rng())
    monkeypatch.setattr(bounded, "BLOCK", 10_000)
    parts = bounded_intervals(values, 0.0, 1.0, resamples=2_000, rng=rng())
    np.testing.assert_allclose(parts.lo, whole.lo, atol=1e-12)
    np.testing.assert_allclose(parts.hi, whole.hi, atol=1e-12)


def test_an_infinite_range_gives_an_infinite_end():
    lo, hi = ends([1.0, 2.0, 3.0], 0.0, np.inf)
    assert 0 < lo < 2
    assert hi == np.inf
    assert ends([1.0, 2.0], -np.inf, np.inf) == (-np.inf, np.inf)


def test_says_what_is_wrong():
    with pytest.raises(TextError, match="confidence must lie between 0 and 1"):
        ends([0.5], confidence=95)
    with pytest.raises(TextError, match=r"20 resamples are too few for confidence 0\.95; take at least 40"):
        ends([0.5], resamples=20)
