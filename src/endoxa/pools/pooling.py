"""Depth pools and the state of every retrieved pair."""

from __future__ import annotations

import polars as pl

from endoxa.errors import TextError
from endoxa.tables import Opinions, Run


def pool(run: Run, depth: int) -> pl.DataFrame:
    """The union over systems of the first `depth` items of each query.

    Columns: query, item, systems (how many put it there), best (its best rank), by (their names, sorted).
    Misleads: what no pooled system found is not in it; a new system is judged by others' finds.
    Source: Spärck Jones and van Rijsbergen 1975.
    """
    if depth < 1:
        raise TextError(f"the depth of a pool is at least 1, not {depth}")
    return (
        run.frame.filter(pl.col("rank") <= depth)
        .group_by("query", "item")
        .agg(
            pl.col("system").n_unique().cast(pl.Int64).alias("systems"),
            pl.col("rank").min().cast(pl.Int64).alias("best"),
            pl.col("system").unique().sort().alias("by"),
        )
        .sort("query", "item")
    )


def states(run: Run, opinions: Opinions, depth: int) -> pl.DataFrame:
    """Per system: how many retrieved pairs are judged, pooled but not judged, or not pooled at all.

    A pair is pooled if it stands in the first `depth` of any system here, or in the judgments with a
    negative grade. Only queries with judgments are counted.
    Columns: system, state (judged, pooled-unjudged, unpooled), pairs, share.
    """
    judged = opinions.frame.group_by("query", "item").agg((pl.col("grade") >= 0).any().alias("judged"))
    pooled = pool(run, depth).select("query", "item", pl.lit(True).alias("pooled"))
    known = opinions.frame.select("query").unique()
    state = (
        pl.when(pl.col("judged").fill_null(False))
        .then(pl.lit("judged"))
        .when(pl.col("pooled").fill_null(False) | pl.col("judged").is_not_null())
        .then(pl.lit("pooled-unjudged"))
        .otherwise(pl.lit("unpooled"))
    )
    every = pl.DataFrame({"state": ["judged", "pooled-unjudged", "unpooled"]})
    counted = (
        run.frame.join(known, on="query", how="semi")
        .join(judged, on=["query", "item"], how="left")
        .join(pooled, on=["query", "item"], how="left")
        .group_by("system", state.alias("state"))
        .agg(pl.len().cast(pl.Int64).alias("pairs"))
    )
    order = pl.DataFrame({"system": run.systems}).join(every, how="cross")
    return order.join(counted, on=["system", "state"], how="left", maintain_order="left").with_columns(
        pl.col("pairs").fill_null(0),
        (pl.col("pairs").fill_null(0) / pl.col("pairs").sum().over("system")).alias("share"),
    )
