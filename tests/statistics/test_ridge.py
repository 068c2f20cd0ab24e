"""Closed forms of left-out ridge predictions beside refits without the rows, or without the column."""

from __future__ import annotations

import numpy as np
import pytest

from endoxa.statistics import ridge
from endoxa.statistics.ridge import Fold, LeftOut, Smoother, folds_of, from_others

N = 40


def refitted(z: np.ndarray, y: np.ndarray, lam: float, left: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Ridge with a free intercept on the rows that are not left out, by its normal equations."""
    rest = np.setdiff1d(np.arange(len(z)), left)
    centre, mean = z[rest].mean(axis=0), y[rest].mean(axis=0)
    inner = z[rest] - centre
    weights = np.linalg.solve(inner.T @ inner + lam * np.eye(z.shape[1]), inner.T @ (y[rest] - mean))
    return np.asarray((z[at] - centre) @ weights + mean)


def scaled(z: np.ndarray) -> np.ndarray:
    z = z - z.mean(axis=0)
    return np.asarray(z * np.sqrt(len(z) / (z**2).sum()))


GROUPINGS = {
    "each": (np.arange(N), None),
    "pairs": (np.arange(N) // 2, None),
    "topics": (np.arange(N) % 4, None),
    "topics with copies in others": (np.arange(N) % 4, np.arange(N) // 2),
    "topics larger than the features": (np.arange(N) // 20, None),
}


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("width", [7, 60])
def test_closed_forms_equal_refits(grouping: str, width: int) -> None:
    rng = np.random.default_rng(width)
    z, y = rng.normal(size=(N, width)), (rng.random((N, 3)) < 0.4).astype(float)
    folds = folds_of(*GROUPINGS[grouping])
    found = LeftOut(Smoother.of(z, 3.0), folds)(y)
    assert sorted(np.concatenate([one.left[one.kept] for one in folds])) == list(range(N))
    for one in folds:
        at = one.left[one.kept]
        assert found[at] == pytest.approx(refitted(scaled(z), y, 3.0, one.left, at), abs=1e-9)


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("width", [6, 55])
def test_the_block_inverse_equals_a_fit_without_the_column(grouping: str, width: int) -> None:
    rng = np.random.default_rng(width)
    x = rng.normal(size=(N, width)) @ rng.normal(size=(width, width)) / width
    folds = folds_of(*GROUPINGS[grouping])
    found, coefficients = from_others(x, folds)
    for word in (0, width - 1):
        others = np.delete(x, word, axis=1)
        for one in folds:
            at = one.left[one.kept]
            expected = refitted(others, x[:, [word]], 1.0, one.left, at)[:, 0]
            assert found[at, word] == pytest.approx(expected, abs=1e-9)
        inner = others - others.mean(axis=0)
        whole = np.linalg.solve(inner.T @ inner + np.eye(width - 1), inner.T @ (x[:, word] - x[:, word].mean()))
        assert np.delete(coefficients[:, word], word) == pytest.approx(whole, abs=1e-9)
        assert coefficients[word, word] == 0


def test_copies_leave_together_and_only_their_own_group_is_predicted() -> None:
    folds = folds_of(np.array([0, 0, 1, 1]), np.array([5, 6, 6, 7]))
    assert [one.left.tolist() for one in folds] == [[0, 1, 2], [1, 2, 3]]
    assert [one.left[one.kept].tolist() for one in folds] == [[0, 1], [2, 3]]


def test_a_view_without_differences_predicts_one_number() -> None:
    blind = Smoother.of(np.ones((5, 3)), 1.0)
    assert blind.blind
    y = np.array([[1.0], [0], [0], [1], [0]])
    assert len(np.unique(LeftOut(blind, folds_of(np.arange(5)))(y))) == 1


def test_many_rows_are_seen_through_leading_components(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(N, 4)) @ rng.normal(size=(4, 30)) + 1e-6 * rng.normal(size=(N, 30))
    whole = Smoother.of(z, 1.0)
    monkeypatch.setattr(ridge, "EXACT", N - 1)
    monkeypatch.setattr(ridge, "LEADING", 4)
    few = Smoother.of(z, 1.0)
    assert few.basis.shape == (N, 5) and few.basis @ few.basis.T == pytest.approx(whole.basis @ whole.basis.T, abs=1e-6)


def test_a_fold_of_one_row_and_one_of_many_agree() -> None:
    rng = np.random.default_rng(1)
    smoother, y = Smoother.of(rng.normal(size=(9, 3)), 1.0), rng.normal(size=(9, 2))
    several = LeftOut(smoother, [Fold(np.array([0, 1]), np.array([0])), *folds_of(np.arange(9))[1:]])(y)
    assert several[1:] == pytest.approx(LeftOut(smoother, folds_of(np.arange(9)))(y)[1:])
    assert several[0] == pytest.approx(refitted(scaled_rows(1, 9, 3), y, 1.0, np.array([0, 1]), np.array([0]))[0])


def scaled_rows(seed: int, n: int, width: int) -> np.ndarray:
    return scaled(np.random.default_rng(seed).normal(size=(n, width)))
