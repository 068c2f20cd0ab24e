"""Shape contexts: for points of a drawing, where the other points lie; drawings are compared point by point."""

from __future__ import annotations

from typing import Any, ClassVar

import numba
import numpy as np
import numpy.typing as npt

from endoxa.engines import Index, Material, takes_no_words, unchanged
from endoxa.engines.ink import ink_of, skeleton_of
from endoxa.frozen import dataclass
from endoxa.images import Picture
from endoxa.tables import Floats, Ints

Counts = npt.NDArray[np.uint8]
Shares = npt.NDArray[np.float32]

POINTS = 60
RINGS, SECTORS = 5, 12
NEAREST, FARTHEST = 1 / 8, 2.0  # the rings, in units of the mean distance of two points


@dataclass(frozen=True)
class ContextPoints:
    """Up to 60 points of the skeleton, each with a histogram: how many of the others lie in each ring and sector.

    Points are chosen one after the other, each as far as possible from those chosen, beginning with the one farthest
    from the middle. Rings grow by equal factors from 1/8 to 2 times the mean distance of two points; farther points are
    in the last ring, nearer ones in the first. There are 12 sectors, by the directions of the page.
    Source: Belongie, Malik and Puzicha, PAMI 24 (2002) 509-522.
    """

    name: ClassVar[str] = "shape-context"
    version: ClassVar[int] = 1

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """A row for each point; one empty row for a drawing without ink."""
        skeleton = np.argwhere(skeleton_of(ink_of(picture).mask))[:, ::-1].astype(np.float64)
        if not len(skeleton):
            return {"context": np.zeros((1, RINGS * SECTORS), np.uint8)}
        return {"context": contexts(skeleton[spread(skeleton, POINTS)])}


@dataclass(frozen=True)
class ShapeContext:
    """The engine: score = -d; d is the mean cost of the best match of each point, from both sides, averaged.

    The cost of two points is χ²/2 = ½ Σ (a - b)² / (a + b) of their histograms as shares, from 0 to 1. Unchanged by
    moving and scaling the drawing, not by turning it.
    Ours: best matches in place of the assignment of Belongie et al., which is one to one and far slower. Two points may
    have the same best match.
    """

    name: ClassVar[str] = "shape-context"
    takes_text: ClassVar[bool] = False
    descriptor: ClassVar[ContextPoints] = ContextPoints()
    needs: ClassVar[tuple[str, ...]] = ("context",)
    build = unchanged
    score_words = takes_no_words

    def score(self, index: Index, queries: Material) -> Floats:
        """The negative mean cost; 0 for identical drawings."""
        queries.require_regions(self.needs, self.name)
        sides = [(shares(one.columns["context"]), one.offsets) for one in (queries, index.material)]
        return -distances(*sides[0], *sides[1]) + 0.0  # avoid -0.0, which would be printed as such


def spread(points: Floats, count: int) -> Ints:
    """The positions of up to `count` points, each as far as possible from the ones before; the first one of equals."""
    chosen = [int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmax())]
    nearest = np.full(len(points), np.inf)
    while len(chosen) < min(count, len(points)):
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(nearest.argmax()))
    return np.array(chosen, dtype=np.int64)


def contexts(points: Floats) -> Counts:
    """For each point, how many of the others lie in each ring and sector: points × 60."""
    number = len(points)
    x, y = np.moveaxis(points[None] - points[:, None], -1, 0)
    distance = np.hypot(x, y)
    mean = distance.sum() / max(number * (number - 1), 1)
    edges = np.geomspace(NEAREST, FARTHEST, RINGS + 1)[1:-1] * mean
    ring = np.searchsorted(edges, distance)
    sector = np.rint(np.arctan2(-y, x) / (2 * np.pi) * SECTORS).astype(np.int64) % SECTORS
    bins = RINGS * SECTORS
    cell = np.arange(number)[:, None] * bins + ring * SECTORS + sector
    others = ~np.eye(number, dtype=bool)
    return np.bincount(cell[others], minlength=number * bins).reshape(number, bins).astype(np.uint8)


def shares(counts: Counts) -> Shares:
    """Histograms that sum to 1; one without a point stays empty."""
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), dtype=np.float32)


@numba.njit(cache=True, error_model="numpy")
def distances(queries: Shares, query_offsets: Ints, items: Shares, item_offsets: Ints) -> Floats:
    """The mean cost of best matches of every query and every item."""
    found = np.empty((len(query_offsets) - 1, len(item_offsets) - 1))
    for i in range(found.shape[1]):
        own = np.ascontiguousarray(items[item_offsets[i] : item_offsets[i + 1]].T)
        for q in range(found.shape[0]):
            found[q, i] = matched(queries[query_offsets[q] : query_offsets[q + 1]], own)
    return found


@numba.njit(cache=True, error_model="numpy")
def matched(ones: Shares, others: Shares) -> float:
    """The mean cost of the best match of each point (points × bins, bins × points), averaged over both sides.

    Σ (a - b)² / (a + b) = Σa + Σb - 4 Σ ab / (a + b), where only bins count that `a` has. Points of the other side are
    next to one another in memory, so that several are compared at once. Rounded to the digits that are exact.
    """
    bins, size = others.shape
    whole = others.sum(axis=0)
    back = np.full(size, np.inf, np.float32)
    there = 0.0
    for i in range(len(ones)):
        common = np.zeros(size, np.float32)
        for k in range(bins):
            a = ones[i, k]
            if a > 0:
                for j in range(size):
                    common[j] += a * others[k, j] / (a + others[k, j])
        costs = (ones[i].sum() + whole) / np.float32(2) - np.float32(2) * common
        there += costs.min()
        back = np.minimum(back, costs)
    return float(round(max(0.0, (there / len(ones) + back.mean()) / 2), 6))
