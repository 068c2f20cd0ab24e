"""Lists in possible worlds hold what plain arrays would hold."""

import numpy as np
import pytest

from endoxa.measures.lists import BEYOND, Drawn, Lists, alike
from endoxa.measures.ranked import AP, RR, IPrec


def both(seed: int, wide: int = 40) -> tuple[Lists, Lists]:
    """The same lists, gathered when asked for and as arrays: 5 worlds, 3 lists of different length."""
    rng = np.random.default_rng(seed)
    table = np.vstack([rng.integers(0, 3, (60, 5)).astype(float), np.full((1, 5), np.nan)])
    lengths = [wide, wide // 2, 0]
    at = np.full((wide, 3), 60)
    rank = np.full((3, wide), BEYOND)
    for s, length in enumerate(lengths):
        at[:length, s] = rng.permutation(60)[:length]
        rank[s, :length] = np.cumsum(rng.integers(1, 3, length))
    pool = -np.sort(-table[:-1].T, axis=1)[:, None]
    drawn = Drawn(table, at)
    retrieved = np.array([100, 100, 0])
    return Lists(rank, drawn, retrieved, pool, 2.0), Lists(rank, drawn.grade().copy(), retrieved, pool, 2.0)


@pytest.mark.parametrize("wide", [1, 31, 32, 33, 60])
def test_counts_and_measures_are_the_same(wide: int) -> None:
    lazy, plain = both(wide, wide)
    assert np.array_equal(lazy.relevant(2), plain.relevant(2))
    assert np.array_equal(lazy.running(1), plain.running(1))
    assert np.array_equal(lazy.hits_at_relevant(1), plain.hits_at_relevant(1))
    for kernel, settings in ((AP, {}), (AP, {"k": 10}), (RR, {}), (RR, {"rel": 2, "k": 3}), (IPrec, {"recall": 0.3})):
        assert np.allclose(kernel(lazy, **settings), kernel(plain, **settings), rtol=1e-13, equal_nan=True)


def test_padding_changes_no_digit() -> None:
    lazy, _ = both(3, 40)
    alone = Lists(
        lazy.rank[1:2, :20], Drawn(lazy.grades.table, lazy.grades.at[:20, 1:2]), lazy.retrieved[1:2], lazy.pool
    )
    assert np.array_equal(AP(lazy)[:, 1], AP(alone)[:, 0])


def test_lists_of_about_the_same_length_are_taken_together() -> None:
    lengths = np.array([100, 5, 1000, 20, 0, 120])
    groups = [rows.tolist() for rows in alike(lengths)]
    assert sorted(row for rows in groups for row in rows) == list(range(6))
    assert groups == [[4, 1], [3], [0, 5], [2]]
