"""What judges hold now: a fold over all they ever said.

Answers are only added to. Of what a judge sent about a task the last act counts: an answer, a skip, or an undo, after
which nothing is held.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from endoxa.tables import COUNTED, Answers, Labels, Opinions

ROWS: dict[str, Any] = {
    "number": pl.Int64,
    "source": pl.String,
    "task": pl.Int64,
    "query": pl.String,
    "item": pl.String,
    "key": pl.String,
    "kind": pl.String,
    "grade": pl.Float64,
    "category": pl.String,
    "rank": pl.Int64,
    "relevance": pl.Float64,
    "comment": pl.String,
    "place": pl.Int64,
    "shown": pl.String,
    "screen": pl.String,
    "method": pl.String,
    "active_seconds": pl.Float64,
    "away_seconds": pl.Float64,
    "propensity": pl.Float64,
    "selected_by": pl.String,
    "role": pl.String,
    "round": pl.Int64,
    "expected": pl.String,
    "at": pl.Datetime("us", "UTC"),
}


def latest(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows that are held: of each judge and task those of the last act, if that was an answer."""
    ordered = rows.sort("number")
    last = ordered.group_by("source", "task").agg(pl.col("key").last())
    held = ordered.join(last, on=["source", "task", "key"], how="semi", maintain_order="left")
    return held.filter(pl.col("kind") == "answer")


def as_answered(held: pl.DataFrame, shares: Mapping[int, float]) -> pl.DataFrame:
    """Propensities of being in the table at all: planned *and* answered.

    Tasks are given out in an order that knows nothing of their content, so that the answered ones are a random part of
    each round: `shares` says how large. Without it Horvitz–Thompson totals shrink in a study that was stopped early.
    Imported answers keep theirs; and a pair that was to be asked for certain (a pool) keeps 1: it is no sample, and
    what is missing of it is unjudged.
    """
    share = pl.col("round").replace_strict(dict(shares), default=1.0, return_dtype=pl.Float64)
    drawn = COUNTED & (pl.col("method").ne_missing("import")) & (pl.col("propensity") < 1)
    return held.with_columns(pl.when(drawn).then(pl.col("propensity") * share).otherwise("propensity"))


def once(held: pl.DataFrame) -> pl.DataFrame:
    """One row per judge, query and item: of a pair met twice, the main one, the one given here, or the later."""
    return (
        held.with_columns(COUNTED.alias("counted"), pl.col("method").ne_missing("import").alias("live"))
        .sort("counted", "live", "number")
        .unique(["source", "query", "item"], keep="last", maintain_order=True)
        .sort("number")
        .drop("counted", "live")
    )


def opinions(held: pl.DataFrame, scale: str) -> Opinions | None:
    """Ratings as opinions, a row per judge and pair; None where there are none."""
    rows = once(held.filter(pl.col("query").is_not_null())).with_columns(pl.lit(scale).alias("scale"))
    if not rows.height:
        return None
    names = ("source", "query", "item", "grade", "scale", "selected_by", "propensity", "role", "at")
    return Opinions.of(rows.select(names))


def labels(held: pl.DataFrame) -> Labels | None:
    """Who filed which item where; None where nobody filed anything. Undecided is no label; practice is left out."""
    rows = held.filter(pl.col("category").is_not_null() & COUNTED)
    return Labels.of(rows.select("source", "item", "category")) if rows.height else None


def answers(held: pl.DataFrame) -> Answers | None:
    """Each judge's own ranked answer; None where nobody ranked anything. Of a query ranked twice the later counts."""
    rows = held.filter(pl.col("rank").is_not_null() & pl.col("query").is_not_null() & COUNTED)
    if not rows.height:
        return None
    last = rows.group_by("source", "query").agg(pl.col("task").sort_by("number").last())
    rows = rows.join(last, on=["source", "query", "task"], how="semi", maintain_order="left")
    return Answers.of(rows.select("source", "query", "item", "rank", "relevance"))
