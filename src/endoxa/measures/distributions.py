"""Measures where relevance is a probability: whole distributions for one list, expectations for tables of lists.

Items are relevant independently of one another, each with its own p. That is an assumption: where one person's
reading decides many items at once the means below stay right for counts and precision, the spreads do not.
Nothing here is drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import numpy as np

from endoxa.errors import TableError, TextError, did_you_mean
from endoxa.measures.lists import BEYOND, CELLS, ratio
from endoxa.statistics.bootstrap import blocks
from endoxa.statistics.poisson_binomial import CACHED, moments, pmf, probabilities
from endoxa.tables import Floats, Ints

Mode = Literal["pmf", "as_printed"]
Size = Literal["random", "expected"]

TINY = 1e-12  # values nearer than this are one value, told apart by rounding; so are chances
ENUMERATED = 20  # items in doubt whose every outcome is listed
NODES = 64
FALL = 50.0  # an integrand is followed until it has fallen by e^-50


@dataclass(frozen=True, eq=False)
class Distribution:
    """What a measure may turn out to be, and with what probability.

    values     ascending
    mass       Pr(M = value); the masses sum to 1 - undefined (only those made `as_printed` have another sum)
    undefined  probability that the measure has no value, e.g. recall where nothing is relevant
    """

    values: Floats
    mass: Floats
    undefined: float = 0.0

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.values.shape != self.mass.shape:
            raise TableError(
                f"a distribution needs one mass for each value; {self.values.shape} values, {self.mass.shape} masses"
            )
        if not (np.isfinite(self.values).all() and (np.diff(self.values) > 0).all()):
            raise TableError("the values of a distribution must be numbers that ascend; sort them and join equal ones")
        if not ((self.mass >= 0).all() and np.isfinite(self.mass).all() and self.undefined >= 0):
            raise TableError("the masses of a distribution must be numbers from 0 up; one is negative or NaN")

    @property
    def total(self) -> float:
        """Probability that the measure is defined: the sum of the masses."""
        return float(self.mass.sum())

    @property
    def mean_and(self) -> float:
        """E[M; defined] = Σ value · mass: an undefined measure adds 0. NaN where nothing is defined."""
        return float(self.values @ self.mass) if self.total > 0 else math.nan

    @property
    def mean(self) -> float:
        """E[M | defined] = E[M; defined] / Pr(defined)."""
        return self.mean_and / self.total if self.total > 0 else math.nan

    @property
    def sd(self) -> float:
        """Standard deviation, given that the measure is defined."""
        if not self.total > 0:
            return math.nan
        return math.sqrt(float((self.values - self.mean) ** 2 @ self.mass) / self.total)

    def cdf(self, at: Floats | float) -> Floats:
        """Pr(M ≤ at | defined)."""
        if not self.total > 0:
            return np.full(np.shape(at), np.nan)
        below = np.concatenate([[0.0], np.cumsum(self.mass)]) / self.total
        return np.asarray(below[np.searchsorted(self.values, at, side="right")])

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Central interval, given that the measure is defined.

        Formula: the greatest value lo with Pr(M < lo) ≤ (1 - level)/2 and the least hi with Pr(M > hi) no
        greater. The measure moves in steps, so [lo, hi] holds at least `level`, often more.
        Misleads: it is about which items are relevant, not about other queries or other judges.
        """
        if not 0 < level < 1:
            raise TextError(f"level must lie between 0 and 1, not {level}; 0.95 is usual")
        if not self.total > 0:
            return math.nan, math.nan
        share = (1 - level) / 2 * self.total + TINY
        below = np.cumsum(self.mass) - self.mass
        above = np.cumsum(self.mass[::-1])[::-1] - self.mass
        return float(self.values[below <= share][-1]), float(self.values[above <= share][0])


@dataclass(frozen=True, eq=False)
class Moments:
    """First two moments of a measure for each of a batch of lists.

    mean       E[M; defined], 0 where M is never defined; E[M | defined] is mean / (1 - undefined)
    square     E[M²; defined]
    undefined  Pr(M undefined)
    """

    mean: Floats
    square: Floats
    undefined: Floats


NOTHING = Distribution(np.empty(0), np.empty(0), 1.0)


