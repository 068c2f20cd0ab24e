"""Columns of a table on a terminal: how wide each is, and which stand below because they do not fit.

Where a table is too wide, headings are broken at blanks first, then long names between their words and texts at blanks.
A column that does not fit even so stands below with those after it, beside the columns that name the rows. Numbers, and
names and texts of up to `ROOM` letters, are never broken.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from functools import cached_property, partial

from endoxa.formatting import folded, longest, words_of
from endoxa.frozen import dataclass
from endoxa.reports.sheets import GAP, Head, Sheet, escaped

ROOM = 28  # letters that a name gets before it is broken
LEAST = 8  # letters that it gets where even the names of the rows do not fit side by side


@dataclass(frozen=True, eq=False)
class Column:
    """The heading, the cells, whether they are numbers, and whether they are names, which tell rows apart."""

    head: str
    cells: Sequence[str]
    is_number: bool = False
    is_name: bool = False

    @cached_property
    def content(self) -> int:
        """Letters of the longest cell, or of the longest word of the heading."""
        return max([longest(self.head), *map(len, self.cells)])

    @cached_property
    def most(self) -> int:
        """Letters where nothing is broken."""
        return max(self.content, len(self.head))

    @cached_property
    def least(self) -> int:
        """Letters where names and texts are broken."""
        if self.is_number:
            return self.content
        parts = [
            len(part.rstrip()) for cell in self.cells for part in (words_of(cell) if self.is_name else cell.split())
        ]
        return min(self.content, max([ROOM, longest(self.head), *parts]))

    def broken(self, size: int) -> list[str]:
        """The cells on lines of so many letters."""
        fold = partial(folded, room=size) if self.is_name else partial(_filled, size=size)
        return [cell if len(cell) <= size else fold(cell) for cell in self.cells]


def laid_out(columns: Sequence[Column], width: int) -> Sheet:
    """The columns as a table of this width, those that do not fit below the others."""
    sheet: Sheet | None = None
    for group in reversed(_groups(columns, width)):
        sizes = _sizes(group, width)
        heads = [
            Head(escaped(_filled(one.head, size)), "right" if one.is_number else "left", fold=True)
            for one, size in zip(group, sizes, strict=True)
        ]
        cells = [one.broken(size) for one, size in zip(group, sizes, strict=True)]
        sheet = Sheet(heads, [list(map(escaped, row)) for row in zip(*cells, strict=True)], sheet)
    return Sheet([], []) if sheet is None else sheet


def _groups(columns: Sequence[Column], width: int) -> list[list[Column]]:
    """Which columns stand beside each other: all, if they fit; else as many as fit beside those that name the rows."""
    if _whole([one.most for one in columns]) <= width or _whole([one.least for one in columns]) <= width:
        return [list(columns)]
    keys = [one for one in columns if one.is_name] or list(columns[:1])
    others = [one for one in columns if one not in keys]
    room = width - _whole([one.least for one in keys]) - len(GAP)
    groups: list[list[Column]] = [[]]
    for one in others:
        if groups[-1] and _whole([other.least for other in (*groups[-1], one)]) > room:
            groups.append([])
        groups[-1].append(one)
    return [[one for one in columns if one in keys or one in group] for group in groups]


def _sizes(columns: Sequence[Column], width: int) -> list[int]:
    """How many letters each column gets; the widest give first, and of each what hurts least."""
    sizes = [one.most for one in columns]
    floors: list[Callable[[Column], int]] = [
        lambda one: one.content,
        lambda one: one.least,
        lambda one: min(LEAST, one.least) if one.is_name else one.least,
    ]
    for floor in floors:
        while _whole(sizes) > width:
            giving = [
                (size, -at) for at, (one, size) in enumerate(zip(columns, sizes, strict=True)) if size > floor(one)
            ]
            if not giving:
                break
            sizes[-max(giving)[1]] -= 1
    return sizes


def _whole(sizes: Sequence[int]) -> int:
    """The width of columns of these sizes with their gaps."""
    return sum(sizes) + len(GAP) * (len(sizes) - 1)


def _filled(text: str, size: int) -> str:
    """A text broken at blanks only."""
    if len(text) <= size:
        return text
    return textwrap.fill(text, size, break_long_words=False, break_on_hyphens=False)
