"""The same systems by several ways of judging: a dot and an interval per system and way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from endoxa.formatting import number
from endoxa.reports.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP, EDGE = 0.17, 0.06  # inches between two dots of a system, and above and below them


@style.styled()
def way_dots(values: pl.DataFrame, label: str, *, width: float = 7.0) -> Figure:
    """A row per system, the best by the first way on top, and in it a dot with its interval for every way.

    `values` has way, system, value, lo, hi; `label` names the measure. An undefined value has no dot.
    """
    ways = values["way"].unique(maintain_order=True).to_list()
    order = ranked(values)
    narrow = width < style.NARROW
    names = style.fitted(order, 34 if narrow else 26, width - 0.4 if narrow else 0.3 * width)
    head = 0.2 if narrow else 0.0  # on a phone the name is above its dots
    row, legend = head + STEP * len(ways) + 2 * EDGE, 0.2 * len(ways) + 0.1
    left, right = (0.15, 0.15) if narrow else (style.inches_of(names) + 0.25, style.inches_of(ways) + 0.7)
    bottom, top = 0.52, 0.1 + (legend if narrow else 0.0)
    tall = max(len(order) * row, 0.0 if narrow else legend)
    figure, axes = style.canvas(width, tall + bottom + top, left=left, bottom=bottom, right=right, top=top)
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_xlim(*style.limits_of([*values["lo"], *values["hi"], *values["value"]]))
    axes.locator_params(axis="x", nbins=4 if narrow else 8)
    axes.set_xlabel(label)
    for edge in range(len(order) - 1):
        axes.axhline(edge + 0.5, color=style.FAINT, linewidth=0.8, zorder=0.5)
    at = {(one["way"], one["system"]): one for one in values.iter_rows(named=True)}
    lines: dict[str, Any] = {}
    for place, (system, name) in enumerate(zip(order, names, strict=True)):
        y = place - 0.5 + (EDGE + head / 2) / row if narrow else place
        axes.annotate(name, **style.beside(axes, y, narrow=narrow), gid=style.hover(system))
        for step, way in enumerate(ways):
            one = at[way, system]
            if one["value"] is None or math.isnan(one["value"]):
                continue
            color, marker, _ = style.SERIES[step]
            y = place - 0.5 + (EDGE + head + STEP * (step + 0.5)) / row
            ends = f"[{number(one['lo'], 3)}, {number(one['hi'], 3)}]"
            text = style.hover(f"{system}, {way}: {number(one['value'], 3)} {ends}")
            axes.plot([one["lo"], one["hi"]], [y, y], color=color, linewidth=1.8, solid_capstyle="butt", gid=text)
            lines[way] = axes.plot(
                [one["value"]], [y], color=color, marker=marker, markersize=6, markeredgecolor=style.PAPER,
                markeredgewidth=0.8, linestyle="none", gid=text, clip_on=False,
            )[0]  # fmt: skip
    known = [way for way in ways if way in lines]
    corner = style.legend_at(figure, 0.15 if narrow else width - right + 0.2, 0.05)
    figure.legend([lines[way] for way in known], known, fontsize=10, labelspacing=0.3, handlelength=1.0, **corner)
    return figure


def ranked(values: pl.DataFrame) -> list[str]:
    """The systems, the best by the first way first; undefined ones last."""
    first = values.filter(pl.col("way") == values["way"][0])
    return first.sort(pl.col("value").fill_nan(None), "system", descending=[True, False], nulls_last=True)[
        "system"
    ].to_list()
