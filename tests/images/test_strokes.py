"""Strokes become pictures: where they lie, how wide they are, and what covers what."""

from __future__ import annotations

import numpy as np
import pytest

from endoxa.errors import TableError
from endoxa.images.strokes import MARGIN, SIDE, Stroke, arc, draw


def dark(*strokes: Stroke) -> np.ndarray:
    return draw(strokes).pixels[:, :, 0] < 128


def points(*numbers: float) -> np.ndarray:
    return np.array(numbers, dtype=float).reshape(-1, 2)


def test_a_line_fills_the_width_between_the_margins_and_is_two_pixels_wide() -> None:
    ink = dark(Stroke(points(-3, 5, 7, 5)))
    rows, columns = np.nonzero(ink)
    assert columns.min() == pytest.approx(MARGIN, abs=1) and columns.max() == pytest.approx(SIDE - MARGIN, abs=1)
    assert 2 <= np.unique(rows).size <= 3 and abs(rows.mean() - SIDE / 2) <= 1


def test_a_drawing_does_not_depend_on_where_and_how_large_it_was() -> None:
    shape = points(0, 0, 10, 0, 10, 4, 3, 9)
    one = draw([Stroke(shape, closed=True)]).pixels
    other = draw([Stroke(64 * shape - 1024, closed=True)]).pixels
    assert (one == other).all()


def test_paper_hides_what_lies_below_and_ink_fills() -> None:
    box = points(0, 0, 10, 0, 10, 10, 0, 10)
    cross = Stroke(points(0, 0, 10, 10))
    assert not dark(Stroke(box, closed=True))[64, 64]
    assert dark(Stroke(box, closed=True, filling="ink"))[64, 64]
    assert dark(Stroke(box, closed=True), cross)[64, 64]
    assert not dark(cross, Stroke(box, closed=True, filling="paper"))[64, 64]
    hidden = dark(cross, Stroke(box, line="", filling="paper"))
    assert not hidden[12:116, 12:116].any()  # only the ends of the line reach out of the box


def test_an_arc_goes_anticlockwise_from_the_right() -> None:
    quarter = arc(0, 0, 2, 2, 0, 90)
    np.testing.assert_allclose(quarter[[0, -1]], [[2, 1], [1, 0]], atol=1e-12)  # y points down
    np.testing.assert_allclose(np.linalg.norm(quarter - 1, axis=1), 1)
    np.testing.assert_allclose(arc(0, 0, 4, 2, 180, 90)[[0, -1]], [[0, 1], [2, 2]], atol=1e-12)


def test_a_dot_is_drawn_and_nothing_is_refused() -> None:
    assert dark(Stroke(points(3, 3, 3, 3))).any()
    with pytest.raises(TableError, match="nothing to draw"):
        draw([])
