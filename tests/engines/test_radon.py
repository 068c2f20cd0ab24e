"""Radon's signature: the R-transform by hand and by brute force, and what it does not see."""

from __future__ import annotations

import numpy as np
import pytest
from shape_samples import blank, drawing, placed, turned

from endoxa.engines.radon import RadonSignature, r_transform


def described(picture) -> np.ndarray:
    return RadonSignature().describe(picture)["shape"][0]


def test_the_r_transform_by_hand() -> None:
    """By hand: R of ((1, 1), (1, 0)) at 0° and at 90° is 2² + 1² = 5."""
    image = np.array([[1, 1], [1, 0]], np.float32)
    assert r_transform(image, (0.5, 0.5), 1.0, 2, np.array([0, 90])) == pytest.approx([5, 5])


def test_the_r_transform_by_brute_force() -> None:
    """Points far apart, each with its own line: R is the sum of squares of how many have the same distance."""
    image = np.zeros((41, 41), np.float32)
    image[5, 10] = image[20, 10] = image[35, 30] = 1
    found = r_transform(image, (20, 20), 1.0, 41, np.array([0, 90]))
    assert found == pytest.approx([2**2 + 1, 1 + 1 + 1])


def test_unchanged_by_moving_scaling_and_turning_and_different_for_another_shape() -> None:
    own, other = described(drawing(1)), described(drawing(2))
    apart = np.abs(own - other).sum()
    for change in (turned(1, 90), turned(1, 37), placed(drawing(1), 5, 60), placed(drawing(1), 60, 0)):
        assert np.abs(described(change) - own).sum() < apart / 3


def test_no_ink_has_a_signature_of_zeros() -> None:
    assert described(blank()).tolist() == [0] * 30
