"""An S-shaped curve of cubics: rising ever faster up to an inflection, then ever slower."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.statistics.bootstrap import TINY
from endoxa.statistics.isotonic import checked
from endoxa.tables import Floats


@dataclass(frozen=True, eq=False)
class Ogive:
    """f(x) = alpha + delta (x - a) + Σ gamma_i Phi_i(x) + Σ beta_j Psi_j(x) + Σ eta_ij S_ij(x) on [a, b].

    All coefficients but alpha are at least 0. S_ij rises as Phi_i up to t0 and as Psi_j beyond it, so that a curve can
    be flat, steep and flat.

    inflection   t0, where the curve turns from convex to concave
    left, right  the knots before and after t0
    r            correlation of the curve with the y it was fitted to; 0 where it is flat, NaN where y has no spread
    """

    a: float
    b: float
    inflection: float
    alpha: float
    delta: float
    left: Floats
    gamma: Floats
    right: Floats
    beta: Floats
    eta: Floats
    r: float = math.nan

    def predict(self, x: Floats) -> Floats:
        """The curve at any x; flat beyond [a, b]."""
        x = np.clip(np.asarray(x, dtype=np.float64), self.a, self.b)
        coefficients = np.concatenate([[self.delta], self.gamma, self.beta, self.eta.ravel()])
        return np.asarray(self.alpha + _columns(x, self.a, self.inflection, self.left, self.right) @ coefficients)


def convex(x: Floats, t0: float, knots: Floats) -> Floats:
    """Phi_j(x) [x, knot], knots t below t0: convex up to t0, a straight line beyond.

    0 for x ≤ t; (x-t)³ / 3(t0-t)² up to t0; (t0-t)/3 + (x-t0) beyond.
    """
    x, t = np.asarray(x, dtype=np.float64)[:, None], np.asarray(knots, dtype=np.float64)
    inner = np.clip(x, t, t0) - t
    return np.asarray(inner**3 / (3 * (t0 - t) ** 2) + np.maximum(x - t0, 0))


def concave(x: Floats, a: float, t0: float, knots: Floats) -> Floats:
    """Psi_j(x) [x, knot], knots t above t0: a straight line up to t0, concave beyond.

    x-a for x ≤ t0; (t0-a) + [(t-t0)³ - (t-x)³] / 3(t-t0)² up to t; (t0-a) + (t-t0)/3 beyond.
    """
    x, t = np.asarray(x, dtype=np.float64)[:, None], np.asarray(knots, dtype=np.float64)
    left = t - np.clip(x, t0, t)
    return np.asarray(np.minimum(x, t0) - a + ((t - t0) ** 3 - left**3) / (3 * (t - t0) ** 2))


def _columns(x: Floats, a: float, t0: float, left: Floats, right: Floats) -> Floats:
    """x - a, Phi_i, Psi_j and S_ij side by side."""
    before, after = (np.minimum(x, t0) - a)[:, None], np.maximum(x - t0, 0)[:, None]
    phi, psi = convex(x, t0, left), concave(x, a, t0, right)
    both = (phi - after)[:, :, None] + (psi - before)[:, None, :]
    return np.concatenate([before + after, phi, psi, both.reshape(len(x), -1)], axis=1)


def fit(x: Floats, y: Floats, weights: Floats | None = None, *, inflections: int = 15, knots: int = 6) -> Ogive:
    """Least squares over S-curves: the best of `inflections` places of the turn, coefficients at least 0 (NNLS).

    f is nondecreasing, convex up to t0 and then concave; with t0 = a or b it only flattens or only steepens. Places of
    t0 and knots are quantiles of the distinct x, with the ends. alpha is the mean of y less that of the rest.
    Misleads: a curve with two rises is not in the family (see isotonic). The turn is no more exact than the distance
    of the places tried.
    Source: our own construction for the lost eq. 5 of Barnard et al.; docs/methods/studies.md, Cubic ogive.
    """
    if inflections < 1 or knots < 1:
        raise TextError(f"{inflections} inflections and {knots} knots", remedy="expected at least 1 of either")
    x, y, w = checked(x, y, weights)
    seen, at = np.unique(x, return_inverse=True)
    mass: Floats = np.bincount(at, weights=w).astype(np.float64)
    means: Floats = np.bincount(at, weights=w * y) / mass
    a, b = float(seen[0]), float(seen[-1])
    if a == b:
        return _curve(a, a, a, np.empty(0), np.empty(0), np.zeros(1), x, y, w)
    places = np.unique(np.quantile(seen, np.linspace(0, 1, inflections + 2)))
    spread = np.unique(np.quantile(seen, np.linspace(0, 1, knots + 2)))
    tried: list[tuple[float, Ogive]] = []
    for t0 in places.tolist():
        # A knot very near t0 is a kink that cubes of it would overflow; the straight line stands for it.
        far = np.abs(spread - t0) > 1e-6 * (b - a)
        left, right = spread[far & (spread < t0)], spread[far & (spread > t0)]
        coefficients, error = _nonnegative(_columns(seen, a, t0, left, right), means, mass)
        tried.append((error, _curve(a, b, t0, left, right, coefficients, x, y, w)))
    return min(tried, key=lambda one: one[0])[1]


def _nonnegative(columns: Floats, y: Floats, w: Floats) -> tuple[Floats, float]:
    """Coefficients ≥ 0 that minimise Σ w (y - mean - columns · c)², and that sum."""
    from scipy.optimize import nnls

    root = np.sqrt(w)[:, None]
    centred = (columns - np.average(columns, axis=0, weights=w)) * root
    length = np.sqrt((centred**2).sum(axis=0))  # above 0: every column rises somewhere between a and b
    found, error = nnls(centred / length, (y - np.average(y, weights=w)) * root[:, 0])
    return np.asarray(found / length), float(error**2)


def _curve(
    a: float, b: float, t0: float, left: Floats, right: Floats, coefficients: Floats, x: Floats, y: Floats, w: Floats
) -> Ogive:
    """The curve with these coefficients, alpha and r set by the data."""
    delta, gamma, beta, eta = np.split(coefficients, np.cumsum([1, len(left), len(right)]))
    bare = Ogive(a, b, t0, 0.0, float(delta[0]), left, gamma, right, beta, eta.reshape(len(left), len(right)))
    values = bare.predict(x)
    rise, spread = values - np.average(values, weights=w), y - np.average(y, weights=w)
    if np.ptp(y) <= TINY * np.abs(y).max():
        r = math.nan
    elif np.ptp(values) <= TINY * np.ptp(y):
        r = 0.0
    else:
        r = float((w * rise * spread).sum() / math.sqrt((w * rise**2).sum() * (w * spread**2).sum()))
    return replace(bare, alpha=float(np.average(y - values, weights=w)), r=r)
