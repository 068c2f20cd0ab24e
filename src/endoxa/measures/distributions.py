"""Exact distributions of measures where relevance is a probability, for one list and for two lists.

Items are relevant independently of one another, each with its own p. If one person's reading decides many items at
once, the means stay right for counts and precision, but the spreads do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from endoxa.errors import TableError, TextError
from endoxa.frozen import dataclass
from endoxa.later import np
from endoxa.measures.lists import CELLS
from endoxa.policies import refuse_choice, refuse_outside
from endoxa.statistics.poisson_binomial import convolve, pmf, probabilities
from endoxa.tables import Floats, Ints

Mode = Literal["pmf", "as_printed"]
Size = Literal["random", "expected"]

TINY = 1e-12  # values that differ by less are the same value, apart from rounding; so are probabilities
DIRECT = 1 << 27  # products that are added up one by one; beyond, Fourier transforms


@dataclass(frozen=True, eq=False)
class Distribution:
    """The possible values of a measure, and their probabilities.

    values     ascending
    mass       Pr(M = value); the masses sum to 1 - undefined (except with `as_printed`)
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
            raise TableError(
                "the values of a distribution must be numbers that ascend", remedy="sort them and join equal ones"
            )
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

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Central interval, given that the measure is defined.

        Formula: the greatest value lo with Pr(M < lo) ≤ (1 - confidence)/2 and the least hi with Pr(M > hi) no
        greater. The measure moves in steps, so [lo, hi] holds at least `confidence`, often more.
        Misleads: it covers doubt about which items are relevant, not about other queries or other judges.
        """
        refuse_outside("confidence", confidence)
        if not self.total > 0:
            return math.nan, math.nan
        share = (1 - confidence) / 2 * self.total + TINY
        below = np.cumsum(self.mass) - self.mass
        above = np.cumsum(self.mass[::-1])[::-1] - self.mass
        return float(self.values[below <= share][-1]), float(self.values[above <= share][0])


def nothing() -> Distribution:
    """Of a measure that is never defined."""
    return Distribution(np.empty(0), np.empty(0), 1.0)


# ---- one list


def precision(p: Floats, n: int | None = None, mode: Mode = "pmf") -> Distribution:
    """Share of n retrieved items that are relevant; p holds their probabilities.

    Formula: Pr(P = k/n) = Pr(K = k), K Poisson-binomial. Without n it is the number of p; a greater n fills a
    short list with misses, as P@n does. Undefined for n = 0.
    mode="as_printed" divides the masses by n, as the source prints them. They then sum to 1/n: no distribution.
    Source: Santini, eq. 10 and 11 (erratum A-E8).
    """
    refuse_choice("mode", mode, get_args(Mode))
    p = one_list(p)
    n = _size(n, p)
    if n == 0:
        return nothing()
    mass = pmf(p)
    return Distribution(np.arange(len(p) + 1) / n, mass / n if mode == "as_printed" else mass)


def recall(p_retrieved: Floats, p_rest: Floats, size: Size = "random") -> Distribution:
    """Share of the relevant items that were retrieved; `p_rest` holds the p of the items that were not.

    Formula: size="random": R = K/(K + M), K and M the numbers of relevant items retrieved and not; undefined
    where K = M = 0. size="expected": R = K/Σp, the expected size of the category in place of the true one.
    Misleads: with the expected size the value may exceed 1, and its mean is a ratio of expectations.
    Source: Santini, eq. 12 (errata A-E9, A-E10); the mean by expected size is Lamiroy & Sun's recall.
    """
    refuse_choice("size", size, get_args(Size))
    p, rest = one_list(p_retrieved, "p_retrieved"), one_list(p_rest, "p_rest")
    if size == "random":
        return _by_counts(p, rest, lambda hits, missed: hits / (hits + missed), 0.0)
    expected = float(p.sum() + rest.sum())
    return Distribution(np.arange(len(p) + 1) / expected, pmf(p)) if expected > 0 else nothing()


def f(p_retrieved: Floats, p_rest: Floats, beta: float = 1.0, n: int | None = None) -> Distribution:
    """F of the retrieved items; n is the length of the list, by default the number of `p_retrieved`.

    Formula: F = (1 + beta²) K / (beta² T + n), T = K + M relevant in all; undefined where T = 0.
    """
    p, rest = one_list(p_retrieved, "p_retrieved"), one_list(p_rest, "p_rest")
    n, weight = _size(n, p), squared(beta)
    if n == 0 and weight == 0:  # beta = 0 is precision, which an empty list has not
        return nothing()
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


def sum_over_queries(ps: Sequence[Floats], k: int) -> Distribution:
    """Mean P@k over queries, from the p of each query's items in rank order; the first k of each count.

    Formula: mean P@k = K/(Qk), K Poisson-binomial over the items of all Q queries together.
    Misleads: it says how sure the mean is for these queries; other queries are another doubt.
    """
    if k < 1:
        raise TextError(f"a cut-off counts from 1, not {k}")
    if not len(ps):
        return nothing()
    items = np.concatenate([one_list(p)[:k] for p in ps])
    return Distribution(np.arange(len(items) + 1) / (len(ps) * k), pmf(items))


def precision_difference(common: Floats, a_only: Floats, b_only: Floats) -> Distribution:
    """Precision of A minus precision of B, from the p of the items both retrieved, only A, only B.

    Formula: P_A - P_B = K_C (1/n_A - 1/n_B) + K_A'/n_A - K_B'/n_B, the three counts Poisson-binomial and
    independent, on the lattice 1/lcm(n_A, n_B). Undefined for an empty list.
    Source: docs/methods/comparisons.md, Superiority.
    """
    parts = [one_list(common, "common"), one_list(a_only, "a_only"), one_list(b_only, "b_only")]
    both, a, b = (len(part) for part in parts)
    n_a, n_b = both + a, both + b
    if n_a == 0 or n_b == 0:
        return nothing()
    lattice = math.lcm(n_a, n_b)
    steps = [lattice // n_a - lattice // n_b, lattice // n_a, -(lattice // n_b)]
    moving = [(part, step) for part, step in zip(parts, steps, strict=True) if step and len(part)]
    if not moving:
        return Distribution(np.zeros(1), np.ones(1))
    step = math.gcd(*(one for _, one in moving))
    mass = np.ones(1)
    for part, one in moving:
        mass = _plus(mass, pmf(part) if one > 0 else pmf(part)[::-1], abs(one) // step)
    least = sum(len(part) * one for part, one in moving if one < 0)
    values = (least + step * np.arange(len(mass))) / lattice
    return Distribution(values[mass > 0], mass[mass > 0])


def _plus(mass: Floats, count: Floats, step: int) -> Floats:
    """Masses of X + step · K, from the masses of X and K."""
    width = (len(count) - 1) * step + 1
    if step > 1 and len(count) * len(mass) <= DIRECT:  # positive terms only, and no products with the gaps
        total = np.zeros(len(mass) + width - 1)
        for place, one in enumerate(count.tolist()):
            total[place * step : place * step + len(mass)] += one * mass
        return total
    apart = np.zeros(width)
    apart[::step] = count
    return convolve(mass, apart)


def count_difference(first: Floats, second: Floats) -> Distribution:
    """How many more relevant items A has than B, from the p of the items that only A and only B retrieved.

    Formula: Pr(K_A - K_B = d) = Σ_j Pr(K_A = j + d) Pr(K_B = j), both counts Poisson-binomial and independent.
    """
    left, right = pmf(one_list(first, "a_only")), pmf(one_list(second, "b_only"))
    return Distribution(np.arange(len(left) + len(right) - 1.0) - (len(right) - 1), convolve(left, right[::-1]))


def mixture(distributions: Sequence[Distribution], weights: Floats, as_printed: bool = False) -> Distribution:
    """One distribution for several readings of a query, each with its weight.

    Formula: mass(x) = Σ weight · mass of x under the reading, on the union of the supports; so is undefined.
    Weights are those of readings that exclude one another and sum to 1. as_printed=True takes any weights from 0
    up, and what comes out sums to whatever they sum to.
    Source: Santini, eq. 13 and 14 (errata A-E11 to A-E13).
    """
    weighted = list(zip(mixture_weights(len(distributions), weights, any_sum=as_printed), distributions, strict=True))
    values = np.concatenate([one.values for one in distributions])
    mass = np.concatenate([weight * one.mass for weight, one in weighted])
    return gathered(values, mass, float(sum(weight * one.undefined for weight, one in weighted)))


def mixture_weights(count: int, weights: Floats, *, any_sum: bool = False) -> Floats:
    """The weights of `count` readings, once checked: as many, none negative, with sum 1."""
    share = np.asarray(weights, dtype=np.float64)
    if count == 0 or share.shape != (count,):
        raise TableError(f"a mixture needs a weight for each reading; {count} readings, {share.size} weights")
    if not (np.isfinite(share).all() and (share >= 0).all()):
        raise TableError("the weights of a mixture must be numbers from 0 up; one is negative or NaN")
    if not any_sum and abs(share.sum() - 1) > 1e-9:
        raise TableError(
            f"the weights of a mixture sum to {share.sum():g}, expected 1",
            remedy="take the readings that were directly assigned, or divide by the sum",
        )
    return share


def _by_counts(p: Floats, rest: Floats, value: Callable[[Floats, Floats], Floats], near: float) -> Distribution:
    """Distribution of a function of how many relevant items were retrieved and how many were not."""
    found, missed = pmf(p), pmf(rest)
    if len(found) * len(missed) > CELLS:
        raise TableError(
            f"{len(p)} retrieved and {len(rest)} other items have too many outcomes to list",
            remedy="take mean and spread from expectation(…), or draw worlds",
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
            f"{what} is NaN at place {int(np.isnan(row).argmax())}",
            remedy="leave out an item that nobody has an opinion on, or give it a probability",
        )
    return row


def _ranked(p: Floats, rank: Ints | None) -> tuple[Floats, Ints]:
    """The probabilities and the ranks of the items: 1, 2, … unless given."""
    if rank is None:
        return p, np.arange(1, len(p) + 1)
    rank = np.asarray(rank)
    if rank.shape != p.shape or (rank < 1).any() or (np.diff(rank) < 1).any():
        raise TableError(
            f"rank must hold one rank from 1 up for each of the {len(p)} items, ascending", remedy="sort both by it"
        )
    return p, rank


def _size(n: int | None, p: Floats) -> int:
    """The length of the list: at least the number of its items that have a p."""
    if n is not None and n < len(p):
        raise TableError(f"a list of n = {n} cannot hold {len(p)} items", remedy=f"give the p of the first {n} only")
    return len(p) if n is None else n


def squared(beta: float) -> float:
    """beta², once beta is known to be a number."""
    if not math.isfinite(beta):
        raise TextError(f"beta must be a number, not {beta}", remedy="1 weighs precision and recall alike")
    return beta * beta
