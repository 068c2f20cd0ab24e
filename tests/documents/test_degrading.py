"""Damage grows with the level, and is a function of the seed."""

from __future__ import annotations

import numpy as np
import pytest

from endoxa.documents.degrading import degrade
from endoxa.errors import TextError


def sides() -> tuple[np.ndarray, np.ndarray]:
    front, back = (np.full((200, 300), 255, dtype=np.uint8) for _ in range(2))
    front[40:160:20, 30:270] = 0
    back[50:150:20, 30:120] = 0
    return front, back


def test_the_same_seed_damages_alike_and_another_does_not() -> None:
    one, again, other = (degrade(*sides(), 0.5, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (one == again).all() and (one != other).any()
    assert one.shape == (200, 300) and one.dtype == np.uint8


def test_more_damage_leaves_less_contrast() -> None:
    """Ink minus the paper beside it, in units of the paper's own spread."""
    front, back = sides()
    rows = np.arange(40, 160, 20)
    contrast = []
    for level in (0.0, 0.5, 1.0):
        pages = [degrade(front, back, level, np.random.default_rng(seed)).astype(float) for seed in range(8)]
        gaps = [page[rows + 9, 30:270].mean() - page[rows, 30:270].mean() for page in pages]
        noise = [page[rows + 9, 30:270].std() for page in pages]
        contrast.append(np.mean(gaps) / np.mean(noise))
    assert contrast[0] > 2 * contrast[1] > 3 * contrast[2] > 0


def test_the_back_shines_through_mirrored() -> None:
    clean = np.full((200, 300), 255, dtype=np.uint8)
    _, back = sides()
    pages = [degrade(clean, back, 1.0, np.random.default_rng(seed)).astype(float) for seed in range(20)]
    mean = np.mean(pages, axis=0)
    mirrored = mean[50:150:20, 180:270].mean() - mean[60:160:20, 180:270].mean()
    straight = mean[50:150:20, 30:120].mean() - mean[60:160:20, 30:120].mean()
    assert mirrored < -5 and abs(straight) < 5


@pytest.mark.parametrize("level", [-0.1, 1.1, float("nan")])
def test_a_level_outside_is_refused(level: float) -> None:
    with pytest.raises(TextError, match="between 0 and 1"):
        degrade(*sides(), level, np.random.default_rng(0))
