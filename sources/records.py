"""One table or figure of a source: what is printed, what Endoxa gives, and how the two compare.

A record whose input is printed in the source has `ours`, a function that calls the library on that input; every cell is
compared with the printed one, and a cell that differs must be named in `errata`. A record whose data is gone names a
`study` on open data instead. A record of something that is missing in our copy says so in `lost`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from endoxa.formatting import MINUS, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TINY = 1e-9
MORE = 3  # digits of ours beyond the printed ones
SIGNS = {"+": 1.0, "-": 0.0, "∞": math.inf}

# The name of a row, and its numbers in the order of the columns; None where a printed number is the input.
Values = Mapping[str, Sequence[float | None]]


@dataclass(frozen=True)
class Source:
    """A source: its short name in headings, and its full title."""

    key: str
    name: str
    title: str


@dataclass(frozen=True)
class Table:
    """A table of texts; the first of each row is its name. A first head that is empty is called `what`."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if not self.heads[0]:
            object.__setattr__(self, "heads", ("what", *self.heads[1:]))

    @classmethod
    def read(cls, caption: str, text: str) -> Table:
        """A table written as lines whose cells are separated by `|`; the first line has the heads."""
        lines = [tuple(cell.strip() for cell in line.split("|")) for line in text.strip().splitlines()]
        if any(len(line) != len(lines[0]) for line in lines):
            raise ValueError(f"{caption}: every line must have {len(lines[0])} cells")
        return cls(caption, lines[0], tuple(lines[1:]))

    @classmethod
    def of(cls, caption: str, heads: Sequence[str], rows: Mapping[str, Sequence[Any]], digits: int = 6) -> Table:
        """A table of numbers, written with `digits` decimals; texts and whole numbers stay as they are."""
        lines = tuple((name, *(written(value, digits) for value in values)) for name, values in rows.items())
        return cls(caption, tuple(heads), lines)


def written(value: Any, digits: int) -> str:
    """A value as text: a float with `digits` decimals, everything else as it is."""
    return number(value, digits) if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Drawing:
    """A figure: a function that draws it at a `width`, what it shows in words, and its numbers."""

    draw: Callable[..., Figure]
    heading: str
    label: str
    caption: str
    numbers: Table


@dataclass(frozen=True)
class Record:
    """A table, a figure or a worked example of a source.

    printed   the numbers as printed; None where there are none, or where they are missing in our copy
    ours      our numbers on the printed input, in the rows and columns of `printed`
    errata    (row, column) of cells that are wrong in print: the number of the erratum in docs/errata.md
    lost      what is missing in our copy, or why it cannot be reproduced
    study     the name of the study on open data whose result the functions below are given
    sentence  what agrees and what does not
    tables    further tables of ours
    drawings  our figures
    """

    source: Source
    name: str
    title: str
    where: str
    sentence: str | Callable[[Any], str]
    printed: Table | None = None
    ours: Callable[[], Values] | None = None
    errata: Mapping[tuple[str, str], str] = field(default_factory=dict)
    lost: str = ""
    study: str = ""
    tables: Callable[[Any], Sequence[Table]] | None = None
    drawings: Callable[[Any], Sequence[Drawing]] | None = None

    @property
    def slug(self) -> str:
        """The name in links and on the command line: `lamiroy-sun-table-3`."""
        kept = "".join(letter if letter.isalnum() else "-" for letter in f"{self.source.key} {self.name}".lower())
        return "-".join(part for part in kept.split("-") if part)


@dataclass(frozen=True)
class Cell:
    """A printed cell beside ours: `agrees` to the printed digits; the number of its erratum, if it has one."""

    row: str
    column: str
    printed: str
    ours: float
    agrees: bool
    erratum: str = ""

    @property
    def text(self) -> str:
        """Ours, with three digits more than printed."""
        if math.isnan(self.ours):
            return "undefined"
        return number(self.ours, decimals(self.printed) + MORE if "." in self.printed else 0)


@dataclass(frozen=True)
class Compared:
    """All cells of a record whose input is printed."""

    cells: tuple[Cell, ...]

    @property
    def errata(self) -> tuple[Cell, ...]:
        """The cells that are wrong in print."""
        return tuple(cell for cell in self.cells if cell.erratum)

    @property
    def unexplained(self) -> tuple[Cell, ...]:
        """Cells that differ without an erratum, or have one and agree: there must be none."""
        return tuple(cell for cell in self.cells if cell.agrees == bool(cell.erratum))


def compare(record: Record) -> Compared:
    """Compute our numbers and compare every printed cell with ours. Inputs, words and empty cells are not compared."""
    if record.printed is None or record.ours is None:
        raise ValueError(f"{record.slug} has no printed input")
    values, found = record.ours(), []
    for name, *texts in record.printed.rows:
        if name not in values:
            continue
        for column, text, ours in zip(record.printed.heads[1:], texts, values[name], strict=True):
            if ours is None or (printed := figure(text)) is None:
                continue
            agrees = same(printed, ours, decimals(text))
            found.append(Cell(name, column, text, ours, agrees, record.errata.get((name, column), "")))
    return Compared(tuple(found))


def figure(text: str) -> float | None:
    """The number that a printed cell holds; None where it holds words or nothing."""
    text = text.partition("(")[0].strip().replace(MINUS, "-")
    if text in SIGNS:
        return SIGNS[text]
    try:
        return float(text)
    except ValueError:
        return None


def decimals(text: str) -> int:
    """The number of digits after the point of a printed number."""
    return len(text.partition("(")[0].strip().partition(".")[2])


def same(printed: float, ours: float, digits: int, *, cut: bool = False) -> bool:
    """Whether ours, rounded (or `cut`) to the printed digits, is the printed number; a half may go either way."""
    if not (math.isfinite(printed) and math.isfinite(ours)):
        return printed == ours
    unit = 10.0**-digits
    if cut:
        return -TINY <= ours - printed < unit - TINY
    return abs(ours - printed) <= unit / 2 + TINY
