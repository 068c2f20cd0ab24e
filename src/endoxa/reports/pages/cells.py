"""The cells of the tables of a page: names, numbers, shares, each with what it is sorted by."""

from __future__ import annotations

import math

from endoxa import formatting
from endoxa.evaluations.standings import Chances
from endoxa.formatting import DASH, clean
from endoxa.frozen import dataclass

NAME = 48  # letters of a name in a table; the title of the cell has the whole name


@dataclass(frozen=True)
class Cell:
    """One cell: its text, what it is sorted by, and a second line in small letters. A `virtual` one greys its row.

    `link` is the id of a section of the same page.
    """

    text: str
    sort: float | str = ""
    small: str = ""
    title: str = ""
    strong: bool = False
    numeric: bool = True
    virtual: bool = False
    link: str = ""


def name(text: str, small: str = "", *, virtual: bool = False) -> Cell:
    """A name, shortened; the title has all of it."""
    short = formatting.shortened([text], NAME)[0]
    return Cell(short, clean(text), small, clean(text), numeric=False, virtual=virtual)


def text(text: str, *, virtual: bool = False) -> Cell:
    """A cell of words."""
    return Cell(clean(text), clean(text), numeric=False, virtual=virtual)


def number(value: float | None, decimals: int = 4, *, small: str = "", strong: bool = False) -> Cell:
    """A number, or a dash."""
    return Cell(formatting.number(value, decimals), _sort(value), small, strong=strong)


def interval(
    value: float | None, lo: float | None, hi: float | None, decimals: int = 4, *, strong: bool = False
) -> Cell:
    """A number with its interval below it, where there is one."""
    ends = f"[{formatting.number(lo, decimals)}, {formatting.number(hi, decimals)}]"
    return number(value, decimals, small="" if lo is None or math.isnan(lo) else ends, strong=strong)


def signed(value: float | None, decimals: int = 4) -> Cell:
    """A difference with its sign."""
    return Cell(formatting.signed(value, decimals), _sort(value))


def chance(p: float | None, decimals: int = 2) -> Cell:
    """A probability that was counted in draws."""
    return Cell(formatting.chance(p, decimals), _sort(p))


def chances(one: Chances) -> list[Cell]:
    """The probabilities that a system is better, equal and worse."""
    return [chance(p, 3) for p in (one.better, one.tie, one.worse)]


def share(part: float | None, whole: float = 1) -> Cell:
    """A share in per cent."""
    if part is None or math.isnan(part) or not whole > 0:
        return Cell(DASH)
    return Cell(formatting.share(part, whole), part / whole)


def whole(value: int | None, *, alert: bool = False, small: str = "") -> Cell:
    """A count; bold if it is an alert and not 0."""
    return Cell(DASH if value is None else f"{value}", _sort(value), small, strong=alert and bool(value))


def _sort(value: float | None) -> float | str:
    return "" if value is None or math.isnan(value) else value
