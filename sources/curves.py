"""Figures of precision against recall, drawn as the library draws them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from endoxa.reports.figures.recall_curves import curves
from sources.records import Drawing, Table

Points = Sequence[tuple[float, float]]  # recall and precision


def recall_drawing(named: Mapping[str, Points], heading: str, label: str, numbers: Table, caption: str = "") -> Drawing:
    """A line per name through its points; the order is by mean precision."""
    rows = [
        (name, recall, precision, *[math.nan] * 3) for name, points in named.items() for recall, precision in points
    ]
    schema = ["system", "recall", "precision", "generality", "generality_low", "generality_high"]
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return Drawing(partial(curves, frame), heading, label, caption or f"{label}.", numbers)
