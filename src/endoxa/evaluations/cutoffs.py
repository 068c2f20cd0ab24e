"""Precision, recall and F of the first k items, by the consensus of the systems and by folders, for k up to a depth.

The first study of Lamiroy and Sun: its Tables 4 and 5 have precision and recall by people at ten cut-offs, its Figures
1 and 2 set them beside those by consensus. F is that of Quénot: 2 · correct / (retrieved + relevant).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl

from endoxa.comparisons.chosen_intervals import OF_DIFFERENCES, OF_MEANS, Interval, intervals_over_queries
from endoxa.comparisons.orders import query_weights, tau_interval
from endoxa.comparisons.winners import CONFIDENCE, pairwise, resamples_for
from endoxa.errors import TextError
from endoxa.evaluations import consensus
from endoxa.evaluations.contest import CONSENSUS, FOLDERS
from endoxa.evaluations.settings import Settings
from endoxa.frozen import dataclass
from endoxa.images.corpus import Corpus, same_category
from endoxa.measures.evaluate import measure
from endoxa.measures.grammar import parse_all
from endoxa.policies import Policy
from endoxa.statistics.bootstrap import Means
from endoxa.tables import Floats, Opinions, Run

PRECISION, RECALL, F = "precision", "recall", "F"
MEASURES = {PRECISION: "GradedP", RECALL: "GradedR", F: "GradedF"}
DEEPEST = 10
HALF = 0.5 + 1e-9  # halves are rounded up, whatever the last bit of a sum
SHOWN = 5  # the cut-off that sentences speak about, where there is one
RESAMPLES = 1000  # of the queries, for the interval of tau


@dataclass(frozen=True)
class Cutoffs:
    """Two ways of judging at every cut-off.

    values  way, measure, k, system, value, lo, hi: means over the queries with 95 % intervals
    taus    measure, k, tau, lo, hi: Kendall's tau-b of the orders by the two ways; NaN where all values are tied
    turned  measure, k, system, other, and value, lo, hi of the difference by either way (`folders`, `consensus`): pairs
            that folders put in one order and consensus in the other, where both intervals exclude 0; the intervals of
            all pairs at a cut-off hold together
    alone   system, share, precision: of its first items, how many no other system returns, and how many of these
            share the folder of the query
    even    way, system, value, lo, hi: mean F at the cut-off of R-precision, which is the number of relevant items of
            each query (by consensus the expected number, rounded), so that precision, recall and F are one number
    even_tau   tau, lo, hi of the orders of these by the two ways
    """

    deepest: int
    queries: int
    values: pl.DataFrame
    taus: pl.DataFrame
    turned: pl.DataFrame
    alone: pl.DataFrame
    even: pl.DataFrame
    even_tau: tuple[float, float, float]

    @property
    def shown(self) -> int:
        """The cut-off that sentences speak about."""
        return min(SHOWN, self.deepest)


def cutoffs(run: Run, corpus: Corpus, queries: Sequence[str], *, deepest: int = DEEPEST, seed: int) -> Cutoffs | None:
    """Score the runs at cut-offs 1 to `deepest`; None without two systems, or without two queries with a mate.

    A system votes for its first `deepest` items at every cut-off, so that the consensus does not move along the curve.
    Precision is Σ P / k over the first k items, recall Σ P / Σ P of all items with a vote (Lamiroy and Sun, eqs 11 and
    12), F their harmonic mean on each query, averaged then; P is 0 or 1 by folders. Intervals are over queries and do
    not hold the doubt about the voters.
    Misleads: a consensus narrows differences, so that only the orders of the two ways can be compared.
    """
    if deepest < 1:
        raise TextError(f"cut-offs count from 1, not {deepest}")
    judgments = same_category(corpus, set(queries).intersection(run.frame["query"]))
    asked = judgments.frame["query"].unique().to_list()
    whole = Run(run.frame.filter(pl.col("query").is_in(asked)), run.ties)
    run = Run(run.frame.filter((pl.col("rank") <= deepest) & pl.col("query").is_in(asked)), run.ties)
    if len(run.systems) < 2 or len(asked) < 2:
        return None
    votes = consensus.belief(run, Settings(depth=deepest, seed=seed)).expected()
    scored = {FOLDERS: _scored(run, judgments, deepest), CONSENSUS: _scored(run, votes, deepest)}
    even = {FOLDERS: _even(whole, judgments), CONSENSUS: _even(whole, votes)}
    rng = np.random.default_rng(seed)
    return Cutoffs(
        deepest, len(asked), _values(run.systems, scored, rng), _taus(scored, rng), _turned(run.systems, scored, rng),
        _alone(run, judgments), *_balanced(run.systems, even, rng),
    )  # fmt: skip


def _even(run: Run, reference: Opinions) -> Floats:
    """F of every query at the number of its relevant items: [system, query]."""
    relevant = reference.frame.group_by("query").agg(pl.col("grade").clip(lower_bound=0).sum().alias("relevant"))
    counts = {query: max(1, math.floor(count + HALF)) for query, count in relevant.iter_rows()}
    queries = sorted(run.frame["query"].unique())
    values = np.full((len(run.systems), len(queries)), np.nan)
    for k in sorted(set(counts.values())):
        own = [query for query in queries if counts.get(query) == k]
        if not own:
            continue
        part = Run(run.frame.filter(pl.col("query").is_in(own)), run.ties)
        of = Opinions(reference.frame.filter(pl.col("query").is_in(own)))
        systems, asked, found = measure(part, of, parse_all([f"{MEASURES[F]}@{k}"]), Policy()).matrix(
            f"{MEASURES[F]}@{k}"
        )
        values[np.ix_([run.systems.index(one) for one in systems], [queries.index(one) for one in asked])] = found
    return values


def _balanced(
    systems: Sequence[str], even: dict[str, Floats], rng: np.random.Generator
) -> tuple[pl.DataFrame, tuple[float, float, float]]:
    """The means with intervals, and tau of the two orders."""
    rows = []
    for way, values in even.items():
        found = _intervals(values, 0.0, OF_MEANS, rng)
        rows += [
            (way, system, *map(float, ends))
            for system, *ends in zip(systems, found.mean, found.lo, found.hi, strict=True)
        ]
    one, other = even.values()
    tau = tau_interval(one, other, query_weights(one.shape[-1], RESAMPLES, rng))
    return pl.DataFrame(rows, schema=["way", "system", "value", "lo", "hi"], orient="row"), tau


def _scored(run: Run, reference: Opinions, deepest: int) -> Floats:
    """The value of every query: [measure, k, system, query]."""
    names = [[f"{name}@{k}" for k in range(1, deepest + 1)] for name in MEASURES.values()]
    scores = measure(run, reference, parse_all([name for row in names for name in row]), Policy())
    return np.array([[scores.matrix(name)[2] for name in row] for row in names])


def _values(systems: Sequence[str], scored: dict[str, Floats], rng: np.random.Generator) -> pl.DataFrame:
    parts = []
    for way, values in scored.items():
        found = _intervals(values, 0.0, OF_MEANS, rng)
        for at in np.ndindex(found.mean.shape):
            row, k, system = at
            ends = found.mean[at], found.lo[at], found.hi[at]
            parts.append((way, list(MEASURES)[row], k + 1, systems[system], *map(float, ends)))
    schema = ["way", "measure", "k", "system", "value", "lo", "hi"]
    return pl.DataFrame(parts, schema=schema, orient="row")


def _taus(scored: dict[str, Floats], rng: np.random.Generator) -> pl.DataFrame:
    """Tau of the means, and its interval over resamples of the queries, which are the same for both ways."""
    one, other = scored.values()
    weights = query_weights(one.shape[-1], RESAMPLES, rng)
    rows = [
        (name, k + 1, *tau_interval(one[row, k], other[row, k], weights))
        for row, name in enumerate(MEASURES)
        for k in range(one.shape[1])
    ]
    return pl.DataFrame(rows, schema=["measure", "k", "tau", "lo", "hi"], orient="row")


def _turned(systems: Sequence[str], scored: dict[str, Floats], rng: np.random.Generator) -> pl.DataFrame:
    pairs = list(combinations(range(len(systems)), 2))
    first, second = np.array(pairs).T
    ways = {
        way: _intervals(values[:, :, first] - values[:, :, second], -1.0, OF_DIFFERENCES, rng, pairwise(len(systems)))
        for way, values in scored.items()
    }
    truth, voted = ways[FOLDERS], ways[CONSENSUS]
    against = ((truth.lo > 0) & (voted.hi < 0)) | ((truth.hi < 0) & (voted.lo > 0))
    rows = []
    for at in zip(*np.nonzero(against), strict=True):
        row, k, pair = at
        better, worse = (systems[place] for place in pairs[pair])
        sign = 1 if truth.mean[at] > 0 else -1
        names = (better, worse) if sign > 0 else (worse, better)
        ends = [end for way in ways.values() for end in _signed(sign, way, at)]
        rows.append((list(MEASURES)[row], int(k) + 1, *names, *ends))
    numbers = [f"{way}{end}" for way in ways for end in ("", "_lo", "_hi")]
    schema = {"measure": pl.String, "k": pl.Int64, "system": pl.String, "other": pl.String}
    return pl.DataFrame(rows, schema=schema | dict.fromkeys(numbers, pl.Float64), orient="row")


def _signed(sign: int, found: Means, at: tuple[int, ...]) -> tuple[float, float, float]:
    """Mean and ends of a difference, or of the difference the other way round."""
    low, high = float(found.lo[at]), float(found.hi[at])
    return sign * float(found.mean[at]), *((low, high) if sign > 0 else (-high, -low))


def _intervals(
    values: Floats, low: float, interval: Interval, rng: np.random.Generator, confidence: float = CONFIDENCE
) -> Means:
    """Intervals of values between `low` and 1."""
    resamples = resamples_for(values.shape[-1], confidence)
    return intervals_over_queries(
        values, low, 1.0, interval=interval, confidence=confidence, resamples=resamples, rng=rng
    )


def _alone(run: Run, judgments: Opinions) -> pl.DataFrame:
    """Of the items of each system, those that no other system has."""
    pairs = judgments.frame.select("query", "item", pl.lit(1.0).alias("hit"))
    rows = run.frame.with_columns((pl.len().over("query", "item") == 1).alias("alone"))
    rows = rows.join(pairs, on=["query", "item"], how="left").with_columns(pl.col("hit").fill_null(0.0))
    found = rows.group_by("system", maintain_order=True).agg(
        pl.col("alone").mean().alias("share"), pl.col("hit").filter(pl.col("alone")).mean().alias("precision")
    )
    return found.sort("share", "system", descending=[True, False])
