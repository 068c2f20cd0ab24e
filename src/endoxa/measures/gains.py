"""Measures with graded gains: how much worth is gained, and how early."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal

from endoxa.errors import TableError
from endoxa.later import np
from endoxa.measures.lists import BEYOND, Lists, ratio
from endoxa.measures.registry import exact, linear, orders, register
from endoxa.policies import Compat
from endoxa.tables import Bools, Floats, Ints

if TYPE_CHECKING:
    from endoxa.measures.closed_forms import SumForm
    from endoxa.measures.linear import LinearForm

Discount = Literal["log2", "exp-log2"]
DEEPEST = 1 << 20  # ranks up to which discounts are kept
STEEPEST = 1000  # the highest grade whose exponential gain can be summed; 2^1024 is not a number any more


def gain(grade: Floats, dcg: Discount, gains: Mapping[float, float] | None) -> Floats:
    """What an item of each grade is worth. Negative grades and padding are worth nothing."""
    known = np.where(grade > 0, grade, 0.0)
    worth = _exponential(known) if dcg == "exp-log2" else known
    for one, value in (gains or {}).items():
        worth = np.where(grade == float(one), float(value), worth)
    return worth


def _exponential(grade: Floats) -> Floats:
    """2^grade − 1; refuse grades for which this is too large to be added up."""
    if grade.max(initial=0.0) > STEEPEST:
        raise TableError(
            f"grade {grade.max():g} is too high for exponential gains (2^grade), which end at {STEEPEST}",
            remedy="use dcg='log2', or rescale the grades",
        )
    return np.exp2(grade) - 1


def discount(rank: Ints, k: int | None) -> Floats:
    """1/log2(rank + 1) within the first k, else 0."""
    inside = np.where(rank <= (BEYOND - 1 if k is None else k), rank, 0)
    deepest = int(inside.max(initial=0))
    if deepest > DEEPEST:
        return np.where(inside > 0, 1 / np.log2(np.maximum(inside, 1) + 1.0), 0.0)
    return _discounts(1 << deepest.bit_length())[inside]


@cache
def _discounts(size: int) -> Floats:
    """The discount of each rank below `size`; 0 of rank 0. By the logarithm of C, as in native/kernels.cpp."""
    return np.array([0.0, *(1 / math.log2(rank + 1.0) for rank in range(1, size))])


def ideal(lists: Lists, dcg: Discount, gains: Mapping[float, float] | None, k: int | None) -> Floats:
    """DCG of the best list that could be made of the judged items."""
    worth = gain(lists.pool if gains else lists.pool[..., :k], dcg, gains)
    if gains:
        worth = -np.sort(-worth, -1)[..., :k]
    worth = np.maximum(worth, 0.0)
    return np.asarray((worth * discount(np.arange(1, worth.shape[-1] + 1), k)).sum(-1))


def _discounted_sum(
    *, k: int | None = None, dcg: Discount = "log2", gains: Mapping[float, float] | None = None
) -> SumForm | None:
    """Every grade counts 1/log2(rank + 1)."""
    if dcg != "log2" or gains is not None:
        return None
    return exact.SumForm(k, lambda rank, length: 1 / np.log2(rank + 1.0), graded=True)


def _linear(make: Callable[..., LinearForm]) -> Callable[..., LinearForm | None]:
    """A linear form, where gains rise with the grade."""

    def form(
        *, k: int | None = None, dcg: Discount = "log2", gains: Mapping[float, float] | None = None
    ) -> LinearForm | None:
        given = dict(sorted((gains or {}).items()))
        if min(given, default=1.0) <= 0 or list(given.values()) != sorted(given.values()):
            return None
        return make(lambda rank: discount(rank, k), lambda grade: gain(grade, dcg, gains), k)

    return form


@register("DCG", additive=True, high=math.inf, sum_form=_discounted_sum, linear=_linear(linear.discounted))
def DCG(
    lists: Lists, *, k: int | None = None, dcg: Discount = "log2", gains: Mapping[float, float] | None = None
) -> Floats:
    """Discounted cumulative gain.

    Formula: Σ over the first k of gain / log2(rank + 1); gain = grade, or 2^grade − 1 with dcg='exp-log2'.
    Misleads: queries with many highly graded items dominate the mean; nDCG divides that out.
    Source: Järvelin and Kekäläinen 2002; Burges et al. 2005 for the exponential gain.
    """
    weight = lists.weigh(lambda rank: discount(rank, k))
    return np.asarray((gain(lists.grade, dcg, gains) * weight).sum(-1))


@register("nDCG", additive=True, linear=_linear(linear.normalised))
def nDCG(
    lists: Lists, *, k: int | None = None, dcg: Discount = "log2", gains: Mapping[float, float] | None = None
) -> Floats:
    """Discounted cumulative gain as a share of the best possible.

    Formula: DCG@k / DCG@k of the judged items in order of grade, retrieved or not; gain = grade (trec_eval),
    2^grade − 1 with dcg='exp-log2', or as in gains={1: 3.5, 2: 9}.
    Misleads: not comparable between gain conventions, and high for queries with few graded items.
    Undefined where nothing has a gain. There is no least relevant grade.
    Source: Järvelin and Kekäläinen 2002; trec_eval ndcg, ndcg_cut.
    """
    return ratio(DCG(lists, k=k, dcg=dcg, gains=gains), ideal(lists, dcg, gains, k))


def _full_mark(lists: Lists, max_rel: float | None) -> float:
    top = lists.top if max_rel is None else max_rel
    if max_rel is not None and lists.top > max_rel:
        raise TableError(f"max_rel={max_rel:g} is below the highest grade in the judgments, {lists.top:g}")
    return top if top > 0 else 1.0


def _stop(lists: Lists, max_rel: float | None) -> Floats:
    """How probably each item satisfies the reader."""
    full = _full_mark(lists, max_rel)
    return np.where(lists.grade > 0, np.exp2(lists.grade - full) - np.exp2(-full), 0.0)  # 2^full may be too large


def _err_average(lists: Lists, *, k: int | None = None, max_rel: float | None = None) -> Floats:
    return orders.cascade(lists, _stop(lists, max_rel), k)


@register("ERR", average=_err_average)
def ERR(lists: Lists, *, k: int | None = None, max_rel: float | None = None) -> Floats:
    """Expected reciprocal rank of the item at which a reader is satisfied.

    Formula: Σ (1/rank) p(rank) Π over earlier items (1 − p), p = (2^grade − 1) / 2^max_rel.
    max_rel is the highest grade in all judgments unless given; gdeval fixes it at 4.
    Misleads: hardly anything behind the first satisfying item counts.
    Source: Chapelle et al. 2009; gdeval.
    """
    stop = _stop(lists, max_rel)
    going = np.cumprod(1 - stop, -1)
    before = np.concatenate([np.ones((*going.shape[:-1], 1)), going[..., :-1]], -1)
    inside = lists.rank <= (BEYOND - 1 if k is None else k)
    return np.asarray((inside * stop * before / lists.rank).sum(-1))


def _persistence(lists: Lists, p: float, k: int | None) -> Floats:
    def weight(rank: Ints) -> Floats:
        inside: Bools = rank <= (BEYOND - 1 if k is None else k)
        return np.where(inside, (1 - p) * p ** (np.minimum(rank, 100_000) - 1.0), 0.0)

    return lists.weigh(weight)


def _rbp_bounds(
    lists: Lists, *, p: float = 0.8, rel: float | None = None, k: int | None = None,
    max_rel: float | None = None, compat: Compat = "none",
) -> tuple[Floats, Floats]:  # fmt: skip
    low = RBP(lists, p=p, rel=rel, k=k, max_rel=max_rel, compat=compat)
    return low, low + RBPResidual(lists, p=p, k=k)


@register("RBP", additive=True, bounds=_rbp_bounds)
def RBP(
    lists: Lists, *, p: float = 0.8, rel: float | None = None, k: int | None = None,
    max_rel: float | None = None, compat: Compat = "none",
) -> Floats:  # fmt: skip
    """Rank-biased precision: the rate of gain for a reader who goes on with probability p.

    Formula: (1 − p) Σ gain·p^(rank−1). gain = grade / max_rel, where max_rel is the highest grade in all
    judgments unless given; with rel, gain is 1 for grade ≥ rel.
    Misleads: without its residual (RBPResidual) nobody sees how much is unjudged. trec_eval 10 rescales
    gains by the highest grade of each single topic; ranx sums raw grades.
    Source: Moffat and Zobel 2008; trec_eval rbp (p = 0.9 there).
    """
    known = np.where(lists.grade > 0, lists.grade, 0.0)
    if rel is not None:
        worth = lists.relevant(rel).astype(float)
    elif compat == "trec_eval-10":
        highest = np.where(lists.pool > 0, lists.pool, 0.0).max(-1, initial=0.0)
        worth = known / np.maximum(highest, 1.0)[..., None]
    else:
        worth = known / _full_mark(lists, max_rel)
    return np.asarray((worth * _persistence(lists, p, k)).sum(-1))


@register("RBPResidual", additive=True, monotone=False, best_first="judged", lower=True)
def RBPResidual(lists: Lists, *, p: float = 0.8, k: int | None = None, compat: Compat = "none") -> Floats:
    """How much RBP could still rise if every unjudged and unseen item were fully relevant.

    Formula: 1 − (1 − p) Σ over judged items of p^(rank−1): the unjudged ranks and the tail behind the list.
    Misleads: a worst case, not a likely one. trec_eval 10 drops the tail where no unjudged item was retrieved.
    Source: Moffat and Zobel 2008; trec_eval rbp_resid.
    """
    residual = 1 - np.asarray((lists.judged * _persistence(lists, p, k)).sum(-1))
    if compat == "trec_eval-10":
        return np.where(lists.retrieved > lists.judged.sum(-1), residual, 0.0)
    return residual


# Three experimental measures of trec_eval. They walk the ideal list beside the real one.


def _ideal_gains(lists: Lists, gains: Mapping[float, float] | None) -> Floats:
    worth = np.maximum(gain(lists.pool, "log2", gains), 0.0)
    return -np.sort(-worth, -1) if gains else worth


def _at(sums: Floats, rank: Ints) -> Floats:
    """Cumulative sums read at ranks; behind the end the last one holds."""
    lead = np.broadcast_shapes(sums.shape[:-1], rank.shape[:-1])
    place = np.broadcast_to(np.minimum(rank, sums.shape[-1] - 1), (*lead, rank.shape[-1]))
    return np.take_along_axis(np.broadcast_to(sums, (*lead, sums.shape[-1])), place, -1)


def _cumulative(values: Floats) -> Floats:
    """Cumulative sums with a 0 in front, so that index r holds the sum over the first r."""
    return np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, -1)], -1)


def _ideal_sums(best: Floats) -> Floats:
    return _cumulative(best * discount(np.arange(1, best.shape[-1] + 1), None))


def _with_missed(found: Floats, whole: Floats, lists: Lists, gains: Mapping[float, float] | None) -> Floats:
    """The mean of nDCG at the items with gain: `found` sums it over those retrieved, `whole` is the DCG of the list."""
    best = _ideal_gains(lists, gains)
    total, counted = (best > 0).sum(-1), (gain(lists.grade, "log2", gains) > 0).sum(-1)
    at_end = ratio(whole, _ideal_sums(best)[..., -1])
    return ratio(found + (total - counted) * np.nan_to_num(at_end), total)


def _ndcg_rel_average(lists: Lists, *, gains: Mapping[float, float] | None = None) -> Floats:
    def weight(rank: Ints) -> Floats:
        return discount(rank, None)

    worth, ideal_sums = gain(lists.grade, "log2", gains), _ideal_sums(_ideal_gains(lists, gains))
    dcg = np.cumsum(worth * lists.weigh(weight), -1)
    found = orders.gain_ratios(lists, worth, dcg, weight, ideal_sums)
    return _with_missed(found, dcg[..., -1], lists, gains)


@register("nDCGrel", average=_ndcg_rel_average)
def nDCGrel(lists: Lists, *, gains: Mapping[float, float] | None = None) -> Floats:
    """nDCG averaged at the ranks of the items that have a gain.

    Formula: mean over items with gain of DCG/ideal DCG at their rank; one that is not retrieved adds the
    value at the end of the list.
    Misleads: experimental; kept for comparison with trec_eval.
    Source: trec_eval ndcg_rel.
    """
    worth = gain(lists.grade, "log2", gains)
    sums = np.cumsum(worth * discount(lists.rank, None), -1)
    share = ratio(sums, _at(_ideal_sums(_ideal_gains(lists, gains)), lists.rank))
    whole = sums[..., -1] if sums.shape[-1] else np.zeros(lists.pool.shape[:-1])
    return _with_missed(np.where(worth > 0, share, 0.0).sum(-1), whole, lists, gains)


@register("Rndcg", additive=True)
def Rndcg(lists: Lists, *, gains: Mapping[float, float] | None = None, rel: float = 1) -> Floats:
    """nDCG averaged at the ranks where the ideal list changes its gain.

    Formula: mean of nDCG@r over the ranks r at which a level of gain is used up, and at the list's end.
    Misleads: experimental; kept for comparison with trec_eval. Where the list ends before the ideal gains
    do, the later levels divide an unchanged DCG by a growing ideal.
    Source: trec_eval Rndcg.
    """
    best = _ideal_gains(lists, gains)
    size, best_sums = best.shape[-1], _ideal_sums(best)
    worth = gain(lists.grade, "log2", gains)
    after = np.concatenate([best[..., 1:], np.zeros((*best.shape[:-1], 1))], -1)
    changes = (best > 0) & (best != after)
    reached = np.cumsum(lists.by_place(worth, size) * discount(np.arange(1, size + 1), None), -1)
    at_changes = np.where(changes, ratio(reached, best_sums[..., 1:]), 0.0).sum(-1)
    goes_on = (lists.retrieved > (best > 0).sum(-1) + 1) & (best_sums[..., -1] > 0)
    whole = (worth * lists.weigh(lambda rank: discount(rank, None))).sum(-1)
    at_end = np.where(goes_on, ratio(whole, best_sums[..., -1]), 0.0)
    value = ratio(at_changes + at_end, changes.sum(-1) + goes_on)
    return np.where(lists.total(rel) > 0, value, np.nan)


@register("binG", average=orders.discounted_misses)
def binG(lists: Lists, *, rel: float = 1) -> Floats:
    """Mean over relevant items of 1/log2(2 + misses before it).

    Formula: (1/R) Σ 1/log2(2 + rank − hits(rank)).
    Misleads: experimental; kept for comparison with trec_eval.
    Source: trec_eval binG.
    """
    relevant = lists.relevant(rel)
    misses = np.where(relevant, lists.rank - np.cumsum(relevant, -1), 0)
    return ratio((relevant / np.log2(2.0 + misses)).sum(-1), lists.total(rel))


@register("G", monotone=False, best_first=None)
def G(lists: Lists, *, gains: Mapping[float, float] | None = None) -> Floats:
    """Gain discounted by how far the list has fallen behind the ideal one.

    Formula: Σ gain / log2(2 + cost(rank) − gain so far), divided by the sum of all gains;
    cost adds the ideal gain of each rank, and 1 where that is below 1.
    Misleads: experimental; kept for comparison with trec_eval.
    Source: trec_eval G.
    """
    best = _ideal_gains(lists, gains)
    cost = _cumulative(np.maximum(best, 1.0))
    size = best.shape[-1]
    behind = np.where(lists.rank < BEYOND, np.maximum(lists.rank - size, 0), 0)
    worth = gain(lists.grade, "log2", gains)
    lag = 2 + _at(cost, lists.rank) + behind - np.cumsum(worth, -1)
    return ratio(np.where(worth != 0, worth / np.log2(lag), 0.0).sum(-1), best.sum(-1))
