"""The nondecreasing function of x that lies nearest to y, and what its correlation would be by chance."""

from __future__ import annotations

import math

import numpy as np

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.statistics.bootstrap import TINY
from endoxa.tables import Floats


@dataclass(frozen=True, eq=False)
class Isotonic:
    """A fitted nondecreasing function: its levels at the distinct x, and how well it does on its own data.

    r         √(1 - SSE/SST), the correlation of the fit with y; 0 where the fit is flat, NaN where y has no spread
    constant  the fit is flat: no nondecreasing function of x goes up where y does
    """

    x: Floats
    y: Floats
    weights: Floats
    r: float
    constant: bool

    def predict(self, x: Floats) -> Floats:
        """The fit at any x: linear between the x seen, flat beyond them."""
        return np.asarray(np.interp(x, self.x, self.y))


def fit(x: Floats, y: Floats, weights: Floats | None = None) -> Isotonic:
    """Minimise Σ w (y - f(x))² over nondecreasing f, by pool-adjacent-violators on the weighted means of equal x.

    Of all nondecreasing functions of x, the fit has the largest Pearson correlation with y, r = √(1 - SSE/SST).
    Misleads: this r is of the data that the map was fitted to, and well above 0 on noise (see null_correlation); report
    that of held-out queries. If y falls with x (distances), pass -x.
    Source: Barlow et al. 1972; docs/methods/studies.md, Isotonic regression.
    """
    from scipy.optimize import isotonic_regression

    x, y, w = checked(x, y, weights)
    knots, at = np.unique(x, return_inverse=True)
    mass: Floats = np.bincount(at, weights=w).astype(np.float64)
    means = np.bincount(at, weights=w * y) / mass
    levels = np.asarray(isotonic_regression(means, weights=mass).x)
    centre = float((w * y).sum() / w.sum())
    total = float((w * (y - centre) ** 2).sum())
    explained = float((mass * (levels - centre) ** 2).sum())
    constant = bool(np.ptp(levels) <= TINY * np.abs(y).max())
    r = 0.0 if constant else math.sqrt(min(explained / total, 1.0))
    if np.ptp(y) <= TINY * np.abs(y).max():
        r = math.nan
    return Isotonic(knots, levels, mass, r, constant)


def checked(x: Floats, y: Floats, weights: Floats | None = None) -> tuple[Floats, Floats, Floats]:
    """x, y and weights as equally long rows of finite numbers, weights positive; 1 where none are given."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    w = np.ones_like(y) if weights is None else np.asarray(weights, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or w.shape != y.shape:
        raise TableError(
            f"x, y and weights are rows of one length, not of shapes {x.shape}, {y.shape} and {w.shape}",
            remedy="give one value of each per pair",
        )
    if not len(x):
        raise TableError("there are no points to fit", remedy="expected at least one x with its y")
    for name, values in (("x", x), ("y", y), ("weight", w)):
        if not np.isfinite(values).all():
            place = int(np.flatnonzero(~np.isfinite(values))[0])
            raise TableError(
                f"{name} number {place + 1} is {values[place]}", remedy="expected a finite number, leave the pair out"
            )
    if (w <= 0).any():
        place = int(np.flatnonzero(w <= 0)[0])
        raise TableError(
            f"weight number {place + 1} is {w[place]:g}", remedy="weights are above 0, leave out what has none"
        )
    return x, y, w


def null_correlation(n: int) -> float:
    """√E[r²] of the isotonic fit to n values of pure Gaussian noise at distinct x: √((H_n - 1) / (n - 1)).

    H_n = 1 + 1/2 + … + 1/n. With 50 pairs it is .267, with 500 .108, and a little lower if x has ties. NaN for fewer
    than two values. Source: docs/methods/studies.md, Isotonic regression.
    """
    if n < 2:
        return math.nan
    return math.sqrt((float((1 / np.arange(1, n + 1)).sum()) - 1) / (n - 1))
