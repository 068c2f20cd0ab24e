"""A dot and an interval per system."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from endoxa.evaluations.standings import Standing, counts, ranking
from endoxa.formatting import clean, number
from endoxa.reports.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@style.styled()
def intervals(summary: pl.DataFrame, measure: str, *, width: float = 7.0, lower: bool = False) -> Figure:
    """A dot and an interval per system, best on top. Undefined systems are last, without a dot.

    The intervals are each system's own. Two systems with overlapping intervals can still differ significantly, because
    systems are compared query by query: see `pairs`.
    """
    standings = ranking(summary, measure, lower=lower)
    decimals = 0 if measure in counts(summary) else 4
    bounds = [bound for one in standings for bound in (one.value, one.lo, one.hi)]
    names, figure, axes = rows_of(
        [one.system for one in standings], 0.44 if width < style.NARROW else 0.3, width, bounds
    )
    axes.set_xlabel(clean(measure))
    for place, (one, name) in enumerate(zip(standings, names, strict=True)):
        text = f"{one.system}: {number(one.value, decimals)}{interval_of(one, decimals)}"
        best = place == 0 and len(names) > 1
        add_row(axes, one, name, place, text, marked=best, decimals=decimals, narrow=width < style.NARROW)
    return figure


def room_of_names(width: float) -> float:
    """Inches that names may take."""
    return width - 1.1 if width < style.NARROW else 0.35 * width


def rows_of(
    titles: Sequence[str], row: float, width: float, values: Sequence[float], *, below: float = 0.0
) -> tuple[list[str], Figure, Axes]:
    """The names that fit, and a figure with a row of `row` inches for each, on a scale that holds the values.

    `below` is the room for notes, in inches.
    """
    narrow = width < style.NARROW
    names = style.fitted(titles, 30, room_of_names(width))
    left = 0.15 if narrow else 1.08 * style.inches_of(names) + 0.25  # the best is bold, which is wider
    right = 0.15 if narrow else 1.75
    bottom, top = 0.52 + below, 0.1
    figure, axes = style.canvas(width, len(names) * row + bottom + top, left=left, bottom=bottom, right=right, top=top)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_xlim(*style.limits_of(values))
    axes.locator_params(axis="x", nbins=4 if narrow else 6)
    return names, figure, axes


def add_row(
    axes: Axes, one: Standing, name: str, place: int, text: str, *, marked: bool, decimals: int, narrow: bool
) -> None:
    """A row with its dot and texts; a marked one is blue, a diamond and bold."""
    gid = style.hover(text)
    y = place + (0.16 if narrow else 0.0)  # on a phone the text is above the line that it belongs to
    if not narrow:
        axes.axhline(y, color=style.FAINT, linewidth=0.6, zorder=0.5)
    add_dot(axes, one, y, style.BLUE if marked else style.SLATE, gid, diamond=marked)
    above = place - 0.2 if narrow else y
    add_texts(axes, one, name, above, gid, narrow=narrow, best=marked, decimals=decimals)


def interval_of(one: Standing, decimals: int = 4) -> str:
    """` [0.1, 0.2]`, or nothing where there is no interval."""
    return "" if math.isnan(one.lo) else f" [{number(one.lo, decimals)}, {number(one.hi, decimals)}]"


def add_dot(axes: Axes, one: Standing, y: float, color: str, text: str, *, diamond: bool) -> None:
    """The mean and its interval; an interval without an end (too few queries to bound it) runs to the edge."""
    if math.isnan(one.value):
        return
    low, high = axes.get_xlim()
    if not math.isnan(one.lo):
        ends = [max(one.lo, low), min(one.hi, high)]
        axes.plot(ends, [y, y], color=color, linewidth=2.2, solid_capstyle="butt", gid=text)
    axes.plot(
        [one.value], [y], color=color, marker="D" if diamond else "o", markersize=7, markeredgecolor=style.PAPER,
        markeredgewidth=1, gid=text, clip_on=False,
    )  # fmt: skip


def add_texts(
    axes: Axes, one: Standing, name: str, y: float, text: str, *, narrow: bool, best: bool, virtual: bool = False,
    decimals: int = 4,
) -> None:  # fmt: skip
    """The name on the left and the numbers on the right of a row; on a phone both above it."""
    value = "undefined"
    if not math.isnan(one.value):
        value = number(one.value, decimals) + ("" if narrow else interval_of(one, decimals))
    bare = {"facecolor": style.PAPER, "edgecolor": "none", "pad": 1} if narrow else None  # grid lines stop at the text
    weight = "bold" if best else "normal"
    color = style.MUTED if virtual else style.INK
    axes.annotate(name, **style.beside(axes, y, narrow=narrow), fontweight=weight, color=color, gid=text, bbox=bare)
    axes.annotate(
        value, **style.beside(axes, y, right=True, narrow=narrow, off=0.1), fontsize=10 if narrow else 9,
        fontweight=weight if narrow else "normal", color=style.INK if best else style.MUTED, bbox=bare,
    )  # fmt: skip
