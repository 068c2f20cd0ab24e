"""Tables for a terminal: text in columns, printed by Rich, or without it where nothing need be broken.

A pipe is wide, so that a table fits nearly always; then it is printed at once, and Rich, which takes longer to load
than a small evaluation, stays unloaded. Texts are in Rich's markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from endoxa.frozen import dataclass

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

TAG = re.compile(r"(\\*)(\[[a-z#/@][^[]*?])")  # what Rich takes for markup
GAP = "  "


@dataclass(frozen=True)
class Head:
    """The head of a column: its name in markup, and how cells are set."""

    name: str
    justify: Literal["left", "right"] = "left"
    fold: bool = False  # a cell that is too long is broken anywhere
    no_wrap: bool = False


@dataclass(frozen=True)
class Sheet:
    """Columns and rows, in markup; `below` are further columns of the same rows, which did not fit beside them."""

    heads: Sequence[Head]
    rows: Sequence[Sequence[str]]
    below: Sheet | None = None

    def rich(self) -> Table | Group:
        """As a table of Rich, or one above the other."""
        if self.below is None:
            return self._table()
        from rich.console import Group

        return Group(self._table(), "", self.below.rich())

    def _table(self) -> Table:
        from rich.table import Table

        table = Table(box=None, header_style="bold", pad_edge=False)
        for head in self.heads:
            more: dict[str, Any] = {"overflow": "fold"} if head.fold else {}
            table.add_column(head.name, justify=head.justify, no_wrap=head.no_wrap, **more)
        for row in self.rows:
            table.add_row(*row)
        return table

    def text(self, width: int) -> str | None:
        """As Rich prints it to a pipe; None where that would break a line, or where characters are not one wide."""
        if self.below is not None:
            above, below = replace(self, below=None).text(width), self.below.text(width)
            return None if above is None or below is None else f"{above}\n\n{below}"
        lines = [[unmarked(head.name) for head in self.heads], *([unmarked(cell) for cell in row] for row in self.rows)]
        cells = [cell for line in lines for cell in line]
        if not lines[0] or any(not _is_simple(cell) for cell in cells):
            return None
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.heads))]
        if sum(widths) + len(GAP) * (len(widths) - 1) > width:
            return None
        right = [head.justify == "right" for head in self.heads]
        return "\n".join(
            GAP.join(
                cell.rjust(size) if to_right else cell.ljust(size)
                for cell, size, to_right in zip(line, widths, right, strict=True)
            )
            for line in lines
        )


def _is_simple(text: str) -> bool:
    """Whether every character takes one column, and Rich would change none."""
    plain = text.replace("–", "-").isascii() and text.isprintable() and text == text.rstrip()
    return plain and text.count(":") < 2


def escaped(text: str) -> str:
    """Text that is printed as it is; the same as rich.markup.escape."""
    text = TAG.sub(lambda found: f"{found[1]}{found[1]}\\{found[2]}", text)
    return text + "\\" if text.endswith("\\") and not text.endswith("\\\\") else text


def unmarked(text: str) -> str:
    """Markup without its tags."""

    def bare(found: re.Match[str]) -> str:
        count = len(found[1])
        return "\\" * (count // 2) + (found[2] if count % 2 else "")

    return TAG.sub(bare, text)
