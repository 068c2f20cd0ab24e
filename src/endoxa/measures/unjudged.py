"""Measures for judgments with holes: unjudged items are left out, inferred, or counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endoxa.errors import TableError
from endoxa.later import np
from endoxa.measures.lists import Lists, ratio
from endoxa.measures.registry import orders, register
from endoxa.measures.sets import unjudged_within
from endoxa.tables import Floats, Ints

if TYPE_CHECKING:
    import numpy.typing as npt


EPSILON = 1e-5  # trec_eval's smoothing of inferred precision


@register("Bpref", average=orders.kept_pairs)
def Bpref(lists: Lists, *, rel: float = 1) -> Floats:
    """Share of judged pairs in the right order; unjudged items are ignored.

    Formula: (1/R) Σ over relevant retrieved of 1 − min(n, R) / min(N, R), where n counts judged non-relevant
    items above and N all judged non-relevant items; the term is 1 where n = 0.
    Misleads: only the first R non-relevant items count; with very few of either it is coarse.
    Source: Buckley and Voorhees 2004, as corrected in trec_eval 8; trec_eval bpref.
    """
    relevant = lists.relevant(rel)
    total = lists.total(rel)
    nonrelevant = (lists.pool >= 0).sum(-1) - total
    above = np.cumsum(lists.judged & ~relevant, -1)
    lost = ratio(np.minimum(above, total[..., None]), np.minimum(nonrelevant, total)[..., None])
    kept = np.where(above > 0, 1 - lost, 1.0)
    return ratio(np.where(relevant, kept, 0.0).sum(-1), total)


@register("GMBpref", aggregate="geometric", average=orders.kept_pairs)
def GMBpref(lists: Lists, *, rel: float = 1) -> Floats:
    """Bpref, averaged over queries geometrically.

    Formula: exp(mean of log(max(Bpref, 0.00001))).
    Misleads: the floor decides the value when some query has Bpref = 0.
    Source: trec_eval gm_bpref.
    """
    return Bpref(lists, rel=rel)


@register("infAP", monotone=False, best_first=None)
def infAP(lists: Lists, *, rel: float = 1) -> Floats:
    """Average precision inferred from a random sample of a judged pool.

    Formula: mean over judged relevant items of 1/k + ((k−1)/k)·(pooled above/(k−1))·(r + e)/(r + n + 2e),
    with r and n the judged relevant and non-relevant items above and e = 0.00001. A negative grade marks an
    item that is pooled but not judged. With everything judged it is AP.
    Misleads: only right if the judged part of the pool was drawn at random.
    Source: Yilmaz and Aslam 2006; trec_eval infAP.
    """
    relevant = lists.relevant(rel)
    hits: Ints = np.cumsum(relevant, -1) - relevant
    misses = np.cumsum(lists.judged & ~relevant, -1)
    pooled = np.cumsum(~np.isnan(lists.grade), -1) - 1
    precision = (hits + EPSILON) / (hits + misses + 2 * EPSILON)
    inferred = (1 + pooled * precision) / lists.rank
    value = np.where(lists.rank == 1, 1.0, inferred)
    return ratio(np.where(relevant, value, 0.0).sum(-1), lists.total(rel))


@register("xinfAP", monotone=False, best_first=None)
def xinfAP(lists: Lists, *, rel: float = 1) -> Floats:
    """Average precision inferred from a stratified sample of a judged pool.

    Formula: precision at a sampled relevant item of rank k is 1/k + (pooled above/k)·p, where p weighs each
    stratum's (relevant + e)/(sampled + 3e) above k by its share of the pooled items above (e = 0.00001);
    per stratum the mean over its sampled relevant items; the strata weighted by R̂ = relevant·size/sampled.
    Misleads: needs the five-column judgments: the stratum and the probability of being drawn.
    Source: Yilmaz, Kanoulas and Aslam 2008; NIST's sample_eval.pl.
    """
    if lists.stratum is None or lists.pool_stratum is None or lists.stratum_size is None:
        raise TableError(
            "xinfAP needs to know how each item was drawn",
            remedy="read five-column judgments: query, item, grade, stratum, inclusion probability",
        )
    relevant = lists.relevant(rel)
    size = lists.stratum_size
    estimates, inferred_total = [], []
    above_precision = np.zeros(np.broadcast_shapes(lists.rank.shape, lists.grade.shape))
    pooled: Ints = np.cumsum(lists.stratum >= 0, -1) - (lists.stratum >= 0)
    for s in range(size.shape[-1]):
        here = lists.stratum == s
        drawn = here & lists.judged
        hits = np.cumsum(drawn & relevant, -1) - (drawn & relevant)
        sampled = np.cumsum(drawn, -1) - drawn
        docs = np.cumsum(here, -1) - here
        above_precision += docs * (hits + EPSILON) / (sampled + 3 * EPSILON)
    share = np.where(pooled > 0, above_precision / np.maximum(pooled, 1), 0.0)
    inferred = (1 + pooled * share) / lists.rank
    for s in range(size.shape[-1]):
        in_pool = lists.pool_stratum == s
        sampled_relevant = (in_pool & (lists.pool >= rel)).sum(-1)
        sampled_all = (in_pool & (lists.pool >= 0)).sum(-1)
        mean = ratio(np.where(relevant & (lists.stratum == s), inferred, 0.0).sum(-1), sampled_relevant)
        inferred_total.append(np.nan_to_num(ratio(sampled_relevant * size[..., s], sampled_all)))
        estimates.append(np.nan_to_num(mean) * inferred_total[-1])
    return ratio(np.sum(estimates, axis=0), np.sum(inferred_total, axis=0))


@register("Judged", additive=True, best_first="judged")
def Judged(lists: Lists, *, k: int) -> Floats:
    """Share of the first k that somebody judged.

    Formula: |judged in the first k| / |retrieved in the first k|. Undefined for an empty list.
    Misleads: not 1 − unj_k of trec_eval, which divides by k even if fewer were retrieved.
    Source: ir_measures.
    """
    return ratio((lists.judged * lists.within(k)).sum(-1), lists.length_at(k))


@register("Unjudged", additive=True, monotone=False, best_first="judged", lower=True)
def Unjudged(lists: Lists, *, k: int) -> Floats:
    """Number of unjudged items in the first k, divided by k.

    Formula: |unjudged in the first k| / k.
    Misleads: a short list looks well judged.
    Source: trec_eval 10 unj.
    """
    return unjudged_within(lists, k) / k


@register("runid", text=True, judged=False)
def runid(lists: Lists) -> npt.NDArray[np.object_]:
    """The name of the run; printed once, for all queries.

    Formula: the tag of the run file.
    Misleads: two files may carry one tag.
    Source: trec_eval runid.
    """
    return np.full(lists.retrieved.shape, "", dtype=object)


@register("relstring", text=True)
def relstring(lists: Lists, *, k: int = 10) -> npt.NDArray[np.object_]:
    """The grades of the first k as a text: `1101-10.10`.

    Formula: one sign per item: its grade from 0 to 9, `>` above 9, `-` not pooled, `.` pooled but not judged.
    Misleads: a look at one list, not a measure.
    Source: trec_eval relstring.
    """
    k = min(k, max(int(lists.retrieved.max(initial=0)), 1))
    size = np.broadcast_to(lists.length_at(k), np.broadcast_shapes(lists.retrieved.shape, lists.grade.shape[:-1]))
    signs = np.where(np.arange(k) < size[..., None], "-", " ").astype("U1")
    spare = np.concatenate([signs, np.full((*signs.shape[:-1], 1), " ")], -1)
    digit = np.where(lists.grade >= 0, np.minimum(np.nan_to_num(lists.grade), 9).astype(int), 0).astype("U1")
    sign = np.where(lists.grade > 9, ">", np.where(lists.grade < 0, ".", digit))
    np.put_along_axis(spare, np.broadcast_to(np.minimum(lists.rank, k + 1) - 1, sign.shape), sign, -1)
    rows = spare[..., :k].reshape(-1, k)
    return np.array(["".join(row).rstrip(" ") for row in rows], dtype=object).reshape(size.shape)
