"""Rounds of judging: which round a label belongs to, and propensities under which several rounds add up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from endoxa.tables import Opinions

# The round of a label. Adaptive rounds of ratings are added up by `studies.estimates`.
ROUND = pl.when(pl.col("selected_by").ne_missing("adaptive")).then("draw")


def numbered(tables: Sequence[Opinions]) -> Opinions:
    """Tables of labels as one. Where several do not name their rounds, they are rounds in the order given.

    Two tables in which the same source judged the same pair are of two judges, who are numbered.
    """
    if len(tables) == 1:
        return tables[0]
    every = pl.concat([table.frame.with_columns(pl.lit(place).alias("table")) for place, table in enumerate(tables, 1)])
    if every.select("source", "query", "item").is_duplicated().any():
        every = every.with_columns(pl.concat_str("source", pl.lit(" "), "table").alias("source"))
    if every["propensity"].is_not_null().any() and not every.select(ROUND.is_not_null().any()).item():
        by = pl.col("selected_by").replace("adaptive", "given").fill_null("given")
        every = every.with_columns(pl.col("table").alias("draw"), by)  # also in place of an adaptive number
    return Opinions.of(every.drop("table"))


def rounds_of(rounds: Sequence[Opinions]) -> Opinions:
    """Labels of several rounds of judging as one table, with propensities under which all rounds add up.

    A row says its round (`draw`); tables that do not are rounds in the order given. Given the rounds before
    it, each round r is a sample with known propensities, and what was judged before is known: its estimate is unbiased.
    So is the mean of these estimates with weights ω that sum to 1, which weighs a label of round r by
    W = ω_r/π + Σ_{later} ω; the propensity here is 1/W. A later round has the share ω_r/Σ_{≤r} ω = max(its share of the
    labels so far, its highest π), so that W is at least 1. Where a round has rows without a grade, the judges answered
    a random part of it, and its propensities are multiplied by that part.
    Source: Farquhar et al. 2021 for estimates from rounds; docs/methods/deciding.md, Rounds.
    """
    frame = numbered(rounds).frame
    rows = frame.with_columns(ROUND.fill_null(0).alias("round"))
    given = pl.col("grade").is_not_null() & (pl.col("grade") >= 0)
    sizes = rows.group_by("round").agg(
        given.sum().alias("labels"),
        given.mean().alias("answered"),
        pl.col("propensity").filter(given).max().alias("most"),
    )
    sizes = sizes.filter(pl.col("labels") > 0).sort("round")
    count = sizes["labels"].to_numpy().astype(np.float64)
    part = np.maximum(
        count / np.maximum(np.cumsum(count), 1), (sizes["most"] * sizes["answered"]).fill_null(1.0).to_numpy()
    )
    part[0] = 1.0
    later = np.concatenate([1 - np.cumprod((1 - part)[::-1])[::-1][1:], [0.0]])  # the weight of all later rounds
    sizes = sizes.with_columns(pl.Series("share", part * (1 - later)), pl.Series("later", later))
    rows = rows.join(sizes, on="round", how="left", maintain_order="left")
    weight = pl.col("share") / (pl.col("propensity") * pl.col("answered")) + pl.col("later")
    known = (1 / weight).clip(upper_bound=1.0)
    return Opinions.of(
        rows.with_columns(pl.when(given).then(known).otherwise(pl.col("propensity")).alias("propensity"))
        .sort("round", maintain_order=True)
        .select(frame.columns)
    )


def last_round(labels: Opinions) -> int:
    """The highest round that labels name; 1 where there are labels that name none."""
    return int(labels.frame.select(ROUND.max()).item() or 1)
