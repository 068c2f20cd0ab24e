"""Concreteness by neighbours: a worked example, chance is 1, and what neighbours are."""

from __future__ import annotations

import numpy as np
import pytest

from endoxa.errors import TableError
from endoxa.words.concreteness import concreteness, neighbours_of

NEAREST = np.array([[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [2, 3]])


def words(*sets: tuple[int, ...]) -> np.ndarray:
    return np.stack([np.isin(np.arange(6), one) for one in sets])


def test_the_worked_example() -> None:
    has = words((0, 1, 2), (0, 3, 5))
    assert concreteness(NEAREST, has) == pytest.approx([2.5, 0.833333], abs=5e-7)
    assert concreteness(NEAREST, has, as_published=True) == pytest.approx([2.0, 0.666667], abs=5e-7)
    assert np.isnan(concreteness(NEAREST, words((1,), ()))).all(), "one picture has no neighbour with its word"


def test_random_words_have_1_on_average() -> None:
    rng = np.random.default_rng(0)
    nearest = neighbours_of(rng.normal(size=(60, 4)).astype(np.float32), 8)
    has = np.stack([np.isin(np.arange(60), rng.permutation(60)[:12]) for _ in range(3000)])
    values = concreteness(nearest, has)
    assert abs(values.mean() - 1) < 4 * values.std() / np.sqrt(3000)
    published = concreteness(nearest, has, as_published=True)
    assert abs(published.mean() - 1) > 8 * published.std() / np.sqrt(3000), "the published divisor misses it"


def test_neighbours_are_nearest_by_cosine_and_never_the_picture_itself() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(30, 5)).astype(np.float32)
    vectors[3] *= 7  # length does not matter
    found = neighbours_of(vectors, 6)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for at in range(30):
        assert at not in found[at]
        near = unit @ unit[at]
        near[at] = -2
        assert near[found[at]].min() >= np.sort(near)[-6] - 1e-6
    assert neighbours_of(vectors[:3], 50).shape == (3, 2), "fewer pictures have fewer neighbours"
    with pytest.raises(TableError, match="at least 2"):
        neighbours_of(vectors[:1])
