"""Ridge predictions of what was left out, in closed form: many targets at once, one fit for all of them.

    H = Z (ZᵀZ + λI)⁻¹ Zᵀ + 11ᵀ/n                              Z the centred features; = K (K + λI)⁻¹ + 11ᵀ/n, K = Z Zᵀ
    f_i = ((Hy)_i - H_ii y_i)/(1 - H_ii)                         without row i
    f_g = (I - H_gg)⁻¹ H_g,rest y_rest                           without the rows g

These equal refits without the rows, with an intercept that is not penalised.
Misleads: a row that has a copy among the others is predicted from the copy; leave copies out together. The mean of the
other rows is lower without a positive one, so that a view that says nothing orders rows slightly against the truth.
Source: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, 7.10; docs/methods/words.md, Visualness.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from endoxa.frozen import dataclass
from endoxa.tables import Floats, Ints

EXACT = 5000  # rows above which LEADING components stand for a view
LEADING = 256


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows that are left out together, and which of them are then predicted (places within `left`)."""

    left: Ints
    kept: Ints


def folds_of(groups: Ints, copies: Ints | None = None) -> tuple[Fold, ...]:
    """A fold per group; the `copies` (rows with one number) of its rows are left out with it, and not predicted."""
    folds = []
    for members in _members(groups):
        left = members if copies is None else np.flatnonzero(np.isin(copies, copies[members]))
        folds.append(Fold(left, np.flatnonzero(np.isin(left, members))))
    return tuple(folds)


def _members(groups: Ints) -> list[Ints]:
    order = np.argsort(groups, kind="stable")
    ends = np.flatnonzero(np.diff(groups[order])) + 1
    return list(np.split(order, ends))


@dataclass(frozen=True, eq=False)
class Smoother:
    """H as B Bᵀ: rows × components; the last component is the intercept."""

    basis: Floats

    @classmethod
    def of(cls, rows: Floats, lam: float, *, scaled: bool = True) -> Smoother:
        """From the features of each row; `scaled` gives the kernel the trace n.

        Above 5,000 rows, the 256 leading principal components stand for the features.
        """
        n, z = len(rows), rows - rows.mean(axis=0)
        trace = float((z**2).sum())
        intercept = np.full((n, 1), 1 / np.sqrt(n))
        if trace <= 0:
            return cls(intercept)
        if scaled:
            z *= np.sqrt(n / trace)
        return cls(np.hstack([_leading(z, lam) if n > EXACT else _root(z, lam), intercept]))

    @property
    def blind(self) -> bool:
        """Whether all rows look the same, so that nothing can be predicted."""
        return bool(self.basis.shape[1] == 1)

    @cached_property
    def leverages(self) -> Floats:
        """H_ii."""
        return np.asarray((self.basis**2).sum(axis=1))

    def inner(self, left: Ints) -> Floats:
        """(I - H_gg)⁻¹ of the rows `left`, or (I - B_gᵀB_g)⁻¹ where components are fewer."""
        own = self.basis[left]
        product = own @ own.T if len(left) <= own.shape[1] else own.T @ own
        return np.asarray(np.linalg.inv(np.eye(len(product)) - product))

    def solved(self, left: Ints, values: Floats, inner: Floats) -> Floats:
        """(I - H_gg)⁻¹ values, from what `inner` gives for these rows."""
        own = self.basis[left]
        if len(left) <= own.shape[1]:
            return np.asarray(inner @ values)
        return np.asarray(values + own @ (inner @ (own.T @ values)))


class LeftOut:
    """Predictions of every row without the rows of its fold; what depends on the folds only is computed once."""

    def __init__(self, smoother: Smoother, folds: Sequence[Fold]) -> None:
        self.smoother = smoother
        n, components = smoother.basis.shape
        self.whole = smoother.basis @ smoother.basis.T if n < 2 * components else None  # H, where that is quicker
        self.alone = np.array([fold.left[0] for fold in folds if len(fold.left) == 1], np.int64)
        self.together = [] if smoother.blind else [
            (fold, smoother.inner(fold.left)) for fold in folds if len(fold.left) > 1
        ]  # fmt: skip

    def __call__(self, y: Floats) -> Floats:
        """f of every row and target (rows × targets). A blind view gives one number to all."""
        if self.smoother.blind:
            return np.zeros(y.shape)
        basis = self.smoother.basis
        residuals = y - (basis @ (basis.T @ y) if self.whole is None else self.whole @ y)
        room = (1 - self.smoother.leverages[self.alone])[:, None]
        found = np.empty(y.shape)
        found[self.alone] = y[self.alone] - residuals[self.alone] / room
        for fold, inner in self.together:
            at = fold.left[fold.kept]
            errors = self.smoother.solved(fold.left, residuals[fold.left], inner)[fold.kept]
            found[at] = y[at] - errors
        return found


def _root(z: Floats, lam: float) -> Floats:
    """B with B Bᵀ = Z (ZᵀZ + λI)⁻¹ Zᵀ; the features, or the kernel where rows are fewer than features."""
    if z.shape[1] < len(z):
        lower = np.linalg.cholesky(z.T @ z + lam * np.eye(z.shape[1]))
        return np.asarray(solve_triangular(lower, z.T, lower=True).T)
    e, u = np.linalg.eigh(z @ z.T)
    e = np.maximum(e, 0)
    return np.asarray(u * np.sqrt(e / (e + lam)))


def _leading(z: Floats, lam: float) -> Floats:
    """The same from the leading principal components."""
    e, axes = np.linalg.eigh(z.T @ z)
    return np.asarray(z @ (axes[:, -LEADING:] / np.sqrt(e[-LEADING:] + lam)))


def from_others(columns: Floats, folds: Sequence[Fold], lam: float = 1.0) -> tuple[Floats, Floats]:
    """Every column predicted from all the others without the rows of its fold, and the coefficients (others × column).

    X are the centred columns, G = XᵀX + λI, P = G⁻¹. Without column w the inverse is P - P_w P_wᵀ/P_ww (block inverse),
    hence the coefficients -P_vw/P_ww, the residuals v_w = (XP)_w/P_ww, and without the rows g
        y_g - f_g = M⁻¹v/(P_ww + vᵀM⁻¹v),   M = I - 11ᵀ/n - X_g P X_gᵀ,   v = (XP)_gw
    so that a word costs O(words²) instead of a refit.
    """
    x = columns - columns.mean(axis=0)
    p = np.linalg.inv(x.T @ x + lam * np.eye(x.shape[1]))
    own = np.diag(p).copy()
    smoother, v = Smoother.of(x, lam, scaled=False), x @ p
    errors = np.empty(x.shape)
    room = (1 - smoother.leverages)[:, None]
    alone = np.array([fold.left[0] for fold in folds if len(fold.left) == 1], np.int64)
    errors[alone] = v[alone] / (own * room[alone] + v[alone] ** 2)
    for fold in folds:
        if len(fold.left) > 1:
            solved = smoother.solved(fold.left, v[fold.left], smoother.inner(fold.left))
            whole = solved / (own + (v[fold.left] * solved).sum(axis=0))
            errors[fold.left[fold.kept]] = whole[fold.kept]
    coefficients = -p / own
    np.fill_diagonal(coefficients, 0.0)
    return columns - errors, coefficients
