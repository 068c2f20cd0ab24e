"""How filed items look on a terminal: the tree of categories with sizes and agreement, and the shares of the items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from endoxa.reports.sheets import Head, Sheet, escaped
from endoxa.reports.terminal import frame_table, interval, number

if TYPE_CHECKING:
    from endoxa.studies.filings import Filings

ITEMS, CATEGORIES = 20, 12  # that the table of items shows


def parts(found: Filings, item: str | None, *, width: int) -> Iterator[Any]:
    """The tree, with the shares of the one item that was asked for; else sizes and agreement, then the items."""
    if item is not None:
        shares = {name: (p, filed) for name, p, filed in found.of(item).select("category", "p", "filed").iter_rows()}
        yield f"[bold]{escaped(item)}[/bold]"
        rows = [[*_branch(row), number(shares[row["category"]][0]), _count(shares[row["category"]][1])]
                for row in found.tree.iter_rows(named=True)]  # fmt: skip
        yield Sheet([Head("category", no_wrap=True), Head("p", "right"), Head("filed", "right")], rows)
        return
    rows = [
        [*_branch(row), number(row["size"]), _count(row["filed"]), number(row["alpha"]), interval(row["lo"], row["hi"])]
        for row in found.tree.iter_rows(named=True)
    ]
    heads = [Head("category", no_wrap=True), *(Head(name, "right") for name in ("size", "filed", "alpha")), Head("")]
    if not any(row[-1] for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    yield Sheet(heads, rows)
    yield "\n[bold]Items[/bold]: share of pairs of people who agree; p, the share who filed it there or below"
    yield frame_table(_items(found), width=width)
    if found.items.height > ITEMS:
        yield f"… {found.items.height - ITEMS:,} more items; -q ITEM shows one, -o csv --to shares.csv writes all"
    elif found.tree.height > CATEGORIES:
        yield f"{found.tree.height:,} categories; -q ITEM shows an item in the tree, -o csv --to shares.csv writes all"


def _items(found: Filings) -> pl.DataFrame:
    """A row per item: how many filed it where, the share of agreeing pairs, and its shares if they fit."""
    shown = found.items.head(ITEMS)
    kept = found.shares.filter(pl.col("item").is_in(shown["item"].implode()))
    where = kept.filter(pl.col("filed") > 0).select(
        "item", text=pl.format("{} {}", "category", pl.col("filed").map_elements(_count, return_dtype=pl.String))
    )
    filed = where.group_by("item", maintain_order=True).agg(pl.col("text").str.join(", ").alias("filed_in"))
    table = shown.select("item", "people", "agreeing")
    if found.tree.height <= CATEGORIES:
        wide = kept.pivot("category", index="item", values="p", maintain_order=True)
        wide.columns = ["item", *(f"p({name})" for name in wide.columns[1:])]
        table = table.join(wide, on="item", how="left", maintain_order="left")
    return table.join(filed, on="item", how="left", maintain_order="left")


def _branch(row: dict[str, Any]) -> list[str]:
    """The name, as deep as its category lies; the parents, where there are several."""
    several = f" (also below {row['parents'].split(', ', 1)[1]})" if ", " in row["parents"] else ""
    return ["  " * row["depth"] + escaped(row["category"] + several)]


def _count(filed: float) -> str:
    """How many people; one who gave several categories is split among them."""
    return f"{filed:.4g}"
