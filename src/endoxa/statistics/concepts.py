"""A mixture of concepts over rows and words, and its predictions for new rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from endoxa.errors import TableError
from endoxa.tables import Floats, Ints

ENTRIES = 2**19  # rows × components of a block: 2 MB of float32, which fit into the cache
LEAST = 1e-300

Matrix = npt.NDArray[Any]
Precision = Literal["single", "double"]


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """A mixture of L concepts over F features and V words (V is 0 without words).

    p_l (L), means and variances (L × F), words p(w|l) (L × V)
    objective  L of these parameters
    history    L before every iteration, of the start that was kept
    reseeded   places in history where a starved component had just been put elsewhere: only there L may fall
    """

    p_l: Floats
    means: Floats
    variances: Floats
    words: Floats
    objective: float = math.nan
    history: Floats = field(default_factory=lambda: np.zeros(0))
    reseeded: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    converged: bool = False


def ends_of(counts: Ints) -> Ints:
    """The offsets of groups of these lengths, and the end of the last."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def table_of(x: Matrix, centre: Floats, scale: Floats, dtype: type[np.floating[Any]]) -> Matrix:
    """Rows standardised: their squares, their values, and a column of ones."""
    features = x.shape[1]
    table = np.ones((len(x), 2 * features + 1), dtype=dtype)
    table[:, features:-1] = (x - centre) / scale
    np.square(table[:, features:-1], out=table[:, :features])
    return table


def coefficients_of(model: MixtureModel, dtype: type[np.floating[Any]], *, prior: bool) -> Matrix:
    """(2F + 1) × L: a row of squares, values and 1 times it is log p(b|l), with `prior` log p(l)p(b|l)."""
    inverse = 1 / model.variances
    constant = -0.5 * (np.log(2 * np.pi * model.variances) + model.means**2 * inverse).sum(1)
    if prior:
        constant = constant + np.log(np.maximum(model.p_l, LEAST))
    return np.concatenate([-0.5 * inverse, model.means * inverse, constant[:, None]], axis=1).T.astype(dtype)


def exponentials(logs: Matrix) -> tuple[Floats, Matrix, Floats]:
    """The greatest of each row, exp(row - greatest) in place, and the sums of that.

    Values below e^-80 of the greatest (e^-600 in double precision) are raised to it: subnormal numbers would make the
    matrix products a hundred times slower.
    """
    greatest = logs.max(axis=1)
    np.subtract(logs, greatest[:, None], out=logs)
    np.maximum(logs, logs.dtype.type(-80 if logs.dtype == np.float32 else -600), out=logs)
    np.exp(logs, out=logs)
    return greatest.astype(np.float64), logs, logs.sum(axis=1).astype(np.float64)


def blocks_of(offsets: Ints, components: int) -> Iterator[tuple[int, int]]:
    """Blocks of whole images, each with about ENTRIES rows × components, or a single larger image."""
    size, first = max(1, ENTRIES // components), 0
    while first < len(offsets) - 1:
        end = int(np.searchsorted(offsets, offsets[first] + size, side="right")) - 1
        end = max(end, first + 1)
        yield first, end
        first = end


def log_components(
    model: MixtureModel, rows: Matrix, *, prior: bool = False, precision: Precision = "double"
) -> Matrix:
    """log p(b|l), or with `prior` log p(l)p(b|l): rows × components, the whole matrix."""
    rows = np.asarray(rows)
    if rows.ndim != 2 or rows.shape[1] != model.means.shape[1]:
        raise TableError(f"rows have the shape {rows.shape}; the mixture expects {model.means.shape[1]} features")
    # Centred and scaled by the whole mixture: far from 0 the squares would lose all digits.
    centre = model.p_l @ model.means
    scale = np.sqrt(model.p_l @ (model.variances + (model.means - centre) ** 2))
    inside = replace(model, means=(model.means - centre) / scale, variances=model.variances / scale**2)
    dtype: type[np.floating[Any]] = np.float32 if precision == "single" else np.float64
    coefficients = coefficients_of(inside, np.float64, prior=prior)
    coefficients[-1] -= np.log(scale).sum()
    return np.asarray(table_of(rows, centre, scale, dtype) @ coefficients.astype(dtype))


def log_density(model: MixtureModel, rows: Matrix, *, precision: Precision = "double") -> Floats:
    """log p(b) = log Σ_l p(l) p(b|l) of each row."""
    return _gathered(model, rows, precision, lambda greatest, _, totals: greatest + np.log(totals))


def responsibilities(model: MixtureModel, rows: Matrix, *, precision: Precision = "double") -> Floats:
    """p(l|b) = p(l)p(b|l) / p(b): rows × components."""
    return _gathered(model, rows, precision, lambda _, shares, totals: shares / totals[:, None])


def _gathered(
    model: MixtureModel, rows: Matrix, precision: Precision, what: Callable[[Floats, Matrix, Floats], Matrix]
) -> Floats:
    step = max(1, ENTRIES // len(model.p_l))
    blocks = (rows[k : k + step] for k in range(0, max(len(rows), 1), step))
    parts = [what(*exponentials(log_components(model, b, prior=True, precision=precision))) for b in blocks]
    return np.concatenate(parts).astype(np.float64)


def concepts(
    model: MixtureModel, rows: Matrix, counts: Ints, *, lam: float = 0.1, precision: Precision = "double"
) -> Floats:
    """p(l|d) = (1 - lam) mean_b p(l|b) + lam p(l): images × components; NaN for an image without rows."""
    if counts.sum() != len(rows):
        raise TableError(f"images with {counts.sum()} rows do not fit {len(rows)} rows")
    found, offsets = np.full((len(counts), len(model.p_l)), np.nan), ends_of(counts)
    for first, end in blocks_of(offsets, len(model.p_l)):
        filled = first + np.flatnonzero(counts[first:end])
        if len(filled):
            shares = responsibilities(model, rows[offsets[first] : offsets[end]], precision=precision)
            means = np.add.reduceat(shares, offsets[filled] - offsets[first], axis=0) / counts[filled, None]
            found[filled] = (1 - lam) * means + lam * model.p_l
    return found


def word_chances(model: MixtureModel, rows: Matrix, counts: Ints, *, precision: Precision = "double") -> Floats:
    """p(w|d) = mean_b Σ_l p(w|l) p(l|b): images × words; NaN for an image without rows."""
    return np.asarray(concepts(model, rows, counts, lam=0.0, precision=precision) @ model.words)
