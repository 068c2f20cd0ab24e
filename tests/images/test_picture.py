"""Pictures at other sizes: areas where they shrink, whatever the other side does."""

from __future__ import annotations

import numpy as np
import pytest

from endoxa.images import Picture


def stripes(height: int, width: int) -> Picture:
    """Columns of black and white, a pixel each."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[:, ::2] = 255
    return Picture(pixels, np.ones((height, width), bool))


@pytest.mark.parametrize("height", [100, 200, 256, 400])
def test_a_side_that_shrinks_is_averaged_though_the_other_grows(height: int) -> None:
    made = stripes(height, 4096).resized(256, 256)
    assert made.pixels.shape == (256, 256, 3) and made.mask is not None and made.mask.all()
    assert made.pixels.min() >= 126 and made.pixels.max() <= 129  # grey, not the aliases of stripes


def test_a_picture_that_grows_keeps_its_colours() -> None:
    made = Picture(np.array([[[10, 20, 30]]], np.uint8)).resized(5, 7)
    assert (made.pixels == [10, 20, 30]).all() and made.mask is None


def test_fitting_never_makes_larger() -> None:
    small = stripes(10, 20)
    assert small.fitted(20) is small
    assert stripes(10, 400).fitted(100).shape == (2, 100)
    assert stripes(1, 4000).fitted(100).shape == (1, 100)


def test_a_mask_keeps_pixels_that_are_half_covered() -> None:
    mask = np.array([[True, False, False, False]])
    made = Picture(np.zeros((1, 4, 3), np.uint8), mask).resized(1, 2)
    assert made.mask is not None and made.mask.tolist() == [[True, False]]
