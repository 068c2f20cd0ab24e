"""Long vectors on their leading axes: fewer numbers, nearly the same angles."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from endoxa.errors import JoinError
from endoxa.frozen import dataclass
from endoxa.tables import Floats

Vectors = npt.NDArray[np.float32]
SIZE = 128
SAMPLE = 20_000  # vectors that the axes are found from
BLOCK = 4096  # vectors that are converted at once
LEAST = 1e-12  # axes with a smaller share of the largest moment hold rounding errors only


@dataclass(frozen=True, eq=False)
class Basis:
    """The axes (numbers × size) on which vectors are projected, and the name of the source of the vectors."""

    axes: Floats
    source: str = ""

    def project(self, vectors: npt.NDArray[Any]) -> Vectors:
        """Each vector at length 1 on the axes; a row of NaN for a vector that is zero or not finite."""
        if vectors.shape[1] != len(self.axes):
            raise JoinError(
                f"the vectors have {vectors.shape[1]:,} numbers, those of the collection {len(self.axes):,}"
            )
        found = np.empty((len(vectors), self.axes.shape[1]), np.float32)
        for start in range(0, len(vectors), BLOCK):
            found[start : start + BLOCK] = unit_rows(vectors[start : start + BLOCK]) @ self.axes
        return found


def leading(vectors: npt.NDArray[Any], size: int = SIZE, *, source: str = "", seed: int = 0) -> Basis:
    """The principal axes of vectors at length 1, without centring: at most `size`, as many as hold anything.

    Without centring the cosine of two vectors stays what it was, up to the axes that are left out. On the photographs
    centring changes precision at 10 by less than .004, and length 1 raises that of L1 from .29 to .33. The axes are
    found from a sample drawn with `seed` if there are more than 20,000 vectors. Their signs are fixed: the largest
    number of each is positive.
    """
    chosen = np.arange(len(vectors))
    if len(vectors) > SAMPLE:
        chosen = np.sort(np.random.default_rng(seed).choice(len(vectors), SAMPLE, replace=False))
    units = unit_rows(vectors[chosen])
    units = units[np.isfinite(units).all(axis=1)]
    few = len(units) < units.shape[1]
    moments = units @ units.T if few else units.T @ units
    count = min(size, len(moments))
    if not count:
        return Basis(np.zeros((vectors.shape[1], 0)), source)
    values, axes = eigh(moments, subset_by_index=(len(moments) - count, len(moments) - 1))
    keep = np.flatnonzero(values > LEAST * values[-1])[::-1]
    axes = axes[:, keep]
    if few:
        axes = units.T @ (axes / np.sqrt(values[keep]))
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    return Basis(axes * np.sign(largest), source)


def finite_rows(vectors: npt.NDArray[Any]) -> Floats:
    """As doubles; a row that is not finite becomes 0."""
    rows = np.asarray(vectors, dtype=np.float64)
    return np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0)


def unit_rows(vectors: npt.NDArray[Any]) -> Floats:
    """Vectors at length 1; NaN where they are zero or not finite."""
    rows = finite_rows(vectors)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    units: Floats = np.divide(rows, length, out=np.full_like(rows, np.nan), where=length > 0)
    return units
