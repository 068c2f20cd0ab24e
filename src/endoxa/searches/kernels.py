"""Similarity of every picture to the marked ones: rows of kernels, computed once and kept for later rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from hashlib import blake2b
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from endoxa.frozen import dataclass
from endoxa.searches.arms import Features, Group, Point, Values
from endoxa.searches.candidates import NEAREST, background, hinted, needs_pool, scan
from endoxa.searches.distances import blocks_of, each_block, in_threads
from endoxa.tables import Floats, Ints

WHOLE = 65_535  # a similarity of 1, stored in two bytes
ROWS = 160  # room for rows at first
FEW = 20_000  # pictures up to which similarities are stored in four bytes
_NJIT: Callable[[Any], Any] = numba.njit(nogil=True, cache=True)


def kernel(distance: npt.NDArray[Any], tau: float) -> npt.NDArray[Any]:
    """½ [exp(-d/τ) + exp(-d/4τ)], as precise as the distance; 0 where there is no distance."""
    wide = np.exp(distance * distance.dtype.type(-0.25 / tau))
    square = wide * wide
    wide += square * square
    wide *= distance.dtype.type(0.5)
    wide[np.isnan(wide)] = 0
    return np.asarray(wide)


def points_of(group: Group, rows: Ints, outside: tuple[Point, ...]) -> Values:
    """The numbers of these rows: a place in the collection, or -1, -2, … for pictures from outside."""
    inside = group.values[np.maximum(rows, 0)]
    for at in np.flatnonzero(rows < 0):
        inside[at] = outside[-1 - rows[at]][group.name]
    return inside


@dataclass(eq=False)
class Rows:
    """Rows of kernels over all pictures, or over a pool of them that only grows (`among`), kept for later rounds."""

    features: Features
    among: Ints | None = None
    kept: dict[tuple[str, str], Kept] = field(default_factory=dict)
    known: set[int | str] = field(default_factory=set)  # liked pictures whose neighbours are in the pool
    hinted: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # places that are in it for a hint

    def __post_init__(self) -> None:
        if self.among is None and needs_pool(self.features):
            self.among = background(self.features)

    def __len__(self) -> int:
        return len(self.features) if self.among is None else len(self.among)

    @property
    def nbytes(self) -> int:
        """The memory that the rows take."""
        return sum(kept.matrix.nbytes for kept in self.kept.values())

    def prepare(self, liked: Ints, outside: tuple[Point, ...], hint: Floats | None) -> None:
        """Make the pool what is near to the liked rows, what the hint speaks for, and the background.

        It depends on nothing else, so that a search gives the same pages when it is resumed: where a mark was taken
        back, the pool begins anew.
        """
        if self.among is None:
            return
        keys = [int(row) if row >= 0 else _key(outside[-1 - row]) for row in liked]
        spoken = hinted(hint)
        pool = self.among
        if not self.known <= {*keys} or not np.isin(self.hinted, spoken).all():
            self.among = pool = background(self.features)
            self.known, self.kept = set(), {}
        new = [at for at, key in enumerate(keys) if key not in self.known]
        found = [spoken, liked[liked >= 0]]
        for group in self.features.groups if new else ():
            if group.audible:
                nearest = self.features.nearest or scan
                found += nearest(group, points_of(group, liked[new], outside), NEAREST)
        self.known, self.hinted = {*keys}, spoken
        more = np.setdiff1d(np.concatenate(found), pool)
        for (name, metric), kept in self.kept.items():
            group = self.features.group(name)
            kept.widen(metric, group.values[more], group.taus[metric])
        self.among = np.concatenate([pool, more])

    def take(self, group: Group, metric: str, rows: Ints, outside: tuple[Point, ...]) -> tuple[Values, Ints]:
        """A matrix of similarities, kept rows × pictures, and where each of `rows` stands in it."""
        points = points_of(group, rows, outside)
        keys = [int(row) if row >= 0 else points[at].tobytes() for at, row in enumerate(rows)]
        mine = self.kept.setdefault((group.name, metric), Kept(len(self), exact=len(self.features) <= FEW))
        new = [at for at, key in enumerate(keys) if key not in mine.place]
        if new:
            values = group.values if self.among is None else group.values[self.among]
            mine.add([keys[at] for at in new], metric, values, points[new], group.taus[metric])
        return mine.matrix, np.array([mine.place[key] for key in keys], np.int64)

    def forget(self, arms: Mapping[str, str]) -> None:
        """Free the rows of metrics that are no longer chosen; those of the last one stay, as choices often return."""
        for group, metric in arms.items():
            if (group, metric) in self.kept:
                self.kept[group, metric] = self.kept.pop((group, metric))  # the last one in the order of choice
        for group in dict.fromkeys(group for group, _ in self.kept):
            mine = [arm for arm in self.kept if arm[0] == group]
            for arm in mine[: -2 if mine[-1] == (group, arms.get(group)) else -1]:
                del self.kept[arm]


def _key(point: Point) -> str:
    digest = blake2b()
    for name in sorted(point):
        digest.update(np.ascontiguousarray(point[name]).tobytes())
    return digest.hexdigest()


class Kept:
    """A matrix of kernels that grows by rows (pictures that were marked) and by columns (pictures of a pool)."""

    def __init__(self, width: int, *, exact: bool) -> None:
        self.place: dict[int | bytes, int] = {}
        self.points: list[Values] = []
        self.matrix: Values = np.empty((0, width), np.float32 if exact else np.uint16)

    def add(self, keys: list[int | bytes], metric: str, values: Values, points: Values, tau: float) -> None:
        """Add rows for these keys: the kernel of each point with all values."""
        start, stop = len(self.place), len(self.place) + len(keys)
        if stop > len(self.matrix):
            larger = np.empty((max(stop, ROWS, 2 * len(self.matrix)), self.matrix.shape[1]), self.matrix.dtype)
            larger[:start] = self.matrix[:start]
            self.matrix = larger
        self.points += list(points)
        self._fill(self.matrix[start:stop], metric, values, points, tau)
        self.place |= {key: start + at for at, key in enumerate(keys)}

    def widen(self, metric: str, values: Values, tau: float) -> None:
        """Add columns for these values."""
        if not self.points:
            self.matrix = np.empty((0, self.matrix.shape[1] + len(values)), self.matrix.dtype)
            return
        more = np.empty((len(self.matrix), len(values)), self.matrix.dtype)
        self._fill(more[: len(self.points)], metric, values, np.array(self.points), tau)
        self.matrix = np.concatenate([self.matrix, more], axis=1)

    def _fill(self, rows: Values, metric: str, values: Values, points: Values, tau: float) -> None:
        unit = unit_of(rows)

        def keep(where: Any, far: npt.NDArray[np.float32]) -> None:
            near = kernel(far, tau)
            rows[where] = near if unit == 1 else near * np.float32(unit) + np.float32(0.5)

        each_block(metric, values, points, keep)


def unit_of(matrix: Values) -> float:
    """The number that stands for a similarity of 1 in a matrix of kept rows."""
    return float(WHOLE) if matrix.dtype == np.uint16 else 1.0


def summed(matrix: Values, at: Ints, weights: Floats) -> Floats:
    """Σ_j weights[j] · similarity to row j, for every picture, in double precision."""
    found, shares = np.zeros(matrix.shape[1]), weights / unit_of(matrix)

    def one(block: slice) -> None:
        _sum(matrix[:, block], at, shares, found[block])

    in_threads(one, blocks_of(len(found)), work=len(found) * len(at))
    return found


def add_picked(matrix: Values, at: Ints, places: Ints, weight: float, found: Floats) -> None:
    """Add weight · similarity of each row to each place, rows × places."""
    _pick(matrix, at, places, weight / unit_of(matrix), found)


@_NJIT
def _pick(matrix: Values, at: Ints, places: Ints, weight: float, found: Floats) -> None:
    for j in range(len(at)):
        row = matrix[at[j]]
        for i in range(len(places)):
            found[j, i] += weight * row[places[i]]


@_NJIT
def _sum(matrix: Values, at: Ints, weights: Floats, found: Floats) -> None:
    for j in range(len(at)):
        weight, row = weights[j], matrix[at[j]]
        for i in range(len(found)):
            found[i] += weight * row[i]
