"""Merging regions: what is averaged and added, who is a neighbour, and where it stops."""

from __future__ import annotations

import numpy as np
import pytest

from endoxa.engines import Material
from endoxa.words.merging import NEIGHBOURS, SIZE, at_random, by_words

CHAIN = [0b0010, 0b0101, 0b1010, 0b0100]  # 0 – 1 – 2 – 3


def material(pictures: int = 2, bits: list[int] = CHAIN) -> Material:
    rng = np.random.default_rng(0)
    n = pictures * 4
    sizes = np.tile([0.4, 0.3, 0.2, 0.1], pictures)
    rows = np.column_stack([sizes, rng.random((n, 2))]).astype(np.float32)
    columns = {"features": rows, SIZE: sizes, NEIGHBOURS: np.tile(np.array(bits, np.int64), pictures)}
    return Material(tuple(f"p{at}" for at in range(pictures)), ((),) * pictures, columns, np.full(pictures, 4))


POSTERIORS = np.array([[0.9, 0.1], [0.88, 0.12], [0.1, 0.9], [0.9, 0.1]])


def test_neighbours_that_agree_become_one_region() -> None:
    """0 and 1 agree and touch; 3 agrees with both and touches neither."""
    before = material(1)
    merged = by_words(before, POSTERIORS, 0.95, "features", 0)
    assert merged.counts.tolist() == [3] and merged.columns[SIZE] == pytest.approx([0.7, 0.2, 0.1])
    rows, own = before.columns["features"], merged.columns["features"]
    assert own[:, 0] == pytest.approx([0.7, 0.2, 0.1]), "areas are added"
    assert own[0, 1:] == pytest.approx((0.4 * rows[0, 1:] + 0.3 * rows[1, 1:]) / 0.7)
    assert by_words(before, POSTERIORS, 0.95, "features", None).columns["features"][0, 0] == pytest.approx(0.25 / 0.7)


def test_a_merged_region_has_the_neighbours_of_both() -> None:
    """A star: 1, 2 and 3 touch 0 only, and agree; all become one through 0."""
    agreeing = np.tile([[0.5, 0.5]], (4, 1))
    assert by_words(material(1), agreeing, 0.99, "features", 0).counts.tolist() == [1]
    assert by_words(material(1, [0, 0, 0, 0]), agreeing, 0.99, "features", 0).counts.tolist() == [4]
    one = by_words(material(1, [0b1110, 1, 1, 1]), agreeing, 0.99, "features", 0)
    assert one.counts.tolist() == [1] and one.columns["features"][0, 0] == pytest.approx(1)


def test_the_greatest_agreement_is_merged_first() -> None:
    """1 and 2 agree by .998, 0 and 1 by .894; then 0 and both by .883, which is below the threshold."""
    posteriors = np.array([[1.0, 0], [0.8, 0.2], [0.75, 0.25], [0, 1]])
    left = by_words(material(1), posteriors, 0.885, "features", 0)
    assert left.columns[SIZE] == pytest.approx([0.5, 0.4, 0.1])


def test_at_random_as_many_are_left() -> None:
    before = material(40)
    counts = np.arange(40) % 4 + 1
    left = at_random(before, counts, "features", 0, rng=np.random.default_rng(0))
    assert left.counts.tolist() == counts.tolist()
    starts = left.offsets[:-1]
    assert np.add.reduceat(left.columns[SIZE], starts) == pytest.approx(np.ones(40)), "nothing is lost"
    means = np.add.reduceat(left.columns["features"][:, 1:] * left.columns[SIZE][:, None], starts)
    whole = (before.columns["features"][:, 1:] * before.columns[SIZE][:, None]).reshape(40, 4, 2).sum(axis=1)
    assert means == pytest.approx(whole, abs=1e-6)
    three = [
        tuple(left.columns[SIZE][start : start + 3].round(6)) for start, n in zip(starts, counts, strict=True) if n == 3
    ]
    assert set(three) == {(0.7, 0.2, 0.1), (0.5, 0.4, 0.1), (0.4, 0.3, 0.3)}, "neighbours only"


def test_regions_that_do_not_touch_cannot_be_merged_at_random() -> None:
    left = at_random(material(1, [0, 0, 0, 0]), np.array([1]), "features", 0, rng=np.random.default_rng(0))
    assert left.counts.tolist() == [4]
