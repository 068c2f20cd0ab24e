"""Precision at each recall."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import polars as pl

from endoxa.reports.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@style.styled()
def curves(curves: pl.DataFrame, *, width: float = 7.0, highlight: Sequence[str] = ()) -> Figure:
    """Precision at each recall, one line per system, and the generality line: what a random ranking would reach.

    Up to six systems have a colour, marker and line style: those of `highlight`, then those of the highest
    mean precision. The others are drawn in grey behind them. Where generality differs by more than a factor
    of two between queries or collections, a note under the figure says so (`generality_note`).
    """
    from matplotlib.lines import Line2D

    narrow = width < style.NARROW
    order = curves_order(curves)
    chosen = [name for name in dict.fromkeys([*highlight, *order]) if name in order][: len(style.SERIES)]
    chosen.sort(key=order.index)
    names = style.fitted(chosen, 34 if narrow else 26, width - 1.0 if narrow else 0.3 * width)
    note = wrap(generality_note(curves) or "", int((width - 0.3) / 0.075), break_on_hyphens=False)
    level, low, high = generality(curves)
    entries = len(chosen) + (len(order) > len(chosen)) + (not math.isnan(level))
    footer = len(note) * 0.17 + 0.1 if note else 0.0
    right = 0.15 if narrow else style.inches_of([*names, "random ranking: 0.0001"]) + 0.8
    figure, axes, legend = recall_axes(width, entries, right=right, tall=3.6, footer=footer)
    precision = curves["precision"].drop_nulls().drop_nans()
    highest = max([float(value) for value in precision.to_list()] + [0.0 if math.isnan(high) else high])
    axes.set_ylim(0, min(1.0, 1.12 * highest) if highest else 1.0)
    lines: dict[str, Any] = {}
    for (system,), rows in curves.sort("recall").group_by("system", maintain_order=True):
        x, y = rows["recall"].to_numpy(), rows["precision"].to_numpy()
        if system not in chosen:
            style.add_line(axes, x, y, str(system))
            continue
        place = chosen.index(str(system))
        # Markers are staggered so that close lines show whose they are.
        every = (place * len(x) // 60 % max(len(x), 1), max(len(x) // 10, 1))
        lines[str(system)] = style.add_line(axes, x, y, str(system), place, markevery=every)
    handles = [lines[name] for name in chosen]
    texts = list(names)
    if len(order) > len(chosen):
        handles.append(Line2D([], [], color=style.OTHER, linewidth=0.9))
        texts.append(f"{len(order) - len(chosen)} other systems")
    if not math.isnan(level):
        if high > low:
            axes.axhspan(low, high, color=style.MUTED, alpha=0.1, linewidth=0, zorder=1)
        text = f"random ranking: {_significant(level)}"
        handles.append(
            axes.axhline(
                level, color=style.MUTED, linestyle=(0, (4, 3)), linewidth=1.3, zorder=3, gid=style.hover(text)
            )
        )
        texts.append(text)
    figure.legend(handles, texts, **legend)
    for place, line in enumerate(note):
        height = (footer - 0.05 - place * 0.17) / figure.get_figheight()
        figure.text(0.15 / width, height, line, fontsize=9, color=style.INK, va="top", fontstyle="italic")
    return figure


def recall_axes(
    width: float, entries: int, *, right: float, tall: float, footer: float = 0.0
) -> tuple[Figure, Axes, dict[str, Any]]:
    """Axes of precision against recall, and the settings of their legend (see `style.line_axes`)."""
    figure, axes, legend = style.line_axes(width, entries, right=right, tall=tall, footer=footer)
    axes.set_xlim(0, 1)
    axes.locator_params(nbins=5)
    axes.set_xlabel("recall")
    axes.set_ylabel("precision")
    return figure, axes, legend


def curves_order(curves: pl.DataFrame) -> list[str]:
    """Systems by mean precision over the recall points, highest first."""
    means = curves.group_by("system", maintain_order=True).agg(pl.col("precision").fill_nan(None).mean())
    return means.sort("precision", descending=True, nulls_last=True, maintain_order=True)["system"].to_list()


def generality(curves: pl.DataFrame) -> tuple[float, float, float]:
    """(mean, low, high) over the systems; NaN where it is not known."""
    columns = [curves[name].fill_nan(None) for name in ("generality", "generality_low", "generality_high")]
    mean, low, high = (
        math.nan if value is None else float(value)  # type: ignore[arg-type]
        for value in (columns[0].mean(), columns[1].min(), columns[2].max())
    )
    least, most = columns[0].min(), columns[0].max()
    if isinstance(least, float) and isinstance(most, float):
        low, high = (min(least, low), max(most, high)) if low <= high else (least, most)
    return mean, low, high


def generality_note(curves: pl.DataFrame) -> str | None:
    """A warning where generality (the share of relevant items) differs by more than a factor of two, else None."""
    _, low, high = generality(curves)
    if math.isnan(low) or math.isnan(high) or high <= 2 * low:
        return None
    return (
        f"Generality, the precision of a random ranking, runs from {_significant(low)} to {_significant(high)} "
        "(shaded). Precision at a given recall depends on it: these curves are averages over unlike queries, "
        "and do not compare with curves from another collection."
    )


def _significant(value: float) -> str:
    return f"{value:.2g}" if value >= 1e-4 or value == 0 else f"{value:.1e}"
