"""Measures of a set, or of the first k: how many of the right items, in whatever order."""

from __future__ import annotations

import math

from endoxa.later import np
from endoxa.measures.lists import Lists, ratio
from endoxa.measures.registry import exact, linear, orders, register
from endoxa.tables import Floats, Ints


def unjudged_within(lists: Lists, k: int | None) -> Floats:
    """How many of the first k have no judgment."""
    return np.asarray(lists.length_at(k) - (lists.judged * lists.within(k)).sum(-1))


def _precision_bounds(lists: Lists, *, k: int, rel: float = 1, relative: bool = False) -> tuple[Floats, Floats]:
    hits = lists.hits(rel, k)
    if relative:  # the best reachable precision depends on the unknown number of relevant items
        return np.full(hits.shape, np.nan), np.full(hits.shape, np.nan)
    return hits / k, (hits + unjudged_within(lists, k)) / k


@register(
    "P", additive=True, bounds=_precision_bounds, moments=exact.precision_moments, law=exact.precision_law,
    difference=exact.precision_gap, sum_form=exact.precision_sum, linear=linear.precision_linear,
)  # fmt: skip
def P(lists: Lists, *, k: int, rel: float = 1, relative: bool = False) -> Floats:
    """Share of the first k that are relevant.

    Formula: P@k = |relevant in the first k| / k. A list shorter than k is filled with misses.
    relative=True divides by the best that could be reached, min(k, |relevant|).
    Misleads: easy to explain, poor to average: a query with three relevant items can never reach P@10 = 1.
    Source: Cranfield; trec_eval P, relative_P.
    """
    return ratio(lists.hits(rel, k), np.minimum(k, lists.total(rel)) if relative else np.asarray(k))


@register(
    "R", additive=True, moments=exact.recall_moments, law=exact.recall_law,
    difference=exact.recall_gap, sum_form=exact.recall_sum, linear=linear.recall_linear,
)  # fmt: skip
def R(lists: Lists, *, k: int, rel: float = 1) -> Floats:
    """Share of the relevant items that stand in the first k.

    Formula: R@k = |relevant in the first k| / |relevant known|. Undefined where none is known.
    Misleads: the denominator is what was judged. Pooled systems look better than they are, new ones worse.
    Source: Cranfield; trec_eval recall.
    """
    return ratio(lists.hits(rel, k), lists.total(rel))


def _f(hits: Floats, size: Floats, total: Ints, beta: float) -> Floats:
    """F from counts; undefined where nothing is relevant, because recall is."""
    weight = beta * beta
    return np.where(total > 0, ratio((1 + weight) * hits, weight * total + size), np.nan)


@register("F", additive=True, moments=exact.f_moments, law=exact.f_law, sum_form=exact.f_sum)
def F(lists: Lists, *, k: int, rel: float = 1, beta: float = 1) -> Floats:
    """Weighted harmonic mean of precision and recall in the first k.

    Formula: F = (1 + beta²) P R / (beta² P + R); beta = 2 weighs recall twice as much as precision.
    Undefined where nothing is relevant, because recall is.
    Misleads: ir_measures and trec_eval's set_F.x take x = beta², so their SetF(beta=2) is beta = 1.414.
    Source: van Rijsbergen 1979.
    """
    return _f(lists.hits(rel, k), np.asarray(float(k)), lists.total(rel), beta)


@register(
    "SetP", additive=True, moments=exact.precision_moments, law=exact.precision_law,
    difference=exact.precision_gap, sum_form=exact.precision_sum,
)  # fmt: skip
def SetP(lists: Lists, *, rel: float = 1, relative: bool = False) -> Floats:
    """Share of everything retrieved that is relevant.

    Formula: |relevant retrieved| / |retrieved|. relative=True divides by min(|retrieved|, |relevant|).
    Undefined for an empty list.
    Misleads: it rewards short lists; compare only systems that return sets of their own choosing.
    Source: Cranfield; trec_eval set_P, set_relative_P.
    """
    size = np.minimum(lists.retrieved, lists.total(rel)) if relative else lists.retrieved
    return ratio(lists.hits(rel), size)


@register(
    "SetR", additive=True, moments=exact.recall_moments, law=exact.recall_law,
    difference=exact.recall_gap, sum_form=exact.recall_sum,
)  # fmt: skip
def SetR(lists: Lists, *, rel: float = 1) -> Floats:
    """Share of the relevant items that were retrieved at all.

    Formula: |relevant retrieved| / |relevant known|. Undefined where none is known.
    Misleads: it rewards long lists.
    Source: Cranfield; trec_eval set_recall.
    """
    return ratio(lists.hits(rel), lists.total(rel))


