"""Closed forms of means over tied orders: against enumeration on small blocks, and slow exact sums on large ones."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, permutations, product
from random import Random

import numpy as np
import pytest
from plain_lists import Grade, Plain, batch

from endoxa.measures import all_orders
from endoxa.measures.grammar import parse
from endoxa.measures.lists import BEYOND, Lists
from endoxa.measures.registry import REGISTRY
from endoxa.tables import Floats

Blocks = tuple[tuple[Grade, ...], ...]  # the grades of each run of equal scores; None: nobody pooled the item

EXACT = ["AP", "AP@7", "AP(norm='min',rel=2)@5", "GMAP", "RR", "RR@4", "RR(rel=2)", "Success@1", "Success@3",
         "Success(rel=2)@6", "Rprec", "Rprec(mult=2)", "DCG", "DCG@5", "nDCG", "nDCG@5", "nDCG(dcg='exp-log2')",
         "nDCG(gains={1:3,2:9})@4", "P@5", "R@5", "F@5", "ERR", "ERR@3", "RBP", "nDCGrel", "nDCGrel(gains={0:-1})",
         "Rndcg", "Rndcg(gains={1:4})", "binG", "Bpref", "GMBpref", "Judged@5", "SetF"]  # fmt: skip


def tied(lists: list[tuple[Blocks, tuple[float, ...]]], top: float = 2.0) -> Lists:
    """A batch of lists with `block` and `length`; each has its blocks and the grades of what it missed."""
    plain = batch([Plain(tuple(g for block in blocks for g in block), missed) for blocks, missed in lists], top=top)
    block, length = np.full_like(plain.rank, BEYOND), np.ones_like(plain.rank)
    for row, (blocks, _) in enumerate(lists):
        starts = np.cumsum([1, *map(len, blocks)])
        sizes = [len(some) for some in blocks]
        of = np.searchsorted(starts, plain.rank[row], side="right") - 1
        for column in np.flatnonzero(plain.rank[row] < BEYOND):
            block[row, column], length[row, column] = starts[of[column]], sizes[of[column]]
    return Lists(plain.rank, plain.grade, plain.retrieved, plain.pool, top, block=block, length=length)


def mean_of_orders(text: str, lists: Lists) -> Floats:
    m = parse(text)
    form = REGISTRY[m.name].mean_of_orders
    assert form is not None
    return np.asarray(form(lists, **m.keywords()))


def some_list(random: Random, sizes: list[int]) -> tuple[Blocks, tuple[float, ...]]:
    kinds: list[Grade] = [0, 0, 1, 2, None, None, -1]
    return tuple(tuple(random.choice(kinds) for _ in range(size)) for size in sizes), (1, 2, 0)


@pytest.mark.parametrize("text", EXACT)
def test_blocks_of_up_to_seven_items_against_all_orders(text: str) -> None:
    random = Random(8)
    lists = [some_list(random, [random.randrange(1, 3), size, 1]) for size in (1, 2, 4, 6, 7, 7)]
    found = mean_of_orders(text, tied(lists))
    for value, (blocks, missed) in zip(found, lists, strict=True):
        orders = [
            Plain(tuple(g for block in chosen for g in block), missed)
            for chosen in product(*(set(permutations(block)) for block in blocks))
        ]
        assert value == pytest.approx(parse(text)(batch(orders, top=2.0)).mean(), abs=1e-12)


# ---- large blocks: h relevant of s items, then a block of n with r relevant, then one more relevant item


BEFORE: Blocks = ((1,), (None,), (0,), (1,))
LARGE = [(300, 1), (300, 299), (1500, 40), (2500, 3), (2049, 1024)]
MISSED = (1.0, 1.0)


def large(n: int, r: int) -> Lists:
    """One judged miss in three; the others were not judged."""
    misses = n - r
    block = (1.0,) * r + (0.0,) * (misses // 3) + (None,) * (misses - misses // 3)
    shuffled = list(block)
    Random(n).shuffle(shuffled)
    return tied([((*BEFORE, tuple(shuffled), (1,)), MISSED)], top=1.0)


def slow_ap(n: int, r: int, k: int) -> float:
    """Each pair of places that both hold a relevant item adds 1/rank of the later one, and so does each such place."""
    total = sum(Fraction(1, rank) for rank in (1, 4) if rank <= k) + (Fraction(1, 4) if k >= 4 else 0)
    one, two = Fraction(r, n), Fraction(r * (r - 1), n * (n - 1)) if n > 1 else Fraction(0)
    for place in range(1, min(n, k - 4) + 1):
        total += (one * 3 + two * (place - 1)) / (4 + place)
    if k >= n + 5:
        total += Fraction(r + 3, n + 5)
    return float(total)


def slow_hits(n: int, r: int, k: int) -> Fraction:
    return (k >= 1) + (k >= 4) + Fraction(r * min(max(k - 4, 0), n), n) + (k >= n + 5)


@pytest.mark.parametrize(("n", "r"), LARGE)
@pytest.mark.parametrize("k", [3, 4, 20, 1100, 2300, 10_000])
def test_large_blocks_against_exact_sums(n: int, r: int, k: int) -> None:
    lists = large(n, r)
    every = 2 + r + 1 + len(MISSED)
    assert mean_of_orders(f"AP@{k}", lists)[0] == pytest.approx(slow_ap(n, r, k) / every, rel=1e-12)
    assert mean_of_orders(f"P@{k}", lists)[0] == pytest.approx(float(slow_hits(n, r, k) / k), rel=1e-12)
    assert mean_of_orders(f"R@{k}", lists)[0] == pytest.approx(float(slow_hits(n, r, k) / every), rel=1e-12)
    assert mean_of_orders("Rprec", lists)[0] == pytest.approx(float(slow_hits(n, r, every) / every), rel=1e-12)
    weights = [1 / math.log2(rank + 1) if rank <= k else 0.0 for rank in range(1, n + 6)]
    dcg = math.fsum([weights[0], weights[3], weights[-1], r / n * math.fsum(weights[4:-1])])
    assert mean_of_orders(f"DCG@{k}", lists)[0] == pytest.approx(dcg, rel=1e-12)
    ideal = math.fsum(1 / math.log2(rank + 1) for rank in range(1, min(every, k) + 1))
    assert mean_of_orders(f"nDCG@{k}", lists)[0] == pytest.approx(dcg / ideal, rel=1e-12)


@pytest.mark.parametrize(("n", "r"), LARGE)
@pytest.mark.parametrize("k", [1, 2, 20, 1100, 2300, 10_000])
def test_large_blocks_without_anything_relevant_before_them(n: int, r: int, k: int) -> None:
    """One unjudged item, then the block: the first relevant item is at place j with C(n − j, r − 1)/C(n, r)."""
    grades: list[Grade] = [1] * r + [0] * ((n - r) // 2) + [None] * (n - r - (n - r) // 2)
    lists = tied([(((None,), tuple(grades)), (1,))], top=1.0)
    orders = math.comb(n, r)
    first = [Fraction(math.comb(n - j, r - 1), orders) if j <= k - 1 else Fraction(0) for j in range(1, n - r + 2)]
    reciprocal = math.fsum(float(chance) / (1 + j) for j, chance in enumerate(first, 1))
    assert mean_of_orders(f"RR@{k}", lists)[0] == pytest.approx(reciprocal, rel=1e-12)
    assert mean_of_orders(f"Success@{k}", lists)[0] == pytest.approx(float(sum(first)), rel=1e-12)
    if k < n:
        return
    misses = n - r
    bing = math.fsum(1 / math.log2(3 + m) for m in range(misses + 1)) * r / (misses + 1) / (r + 1)
    assert mean_of_orders("binG", lists)[0] == pytest.approx(bing, rel=1e-12)
    judged = misses // 2
    limit = max(min(judged, r + 1), 1)
    bpref = sum(Fraction(limit - min(m, r + 1), limit) for m in range(judged + 1)) * Fraction(r, (judged + 1) * (r + 1))
    assert mean_of_orders("Bpref", lists)[0] == pytest.approx(float(bpref), rel=1e-12)
    # ERR of one grade: the reader is satisfied with probability 1/2, so i relevant items leave (1/2)^i
    going = [
        sum(math.comb(j, i) * math.comb(n - j, r - i) * Fraction(1, 2**i) for i in range(min(j, r, 60) + 1)) / orders
        for j in range(min(n, 30) + 1)
    ]
    err = math.fsum(float(a - b) / (1 + j) for j, (a, b) in enumerate(pairwise(going), 1))
    assert mean_of_orders(f"ERR@{min(n, 30) + 1}", lists)[0] == pytest.approx(err, rel=1e-12)


def test_queries_without_anything_relevant_or_returned() -> None:
    lists = tied([(((0, None, 0), (-1, 0)), ()), ((), (1,)), (((0, 0),), (1,))])
    assert np.isnan(mean_of_orders("AP", lists)).tolist() == [True, False, False]
    for text in ("AP", "Rprec", "nDCG", "nDCGrel", "binG", "Bpref"):
        value = mean_of_orders(text, lists)
        assert np.isnan(value[0])
        assert value[1:].tolist() == [0, 0]
    for text in ("RR", "Success@3", "ERR"):
        assert mean_of_orders(text, lists).tolist() == [0, 0, 0]


@pytest.mark.parametrize("text", EXACT)
def test_neighbours_and_batches_do_not_change_a_bit(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(5)
    lists = [some_list(random, [random.randrange(1, 40) for _ in range(random.randrange(1, 5))]) for _ in range(9)]
    lists.append(some_list(random, [3, 2600, 4]))
    whole = mean_of_orders(text, tied(lists))
    monkeypatch.setattr(all_orders, "CELLS", 50)
    assert mean_of_orders(text, tied(lists)).tobytes() == whole.tobytes()
    assert tied(lists).rank.shape[-1] > all_orders.WIDTH
    assert mean_of_orders(text, tied(lists[::-1])).tobytes() == whole[::-1].tobytes()
    assert mean_of_orders(text, tied(lists[3:])).tobytes() == whole[3:].tobytes()  # the longest is the last one


def test_windows_visit_every_place_once_and_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    count = np.array([0, 1, 5, 8, 1024, 1025, 5000, 2, 3, 0, 4096])
    for cells in (1, 2000, 2_000_000):
        monkeypatch.setattr(all_orders, "CELLS", cells)
        seen: dict[int, list[int]] = {}
        for some, places, inside in all_orders.windows(count):
            assert inside.size <= cells or len(some) == 1
            assert len(places) <= all_orders.WIDTH
            for block, here in zip(some.tolist(), inside, strict=True):
                seen.setdefault(block, []).extend(places[here].tolist())
        assert seen == {block: list(range(size)) for block, size in enumerate(count.tolist()) if size}
