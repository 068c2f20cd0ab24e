"""The structure of drawings: which points are found, and how they lie to one another."""

from __future__ import annotations

import numpy as np
import pytest
from shape_samples import blank, drawing, turned

from endoxa.engines.ink import ink_of
from endoxa.engines.structure import KINDS, Structure, relations, typed_points
from endoxa.images import Picture
from endoxa.images.strokes import Stroke, arc, draw


def line(*numbers: float, closed: bool = False, filling: str = "") -> Stroke:
    return Stroke(np.array(numbers, dtype=float).reshape(-1, 2), closed, filling=filling)  # type: ignore[arg-type]


def counted(*strokes: Stroke) -> dict[str, int]:
    points = typed_points(ink_of(draw(strokes)))
    return {kind: len(found) for kind, found in points.items() if len(found)}


def test_the_points_of_simple_drawings() -> None:
    assert counted(line(0, 0, 10, 0)) == {"end": 2}
    assert counted(line(0, 0, 10, 0), line(5, 0, 5, 10)) == {"end": 3, "junction": 1}
    assert counted(line(0, 0, 10, 0, 10, 10)) == {"end": 2, "corner": 1}
    assert counted(line(0, 0, 10, 0, 10, 10, 0, 10, closed=True)) == {"corner": 4}
    assert counted(Stroke(arc(0, 0, 10, 10), closed=True)) == {"circle": 1}
    assert counted(line(0, 0, 30, 0), Stroke(arc(30, -5, 10, 10), closed=True, filling="ink"))["thick"] == 1


def test_the_points_lie_where_they_should() -> None:
    points = typed_points(ink_of(draw([line(0, 0, 10, 0, 10, 10)])))
    assert points["corner"][0] == pytest.approx([120, 8], abs=3)
    assert sorted(points["end"].tolist())[0] == pytest.approx([8, 8], abs=3)


def test_relations_by_hand() -> None:
    """An end, a junction right of it at .1, and a second end above the first at .3."""
    kinds = np.array([0, 0, 1])
    places = np.array([[0.5, 0.5], [0.5, 0.2], [0.6, 0.5]])
    found = relations(kinds, places).reshape(15, 8, 3)
    ends, mixed = found[0], found[1]
    assert ends[2, 1] == ends[6, 1] == 1 and ends.sum() == 2  # up and down, in the middle distance
    assert mixed[0, 0] == 1  # from the first end to the junction: right, near
    assert mixed[6, 1] + mixed[7, 1] == 1 and mixed.sum() == 2  # from the upper end: below
    assert found[2:].sum() == 0


def test_moving_keeps_the_structure_and_turning_does_not() -> None:
    def described(picture: Picture) -> np.ndarray:
        return Structure().describe(picture)["shape"][0]

    own = described(drawing(1))
    assert own.shape == (len(KINDS) + 15 * 24,)
    moved = Picture(np.roll(drawing(1).pixels, (5, -4), axis=(0, 1)))
    assert (described(moved) == own).all()
    assert np.linalg.norm(described(turned(1, 90)) - own) > 1
    assert not described(blank()).any()
