"""One number per system and measure, with its interval over queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from endoxa.comparisons.chosen_intervals import OF_MEANS, Interval, intervals_over_queries
from endoxa.errors import TextError, did_you_mean
from endoxa.later import np, on_demand, pl
from endoxa.statistics.bootstrap import enough
from endoxa.tables import Floats, Scores

Aggregate = Literal["mean", "sum", "geometric"]

FLOOR = 1e-5  # trec_eval's least score under a logarithm (gm_map): one failed query must not decide alone

COLUMNS = ("system", "measure", "value", "lo", "hi", "se", "queries", "undefined")
if TYPE_CHECKING:
    SUMMARY: dict[str, Any]


def _types() -> dict[str, Any]:
    kinds = [pl.String] * 2 + [pl.Float64] * 4 + [pl.Int64] * 2
    return dict(zip(COLUMNS, kinds, strict=True))


__getattr__ = on_demand(__name__, {"SUMMARY": _types})


def summarise(
    scores: Scores, *, aggregate: Mapping[str, str] | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None, confidence: float = 0.95, interval: Interval = OF_MEANS,
    resamples: int | None = None, rng: np.random.Generator,
) -> pl.DataFrame:  # fmt: skip
    """Value of every system on every measure: system, measure, value, lo, hi, se, queries, undefined.

    `aggregate` says per measure how queries are joined; unnamed measures take the mean.
        mean        Σv / n
        sum         Σv; counts (num_rel) are not a sample mean and have no interval: lo, hi, se are null
        geometric   exp(mean(log(max(v, 0.00001)))); the interval is made on the logs and exponentiated, se is
                    value · se(log). The floor rules where many queries score 0.
    `limits` gives the range of a measure, if it has one. With it the interval is `bounded`: it lies within the range,
    and in simulations covers at least 95 % from 10 queries on, for skewed and equal values too. Without it, or with an
    infinite end, it is bootstrap-t, which covers 84 % of strongly skewed values over 10 queries and 94 % over 50
    (docs/intervals.md). A geometric mean has its range in logs: from log(0.00001) on.
    Only queries where the measure is defined count; `queries` says how many, `undefined` how many were 0/0.
    Queries that were never scored for a system are in neither. None defined: NaN.
    The interval is about other queries of the same kind, not about the judgments; overlapping intervals of
    two systems do not mean that they do not differ: compare() pairs them. Every measure meets the same
    resamples, so that a row does not depend on which other measures were asked for.
    """
    rows = summary_rows(
        scores, aggregate=aggregate, limits=limits, confidence=confidence, interval=interval, resamples=resamples,
        rng=rng,
    )  # fmt: skip
    return frame_of(rows)


def frame_of(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The rows of a summary as a frame."""
    return pl.DataFrame([tuple(row.values()) for row in rows], schema=_types(), orient="row")


def summary_rows(
    scores: Scores, *, aggregate: Mapping[str, str] | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None, confidence: float = 0.95, interval: Interval = OF_MEANS,
    resamples: int | None = None, rng: np.random.Generator,
) -> list[dict[str, Any]]:  # fmt: skip
    """The rows of `summarise`, without a frame."""
    ways = dict(aggregate or {})
    for measure, way in ways.items():
        if way not in get_args(Aggregate):
            hint = did_you_mean(way, get_args(Aggregate))
            raise TextError(f"{measure} is joined by one of {', '.join(get_args(Aggregate))}, not {way!r}", remedy=hint)
    rows, queries = [], len(scores.queries)
    for measure in scores.measures:
        _, _, values = scores.matrix(measure)
        values = _in_logs(values) if ways.get(measure) == "geometric" else values
        rows.append(np.pad(values, ((0, 0), (0, queries - values.shape[1])), constant_values=np.nan))
    stacked = np.stack(rows) if rows else np.empty((0, len(scores.systems), queries))
    low, high = _ranges(scores.measures, ways, limits or {})
    found = intervals_over_queries(  # [measure, system]
        stacked, low, high, interval=interval, confidence=confidence,
        resamples=enough(queries) if resamples is None else resamples, rng=rng,
    )  # fmt: skip
    undefined = scores.without_value()
    summary = []
    for s, system in enumerate(scores.systems):
        for m, measure in enumerate(scores.measures):
            n, holes = int(found.n[m, s]), undefined.get((system, measure), 0)
            ends = tuple(float(part[m, s]) for part in (found.mean, found.lo, found.hi, found.se))
            joined = _joined(ways.get(measure, "mean"), stacked[m, s], ends)
            summary.append(dict(zip(COLUMNS, (system, measure, *joined, n, holes), strict=True)))
    return summary


def _in_logs(values: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(values, FLOOR)))


def _ranges(
    measures: Sequence[str], ways: Mapping[str, str], limits: Mapping[str, tuple[float, float]]
) -> tuple[Floats, Floats]:
    """Least and greatest value of each measure, in logs for geometric means; infinite where unknown: [measure, 1]."""
    reach = np.array([limits.get(measure, (-np.inf, np.inf)) for measure in measures]).reshape(-1, 1, 2)
    logs = [measure in limits and ways.get(measure) == "geometric" for measure in measures]
    reach[logs] = _in_logs(reach[logs])
    return reach[..., 0], reach[..., 1]


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
