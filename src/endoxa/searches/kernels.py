"""Similarity of every picture to the marked ones: rows of kernels, computed once and kept for later rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from endoxa.searches.arms import Features, Group, Point, Values
from endoxa.searches.distances import distances
from endoxa.tables import Floats, Ints

WHOLE = 65_535  # a similarity of 1, stored in two bytes
FEW = 20_000  # pictures up to which similarities are stored in four bytes
_NJIT: Callable[[Any], Any] = numba.njit(nogil=True, cache=True)


def kernel(distance: Floats | npt.NDArray[np.float32], tau: float) -> Floats:
    """½ [exp(-d/τ) + exp(-d/4τ)]; 0 where there is no distance."""
    wide = np.exp(np.asarray(distance, np.float64) / (-4 * tau))
    return np.asarray(np.nan_to_num(0.5 * (wide**4 + wide), nan=0.0))


def points_of(group: Group, rows: Ints, outside: tuple[Point, ...]) -> Values:
    """The numbers of these rows: a place in the collection, or -1, -2, … for pictures from outside."""
    inside = group.values[np.maximum(rows, 0)]
    for at in np.flatnonzero(rows < 0):
        inside[at] = outside[-1 - rows[at]][group.name]
    return inside


@dataclass(eq=False)
class Rows:
    """Rows of kernels over the pictures `among` (None: all), kept per arm in the order in which they came."""

    features: Features
    among: Ints | None = None
    kept: dict[tuple[str, str], Kept] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.features) if self.among is None else len(self.among)

    def take(self, group: Group, metric: str, rows: Ints, outside: tuple[Point, ...]) -> tuple[Values, Ints]:
        """A matrix of similarities, kept rows × pictures, and where each of `rows` stands in it."""
        points = points_of(group, rows, outside)
        keys = [int(row) if row >= 0 else blake2b(points[at].tobytes()).hexdigest() for at, row in enumerate(rows)]
        mine = self.kept.setdefault((group.name, metric), Kept(len(self)))
        new = [at for at, key in enumerate(keys) if key not in mine.place]
        if new:
            values = group.values if self.among is None else group.values[self.among]
            mine.add([keys[at] for at in new], distances(metric, values, points[new]), group.taus[metric])
        return mine.matrix, np.array([mine.place[key] for key in keys], np.int64)

    def forget(self, arms: Mapping[str, str]) -> None:
        """Free the rows of metrics that are no longer chosen."""
        for arm in [arm for arm in self.kept if arms.get(arm[0]) != arm[1]]:
            del self.kept[arm]


class Kept:
    """A matrix that grows by rows."""

    def __init__(self, width: int) -> None:
        self.place: dict[int | str, int] = {}
        self.matrix: Values = np.empty((0, width), np.float32 if width <= FEW else np.uint16)

    def add(self, keys: list[int | str], far: npt.NDArray[np.float32], tau: float) -> None:
        """Add rows for these keys, from their distances."""
        start, stop = len(self.place), len(self.place) + len(keys)
        if stop > len(self.matrix):
            larger = np.empty((max(stop, 2 * len(self.matrix)), self.matrix.shape[1]), self.matrix.dtype)
            larger[:start] = self.matrix[:start]
            self.matrix = larger
        _fill(far, tau, self.unit, self.matrix[start:stop])
        self.place |= {key: start + at for at, key in enumerate(keys)}

    @property
    def unit(self) -> float:
        """The number that stands for a similarity of 1."""
        return unit_of(self.matrix)


def unit_of(matrix: Values) -> float:
    """The number that stands for a similarity of 1 in a matrix of kept rows."""
    return float(WHOLE) if matrix.dtype == np.uint16 else 1.0


def summed(matrix: Values, at: Ints, weights: Floats) -> Floats:
    """Σ_j weights[j] · similarity to row j, for every picture, in double precision."""
    found = np.zeros(matrix.shape[1])
    _sum(matrix, at, weights / unit_of(matrix), found)
    return found


@_NJIT
def _fill(far: npt.NDArray[np.float32], tau: float, unit: float, found: Values) -> None:
    for j in range(far.shape[0]):
        for i in range(far.shape[1]):
            d = far[j, i]
            near = 0.0
            if not np.isnan(d):
                wide = np.exp(-d / (4.0 * tau))
                near = 0.5 * (wide * wide * wide * wide + wide) * unit
            found[j, i] = near + 0.5 if unit > 1.0 else near


@_NJIT
def _sum(matrix: Values, at: Ints, weights: Floats, found: Floats) -> None:
    for start in range(0, len(found), 4096):  # a block of results stays in the first cache
        stop = min(start + 4096, len(found))
        for j in range(len(at)):
            weight, row = weights[j], matrix[at[j]]
            for i in range(start, stop):
                found[i] += weight * row[i]
