"""A region cut out: its own colour inside, an outline, the rest dimmed."""

from __future__ import annotations

import numpy as np
import pytest

from endoxa.errors import TableError
from endoxa.images import Picture
from endoxa.images.cutting import DIM, LINE, SIDE, cut_out


def two_halves() -> tuple[Picture, np.ndarray]:
    """Blue above, green below, with a black square in the green."""
    pixels = np.zeros((80, 120, 3), np.uint8)
    labels = np.zeros((80, 120), np.int32)
    pixels[:40], pixels[40:] = (30, 60, 200), (40, 160, 60)
    labels[40:] = 1
    pixels[50:70, 80:100], labels[50:70, 80:100] = 0, 2
    return Picture(pixels), labels


def test_the_region_keeps_its_colours_and_the_rest_is_dimmed() -> None:
    picture, labels = two_halves()
    shown = cut_out(picture, labels, 0).pixels
    assert shown.shape == (64, 128, 3), "of a wide region, the picture's width and half again its height"
    assert shown[10, 10].tolist() == [30, 60, 200]
    dimmed = [round(255 - DIM * (255 - value)) for value in (40, 160, 60)]
    assert shown[60, 10].tolist() == dimmed
    assert (shown == LINE).all(axis=2).any(), "it is outlined"


def test_a_small_region_is_shown_with_what_is_around_it() -> None:
    picture, labels = two_halves()
    shown = cut_out(picture, labels, 2, side=96).pixels
    assert max(shown.shape) == 96
    centre = shown[shown.shape[0] // 2, shown.shape[1] // 2]
    assert centre.tolist() == [0, 0, 0]
    assert (shown.sum(axis=2) > 100).mean() > 0.5, "most of what is shown is around it"


@pytest.mark.parametrize("size", [(1, 1), (3, 200), (700, 500)])
def test_any_size(size: tuple[int, int]) -> None:
    picture = Picture(np.full((*size, 3), 90, np.uint8))
    shown = cut_out(picture, np.zeros(size, np.int32), 0).pixels
    assert max(shown.shape) == SIDE and shown.dtype == np.uint8


def test_a_region_that_is_not_there() -> None:
    picture, labels = two_halves()
    with pytest.raises(TableError, match="no region 7; its labels are 0 to 2"):
        cut_out(picture, labels, 7)
