"""What several tests of segmenters share: how far two labellings agree, and a grid to beat."""

from __future__ import annotations

import math

import numpy as np

from endoxa.images import LabelMap


def adjusted_rand(a: LabelMap, b: LabelMap) -> float:
    """Agreement of two partitions, corrected for chance (Hubert and Arabie), written out."""
    table = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
    np.add.at(table, (a.ravel(), b.ravel()), 1)

    def pairs(counts: np.ndarray) -> float:
        return float((counts * (counts - 1) / 2).sum())

    both, first, second = pairs(table), pairs(table.sum(1)), pairs(table.sum(0))
    chance = first * second / pairs(np.array([a.size]))
    return (both - chance) / ((first + second) / 2 - chance)


def grid(shape, cells):
    """The most nearly square grid with at least so many cells."""
    down = max(1, round(math.sqrt(cells * shape[0] / shape[1])))
    across = math.ceil(cells / down)
    y, x = np.indices(shape)
    return y * down // shape[0] * across + x * across // shape[1]
