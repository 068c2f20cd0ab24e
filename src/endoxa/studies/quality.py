"""The quality of each judge's work: time, drift, gold items, agreement with the other judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from endoxa.studies.agreement import ratings, with_the_others
from endoxa.studies.kinds import COLUMNS, Response
from endoxa.studies.latest import UNDECIDED
from endoxa.tables import COUNTED, Floats, Opinions

FAST = 1.0  # seconds per item; a faster judge cannot have looked
DISAGREES = "disagrees with the others"
LOW = 0.2  # a correlation below it is disagreement
FEW = 8  # minimum number of answers for drift, correlation and most flags
SCHEMA: dict[str, Any] = {
    "source": pl.String, "answers": pl.Int64, "undecided": pl.Int64, "skipped": pl.Int64, "median_seconds": pl.Float64,
    "drift": pl.Float64, "drift_lo": pl.Float64, "drift_hi": pl.Float64, "gold_right": pl.Int64, "gold_asked": pl.Int64,
    "correlation": pl.Float64, "flags": pl.List(pl.String), "last": pl.Datetime("us", "UTC"),
}  # fmt: skip


def judges(
    rows: pl.DataFrame, answers: pl.DataFrame, opinions: Opinions | None, *, is_right: Callable[[str, Response], bool]
) -> pl.DataFrame:
    """One row per judge, from all `rows` of the study and the current `answers`.

    median_seconds  active seconds per item
    drift           slope of (own rating − mean of the others on the same pair) over the judge's own answers, from the
                    first to the last, with a 95 % interval; positive: the judge becomes more lenient
    gold_right      number of gold and attention items for which `is_right` accepts the answer
    correlation     correlation with the mean of the other judges, over pairs that both rated

    The flags are a reason to talk to the judge, not to discard answers. Only a minority is flagged as disagreeing with
    the others: of two judges who disagree, nobody can say which is the odd one out (`disagreement`).
    """
    apart, correlations = _with_others(opinions)
    odd = _odd_ones(correlations)
    found = []
    for (source,), acts in rows.group_by("source", maintain_order=True):  # includes judges who skipped everything
        mine = answers.filter(pl.col("source") == source)
        asked = mine.filter(pl.col("role").is_in(["gold", "attention"]) & pl.col("expected").is_not_null())
        right = sum(is_right(row[0], Response(0, *row[1:])) for row in asked.select("expected", *COLUMNS).iter_rows())
        pages = mine.group_by("task").agg(pl.col("active_seconds").first() / pl.len())["active_seconds"].drop_nulls()
        median = float(np.median(pages.to_numpy())) if len(pages) else math.nan
        drift = _drift(apart, str(source))
        correlation = correlations.get(str(source), math.nan)
        last_act = acts.sort("number").group_by("task").agg(pl.col("kind").last())["kind"]
        answered = mine.filter(COUNTED)
        undecided = answered.filter(UNDECIDED).height
        alone = str(source) in odd
        flags = _flags(median, right, asked.height, correlation if alone else math.nan, answered, undecided)
        found.append(
            (source, answered.height, undecided, int((last_act == "skip").sum()), median, *drift, right, asked.height,
             correlation, flags, acts["at"].max())
        )  # fmt: skip
    return pl.DataFrame(found, schema=SCHEMA, orient="row").sort("answers", descending=True, maintain_order=True)


def _odd_ones(correlations: Mapping[str, float]) -> set[str]:
    """The judges who disagree with the others, if most judges do not; otherwise nobody is the odd one out."""
    low = {name for name, value in correlations.items() if value < LOW}
    return low if 2 * len(low) < len(correlations) else set()


def disagreement(found: pl.DataFrame) -> str:
    """A sentence about judges who disagree, where none of them can be called the odd one out; otherwise empty.

    `found` is the table of `judges`.
    """
    rows = found.filter(pl.col("correlation").is_not_nan()).select("source", "correlation")
    known: dict[str, float] = dict(rows.iter_rows())
    low = sorted(name for name, value in known.items() if value < LOW)
    if not low or any(flag.startswith(DISAGREES) for flags in found["flags"] for flag in flags):
        return ""
    if len(known) == 2:
        return (
            f"{' and '.join(low)} disagree with each other (correlation {min(known.values()):.2f}). With two judges "
            "nobody can say who is right: invite a third, or mix in gold items."
        )
    return (
        f"{len(low)} of {len(known)} judges disagree with the mean of the others ({', '.join(low)}), so none of them "
        "is the odd one out: look at the question and the instructions first."
    )


def _with_others(opinions: Opinions | None) -> tuple[pl.DataFrame, dict[str, float]]:
    """Ratings of pairs that several judges rated, and each judge's correlation with the mean of the others, or NaN.

    The frame has source, at (seconds) and apart, the difference from the mean of the others.
    """
    empty = pl.DataFrame(schema={"source": pl.String, "at": pl.Float64, "apart": pl.Float64})
    if opinions is None:
        return empty, {}
    frame = opinions.frame.filter(pl.col("grade").is_not_null() & COUNTED)
    pair = ["query", "item"]
    several = frame.filter(pl.len().over(pair) > 1)
    if not several.height:
        return empty, {}
    others = (pl.col("grade").sum().over(pair) - pl.col("grade")) / (pl.len().over(pair) - 1)
    moment = pl.col("at").dt.epoch("ms") / 1000
    apart = several.select("source", moment.alias("at"), (pl.col("grade") - others).alias("apart"))
    given = ratings(Opinions(frame))
    values, counts = with_the_others(given)
    known = {name: float(r) for name, r, n in zip(given.sources, values, counts, strict=True) if n >= FEW}
    return apart, known


def _drift(apart: pl.DataFrame, source: str) -> tuple[float, float, float]:
    rows = apart.filter(pl.col("source") == source).drop_nulls().sort("at")
    if rows.height < FEW:
        return math.nan, math.nan, math.nan
    from scipy.stats import t

    x: Floats = np.linspace(0.0, 1.0, rows.height)  # by order, not by time: a night between two answers is no drift
    y = rows["apart"].to_numpy()
    centred = x - x.mean()
    slope = float((centred * y).sum() / (centred**2).sum())
    residual = y - y.mean() - slope * centred
    se = math.sqrt(float((residual**2).sum()) / (len(x) - 2) / float((centred**2).sum()))
    reach = float(t.ppf(0.975, len(x) - 2)) * se
    return slope, slope - reach, slope + reach


def _flags(
    median: float, right: int, asked: int, correlation: float, answered: pl.DataFrame, undecided: int
) -> list[str]:
    flags = []
    if median < FAST:
        flags.append(f"too fast: {median:.1f} s per item")
    if asked >= 3 and right / asked < 0.7:
        flags.append(f"gold: {right} of {asked} right")
    if correlation < LOW:
        flags.append(f"{DISAGREES}: correlation {correlation:.2f}")
    grades = answered["grade"].drop_nulls()
    if len(grades) >= FEW and grades.n_unique() == 1:
        flags.append(f"gives every item the grade {grades[0]:g}")
    if answered.height >= FEW and undecided / answered.height > 0.5:
        flags.append(f"undecided {undecided} of {answered.height} times")
    return flags