# ---- one list


def precision(p: Floats, n: int | None = None, mode: Mode = "pmf") -> Distribution:
    """Share of n retrieved items that are relevant; p holds their probabilities.

    Formula: Pr(P = k/n) = Pr(K = k), K Poisson-binomial. Without n it is the number of p; a greater n fills a
    short list with misses, as P@n does. Undefined for n = 0.
    mode="as_printed" divides the masses by n, as the source prints them. They then sum to 1/n: no distribution.
    Source: Santini, eq. 10 and 11 (erratum A-E8).
    """
    _refuse_unknown("mode", mode, get_args(Mode))
    p = one_list(p)
    n = _size(n, p)
    if n == 0:
        return NOTHING
    mass = pmf(p)
    return Distribution(np.arange(len(p) + 1) / n, mass / n if mode == "as_printed" else mass)


def recall(p_retrieved: Floats, p_rest: Floats, size: Size = "random") -> Distribution:
    """Share of the relevant items that were retrieved; `p_rest` holds the p of the items that were not.

    Formula: size="random": R = K/(K + M), K and M the numbers of relevant items retrieved and not; undefined
    where K = M = 0. size="expected": R = K/Σp, the expected size of the category in place of the true one.
    Misleads: with the expected size the value may exceed 1, and its mean is a ratio of expectations.
    Source: Santini, eq. 12 (errata A-E9, A-E10); the mean by expected size is Lamiroy & Sun's recall.
    """
    _refuse_unknown("size", size, get_args(Size))
    p, rest = one_list(p_retrieved, "p_retrieved"), one_list(p_rest, "p_rest")
    if size == "random":
        return _by_counts(p, rest, lambda hits, missed: hits / (hits + missed), 0.0)
    expected = float(p.sum() + rest.sum())
    return Distribution(np.arange(len(p) + 1) / expected, pmf(p)) if expected > 0 else NOTHING


def f(p_retrieved: Floats, p_rest: Floats, beta: float = 1.0, n: int | None = None) -> Distribution:
    """F of the retrieved items; n is the length of the list, by default the number of `p_retrieved`.

    Formula: F = (1 + beta²) K / (beta² T + n), T = K + M relevant in all; undefined where T = 0.
    """
    p, rest = one_list(p_retrieved, "p_retrieved"), one_list(p_rest, "p_rest")
    n, weight = _size(n, p), _weight(beta)
    if n == 0 and weight == 0:  # beta = 0 is precision, which an empty list has not
        return NOTHING
    return _by_counts(p, rest, lambda hits, missed: (1 + weight) * hits / (weight * (hits + missed) + n), TINY)


def reciprocal_rank(p: Floats, rank: Ints | None = None, k: int | None = None) -> Distribution:
    """Reciprocal rank of the first relevant item; p in rank order, `rank` where the items do not stand at 1, 2, …

    Formula: Pr(RR = 1/rank_i) = p_i Π_{j<i} (1 - p_j); RR = 0 where nothing (in the first k) is relevant.
    """
    p, rank = _ranked(one_list(p), rank)
    if k is not None:
        p, rank = p[rank <= k], rank[rank <= k]
    none = np.cumprod(np.concatenate([[1.0], 1 - p]))
    values, mass = np.append(0.0, (1 / rank)[::-1]), np.append(none[-1], (p * none[:-1])[::-1])
    return Distribution(values, mass)


def success(p: Floats) -> Distribution:
    """Whether any item is relevant. Formula: Pr(0) = Π(1 - p)."""
    none = float(np.prod(1 - one_list(p)))
    return Distribution(np.array([0.0, 1.0]), np.array([none, 1 - none]))


