"""Selection bias: does a system do better on the pairs that it chose itself?"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from itertools import permutations
from typing import Literal

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TableError
from endoxa.frozen import dataclass
from endoxa.statistics.bootstrap import BLOCK, TINY, blocks
from endoxa.studies.score_mapping import rated, refuse_settings, signals
from endoxa.tables import Floats, Ints, Opinions, Run

EXACT = 7  # up to this number of systems, every permutation is tried
RESAMPLES = 5_000


@dataclass(frozen=True)
class SelfAdvantage:
    """gamma, its one-sided p, the smallest possible p, and the number of permutations tried."""

    gamma: float
    p_value: float
    smallest: float
    permutations: int


@dataclass(frozen=True, eq=False)
class Selection:
    """The table of correlations and the self-advantage.

    frame      system, selected_by, r, pairs: the correlation of a system on the pairs that a system chose
    advantage  gamma with its permutation test
    se, lo, hi of gamma, over resampled queries
    """

    frame: pl.DataFrame
    advantage: SelfAdvantage
    se: float
    lo: float
    hi: float
    confidence: float
    notes: tuple[str, ...] = ()


def self_advantage(r: Floats, *, resamples: int = RESAMPLES, rng: np.random.Generator) -> SelfAdvantage:
    """The self-advantage: gamma in r[t, s] = mu + alpha_t + beta_s + gamma·1[s = t].

    gamma = trace(E) / (n - 1), E the doubly centred table: the least-squares estimate. p is the share of the n!
    permutations of the columns whose gamma is at least as large (random ones, (count + 1)/(resamples + 1), beyond 7
    systems). NaN with a single system or an empty cell.
    Misleads: with four systems there are 24 permutations, and p cannot fall below .0417. "Not significant" then means
    very little; look at gamma and its interval.
    Source: docs/methods/studies.md, Selection bias.
    """
    table = np.asarray(r, dtype=np.float64)
    n = len(table)
    if table.ndim != 2 or table.shape != (n, n) or n < 1:
        raise TableError(f"a table of self-advantage is square, with a row and a column per system, not {table.shape}")
    if n < 2 or np.isnan(table).any():
        return SelfAdvantage(math.nan, math.nan, math.nan, 0)
    gamma = float(_gammas(table))
    least = gamma * (n - 1) - n * TINY * float(np.abs(table).max())
    centred = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    rows = np.arange(n)
    if n <= EXACT:
        columns = np.array(list(permutations(range(n))))
        p = float((centred[rows, columns].sum(axis=1) >= least).mean())
        return SelfAdvantage(gamma, p, 1 / len(columns), len(columns))
    columns = rng.permuted(np.tile(rows, (resamples, 1)), axis=1)
    count = int((centred[rows, columns].sum(axis=1) >= least).sum())
    return SelfAdvantage(gamma, (count + 1) / (resamples + 1), 1 / (resamples + 1), resamples)


def selection_bias(
    run: Run, opinions: Opinions, *, mapped: bool = False, distances: bool | Literal["auto"] | Collection[str] = False,
    folds: int = 5, resamples: int = 1_000, confidence: float = 0.95, rng: np.random.Generator,
) -> Selection:  # fmt: skip
    """Correlate every system's scores with the ratings of the pairs that each system chose, and test the diagonal.

    `selected_by` of the opinions names the systems that chose a pair, joined by `+`; a pair chosen by two counts for
    both. The correlation uses the scores or (`mapped`) the ratings predicted by isotonic maps fitted to other queries.
    The interval resamples queries with all their pairs; maps are not refitted.
    Misleads: systems that choose nearly the same pairs have similar columns, and gamma cannot be large.
    Source: Barnard et al., Table 3; docs/methods/studies.md, Selection bias.
    """
    refuse_settings(folds, resamples, confidence)
    ratings, left_out = rated(opinions)
    notes = list(left_out)
    chosen = (
        opinions.frame.filter(pl.col("selected_by").is_not_null())
        .select("query", "item", pl.col("selected_by").str.split("+").alias("by"))
        .explode("by", empty_as_null=True, keep_nulls=True)
        .select("query", "item", pl.col("by").str.strip_chars())
        .unique()
    )
    choosers = set(chosen["by"].drop_nulls().to_list())
    systems = [name for name in run.systems if name in choosers]
    if len(systems) < 2:
        raise JoinError(
            f"{len(systems)} systems of the run have chosen pairs (selected_by names: "
            f"{', '.join(sorted(choosers)) or 'none'})",
            remedy="self-advantage needs at least 2",
        )
    if others := sorted(choosers - set(systems)):
        notes.append(f"pairs chosen only by {', '.join(others)} are left out; no such system is in the run")
    if absent := [name for name in run.systems if name not in choosers]:
        notes.append(f"{', '.join(absent)} chose no pair and are left out")
    rows = signals(run, ratings, mapped=mapped, distances=distances, folds=folds, rng=rng)
    rows = rows.filter(pl.col("system").is_in(systems)).join(
        chosen.filter(pl.col("by").is_in(systems)), on=["query", "item"], how="inner"
    )
    n = len(systems)
    sums = sums_by_query(rows, ["system", "by"], [systems, systems])
    table = correlations(sums.sum(axis=0)).reshape(n, n)
    advantage = self_advantage(table, rng=rng)
    if math.isnan(advantage.gamma):
        notes.append("a system has fewer than 3 pairs chosen by another, or they are constant: gamma is undefined")
    else:
        notes.append(
            f"with {n} systems p cannot fall below {advantage.smallest:.4f}, whatever the data; see gamma's interval"
        )
    draws = np.concatenate([_gammas(correlations(part).reshape(-1, n, n)) for part in resampled(sums, resamples, rng)])
    se, lo, hi = spread(draws, confidence)
    frame = pl.DataFrame(
        {
            "system": np.repeat(systems, n), "selected_by": np.tile(systems, n), "r": table.ravel(),
            "pairs": sums[:, :, 0].sum(axis=0).astype(np.int64),
        }
    )  # fmt: skip
    return Selection(frame, advantage, se, lo, hi, confidence, tuple(notes))


def _gammas(tables: Floats) -> Floats:
    """gamma of each table [..., n, n]: (Σ diagonal - Σ all / n) / (n - 1), which is trace(E)/(n - 1)."""
    n = tables.shape[-1]
    found = np.trace(tables, axis1=-2, axis2=-1) - tables.sum(axis=(-2, -1)) / n
    return np.asarray(found / (n - 1))


def sums_by_query(rows: pl.DataFrame, keys: list[str], values: list[list[str]]) -> Floats:
    """Count, Σx, Σy, Σx², Σy², Σxy of signal and rating: [query, cell, 6], one cell per combination of key values.

    Signals are centred and scaled by system, so that squares lose no digits; this does not change correlations.
    """
    signal, rating = pl.col("signal"), pl.col("rating")
    deviation = signal.std(ddof=0).over("system")
    rows = rows.with_columns(
        ((signal - signal.mean().over("system")) / pl.when(deviation > 0).then(deviation).otherwise(1.0)).alias("x"),
        (rating - rating.mean()).alias("y"),
    )
    x, y = rows["x"].to_numpy(), rows["y"].to_numpy()
    cell: Ints = np.zeros(len(x), dtype=np.int64)
    for key, names in zip(keys, values, strict=True):
        place = rows[key].replace_strict(names, list(range(len(names))), return_dtype=pl.Int64)
        cell = cell * len(names) + place.to_numpy()
    cells = math.prod(len(names) for names in values)
    query: Ints = rows["query"].rank("dense").to_numpy().astype(np.int64) - 1
    size = (int(query.max(initial=-1)) + 1) * cells
    parts = [np.ones_like(x), x, y, x * x, y * y, x * y]
    return np.stack(
        [np.bincount(query * cells + cell, weights=part, minlength=size).reshape(-1, cells) for part in parts], axis=-1
    )


def correlations(sums: Floats) -> Floats:
    """Pearson's r from [..., 6] sums; NaN with fewer than 3 pairs or if either side is constant."""
    n, sx, sy, sxx, syy, sxy = np.moveaxis(sums, -1, 0)
    vx, vy = n * sxx - sx**2, n * syy - sy**2
    defined = (n > 2) & (vx > TINY * n * sxx) & (vy > TINY * n * syy)
    r = (n * sxy - sx * sy) / np.sqrt(np.where(defined, vx, 1)) / np.sqrt(np.where(defined, vy, 1))
    return np.asarray(np.where(defined, np.clip(r, -1, 1), np.nan))


def resampled(sums: Floats, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Sums [resample, cell, 6] over queries drawn with replacement, in batches."""
    queries = len(sums)
    flat = sums.reshape(queries, -1)
    for block in blocks(resamples, BLOCK // max(queries, 1)):
        size = block.stop - block.start
        times = rng.multinomial(queries, np.full(queries, 1 / queries), size=size).astype(np.float64)
        yield (times @ flat).reshape(size, *sums.shape[1:])


def spread(draws: Floats, confidence: float) -> tuple[float, float, float]:
    """Standard deviation and central `confidence` interval of resampled values; NaN if over a tenth is undefined."""
    seen = draws[~np.isnan(draws)]
    if len(seen) < max(2, 0.9 * len(draws)):
        return math.nan, math.nan, math.nan
    lo, hi = np.quantile(seen, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(seen.std(ddof=1)), float(lo), float(hi)
