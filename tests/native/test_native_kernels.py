"""The kernels of the native core against NumPy: the same numbers to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from endoxa.measures import closed_forms
from endoxa.measures.lists import Drawn, Lists
from endoxa.native import SETTING
from endoxa.native import core as the_core

pytestmark = pytest.mark.usefixtures("core")


@pytest.mark.parametrize("seed", range(40))
def test_precisions_in_worlds(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    items, worlds, depth, lists = (int(rng.integers(1, most)) for most in (60, 40, 70, 9))
    table = np.vstack([rng.integers(0, 3, (items, worlds)).astype(float), np.full(worlds, np.nan)])
    rank, at = np.sort(rng.integers(1, 200, (lists, depth))), rng.integers(0, items + 1, (depth, lists))
    k = int(rng.integers(1, 150)) if seed % 2 else None

    def found():
        many = Lists(rank, Drawn(table, at), np.full(lists, depth), np.zeros((worlds, 1, items)))
        return many.precisions(1.0, k)

    native = found()
    monkeypatch.setenv(SETTING, "0")
    assert np.array_equal(native, found())


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_moments_of_hits_over_rank(seed, spread, monkeypatch):
    rng = np.random.default_rng(seed)
    depth, lists, nodes = (int(rng.integers(1, most)) for most in (300, 9, 70))
    p = rng.random((depth, lists)) * (rng.random((depth, lists)) < 0.8)
    p[rng.random((depth, lists)) < 0.1] = 1.0
    rank, t = np.sort(rng.integers(1, 900, (depth, lists)), axis=0), rng.random(nodes)
    native = closed_forms._hits_over_rank(p, rank, t, spread)
    monkeypatch.setenv(SETTING, "0")
    plain = closed_forms._hits_over_rank(p, rank, t, spread)
    assert np.array_equal(native[0], plain[0])
    assert not spread or np.array_equal(native[1], plain[1])


def test_arrays_of_another_size_and_rows_that_are_not_there_are_refused():
    table, at, weight, total = np.zeros((3, 2), bool), np.zeros((4, 1), np.int64), np.zeros((1, 4)), np.zeros((1, 2))
    with pytest.raises(ValueError, match="another size"):
        the_core().precisions(table, at, weight, total, 3, 4, 1, 3)
    with pytest.raises(IndexError, match="not in the table"):
        the_core().precisions(table, at + 3, weight, total, 3, 4, 1, 2)
    with pytest.raises(ValueError, match="another size"):
        the_core().hits_over_rank(weight, weight, weight, total, None, 1, 1, 4, 16)
