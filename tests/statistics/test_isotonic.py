"""Isotonic least squares: worked numbers, the theorem on correlation, and what noise gives."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from endoxa.errors import TableError
from endoxa.statistics.isotonic import fit, null_correlation

Y = np.array([1, 3, 2, 2, 5, 4, 4, 3, 5, 5], dtype=float)
X = np.arange(1.0, 11.0)


def test_worked_example():
    """docs/methods/studies.md, Isotonic regression: levels, SSE 2.666667, SST 18.4, r .924701."""
    made = fit(X, Y)
    assert made.y == pytest.approx([1, *[7 / 3] * 3, 4, 4, 4, 4, 5, 5])
    assert ((Y - made.y) ** 2).sum() == pytest.approx(2.666667, abs=5e-7)
    assert made.r == pytest.approx(0.924701, abs=5e-7)
    assert made.r == pytest.approx(math.sqrt(1 - 2.666666667 / 18.4))
    assert not made.constant


def test_worked_example_tied():
    """docs/methods/studies.md, Isotonic regression: x tied in pairs, r .884652."""
    x = np.repeat(np.arange(5.0), 2)
    made = fit(x, Y)
    assert made.x.tolist() == [0, 1, 2, 3, 4]
    assert made.weights.tolist() == [2] * 5
    assert made.predict(x) == pytest.approx([2, 2, 2, 2, 4, 4, 4, 4, 5, 5])
    assert made.r == pytest.approx(0.884652, abs=5e-7)
    assert made.r == pytest.approx(np.corrcoef(made.predict(x), Y)[0, 1])


def test_worked_folds():
    """By hand: folds by parity of the index, linear between and clipped beyond: r .535447."""
    even = np.arange(10) % 2 == 0
    predicted = np.where(even, fit(X[~even], Y[~even]).predict(X), fit(X[even], Y[even]).predict(X))
    assert predicted == pytest.approx([2.5, 1.5, 2.5, 3.25, 3, 4.5, 3.5, 4.75, 4.25, 5])
    assert np.corrcoef(predicted, Y)[0, 1] == pytest.approx(0.535447, abs=5e-7)


points = st.lists(st.tuples(st.integers(0, 6), st.integers(-5, 5), st.integers(1, 4)), min_size=3, max_size=12)


def weighted(f, y, w):
    """Pearson's r with weights, written out."""
    a, b = f - (w * f).sum() / w.sum(), y - (w * y).sum() / w.sum()
    return (w * a * b).sum() / math.sqrt((w * a * a).sum() * (w * b * b).sum())


@given(points, st.integers(0, 2**32))
@settings(deadline=None, max_examples=150)
def test_no_monotone_map_correlates_better(rows, seed):
    """No nondecreasing map has a larger correlation than the fit, r = √(1 - SSE/SST), with ties and weights too."""
    x, y, w = np.array(rows, dtype=float).T
    assume(np.ptp(y) > 0 and np.ptp(x) > 0)
    made = fit(x, y, w)
    fitted = made.predict(x)
    error, total = (w * (y - fitted) ** 2).sum(), (w * (y - (w * y).sum() / w.sum()) ** 2).sum()
    assert made.r == pytest.approx(math.sqrt(max(1 - error / total, 0)), abs=1e-7)
    if not made.constant:
        assert weighted(fitted, y, w) == pytest.approx(made.r)
    rng = np.random.default_rng(seed)
    for kind in range(20):
        steps = rng.exponential(size=7) ** 3 * (rng.random(7) < (0.3 if kind % 2 else 1))
        moved = np.cumsum(steps)[x.astype(int)]
        if np.ptp(moved) > 1e-9:
            assert weighted(moved, y, w) <= made.r + 1e-9


@given(points)
@settings(deadline=None, max_examples=60)
def test_least_squares_by_enumeration(rows):
    """Every partition into blocks, each at its mean: the best that is ordered is the fit."""
    x, y, w = np.array(rows, dtype=float).T
    made = fit(x, y, w)
    at = np.searchsorted(made.x, x)
    best = np.inf
    for cut in product([False, True], repeat=len(made.x) - 1):
        block = np.array([0, *np.cumsum(cut)], dtype=int)[at]
        levels = np.array([np.average(y[block == b], weights=w[block == b]) for b in range(block.max() + 1)])
        if all(a <= b + 1e-12 for a, b in pairwise(levels)):
            best = min(best, (w * (y - levels[block]) ** 2).sum())
    assert (w * (y - made.predict(x)) ** 2).sum() == pytest.approx(best, abs=1e-9)


def test_predicts_between_and_beyond():
    made = fit(np.array([0.0, 2.0]), np.array([1.0, 5.0]))
    at = np.array([-9.0, 0, 1, 2, 9])
    assert made.predict(at).tolist() == [1, 1, 3, 5, 5]


def test_falling_is_constant():
    made = fit(X, -X)
    assert made.constant
    assert made.r == 0
    assert made.predict(X) == pytest.approx([-5.5] * 10)


def test_no_spread_has_no_correlation():
    assert math.isnan(fit(X, np.full(10, 0.1)).r)
    assert math.isnan(fit(np.array([1.0]), np.array([2.0])).r)


@pytest.mark.parametrize(
    ("n", "r"), [(50, 0.267), (100, 0.206), (500, 0.108), (1250, 0.073), (5000, 0.040), (20000, 0.022)]
)
def test_null_level(n, r):
    """The correlation that noise gives, as in docs/methods/studies.md, Isotonic regression."""
    assert null_correlation(n) == pytest.approx(r, abs=5e-4)


@pytest.mark.parametrize("n", [2, 20, 50])
def test_null_level_is_what_noise_gives(n):
    """E[r²] = (H_n - 1) / (n - 1), within four standard errors of 3,000 fits."""
    rng = np.random.default_rng(n)
    squares = np.array([fit(np.arange(n), rng.normal(size=n)).r ** 2 for _ in range(3000)])
    error = squares.std() / math.sqrt(len(squares))
    assert abs(squares.mean() - null_correlation(n) ** 2) < 4 * error


def test_null_level_of_one_is_undefined():
    assert math.isnan(null_correlation(1))


@pytest.mark.parametrize(
    ("x", "y", "w", "says"),
    [
        ([1, 2], [1], None, "one length"),
        ([], [], None, "no point"),
        ([1, math.nan], [1, 2], None, "x number 2"),
        ([1, 2], [math.inf, 2], None, "y number 1"),
        ([1, 2], [1, 2], [1, 0], "weight number 2"),
    ],
)
def test_bad_input(x, y, w, says):
    with pytest.raises(TableError, match=says):
        fit(np.array(x), np.array(y), None if w is None else np.array(w))
