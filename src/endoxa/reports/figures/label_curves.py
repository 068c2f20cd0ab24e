"""P(best) of systems against the number of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from endoxa.formatting import chance
from endoxa.reports.figures.line_chart import Line, line_chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTABLE = 0.1  # P(best) from which a system is drawn


def label_curves(curve: pl.DataFrame, until: float, *, width: float = 7.0) -> Figure:
    """P(best) after every batch of labels, one line per system, and a dashed line where the question is settled.

    `curve` has labels, system, p_best. Drawn are the systems of `notable`; the first six have a colour, marker and line
    style, the others are drawn in grey behind them.
    """
    lines = {}
    for system in notable(curve):
        rows = curve.filter(pl.col("system") == system).sort("labels")
        x, y = rows["labels"].to_numpy(), rows["p_best"].to_numpy()
        lines[system] = Line(x, y, f"{system}: {chance(y[-1])} after {x[-1]} labels")
    return line_chart(lines, across="labels given", up="P(best)", level=(until, f"settled: {until:g}"), width=width)


def notable(curve: pl.DataFrame) -> list[str]:
    """The systems that lead at any time or reach a P(best) of .1; the highest in the end first."""
    leads = pl.col("p_best") == pl.col("p_best").max().over("labels")
    names = curve.filter(leads | (pl.col("p_best") >= NOTABLE))["system"].unique()
    rows = curve.filter(pl.col("system").is_in(names.to_list())).sort("labels")
    ends = rows.group_by("system").agg(pl.col("p_best").last().alias("last"), pl.col("p_best").max().alias("most"))
    return ends.sort("last", "most", "system", descending=[True, True, False])["system"].to_list()
