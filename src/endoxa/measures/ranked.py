"""Measures of a ranking with items that are relevant or not."""

from __future__ import annotations

from typing import Literal

from endoxa.later import np
from endoxa.measures.lists import Lists, ratio
from endoxa.measures.registry import exact, linear, orders, register
from endoxa.measures.sets import first_unjudged
from endoxa.policies import Compat
from endoxa.tables import Floats, Ints

Norm = Literal["R", "min"]


def _shared(precisions: Floats, lists: Lists, rel: float, k: int | None, norm: Norm) -> Floats:
    total = lists.total(rel)
    return ratio(precisions, total if k is None or norm == "R" else np.minimum(total, k))


def _ap_average(lists: Lists, *, rel: float = 1, k: int | None = None, norm: Norm = "R") -> Floats:
    return _shared(orders.precisions(lists, rel, k), lists, rel, k, norm)


@register(
    "AP", average=_ap_average, moments=exact.average_precision_moments, linear=linear.average_precision_linear
)  # fmt: skip
def AP(lists: Lists, *, rel: float = 1, k: int | None = None, norm: Norm = "R") -> Floats:
    """Average precision: the mean, over the relevant items, of the precision at their ranks.

    Formula: AP = (1/R) Σ over relevant retrieved of hits(rank)/rank; R counts every known relevant item,
    so one that is not retrieved adds 0. With @k only the first k ranks add; norm='min' divides by min(R, k).
    Misleads: not the area under any curve that is usually drawn; it falls with every relevant item found by
    others. Undefined where nothing is relevant.
    Source: TREC; trec_eval map, map_cut.
    """
    return _shared(lists.precisions(rel, k), lists, rel, k, norm)


@register("GMAP", aggregate="geometric", average=_ap_average)
def GMAP(lists: Lists, *, rel: float = 1) -> Floats:
    """Average precision, averaged over queries geometrically.

    Formula: exp(mean of log(max(AP, 0.00001))).
    Misleads: the floor decides the value when some query has AP = 0; that floor is a convention.
    Source: Robertson 2006; trec_eval gm_map.
    """
    return AP(lists, rel=rel)


def _reciprocal_bounds(lists: Lists, *, rel: float = 1, k: int | None = None) -> tuple[Floats, Floats]:
    first = lists.first_relevant(rel)
    best = np.minimum(first, first_unjudged(lists))
    limit = np.inf if k is None else k
    return np.where(first <= limit, 1 / first, 0.0), np.where(best <= limit, 1 / best, 0.0)


@register(
    "RR", average=orders.reciprocal_rank, bounds=_reciprocal_bounds, moments=exact.reciprocal_moments,
    law=exact.reciprocal_law,
)  # fmt: skip
def RR(lists: Lists, *, rel: float = 1, k: int | None = None) -> Floats:
    """Reciprocal rank of the first relevant item.

    Formula: 1 / rank of the first relevant item; 0 if there is none (in the first k).
    Misleads: an ordinal scale: the step from rank 1 to 2 weighs as much as from 2 to never.
    Source: TREC question answering; trec_eval recip_rank.
    """
    first = lists.first_relevant(rel)
    return np.where(first <= (np.inf if k is None else k), 1 / first, 0.0)


def needed(share: float, total: Ints, compat: Compat) -> Ints:
    """How many relevant items make up a share of them: the ceiling, or as a trec_eval release rounds."""
    wanted = share * total
    if compat == "trec_eval-9":
        return np.asarray((wanted + 0.9).astype(np.int64))
    if compat == "trec_eval-10":
        return np.asarray(np.floor(wanted + 0.5).astype(np.int64))
    return np.asarray(np.ceil(np.round(wanted, 9)).astype(np.int64))


def _depth(lists: Lists, rel: float, mult: float, compat: Compat) -> Ints:
    return needed(mult, lists.total(rel), "trec_eval-9" if compat != "none" else "none")


def _rprec_average(lists: Lists, *, rel: float = 1, mult: float = 1, compat: Compat = "none") -> Floats:
    depth = _depth(lists, rel, mult, compat)
    return ratio((lists.relevant(rel) * lists.within(depth[..., None])).sum(-1), depth)


@register("Rprec", average=_rprec_average)
def Rprec(lists: Lists, *, rel: float = 1, mult: float = 1, compat: Compat = "none") -> Floats:
    """Precision at R, the number of relevant items; there precision equals recall.

    Formula: |relevant in the first ⌈mult·R⌉| / ⌈mult·R⌉.
    Misleads: each query is cut at another depth. trec_eval rounds mult·R as int(mult·R + 0.9).
    Source: trec_eval Rprec, Rprec_mult.
    """
    depth = _depth(lists, rel, mult, compat)
    hits = (lists.relevant(rel) & (lists.rank <= depth[..., None])).sum(-1)
    return ratio(hits, depth)


def interpolated(lists: Lists, recall: float, rel: float, compat: Compat) -> Floats:
    """Greatest precision at any rank where recall has reached the level."""
    total = lists.total(rel)
    relevant = lists.relevant(rel)
    precision = lists.hits_at_relevant(rel) / lists.rank
    reached = relevant & (lists.running(rel) >= needed(recall, total, compat)[..., None])
    best = np.where(reached, precision, 0.0).max(-1, initial=0.0)
    return np.where(total > 0, best, np.nan)


@register("IPrec")
def IPrec(lists: Lists, *, recall: float, rel: float = 1, compat: Compat = "none") -> Floats:
    """Interpolated precision at a level of recall.

    Formula: the greatest precision at any rank whose recall is at least the level; ⌈level·R⌉ items are
    needed to reach it. trec_eval 9 takes int(level·R + 0.9), trec_eval 10 rounds to the nearest.
    Misleads: a maximum over what comes later: flattering at low recall.
    Source: TREC; trec_eval iprec_at_recall.
    """
    return interpolated(lists, recall, rel, compat)


ELEVEN = tuple(i / 10 for i in range(11))


@register("AvgIPrec")
def AvgIPrec(lists: Lists, *, rel: float = 1, recalls: tuple[float, ...] = ELEVEN, compat: Compat = "none") -> Floats:
    """Interpolated precision averaged over levels of recall; eleven levels by default.

    Formula: mean of IPrec at 0, 0.1, … 1.
    Misleads: an older summary of the same curve that AP sums without interpolation.
    Source: trec_eval 11pt_avg.
    """
    levels = [interpolated(lists, recall, rel, compat) for recall in recalls]
    return np.asarray(np.mean(np.stack(levels, -1), -1))  # the last axis is added in one order in any batch
