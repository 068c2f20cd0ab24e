"""Means over overlapping resamples: worked numbers, and coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from endoxa.errors import TextError
from endoxa.statistics.resampled import resampled

WORKED = np.array([0.10, 0.12, 0.08, 0.11, 0.13, 0.09, 0.10, 0.12, 0.11, 0.14])


def test_the_worked_example() -> None:
    found = resampled(WORKED, 625, 1875)
    assert round(found.value, 6) == 0.11
    assert round(found.naive, 6) == 0.005774
    assert round(found.se, 6) == 0.012019
    assert found.lo < 0.11 < found.hi and found.hi - found.value == pytest.approx(2.262157 * found.se, rel=1e-6)
    assert 0 < found.p < 0.001


def test_p_is_that_of_the_interval() -> None:
    found = resampled(WORKED - 0.08, 625, 1875)
    edge = resampled(WORKED - 0.08, 625, 1875, confidence=1 - found.p)
    assert edge.lo == pytest.approx(0, abs=1e-12)


def test_what_is_not_known_is_nan() -> None:
    one = resampled(np.array([0.3]), 1, 3)
    assert one.value == 0.3 and all(math.isnan(part) for part in (one.se, one.naive, one.lo, one.hi, one.p))
    assert math.isnan(resampled(np.zeros(0), 1, 3).value)
    assert resampled(np.array([0.1, np.nan, 0.3]), 1, 3).value == pytest.approx(0.2)
    with pytest.raises(TextError, match="confidence is 1"):
        resampled(WORKED, 1, 3, confidence=1)


def test_equal_values_have_no_spread() -> None:
    found = resampled(np.full(5, 0.1), 1, 3)
    assert (found.se, found.lo, found.hi) == (0, found.value, found.value) and math.isnan(found.p)
    assert resampled(np.zeros(5), 1, 3).p == 1


def test_the_correction_covers_where_the_naive_error_does_not() -> None:
    """A learner that predicts the training mean: its error on new data, estimated by ten random splits of 100 values.

    Resamples share most of their data, so that sd/√R covers far too rarely.
    """
    rng = np.random.default_rng(4)
    size, train, trials = 100, 75, 500
    expected = 1 + 1 / train  # mean squared error of the mean of 75 standard normals
    covered = {"naive": 0, "corrected": 0}
    for _ in range(trials):
        values = rng.normal(size=size)
        errors = []
        for _ in range(10):
            order = rng.permutation(size)
            errors.append(np.mean((values[order[train:]] - values[order[:train]].mean()) ** 2))
        found = resampled(np.array(errors), size - train, train)
        reach = (found.hi - found.value) / found.se
        covered["corrected"] += found.lo <= expected <= found.hi
        covered["naive"] += abs(found.value - expected) <= reach * found.naive
    assert covered["corrected"] / trials > 0.9
    assert covered["naive"] / trials < 0.85
