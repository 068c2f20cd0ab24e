"""The section of a page on items that people filed: the tree of categories with shares, sizes and agreement."""

from __future__ import annotations

import math
from typing import Any

from endoxa.evaluations.evaluation import Evaluation
from endoxa.formatting import number
from endoxa.reports.pages import cells
from endoxa.reports.pages.cells import Cell
from endoxa.reports.pages.layout import Grid, Section

STEP = "\u00a0\u00a0"  # blanks that HTML keeps, and at which no line is broken


def filed(evaluation: Evaluation) -> Section | None:
    """The tree of what people filed, and the shares of the items on which they agree least."""
    tree, shares = evaluation.tables.get("categories"), evaluation.tables.get("filed")
    overall = evaluation.tables.get("filing_agreement")
    if tree is None or shares is None or overall is None:
        return None
    rows = [
        [
            _branch(at, row), cells.number(row["size"], 1), cells.interval(row["alpha"], row["lo"], row["hi"], 2),
            Cell(f"{row['filed']:.4g}", row["filed"]),
        ]
        for at, row in enumerate(tree.iter_rows(named=True))
    ]  # fmt: skip
    heads = ("category", "size", "agreement", "filed here")
    note = (
        "Size: expected number of items in the category or below, the sum of their shares. Agreement: Krippendorff’s "
        "alpha on whether an item belongs there; 1 is full agreement, 0 is chance."
    )
    grids = [Grid("The categories, each below its parent", heads, rows, note=note)]
    items = shares["item"].unique(maintain_order=True).to_list()
    found = {(row["item"], row["category"]): row for row in shares.iter_rows(named=True)}
    if items:
        lines = [
            [_branch(at, row), *(_share(found[item, row["category"]]) for item in items)]
            for at, row in enumerate(tree.iter_rows(named=True))
        ]
        caption = "Share of people who filed an item there or below; the items on which they agree least"
        grids.append(
            Grid(caption, ("category", *items), lines, note="In small letters: how many people filed it exactly there.")
        )
    by_tree, nominal = overall["alpha"]
    lines_of = ["No two people filed the same items differently: their agreement is undefined."]
    if not math.isnan(by_tree):
        lines_of = [
            f"The people agree with alpha {number(by_tree, 2)} by distance in the tree ({number(nominal, 2)} if "
            "categories are only equal or not)."
        ]
    return Section("filed", "Filing", "Where people filed the items", lines_of, grids)


def _branch(at: int, row: dict[str, Any]) -> Cell:
    """The name, set in as deep as the category lies."""
    plain = cells.name(row["category"])
    several = f"\u2002also below {row['parents'].split(', ', 1)[1]}" if ", " in row["parents"] else ""
    return Cell(STEP * row["depth"] + plain.text, at, several, plain.title, numeric=False)


def _share(row: dict[str, Any]) -> Cell:
    """A share, strong where it is that of half the people or more."""
    people = f"{row['filed']:.4g}" if row["filed"] else ""
    return Cell(f"{100 * row['p']:.0f} %" if row["p"] else "", row["p"], people, strong=row["p"] >= 0.5)
