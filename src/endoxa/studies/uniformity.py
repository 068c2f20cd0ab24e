"""Uniformity: how evenly the answers use the scale. A study in which only one grade occurs teaches little."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.tables import Floats


@dataclass(frozen=True)
class Uniformity:
    """The deviation of the shares of the C grades from equal shares.

    dev               (1/C) Σ |f_c - 1/C|, from 0 (equal shares) to 2(C-1)/C² (one grade only)
    normalised        dev divided by that maximum, from 0 to 1
    total_variation   (C/2) dev: the share of answers that would have to change to make the shares equal
    shares            f_c, one per grade
    """

    dev: float
    normalised: float
    total_variation: float
    shares: tuple[float, ...]


def deviation(grades: Iterable[float | None] | npt.ArrayLike, classes: Sequence[float]) -> Uniformity:
    """Deviation of the answers from an even use of the scale.

    `classes` lists every possible grade; any other answer is refused. Undecided answers (None, NaN) are left out;
    without answers everything is NaN. With a single possible grade `normalised` is NaN.
    Misleads: uniform answers make a scale easier to learn, but they are not more often correct.
    Source: reconstructed, as the formula in Barnard et al. is broken in print; docs/methods/studies.md, Uniformity.
    """
    levels = np.asarray(classes, dtype=np.float64)
    if not levels.size or len(np.unique(levels)) < levels.size:
        raise TableError(f"classes are the possible grades, at least one and each once, not {list(classes)}")
    given = np.asarray(grades if isinstance(grades, np.ndarray) else list(grades), dtype=np.float64)  # type: ignore[arg-type]
    values, counts = np.unique(given[~np.isnan(given)], return_counts=True)
    at = np.abs(values[:, None] - levels).argmin(axis=1)
    off = np.abs(levels[at] - values) > 1e-9 * np.maximum(1, np.abs(values))
    if off.any():
        known = ", ".join(f"{level:g}" for level in np.sort(levels)[:10]) + (", …" if len(levels) > 10 else "")
        raise TableError(
            f"grade {values[off][0]:g} is not one of the classes {known}",
            remedy="list every grade of the scale, and use the original grades, not calibrated ones",
        )
    return of_counts(np.bincount(at, weights=counts, minlength=len(levels)))


def of_counts(counts: npt.ArrayLike) -> Uniformity:
    """The same, from the count or the probability of each grade."""
    n: Floats = np.asarray(counts, dtype=np.float64)
    C, total = len(n), float(n.sum())
    if not total > 0:
        return Uniformity(math.nan, math.nan, math.nan, (math.nan,) * C)
    f = n / total
    dev = float(np.abs(f - 1 / C).mean())
    greatest = 2 * (C - 1) / C**2
    return Uniformity(dev, dev / greatest if greatest > 0 else math.nan, C / 2 * dev, tuple(f.tolist()))
