"""What systems cost: time to describe, to index and to answer, and the size of the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endoxa.formatting import DASH, number, size
from endoxa.reports.pages import cells
from endoxa.reports.pages.cells import Cell
from endoxa.reports.pages.layout import Grid

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
                cells.text(system), _milliseconds(described),
                Cell(number(built["seconds"], 2), built["seconds"]) if built else Cell(DASH),
                Cell(size(built["bytes"]), built["bytes"]) if built else Cell(DASH), _milliseconds(asked),
            ]
        )  # fmt: skip
    return Grid(
        "Cost of each system",
        ("system", "picture, ms", "index, s", "index, size", "query, ms"),
        rows,
        note="Medians, with the 95th percentile below. Pictures are described once, on one core each; systems that "
        "share a descriptor share its cost. Queries run one at a time, against all pictures.",
    )


def _milliseconds(row: dict[str, float] | None) -> Cell:
    if row is None or row["median"] is None:
        return Cell(DASH)
    places = 1 if row["median"] < 0.1 else 0
    return Cell(
        number(1000 * row["median"], places), row["median"], small=f"{number(1000 * row['p95'], places)} at p95"
    )
