"""Bootstrap intervals against enumeration of every resample, and their laws."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from endoxa.errors import TextError
from endoxa.statistics import bootstrap
from endoxa.statistics.bootstrap import mean_intervals

KINDS = [("bootstrap-t", "symmetric"), ("bootstrap-t", "equal"), ("percentile", "equal")]
SAMPLE = np.array([0.05, 0.3, 0.35, 0.6, 1.0])


def rng(seed=7):
    return np.random.default_rng(seed)


def every_resample(values):
    """Mean and standard error of each of the n^n resamples."""
    drawn = np.array(list(product(values, repeat=len(values))))
    return drawn.mean(axis=1), drawn.std(axis=1, ddof=1) / np.sqrt(len(values))


def enumerated(values, method, tails, alpha):
    """The interval's two ends from the full resampling distribution, slowly."""
    m, se = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
    means, errors = every_resample(values)
    if method == "percentile":
        return np.quantile(means, alpha / 2), np.quantile(means, 1 - alpha / 2)
    t = np.array(
        [
            (0.0 if abs(a - m) < 1e-12 else np.copysign(np.inf, a - m)) if e < 1e-12 else (a - m) / e
            for a, e in zip(means, errors, strict=True)
        ]
    )
    if tails == "symmetric":
        c = np.sort(np.abs(t))[int(np.ceil((1 - alpha) * len(t))) - 1]
        return m - c * se, m + c * se
    t = np.sort(t)
    low, high = t[int(np.ceil(alpha / 2 * len(t))) - 1], t[int(np.ceil((1 - alpha / 2) * len(t))) - 1]
    return m - high * se, m - low * se


@pytest.mark.parametrize(("method", "tails"), KINDS)
def test_agrees_with_every_resample(method, tails):
    made = mean_intervals(SAMPLE, method=method, tails=tails, confidence=0.9, resamples=200_000, rng=rng())
    # The resampling distribution has steps: the sampled quantile must lie between neighbours 0.5 % away.
    narrow, wide = enumerated(SAMPLE, method, tails, 0.105), enumerated(SAMPLE, method, tails, 0.095)
    assert wide[0] - 1e-9 <= made.lo <= narrow[0] + 1e-9
    assert narrow[1] - 1e-9 <= made.hi <= wide[1] + 1e-9


def test_percentile_agrees_with_scipy():
    values = rng(1).beta(1, 2, 60)
    made = mean_intervals(values, method="percentile", resamples=40_000, rng=rng())
    theirs = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=40_000, rng=rng(2)
    ).confidence_interval
    assert made.lo == pytest.approx(theirs.low, abs=0.002)
    assert made.hi == pytest.approx(theirs.high, abs=0.002)


def test_mean_and_standard_error_are_the_plain_ones():
    values = rng(1).beta(1, 2, (6, 30))
    made = mean_intervals(values, resamples=100, rng=rng())
    np.testing.assert_allclose(made.mean, values.mean(axis=1))
    np.testing.assert_allclose(made.se, stats.sem(values, axis=1))
    assert (made.n == 30).all()


@pytest.mark.parametrize(("method", "tails"), KINDS)
def test_a_row_alone_is_a_row_in_a_batch(method, tails):
    values = rng(1).beta(1, 2, (7, 20))
    values[2, [3, 8]] = np.nan
    values[5, 0] = np.nan
    batch = mean_intervals(values, method=method, tails=tails, resamples=500, rng=rng())
    for row in range(7):
        told = values[row][~np.isnan(values[row])]
        alone = mean_intervals(told, method=method, tails=tails, resamples=500, rng=rng())
        assert batch.n[row] == len(told)
        assert (batch.lo[row], batch.hi[row]) == pytest.approx((float(alone.lo), float(alone.hi)))


def test_axes_before_the_last_broadcast():
    values = rng(1).beta(1, 2, (2, 3, 20))
    cube = mean_intervals(values, resamples=300, rng=rng())
    flat = mean_intervals(values.reshape(6, 20), resamples=300, rng=rng())
    assert cube.lo.shape == (2, 3)
    np.testing.assert_array_equal(cube.hi.ravel(), flat.hi)