def average_precision(p: Floats, rest: Floats, rank: Ints | None = None) -> Distribution:
    """Average precision of a ranking with p in rank order; `rest` holds the p of the relevant-or-not not retrieved.

    Formula: AP = (1/T) Σ over relevant of hits(rank)/rank; undefined where T = 0. Every outcome of the items in
    doubt (0 < p < 1) is listed, 20 at most: the values form no lattice. Mean and spread of longer lists:
    `expectation("AP", …)`.
    """
    p, rest = one_list(p), one_list(rest, "rest")
    p, rank = _ranked(p, rank)
    doubts = sum(int(((part > 0) & (part < 1)).sum()) for part in (p, rest))
    if doubts > ENUMERATED:
        raise TextError(
            f"the distribution of AP lists every outcome, and {doubts} items are in doubt (at most {ENUMERATED}); "
            "draw worlds instead, or take its mean and spread from expectation('AP', …)"
        )
    hits, sums, chance = np.zeros(1), np.zeros(1), np.ones(1)
    for one, place in zip(p.tolist(), rank.tolist(), strict=True):
        if one == 0:
            continue
        found = (hits + 1, sums + (hits + 1) / place, chance * one)
        if one == 1:
            hits, sums, chance = found
        else:
            hits, sums = np.append(hits, found[0]), np.append(sums, found[1])
            chance = np.append(chance * (1 - one), found[2])
    missed = pmf(rest[rest > 0])
    total = hits[:, None] + np.arange(len(missed))
    mass = chance[:, None] * missed
    some = total > 0
    values = np.broadcast_to(sums[:, None], total.shape)[some] / total[some]
    return gathered(values, mass[some], float(mass[~some].sum()))


def sum_over_queries(ps: Sequence[Floats], k: int) -> Distribution:
    """Mean P@k over queries, from the p of each query's items in rank order; the first k of each count.

    Formula: mean P@k = K/(Qk), K Poisson-binomial over the items of all Q queries together.
    Misleads: it says how sure the mean is for these queries; other queries are another doubt.
    """
    _refuse_cutoff(k)
    if not len(ps):
        return NOTHING
    items = np.concatenate([one_list(p)[:k] for p in ps])
    return Distribution(np.arange(len(items) + 1) / (len(ps) * k), pmf(items))


def mixture(distributions: Sequence[Distribution], weights: Floats, as_printed: bool = False) -> Distribution:
    """One distribution for several readings of a query, each with its weight.

    Formula: mass(x) = Σ weight · mass of x under the reading, on the union of the supports; so is undefined.
    Weights are those of readings that exclude one another and sum to 1. as_printed=True takes any weights from 0
    up, and what comes out sums to whatever they sum to.
    Source: Santini, eq. 13 and 14 (errata A-E11 to A-E13).
    """
    share = mixture_weights(len(distributions), weights, any_sum=as_printed)
    values = np.concatenate([one.values for one in distributions])
    mass = np.concatenate([weight * one.mass for weight, one in zip(share.tolist(), distributions, strict=True)])
    undefined = sum(weight * one.undefined for weight, one in zip(share.tolist(), distributions, strict=True))
    return gathered(values, mass, float(undefined))


def mixture_weights(count: int, weights: Floats, *, any_sum: bool = False) -> Floats:
    """The weights of `count` readings, once it is known that there are so many, none negative, of sum 1."""
    share = np.asarray(weights, dtype=np.float64)
    if count == 0 or share.shape != (count,):
        raise TableError(f"a mixture needs a weight for each reading; {count} readings, {share.size} weights")
    if not (np.isfinite(share).all() and (share >= 0).all()):
        raise TableError("the weights of a mixture must be numbers from 0 up; one is negative or NaN")
    if not any_sum and abs(share.sum() - 1) > 1e-9:
        raise TableError(
            f"the weights of a mixture sum to {share.sum():g}, expected 1; take the readings that were directly "
            "assigned, or divide by the sum"
        )
    return share


def _by_counts(p: Floats, rest: Floats, value: Callable[[Floats, Floats], Floats], near: float) -> Distribution:
    """Distribution of a function of how many relevant items were retrieved and how many were not."""
    found, missed = pmf(p), pmf(rest)
    if len(found) * len(missed) > CELLS:
        raise TableError(
            f"{len(p)} retrieved and {len(rest)} other items have too many outcomes to list; "
            "take mean and spread from expectation(…), or draw worlds"
        )
    hits, others = (part.astype(float) for part in np.indices((len(found), len(missed))).reshape(2, -1))
    mass = np.outer(found, missed).ravel()
    # Equal fractions round to the same number, different ones of fewer than 2^26 items to different numbers.
    return gathered(value(hits[1:], others[1:]), mass[1:], float(mass[0]), near)


