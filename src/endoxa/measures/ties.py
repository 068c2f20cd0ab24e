"""Values that stay open: equal scores in any order, unjudged items of any grade."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Any

from endoxa.frozen import dataclass
from endoxa.later import np
from endoxa.measures.gains import gain
from endoxa.measures.grammar import Measure
from endoxa.measures.lists import BEYOND, CELLS, Lists, place_in_group
from endoxa.policies import NORMAL, ORDERS, Policy
from endoxa.tables import Floats, Ints


def score(lists: Lists, measures: Sequence[Measure], policy: Policy, seeds: Ints) -> tuple[Floats, Floats | None]:
    """Values as [measure, list] and, where they stay open, (sd, lo, hi) as [3, measure, list].

    `seeds` has a number per list, which decides its shuffles together with the seed of the policy.
    """
    tied = lists.condensed() if policy.unjudged == "condensed" else lists
    plain = replace(tied, block=None, length=None)
    values = np.array([m(plain, compat=policy.compat) for m in measures]).reshape(len(measures), len(seeds))
    if policy.unjudged == "bounds":
        return values, _bounds(plain, measures, policy)
    if policy.ties == "range":
        return values, _range(tied, measures, policy)
    if policy.ties == "average":
        return _average(tied, measures, policy, seeds, values)
    return values, None


def _bounds(lists: Lists, measures: Sequence[Measure], policy: Policy) -> Floats:
    spread = np.full((3, len(measures), len(lists.retrieved)), np.nan)
    for row, m in enumerate(measures):
        if m.definition.bounds is not None:
            spread[1, row], spread[2, row] = m.definition.bounds(lists, **m.keywords(compat=policy.compat))
    return spread


def _range(lists: Lists, measures: Sequence[Measure], policy: Policy) -> Floats:
    """Worst and best order of equal scores: sorted where that decides, else of all orders if they are few enough."""
    spread = np.full((3, len(measures), len(lists.retrieved)), np.nan)
    left: list[int] = []
    for row, m in enumerate(measures):
        if (worth := _worth(lists, m)) is None:
            left.append(row)
            continue
        ends = [m(ordered(lists, worth, best=best), compat=policy.compat) for best in (False, True)]
        spread[1, row], spread[2, row] = np.minimum(*ends), np.maximum(*ends)
    for number in range(len(lists.retrieved)) if left else ():
        blocks = blocks_of(lists, number)
        if count_orders(blocks) <= ORDERS:
            values = _values(lists.some(np.array([number])), blocks, [measures[row] for row in left], policy)
            spread[1:, left, number] = values.min(1), values.max(1)
    return spread


def _worth(lists: Lists, m: Measure) -> Floats | None:
    """The worth of each item by which the best order is sorted; None if no such order is known."""
    definition, known = m.definition, m.keywords()
    gains = known.get("gains") or {}
    if definition.best_first is None or (min(gains.values(), default=0) < 0 and not definition.additive):
        return None  # where items do harm, sorting by gain is best for sums over items only
    if definition.best_first == "judged":
        return lists.judged.astype(float)
    if "gains" not in definition.settings and "rel" in definition.settings and m.rel is not None:
        return lists.relevant(m.rel).astype(float)
    return gain(lists.grade, known.get("dcg", "log2"), gains)


def _average(
    lists: Lists, measures: Sequence[Measure], policy: Policy, seeds: Ints, values: Floats
) -> tuple[Floats, Floats]:
    """Mean over all orders of equal scores: in closed form, else of all orders if they are few enough, else sampled.

    sd is the standard error of a sampled mean, and 0 where the mean is exact; only sampled means have lo and hi.
    """
    assert lists.length is not None
    values = values.copy()
    spread = np.full((3, *values.shape), np.nan)
    spread[0] = 0.0
    tied = np.flatnonzero(((lists.length > 1) & (lists.rank < BEYOND)).any(-1))
    left: list[int] = []
    for row, m in enumerate(measures):
        if (form := m.definition.mean_of_orders) is None:
            left.append(row)
        elif m.definition.additive:
            values[row] = form(lists, **m.keywords(compat=policy.compat))
        elif len(tied):
            values[row, tied] = form(lists.some(tied), **m.keywords(compat=policy.compat))
    if not left:
        return values, spread
    many = []
    for number in tied.tolist():
        blocks = blocks_of(lists, number)
        if count_orders(blocks) <= ORDERS:
            one = lists.some(np.array([number]))
            values[left, number] = _values(one, blocks, [measures[row] for row in left], policy).mean(1)
        else:
            many.append(number)
    width = max(lists.rank.shape[-1], lists.pool.shape[-1], 1) * policy.shuffles
    for chosen in np.array_split(np.array(many, dtype=np.int64), max(1, -(-len(many) * width // CELLS))):
        if not len(chosen):
            continue
        shuffles = shuffled(lists.some(chosen), policy.shuffles, policy.seed, seeds[chosen])
        for row in left:
            draws = np.broadcast_to(measures[row](shuffles, compat=policy.compat), (policy.shuffles, len(chosen)))
            draws = np.ascontiguousarray(draws.T)  # so that those of a list are added in one order in any batch
            mean, error = draws.mean(1), draws.std(1, ddof=1) / np.sqrt(policy.shuffles)
            values[row, chosen] = mean
            spread[:, row, chosen] = np.stack([error, mean - NORMAL * error, mean + NORMAL * error])
    return values, spread


@dataclass(frozen=True)
class TiedBlock:
    """Equal scores of one list: first rank, size, and its pooled items kind by kind.

    Items of one grade and one stratum are of a kind: no measure sees which of them stands where. Items that nobody
    pooled are one more kind.
    """

    first: int
    size: int
    columns: Ints  # the items, in the arrays of the lists
    kinds: tuple[int, ...]  # how many of them are of each kind


def blocks_of(lists: Lists, number: int) -> list[TiedBlock]:
    """The blocks of several equal scores of a list that hold a pooled item."""
    assert lists.block is not None
    assert lists.length is not None
    block, length, grade = lists.block[number], lists.length[number], lists.grade[number]
    stratum = np.zeros(len(block)) if lists.stratum is None else lists.stratum[number]
    columns = np.flatnonzero((length > 1) & (lists.rank[number] < BEYOND))
    columns = columns[np.lexsort((stratum[columns], grade[columns], block[columns]))]
    found = []
    for some in np.split(columns, np.flatnonzero(np.diff(block[columns])) + 1) if len(columns) else ():
        changes = np.flatnonzero((np.diff(grade[some]) != 0) | (np.diff(stratum[some]) != 0)) + 1
        kinds = tuple(np.diff([0, *changes, len(some)]).tolist())
        found.append(TiedBlock(int(block[some[0]]), int(length[some[0]]), some, kinds))
    return found


def count_orders(blocks: Sequence[TiedBlock]) -> float:
    """How many orders of these blocks can be told apart; infinite if more than ORDERS."""
    count = 1
    for block in blocks:
        free = block.size
        for kind in block.kinds:
            few = min(kind, free - kind)
            if few > 1 and free * (free - 1) > 2 * ORDERS:  # C(free, few) is larger still, and may be astronomical
                return math.inf
            count *= math.comb(free, few)
            free -= kind
            if count > ORDERS:
                return math.inf
    return count


@lru_cache(256)
def arrangements(size: int, kinds: tuple[int, ...]) -> Ints:
    """[order, item]: the places in a block of every item, kind by kind, for all orders that can be told apart."""
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), tuple(range(size)))]
    for kind in kinds:
        found = [
            (taken + chosen, tuple(place for place in free if place not in chosen))
            for taken, free in found
            for chosen in combinations(free, kind)
        ]
    return np.array([taken for taken, _ in found], dtype=np.int64).reshape(len(found), sum(kinds))


def _values(one: Lists, blocks: Sequence[TiedBlock], measures: Sequence[Measure], policy: Policy) -> Floats:
    """[measure, order]: the values of a single list for all orders of these blocks."""
    places = [arrangements(block.size, block.kinds) for block in blocks]
    count = math.prod(map(len, places))
    width = max(one.rank.shape[-1], one.pool.shape[-1], 1)
    values = np.empty((len(measures), count))
    for orders in np.array_split(np.arange(count), min(count, -(-count * width // CELLS))):
        rank, left = np.repeat(one.rank, len(orders), 0), orders
        for block, several in zip(blocks, places, strict=True):
            rank[:, block.columns] = block.first + several[left % len(several)]
            left = left // len(several)
        lists = _reranked(one, rank[:, None])
        for row, m in enumerate(measures):
            values[row, orders] = np.broadcast_to(m(lists, compat=policy.compat), (len(orders), 1))[:, 0]
    return values


def _reranked(lists: Lists, rank: Ints) -> Lists:
    """The lists with other ranks, sorted again; the ranks may have more axes in front."""
    order = np.argsort(rank, -1, kind="stable")

    def moved(values: Any) -> Any:
        return np.take_along_axis(np.broadcast_to(values, rank.shape), order, -1)

    return replace(
        lists, rank=np.take_along_axis(rank, order, -1), grades=moved(lists.grade),
        stratum=None if lists.stratum is None else moved(lists.stratum), block=None, length=None,
    )  # fmt: skip


def ordered(lists: Lists, worth: Floats, *, best: bool) -> Lists:
    """Equal scores with the items of most worth first (best) or last (worst), those that nobody pooled in between."""
    assert lists.block is not None
    assert lists.length is not None
    order = np.lexsort((-worth, lists.block), axis=-1)
    block, length = (np.take_along_axis(part, order, -1) for part in (lists.block, lists.length))
    from_front = place_in_group(block)
    from_back = length - 1 - np.flip(place_in_group(np.flip(block, -1)), -1)
    gains = np.take_along_axis(worth, order, -1) > 0  # items without a gain are counted from the other end
    place = np.where(gains, from_front, from_back)
    rank = np.empty_like(block)
    np.put_along_axis(rank, order, block + (place if best else length - 1 - place), -1)
    return _reranked(lists, np.where(lists.rank < BEYOND, rank, BEYOND))


def shuffled(lists: Lists, count: int, seed: int, seeds: Ints) -> Lists:
    """`count` random orders of equal scores, as a new first axis; a judged item takes a random place in its group."""
    assert lists.block is not None
    assert lists.length is not None
    rank = np.broadcast_to(lists.rank, (count, *lists.rank.shape)).copy()
    for number, own in enumerate(seeds):
        rng = np.random.default_rng((seed, int(own)))
        columns = np.flatnonzero((lists.length[number] > 1) & (lists.rank[number] < BEYOND))
        block, length = lists.block[number, columns], lists.length[number, columns]
        starts = np.flatnonzero(np.append(True, block[1:] != block[:-1]))
        for begin, end in zip(starts, np.append(starts[1:], len(columns)), strict=True):
            size, several = int(length[begin]), end - begin
            if count * size <= CELLS:
                places = rng.random((count, size)).argsort(axis=1)[:, :several]
            else:  # as many numbers as there are places would not fit
                places = np.stack([rng.choice(size, several, replace=False) for _ in range(count)])
            rank[:, number, columns[begin:end]] = block[begin] + places
    return _reranked(lists, rank)
