"""Precision-recall curves, with the line that a random ranking would draw."""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.measures.grammar import Measure, make
from endoxa.tables import Floats, Opinions, Scores

POINTS = 21  # levels of recall of a drawn curve: 0, 0.05, … 1


def curve_measures(points: int = POINTS) -> list[Measure]:
    """Interpolated precision at evenly spaced levels of recall."""
    return [make("IPrec", {"recall": round(float(level), 6)}) for level in np.linspace(0, 1, points)]


def curves(scores: Scores, opinions: Opinions, *, rel: float = 1, N: int | None = None) -> pl.DataFrame:
    """Mean interpolated precision per system and level of recall, beside the generality of the queries.

    Formula: generality of a query = |relevant| / N, the expected precision of a random ranking of the
    collection. Where its size N is not known, all items judged for any query stand for it: the collection
    holds at least these, so the line is an upper bound.
    Columns: system, recall, precision, generality, generality_low, generality_high (10th, 90th percentile).
    Misleads: curves over queries or collections of different generality cannot be compared by eye.
    """
    levels = {str(measure): dict(measure.settings)["recall"] for measure in curve_measures()}
    means = (
        scores.frame.filter(pl.col("measure").is_in(list(levels)) & pl.col("value").is_not_nan())
        .group_by("system", "measure", maintain_order=True)
        .agg(pl.col("value").mean().alias("precision"))
        .with_columns(pl.col("measure").replace_strict(levels, return_dtype=pl.Float64).alias("recall"))
    )
    share = generality(opinions, rel=rel, N=N)
    low, high = (float(x) for x in np.quantile(share, [0.1, 0.9]))
    return means.select(
        "system", "recall", "precision", pl.lit(float(share.mean())).alias("generality"),
        pl.lit(low).alias("generality_low"), pl.lit(high).alias("generality_high"),
    )  # fmt: skip


def generality(opinions: Opinions, *, rel: float = 1, N: int | None = None) -> Floats:
    """Share of the collection that is relevant, one number per query."""
    size = opinions.frame["item"].n_unique() if N is None else N
    relevant = opinions.frame.group_by("query", "source").agg((pl.col("grade") >= rel).sum())
    return np.asarray(relevant.group_by("query").agg(pl.col("grade").mean()).sort("query")["grade"].to_numpy() / size)
