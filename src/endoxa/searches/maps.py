"""A map of a collection: similar pictures lie together on a grid, and a tile opens into a grid of its own.

Each grid is sorted by linear assignment (Barthel, Hezel, Jung and Schall, arXiv 2205.04255): the grid of vectors is
blurred, and pictures are assigned to the blurred cells at the least cost, with an ever smaller radius. A part with more
pictures than cells is divided by k-means, and each cell shows the picture in the middle of its cluster.
"""

from __future__ import annotations

import math
from collections.abc import MutableMapping
from dataclasses import field
from typing import NamedTuple

import numpy as np
from scipy.cluster.vq import vq
from scipy.linalg import eigh
from scipy.ndimage import uniform_filter
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from endoxa.errors import TextError, absent, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.searches.arms import Features, Group, Values
from endoxa.searches.projections import SAMPLE, Vectors
from endoxa.tables import Bools, Floats, Ints

Trail = tuple[int, ...]  # the cells that were opened, from the whole collection down

ALL = "all"  # the map by look and, with half the weight, layout
WEIGHTS = {"look": 1.0, "layout": 0.5}
SIZE = 32  # numbers of a vector of the map
SIDES = range(2, 25)  # rows or columns of a grid
WIDEST, SHRINK = 0.35, 0.85  # the first radius as a share of the longer side, and what it is multiplied by at each step
ROUNDS = 20  # of k-means
BLOCK = 1 << 14  # vectors that are compared with all centres at once


@dataclass(frozen=True)
class Tile:
    """A picture on the map: its place in the collection, its cell, and how many pictures the cell holds."""

    place: int
    cell: int
    count: int


