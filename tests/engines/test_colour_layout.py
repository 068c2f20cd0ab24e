"""Layout: the mean colour of cells, against scikit-image and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from skimage.color import rgb2lab

from endoxa.engines.colour_layout import Layout, colours, split
from endoxa.images import Picture


def described(picture: Picture) -> np.ndarray:
    return Layout().describe(picture)["layout"]


def test_cells_are_the_rounded_means_of_scikit_image() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (64, 64, 3)).astype(np.uint8)
    pixels[:20, :31] = (200, 30, 90)
    whole, expected = rgb2lab(pixels), []
    for top in range(0, 64, 8):
        for left in range(0, 64, 8):
            mean = whole[top : top + 8, left : left + 8].reshape(64, 3).mean(0)
            expected += [round(mean[0]), round(mean[1]) + 128, round(mean[2]) + 128]
    assert described(Picture(pixels)).tolist() == [expected]


@pytest.mark.parametrize(
    ("colour", "row"),
    [
        ((255, 255, 255), (100, 128, 128)),
        ((0, 0, 0), (0, 128, 128)),
        ((255, 0, 0), (53, 208, 195)),  # L* 53.24, a* 80.09, b* 67.20
        ((0, 0, 255), (32, 207, 20)),  # L* 32.30, a* 79.19, b* -107.86, the least there is
        ((0, 255, 0), (88, 42, 211)),
    ],
)
def test_named_colours(colour: tuple[int, int, int], row: tuple[int, int, int]) -> None:
    flat = Picture(np.full((100, 30, 3), colour, np.uint8))
    assert described(flat).reshape(64, 3).tolist() == [list(row)] * 64
    assert np.abs(colours(described(flat))[0] - rgb2lab(np.array([[colour]], np.uint8))[0, 0]).max() <= 0.5


def test_every_colour_fits_a_byte() -> None:
    steps = np.arange(0, 256, 17, dtype=np.uint8)
    cube = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(64, 64, 3)
    shifted = np.rint(rgb2lab(cube)) + np.array([0, 128, 128])
    assert shifted.min() >= 0 and shifted.max() <= 255


def test_cells_lie_row_by_row_and_the_picture_is_resized_by_areas() -> None:
    pixels = np.zeros((128, 320, 3), np.uint8)
    pixels[:, ::2] = 255  # pairs of columns become one of middle grey
    pixels[:16, -40:] = 255
    found = described(Picture(pixels)).reshape(8, 8, 3)
    assert found[0, 7].tolist() == [100, 128, 128]
    grey = round(float(rgb2lab(np.full((1, 1, 3), 128, np.uint8))[0, 0, 0]))
    assert np.abs(np.delete(found.reshape(64, 3)[:, 0].astype(int), 7) - grey).max() <= 1


ODD = [
    Picture(np.full((1, 1, 3), 9, np.uint8)),
    Picture(np.full((1, 20_000, 3), 255, np.uint8)),
    Picture(np.full((40, 30, 3), 255, np.uint8), np.zeros((40, 30), bool)),
]


@pytest.mark.parametrize("picture", ODD)
def test_odd_pictures_are_described(picture: Picture) -> None:
    row = described(picture)
    assert row.shape == (1, 192) and row.dtype == np.uint8
    assert len(np.unique(row.reshape(64, 3), axis=0)) == 1


def test_splitting_keeps_every_pixel() -> None:
    plane = np.arange(16 * 24).reshape(16, 24)
    cells = split(plane)
    assert cells.shape == (64, 6)
    assert cells[9].tolist() == plane[2:4, 3:6].ravel().tolist()
