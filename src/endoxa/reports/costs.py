"""What systems cost, beside what they are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endoxa.reports.labels import DASH, clean, number, size
from endoxa.reports.tables import Cell, Grid

if TYPE_CHECKING:
    from endoxa.tables import Costs


def cost_grid(costs: Costs) -> Grid:
    """A row per system: seconds of a picture, of the index and of a query, and the size of the index."""
    at = {(row["system"], row["phase"]): row for row in costs.frame.iter_rows(named=True)}
    rows = []
    for system in costs.frame["system"].unique(maintain_order=True):
        described, built, asked = (at.get((system, phase)) for phase in ("describe", "build", "query"))
        rows.append(
            [
                Cell(clean(system), clean(system), numeric=False),
                _milliseconds(described),
                _seconds(built),
                Cell(size(built["bytes"]), built["bytes"]) if built else Cell(DASH),
                _milliseconds(asked),
            ]
        )
    return Grid(
        "Cost of each system",
        ("system", "a picture, ms", "the index, s", "the index, size", "a query, ms"),
        rows,
        note="Median, and the 95th percentile below it. Pictures are described once, on one core each; systems that "
        "share a descriptor share its cost. Queries one at a time, against all pictures.",
    )


def _milliseconds(row: dict[str, float] | None) -> Cell:
    if row is None or row["median"] is None:
        return Cell(DASH)
    places = 1 if row["median"] < 0.1 else 0
    return Cell(
        number(1000 * row["median"], places), row["median"], small=f"{number(1000 * row['p95'], places)} at p95"
    )


def _seconds(row: dict[str, float] | None) -> Cell:
    return Cell(DASH) if row is None else Cell(number(row["seconds"], 2), row["seconds"])
