"""Support vector machines: the conditions of optimality, and a case by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.searches.vector_machines import GAP, train


def test_two_points_by_hand() -> None:
    """Points at -1 and 3: the border is in the middle, at 1, and both points lie at a distance of 1 from f = 0."""
    x = np.array([-1.0, 3.0])
    a, b = train(np.outer(x, x), np.array([-1.0, 1.0]), np.full(2, 10.0))
    assert a == pytest.approx([-0.125, 0.125])
    assert np.outer(x, x) @ a + b == pytest.approx([-1, 1])
    capped, _ = train(np.outer(x, x), np.array([-1.0, 1.0]), np.full(2, 0.1))
    assert capped == pytest.approx([-0.1, 0.1])


@given(st.integers(0, 1000), st.integers(4, 40), st.floats(0.1, 100))
@settings(max_examples=40)
def test_the_conditions_of_optimality_hold(seed: int, n: int, cost: float) -> None:
    """0 ≤ α ≤ cost, Σ a = 0, and l f(x) is at least 1 where α = 0, 1 between, at most 1 where α = cost."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    label = np.where(np.arange(n) % 2, 1.0, -1.0)
    kernel = np.exp(-((x[:, None] - x[None]) ** 2).sum(-1))
    costs = cost * rng.uniform(0.2, 1, n)
    a, b = train(kernel, label, costs)
    alpha, margin = a * label, label * (kernel @ a + b)
    assert a.sum() == pytest.approx(0, abs=1e-9 * cost * n)
    assert (alpha >= 0).all() and (alpha <= costs + 1e-9).all()
    assert (margin[alpha < costs - 1e-9] >= 1 - 2 * GAP).all()
    assert (margin[alpha > 1e-9] <= 1 + 2 * GAP).all()
