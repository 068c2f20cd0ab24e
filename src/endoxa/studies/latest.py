"""The current answers: a fold over everything that judges sent.

Rows are only ever added. Of all rows of a judge and a task, the last act counts: an answer, a skip or an undo. After a
skip or an undo there is no current answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from endoxa.tables import COUNTED, DRAW, Answers, Labels, Opinions

ROWS: dict[str, Any] = {
    "number": pl.Int64, "source": pl.String, "task": pl.Int64, "query": pl.String, "item": pl.String, "key": pl.String,
    "kind": pl.String, "grade": pl.Float64, "category": pl.String, "rank": pl.Int64, "relevance": pl.Float64,
    "comment": pl.String, "place": pl.Int64, "shown": pl.String, "screen": pl.String, "method": pl.String,
    "active_seconds": pl.Float64, "away_seconds": pl.Float64, "propensity": pl.Float64, "selected_by": pl.String,
    **dict.fromkeys(DRAW, pl.Int64), "role": pl.String, "round": pl.Int64, "expected": pl.String,
    "at": pl.Datetime("us", "UTC"),
}  # fmt: skip

UNDECIDED = pl.all_horizontal(pl.col("grade", "category", "rank", "relevance").is_null())


def latest(rows: pl.DataFrame) -> pl.DataFrame:
    """The current answers: of each judge and task the rows of the last act, if that was an answer."""
    ordered = rows.sort("number")
    last = ordered.group_by("source", "task").agg(pl.col("key").last())
    acts = ordered.join(last, on=["source", "task", "key"], how="semi", maintain_order="left")
    return acts.filter(pl.col("kind") == "answer")


def as_answered(current: pl.DataFrame, shares: Mapping[int, float]) -> pl.DataFrame:
    """The answers with the propensity that a pair is planned *and* answered.

    Tasks are given out in an order that is independent of their content, so the answered tasks are a random part of
    each round, and `shares` is the size of that part. Imported answers keep their propensity, and so do pairs that are
    asked with certainty (in a pool), which is not a sample: its unanswered pairs are unjudged. So do pairs that were
    drawn one by one: each is a round of its own, and those answered make up their sample.
    """
    share = pl.col("round").replace_strict(dict(shares), default=1.0, return_dtype=pl.Float64)
    is_round = pl.col("draw_after").is_null()
    drawn = COUNTED & (pl.col("method").ne_missing("import")) & (pl.col("propensity") < 1) & is_round
    return current.with_columns(pl.when(drawn).then(pl.col("propensity") * share).otherwise("propensity"))


def once(current: pl.DataFrame) -> pl.DataFrame:
    """One row per judge, query and item. Main answers come before gold, own before imported, later before earlier."""
    return (
        current.with_columns(COUNTED.alias("counted"), pl.col("method").ne_missing("import").alias("live"))
        .sort("counted", "live", "number")
        .unique(["source", "query", "item"], keep="last", maintain_order=True)
        .sort("number")
        .drop("counted", "live")
    )


def opinions(current: pl.DataFrame, scale: str) -> Opinions | None:
    """Grades as opinions, one row per judge and pair; None where there are none."""
    rows = once(current.filter(pl.col("query").is_not_null())).with_columns(pl.lit(scale).alias("scale"))
    if not rows.height:
        return None
    names = ("source", "query", "item", "grade", "scale", "selected_by", *DRAW, "propensity", "role", "at")
    return Opinions.of(rows.select(names))


def labels(current: pl.DataFrame) -> Labels | None:
    """Categories as labels, without undecided answers and known items; None where there are none."""
    rows = current.filter(pl.col("category").is_not_null() & COUNTED)
    return Labels.of(rows.select("source", "item", "category")) if rows.height else None


def answers(current: pl.DataFrame) -> Answers | None:
    """Each judge's ranking of each query; the later one counts. None where there are no rankings."""
    rows = current.filter(pl.col("rank").is_not_null() & pl.col("query").is_not_null() & COUNTED)
    if not rows.height:
        return None
    last = rows.group_by("source", "query").agg(pl.col("task").sort_by("number").last())
    rows = rows.join(last, on=["source", "query", "task"], how="semi", maintain_order="left")
    return Answers.of(rows.select("source", "query", "item", "rank", "relevance"))
