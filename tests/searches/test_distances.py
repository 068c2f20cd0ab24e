"""Distances, against SciPy and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

from endoxa.errors import EndoxaError
from endoxa.searches.distances import BLOCK, NAMES, distances

DEFINED = {
    "l1": lambda p, v: cdist(p, v, "cityblock"),
    "l2": lambda p, v: cdist(p, v, "euclidean"),
    "cosine": lambda p, v: cdist(p, v, "cosine"),
    "chi2": lambda p, v: ((p[:, None] - v) ** 2 / np.maximum(p[:, None] + v, 1e-300)).sum(-1),
    "intersection": lambda p, v: 1 - np.minimum((p / p.sum(1, keepdims=True))[:, None], v / v.sum(1)[:, None]).sum(-1),
    "emd": lambda p, v: np.array(
        [[wasserstein_distance(range(p.shape[1]), range(p.shape[1]), a, b) for b in v] for a in p]
    ),
}


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
@pytest.mark.parametrize("metric", sorted(NAMES))
def test_each_metric_is_its_definition(metric: str, kind: type) -> None:
    values = (np.random.default_rng(1).random((40, 9)) * 250).astype(kind)
    found = distances(metric, values, values[:6])
    expected = DEFINED[metric](values[:6].astype(float), values.astype(float))
    assert np.allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert np.allclose(found[np.arange(6), np.arange(6)], 0, atol=1e-6)
    assert np.allclose(found[:, :6], found[:, :6].T)


@pytest.mark.parametrize("metric", sorted(NAMES))
def test_a_vector_that_is_zero_or_not_finite_has_no_distance(metric: str) -> None:
    values = np.random.default_rng(2).random((8, 5)).astype(np.float32)
    values[2], values[3, 1], values[4, 0] = 0, np.nan, np.inf
    found = distances(metric, values, values)
    silent = np.isin(np.arange(8), (2, 3, 4))
    assert (np.isnan(found) == (silent[:, None] | silent)).all()
    dark = np.zeros((3, 5), np.uint8)
    dark[0] = 7
    assert np.isnan(distances(metric, dark, dark)).sum() == 8


def test_equal_vectors_have_the_cosine_distance_0_whatever_is_rounded() -> None:
    values = np.random.default_rng(4).random((30, 128)).astype(np.float32)
    assert (distances("cosine", values, values)[np.arange(30), np.arange(30)] == 0).all()


def test_blocks_and_threads_change_nothing() -> None:
    values = (np.random.default_rng(3).random((BLOCK + 500, 40)) * 255).astype(np.uint8)
    whole = distances("chi2", values, values[:12])
    assert (whole[:, -500:] == distances("chi2", values[-500:], values[:12])).all()
    assert distances("l1", values[:0], values[:2]).shape == (2, 0)


def test_other_numbers_are_refused() -> None:
    with pytest.raises(EndoxaError, match="has 3 numbers, the collection 4"):
        distances("l1", np.ones((2, 4)), np.ones((1, 3)))
    with pytest.raises(EndoxaError, match="no metric is called 'l3'"):
        distances("l3", np.ones((2, 4)), np.ones((1, 4)))
