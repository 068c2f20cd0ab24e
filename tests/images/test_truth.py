"""Segmenters against the truth of drawn scenes."""

from __future__ import annotations

import numpy as np
import pytest
from picture_samples import adjusted_rand

from endoxa.images import LabelMap
from endoxa.images.scenes import draw
from endoxa.images.segment import SEGMENTERS, segment

FINE = {"preseg", "slic", "mean-shift-quantised"}  # many more regions than things: they are to be joined later
SCENES = [draw(number, 11, size=(192, 288)) for number in range(5)]


def joined(labels: LabelMap, truth: LabelMap) -> LabelMap:
    """Each region given to the true one that it shares most with: what a perfect joining could reach."""
    table = np.zeros((int(labels.max()) + 1, int(truth.max()) + 1))
    np.add.at(table, (labels.ravel(), truth.ravel()), 1)
    return table.argmax(1).astype(np.int32)[labels]


@pytest.fixture(scope="module")
def of_grid() -> float:
    return float(np.mean([adjusted_rand(segment(scene.picture, "grid"), scene.labels) for scene in SCENES]))


@pytest.mark.parametrize("method", [name for name in SEGMENTERS if name not in {"grid", *FINE}])
def test_regions_are_found_far_better_than_by_a_grid(method: str, of_grid: float) -> None:
    found = [adjusted_rand(segment(scene.picture, method), scene.labels) for scene in SCENES]
    assert of_grid < 0.3
    assert np.mean(found) > 0.5 and np.mean(found) > of_grid + 0.3, found


@pytest.mark.parametrize("method", sorted(FINE))
def test_fine_regions_keep_to_the_true_borders(method: str) -> None:
    """Joined perfectly, they reach what a grid of as many cells does not."""
    found, plain = [], []
    for scene in SCENES:
        labels = segment(scene.picture, method)
        found.append(adjusted_rand(joined(labels, scene.labels), scene.labels))
        cells = max(2, round(np.sqrt(min(int(labels.max()) + 1, 200))))
        squares = segment(scene.picture, "grid", rows=cells, columns=cells)
        plain.append(adjusted_rand(joined(squares, scene.labels), scene.labels))
    assert np.mean(found) > 0.9 and np.mean(found) > np.mean(plain), (found, plain)
