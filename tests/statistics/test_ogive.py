"""The cubic S-curve: check values, shape, and least squares."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.errors import TableError, TextError
from endoxa.statistics import isotonic
from endoxa.statistics.ogive import Ogive, concave, convex, fit

LEFT, RIGHT = np.array([1, 2.5]), np.array([6.0, 9])
CHECK = Ogive(0, 10, 4, 0.1, 0.02, LEFT, np.array([0.5, 0.3]), RIGHT, np.array([0.4, 0.2]), np.zeros((2, 2)))


def test_check_values():
    """docs/methods/studies.md, Cubic ogive, cubic ogive."""
    found = CHECK.predict(np.array([2.0, 4, 7, 10]))
    assert found == pytest.approx([1.358519, 3.23, 6.268667, 8.75], abs=5e-7)


def phi(x, t, t0):
    if x <= t:
        return 0
    return (x - t) ** 3 / (3 * (t0 - t) ** 2) if x <= t0 else (t0 - t) / 3 + (x - t0)


def psi(x, t, t0, a):
    if x <= t0:
        return x - a
    return (t0 - a) + (((t - t0) ** 3 - (t - x) ** 3) / (3 * (t - t0) ** 2) if x <= t else (t - t0) / 3)


@given(st.floats(-2, 12), st.floats(0, 3.9), st.floats(4.1, 10))
def test_basis_is_as_written(x, below, above):
    """The three branches of docs/methods/studies.md, Cubic ogive, one by one."""
    assert convex(np.array([x]), 4, np.array([below]))[0, 0] == pytest.approx(phi(x, below, 4))
    assert concave(np.array([x]), 0, 4, np.array([above]))[0, 0] == pytest.approx(psi(x, above, 4, 0))


def test_clipped_beyond_the_ends():
    assert CHECK.predict(np.array([-5.0, 15])).tolist() == CHECK.predict(np.array([0.0, 10])).tolist()


rows = st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 9), st.integers(1, 3)), min_size=1, max_size=40)


@given(rows)
@settings(deadline=None, max_examples=120)
def test_shape(points):
    """Nondecreasing, convex before the inflection, concave after; never better than the isotonic fit."""
    x, y, w = np.array(points, dtype=float).T
    made = fit(x, y, w)
    for lo, hi, sign in ((made.a, made.inflection, 1), (made.inflection, made.b, -1)):
        values = made.predict(np.linspace(lo, hi, 101))
        assert (np.diff(values) >= -1e-9).all()
        assert (sign * np.diff(values, 2) >= -1e-9).all()
    assert made.delta >= 0
    assert (made.gamma >= 0).all()
    assert (made.beta >= 0).all()
    assert (made.eta >= 0).all()
    if np.ptp(y) > 0:
        assert 0 <= made.r <= isotonic.fit(x, y, w).r + 1e-9


@given(rows, st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_no_other_coefficients_fit_better(points, seed):
    """Least squares: no curve of the family near by, or of random coefficients, has less error."""
    x, y, w = np.array(points, dtype=float).T
    made, rng = fit(x, y, w), np.random.default_rng(seed)
    error = (w * (y - made.predict(x)) ** 2).sum()
    for size in (0.01, 1.0):
        for _ in range(10):
            gamma = np.maximum(made.gamma + size * rng.normal(size=len(made.gamma)), 0)
            beta = np.maximum(made.beta + size * rng.normal(size=len(made.beta)), 0)
            delta = max(made.delta + size * rng.normal(), 0)
            alpha = made.alpha + size * rng.normal()
            eta = np.maximum(made.eta + size * rng.normal(size=made.eta.shape), 0)
            other = replace(made, alpha=alpha, delta=delta, gamma=gamma, beta=beta, eta=eta)
            assert (w * (y - other.predict(x)) ** 2).sum() >= error * (1 - 1e-9) - 1e-9


def test_methods_alone_cannot_be_flat_steep_and_flat():
    """Phi and Psi without S: f'(a) + f'(b) ≥ f'(t0), so that a logistic curve is out of reach. With S it is not."""
    rng = np.random.default_rng(1)
    step = 1e-6

    def slope(made, x):
        return float(np.diff(made.predict(np.array([x, x + step])))[0] / step)

    for _ in range(50):
        made = replace(CHECK, delta=rng.exponential(), gamma=rng.exponential(size=2), beta=rng.exponential(size=2))
        assert slope(made, 0) + slope(made, 10 - step) >= slope(made, 4 - step / 2) - 1e-3
    bent = replace(CHECK, delta=0, gamma=np.zeros(2), beta=np.zeros(2), eta=np.array([[1.0, 0], [0, 0]]))
    assert slope(bent, 0) == slope(bent, 10 - step) == 0
    assert slope(bent, 4 - step / 2) == pytest.approx(1, abs=1e-3)
    assert bent.predict(np.array([4.0, 6]))[1] - 0.1 == pytest.approx(3 / 3 + 2 / 3)


def test_finds_a_logistic_curve():
    x = np.linspace(-6, 6, 400)
    y = 1 + 4 / (1 + np.exp(-x + 1))
    made = fit(x, y)
    assert np.abs(made.predict(x) - y).max() < 0.06
    assert made.inflection == pytest.approx(1, abs=0.75)
    assert made.r > 0.999
    assert made.r == pytest.approx(np.corrcoef(made.predict(x), y)[0, 1])


def test_only_steepening_turns_at_the_end():
    x = np.linspace(0, 1, 50)
    assert fit(x, x**3).predict(x) == pytest.approx(x**3, abs=1e-6)
    assert fit(x, 1 - (1 - x) ** 3).predict(x) == pytest.approx(1 - (1 - x) ** 3, abs=1e-6)


def test_weights_are_copies():
    x, y, w = np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 3, 2, 5, 4]), np.array([1, 3, 2, 1, 2])
    at = np.linspace(1, 5, 9)
    copied = fit(np.repeat(x, w), np.repeat(y, w))
    assert fit(x, y, w.astype(float)).predict(at) == pytest.approx(copied.predict(at))


def test_flat_and_single():
    falling = fit(np.arange(9.0), -np.arange(9.0))
    assert falling.r == 0
    assert falling.predict(np.arange(9.0)) == pytest.approx([-4] * 9)
    one = fit(np.array([2.0, 2]), np.array([1.0, 3]))
    assert one.predict(np.array([0.0, 2, 9])) == pytest.approx([2, 2, 2])
    assert math.isnan(fit(np.arange(9.0), np.ones(9)).r)


def test_bad_input():
    with pytest.raises(TextError, match="0 inflections"):
        fit(np.arange(3.0), np.arange(3.0), inflections=0)
    with pytest.raises(TableError, match="one length"):
        fit(np.arange(3.0), np.arange(4.0))