@dataclass(frozen=True, eq=False)
class Sheet:
    """One grid of a map: the places of its pictures, the cell of each, and whether it is the one that is shown."""

    places: Ints
    cells: Ints
    shown: Bools

    @property
    def tiles(self) -> list[Tile]:
        """The pictures that are shown, in the order of their cells."""
        counts = np.bincount(self.cells)
        order = np.flatnonzero(self.shown)[np.argsort(self.cells[self.shown])]
        return [Tile(int(self.places[at]), int(self.cells[at]), int(counts[self.cells[at]])) for at in order]

    def inside(self, cell: int) -> Ints:
        """The places of the pictures of a cell."""
        return np.asarray(self.places[self.cells == cell], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Map:
    """A tree of grids, laid out when they are looked at.

    vectors  a row for each picture of the collection: `map_vectors`
    kept     sheets by their paths; those of more pictures than cells are kept, the others are quickly laid out

    The same vectors, sides and seed give the same map, in whatever order it is opened.
    """

    vectors: Vectors
    rows: int = 12
    columns: int = 12
    seed: int = 0
    kept: MutableMapping[Trail, Sheet] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.rows not in SIDES or self.columns not in SIDES:
            sides = f"from {SIDES[0]} to {SIDES[-1]} rows and columns"
            raise TextError(f"a map has {sides}, not {self.rows} × {self.columns}")

    def sheet(self, path: Trail = ()) -> Sheet:
        """The grid at a path; a refusal (404) if there is no cell with several pictures."""
        if (known := self.kept.get(path)) is not None:
            return known
        if not path:
            members = np.arange(len(self.vectors))
        else:
            members = self.sheet(path[:-1]).inside(path[-1])
            if len(members) < 2:
                raise absent("part of the map")
        sheet = self._laid_out(members, np.random.default_rng([self.seed, *path]))
        if len(members) > self.rows * self.columns:
            self.kept[path] = sheet
        return sheet

    def _laid_out(self, members: Ints, rng: np.random.Generator) -> Sheet:
        vectors = np.asarray(self.vectors[members], dtype=np.float64)
        count = min(len(members), self.rows * self.columns)
        labels = clusters(vectors, count, rng)
        middle = middles(vectors, labels, count)
        cells = sorted_grid(vectors[middle], self.rows, self.columns, rng)
        shown = np.zeros(len(members), np.bool_)
        shown[middle] = True
        return Sheet(members, cells[labels], shown)


def read_path(text: str) -> Trail:
    """The path that a text like `3.17` names; the empty text names the whole collection."""
    parts = text.split(".") if text else []
    if not all(part.isascii() and part.isdigit() and len(part) <= 3 for part in parts):
        raise TextError(f"{text!r:.60} is no place on the map", remedy="expected cells separated by dots, as in 3.17")
    return tuple(int(part) for part in parts)


def representatives(vectors: Values, count: int, seed: int = 0) -> Ints:
    """The places of pictures that stand for a collection: the middles of `count` clusters, or all pictures if fewer."""
    rows = np.asarray(vectors, dtype=np.float64)
    count = min(count, len(rows))
    return np.sort(middles(rows, clusters(rows, count, np.random.default_rng(seed)), count))


# ---- vectors ---------------------------------------------------------------------------------------------------


def map_vectors(features: Features, group: str = ALL, *, seed: int = 0) -> Vectors:
    """The vectors by which pictures are sorted: 32 principal components of one group of features, or of several.

    `all` is look and half of layout, each scaled to the variance 1 first (without both: all groups alike). The axes
    come from a sample of 20,000. A picture that lacks a group counts as average there.
    """
    n = len(features)
    if group == ALL:
        weights = {one.name: WEIGHTS[one.name] for one in features.groups if one.name in WEIGHTS}
        weights = weights or {one.name: 1.0 for one in features.groups}
    else:
        refuse_unknown("group of features", group, [ALL, *(one.name for one in features.groups)], listed=True)
        weights = {group: 1.0}
    if not n or not weights:
        return np.zeros((n, 1), np.float32)  # nothing tells them apart
    sample = np.arange(n)
    if n > SAMPLE:
        sample = np.sort(np.random.default_rng(seed).choice(n, SAMPLE, replace=False))
    parts = [_Part.of(features.group(name), sample, weight) for name, weight in weights.items()]
    rows = np.concatenate([part.rows(sample) for part in parts], axis=1)
    moments = rows.T @ rows
    _, axes = eigh(moments, subset_by_index=(max(0, len(moments) - SIZE), len(moments) - 1))
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    found = np.empty((n, axes.shape[1]), np.float32)
    for start in range(0, n, BLOCK):
        block = np.arange(start, min(start + BLOCK, n))
        found[block] = np.concatenate([part.rows(block) for part in parts], axis=1) @ axes
    return found


class _Part(NamedTuple):
    """A group of features on its way into the vectors: less its mean, times a factor."""

    group: Group
    mean: Floats
    factor: float

    @classmethod
    def of(cls, group: Group, sample: Ints, weight: float) -> _Part:
        """The mean, and the factor that gives the group the standard deviation `weight`, from a sample."""
        known = sample[group.speaks[sample]]
        if not len(known):
            return cls(group, np.zeros(group.values.shape[1]), 0.0)
        rows = np.asarray(group.values[known], dtype=np.float64)
        spread = math.sqrt(rows.var(axis=0).sum())
        return cls(group, rows.mean(axis=0), weight / spread if spread > 0 else 0.0)

    def rows(self, places: Ints) -> Floats:
        """The numbers of pictures; 0 for one that lacks them."""
        rows = (np.asarray(self.group.values[places], dtype=np.float64) - self.mean) * self.factor
        rows[~self.group.speaks[places]] = 0.0
        return rows


# ---- clusters --------------------------------------------------------------------------------------------------


def clusters(vectors: Floats, count: int, rng: np.random.Generator) -> Ints:
    """The cluster of each vector, 0 … count - 1, by k-means from random members; none is empty.

    As many clusters as vectors are the vectors themselves. Centres are learnt from a sample of 20,000. Where vectors
    are equal, clusters would be empty; each takes half of the largest one instead, those farthest from its mean.
    """
    n = len(vectors)
    if count >= n:
        return np.arange(n)
    sample = vectors if n <= SAMPLE else vectors[np.sort(rng.choice(n, SAMPLE, replace=False))]
    centres = sample[rng.choice(len(sample), count, replace=False)]
    labels = _nearest(sample, centres)
    for _ in range(ROUNDS):
        centres = _means(sample, labels, centres)
        before, labels = labels, _nearest(sample, centres)
        if np.array_equal(before, labels):
            break
    return _none_empty(vectors, labels if n <= SAMPLE else _nearest(vectors, centres), count)


def _nearest(vectors: Floats, centres: Floats) -> Ints:
    blocks = [vq(vectors[start : start + BLOCK], centres)[0] for start in range(0, len(vectors), BLOCK)]
    return np.concatenate(blocks).astype(np.int64)


def _means(vectors: Floats, labels: Ints, otherwise: Floats) -> Floats:
    """The mean of each cluster; another centre for one that is empty."""
    counts = np.bincount(labels, minlength=len(otherwise))[:, None]
    sums = np.stack([np.bincount(labels, column, len(otherwise)) for column in vectors.T], axis=1)
    means: Floats = np.where(counts > 0, sums / np.maximum(counts, 1), otherwise)
    return means


def _none_empty(vectors: Floats, labels: Ints, count: int) -> Ints:
    labels = labels.copy()
    for empty in np.flatnonzero(np.bincount(labels, minlength=count) == 0):
        members = np.flatnonzero(labels == np.bincount(labels).argmax())
        away = np.linalg.norm(vectors[members] - vectors[members].mean(axis=0), axis=1)
        labels[members[np.argsort(-away, kind="stable")[: len(members) // 2]]] = empty
    return labels


def middles(vectors: Floats, labels: Ints, count: int) -> Ints:
    """The member of each cluster that is nearest to its mean: the medoid by squared distance. The first of equals."""
    if not len(vectors):
        return np.zeros(0, np.int64)
    centres = _means(vectors, labels, np.zeros((count, vectors.shape[1])))
    away = np.round(np.linalg.norm(vectors - centres[labels], axis=1), 9)
    order = np.lexsort((away, labels))
    return order[np.searchsorted(labels[order], np.arange(count))]


# ---- sorting ---------------------------------------------------------------------------------------------------


def sorted_grid(vectors: Floats, rows: int, columns: int, rng: np.random.Generator) -> Ints:
    """The cell (row · columns + column) of each picture on a grid where similar ones lie together.

    Fewer pictures than cells fill a smaller grid of the same shape in the upper left, row by row.
    """
    n = len(vectors)
    if not n:
        return np.zeros(0, np.int64)
    width = min(columns, max(math.ceil(math.sqrt(n * columns / rows)), math.ceil(n / rows)))
    height = math.ceil(n / width)
    filled = np.zeros(height * width)
    filled[:n] = 1
    position = rng.permutation(n)
    radius = max(1.0, WIDEST * max(height, width))
    while n > 1:
        grid = np.zeros((height * width, vectors.shape[1]))
        grid[position] = vectors
        blurred = _blurred(grid, filled, (height, width), 2 * round(radius) + 1)[:n]
        position = linear_sum_assignment(cdist(vectors, blurred, "sqeuclidean"))[1]
        if radius <= 1:
            break
        radius = max(1.0, radius * SHRINK)
    cells: Ints = position // width * columns + position % width
    return cells


def _blurred(grid: Floats, filled: Floats, shape: tuple[int, int], size: int) -> Floats:
    """The mean of the filled cells in a box around each."""
    sums = uniform_filter(grid.reshape(*shape, -1), (size, size, 0), mode="constant").reshape(grid.shape)
    shares = uniform_filter(filled.reshape(shape), size, mode="constant").reshape(-1, 1)
    blurred: Floats = sums / np.maximum(shares, 1e-9)
    return blurred
