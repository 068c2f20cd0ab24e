"""How alike two orders are: Kendall's tau, AP correlation and rank-biased overlap."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TableError, TextError
from endoxa.frozen import dataclass
from endoxa.statistics.bootstrap import widened
from endoxa.tables import Floats, Scores


@dataclass(frozen=True)
class Orders:
    """Agreement of two orders of the same n items."""

    tau: float
    tau_ap: float
    rbo: float
    n: int


@dataclass(frozen=True)
class Overlap:
    """Rank-biased overlap of two lists of which only the beginnings are seen.

    `low` and `high` bound what the full lists could give, `ext` extrapolates the agreement seen.
    """

    ext: float
    low: float
    high: float

    @property
    def residual(self) -> float:
        """high - low: how much depends on the part that is not seen."""
        return self.high - self.low


def orders(reference: Mapping[str, float], estimate: Mapping[str, float], *, p: float = 0.9) -> Orders:
    """Compare two orders, each given as {name: score}, higher is better.

    Names that only one side has, or whose score is NaN, are left out; `n` counts the rest. `tau` is tau-b,
    `tau_ap` takes `reference` as the truth, `rbo` is RBO_EXT with persistence `p`. RBO needs strict orders:
    there equal scores stand in order of name.
    """
    shared = sorted(
        name for name in reference.keys() & estimate.keys() if not math.isnan(reference[name] + estimate[name])
    )
    if len(shared) < 2:
        raise JoinError(f"the two orders share {len(shared)} names with a score", remedy="agreement needs two or more")
    truth, guess = (np.array([side[name] for name in shared], dtype=float) for side in (reference, estimate))
    first, second = (sorted(shared, key=lambda name: -side[name]) for side in (reference, estimate))
    return Orders(tau(truth, guess), tau_ap(truth, guess), rbo(first, second, p=p).ext, len(shared))


def between_measures(scores: Scores) -> pl.DataFrame | None:
    """Agreement of the orders that each two measures give: measure, other, tau, tau_AP, RBO.

    None for fewer than two measures that every system has a value of, or fewer than three systems.
    """
    if len(scores.systems) < 3:
        return None
    means = {}
    for name in scores.measures:
        systems, _, values = scores.matrix(name)
        if not np.isnan(values).all(1).any():
            means[name] = dict(zip(systems, np.nanmean(values, 1).tolist(), strict=True))
    rows = []
    for one, other in combinations(means, 2):
        found = orders(means[one], means[other])
        rows.append((one, other, found.tau, found.tau_ap, found.rbo))
    return pl.DataFrame(rows, schema=["measure", "other", "tau", "tau_AP", "RBO"], orient="row") if rows else None


def tau(a: Floats, b: Floats) -> float:
    """Kendall's tau-b: (concordant - discordant) / √(pairs not tied in a · pairs not tied in b).

    NaN where one side is all ties, or there are fewer than two. A swap at the top costs no more than one at the
    bottom.
    """
    left, right = np.triu_indices(len(a), 1)
    first, second = (np.sign(side[left] - side[right]) for side in (np.asarray(a), np.asarray(b)))
    untied = [int(np.count_nonzero(signs)) for signs in (first, second)]
    if 0 in untied:
        return math.nan
    return float(np.clip((first * second).sum() / math.sqrt(untied[0]) / math.sqrt(untied[1]), -1, 1))


def tau_interval(one: Floats, other: Floats, weights: Floats, confidence: float = 0.95) -> tuple[float, float, float]:
    """Tau of the means of two matrices [system, query], and its interval over resamples of the queries.

    `weights` [query, resample] says how much each query counts in each resample, the same for both matrices. Queries
    without a value are left out of a mean, and systems without any value out of the orders. Resamples in which all
    means of one side are tied have no tau; if none has one, the interval is NaN. The interval is extended to tau where
    that lies outside the middle of the resamples.
    """
    whole = np.ones((one.shape[-1], 1))
    value = _taus(*(weighted_means(values, whole) for values in (one, other)))[0]
    drawn = _taus(*(weighted_means(values, weights) for values in (one, other)))
    known = drawn[~np.isnan(drawn)]
    beyond = (1 - confidence) / 2
    lo, hi = np.quantile(known, [beyond, 1 - beyond]) if len(known) else (np.nan, np.nan)
    lo, hi = widened(np.asarray(lo), np.asarray(hi), np.asarray(value))
    return float(value), float(lo), float(hi)


def _taus(a: Floats, b: Floats) -> Floats:
    """Tau of every column of two matrices [system, column], without the systems that have no value in it."""
    left, right = np.triu_indices(len(a), 1)
    first, second = (np.sign(side[left] - side[right]) for side in (a, b))
    known = ~np.isnan(first + second)
    first, second = np.where(known, first, 0.0), np.where(known, second, 0.0)
    untied = np.sqrt(np.count_nonzero(first, axis=0)) * np.sqrt(np.count_nonzero(second, axis=0))
    values = np.divide((first * second).sum(0), untied, out=np.full(a.shape[1], np.nan), where=untied > 0)
    return np.asarray(np.clip(values, -1, 1))


def weighted_means(values: Floats, weights: Floats) -> Floats:
    """Weighted means over the last axis, without queries that have no value."""
    known = ~np.isnan(values) @ weights
    sums = np.nan_to_num(values) @ weights
    return np.asarray(np.divide(sums, known, out=np.full(known.shape, np.nan), where=known > 0))


def query_weights(size: int, resamples: int, rng: np.random.Generator) -> Floats:
    """How much each of `size` queries counts in each resample drawn with replacement: [query, resample]."""
    return np.asarray(rng.multinomial(size, np.full(size, 1 / size), size=resamples).T / size)


def tau_ap(truth: Floats, estimate: Floats, *, symmetric: bool = False) -> float:
    """AP correlation: like tau, but a swap near the top of the estimate costs more.

    tau_AP = 2/(n-1) · Σ_{i=2..n} C(i)/(i-1) - 1, with C(i) the number of items above rank i of the estimate
    that the truth also puts above it. Not symmetric; `symmetric` averages both directions.
    Ties: the expectation over all orders of the tied items, in closed form, on either side. (With ties in the
    estimate only, this is Urbano & Marrero's tau_AP,a.) A tied order therefore does not agree fully with
    itself; tau_ap_b does.
    Source: Yilmaz, Aslam & Robertson, SIGIR 2008; Urbano & Marrero, ICTIR 2017.
    """
    truth, estimate = _scores(truth, estimate)
    if symmetric:
        return (tau_ap(truth, estimate) + tau_ap(estimate, truth)) / 2
    n = len(truth)
    agreed = (truth > truth[:, None]) + (truth == truth[:, None]) / 2  # [item, other]: other above item in truth
    above = estimate > estimate[:, None]
    tied = estimate == estimate[:, None]
    np.fill_diagonal(tied, False)
    total = 0.0
    for item in range(n):
        higher, peers = int(above[item].sum()), int(tied[item].sum())
        right, right_peers = agreed[item, above[item]].sum(), agreed[item, tied[item]].sum()
        # u of the peers come to stand above the item, each u equally likely; at rank 1 there is no term
        u = np.arange(0 if higher else 1, peers + 1)
        total += ((right + right_peers * u / max(peers, 1)) / (higher + u)).sum() / (peers + 1)
    return float(2 * total / (n - 1) - 1)


def tau_ap_b(a: Floats, b: Floats) -> float:
    """AP correlation of two observers who both may tie, symmetric.

    One direction: over the items that are not in the first tie group, the mean of
    (items of higher groups that the other order also puts strictly above) / (items of higher groups), scaled
    to -1..1; then the mean of both directions. An order agrees with itself at 1 even with ties. A pair tied
    in the other order counts as not agreed, which is harsh on coarse scores. NaN where a side is all ties.
    Source: Urbano & Marrero, ICTIR 2017 (tau_AP,b).
    """
    a, b = _scores(a, b)
    return (_grouped_ap(a, b) + _grouped_ap(b, a)) / 2


def _grouped_ap(other: Floats, order: Floats) -> float:
    above = order > order[:, None]
    higher = above.sum(axis=1)
    agreed = (above & (other > other[:, None])).sum(axis=1)
    below_top = higher > 0
    if not below_top.any():
        return math.nan
    return float(2 * (agreed[below_top] / higher[below_top]).mean() - 1)


def _scores(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or len(a) < 2:
        raise TableError(f"two orders need the same items, two or more; there are {a.size} and {b.size} scores")
    return a, b


def rbo(a: Sequence[Hashable], b: Sequence[Hashable], *, p: float = 0.9) -> Overlap:
    """Rank-biased overlap of two lists without ties, of any lengths: (1-p)/p · Σ_d p^d · X_d/d.

    X_d is the number of items that the first d of both share. With s ≤ l items seen:
    low: unseen items match nothing, X_d = X_l beyond l. high: each unseen item matches where it can,
    X_d = min(d, X_d + (d-s)⁺ + (d-l)⁺). ext: agreement of the last depth goes on for ever, and the shorter
    list goes on agreeing as it did at depth s:
        (1-p)/p · [Σ_{d≤l} X_d/d·p^d + Σ_{s<d≤l} X_s(d-s)/(s·d)·p^d] + [(X_l - X_s)/l + X_s/s]·p^l
    `p` sets the depth of reading: the first 10 ranks carry 86 % of the weight at p = 0.9. ext is NaN where a
    list is empty. Source: Webber, Moffat & Zobel, ACM TOIS 28 (2010), eqs 11, 23, 32.
    """
    if not 0 < p < 1:
        raise TextError(f"the persistence of RBO lies between 0 and 1, not {p}", remedy="0.9 is usual")
    for items in (a, b):
        if len(set(items)) < len(items):
            raise TableError("RBO ranks an item once; a list holds the same item twice")
    s, l = sorted((len(a), len(b)))  # noqa: E741  the paper's letters
    overlap = _overlaps(a, b)
    seen = overlap[-1] if l else 0.0
    depth = np.arange(1, 2 * l + 2)  # past s + l - X_l both lists can agree in full
    weight = (1 - p) / p * p**depth / depth
    known = np.concatenate([overlap, np.full(len(depth) - l, seen)])
    spare = np.maximum(depth - s, 0) + np.maximum(depth - l, 0)
    beyond = -math.log1p(-p) * (1 - p) / p - weight.sum()  # Σ of the weights past the last depth here
    low = float((weight * known).sum() + seen * beyond)
    high = float((weight * np.minimum(depth, known + spare)).sum() + p ** int(depth[-1]))
    if s == 0:
        return Overlap(math.nan, low, high)
    short = overlap[s - 1]
    filled = overlap + short / s * np.maximum(depth[:l] - s, 0)
    ext = float((weight[:l] * filled).sum() + ((seen - short) / l + short / s) * p**l)
    return Overlap(ext, low, high)


def _overlaps(a: Sequence[Hashable], b: Sequence[Hashable]) -> Floats:
    """X_d for d = 1 … length of the longer list."""
    place = {item: depth for depth, item in enumerate(b)}
    met = [max(depth, place[item]) for depth, item in enumerate(a) if item in place]
    return np.bincount(met, minlength=max(len(a), len(b))).cumsum().astype(np.float64)
