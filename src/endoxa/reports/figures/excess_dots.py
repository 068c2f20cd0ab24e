"""A dot and an interval per word: how far its excess is above that of random words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from endoxa.evaluations.standings import Standing
from endoxa.formatting import number
from endoxa.reports.figures import style
from endoxa.reports.figures.dots import add_dot, add_texts, interval_of, prepare_rows, room_of_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@style.styled()
def excess_dots(words: pl.DataFrame, *, level: float, width: float = 7.0) -> Figure:
    """The words in the order given (word, above, lo, hi, q); those with q ≤ `level` are diamonds, 0 is a line."""
    rows = words.to_dicts()
    narrow = width < style.NARROW
    names = style.fitted([row["word"] for row in rows], 30, room_of_names(width))
    row_height = 0.44 if narrow else 0.28
    left = 0.15 if narrow else 1.08 * style.inches_of(names) + 0.25
    right = 0.15 if narrow else 1.75
    bottom, top = 0.52, 0.1
    tall = len(names) * row_height + bottom + top
    figure, axes = style.canvas(width, tall, left=left, bottom=bottom, right=right, top=top)
    ends = [0.0, *(row[name] for row in rows for name in ("above", "lo", "hi"))]
    prepare_rows(axes, len(names), ends, narrow)
    axes.set_xlabel("excess above random words")
    axes.axvline(0, color=style.MUTED, linewidth=1.2, linestyle=(0, (4, 3)), gid=style.hover("random words: 0"))
    for place, (row, name) in enumerate(zip(rows, names, strict=True)):
        one = Standing(row["word"], row["above"], row["lo"], row["hi"], 0, 0)
        text = style.hover(f"{row['word']}: {number(one.value, 3)}{interval_of(one, 3)}, q = {number(row['q'], 3)}")
        sure = row["q"] <= level
        y = place + (0.16 if narrow else 0.0)
        if not narrow:
            axes.axhline(y, color=style.FAINT, linewidth=0.6, zorder=0.5)
        add_dot(axes, one, y, style.BLUE if sure else style.SLATE, text, diamond=sure)
        above = place - 0.2 if narrow else y
        add_texts(axes, one, name, above, text, narrow=narrow, best=sure, decimals=3)
    return figure
