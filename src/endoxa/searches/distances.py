"""Distances between a few pictures and all others: one pass over the numbers, on all cores.

A vector that is zero or not finite has no distance to anything: NaN. Results are in single precision; sums of bytes
are exact, others are in double precision except chi2.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from endoxa.errors import JoinError, refuse_unknown

Rows = npt.NDArray[np.float32]
BLOCK = 8192  # items that a thread takes at a time
ROUNDED = 1e-12  # a smaller cosine distance of vectors in single precision is a rounding error
SMALL = 2_000_000  # numbers below which threads cost more than they save
_NJIT: Callable[[Any], Any] = numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"}, error_model="numpy")


def distances(metric: str, values: npt.NDArray[Any], points: npt.NDArray[Any]) -> Rows:
    """The distance of each point to each item, points × items, in single precision.

    l1            Σ|a - b|
    l2            √Σ(a - b)²
    cosine        1 - a·b / (|a| |b|)
    chi2          Σ(a - b)² / (a + b), for numbers that are not negative
    intersection  1 - Σ min(a/Σa, b/Σb): of histograms with equal sums, the same order as l1
    emd           the earth mover's distance in one dimension, Σ|A - B| of the cumulative shares: only where the numbers
                  have an order (bands of texture)
    """
    found = np.empty((len(points), len(values)), np.float32)
    each_block(metric, values, points, found.__setitem__)
    return found


def each_block(
    metric: str, values: npt.NDArray[Any], points: npt.NDArray[Any], use: Callable[[Any, Rows], object]
) -> None:
    """Call `use` with where a block of distances belongs and the block, from several threads, in any order."""
    refuse_unknown("metric", metric, NAMES, listed=True)
    if values.shape[1] != points.shape[1]:
        raise JoinError(f"the picture has {points.shape[1]:,} numbers, the collection {values.shape[1]:,}")
    of = NAMES[metric]
    asked = np.ascontiguousarray(points, dtype=values.dtype)

    def one(block: slice) -> None:
        found = np.empty((len(points), block.stop - block.start), np.float32)
        of(np.ascontiguousarray(values[block]), asked, found)
        use((slice(None), block), found)

    if len(points):
        in_threads(one, blocks_of(len(values)), work=values.size * len(points))


_POOL: list[ThreadPoolExecutor] = []


def in_threads(act: Callable[[slice], object], blocks: Sequence[slice], *, work: int) -> None:
    """Do something for each block, on all cores if it is worth it; what is done releases the interpreter's lock.

    The threads are started once. What runs in them must not come here again.
    """
    if work < SMALL or len(blocks) == 1:
        for block in blocks:
            act(block)
        return
    if not _POOL:
        _POOL.append(ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="distances"))
    list(_POOL[0].map(act, blocks))


def blocks_of(count: int, size: int = BLOCK) -> list[slice]:
    """The blocks that so many items are worked on in."""
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


@_NJIT
def _mass(row: npt.NDArray[Any]) -> float:
    """Σ|a|, or NaN for a vector that is zero or not finite."""
    total = 0.0
    for k in range(len(row)):
        total += abs(float(row[k]))
    return total if total > 0.0 and total < math.inf else math.nan


@_NJIT
def _masses(points: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    found = np.empty(len(points))
    for j in range(len(points)):
        found[j] = _mass(points[j])
    return found


@_NJIT
def _of_numbers(values: npt.NDArray[Any], points: npt.NDArray[Any], squared: bool, found: Rows) -> None:
    """L1, or L2 if squared."""
    mass = _masses(points)
    for i in range(len(values)):
        own = _mass(values[i])
        for j in range(len(points)):
            total = 0.0
            if squared:
                for k in range(values.shape[1]):
                    apart = float(values[i, k]) - float(points[j, k])
                    total += apart * apart
                total = math.sqrt(total)
            else:
                for k in range(values.shape[1]):
                    total += abs(float(values[i, k]) - float(points[j, k]))
            found[j, i] = total + 0.0 * (own + mass[j])


@_NJIT
def _of_bytes(values: npt.NDArray[np.uint8], points: npt.NDArray[np.float32], squared: bool, found: Rows) -> None:
    """The same of bytes. Whole numbers below 2²⁴ are exact in single precision, whatever the order of the sum."""
    mass = _masses(points)
    row = np.empty(values.shape[1], np.float32)
    for i in range(len(values)):
        own = np.float32(0)
        for k in range(len(row)):
            row[k] = values[i, k]
            own += row[k]
        for j in range(len(points)):
            total = np.float32(0)
            if squared:
                for k in range(len(row)):
                    total += (row[k] - points[j, k]) ** 2
                total = np.sqrt(total)
            else:
                for k in range(len(row)):
                    total += abs(row[k] - points[j, k])
            found[j, i] = total if own > 0 and mass[j] > 0 else math.nan


@_NJIT
def _chi2(values: npt.NDArray[Any], points: npt.NDArray[np.float32], found: Rows) -> None:
    mass = _masses(points)
    row = np.empty(values.shape[1], np.float32)
    for i in range(len(values)):
        own = _mass(values[i])
        for k in range(len(row)):
            row[k] = values[i, k]
        for j in range(len(points)):
            total = np.float32(0)
            for k in range(len(row)):
                apart, both = row[k] - points[j, k], row[k] + points[j, k]
                total += apart * apart / max(both, np.float32(1e-30))
            found[j, i] = total + 0.0 * (own + mass[j])


@_NJIT
def _cosine(values: npt.NDArray[Any], points: npt.NDArray[Any], found: Rows) -> None:
    length = np.empty(len(points))
    for j in range(len(points)):
        total = 0.0
        for k in range(points.shape[1]):
            total += float(points[j, k]) * float(points[j, k])
        length[j] = math.sqrt(total)
    for i in range(len(values)):
        own = 0.0
        for k in range(values.shape[1]):
            own += float(values[i, k]) * float(values[i, k])
        own = math.sqrt(own)
        for j in range(len(points)):
            total = 0.0
            for k in range(values.shape[1]):
                total += float(values[i, k]) * float(points[j, k])
            both = own * length[j]
            apart = 1.0 - total / both if both > 0.0 and both < math.inf else math.nan
            found[j, i] = 0.0 if apart < ROUNDED else apart


@_NJIT
def _of_shares(values: npt.NDArray[Any], points: npt.NDArray[Any], ordered: bool, found: Rows) -> None:
    """Intersection, or the earth mover's distance if ordered."""
    mass = _masses(points)
    for i in range(len(values)):
        own = _mass(values[i])
        for j in range(len(points)):
            total, ahead = 0.0, 0.0
            if ordered:
                for k in range(values.shape[1]):
                    ahead += float(values[i, k]) / own - float(points[j, k]) / mass[j]
                    total += abs(ahead)
            else:
                for k in range(values.shape[1]):
                    total += min(float(values[i, k]) / own, float(points[j, k]) / mass[j])
                total = max(0.0, 1.0 - total)
            found[j, i] = total if own + mass[j] > 0 else math.nan


def _power(values: npt.NDArray[Any], points: npt.NDArray[Any], found: Rows, *, squared: bool) -> None:
    if values.dtype == np.uint8 and (not squared or values.shape[1] <= 2**24 // 255**2):  # beyond, sums are not exact
        _of_bytes(values, points.astype(np.float32), squared, found)
    else:
        _of_numbers(values, points, squared, found)


NAMES: dict[str, Callable[[npt.NDArray[Any], npt.NDArray[Any], Rows], None]] = {
    "l1": partial(_power, squared=False), "l2": partial(_power, squared=True), "cosine": _cosine,
    "chi2": lambda values, points, found: _chi2(values, points.astype(np.float32), found),
    "intersection": lambda values, points, found: _of_shares(values, points, False, found),
    "emd": lambda values, points, found: _of_shares(values, points, True, found),
}  # fmt: skip
