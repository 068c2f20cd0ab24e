"""Values that stay open: equal scores in any order, unjudged items of any grade."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from endoxa.measures.gains import gain
from endoxa.measures.grammar import Measure
from endoxa.measures.lists import BEYOND, Lists
from endoxa.policies import Policy
from endoxa.tables import Floats, Ints


def score_open(wanted: Measure, lists: Lists, policy: Policy) -> tuple[Floats, Floats]:
    """Value and (sd, lo, hi) where the order of equal scores, or unjudged items, leave it open."""
    condense = policy.unjudged == "condensed"

    def score(some: Lists) -> Floats:
        return wanted(some.condensed() if condense else some, compat=policy.compat)

    plain = replace(lists, block=None, length=None)
    nothing = np.full(lists.retrieved.shape, np.nan)
    if policy.unjudged == "bounds":
        if wanted.definition.bounds is None:
            return score(plain), np.stack([nothing, nothing, nothing])
        low, high = wanted.definition.bounds(plain, **wanted.keywords(compat=policy.compat))
        return score(plain), np.stack([nothing, low, high])
    if policy.ties == "range":
        worth = gain(lists.grade, "log2", wanted.keywords().get("gains"))
        ends = np.stack([score(ordered(lists, worth, best=best)) for best in (False, True)])
        return score(plain), np.stack([nothing, ends.min(0), ends.max(0)])
    if wanted.definition.additive and not condense:
        return wanted(lists, compat=policy.compat), np.stack([np.zeros_like(nothing), nothing, nothing])
    rng = np.random.default_rng(policy.seed)
    draws = np.stack([score(shuffled(lists, rng)) for _ in range(policy.shuffles)])
    mean = draws.mean(0)
    error = draws.std(0, ddof=1) / np.sqrt(policy.shuffles)
    return mean, np.stack([error, mean - 1.96 * error, mean + 1.96 * error])


def _reranked(lists: Lists, rank: Ints) -> Lists:
    """The lists with other ranks, sorted again."""
    order = np.argsort(rank, -1, kind="stable")
    stratum = None if lists.stratum is None else np.take_along_axis(lists.stratum, order, -1)
    return replace(
        lists,
        rank=np.take_along_axis(rank, order, -1),
        grade=np.take_along_axis(lists.grade, order, -1),
        stratum=stratum,
        block=None,
        length=None,
    )


def ordered(lists: Lists, worth: Floats, *, best: bool) -> Lists:
    """Equal scores with the items worth most first (best) or last (worst).

    Between items with a gain and items judged worthless stand those without a judgment.
    """
    assert lists.block is not None
    assert lists.length is not None
    real = lists.rank < BEYOND
    order = np.lexsort((-worth, lists.block), axis=-1)
    block = np.take_along_axis(lists.block, order, -1)
    length = np.take_along_axis(lists.length, order, -1)
    sorted_worth = np.take_along_axis(worth, order, -1)
    place = _place_in_group(block)
    # worthless items are counted from the other end
    reverse = np.flip(_place_in_group(np.flip(block, -1)), -1)
    from_front = block + place
    from_back = block + length - 1 - reverse
    best_rank = np.where(sorted_worth > 0, from_front, from_back)
    rank = best_rank if best else block + (length - 1 - (best_rank - block))
    back = np.empty_like(rank)
    np.put_along_axis(back, order, rank, -1)
    return _reranked(lists, np.where(real, back, BEYOND))


def _place_in_group(group: Ints) -> Ints:
    """0, 1, 2 … within each run of equal values on the last axis."""
    if not group.shape[-1]:
        return group
    at = np.broadcast_to(np.arange(group.shape[-1]), group.shape)
    first = np.ones(group.shape, dtype=bool)
    first[..., 1:] = group[..., 1:] != group[..., :-1]
    return np.asarray(at - np.maximum.accumulate(np.where(first, at, 0), axis=-1))


def shuffled(lists: Lists, rng: np.random.Generator) -> Lists:
    """Equal scores in random order: each judged item takes a random free place of its run."""
    assert lists.block is not None
    assert lists.length is not None
    rank = lists.rank.copy()
    tied = np.argwhere((lists.length > 1) & (lists.rank < BEYOND))
    if not len(tied):
        return replace(lists, block=None, length=None)
    rows, columns = tied.T
    block, length = lists.block[rows, columns], lists.length[rows, columns]
    starts = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]) | (block[1:] != block[:-1])))
    sizes = np.diff(np.append(starts, len(rows)))
    drawn = [rng.permutation(places)[:size] for places, size in zip(length[starts], sizes, strict=True)]
    rank[rows, columns] = block + np.concatenate(drawn)
    return _reranked(lists, rank)
