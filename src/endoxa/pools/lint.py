"""Problems that spoil an evaluation without being errors: ties, missing topics, unknown ids."""

from __future__ import annotations

from typing import Literal

import polars as pl

from endoxa.beliefs.consensus import strangers
from endoxa.frozen import dataclass
from endoxa.tables import Opinions, Run


@dataclass(frozen=True)
class Finding:
    """One line of a check. `error`: a number made from this would be wrong. `warning`: look at it."""

    state: Literal["error", "warning", "fine"]
    text: str


def judgments(opinions: Opinions, path: str) -> list[Finding]:
    """Shape of the judgments, topics without anything relevant, grades that may be probabilities."""
    frame = opinions.frame
    grades = frame["grade"].drop_nulls()
    topics = frame["query"].n_unique()
    values = grades.to_numpy()
    span = f"grades {values.min():g} to {values.max():g}" if len(values) else "no grades"
    machines = frame.filter(pl.col("kind") == "judge").height
    what = "judgments" if machines < max(frame.height, 1) else "grades of kind judge"
    found = [Finding("fine", f"{path}: {frame.height:,} {what} on {topics:,} topics, {span}")]

    def warn(text: str) -> None:
        found.append(Finding("warning", f"{path}: {text}"))

    barren = frame.group_by("query").agg((pl.col("grade") >= 1).sum()).filter(pl.col("grade") == 0)
    if barren.height:
        names = ", ".join(barren["query"].sort().head(5).to_list())
        warn(f"{barren.height:,} topics have no item of grade 1 or more ({names}): AP, R and nDCG may be 0/0 there")
    unjudged = frame.filter(pl.col("grade") < 0).height
    if unjudged:
        warn(f"{unjudged:,} negative grades; they mean pooled but not judged")
    fractions = grades.filter(grades != grades.floor()).len()
    if fractions:
        warn(f"{fractions:,} grades are fractions; only 1 or more is relevant, unless -l says less")
    if 0 < machines < frame.height:
        warn(f"{machines:,} judgments are by machine judges (kind judge), the others are not")
    if len(opinions.sources) > 1 or machines:
        who = "assessor" if machines < frame.height else "machine judge"
        count = f"{len(opinions.sources)} {who}{'s' if len(opinions.sources) > 1 else ''}"
        found.append(Finding("fine", f"{path}: {count}: {', '.join(opinions.sources[:8])}"))
    return found


def run(run: Run, path: str, opinions: Opinions | None) -> list[Finding]:
    """Shape of a run, ties, and how it fits the judgments."""
    found: list[Finding] = []
    for system in run.systems:
        frame = run.frame.filter(pl.col("system") == system)
        sizes = frame.group_by("query").len()["len"]
        shape = f"{frame.height:,} items for {len(sizes):,} topics, {sizes.min()!s} to {sizes.max()!s} each"
        found.append(Finding("fine", f"{path}: {system}: {shape}"))
        tied = frame.filter(pl.len().over("query", "block") > 1).height
        if tied:
            state: Literal["warning", "fine"] = "warning" if tied > 0.05 * frame.height else "fine"
            share = f"{tied / frame.height:.1%} of the items have tied scores"
            found.append(Finding(state, f"{path}: {share}; --ties average or range shows what depends on it"))
        infinite = frame.filter(pl.col("score").is_infinite()).height
        if infinite:
            found.append(Finding("warning", f"{path}: {infinite:,} scores are infinite"))
        if opinions is not None:
            found += _fit(frame, path, opinions)
    return found


def together(answered: pl.DataFrame) -> list[Finding]:
    """How runs without judgments fit each other, from the columns path, system and query of all of them."""
    several = pl.col("system").n_unique().over("path") > 1
    name = pl.when(several).then(pl.col("path") + ": " + pl.col("system")).otherwise("path")
    answered = answered.select(system=name, query="query").unique(maintain_order=True)
    if answered["system"].n_unique() < 2:
        return []
    alone = strangers(answered)
    found = [Finding("error", f"{name}: {wrong}") for name, wrong in alone.items()]
    comparable = answered.filter(~pl.col("system").is_in(list(alone)))
    topics = comparable.select("query").unique().sort("query")
    for name in comparable["system"].unique(maintain_order=True):
        lacking = topics.join(
            comparable.filter(pl.col("system") == name), on="query", how="anti", maintain_order="left"
        )
        if lacking.height:
            names = ", ".join(lacking["query"].head(5).to_list())
            what = f"lacks {lacking.height:,} of the {topics.height:,} topics of the other runs ({names})"
            found.append(Finding("warning", f"{name}: {what}; they count as empty lists"))
    return found


def _fit(frame: pl.DataFrame, path: str, opinions: Opinions) -> list[Finding]:
    found: list[Finding] = []
    topics = opinions.frame.select("query").unique()
    lacking = topics.join(frame, on="query", how="anti")
    unknown = frame.select("query").unique().join(topics, on="query", how="anti")
    if lacking.height == topics.height:
        return [Finding("error", f"{path}: no topic is judged; do run and judgments belong together?")]
    if lacking.height:
        names = ", ".join(lacking["query"].sort().head(5).to_list())
        found.append(Finding("warning", f"{path}: lacks {lacking.height:,} judged topics ({names})"))
    if unknown.height:
        names = ", ".join(unknown["query"].sort().head(5).to_list())
        found.append(
            Finding("warning", f"{path}: {unknown.height:,} topics have no judgments ({names}); they are ignored")
        )
    pairs = opinions.frame.filter(pl.col("grade") >= 0).select("query", "item").unique()
    for depth in (10, None):
        top = frame.join(topics, on="query", how="semi")
        top = top if depth is None else top.filter(pl.col("rank") <= depth)
        share = top.join(pairs, on=["query", "item"], how="semi").height / max(top.height, 1)
        state: Literal["warning", "fine"] = "warning" if share < (0.9 if depth else 0.5) else "fine"
        where = "all retrieved items" if depth is None else f"the first {depth}"
        found.append(Finding(state, f"{path}: {share:.1%} of {where} are judged"))
    known = set(opinions.frame["item"].unique().to_list())
    if known.isdisjoint(frame["item"].unique().to_list()):
        found.append(
            Finding("error", f"{path}: no item id occurs in the judgments; do the ids belong to another collection?")
        )
    return found
