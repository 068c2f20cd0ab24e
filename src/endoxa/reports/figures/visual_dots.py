"""A dot and an interval per word: its V beside that of random words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from endoxa.evaluations.standings import Standing
from endoxa.formatting import number
from endoxa.reports.figures import style
from endoxa.reports.figures.dots import add_row, interval_of, rows_of
from endoxa.words.seeing import VISUAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@style.styled()
def visual_dots(words: pl.DataFrame, *, width: float = 7.0) -> Figure:
    """The words in the order given (word, V, half, call); those called visual are diamonds, 0 is a line."""
    rows, narrow = words.to_dicts(), width < style.NARROW
    ends = [0.0, *(row["V"] + sign * row["half"] for row in rows for sign in (-1, 1))]
    names, figure, axes = rows_of([row["word"] for row in rows], 0.44 if narrow else 0.28, width, ends)
    axes.set_xlabel("V")
    axes.axvline(0, color=style.MUTED, linewidth=1.2, linestyle=(0, (4, 3)), gid=style.hover("random words: 0"))
    for place, (row, name) in enumerate(zip(rows, names, strict=True)):
        one = Standing(row["word"], row["V"], row["V"] - row["half"], row["V"] + row["half"], 0, 0)
        text = f"{row['word']}: {number(one.value, 2)}{interval_of(one, 2)}, {row['call']}"
        add_row(axes, one, name, place, text, marked=row["call"] == VISUAL, decimals=2, narrow=narrow)
    return figure
