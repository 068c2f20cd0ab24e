"""One number per system and measure, with its interval over queries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
import polars as pl

from endoxa.errors import TextError, did_you_mean
from endoxa.statistics.bootstrap import Method, enough, mean_intervals
from endoxa.tables import Floats, Scores

Aggregate = Literal["mean", "sum", "geometric"]

FLOOR = 1e-5  # trec_eval's least score under a logarithm (gm_map): one failed query must not decide alone

SUMMARY = {
    "system": pl.String, "measure": pl.String, "value": pl.Float64, "lo": pl.Float64, "hi": pl.Float64,
    "se": pl.Float64, "queries": pl.Int64, "undefined": pl.Int64,
}  # fmt: skip


def summarise(
    scores: Scores, *, aggregate: Mapping[str, str] | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None, confidence: float = 0.95, method: Method = "bootstrap-t",
    resamples: int | None = None, rng: np.random.Generator,
) -> pl.DataFrame:  # fmt: skip
    """Value of every system on every measure: system, measure, value, lo, hi, se, queries, undefined.

    `aggregate` says per measure how queries are joined; unnamed measures take the mean.
        mean        Σv / n
        sum         Σv; counts (num_rel) are not a sample mean and have no interval: lo, hi, se are null
        geometric   exp(mean(log(max(v, 0.00001)))); the interval is made on the logs and exponentiated, se is
                    value · se(log). The floor rules where many queries score 0.
    `limits` gives the range of a measure, if it has one: ends are kept within it, which can only help. Where all
    values are equal, or so nearly that the bootstrap has no bound (1 of 60 queries failed), the interval is Clopper
    and Pearson's with the sum of the values as successes: no values in the range spread more than 0s and 1s do.
    Only queries where the measure is defined count; `queries` says how many, `undefined` how many were 0/0.
    Queries that were never scored for a system are in neither. None defined: NaN.
    The interval is about other queries of the same kind, not about the judgments; overlapping intervals of
    two systems do not mean that they do not differ: compare() pairs them. Every measure meets the same
    resamples, so that a row does not depend on which other measures were asked for.
    """
    ways = dict(aggregate or {})
    for measure, way in ways.items():
        if way not in get_args(Aggregate):
            hint = did_you_mean(way, get_args(Aggregate))
            raise TextError(f"{measure} is joined by one of {', '.join(get_args(Aggregate))}, not {way!r}{hint}")
    rows, queries = [], len(scores.queries)
    for measure in scores.measures:
        _, _, values = scores.matrix(measure)
        values = np.log(np.maximum(values, FLOOR)) if ways.get(measure) == "geometric" else values
        rows.append(np.pad(values, ((0, 0), (0, queries - values.shape[1])), constant_values=np.nan))
    stacked = np.stack(rows) if rows else np.empty((0, len(scores.systems), queries))
    drawn = enough(queries) if resamples is None else resamples
    found = mean_intervals(stacked, method=method, confidence=confidence, resamples=drawn, rng=rng)  # [measure, system]
    undefined = {
        (system, measure): count
        for system, measure, count in scores.frame.group_by("system", "measure")
        .agg((pl.col("value").is_null() | pl.col("value").is_nan()).sum())
        .iter_rows()
    }
    summary = []
    for s, system in enumerate(scores.systems):
        for m, measure in enumerate(scores.measures):
            n, holes = int(found.n[m, s]), undefined.get((system, measure), 0)
            ends = tuple(float(part[m, s]) for part in (found.mean, found.lo, found.hi, found.se))
            within = (limits or {}).get(measure)
            if within is not None and ways.get(measure, "mean") == "mean" and n > 0:
                ends = (ends[0], *_kept(ends, within, n, confidence), ends[3])
            joined = _joined(ways.get(measure, "mean"), stacked[m, s], ends)
            summary.append((system, measure, *joined, n, holes))
    return pl.DataFrame(summary, schema=SUMMARY, orient="row")


def _kept(ends: tuple[float, ...], within: tuple[float, float], n: int, confidence: float) -> tuple[float, float]:
    """lo and hi inside the range of the measure; Clopper and Pearson's where the values hardly differ."""
    mean, lo, hi, _ = ends
    low, high = within
    if not (math.isfinite(low) and math.isfinite(high)):
        return max(lo, low), min(hi, high)
    if lo == hi or not math.isfinite(lo) or not math.isfinite(hi):
        from scipy.special import betaincinv

        share, tail = min(max((mean - low) / (high - low), 0.0), 1.0), (1 - confidence) / 2
        hits = share * n
        lo = low + (high - low) * (float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0)
        hi = low + (high - low) * (float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0)
    return max(lo, low), min(hi, high)


def _joined(way: str, values: Floats, ends: tuple[float, ...]) -> tuple[float | None, ...]:
    """value, lo, hi and se of one system on one measure, from the mean's."""
    value, lo, hi, se = ends
    if way == "sum":  # added up, not n times the mean: a count stays whole
        return value if math.isnan(value) else float(np.nansum(values)), None, None, None
    if way == "geometric":
        with np.errstate(over="ignore"):  # an end beyond all numbers is infinite
            value, lo, hi = (float(np.exp(end)) for end in (value, lo, hi))
        return value, lo, hi, value * se
    return ends
