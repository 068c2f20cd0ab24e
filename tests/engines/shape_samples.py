"""Line drawings for the tests of shape recognisers, and what they may be done to."""

from __future__ import annotations

import numpy as np

from endoxa.engines import Descriptor, Engine, Material
from endoxa.images import Picture
from endoxa.images.strokes import Stroke, arc, draw


def strokes(seed: int) -> list[Stroke]:
    """Some lines, a circle, and for odd seeds a filled triangle."""
    rng = np.random.default_rng(seed)
    found = [Stroke(rng.uniform(0, 100, (2, 2))) for _ in range(4)]
    x, y = rng.uniform(0, 60, 2)
    found.append(Stroke(arc(x, y, 30, 30), closed=True))
    if seed % 2:
        found.append(Stroke(rng.uniform(0, 100, (3, 2)), closed=True, filling="ink"))
    return found


def drawing(seed: int) -> Picture:
    return draw(strokes(seed))


def turned(seed: int, degrees: float) -> Picture:
    """The strokes turned before they are drawn."""
    turn = np.radians(degrees)
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return draw([Stroke(one.points @ matrix.T, one.closed, one.line, one.filling) for one in strokes(seed)])


def placed(picture: Picture, right: int, down: int, side: int = 128, part: int = 60) -> Picture:
    """A small copy somewhere on a white page."""
    page = np.full((side, side, 3), 255, np.uint8)
    page[down : down + part, right : right + part] = picture.resized(part, part).pixels
    return Picture(page)


def blank(shade: int = 255) -> Picture:
    return Picture(np.full((20, 30, 3), shade, np.uint8))


def material(descriptor: Descriptor, pictures: list[Picture]) -> Material:
    rows = [descriptor.describe(picture) for picture in pictures]
    (name,) = rows[0]
    names = tuple(f"p{number}" for number in range(len(rows)))
    counts = np.array([len(row[name]) for row in rows], np.int64)
    return Material(names, tuple(() for _ in rows), {name: np.concatenate([row[name] for row in rows])}, counts)


def scores(engine: Engine, queries: list[Picture], items: list[Picture]) -> np.ndarray:
    assert engine.descriptor is not None
    index = engine.build(material(engine.descriptor, items))
    return engine.score(index, material(engine.descriptor, queries))
