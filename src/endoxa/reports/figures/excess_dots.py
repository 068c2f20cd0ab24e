"""A dot and an interval per word: how far its excess is above that of random words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from endoxa.evaluations.standings import Standing
from endoxa.formatting import number
from endoxa.reports.figures import style
from endoxa.reports.figures.dots import add_row, interval_of, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@style.styled()
def excess_dots(words: pl.DataFrame, *, level: float, width: float = 7.0) -> Figure:
    """The words in the order given (word, above, lo, hi, q); those with q ≤ `level` are diamonds, 0 is a line."""
    rows, narrow = words.to_dicts(), width < style.NARROW
    ends = [0.0, *(row[name] for row in rows for name in ("above", "lo", "hi"))]
    names, figure, axes = rows_of([row["word"] for row in rows], 0.44 if narrow else 0.28, width, ends)
    axes.set_xlabel("excess above random words")
    axes.axvline(0, color=style.MUTED, linewidth=1.2, linestyle=(0, (4, 3)), gid=style.hover("random words: 0"))
    for place, (row, name) in enumerate(zip(rows, names, strict=True)):
        one = Standing(row["word"], row["above"], row["lo"], row["hi"], 0, 0)
        text = f"{row['word']}: {number(one.value, 3)}{interval_of(one, 3)}, q = {number(row['q'], 3)}"
        add_row(axes, one, name, place, text, marked=row["q"] <= level, decimals=3, narrow=narrow)
    return figure