def gathered(values: Floats, mass: Floats, undefined: float = 0.0, near: float = TINY) -> Distribution:
    """The distribution of values in any order: equal ones (within `near`) are joined, impossible ones left out."""
    values, mass = values[mass > 0], mass[mass > 0]
    if not len(values):
        return Distribution(values, mass, undefined)
    order = np.argsort(values, kind="stable")
    values, mass = values[order], mass[order]
    first = np.append(0, np.flatnonzero(np.diff(values) > near * np.maximum(1.0, np.abs(values[1:]))) + 1)
    return Distribution(values[first], np.add.reduceat(mass, first), undefined)


def one_list(p: Floats, what: str = "p") -> Floats:
    """The probabilities of one list; NaN is padding of batches and has no place here."""
    row = probabilities(p, what)
    if row.ndim != 1:
        raise TableError(f"{what} has {row.ndim} axes, expected 1: the items of one list")
    if np.isnan(row).any():
        raise TableError(
            f"{what} is NaN at place {int(np.isnan(row).argmax())}; leave out an item that nobody has an opinion on, "
            "or give it a probability"
        )
    return row


def _ranked(p: Floats, rank: Ints | None) -> tuple[Floats, Ints]:
    """The probabilities and the ranks of the items: 1, 2, … unless given."""
    if rank is None:
        return p, np.arange(1, len(p) + 1)
    rank = np.asarray(rank)
    if rank.shape != p.shape or (rank < 1).any() or (np.diff(rank) < 1).any():
        raise TableError(
            f"rank must hold one rank from 1 up for each of the {len(p)} items, ascending; sort both by it"
        )
    return p, rank


def _size(n: int | None, p: Floats) -> int:
    """The length of the list: at least the number of its items that have a p."""
    if n is not None and n < len(p):
        raise TableError(f"a list of n = {n} cannot hold {len(p)} items; give the p of the first {n} only")
    return len(p) if n is None else n


def _weight(beta: float) -> float:
    """beta², once beta is known to be a number."""
    if not math.isfinite(beta):
        raise TextError(f"beta must be a number, not {beta}; 1 weighs precision and recall alike")
    return beta * beta


def _refuse_unknown(what: str, word: str, known: Sequence[str]) -> None:
    if word not in known:
        raise TextError(f"{what} is {' or '.join(known)}, not {word!r}{did_you_mean(word, known)}")


def _refuse_cutoff(k: int | None) -> None:
    if k is not None and k < 1:
        raise TextError(f"a cut-off counts from 1, not {k}")


# ---- tables of lists

CUT = ("P", "R", "F", "Success")  # measures of the first k
WHOLE = ("SetP", "SetR", "SetF", "NumRel", "NumRelRet")
EITHER = ("RR", "AP")


