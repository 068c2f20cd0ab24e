"""Closed forms of measures where items are relevant independently of one another, each with its own probability p.

A definition in the registry may have four: `moments` for a table of lists, `law` for one list, `difference` for two
lists that share the truth, and `sum_form` where the value is a sum over items or a ratio of such sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

from endoxa.errors import TableError, TextError
from endoxa.frozen import dataclass
from endoxa.later import np
from endoxa.measures import distributions
from endoxa.measures.distributions import Distribution, count_difference, precision_difference
from endoxa.measures.lists import BEYOND, alike, ratio
from endoxa.native import core
from endoxa.statistics import poisson_binomial
from endoxa.statistics.bootstrap import blocks
from endoxa.statistics.poisson_binomial import CACHED, probabilities
from endoxa.tables import Floats, Ints

NODES, FEWER = 64, 32
MODERATE = 80.0  # the fall, in powers of e, up to which fewer nodes are exact
DIFFERENT = 4096  # probabilities that differ, up to which a table of them is kept
FALL = 50.0  # an integrand is followed until it has fallen by e^-50


@dataclass(frozen=True, eq=False)
class Moments:
    """First two moments of a measure for each list of a table.

    mean       E[M; defined], 0 where M is never defined; E[M | defined] is mean / (1 - undefined)
    square     E[M²; defined]; NaN where it was not asked for or is unknown
    undefined  Pr(M undefined)
    """

    mean: Floats
    square: Floats
    undefined: Floats


@dataclass(frozen=True, eq=False)
class Chances:
    """The S lists of one query whose items are relevant with known probabilities.

    rank       [S, h]  ranks of the retrieved items that have a p, ascending; padding is BEYOND
    p          [S, h]  their probabilities; 0 for padding
    retrieved  [S]     lengths of the lists; items without a p are not relevant
    pool       [m]     p of every item of the query, retrieved or not; or [S, m], where every list has its own belief
    spread     whether second moments are wanted; they cost about three times as much
    """

    rank: Ints
    p: Floats
    retrieved: Ints
    pool: Floats
    spread: bool = True

    @classmethod
    def of(cls, rank: Ints, p: Floats, retrieved: Ints, pool: Floats, *, spread: bool = True) -> Chances:
        """Check shapes and probabilities. NaN marks padding, in `p` and in `pool`."""
        rank, retrieved = np.asarray(rank), np.asarray(retrieved)
        p, pool = probabilities(p), probabilities(pool, "pool")
        fits = p.ndim == 2 and rank.shape == p.shape and retrieved.shape == p.shape[:1]
        if not fits or pool.shape[:-1] not in {(), p.shape[:1]}:
            raise TableError(
                f"expected rank and p [S, h], retrieved [S], pool [m] or [S, m]; got rank {rank.shape}, p {p.shape}, "
                f"retrieved {retrieved.shape}, pool {pool.shape}"
            )
        real = (rank < BEYOND) & ~np.isnan(p)
        return cls(rank, np.where(real, p, 0.0), retrieved, np.nan_to_num(pool, nan=0.0), spread)

    def first(self, k: int | None) -> tuple[Floats, Ints]:
        """p and rank of the items in the first k that may be relevant; p is 0 behind them."""
        if k is not None and k < 1:
            raise TextError(f"a cut-off counts from 1, not {k}")
        possible = (self.rank <= (BEYOND - 1 if k is None else k)) & (self.p > 0)
        width = int(possible.sum(1).max(initial=0))
        p, rank = self.p, self.rank
        if 1.25 * width < self.p.shape[1] and not possible[:, :width].all():  # close the gaps
            order = np.argsort(~possible, axis=1, kind="stable")[:, :width]
            possible = np.take_along_axis(possible, order, 1)
            p, rank = np.take_along_axis(p, order, 1), np.take_along_axis(rank, order, 1)
        else:
            width = int(np.flatnonzero(possible.any(0)).max(initial=-1)) + 1
            possible, p, rank = possible[:, :width], p[:, :width], rank[:, :width]
        return np.where(possible, p, 0.0), rank


@dataclass(frozen=True, eq=False)
class OneList:
    """One list: ranks and probabilities of its items in rank order, and of the items that it does not return."""

    rank: Ints
    p: Floats
    rest: Floats
    retrieved: int

    def first(self, k: int | None) -> Floats:
        """The probabilities of the items in the first k."""
        return self.p if k is None else self.p[self.rank <= k]

    def behind(self, k: int | None) -> Floats:
        """The probabilities of all other items."""
        return self.rest if k is None else np.concatenate([self.rest, self.p[self.rank > k]])


@dataclass(frozen=True, eq=False)
class Difference:
    """The distribution of A - B; `ordinal` where only its sign has a meaning."""

    distribution: Distribution
    ordinal: bool = False


@dataclass(frozen=True)
class SumForm:
    """A value that is a sum over items of weight times gain, or a ratio of two such sums.

    k       only the first k items of a list count; None for the whole list
    weight  weight of each item, from its rank and the length of its list
    divisor the value is the number of relevant items in the first k divided by this; None if weights differ
    graded  the gain is the grade; else it is 1 for a relevant item
    ratio   the sum is divided by (number of relevant items + `size`), summed over all queries first
    size    what the denominator of a ratio has beside the relevant items, from the length of the list
    empty   whether an empty list has a value
    """

    k: int | None
    weight: Callable[[Ints, Ints], Floats]
    divisor: float | None = None
    graded: bool = False
    ratio: bool = False
    size: Callable[[Ints], Floats] | None = None
    empty: bool = True


# ---- precision: a count divided by a known size


def precision_moments(lists: Chances, *, k: int | None = None, relative: bool = False) -> Moments | None:
    """Moments of the share of relevant items in the first k, or in the whole list."""
    return None if relative else _share_of(lists.first(k)[0], lists.retrieved if k is None else np.asarray(k))


def precision_law(one: OneList, *, k: int | None = None, relative: bool = False) -> Distribution | None:
    """See `distributions.precision`."""
    return None if relative else distributions.precision(one.first(k), one.retrieved if k is None else k)


def precision_gap(
    both: Floats, first: Floats, second: Floats, sizes: tuple[int, int], *, k: int | None = None, relative: bool = False
) -> Difference | None:
    """See `distributions.precision_difference`; lists are filled up to their sizes with items that are irrelevant."""
    if relative:
        return None
    spare = [max(0, (k or size) - len(both) - len(part)) for part, size in zip((first, second), sizes, strict=True)]
    return Difference(precision_difference(both, np.pad(first, (0, spare[0])), np.pad(second, (0, spare[1]))))


def precision_sum(*, k: int | None = None, relative: bool = False) -> SumForm | None:
    """Every relevant item adds 1/k, or 1/length of the list."""
    if relative:
        return None
    if k is None:
        return SumForm(None, lambda rank, length: 1 / length, empty=False)
    return SumForm(k, lambda rank, length: np.full(rank.shape, 1 / k), divisor=k)


def hit_moments(lists: Chances) -> Moments:
    """Moments of the number of relevant items retrieved."""
    return _share_of(lists.first(None)[0], np.asarray(1))


def total_moments(lists: Chances) -> Moments:
    """Moments of the number of relevant items, retrieved or not."""
    mean, variance, _ = poisson_binomial.moments(lists.pool)
    never = np.zeros(len(lists.p))
    return Moments(mean + never, variance + mean**2 + never, never)


def _share_of(p: Floats, size: Ints) -> Moments:
    """Moments of (how many are relevant) / size; undefined where the size is 0."""
    mean, variance, _ = poisson_binomial.moments(p)
    size = np.broadcast_to(size, mean.shape)
    first, second = ratio(mean, size), ratio(variance + mean**2, size.astype(float) ** 2)
    empty = size == 0
    return Moments(np.where(empty, 0.0, first), np.where(empty, 0.0, second), empty.astype(float))


# ---- the first relevant item


def _first_moments(lists: Chances, value: Callable[[Ints], Floats], k: int | None) -> Moments:
    """Moments of a value that the rank of the first relevant item decides; 0 where there is none."""
    p, rank = lists.first(k)
    none = np.cumprod(1 - p, axis=1)
    first = p * np.concatenate([np.ones((len(p), 1)), none], axis=1)[:, : p.shape[1]]
    worth = value(rank)
    return Moments((first * worth).sum(1), (first * worth**2).sum(1), np.zeros(len(p)))


def reciprocal_moments(lists: Chances, *, k: int | None = None) -> Moments:
    """Moments of the reciprocal rank."""
    return _first_moments(lists, lambda rank: 1 / rank, k)


def reciprocal_law(one: OneList, *, k: int | None = None) -> Distribution:
    """See `distributions.reciprocal_rank`."""
    return distributions.reciprocal_rank(one.p, one.rank, k)


def success_moments(lists: Chances, *, k: int) -> Moments:
    """Moments of whether anything in the first k is relevant."""
    return _first_moments(lists, lambda rank: np.ones(rank.shape), k)


def success_law(one: OneList, *, k: int) -> Distribution:
    """See `distributions.success`."""
    return distributions.success(one.first(k))


# ---- ratios to the number of relevant items
#
# Let items be relevant with odds changed by t, π = pt/(1 - p + pt), and A(t) = Π(1 - p + pt) over the pool. For a
# numerator X that is 0 where T = 0, and any c ≥ 0,
#     E[X/(T + c); T>0]    = ∫ t^(c-1) A(t) E_t[X] dt
#     E[X²/(T + c)²; T>0]  = ∫ -log(t) t^(c-1) A(t) E_t[X²] dt         over t from 0 to 1,
# because 1/a = ∫ t^(a-1) dt and 1/a² = ∫ -log(t) t^(a-1) dt. X is the number of hits (recall: c = 0; F: c = n/beta²)
# or, for AP, Σ hits(rank)/rank. 64 Gauss-Legendre nodes in t^¼ are exact to rounding.
# Source: docs/methods/distributions.md, Closed forms.


def recall_moments(lists: Chances, *, k: int | None = None) -> Moments:
    """Moments of the share of the relevant items that are in the first k, or in the whole list."""
    return _ratios(lists, k, np.zeros(len(lists.p)), _hits)


def recall_law(one: OneList, *, k: int | None = None) -> Distribution:
    """See `distributions.recall`."""
    return distributions.recall(one.first(k), one.behind(k))


def recall_gap(
    both: Floats, first: Floats, second: Floats, sizes: tuple[int, int], *, k: int | None = None
) -> Difference:
    """Recalls of one query have the same denominator: their order is that of the numbers of hits."""
    return Difference(count_difference(first, second), ordinal=True)


def recall_sum(*, k: int | None = None) -> SumForm:
    """Hits over relevant items, each summed over all queries."""
    return SumForm(k, lambda rank, length: np.ones(rank.shape), ratio=True)


def f_moments(lists: Chances, *, k: int | None = None, beta: float = 1.0) -> Moments:
    """Moments of F: (1 + beta²) hits / (beta² relevant + size)."""
    size = lists.retrieved if k is None else np.full(len(lists.p), k)
    weight = distributions.squared(beta)
    if weight < 1e-20:  # precision, wherever something is relevant
        share = _share_of(lists.first(k)[0], size)
        return Moments(share.mean, share.square, np.where((size == 0) & (weight == 0), 1.0, _never(lists)))
    quotient = _ratios(lists, k, size / weight, _hits)
    scale = (1 + weight) / weight
    return Moments(scale * quotient.mean, scale**2 * quotient.square, quotient.undefined)


def f_law(one: OneList, *, k: int | None = None, beta: float = 1.0) -> Distribution:
    """See `distributions.f`."""
    return distributions.f(one.first(k), one.behind(k), beta, one.retrieved if k is None else k)


def f_sum(*, k: int | None = None, beta: float = 1.0) -> SumForm | None:
    """Twice the hits over (relevant items + size), each summed over all queries; for beta = 1."""

    def size(length: Ints) -> Floats:
        return np.asarray(length if k is None else np.full(length.shape, k), dtype=float)

    return SumForm(k, lambda rank, length: np.full(rank.shape, 2.0), ratio=True, size=size) if beta == 1 else None


def average_precision_moments(lists: Chances, *, k: int | None = None, norm: str = "R") -> Moments | None:
    """Moments of (1/T) Σ hits(rank)/rank; there is no such form for norm='min' with a cut-off."""
    if norm != "R" and k is not None:
        return None
    return _ratios(lists, k, np.zeros(len(lists.p)), _hits_over_rank)


def _never(lists: Chances) -> Floats:
    """Probability that nothing is relevant, for each list."""
    return np.asarray(np.prod(1 - lists.pool, axis=-1) + np.zeros(len(lists.p)))


# p, rank [h, S], t, whether E_t[X²] is wanted; E_t[X] and E_t[X²] as [S, t]
Numerator = Callable[[Floats, Ints, Floats, bool], tuple[Floats, Floats]]


def _ratios(lists: Chances, k: int | None, c: Floats, numerator: Numerator) -> Moments:
    """Moments of X/(T + c) for each list. Nodes are shared by lists whose integrands fall about as fast."""
    p, rank = lists.first(k)
    mean, square = np.zeros(len(p)), np.full(len(p), np.nan)
    speed = np.asarray(lists.pool.sum(-1) + c)
    fall = np.ceil(np.log2(np.maximum(1.0, speed / FALL)) / 2)
    shared: dict[float, Floats] = {}
    for group in alike((p > 0).sum(1), 3):
        for steep in np.unique(fall[group]).tolist():
            slowest = float(speed[fall == steep].min())
            t, log_t, weight = _nodes(slowest, float(speed[fall == steep].max()))
            if lists.pool.ndim == 1 and slowest not in shared:
                shared[slowest] = _log_A(lists.pool, t)
            members = group[fall[group] == steep]
            for block in blocks(len(members), NODES**2 // len(t)):
                rows = members[block]
                log_A = shared.get(slowest)
                log_A = np.stack([_log_A(own, t) for own in lists.pool[rows]]) if log_A is None else log_A
                width = int(np.flatnonzero(p[rows].any(0)).max(initial=-1)) + 1
                columns = np.ascontiguousarray(p[rows, :width].T), np.ascontiguousarray(rank[rows, :width].T)
                first, second = numerator(*columns, t, lists.spread)
                kernel = weight * np.exp(log_A + (c[rows, None] - 1) * log_t)
                mean[rows] = (kernel * first).sum(1)
                if lists.spread:
                    square[rows] = (kernel * -log_t * second).sum(1)
    return Moments(mean, square, _never(lists))


def _raised(p: Floats, t: Floats) -> Iterator[tuple[slice, Floats]]:
    """π = pt/(1 - p + pt) as [items, S, t], for as many items at a time as stay in the cache; once for equal p."""
    values = np.unique(p)
    step = max(CACHED // max(p.shape[1] * len(t), 1), 1)
    if 4 * len(values) > p.size or len(values) > DIFFERENT:
        yield from ((items, _odds(p[items], t)) for items in blocks(len(p), step))
        return
    table, code, chance = _odds(values, t), np.searchsorted(values, p), np.empty((step, p.shape[1], len(t)))
    for items in blocks(len(p), step):  # one array for all: memory that is taken anew is slow
        yield items, table.take(code[items], 0, out=chance[: items.stop - items.start], mode="clip")


def _odds(p: Floats, t: Floats) -> Floats:
    """pt/(1 - p + pt) at each t, as a last axis."""
    chance = p[..., None] * t
    chance /= (1 - p)[..., None] + chance
    return chance


def _hits(p: Floats, rank: Ints, t: Floats, spread: bool) -> tuple[Floats, Floats]:
    """First two moments of the number of hits."""
    mean, squares = np.zeros((p.shape[1], len(t))), np.zeros((p.shape[1], len(t)))
    for _, chance in _raised(p, t):
        mean += chance.sum(0)
        if spread:
            squares += np.einsum("i...,i...", chance, chance)
    return mean, mean - squares + mean**2


def _hits_over_rank(p: Floats, rank: Ints, t: Floats, spread: bool) -> tuple[Floats, Floats]:
    """First two moments of X = Σ over relevant of hits(rank)/rank: a hit at rank k turns H, X into H+1, X + (H+1)/k."""
    shape = (p.shape[1], len(t))
    step = max(CACHED // max(math.prod(shape), 1), 1)
    square = np.zeros(shape)
    if (native := core()) is not None:
        mean = np.empty(shape)
        native.hits_over_rank(p, rank.astype(float), t, mean, square if spread else None, *p.shape, len(t), step)
        return mean, square
    room = np.zeros((6, step + 1, *shape))
    room[0, 0] = 1.0
    for items, chance in _raised(p, t):
        size = len(chance)
        hits, free, mean, mixed = room[:4, : size + 1]  # before each item: E[H+1], Var[H], E[X], E[X(H+1)]
        over = 1 / rank[items, :, None]
        share, added = np.multiply(chance, over, out=room[4, :size]), room[5, :size]
        hits[1:] = chance
        _add_up(hits)
        np.multiply(share, hits[:-1], out=mean[1:])
        if spread:
            np.subtract(chance, np.multiply(chance, chance, out=added), out=free[1:])
            _add_up(free)
            np.multiply(hits[:-1], hits[:-1], out=added)
            added += free[:-1]
            added *= share  # E[(H+1)²] / k if the item is relevant
            np.add(mean[1:], added, out=mixed[1:])
        _add_up(mean)
        if spread:
            added *= over
            square += added.sum(0)
            mixed[1:] += np.multiply(chance, mean[:-1], out=added)
            _add_up(mixed)
            share *= mixed[:-1]
            square += 2 * share.sum(0)
        room[:4, 0] = room[:4, size]
    return room[2, 0], square


def _add_up(rows: Floats) -> None:
    """Running sums over the first axis, in place: row by row is five times as fast as a cumulative sum across rows."""
    for before, after in pairwise(rows):
        np.add(before, after, out=after)


@cache
def _legendre(nodes: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on (0, 1)."""
    x, weight = np.polynomial.legendre.leggauss(nodes)
    return (1 - x) / 2, weight / 2


