"""Estimates for whole lists from sampled pairs: precision, recall and mean rating, weighted by propensity."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TableError, TextError
from endoxa.frozen import dataclass
from endoxa.policies import refuse_outside
from endoxa.statistics import propensity
from endoxa.statistics.propensity import LEAST, effective
from endoxa.studies.grades import GIVEN
from endoxa.studies.sampling import lists_of
from endoxa.tables import COUNTED, Bools, Floats, Ints, Opinions, Run

CUTOFFS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
LEVELS = 11  # recall levels of the interpolated curve: 0, 0.1, … 1
FLAT = 1e-9  # a band that is no wider has no width
FEW = 10  # with fewer queries, bands over queries are too narrow


@dataclass(frozen=True, eq=False)
class Curves:
    """Estimated precision and recall of every system.

    points        system, cutoff, precision, precision_lo, precision_hi (Hájek), horvitz_thompson,
                  horvitz_thompson_lo, horvitz_thompson_hi (precision by that estimate), recall, recall_lo, recall_hi,
                  rating, rating_lo, rating_hi (mean rating of the first, Hájek), sampled (pairs), effective,
                  effective_relevant (effective sample sizes; the latter for recall)
    interpolated  system, recall, precision: the highest precision at any cut-off with at least this recall
    refused       number of points without a band of precision, because their effective sample size is below 30
    """

    points: pl.DataFrame
    interpolated: pl.DataFrame
    refused: int
    threshold: float
    confidence: float
    notes: tuple[str, ...] = ()


def weights(opinions: Opinions, *, shares: Mapping[int, float] | None = None) -> pl.DataFrame:
    """The asked pairs with their weights: query, item, rating, round, propensity, weight.

    rating is the mean of the answers, null where all are undecided. In a single round, weight = 1/pi. With several
    rounds, each draws from the pairs that earlier ones did not ask. The estimate of round b is what is known before it
    plus its own Horvitz–Thompson total, and the estimates are averaged with shares w_b (of the planned pairs):
        weight of a pair of round b = w_b/pi_b + Σ_{b' > b} w_b'
    The round is the `draw` of adaptive pairs, otherwise it is 1. The estimate is unbiased if the shares are fixed
    beforehand: give `shares` as {round: planned pairs}. Without them, the asked pairs are counted.
    Left out are answers to practice, gold and attention tasks, and common ones without a propensity. Pairs of a pool
    (selected_by is `pool`) without a propensity get 1; other pairs without one are refused.
    Source: docs/methods/studies.md, Estimated curves; tests/studies/test_estimates.py proves the combination of rounds.
    """
    pi = pl.col("propensity")
    pooled = pl.col("selected_by").eq_missing("pool")
    rows = opinions.frame.filter(COUNTED).with_columns(
        pl.when(GIVEN).then("grade").alias("grade"),
        pl.when(pi.is_null() & pooled).then(1.0).otherwise(pi).alias("propensity"),
    )
    rows = rows.filter(pi.is_not_null() | pl.col("role").ne_missing("common"))
    if (bare := rows.filter(pi.is_null())).height:
        raise TableError(
            f"{bare.height:,} answers have no propensity (the first: item {bare['item'][0]!r} of query "
            f"{bare['query'][0]!r})",
            remedy="a pair cannot be weighted without it: plan the study with endoxa, or select pairs by pool",
        )
    pairs = rows.group_by("query", "item", maintain_order=True).agg(
        pl.col("grade").mean().alias("rating"),
        pl.when(pl.col("selected_by") == "adaptive").then("draw").fill_null(1).max().alias("round"),
        pi.min(),
        (pi.max() - pi.min() > 1e-9).alias("torn"),
    )
    if (torn := pairs.filter("torn")).height:
        raise TableError(
            f"item {torn['item'][0]!r} of query {torn['query'][0]!r} has answers with different propensities",
            remedy="a pair is chosen only once, with one propensity",
        )
    rounds = sorted(pairs["round"].unique())
    counted = dict(pairs.group_by("round").len().iter_rows()) if shares is None else dict(shares)
    if lacking := [number for number in rounds if not counted.get(number, 0) > 0]:
        raise TextError(f"round {lacking[0]} has answers but no planned pairs; the shares have {sorted(counted)}")
    whole = sum(counted.values())
    own = pl.col("round").replace_strict({b: n / whole for b, n in counted.items()}, return_dtype=pl.Float64)
    after = {b: sum(n for later, n in counted.items() if later > b) / whole for b in rounds}
    later = pl.col("round").replace_strict(after, return_dtype=pl.Float64)
    return pairs.with_columns((own / pi + later).alias("weight")).drop("torn")


def curves(
    run: Run, opinions: Opinions, *, threshold: float, cutoffs: Sequence[int] | None = None,
    queries: Iterable[str] | None = None, resamples: int = 500, confidence: float = 0.95,
    shares: Mapping[int, float] | None = None, rng: np.random.Generator,
) -> Curves:  # fmt: skip
    """Precision and recall of whole lists, estimated from the asked pairs.

    For system t and cut-off M, with w = 1/pi and relevant = mean rating above `threshold` (strictly):
        Y_M = Σ_{asked, rank_t <= M} w [relevant]    N_M = Σ_{asked, rank_t <= M} w    Y = Σ_{asked} w [relevant]
        precision Y_M / N_M (Hájek), horvitz_thompson Y_M / (Q·M), recall Y_M / Y
    `queries` are the queries of the plan (by default all of the run); Q is their number. A point is undefined (NaN) if
    no pair within M was asked. Bands are percentiles over resampled queries; there is none if the effective sample size
    is below 30 (within M for precision, of the relevant pairs for recall), only one query has answers, or all
    resamples are alike.
    Misleads: recall refers to the universe from which pairs were drawn; a deeper cut-off counts items that could not be
    asked. Lists shorter than M and undecided pairs lower horvitz_thompson, but not the Hájek precision. Interpolated
    precision is the maximum of noisy values, hence optimistic.
    Source: Barnard et al.; docs/methods/studies.md, Estimated curves.
    """
    refuse_outside("confidence", confidence)
    if resamples * (1 - confidence) < 2 - 1e-9:
        raise TextError(
            f"{resamples} resamples are too few for confidence {confidence}",
            remedy=f"use {2 / (1 - confidence):.0f} or more",
        )
    lists, pairs, number, notes = _faced(run, opinions, queries, shares)
    ks = _cutoffs(cutoffs, lists)
    names = run.systems
    asked = sorted(pairs["query"].unique())
    Q = len(asked)
    relevant = (pairs["rating"] > threshold).to_numpy().astype(np.float64)
    w = pairs["weight"].to_numpy()
    at_query = _numbers(pairs["query"], asked)
    everything = np.asarray(np.bincount(at_query, weights=w * relevant, minlength=Q), dtype=np.float64)
    met = lists.filter(pl.col("rank") <= ks[-1]).join(
        pairs.select("query", "item", "weight", "rating"), on=["query", "item"], how="inner"
    )
    cell = (_numbers(met["system"], names) * Q + _numbers(met["query"], asked)) * len(ks) + np.searchsorted(
        ks, met["rank"].to_numpy()
    )
    weight, rating = met["weight"].to_numpy(), met["rating"].to_numpy()

    def summed(values: Floats) -> Floats:
        """Sums by [system, query, cut-off] over the ranks within the cut-off."""
        counts = np.bincount(cell, weights=values, minlength=len(names) * Q * len(ks))
        return np.asarray(counts.reshape(len(names), Q, len(ks)).cumsum(axis=2))

    N, Y, X = summed(weight), summed(weight * (rating > threshold)), summed(weight * rating)
    sampled = summed(np.ones_like(weight)).sum(axis=1)
    squares = summed(weight**2).sum(axis=1)
    size = np.where(sampled > 0, N.sum(axis=1) ** 2 / np.where(sampled > 0, squares, 1), 0.0)
    relevant_size = effective(w[relevant > 0])
    draws = rng.multinomial(Q, np.full(Q, 1 / Q), size=resamples).astype(np.float64)
    tables = []
    for s, name in enumerate(names):
        found = _ratios(np.ones((1, Q)), N[s], Y[s], X[s], everything, number * ks)
        spread = _ratios(draws, N[s], Y[s], X[s], everything, number * ks)
        columns: dict[str, object] = {"system": [name] * len(ks), "cutoff": ks}
        for what, values in found.items():
            enough: Bools = (size[s] >= LEAST) if what != "recall" else np.full(len(ks), relevant_size >= LEAST)
            lo, hi = _band(spread[what], enough & ~np.isnan(values[0]) & (Q > 1), confidence)
            columns |= {what: values[0], f"{what}_lo": lo, f"{what}_hi": hi}
        columns |= {"sampled": sampled[s].astype(np.int64), "effective": size[s]}
        tables.append(pl.DataFrame(columns | {"effective_relevant": np.full(len(ks), relevant_size)}))
    points = pl.concat(tables)
    refused = int(((sampled > 0) & (size < LEAST)).sum())
    if refused:
        notes.append(f"{refused:,} points have an effective sample size below {LEAST}: they have a value but no band")
    if relevant_size < LEAST:
        notes.append(f"recall has no bands: the relevant pairs have an effective sample size of {relevant_size:.1f}")
    if Q < FEW:
        notes.append(f"with only {Q} queries the bands are too narrow (simulated 95 % bands: 78 % with 4, 85 % with 8)")
    ranks_of = [lists.filter(pl.col("system") == name)["rank"].to_numpy() for name in names]
    returned = np.array([(ranks[:, None] <= ks).sum(axis=0) for ranks in ranks_of])
    thin = (sampled > 0) & (size >= LEAST) & (N.sum(axis=1) < 0.6 * returned)
    if thin.any():
        deep = int(ks[np.flatnonzero(thin.any(axis=0))[0]])
        notes.append(
            f"from cut-off {deep} on, the asked pairs represent less than 60 % of the results: the others could not be "
            "drawn (perhaps because of the planned depth), and the figures cover only the part that could"
        )
    if not (sampled > 0).all():
        notes.append(f"{int((sampled == 0).sum()):,} points are undefined: no pair within the cut-off was asked")
    deepest = dict(lists.group_by("system").agg(pl.col("rank").max()).iter_rows())
    whole = [name for name in names if deepest.get(name, 0) <= ks[-1]]
    return Curves(points, _interpolated(points, whole), refused, threshold, confidence, tuple(notes))


def ratings(
    run: Run, opinions: Opinions, k: int | None = None, *, queries: Iterable[str] | None = None,
    confidence: float = 0.95, shares: Mapping[int, float] | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Mean rating of the first k results of every system (by default of all), weighted by propensity.

    Columns: system, rating, se, lo, hi, effective, share, sampled, queries, refused. A Hájek mean with a linearised
    variance, queries as clusters, and Student's t. Below an effective sample size of 30 there is no interval, and
    `refused` gives the reason.
    Source: docs/methods/studies.md, Propensity.
    """
    if k is not None and k < 1:
        raise TextError(f"k is at least 1, not {k}")
    lists, pairs, _, _ = _faced(run, opinions, queries, shares)
    within = lists if k is None else lists.filter(pl.col("rank") <= k)
    met = within.join(pairs, on=["query", "item"], how="inner")
    rows = []
    for name in run.systems:
        mine = met.filter(pl.col("system") == name)
        estimate = propensity.mean(
            mine["rating"].to_numpy(), mine["weight"].to_numpy(),
            mine["query"].rank("dense").to_numpy() if mine.height else [], confidence=confidence,
        )  # fmt: skip
        rows.append({"system": name, **asdict(estimate)})
    names = {"value": "rating", "n": "sampled", "clusters": "queries"}
    return pl.DataFrame(rows).rename(names)


def _faced(
    run: Run, opinions: Opinions, queries: Iterable[str] | None, shares: Mapping[int, float] | None
) -> tuple[pl.DataFrame, pl.DataFrame, int, list[str]]:
    """The lists and the answered pairs of the study's queries, the number of these queries, and notes."""
    lists = lists_of(run, queries)
    every = weights(opinions, shares=shares)
    here = every.join(lists.select("query").unique(), on="query", how="semi")
    pairs = here.filter(pl.col("rating").is_not_null())
    if not pairs.height:
        raise JoinError(
            f"none of the {every.height:,} asked pairs has an answer and a query of this run",
            remedy="do the study and the run belong together?",
        )
    notes = []
    if here.height < every.height:
        notes.append(f"{every.height - here.height:,} pairs belong to queries that are not used here")
    if pairs.height < here.height:
        notes.append(f"{here.height - pairs.height:,} undecided pairs are left out")
    return lists, pairs, lists["query"].n_unique(), notes


def _numbers(column: pl.Series, names: list[str]) -> Ints:
    """The index of each name in the names."""
    return column.replace_strict(names, list(range(len(names))), return_dtype=pl.Int64).to_numpy()


def _cutoffs(cutoffs: Sequence[int] | None, lists: pl.DataFrame) -> Ints:
    """Cut-offs in ascending order; by default 1, 2, 3, 5, 10, … and the depth of the longest list."""
    deepest = int(lists["rank"].to_numpy().max(initial=1))
    if cutoffs is None:
        return np.array([k for k in CUTOFFS if k < deepest] + [deepest])
    ranks = np.unique(np.asarray(cutoffs, dtype=np.int64))
    if not len(ranks) or ranks[0] < 1:
        raise TextError(f"cut-offs are ranks of at least 1, and there is at least one; not {list(cutoffs)}")
    return ranks


def _ratios(draws: Floats, N: Floats, Y: Floats, X: Floats, everything: Floats, slots: Ints) -> dict[str, Floats]:
    """The four ratios of each resample and cut-off, NaN where undefined. `draws` is [resample, query]."""
    n, y, x, whole = draws @ N, draws @ Y, draws @ X, (draws @ everything)[:, None]
    defined = n > 0
    below, all_of_it = np.where(defined, n, 1), np.where(whole > 0, whole, 1)
    return {
        "precision": np.where(defined, y / below, np.nan),
        "horvitz_thompson": np.where(defined, y / slots, np.nan),
        "recall": np.where(defined & (whole > 0), y / all_of_it, np.nan),
        "rating": np.where(defined, x / below, np.nan),
    }


def _band(spread: Floats, wanted: Bools, confidence: float) -> tuple[Floats, Floats]:
    """Percentiles over the defined resamples of wanted columns; NaN elsewhere, and where resamples are all alike."""
    ends = np.full((2, spread.shape[1]), np.nan)
    wanted = wanted & ~np.isnan(spread).all(axis=0)
    if wanted.any():
        ends[:, wanted] = np.nanquantile(spread[:, wanted], [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    ends[:, ends[1] - ends[0] <= FLAT] = np.nan  # resamples that cannot differ say nothing about other queries
    return ends[0], ends[1]


def _interpolated(points: pl.DataFrame, whole: list[str]) -> pl.DataFrame:
    """The highest precision at any cut-off with at least each recall level.

    A recall level that is not reached has precision 0 if the cut-offs cover the whole list, otherwise NaN.
    """
    levels = np.linspace(0, 1, LEVELS)
    tables = []
    for (name,), rows in points.group_by("system", maintain_order=True):
        defined = rows.filter(pl.col("recall").is_not_nan() & pl.col("precision").is_not_nan())
        recall, precision = defined["recall"].to_numpy(), defined["precision"].to_numpy()
        reached = recall[None, :] >= levels[:, None] - 1e-9
        missed = 0.0 if len(recall) and name in whole else math.nan
        best = np.where(reached, precision[None, :], -np.inf).max(axis=1, initial=-np.inf)
        values = np.where(reached.any(axis=1), best, missed)
        tables.append(pl.DataFrame({"system": [name] * LEVELS, "recall": levels, "precision": values}))
    return pl.concat(tables)
