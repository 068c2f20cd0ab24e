"""Blocks of scores joined into one table; missing topics and 0/0 treated as the policy says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import polars as pl

from endoxa.errors import JoinError
from endoxa.measures.grammar import Measure
from endoxa.measures.judgments import Judgments
from endoxa.measures.lists import Lists
from endoxa.measures.ties import score
from endoxa.policies import Policy
from endoxa.tables import Floats, Ints, Scores


class Topics(Protocol):
    """What lists are scored against, as far as it matters here: the queries, in byte order of their names."""

    @property
    def queries(self) -> list[str]:
        """The names."""


@dataclass(frozen=True)
class Block:
    """Scores of a block: one entry per list, values as [measure, list]."""

    systems: list[str]
    places: Ints
    values: Floats
    spread: Floats | None  # [3, measure, list]: sd, lo, hi
    texts: list[list[str]]
    coverage: pl.DataFrame  # system, unknown, items, judged, tied

    def renamed(self, names: Mapping[str, str]) -> Block:
        """The same scores under other names of the systems."""
        coverage = self.coverage.with_columns(pl.col("system").replace(dict(names)))
        return replace(self, systems=[names[system] for system in self.systems], coverage=coverage)


def gather(
    panel: Mapping[str, Topics],
    blocks: Sequence[Sequence[Block]],
    measures: Sequence[Measure],
    policy: Policy,
    *,
    systems: Sequence[str],
    empty: Callable[..., tuple[Floats, Floats | None]] | None = None,
) -> Scores:
    """Join the blocks of all assessors into one table, with missing topics treated as the policy says.

    `empty` scores empty lists where the panel holds other things than grades.
    """
    parts, texts, coverages, absents = [], [], [], []
    for (source, judgments), some in zip(panel.items(), blocks, strict=True):
        frame, coverage, text, absent = _gather_one(
            judgments, some, measures, policy, systems, score_empty=empty or _score_empty
        )
        parts.append(frame.with_columns(pl.lit(source).alias("source")))
        coverages.append(coverage)
        texts.append(text)
        absents.append(absent)
    frame = parts[0].drop("source")
    if policy.assessors == "mean":
        order = {str(m): place for place, m in enumerate(measures)}
        frame = (
            pl.concat(parts)
            .group_by("system", "query", "measure", maintain_order=True)
            .agg(
                pl.col("value").drop_nans().mean().fill_null(float("nan")),
                pl.col("value").drop_nans().std().alias("sd"),
                pl.col("lo", "hi").mean(),
                pl.col("undefined").min(),
            )
            .sort(
                pl.col("system").replace_strict(list(systems), list(range(len(systems)))),
                "query",
                pl.col("measure").replace_strict(order),
            )
        )
    if policy.undefined == "skip":
        bad = frame.filter(pl.col("undefined") > 0)["query"].unique()
        frame = frame.filter(~pl.col("query").is_in(bad.implode()))
    return Scores(frame, policy, _joined(coverages), texts[0], pl.concat(absents).unique(maintain_order=True))


def _joined(coverages: list[pl.DataFrame]) -> pl.DataFrame:
    """One row per system over all assessors: the mean of what they saw, as the scores are means."""
    if len(coverages) == 1:
        return coverages[0]
    return (
        pl.concat(coverages)
        .group_by("system", maintain_order=True)
        .agg(
            pl.col("queries", "missing", "unknown").max(),
            pl.col("items", "judged", "tied").mean().round().cast(pl.Int64),
        )
    )


def _gather_one(
    judgments: Topics,
    blocks: Sequence[Block],
    measures: Sequence[Measure],
    policy: Policy,
    systems: Sequence[str],
    *,
    score_empty: Callable[..., tuple[Floats, Floats | None]],
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame | None, pl.DataFrame]:
    numeric = list(dict.fromkeys(str(m) for m in measures if not m.definition.text))
    first = {str(m): row for row, m in reversed(list(enumerate(m for m in measures if not m.definition.text)))}
    rows = [first[name] for name in numeric]
    names = [system for block in blocks for system in block.systems]
    places = np.concatenate([block.places for block in blocks] or [np.zeros(0, dtype=np.int64)])
    values = np.concatenate([block.values[rows] for block in blocks] or [np.zeros((len(rows), 0))], axis=1)
    spreads = [block.spread for block in blocks if block.spread is not None]
    spread = np.concatenate([part[:, rows] for part in spreads], axis=2) if spreads else None
    number = {system: place for place, system in enumerate(systems)}
    owner = np.array([number[name] for name in names], dtype=np.int64)
    coverage = _coverage([block.coverage for block in blocks], systems)
    seen = np.zeros((len(systems), len(judgments.queries)), dtype=bool)
    if len(owner):
        seen[owner, places] = True
    if not seen.any(1).all():
        barren = systems[int(np.flatnonzero(~seen.any(1))[0])]
        raise JoinError(f"run {barren!r} has no topic with judgments: {_nothing_shared(judgments, coverage)}")
    if not seen.any():
        raise JoinError("the run is empty: there is nothing to measure")
    absent = np.argwhere(~seen)
    if len(absent) and policy.missing == "error":
        system, query = systems[absent[0][0]], judgments.queries[absent[0][1]]
        raise JoinError(
            f"run {system!r} lacks judged topic {query!r} ({len(absent)} in all); "
            "allow it with missing=empty (counts as an empty list) or missing=skip"
        )
    coverage = coverage.with_columns(pl.Series("missing", (~seen).sum(1), dtype=pl.Int64))
    text = _texts(blocks, measures, judgments)
    if len(absent) and policy.missing == "empty":
        empty, empty_spread = score_empty(judgments, absent[:, 1], measures, policy)
        owner, places = np.append(owner, absent[:, 0]), np.append(places, absent[:, 1])
        values = np.concatenate([values, empty[rows]], axis=1)
        if spread is not None:
            unknown = np.full((3, len(rows), len(absent)), np.nan)
            spread = np.concatenate([spread, unknown if empty_spread is None else empty_spread[:, rows]], axis=2)
    order = np.lexsort((places, owner))
    count = len(rows)
    flat = values[:, order].T.ravel()
    undefined = np.isnan(flat)
    columns = {
        "system": pl.Series(systems)[np.repeat(owner[order], count)],
        "query": pl.Series(judgments.queries)[np.repeat(places[order], count)],
        "measure": pl.Series(numeric * len(order), dtype=pl.String),
        "value": np.where(undefined, 0.0, flat) if policy.undefined == "zero" else flat,
    }
    for place, name in enumerate(("sd", "lo", "hi")):
        column = pl.Series(name, spread[place][:, order].T.ravel()) if spread is not None else None
        columns[name] = (
            column.fill_nan(None) if column is not None else pl.repeat(None, len(flat), dtype=pl.Float64, eager=True)
        )
    columns["undefined"] = undefined.astype(float)
    scored = np.bincount(owner, minlength=len(systems))
    coverage = coverage.with_columns(pl.Series("queries", scored, dtype=pl.Int64)).select(
        "system", "queries", "missing", "unknown", "items", "judged", "tied"
    )
    lacking = pl.DataFrame(
        [(systems[system], judgments.queries[query]) for system, query in absent],
        schema={"system": pl.String, "query": pl.String},
        orient="row",
    )
    return pl.DataFrame(columns), coverage, text, lacking


def _nothing_shared(judgments: Topics, coverage: pl.DataFrame) -> str:
    return (
        f"the judgments know topics like {judgments.queries[0]!r}, "
        f"the run has {int(coverage['unknown'].sum())} topics that are not among them; do the two belong together?"
    )


def _coverage(parts: list[pl.DataFrame], systems: Sequence[str]) -> pl.DataFrame:
    order = pl.DataFrame({"system": list(systems)}, schema={"system": pl.String})
    if not parts:
        return order.with_columns(pl.lit(0).alias(name) for name in ("unknown", "items", "judged", "tied"))
    summed = pl.concat(parts).group_by("system").sum()
    return order.join(summed, on="system", how="left", maintain_order="left").fill_null(0)


def _score_empty(
    judgments: Judgments, places: Ints, measures: Sequence[Measure], policy: Policy
) -> tuple[Floats, Floats | None]:
    """Values of an empty list for these queries."""
    size = len(places)
    pool, pool_stratum = judgments.pools(places)
    sampled = judgments.sizes.shape[1] > 0
    lists = Lists(
        rank=np.zeros((size, 0), dtype=np.int64),
        grade=np.zeros((size, 0)),
        retrieved=np.zeros(size, dtype=np.int64),
        pool=pool,
        top=judgments.top,
        stratum=np.zeros((size, 0), dtype=np.int64) if sampled else None,
        pool_stratum=pool_stratum if sampled else None,
        stratum_size=judgments.sizes[places] if sampled else None,
    )
    numeric = [m for m in measures if not m.definition.text]
    if policy.ties in {"average", "range"}:  # an empty list has no ties
        policy = replace(policy, ties="trec")
    return score(lists, numeric, policy, places)


def _texts(blocks: Sequence[Block], measures: Sequence[Measure], judgments: Topics) -> pl.DataFrame | None:
    wanted = [str(m) for m in measures if m.definition.text]
    if not wanted:
        return None
    rows = [
        (system, judgments.queries[place], name, block.texts[row][at])
        for block in blocks
        for row, name in enumerate(wanted)
        for at, (system, place) in enumerate(zip(block.systems, block.places, strict=True))
    ]
    return pl.DataFrame(rows, schema=["system", "query", "measure", "text"], orient="row")
