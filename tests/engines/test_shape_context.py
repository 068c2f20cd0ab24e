"""Shape contexts: points, histograms, costs and matches by brute force, and what they do not see."""

from __future__ import annotations

import numpy as np
import pytest
from shape_samples import blank, drawing, material, placed, scores

from endoxa.engines.shape_context import ContextPoints, ShapeContext, contexts, distances, matched, shares, spread
from endoxa.images.strokes import Stroke, draw


def half_chi_square(one: np.ndarray, other: np.ndarray) -> float:
    return 0.5 * sum((a - b) ** 2 / (a + b) for a, b in zip(one, other, strict=True) if a + b)


def test_chi_square_by_hand() -> None:
    """By hand: χ²/2 of (.5, .5, 0) and (.5, .25, .25) is .166667."""
    one, other = np.array([[0.5, 0.5, 0]], np.float32), np.array([[0.5, 0.25, 0.25]], np.float32)
    assert matched(one, np.ascontiguousarray(other.T)) == pytest.approx(0.166667, abs=1e-6)


def test_distances_by_brute_force() -> None:
    rng = np.random.default_rng(5)
    sizes = [(3, 1, 4), (2, 5)]
    sides = [shares(rng.integers(0, 4, (sum(size), 8)).astype(np.uint8)) for size in sizes]
    offsets = [np.concatenate([[0], np.cumsum(size)]) for size in sizes]
    found = distances(sides[0], offsets[0], sides[1], offsets[1])
    for q in range(3):
        for i in range(2):
            asked = sides[0][offsets[0][q] : offsets[0][q + 1]]
            own = sides[1][offsets[1][i] : offsets[1][i + 1]]
            costs = np.array([[half_chi_square(a, b) for b in own] for a in asked])
            expected = (costs.min(axis=1).mean() + costs.min(axis=0).mean()) / 2
            assert found[q, i] == pytest.approx(expected, abs=2e-6)


def test_points_spread_out() -> None:
    points = np.array([[float(x), 0.0] for x in range(11)])
    assert spread(points, 3).tolist() == [0, 10, 5]
    assert sorted(spread(points, 99).tolist()) == list(range(11))


def test_contexts_by_hand() -> None:
    """Three points in a row, at 0, 1 and 3: the mean distance is 2, rings end at .435, .758, 1.32, 2.30, …"""
    found = contexts(np.array([[0.0, 0], [1, 0], [3, 0]])).reshape(3, 5, 12)
    assert found.sum() == 6
    assert found[0, 2, 0] == 1 and found[0, 4, 0] == 1  # 1 and 3 to the right
    assert found[1, 2, 6] == 1 and found[1, 3, 0] == 1
    assert contexts(np.array([[0.0, 0], [0, -1]])).reshape(2, 5, 12)[0, :, 3].sum() == 1  # y points down: above


def test_moved_and_smaller_drawings_are_recognised() -> None:
    items = [drawing(seed) for seed in range(6)]
    for right, down in ((0, 0), (60, 30)):
        found = scores(ShapeContext(), [placed(one, right, down) for one in items], items)
        assert found.argmax(axis=1).tolist() == list(range(6))


def test_equal_drawings_score_highest() -> None:
    items = [*(drawing(seed) for seed in range(4)), blank(), draw([Stroke(np.ones((2, 2)))])]  # nothing, and a dot
    found = scores(ShapeContext(), items, items)
    assert (np.diag(found) == 0).all() and (found <= 0).all()
    assert (found[:4, 4:] < -0.2).all()
    assert np.allclose(found, found.T, atol=2e-6)


def test_a_drawing_without_ink_has_one_empty_row() -> None:
    assert ContextPoints().describe(blank())["context"].tolist() == [[0] * 60]
    described = material(ContextPoints(), [drawing(0)])
    assert described.counts.tolist() == [60] and (described.columns["context"].sum(axis=1) == 59).all()
