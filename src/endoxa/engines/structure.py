"""The structure of a line drawing: where its ends, junctions, corners, blobs and circles lie to one another."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any, ClassVar

import cv2
import numpy as np
import numpy.typing as npt

from endoxa.engines.ink import SIDE, Ink, ink_of, skeleton_of
from endoxa.frozen import dataclass
from endoxa.images import Mask, Picture
from endoxa.tables import Floats, Ints

KINDS = ("end", "junction", "corner", "thick", "circle")
DIRECTIONS = 8
STEPS = (24 / SIDE, 56 / SIDE)  # of the long side: near, middle and far
REACH = 6  # pixels along the line to either side of a corner
BENT = 0.2  # of REACH: how far the mean of the line lies from a corner; .2 is a bend of about 50°
STOUT = 3.0  # pixels from the paper: more than in any line
ROUND = 0.83  # 4π area / perimeter² of a circle in pixels; a square has .79
LEAST = 30.0  # pixels in a circle


@dataclass(frozen=True)
class Structure:
    """365 numbers: √ of how many points there are of each kind, and how often two kinds lie so to one another.

    Kinds are end, junction, corner (of the skeleton), thick (a filled part) and circle (a round hole). A relation is a
    pair of kinds, one of 8 directions and one of 3 distances (up to 24, to 56, and beyond, where the long side is 128).
    It stands in the place of the attributed relational graph of Lamiroy and Sun's study. It is a bag of relations, not
    a matching of graphs: it forgets which points are connected.
    Misleads: directions are those of the page, so that a turned drawing has another structure.
    """

    name: ClassVar[str] = "structure"
    version: ClassVar[int] = 1

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """One row of 365 numbers."""
        ink = ink_of(picture)
        points = typed_points(ink)
        kinds = np.repeat(np.arange(len(KINDS)), [len(points[kind]) for kind in KINDS])
        places = np.concatenate([points[kind] for kind in KINDS]) / max(ink.mask.shape)
        counts = np.bincount(kinds, minlength=len(KINDS))
        return {"shape": np.sqrt(np.concatenate([counts, relations(kinds, places)]))[None].astype(np.float32)}


def typed_points(ink: Ink) -> dict[str, Floats]:
    """The points of each kind, as x and y."""
    skeleton = skeleton_of(ink.mask)
    around = _neighbours(skeleton)
    crossings = ((around == 0) & (np.roll(around, -1, axis=0) == 1)).sum(axis=0)  # branches that leave a pixel
    ends = skeleton & (crossings == 1) & (around.sum(axis=0) <= 2)
    junctions = skeleton & (crossings >= 3)
    near = cv2.dilate((ends | junctions).astype(np.uint8), np.ones((2 * REACH - 1, 2 * REACH - 1), np.uint8)) > 0
    return {
        "end": _middles(ends), "junction": _middles(junctions), "corner": _middles(_bends(skeleton) & ~near),
        "thick": _middles(_depth(ink.mask) > STOUT), "circle": _circles(ink.mask),
    }  # fmt: skip


def relations(kinds: Ints, places: Floats) -> Floats:
    """How often each relation occurs: pairs of kinds × 8 directions × 3 distances.

    The direction is that from the first kind to the second. Two points of the same kind count in both directions.
    """
    pairs = {pair: at for at, pair in enumerate(combinations_with_replacement(range(len(KINDS)), 2))}
    numbers = np.full((len(KINDS), len(KINDS)), -1)
    for (one, other), at in pairs.items():
        numbers[one, other] = at
    first, second = np.nonzero(~np.eye(len(kinds), dtype=bool) & (numbers[kinds[:, None], kinds] >= 0))
    x, y = (places[second] - places[first]).T
    direction = np.rint(np.arctan2(-y, x) / (2 * np.pi) * DIRECTIONS).astype(np.int64) % DIRECTIONS
    distance = np.searchsorted(STEPS, np.hypot(x, y))
    cell = (numbers[kinds[first], kinds[second]] * DIRECTIONS + direction) * (len(STEPS) + 1) + distance
    return np.bincount(cell, minlength=len(pairs) * DIRECTIONS * (len(STEPS) + 1)).astype(np.float64)


def _neighbours(mask: Mask) -> npt.NDArray[np.uint8]:
    """The eight neighbours of each pixel, going round: 8 × height × width."""
    padded = np.pad(mask, 1).astype(np.uint8)
    height, width = mask.shape
    steps = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
    return np.stack([padded[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width] for dy, dx in steps])


def _bends(skeleton: Mask) -> Mask:
    """Pixels of the skeleton where the mean of the line around them lies beside them; the most bent of each bend."""
    steps = np.arange(-REACH, REACH + 1, dtype=np.float32)
    disc = (np.hypot(steps, steps[:, None]) <= REACH).astype(np.float32)
    line = skeleton.astype(np.float32)
    count, x, y = (
        cv2.filter2D(line, -1, kernel, borderType=cv2.BORDER_CONSTANT)
        for kernel in (disc, disc * steps, disc * steps[:, None])
    )
    aside = np.where(skeleton, np.hypot(x, y) / np.maximum(count, 1), 0)
    return (aside > BENT * REACH) & (aside >= cv2.dilate(aside, np.ones(disc.shape, np.uint8)) - 1e-6)


def _depth(mask: Mask) -> Floats:
    """The distance of each pixel of ink from the paper; what lies outside the picture is paper."""
    depth = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 5)
    return np.asarray(depth[1:-1, 1:-1], dtype=np.float64)


def _middles(mask: Mask) -> Floats:
    """The middle of each connected part, as x and y."""
    return np.asarray(cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)[3][1:], dtype=np.float64)


def _circles(mask: Mask) -> Floats:
    """The centres of the round holes."""
    contours, levels = cv2.findContours(mask.astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    found = []
    for contour, level in zip(contours, levels[0] if levels is not None else (), strict=True):
        area, length = cv2.contourArea(contour), cv2.arcLength(contour, closed=True)
        if level[3] >= 0 and area >= LEAST and 4 * np.pi * area > ROUND * length**2:
            found.append(contour[:, 0].mean(axis=0))
    return np.array(found, dtype=np.float64).reshape(-1, 2)
