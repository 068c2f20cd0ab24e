"""How far a collection can tell systems apart: swap rates, discriminative power, queries needed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TextError
from endoxa.frozen import dataclass
from endoxa.policies import refuse_outside
from endoxa.statistics.bootstrap import BLOCK, RESAMPLES, TINY, blocks
from endoxa.statistics.randomisation import tukey_ranges
from endoxa.tables import Floats, Scores

EDGES = (*(step / 100 for step in range(11)), math.inf)


@dataclass(frozen=True)
class SwapRates:
    """How often two halves of the queries order two systems differently.

    `by_size`: size, rate, comparisons. `by_difference`: size, at_least, below, rate, comparisons, where the
    difference is the one seen in the first half; rate is NaN where no comparison fell.
    """

    by_size: pl.DataFrame
    by_difference: pl.DataFrame


@dataclass(frozen=True)
class DiscriminativePower:
    """Share of the pairs that differ significantly, and the difference that a pair must exceed for it."""

    share: float
    significant: int
    pairs: int
    needed: float
    alpha: float
    queries: int


def swap_rates(
    scores: Scores, measure: str, *, sizes: Sequence[int], splits: int = 1_000, edges: Sequence[float] = EDGES,
    rng: np.random.Generator,
) -> SwapRates:  # fmt: skip
    """Draw `splits` pairs of disjoint query sets of each size; share of system pairs whose order differs.

    A tie in either half counts ½. Only queries that every system has take part. Sizes reach half of the
    queries at most; rates at the full number must be extrapolated and are then a guess. Splits overlap, so
    the rates are smoother than they are certain.
    Source: Voorhees & Buckley, SIGIR 2002.
    """
    values = _complete(scores, measure)
    systems, queries = values.shape
    left, right = np.triu_indices(systems, 1)
    bounds = np.asarray(edges, dtype=np.float64)
    if len(bounds) < 2 or (np.diff(bounds) <= 0).any():
        raise TextError("edges of the bins must rise: 0, 0.01, 0.02, …")
    by_size, by_difference = [], []
    for size in sizes:
        if not 1 <= size <= queries // 2:
            raise TextError(
                f"two halves of {size} need {2 * size} queries",
                remedy=f"{queries} have a value for every system: choose sizes from 1 to {queries // 2}",
            )
        swaps, counts = np.zeros(len(bounds) + 1), np.zeros(len(bounds) + 1, dtype=np.int64)
        for block in blocks(splits, BLOCK // max(len(left), queries)):
            first, second = _halves(values, size, block.stop - block.start, rng)
            one, two = first[left] - first[right], second[left] - second[right]
            swapped = (1 - np.sign(_settled(one, values)) * np.sign(_settled(two, values))) / 2
            bins = np.searchsorted(bounds, np.abs(one).ravel() + TINY, side="right")
            counts += np.bincount(bins, minlength=len(counts))
            swaps += np.bincount(bins, weights=swapped.ravel(), minlength=len(counts))
        by_size.append((size, swaps.sum() / counts.sum(), int(counts.sum())))
        with np.errstate(invalid="ignore"):
            rates = swaps / counts
        by_difference += [(size, bounds[k - 1], bounds[k], rates[k], int(counts[k])) for k in range(1, len(bounds))]
    return SwapRates(
        pl.DataFrame(by_size, schema={"size": pl.Int64, "rate": pl.Float64, "comparisons": pl.Int64}, orient="row"),
        pl.DataFrame(
            by_difference,
            schema={
                "size": pl.Int64, "at_least": pl.Float64, "below": pl.Float64, "rate": pl.Float64,
                "comparisons": pl.Int64,
            },
            orient="row",
        ),
    )  # fmt: skip


def discriminative_power(
    scores: Scores, measure: str, *, alpha: float = 0.05, resamples: int = RESAMPLES, rng: np.random.Generator
) -> DiscriminativePower:
    """Share of the pairs of systems that the randomised Tukey test calls different at `alpha`.

    `needed` is the largest difference that is not yet significant: the same for all pairs. A property of
    these systems on these queries: the same measure discriminates more among systems that differ more, and
    one that discriminates well may still measure the wrong thing.
    Source: Sakai, SIGIR 2006; Carterette, ACM TOIS 30 (2012).
    """
    refuse_outside("alpha", alpha, 0.05)
    allowed = math.floor(alpha * (resamples + 1) + 1e-9) - 1  # ranges that may reach a significant difference
    if allowed < 0:
        raise TextError(
            f"alpha {alpha} with {resamples} permutations is out of reach", remedy=f"take {1 / alpha:.0f} or more"
        )
    values = _complete(scores, measure)
    left, right = np.triu_indices(len(values), 1)
    ranges = np.sort(tukey_ranges(values, resamples=resamples, rng=rng))
    needed = float(ranges[-1 - allowed])
    means = values.mean(axis=1)
    significant = int((np.abs(means[left] - means[right]) > needed + TINY * np.abs(values).max()).sum())
    return DiscriminativePower(significant / len(left), significant, len(left), needed, alpha, values.shape[1])


def queries_needed(delta: float, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Fewest queries with which a two-sided paired t test finds a true mean difference `delta`.

    The smallest n with Pr(|T| > t_{1-α/2, n-1}) ≥ power, T noncentral t with n-1 degrees of freedom and
    noncentrality delta·√n/sd. `sd` is the deviation of the per-query differences: taken from a pilot it is
    uncertain, and n grows with its square. A delta seen in the same pilot is as a rule too large.
    """
    if delta == 0 or not math.isfinite(delta) or not sd >= 0:
        raise TextError(f"delta must differ from 0 and sd be 0 or more, not {delta} and {sd}")
    if not (0 < alpha < 1 and alpha < power < 1):
        raise TextError(f"0 < alpha < power < 1 is expected, not alpha {alpha} and power {power}")
    if sd == 0:
        return 2
    enough = 2
    while _power(enough, abs(delta) / sd, alpha) < power:
        enough *= 2
    short = enough // 2
    while enough - short > 1:
        middle = (short + enough) // 2
        short, enough = (short, middle) if _power(middle, abs(delta) / sd, alpha) >= power else (middle, enough)
    return enough