def test_small_blocks_change_nothing_but_memory(monkeypatch):
    values = rng(1).beta(1, 2, (9, 20))
    whole = mean_intervals(values, resamples=4_000, rng=rng())
    monkeypatch.setattr(bootstrap, "BLOCK", 10_000)
    parts = mean_intervals(values, resamples=4_000, rng=rng())
    np.testing.assert_allclose(parts.lo, whole.lo, atol=0.01)
    np.testing.assert_allclose(parts.hi, whole.hi, atol=0.01)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 20), min_size=5, max_size=25).filter(lambda drawn: len(set(drawn)) > 3),
    st.floats(0.1, 50),
    st.floats(-20, 20),
)
def test_moves_and_scales_with_the_values(drawn, scale, shift):
    values = np.array(drawn, dtype=float)
    for method, tails in KINDS:
        plain = mean_intervals(values, method=method, tails=tails, resamples=200, confidence=0.8, rng=rng())
        moved = mean_intervals(
            scale * values + shift, method=method, tails=tails, resamples=200, confidence=0.8, rng=rng()
        )
        tolerance = 1e-6 * (1 + abs(shift) + scale)
        assert moved.lo == pytest.approx(scale * float(plain.lo) + shift, rel=1e-6, abs=tolerance)
        assert moved.hi == pytest.approx(scale * float(plain.hi) + shift, rel=1e-6, abs=tolerance)


@pytest.mark.parametrize(("method", "tails"), KINDS)
def test_a_higher_level_is_wider(method, tails):
    values = rng(1).beta(1, 2, 40)
    made = [
        mean_intervals(values, method=method, tails=tails, confidence=level, resamples=2_000, rng=rng())
        for level in (0.8, 0.9, 0.95, 0.99)
    ]
    assert [float(one.lo) for one in made] == sorted((float(one.lo) for one in made), reverse=True)
    assert [float(one.hi) for one in made] == sorted(float(one.hi) for one in made)


@pytest.mark.parametrize("values", [[], [0.4], [np.nan, 0.4], [np.nan, np.nan]])
def test_fewer_than_two_values_have_no_interval(values):
    made = mean_intervals(np.array(values), rng=rng())
    assert np.isnan([made.lo, made.hi, made.se]).all()
    told = [value for value in values if not np.isnan(value)]
    assert made.n == len(told)
    np.testing.assert_equal(float(made.mean), told[0] if told else np.nan)


@pytest.mark.parametrize(("method", "tails"), KINDS)
@pytest.mark.parametrize("values", [[0.1] * 30, [0.3, 0.1 + 0.2, 0.3], [0.0, 0.0], [0.7, np.nan, 0.7]])
def test_equal_values_have_a_point(method, tails, values):
    made = mean_intervals(np.array(values), method=method, tails=tails, rng=rng())
    assert made.lo == made.hi == made.mean
    assert made.se == 0


def test_few_values_that_differ_do_not_bound_the_mean():
    two = np.zeros(50)
    two[:2] = 0.3, 0.5  # 13 % of the resamples hold neither
    made = mean_intervals(two, rng=rng())
    assert (made.lo, made.hi) == (-np.inf, np.inf)
    upper = mean_intervals(two, tails="equal", rng=rng())
    assert upper.hi == np.inf
    assert np.isfinite(upper.lo)
    assert np.isinf(mean_intervals(np.array([0.1, 0.2, 0.4]), rng=rng()).hi)
    assert np.isfinite(mean_intervals(two, method="percentile", rng=rng()).hi)


def test_a_flat_resample_at_the_mean_is_no_surprise():
    balanced = np.zeros(50)
    balanced[:2] = 0.4, -0.4  # a resample of zeros has the sample's own mean
    assert np.isfinite(mean_intervals(balanced, rng=rng()).hi)


def test_ends_are_not_clipped():
    made = mean_intervals(np.array([0.0] * 12 + [0.2, 0.5, 1.0]), resamples=5_000, rng=rng())
    assert made.lo < 0


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"confidence": 95}, "between 0 and 1"),
        ({"method": "percentil"}, "did you mean percentile"),
        ({"tails": "both"}, "one of symmetric, equal"),
        ({"resamples": 10}, "at least 20"),
        ({"resamples": 30, "method": "percentile"}, "at least 40"),
    ],
)
def test_says_what_is_wrong(settings_, message):
    with pytest.raises(TextError, match=message):
        mean_intervals(SAMPLE, rng=rng(), **settings_)