def expectation(
    name: str,
    rank: Ints,
    p: Floats,
    retrieved: Ints,
    pool: Floats,
    *,
    k: int | None = None,
    beta: float = 1.0,
    norm: str = "R",
    relative: bool = False,
) -> Moments | None:
    """E[M; defined], E[M²; defined] and Pr(M undefined) of a measure for S lists of one query, exactly.

    rank       [S, h]  ranks of the retrieved items that have a p, ascending; padding is BEYOND
    p          [S, h]  their probabilities; padding is NaN
    retrieved  [S]     lengths of the lists; items without a p are not relevant
    pool       [m]     p of every item of the query, retrieved or not, those in `p` among them; NaN is left out;
                       or [S, m], where every list has a belief of its own

    Counts (P, SetP, NumRel, NumRelRet), RR and Success are sums. Ratios to T, the number of relevant items, are
    integrals. Let items be relevant with odds changed by t, π = pt/(1 - p + pt), and A(t) = Π(1 - p + pt) over
    the pool. For a numerator X that is 0 where T = 0, and any c ≥ 0,
        E[X/(T + c); T>0]    = ∫ t^(c-1) A(t) E_t[X] dt
        E[X²/(T + c)²; T>0]  = ∫ -log(t) t^(c-1) A(t) E_t[X²] dt         over t from 0 to 1,
    because 1/a = ∫ t^(a-1) dt and 1/a² = ∫ -log(t) t^(a-1) dt. X is the number of hits (R, SetR: c = 0; F, SetF:
    c = n/beta²) or, for AP, Σ hits(rank)/rank. 64 Gauss-Legendre nodes in t^¼ are exact to rounding; the work
    grows with h times 64 for each list.
    None: the measure has no such form (relative=True, norm='min' with a cut-off, any other name).
    Misleads: a plug-in (p taken as gain) is not this; it is biased both ways.
    Source: METHODS 0.4, derived; the second moments likewise.
    """
    if name not in CUT + WHOLE + EITHER or relative or (norm != "R" and k is not None):
        return None
    if (k is None and name in CUT) or (k is not None and name in WHOLE):
        raise TextError(f"{name} {'needs a' if k is None else 'has no'} cut-off k")
    _refuse_cutoff(k)
    rank, retrieved = np.asarray(rank), np.asarray(retrieved)
    p, pool = probabilities(p), probabilities(pool, "pool")
    if (
        p.ndim != 2
        or rank.shape != p.shape
        or retrieved.shape != p.shape[:1]
        or pool.shape[:-1] not in {(), p.shape[:1]}
    ):
        raise TableError(
            f"expected rank and p [S, h], retrieved [S], pool [m] or [S, m]; got rank {rank.shape}, p {p.shape}, "
            f"retrieved {retrieved.shape}, pool {pool.shape}"
        )
    pool = np.nan_to_num(pool, nan=0.0)
    inside = (rank <= (BEYOND - 1 if k is None else k)) & ~np.isnan(p)
    width = int(np.flatnonzero(inside.any(0)).max(initial=-1)) + 1
    p, rank = np.where(inside, p, 0.0)[:, :width], rank[:, :width]
    never = np.zeros(len(p))
    if name in {"P", "SetP", "NumRelRet"}:
        size = np.full(len(p), k or 1) if name != "SetP" else retrieved
        return _share_of(p, size)
    if name == "NumRel":
        mean, variance, _ = moments(pool)
        return Moments(mean + never, variance + mean**2 + never, never)
    if name in {"RR", "Success"}:
        none = np.cumprod(1 - p, axis=1)
        first = p * np.concatenate([np.ones((len(p), 1)), none], axis=1)[:, :width]
        value = 1 / rank if name == "RR" else np.ones_like(p)
        return Moments((first * value).sum(1), (first * value**2).sum(1), never)
    undefined = np.prod(1 - pool, axis=-1) + never
    if name == "AP":
        mean, square = _ratios(p, rank, pool, never, _hits_over_rank)
        return Moments(mean, square, undefined)
    if name in {"R", "SetR"}:
        mean, square = _ratios(p, rank, pool, never, _hits)
        return Moments(mean, square, undefined)
    size, weight = (np.full(len(p), k) if name == "F" else retrieved), _weight(beta)
    if weight < 1e-20:  # precision, wherever something is relevant
        share = _share_of(p, size)
        return Moments(share.mean, share.square, np.where((size == 0) & (weight == 0), 1.0, undefined))
    mean, square = _ratios(p, rank, pool, size / weight, _hits)
    scale = (1 + weight) / weight
    return Moments(scale * mean, scale**2 * square, undefined)


def _share_of(p: Floats, size: Floats | Ints) -> Moments:
    """Moments of (how many are relevant) / size; undefined where the size is 0."""
    mean, variance, _ = moments(p)
    first, second = ratio(mean, size), ratio(variance + mean**2, np.asarray(size, dtype=float) ** 2)
    empty = size == 0
    return Moments(np.where(empty, 0.0, first), np.where(empty, 0.0, second), empty.astype(float))


Numerator = Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]  # p, rank [h, S], t to E_t[X], E_t[X²] [S, t]