def of_scores(scores: Scores, seed: int = 0) -> pl.DataFrame | None:
    """For every measure: swap rate between halves, share of pairs that differ, queries needed to see 0.05.

    None where no measure has values on four queries.
    """
    rows = []
    for name in scores.measures:
        systems, queries, values = scores.matrix(name)
        half = len(queries) // 2
        if half < 2:
            continue
        rng = np.random.default_rng(seed)
        swaps = swap_rates(scores, name, sizes=[half], rng=rng).by_size
        found = discriminative_power(scores, name, rng=rng)
        i, j = np.triu_indices(len(systems), 1)
        spread = float(np.median(np.nanstd(values[i] - values[j], axis=1, ddof=1)))
        needed = queries_needed(0.05, spread) if spread > 0 else None
        rows.append((name, swaps["rate"][0], half, found.share, found.needed, needed))
    names = ["measure", "swap rate", "at queries", "pairs that differ", "by a difference of", "queries to see 0.05"]
    return pl.DataFrame(rows, schema=names, orient="row") if rows else None


def _power(n: int, effect: float, alpha: float) -> float:
    from scipy import special

    critical = special.stdtrit(n - 1, 1 - alpha / 2)
    away = effect * math.sqrt(n)
    return float(1 - special.nctdtr(n - 1, away, critical) + special.nctdtr(n - 1, away, -critical))


def _complete(scores: Scores, measure: str) -> Floats:
    """[system, query] of the queries that every system has."""
    systems, _, values = scores.matrix(measure)
    values = values[:, ~np.isnan(values).any(axis=0)]
    if len(systems) < 2 or values.shape[1] < 2:
        raise JoinError(
            f"{len(systems)} systems share {values.shape[1]} queries with a value of {measure}",
            remedy="two of each are needed",
        )
    return values


def _halves(values: Floats, size: int, splits: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Means of every system over two disjoint random sets of queries: [system, split], twice."""
    queries = values.shape[1]
    order = rng.permuted(np.tile(np.arange(queries), (splits, 1)), axis=1)
    member = np.zeros((2, splits, queries))
    np.put_along_axis(member[0], order[:, :size], 1 / size, axis=1)
    np.put_along_axis(member[1], order[:, size : 2 * size], 1 / size, axis=1)
    return values @ member[0].T, values @ member[1].T


def _settled(difference: Floats, values: Floats) -> Floats:
    """Differences with rounding taken off, so that ties are seen."""
    return np.where(np.abs(difference) <= TINY * np.abs(values).max(), 0, difference)
