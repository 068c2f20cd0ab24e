"""Adjusted p-values against their definitions and SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from endoxa.statistics.multiplicity import CORRECTIONS, benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(0, 1), max_size=15)


def slow_holm(p):
    """Smallest level at which Holm's step-down procedure rejects each hypothesis."""
    m, order, adjusted, worst = len(p), sorted(range(len(p)), key=lambda k: p[k]), [0.0] * len(p), 0.0
    for step, k in enumerate(order):
        worst = max(worst, min(1.0, (m - step) * p[k]))
        adjusted[k] = worst
    return adjusted


def test_worked_example():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(benjamini_hochberg(np.array([0.01, 0.04, 0.03, 0.005])), [0.02, 0.04, 0.04, 0.02])


@given(P_VALUES)
def test_holm_is_its_definition(p):
    np.testing.assert_allclose(holm(np.array(p)), slow_holm(p))


@given(P_VALUES.filter(bool))
def test_benjamini_hochberg_is_scipys(p):
    np.testing.assert_allclose(benjamini_hochberg(np.array(p)), stats.false_discovery_control(p))


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_nan_stays_and_is_not_counted(correction):
    p = np.array([0.01, np.nan, 0.04, 0.03, np.nan])
    adjusted = CORRECTIONS[correction](p)
    told = ~np.isnan(p)
    np.testing.assert_array_equal(np.isnan(adjusted), ~told)
    np.testing.assert_array_equal(adjusted[told], CORRECTIONS[correction](p[told]))
    np.testing.assert_equal(p, [0.01, np.nan, 0.04, 0.03, np.nan])


@given(P_VALUES)
def test_corrections_are_ordered(p):
    p = np.array(p)
    none, bh, strict = (CORRECTIONS[name](p) for name in ("none", "bh", "holm"))
    np.testing.assert_array_equal(none, p)
    assert (bh >= p - 1e-15).all()
    assert (strict >= bh - 1e-12).all()
    assert (strict <= 1).all()
