"""Line drawings: strokes in any unit of length become a picture of black ink on white paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.images import Picture
from endoxa.tables import Floats

Paint = Literal["", "ink", "paper"]  # "" paints nothing

SIDE = 128
MARGIN = 8
WIDTH = 2  # pixels of a line
PAPER, INK = 255, 0
FRACTION = 4  # bits of a pixel to which coordinates are rounded
STEPS = 64  # straight parts of a full ellipse


@dataclass(frozen=True, eq=False)
class Stroke:
    """A polyline of points (x to the right, y down), closed or open: what fills it, and what its line is drawn with."""

    points: Floats
    closed: bool = False
    line: Paint = "ink"
    filling: Paint = ""


def arc(x: float, y: float, width: float, height: float, start: float = 0, angle: float = 360) -> Floats:
    """Points of an arc of the ellipse in a box (left upper corner, size); degrees from the right, anticlockwise."""
    turns = np.radians(start + np.linspace(0, angle, max(2, round(abs(angle) / 360 * STEPS) + 1)))
    # y points down, so that anticlockwise is -sin
    return np.stack([x + width / 2 * (1 + np.cos(turns)), y + height / 2 * (1 - np.sin(turns))], axis=1)


def draw(strokes: Sequence[Stroke]) -> Picture:
    """The strokes in their order, as large as fits into 128 × 128 pixels with a margin of 8; lines are 2 pixels wide.

    All lines have the same width, and dashes are drawn through.
    """
    import cv2

    if not strokes:
        raise TableError("there is nothing to draw", remedy="expected one stroke or more")
    every = np.concatenate([stroke.points for stroke in strokes])
    low, high = every.min(axis=0), every.max(axis=0)
    scale = (SIDE - 2 * MARGIN) / max(float((high - low).max()), 1e-9)
    canvas = np.full((SIDE, SIDE), PAPER, np.uint8)
    colours = {"ink": INK, "paper": PAPER}
    for stroke in strokes:
        pixels = (stroke.points - (low + high) / 2) * scale + SIDE / 2
        fixed = [np.rint(pixels * (1 << FRACTION)).astype(np.int32)]
        if stroke.filling:
            cv2.fillPoly(canvas, fixed, colours[stroke.filling], shift=FRACTION)
        if stroke.line:
            cv2.polylines(canvas, fixed, stroke.closed, colours[stroke.line], WIDTH, cv2.LINE_AA, shift=FRACTION)
    return Picture(np.repeat(canvas[:, :, None], 3, axis=2))