@register("SetF", additive=True, moments=exact.f_moments, law=exact.f_law, sum_form=exact.f_sum)
def SetF(lists: Lists, *, rel: float = 1, beta: float = 1) -> Floats:
    """Weighted harmonic mean of set precision and set recall.

    Formula: F = (1 + beta²) |relevant retrieved| / (beta² |relevant| + |retrieved|). It is 0 for an empty list.
    Undefined where nothing is relevant, because recall is.
    Misleads: trec_eval's set_F.x and ir_measures' beta mean beta²; here beta is beta.
    Source: van Rijsbergen 1979; trec_eval set_F.
    """
    return _f(lists.hits(rel), lists.retrieved.astype(float), lists.total(rel), beta)


@register("SetAP", additive=True)
def SetAP(lists: Lists, *, rel: float = 1) -> Floats:
    """Product of set precision and set recall.

    Formula: |relevant retrieved|² / (|retrieved| |relevant|).
    Misleads: the name comes from trec_eval; there is no average and no rank in it.
    Source: trec_eval set_map.
    """
    return ratio(lists.hits(rel) ** 2, lists.retrieved * lists.total(rel))


def first_unjudged(lists: Lists) -> Floats:
    """Rank of the first item without a judgment; infinite where every item has one."""
    count = np.cumsum(lists.judged, -1)
    unbroken = np.asarray((lists.judged & (lists.rank == count)).sum(-1))
    return np.where(unbroken < lists.retrieved, unbroken + 1.0, np.inf)


def _success_bounds(lists: Lists, *, k: int, rel: float = 1) -> tuple[Floats, Floats]:
    first = lists.first_relevant(rel)
    best = np.minimum(first, first_unjudged(lists))
    return (first <= k).astype(float), (best <= k).astype(float)


@register(
    "Success", average=orders.success, bounds=_success_bounds, moments=exact.success_moments, law=exact.success_law
)  # fmt: skip
def Success(lists: Lists, *, k: int, rel: float = 1) -> Floats:
    """Whether the first k hold anything relevant.

    Formula: 1 if some item in the first k is relevant, else 0. Also called hit rate.
    Misleads: coarse: many queries are needed before systems can be told apart.
    Source: trec_eval success.
    """
    return (lists.first_relevant(rel) <= k).astype(float)


@register("Utility", additive=True, low=-math.inf, high=math.inf, monotone=False)
def Utility(
    lists: Lists, *, rel: float = 1, a: float = 1, b: float = -1, c: float = 0, d: float = 0, N: int = 0
) -> Floats:
    """Linear worth of a set: gains for hits, costs for the rest.

    Formula: a·hits + b·misses retrieved + c·relevant not retrieved + d·other items not retrieved.
    N is the size of the collection; it is needed only when d is not 0.
    Misleads: unbounded, and dominated by queries with long lists.
    Source: TREC filtering track; trec_eval utility.
    """
    hits, total = lists.hits(rel), lists.total(rel)
    misses = lists.retrieved - hits
    rest = np.maximum(N - lists.retrieved - (total - hits), 0) if d else np.zeros_like(hits)
    return np.asarray(a * hits + b * misses + c * (total - hits) + d * rest)


COUNT = {"aggregate": "sum", "high": math.inf, "additive": True}


@register("NumQ", **COUNT, judged=False)
def NumQ(lists: Lists) -> Floats:
    """Number of queries.

    Formula: 1 for each query, summed.
    Misleads: it counts the queries that were averaged over, which depends on the policy for missing topics.
    Source: trec_eval num_q.
    """
    return np.ones(lists.retrieved.shape)


@register("NumRet", **COUNT)
def NumRet(lists: Lists, *, rel: float | None = None) -> Floats:
    """Number of items retrieved; with rel, of those at least that relevant.

    Formula: |retrieved|, summed over queries.
    Misleads: a count, not a quality.
    Source: trec_eval num_ret, num_rel_ret.
    """
    return lists.retrieved.astype(float) if rel is None else lists.hits(rel)


@register("NumRel", **COUNT, monotone=False, moments=exact.total_moments)
def NumRel(lists: Lists, *, rel: float = 1) -> Floats:
    """Number of relevant items known.

    Formula: |judged with grade ≥ rel|, summed over queries.
    Misleads: known is not all; unjudged relevant items are missing from it.
    Source: trec_eval num_rel.
    """
    return lists.total(rel).astype(float)


@register("NumRelRet", **COUNT, moments=exact.hit_moments)
def NumRelRet(lists: Lists, *, rel: float = 1) -> Floats:
    """Number of relevant items retrieved.

    Formula: |retrieved with grade ≥ rel|, summed over queries.
    Misleads: dominated by queries with many relevant items.
    Source: trec_eval num_rel_ret.
    """
    return lists.hits(rel)


@register("NumNonrelJudgedRet", **COUNT, monotone=False, lower=True)
def NumNonrelJudgedRet(lists: Lists, *, rel: float = 1) -> Floats:
    """Number of retrieved items that were judged and found not relevant.

    Formula: |retrieved with 0 ≤ grade < rel|, summed over queries.
    Misleads: it grows with the judging effort, not only with errors.
    Source: trec_eval num_nonrel_judged_ret.
    """
    return np.asarray((lists.judged & ~lists.relevant(rel)).sum(-1), dtype=float)
