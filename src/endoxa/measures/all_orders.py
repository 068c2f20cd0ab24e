"""Means over all orders of items with equal scores, in closed form.

A block of n equal scores starts behind `before` items, and every order of it is equally probable. The sums below run
over the places of a block: cost is linear in its size, and memory is bounded. How a sum is added up depends on the
block alone, so that a value is the same to the last bit in any batch.
Source: McSherry and Najork 2008, and the derivations beside each function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from endoxa.frozen import dataclass
from endoxa.later import np
from endoxa.measures.lists import BEYOND, CELLS, Lists, ratio
from endoxa.tables import Bools, Floats, Ints

WIDTH = 1024  # places of a block that are added at once


@dataclass(frozen=True)
class Tied:
    """The blocks of equal scores that hold a pooled item, list by list in rank order; a single item is a block too.

    lists   the lists, [list, item]
    number  the block of each pooled item, in the order of the arrays
    owner, before, size  one per block: its list, the items that stand before it, its items
    """

    lists: Lists
    number: Ints
    owner: Ints
    before: Ints
    size: Ints

    @classmethod
    def of(cls, lists: Lists) -> Tied:
        """The blocks of lists that have `block` and `length`."""
        assert lists.block is not None
        assert lists.length is not None
        real = lists.rank < BEYOND
        row, block = np.nonzero(real)[0], lists.block[real]
        first = np.ones(len(row), dtype=bool)
        first[1:] = (row[1:] != row[:-1]) | (block[1:] != block[:-1])
        return cls(lists, np.cumsum(first) - 1, row[first], block[first] - 1, lists.length[real][first])

    def count(self, flags: Bools) -> Ints:
        """How many items of each block have the flag, of flags [list, item]."""
        chosen = flags[self._real]
        return np.asarray(np.bincount(self.number[chosen], minlength=len(self.owner)), dtype=np.int64)

    def total(self, values: Floats) -> Floats:
        """The sum over the items of each block, of values [list, item]."""
        return np.asarray(np.bincount(self.number, values[self._real], len(self.owner)), dtype=float)

    def earlier(self, running: Any, start: float = 0) -> Any:
        """A running value [list, item] as it is before each block; `start` before the first item of a list."""
        first = np.searchsorted(self.number, np.arange(len(self.owner)))
        column = np.nonzero(self._real)[1][first]
        return np.where(column > 0, running[self.owner, column - 1], start)

    def inside(self, k: int | None) -> Ints:
        """How many places of each block stand in the first k."""
        return self.size if k is None else np.clip(k - self.before, 0, self.size)

    def by_list(self, values: Floats) -> Floats:
        """The sum over the blocks of each list."""
        return np.asarray(np.bincount(self.owner, values, len(self.lists.rank)), dtype=float)

    @cached_property
    def _real(self) -> Bools:
        return self.lists.rank < BEYOND


def windows(count: Ints) -> Iterator[tuple[Ints, Ints, Bools]]:
    """Places 0 … count − 1 of every block: numbers of blocks, some places, and which of them each block has.

    The windows of a block come in the order of its places.
    """
    width = np.minimum(_widths(count), WIDTH)
    for begin in range(0, int(count.max(initial=0)), WIDTH):
        for wide, some in _batches(np.where(count > begin, width, 0)):
            places = begin + np.arange(wide)
            yield some, places, places < count[some, None]


def _widths(count: Ints) -> Ints:
    """The powers of two that are not below these counts; 0 for 0."""
    return np.where(count > 0, 1 << np.ceil(np.log2(np.maximum(count, 1))).astype(np.int64), 0)


def _batches(width: Ints) -> Iterator[tuple[int, Ints]]:
    """A width above 0, and numbers of blocks that have it: one, or as many as fit into CELLS."""
    for wide in np.unique(width[width > 0]).tolist():
        chosen, most = np.flatnonzero(width == wide), max(1, CELLS // wide)
        for begin in range(0, len(chosen), most):
            yield wide, chosen[begin : begin + most]


def precisions(lists: Lists, rel: float, k: int | None) -> Floats:
    """E Σ hits / rank over the relevant items of each list, or of its first k.

    A place holds one of the r relevant items of its block with probability r/n. Given that, each of the j places
    before it in the block holds one of the other r − 1 with probability (r − 1)/(n − 1).
    """
    tied, relevant = Tied.of(lists), lists.relevant(rel)
    hits, r, n = tied.earlier(np.cumsum(relevant, -1)), tied.count(relevant), tied.size
    share = (r - 1) / np.maximum(n - 1, 1)
    sums = np.zeros(len(n))
    for some, j, inside in windows(np.where(r > 0, tied.inside(k), 0)):
        expected = (hits[some, None] + 1 + share[some, None] * j) / (tied.before[some, None] + 1 + j)
        sums[some] += np.where(inside, expected, 0.0).sum(-1)
    return tied.by_list(sums * r / n)


def _first_relevant(lists: Lists, rel: float) -> tuple[Tied, Ints, Ints]:
    """The blocks, the number of relevant items in each, and the first block of each list that holds one."""
    tied = Tied.of(lists)
    r = tied.count(lists.relevant(rel))
    holds = np.flatnonzero(r > 0)
    return tied, r, holds[np.unique(tied.owner[holds], return_index=True)[1]]


def reciprocal_rank(lists: Lists, *, rel: float = 1, k: int | None = None) -> Floats:
    """E 1/rank of the first relevant item; 0 where there is none in the first k.

    The first j places of the block hold none of its r relevant items with probability Π (n − r − i)/(n − i) over
    i < j; then the next place holds one with probability r/(n − j).
    """
    tied, relevant, first = _first_relevant(lists, rel)
    before, n, r = tied.before[first], tied.size[first], relevant[first]
    sums, none = np.zeros(len(first)), np.ones(len(first))
    for some, j, inside in windows(tied.inside(k)[first]):
        left = np.maximum(n[some, None] - j, 1)
        still = none[some, None] * np.cumprod(np.maximum(left - r[some, None], 0) / left, -1)
        until = np.concatenate([none[some, None], still[:, :-1]], -1)
        none[some] = still[:, -1]
        sums[some] += np.where(inside, until * r[some, None] / left / (before[some, None] + 1 + j), 0.0).sum(-1)
    found = np.zeros(len(lists.rank))
    found[tied.owner[first]] = sums
    return found


def success(lists: Lists, *, rel: float = 1, k: int) -> Floats:
    """Pr(a relevant item stands in the first k).

    With m places of the block in the first k, none of its r relevant items is there with probability
    C(n − m, r)/C(n, r) = Π (n − max(m, r) − i)/(n − i) over i < min(m, r).
    """
    tied, relevant, first = _first_relevant(lists, rel)
    n, r, m = tied.size[first], relevant[first], tied.inside(k)[first]
    none, most = np.ones(len(first)), np.maximum(m, r)
    for some, i, inside in windows(np.minimum(m, r)):
        left = np.maximum(n[some, None] - i, 1)
        none[some] *= np.where(inside, np.maximum(left - most[some, None], 0) / left, 1.0).prod(-1)
    found = np.zeros(len(lists.rank))
    found[tied.owner[first]] = 1 - none
    return found


def discounted_misses(lists: Lists, *, rel: float = 1) -> Floats:
    """E mean of 1/log2(2 + misses before it) over the known relevant items of each list.

    A relevant item and the M misses of its block are in any order, so that 0, 1, … M of them stand before it with
    equal probability.
    """
    tied, relevant = Tied.of(lists), lists.relevant(rel)
    r = tied.count(relevant)
    least = 2.0 + tied.before - tied.earlier(np.cumsum(relevant, -1))
    sums, places = np.zeros(len(r)), tied.size - r + 1
    for some, j, inside in windows(np.where(r > 0, places, 0)):
        sums[some] += np.where(inside, 1 / np.log2(least[some, None] + j), 0.0).sum(-1)
    return ratio(tied.by_list(sums * r / places), lists.total(rel))


def kept_pairs(lists: Lists, *, rel: float = 1) -> Floats:
    """E mean of 1 − min(n, R)/min(N, R) over the R relevant items; n judged misses stand above one, of N.

    As in `discounted_misses`, each number of judged misses of the block before the item is equally probable.
    """
    tied, relevant = Tied.of(lists), lists.relevant(rel)
    wrong = lists.judged & ~relevant
    total = lists.total(rel)
    most = np.minimum((lists.pool >= 0).sum(-1) - total, total)[tied.owner]
    above, terms = tied.earlier(np.cumsum(wrong, -1)), tied.count(wrong) + 1
    fewer = np.clip(total[tied.owner] - above, 0, terms)  # terms with fewer than R misses above
    lost = fewer * above + fewer * (fewer - 1) / 2 + (terms - fewer) * total[tied.owner]
    return ratio(tied.by_list(tied.count(relevant) * (1 - lost / (terms * np.maximum(most, 1)))), total)


def cascade(lists: Lists, stop: Floats, k: int | None) -> Floats:
    """E Σ (1/rank) stop Π over earlier items (1 − stop), over the first k; `stop` is [list, item].

    With T(j) the mean of Π (1 − stop) over all sets of j items of the block, place j + 1 adds T(j) − T(j + 1). The
    N-th item turns T(j) into (N − j)/N T(j) + j/N (1 − stop) T(j − 1). The cost is n times the items that stop.
    """
    tied, stops = Tied.of(lists), stop > 0
    r, n, going = tied.count(stops), tied.size, tied.earlier(np.cumprod(1 - stop, -1), 1.0)
    chances, first = stop[stops], np.cumsum(r) - r
    count = np.where(r > 0, tied.inside(k), 0)
    sums = np.zeros(len(n))
    for wide, some in _batches(_widths(count)):
        j, mean = np.arange(wide + 1), np.ones((len(some), wide + 1))
        for i in range(int(r[some].max())):
            more = np.flatnonzero(r[some] > i)
            block = some[more]
            share = np.minimum(j / (n[block] - r[block] + i + 1)[:, None], 1.0)
            taken = share[:, 1:] * (1 - chances[first[block] + i])[:, None] * mean[more, :-1]
            mean[more, 1:] = (1 - share[:, 1:]) * mean[more, 1:] + taken
        added = (mean[:, :-1] - mean[:, 1:]) / (tied.before[some, None] + j[1:])
        sums[some] = np.where(j[1:] <= count[some, None], added, 0.0).sum(-1)
    return tied.by_list(going * sums)


def gain_ratios(lists: Lists, worth: Floats, dcg: Floats, weight: Callable[[Ints], Floats], ideal: Floats) -> Floats:
    """E Σ DCG / ideal DCG at the ranks of the items with gain.

    worth  [list, item] the gain of each item; dcg is the running expected DCG up to it
    ideal  [list, rank] the ideal DCG of the first 0, 1, … ranks
    Given the item at a place, each place before it in the block has the mean gain of the n − 1 other items.
    """
    tied, gaining = Tied.of(lists), worth > 0
    count, n, gains = tied.count(gaining), tied.size, tied.total(np.where(gaining, worth, 0.0))
    others = (count * tied.total(worth) - gains) / np.maximum(n - 1, 1)
    before = count * tied.earlier(dcg)
    sums, passed = np.zeros(len(n)), np.zeros(len(n))
    for some, j, inside in windows(np.where(count > 0, n, 0)):
        rank = tied.before[some, None] + 1 + j
        here = weight(rank)
        until = np.cumsum(np.concatenate([passed[some, None], here], -1), -1)
        passed[some] = until[:, -1]
        expected = before[some, None] + gains[some, None] * here + others[some, None] * until[:, :-1]
        best = ideal[tied.owner[some, None], np.minimum(rank, ideal.shape[-1] - 1)]
        sums[some] += np.where(inside, expected / best, 0.0).sum(-1)
    return tied.by_list(sums / n)