def _ratios(p: Floats, rank: Ints, pool: Floats, c: Floats, numerator: Numerator) -> tuple[Floats, Floats]:
    """E[X/(T + c); T>0] and E[X²/(T + c)²; T>0] for each list; see `expectation`.

    Nodes are shared by lists whose integrands fall about as fast.
    """
    mean, square = np.zeros(len(p)), np.zeros(len(p))
    speed = pool.sum(-1) + c
    alike = np.ceil(np.log2(np.maximum(1.0, speed / FALL)) / 2)
    for group in np.unique(alike).tolist():
        members = np.flatnonzero(alike == group)
        t, log_t, weight = _nodes(float(speed[members].min()))
        shared = _log_A(pool, t) if pool.ndim == 1 else None
        for some in blocks(len(members), NODES):
            lists = members[some]
            log_A = np.stack([_log_A(own, t) for own in pool[lists]]) if shared is None else shared
            first, second = numerator(np.ascontiguousarray(p[lists].T), np.ascontiguousarray(rank[lists].T), t)
            kernel = weight * np.exp(log_A + (c[lists, None] - 1) * log_t)
            mean[lists] = (kernel * first).sum(1)
            square[lists] = (kernel * -log_t * second).sum(1)
    return mean, square


def _raised(p: Floats, t: Floats) -> Iterator[tuple[slice, Floats]]:
    """π = pt/(1 - p + pt) as [items, S, t], for so many items at a time as stay in the cache."""
    for items in blocks(len(p), CACHED // (p.shape[1] * len(t))):
        part = p[items, :, None]
        chance = part * t
        chance /= (1 - part) + chance
        yield items, chance


def _hits(p: Floats, rank: Floats, t: Floats) -> tuple[Floats, Floats]:
    """First two moments of the number of hits."""
    mean, squares = np.zeros((p.shape[1], len(t))), np.zeros((p.shape[1], len(t)))
    for _, chance in _raised(p, t):
        mean += chance.sum(0)
        squares += np.einsum("i...,i...", chance, chance)
    return mean, mean - squares + mean**2


def _hits_over_rank(p: Floats, rank: Floats, t: Floats) -> tuple[Floats, Floats]:
    """First two moments of X = Σ over relevant of hits(rank)/rank.

    Item by item: with H hits and the sum X before it, a relevant item at rank k makes H+1 and X + (H+1)/k. So
    the moments of (X, H) follow from those before, and are never stored: five numbers for each list and node.
    """
    shape = (p.shape[1], len(t))
    hits, hits_square = np.ones(shape), np.ones(shape)  # E[H+1], E[(H+1)²]
    mean, mixed, square = np.zeros(shape), np.zeros(shape), np.zeros(shape)  # E[X], E[X(H+1)], E[X²]
    for items, chances in _raised(p, t):
        shares = chances / rank[items, :, None]
        for chance, share, over in zip(chances, shares, shares / rank[items, :, None], strict=True):
            step = share * hits
            square += over * hits_square
            square += 2 * (share * mixed)
            mixed += chance * mean
            mixed += share * hits_square
            mixed += step
            mean += step
            hits_square += chance * (2 * hits + 1)
            hits += chance
    return mean, square


@cache
def _legendre() -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on (0, 1)."""
    x, weight = np.polynomial.legendre.leggauss(NODES)
    return (1 - x) / 2, weight / 2


def _nodes(speed: float) -> tuple[Floats, Floats, Floats]:
    """t, log t and weight of the nodes for an integrand that falls from t = 1 at least as exp(-speed (1 - t)).

    Where it falls steeply only the part that matters is covered. In u = t^¼ powers t^c and log t at 0 do no harm:
    both come with u³.
    """
    s, weight = _legendre()
    reach = 1.0 if speed <= FALL else -math.expm1(math.log1p(-FALL / speed) / 4)
    log_u = np.log1p(-reach * s)
    return np.exp(4 * log_u), 4 * log_u, 4 * reach * weight * np.exp(3 * log_u)


def _log_A(pool: Floats, t: Floats) -> Floats:
    """log Π(1 - p + pt) at each t. Written so, 1 - p + pt keeps its digits where p = 1 and t is near 0.

    Logarithms are slow: sixteen factors are multiplied before each. No t is below 1e-14, so they cannot vanish.
    """
    result = np.zeros(len(t))
    sixteens = np.pad(pool, (0, -len(pool) % 16)).reshape(-1, 16, 1)
    for some in blocks(len(sixteens), CACHED // (16 * len(t))):
        p = sixteens[some]
        result += np.log(((1 - p) + p * t).prod(1)).sum(0)
    return result
