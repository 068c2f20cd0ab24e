"""Which interval a mean over queries has, and a mean difference: decided here, measured in docs/intervals.md."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any, Literal, get_args

from endoxa.later import np
from endoxa.policies import refuse_choice
from endoxa.statistics.bootstrap import Means, Method, mean_intervals, moments
from endoxa.statistics.bounded import bounded_intervals
from endoxa.tables import Bools, Floats

Interval = Literal["bootstrap-t", "bounded", "percentile"]

OF_MEANS: Interval = "bounded"  # over 10 queries of skewed AP it covers .99, bootstrap-t .84, and it is no longer
OF_DIFFERENCES: Interval = "bootstrap-t"  # covers .95; the bounded one is two to five times as long
FEW = 30  # values that differ; with more of them, bootstrap-t is shorter than the bounded interval
ENOUGH = 50  # with fewer queries, bootstrap-t covers less than it claims if values are strongly skewed
SMALL = 25  # with fewer queries, a sample does not show whether they are
SKEWED = 1.0  # skewness of a sample from which they are called so


def intervals_over_queries(
    values: Floats, low: Floats | float, high: Floats | float, *, interval: Interval, confidence: float, resamples: int,
    rng: np.random.Generator,
) -> Means:  # fmt: skip
    """Interval for the mean of every row; the last axis is the query, NaN is left out. [low, high] is a row's range.

    bounded       `statistics.bounded` where the range is known at both ends, else as bootstrap-t
    bootstrap-t   `statistics.bootstrap`, symmetric. An end beyond that of the bounded interval is replaced by it where
                  fewer than 30 values differ from their median, because the bootstrap then has far or infinite ends
    percentile    `statistics.bootstrap`
    Where all values are equal, a bootstrap has no spread: the ends are those of the bounded interval, or the value
    itself if the range has no ends. All ends lie in the range. Fewer than two values: NaN, unless bounded.
    """
    refuse_choice("interval", interval, get_args(Interval))
    values = np.asarray(values, dtype=np.float64)
    shape = values.shape[:-1]
    rows = values.reshape(math.prod(shape), values.shape[-1])
    low, high = (np.broadcast_to(np.float64(end), shape).reshape(-1) for end in (low, high))
    bounded = np.isfinite(low) & np.isfinite(high) & (interval == "bounded")
    method: Method = "percentile" if interval == "percentile" else "bootstrap-t"
    drawn: dict[str, Any] = {"confidence": confidence, "resamples": resamples}
    lo, hi, twin = np.zeros(len(rows)), np.zeros(len(rows)), deepcopy(rng)  # a row does not depend on the others
    found = mean_intervals(rows[~bounded], method=method, rng=rng, **drawn)
    lo[~bounded], hi[~bounded] = found.lo, found.hi
    near = np.flatnonzero(bounded | _few(rows))
    ends = bounded_intervals(rows[near], low[near], high[near], rng=twin, **drawn)
    alone = bounded[near] | (lo[near] == hi[near])
    lo[near] = np.where(alone & np.isfinite(ends.lo), ends.lo, np.maximum(lo[near], ends.lo))
    hi[near] = np.where(alone & np.isfinite(ends.hi), ends.hi, np.minimum(hi[near], ends.hi))
    mean, sd, n = moments(rows)
    se, lo, hi = sd / np.sqrt(np.maximum(n, 1)), np.maximum(lo, low), np.minimum(hi, high)
    return Means(mean.reshape(shape), se.reshape(shape), lo.reshape(shape), hi.reshape(shape), n.reshape(shape))


def _few(rows: Floats) -> Bools:
    """Whether fewer than 30 values of a row differ from the middle one."""
    ordered = np.sort(rows, axis=1)  # NaN last
    known = ~np.isnan(ordered)
    places = np.arange(rows.shape[1]) == (np.maximum(known.sum(axis=1), 1)[:, None] - 1) // 2
    middle = np.where(places, ordered, 0.0).sum(axis=1, keepdims=True)
    return np.asarray(((ordered != middle) & known).sum(axis=1) < FEW)


def can_be_short(rows: Floats) -> Bools:
    """Whether a bootstrap-t interval of the row can be too short: fewer than 25 values, or 50 that are skewed.

    Skewed: the mean of ((x - mean) / sd)³ is beyond ±1. Fewer than 25 values often miss the tail that makes them so.
    """
    mean, sd, n = moments(rows)
    spread = np.where(sd > 0, sd, np.nan)
    cubes = ((rows - mean[:, None]) / spread[:, None]) ** 3
    skewness = np.nansum(cubes, axis=1) / np.maximum(n, 1)
    return np.asarray((n >= 2) & ((n < SMALL) | (n < ENOUGH) & (np.abs(skewness) > SKEWED)))
