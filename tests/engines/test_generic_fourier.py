"""The generic Fourier descriptor: by hand, by its definition, and what it does not see."""

from __future__ import annotations

import numpy as np
import pytest
from shape_samples import blank, drawing, placed, turned

from endoxa.engines.generic_fourier import GenericFourier, magnitudes


def described(picture) -> np.ndarray:
    return GenericFourier().describe(picture)["shape"][0]


def test_magnitudes_by_hand() -> None:
    """By hand: four angles × two radii."""
    polar = np.array([[1, 0], [1, 1], [0, 1], [0, 0]])
    assert magnitudes(polar, 2, 3) == pytest.approx([0.318310, 0.5, 0, 0, 0.5, 0], abs=1e-6)


def test_magnitudes_by_their_definition() -> None:
    polar = np.random.default_rng(3).random((12, 5))
    angles, radii = polar.shape
    sums = [
        abs(
            sum(
                polar[i, r] * np.exp(-2j * np.pi * (r / radii * rho + i / angles * phi))
                for i in range(angles)
                for r in range(radii)
            )
        )
        for rho in range(3)
        for phi in range(4)
    ]
    expected = [sums[0] / (np.pi * radii**2), *(one / sums[0] for one in sums[1:])]
    assert magnitudes(polar, 3, 4) == pytest.approx(expected)


def test_unchanged_by_moving_scaling_and_turning_and_different_for_another_shape() -> None:
    own, other = described(drawing(1)), described(drawing(2))
    apart = np.abs(own - other).sum()
    for change in (turned(1, 90), turned(1, 37), placed(drawing(1), 5, 60), placed(drawing(1), 60, 0)):
        assert np.abs(described(change) - own).sum() < apart / 2


def test_what_lies_outside_the_picture_is_paper() -> None:
    """Described again and again, a drawing whose disc reaches out of the picture has the same numbers."""
    picture = placed(drawing(3), 0, 0, side=60)
    first = described(picture)
    for seed in range(20):
        described(drawing(seed))  # use the memory for something else
        assert (described(picture) == first).all()


def test_no_ink_has_zeros() -> None:
    assert described(blank()).tolist() == [0] * 36
