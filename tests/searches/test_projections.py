"""Projections: angles are kept, signs are fixed, odd vectors are NaN."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from endoxa.errors import JoinError
from endoxa.searches import projections
from endoxa.searches.projections import leading


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 99))
def test_without_a_cut_the_angles_stay(items: int, numbers: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(items, numbers)) + 0.3
    basis = leading(vectors)
    found = basis.project(vectors)
    assert found.dtype == np.float32 and found.shape[1] <= min(items, numbers)
    assert np.allclose(cdist(found, found, "cosine"), cdist(vectors, vectors, "cosine"), atol=1e-6)
    assert np.allclose(basis.axes.T @ basis.axes, np.eye(found.shape[1]), atol=1e-6)
    assert (basis.axes[np.abs(basis.axes).argmax(0), np.arange(found.shape[1])] > 0).all()


@pytest.mark.parametrize("shape", [(60, 20), (20, 60)])
def test_the_axes_are_those_of_a_singular_value_decomposition(shape: tuple[int, int]) -> None:
    vectors = np.random.default_rng(3).normal(size=shape) * np.linspace(3, 1, shape[1])
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = np.linalg.svd(units, full_matrices=False)[2][:7].T
    found = leading(vectors, 7).axes
    assert np.allclose(np.abs((found * expected).sum(0)), 1)


def test_a_vector_that_is_zero_or_not_finite_is_nan_and_disturbs_nothing() -> None:
    vectors = np.random.default_rng(4).normal(size=(9, 5)).astype(np.float32)
    odd = np.concatenate([vectors, [[0] * 5, [np.nan, 1, 1, 1, 1], [np.inf, 1, 1, 1, 1]]]).astype(np.float32)
    found, alone = leading(odd).project(odd), leading(vectors).project(vectors)
    assert np.array_equal(found[:9], alone) and np.isnan(found[9:]).all()
    assert leading(odd[9:]).axes.shape == (5, 0)
    assert leading(odd[:0]).project(odd).shape == (12, 0)


def test_many_vectors_are_sampled_with_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(5).normal(size=(80, 6)) * [9, 5, 3, 1, 1, 1]
    whole = leading(vectors, 3).axes
    monkeypatch.setattr(projections, "SAMPLE", 60)
    first, same, other = (leading(vectors, 3, seed=seed).axes for seed in (1, 1, 2))
    assert np.array_equal(first, same) and not np.array_equal(first, other)
    assert np.abs((first * whole).sum(0)).min() > 0.9


def test_vectors_of_another_length_are_refused() -> None:
    with pytest.raises(JoinError, match="have 4 numbers, those of the collection 5"):
        leading(np.eye(5)).project(np.eye(4))
