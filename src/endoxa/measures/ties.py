"""Values that stay open: equal scores in any order, unjudged items of any grade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from endoxa.later import np
from endoxa.measures.gains import gain
from endoxa.measures.grammar import Measure
from endoxa.measures.lists import BEYOND, CELLS, Lists
from endoxa.policies import Policy
from endoxa.tables import Floats, Ints


def score(lists: Lists, measures: Sequence[Measure], policy: Policy, seeds: Ints) -> tuple[Floats, Floats | None]:
    """Values as [measure, list] and, where they stay open, (sd, lo, hi) as [3, measure, list].

    `seeds` has a number per list, which decides its shuffles together with the seed of the policy.
    """
    plain = _settled(replace(lists, block=None, length=None), policy)
    values = np.array([m(plain, compat=policy.compat) for m in measures]).reshape(len(measures), len(seeds))
    if policy.unjudged == "bounds":
        return values, _bounds(plain, measures, policy)
    if policy.ties == "range":
        return values, _range(lists, measures, policy)
    if policy.ties == "average":
        return _average(lists, measures, policy, seeds, values)
    return values, None


def _settled(lists: Lists, policy: Policy) -> Lists:
    return lists.condensed() if policy.unjudged == "condensed" else lists


def _bounds(lists: Lists, measures: Sequence[Measure], policy: Policy) -> Floats:
    spread = np.full((3, len(measures), len(lists.retrieved)), np.nan)
    for row, m in enumerate(measures):
        if m.definition.bounds is not None:
            spread[1, row], spread[2, row] = m.definition.bounds(lists, **m.keywords(compat=policy.compat))
    return spread


def _range(lists: Lists, measures: Sequence[Measure], policy: Policy) -> Floats:
    """Worst and best order of equal scores, for measures of which the best order is by gain."""
    spread = np.full((3, len(measures), len(lists.retrieved)), np.nan)
    for row, m in enumerate(measures):
        if m.definition.by_gain:
            worth = gain(lists.grade, "log2", m.keywords().get("gains"))
            ends = [
                m(_settled(ordered(lists, worth, best=best), policy), compat=policy.compat) for best in (False, True)
            ]
            spread[1, row], spread[2, row] = np.minimum(*ends), np.maximum(*ends)
    return spread


def _average(
    lists: Lists, measures: Sequence[Measure], policy: Policy, seeds: Ints, values: Floats
) -> tuple[Floats, Floats]:
    """Expected value over all orders of equal scores: exact for sums over items, else by shuffles."""
    assert lists.length is not None
    values = values.copy()
    spread = np.full((3, *values.shape), np.nan)
    spread[0] = 0.0
    left: list[int] = []
    for row, m in enumerate(measures):
        if m.definition.additive and policy.unjudged != "condensed":
            values[row] = m(lists, compat=policy.compat)
        else:
            left.append(row)
    tied = np.flatnonzero(((lists.length > 1) & (lists.rank < BEYOND)).any(-1)) if left else np.zeros(0, dtype=int)
    width = max(lists.rank.shape[-1], lists.pool.shape[-1], 1) * policy.shuffles
    for chosen in np.array_split(tied, max(1, -(-len(tied) * width // CELLS))):
        if not len(chosen):
            continue
        shuffles = _settled(shuffled(lists.some(chosen), policy.shuffles, policy.seed, seeds[chosen]), policy)
        for row in left:
            draws = np.broadcast_to(measures[row](shuffles, compat=policy.compat), (policy.shuffles, len(chosen)))
            draws = np.ascontiguousarray(draws.T)  # so that those of a list are added in one order in any batch
            mean, error = draws.mean(1), draws.std(1, ddof=1) / np.sqrt(policy.shuffles)
            values[row, chosen] = mean
            spread[:, row, chosen] = np.stack([error, mean - 1.96 * error, mean + 1.96 * error])
    return values, spread


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
    """Equal scores with the items of most gain first (best) or last (worst), items without a judgment in the middle."""
    assert lists.block is not None
    assert lists.length is not None
    order = np.lexsort((-worth, lists.block), axis=-1)
    block, length = (np.take_along_axis(part, order, -1) for part in (lists.block, lists.length))
    from_front = _place_in_group(block)
    from_back = length - 1 - np.flip(_place_in_group(np.flip(block, -1)), -1)
    gains = np.take_along_axis(worth, order, -1) > 0  # items without a gain are counted from the other end
    place = np.where(gains, from_front, from_back)
    rank = np.empty_like(block)
    np.put_along_axis(rank, order, block + (place if best else length - 1 - place), -1)
    return _reranked(lists, np.where(lists.rank < BEYOND, rank, BEYOND))


def _place_in_group(group: Ints) -> Ints:
    """0, 1, 2 … within each run of equal values on the last axis."""
    if not group.shape[-1]:
        return group
    at = np.broadcast_to(np.arange(group.shape[-1]), group.shape)
    first = np.ones(group.shape, dtype=bool)
    first[..., 1:] = group[..., 1:] != group[..., :-1]
    return np.asarray(at - np.maximum.accumulate(np.where(first, at, 0), axis=-1))


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
            places = rng.random((count, int(length[begin]))).argsort(axis=1)[:, : end - begin]
            rank[:, number, columns[begin:end]] = block[begin] + places
    return _reranked(lists, rank)
