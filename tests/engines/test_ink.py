"""The ink of a drawing: which pixels, where their centre is, and how far they reach."""

from __future__ import annotations

import numpy as np
import pytest
from shape_samples import blank, drawing

from endoxa.engines.ink import SIDE, Ink, ink_of, skeleton_of
from endoxa.images import Picture


def test_centre_and_radius() -> None:
    mask = np.zeros((9, 12), bool)
    mask[2, 3] = mask[2, 9] = True
    ink = Ink(mask)
    assert ink.points.tolist() == [[3, 2], [9, 2]] and ink.centre.tolist() == [6, 2] and ink.radius == 3


def test_ink_is_dark_whatever_the_greys() -> None:
    pixels = np.full((20, 20, 3), 250, np.uint8)
    pixels[5:8, 5:15] = 190  # a faint line
    assert ink_of(Picture(pixels)).mask.sum() == 30


def test_a_large_drawing_is_reduced_and_keeps_thin_lines() -> None:
    pixels = np.full((1000, 500, 3), 255, np.uint8)
    pixels[:, 250:252] = 0
    ink = ink_of(Picture(pixels))
    assert ink.mask.shape == (SIDE, SIDE // 2) and ink.mask.any(axis=1).all() and ink.mask.sum() <= 2 * SIDE


@pytest.mark.parametrize(("shade", "share"), [(255, 0), (128, 0), (0, 1)])
def test_a_page_of_one_colour_is_paper_unless_it_is_black(shade: int, share: float) -> None:
    ink = ink_of(blank(shade))
    assert ink.mask.mean() == share
    assert ink.centre == pytest.approx([14.5, 9.5]) and ink.radius >= 0.5


def test_the_skeleton_is_thin_and_lies_within_the_ink() -> None:
    mask = ink_of(drawing(1)).mask
    skeleton = skeleton_of(mask)
    assert skeleton.any() and not (skeleton & ~mask).any() and skeleton.sum() < mask.sum() / 2
