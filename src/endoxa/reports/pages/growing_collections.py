"""The page of curves under common generalities, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import polars as pl

from endoxa.evaluations.growing import RECALLS, Growing
from endoxa.formatting import clean, counted, html_of, number
from endoxa.reports.figures.recall_curves import curves, curves_order
from endoxa.reports.pages import cells
from endoxa.reports.pages.layout import Chart, Grid, Section, chart, render

CAVEAT = (
    "Irrelevant items were left out at random. A collection that grows may add items that are harder than these. "
    "Unjudged items count as irrelevant, and what a list does not reach has a precision of 0."
)


def answer(found: Growing, *, name: Callable[[str], str] = str) -> str:
    """What more irrelevant items do to the system with the greatest mean in the end; it is not called the best."""
    means = found.means
    most, least = means["generality"].max(), means["generality"].min()
    at_least = means.filter(pl.col("generality") == least)
    system, precision = at_least.sort("precision", descending=True, maintain_order=True).row(0)[:4:3]
    queries = counted(found.queries, "query", "queries")
    if most == least:
        return (
            f"At the common generality of {share(least)}, which a random ranking reaches, {name(system)} has a mean "
            f"precision over recall of {number(precision, 3)} ({queries})."
        )
    before = means.filter((pl.col("generality") == most) & (pl.col("system") == system))["precision"][0]
    return (
        f"From the generality of {share(most)} to {share(least)}, mean precision over recall of {name(system)} changes "
        f"from {number(before, 3)} to {number(precision, 3)}, although its order of the items is the same; a random "
        f"ranking goes from {share(most)} to {share(least)} ({queries})."
    )


def share(generality: object) -> str:
    """A generality with two digits."""
    return f"{float(generality):.2g}"  # type: ignore[arg-type]


def table(found: Growing) -> pl.DataFrame:
    """A row per generality and system, the best mean first; the last row of each generality is a random ranking."""
    rows = []
    for level in found.means["generality"].unique(maintain_order=True):
        part = found.curves.filter(pl.col("generality") == level)
        for system in curves_order(part):
            values = part.filter(pl.col("system") == system).sort("recall")["precision"].to_list()
            rows.append((level, part["irrelevant"][0], system, *values, sum(values) / len(values)))
        rows.append((level, part["irrelevant"][0], "random ranking", *[level] * len(RECALLS), level))
    heads = ["generality", "irrelevant", "system", *(f"{recall:g}" for recall in RECALLS), "mean"]
    return pl.DataFrame(rows, schema=heads, orient="row")


def page(found: Growing) -> str:
    """The curves as one HTML file that opens offline."""
    levels = found.means["generality"].unique(maintain_order=True).to_list()
    systems = curves_order(found.curves.filter(pl.col("generality") == levels[-1]))
    common = Section(
        "common", "Common generality", "Systems under a common generality",
        ["All queries have the same share of relevant items. The dashed line is what a random ranking reaches."],
        [_grid(found)], [_systems(found, level) for level in reversed(levels)],
    )  # fmt: skip
    growing = Section(
        "growing", "Growing collection", "The same system among more and more irrelevant items",
        ["Each line is a collection; its order of the items that stay is the same in all."],
        charts=[_levels(found, system) for system in systems],
    )  # fmt: skip
    return render(
        title="Precision and recall under a common generality", answer=html_of(lambda name: answer(found, name=name)),
        facts=[counted(found.queries, "query", "queries"), f"{found.size:,} items", f"{len(systems)} systems"],
        warnings=found.notes, sections=[common, growing], policies=[], notes=[CAVEAT], provenance={},
    )  # fmt: skip


def _grid(found: Growing) -> Grid:
    frame = table(found)
    rows = [
        [
            cells.number(row[0], 4),
            cells.number(row[1], 0),
            cells.name(row[2]),
            *(cells.number(one, 3) for one in row[3:]),
        ]
        for row in frame.iter_rows()
    ]
    caption = "Interpolated precision at each recall, under each common generality"
    return Grid(caption, tuple(frame.columns), rows)


def _systems(found: Growing, level: float) -> Chart:
    """All systems at one generality, with its line."""
    rows = found.curves.filter(pl.col("generality") == level)
    heading = f"Generality {share(level)}"
    return _chart(rows, heading, f"Precision at each recall of all systems at the generality of {share(level)}")


def _levels(found: Growing, system: str) -> Chart:
    """One system at all generalities."""
    rows = found.curves.filter(pl.col("system") == system).with_columns(
        pl.col("generality")
        .map_elements(lambda level: f"generality {share(level)}", return_dtype=pl.String)
        .alias("system"),
        pl.lit(float("nan")).alias("generality"),
    )
    return _chart(
        rows, clean(system), f"Precision at each recall of {clean(system)} as irrelevant items grow in number"
    )


def _chart(rows: pl.DataFrame, heading: str, caption: str) -> Chart:
    drawn = rows.with_columns(generality_low=pl.col("generality"), generality_high=pl.col("generality"))
    names = curves_order(drawn)
    values = drawn.pivot("system", index="recall", values="precision").sort("recall")
    lines = [
        [cells.number(row["recall"], 1), *(cells.number(row[name], 3) for name in names)]
        for row in values.iter_rows(named=True)
    ]
    return chart(
        partial(curves, drawn), heading=heading, label=caption, caption=f"{caption}.",
        grid=Grid(caption, ("recall", *names), lines),
    )  # fmt: skip
