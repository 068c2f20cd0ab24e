"""Precision or recall against the cut-off, by two ways of judging side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from endoxa.formatting import number
from endoxa.reports.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def cutoff_curves(values: pl.DataFrame, measure: str, *, width: float = 7.0) -> Figure:
    """A panel per way (below one another on a phone), a line per system with its interval at every cut-off.

    `values` has way, measure, k, system, value, lo, hi. The panels have the same axis. The six systems that are the
    best in the first panel have a colour, a marker and a line style, the others are drawn in grey behind them.
    """
    with style.styled():
        from matplotlib.figure import Figure

        rows = values.filter(pl.col("measure") == measure)
        ways = rows["way"].unique(maintain_order=True).to_list()
        order = ranked(rows)
        narrow = width < style.NARROW
        chosen = order[: len(style.SERIES)]
        names = style.fitted(chosen, 34 if narrow else 26, width - 1.0 if narrow else 0.25 * width)
        others = [f"{len(order) - len(chosen)} others"] if len(order) > len(chosen) else []
        legend = (len(chosen) + len(others)) * 0.21 + 0.1
        left, top, below, gap = 0.6, 0.35, 0.52, 0.85 if narrow else 0.35
        right = 0.15 if narrow else style.inches_of([*names, *others]) + 0.8
        tall = 2.2 if narrow else max(2.8, legend)
        count = len(ways)
        height = top + (count * tall + (count - 1) * gap + below + legend if narrow else tall + below)
        figure = Figure(figsize=(width, height))
        wide = width - left - right if narrow else (width - left - right - (count - 1) * gap) / count
        limits = style.limits_of([*rows["lo"], *rows["hi"], *rows["value"]])
        lines: dict[str, Any] = {}
        for place, way in enumerate(ways):
            x = left if narrow else left + place * (wide + gap)
            y = height - top - tall - (place * (tall + gap) if narrow else 0)
            axes = figure.add_axes((x / width, y / height, wide / width, tall / height))
            axes.set_ylim(*limits)
            axes.set_title(f"by {way}", fontsize=10, loc="left")
            axes.set_xlabel("cut-off k")
            if narrow or not place:
                axes.set_ylabel(measure)
            else:
                axes.set_yticklabels([])
            lines |= _panel(axes, rows.filter(pl.col("way") == way), order, chosen)
        handles = [lines[name] for name in chosen] + [lines[name] for name in order[len(chosen) :][:1]]
        corner = (0.3 / width, legend / height) if narrow else (1 - (right - 0.2) / width, 1 - top / height)
        figure.legend(
            handles, [*names, *others], loc="upper left", borderaxespad=0, borderpad=0, handlelength=2.6,
            labelspacing=0.5, fontsize=10, bbox_to_anchor=corner,
        )  # fmt: skip
        return figure


def ranked(rows: pl.DataFrame) -> list[str]:
    """The systems, the best at the deepest cut-off of the first way first."""
    last = rows.filter((pl.col("way") == rows["way"][0]) & (pl.col("k") == pl.col("k").max()))
    return last.sort("value", "system", descending=[True, False])["system"].to_list()


def _panel(axes: Axes, rows: pl.DataFrame, order: list[str], chosen: list[str]) -> dict[str, Any]:
    """Draw the curves of one way; the line of every system."""
    from matplotlib.ticker import MaxNLocator

    axes.grid(visible=True)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))
    lines = {}
    for system in reversed(order):
        own = rows.filter(pl.col("system") == system).sort("k")
        x, y, lo, hi = (own[name].to_numpy() for name in ("k", "value", "lo", "hi"))
        text = f"{system}: {number(y[0], 3)} at {x[0]}, {number(y[-1], 3)} at {x[-1]}"
        place = chosen.index(system) if system in chosen else None
        if place is not None:
            color = style.SERIES[place][0]
            axes.fill_between(x, lo, hi, color=color, alpha=0.15, linewidth=0, zorder=2, gid=style.MUTE)
        lines[system] = style.add_line(axes, x, y, text, place, markersize=4.5)
    return lines