def _nodes(speed: float, fastest: float) -> tuple[Floats, Floats, Floats]:
    """t, log t and weight of the nodes for integrands that fall from t = 1 as exp(-speed (1 - t)), up to `fastest`.

    Where it falls steeply, only the part that matters is covered; fewer nodes are enough if it is far from t = 0.
    """
    reach = 1.0 if speed <= FALL else -math.expm1(math.log1p(-FALL / speed) / 4)
    s, weight = _legendre(FEWER if speed > FALL and 4 * reach * fastest < MODERATE else NODES)
    log_u = np.log1p(-reach * s)
    return np.exp(4 * log_u), 4 * log_u, 4 * reach * weight * np.exp(3 * log_u)


def _log_A(pool: Floats, t: Floats) -> Floats:
    """log Π(1 - p + pt) at each t, a logarithm for sixteen factors: no t is below 1e-14, so they cannot vanish."""
    values, counts = np.unique(pool, return_counts=True)
    if 16 * len(values) < len(pool):  # few probabilities differ, as among votes
        return np.asarray(counts @ np.log((1 - values)[:, None] + values[:, None] * t))
    result = np.zeros(len(t))
    sixteens = np.pad(pool, (0, -len(pool) % 16)).reshape(-1, 16, 1)
    for block in blocks(len(sixteens), CACHED // (16 * len(t))):
        p = sixteens[block]
        result += np.log(((1 - p) + p * t).prod(1)).sum(0)
    return result
