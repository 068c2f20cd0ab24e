"""Tables of a page, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """One cell: what stands there, what it is sorted by, a second line in small letters."""

    text: str
    sort: float | str = ""
    small: str = ""
    title: str = ""
    strong: bool = False
    numeric: bool = True


@dataclass(frozen=True)
class Grid:
    """A table: its caption, the heads, rows of cells of which the first names the row. `baseline` is a grey row."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    sorted_by: int | None = None
    ascending: bool = False
    note: str = ""
    baseline: int | None = None
