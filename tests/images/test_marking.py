"""Marks of regions: polygons along their outline, words inside them."""

from __future__ import annotations

import numpy as np

from endoxa.images.marking import marks_of


def test_a_rectangle_has_four_corners_and_its_middle() -> None:
    labels = np.full((20, 30), -1, np.int32)
    labels[2:13, 4:25] = 0
    (mark,) = marks_of(labels)
    assert set(mark.polygon) == {(4, 2), (24, 2), (24, 12), (4, 12)}
    assert mark.centre[1] == 7 and 9 <= mark.centre[0] <= 19


def test_the_word_of_a_ring_lies_on_it() -> None:
    y, x = np.mgrid[:41, :41]
    away = np.hypot(x - 20, y - 20)
    labels = np.where(away < 8, 1, np.where(away < 18, 0, -1)).astype(np.int32)
    ring, disc = marks_of(labels)
    assert labels[ring.centre[1], ring.centre[0]] == 0
    assert labels[disc.centre[1], disc.centre[0]] == 1 and abs(disc.centre[0] - 20) <= 1
    for mark in (ring, disc):
        assert all(labels[b, a] >= 0 for a, b in mark.polygon)


def test_the_edge_of_the_picture_counts_as_an_edge() -> None:
    (mark,) = marks_of(np.zeros((11, 11), np.int32))
    assert mark.centre == (5, 5)


def test_a_single_pixel() -> None:
    labels = np.full((3, 3), -1, np.int32)
    labels[1, 2] = 0
    (mark,) = marks_of(labels)
    assert mark.polygon == ((2, 1),) and mark.centre == (2, 1)
