"""What was stated against what was true: a calibrated statement lies on the diagonal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from endoxa.evaluations.backtest import FIELD, pooled
from endoxa.formatting import number
from endoxa.reports.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from endoxa.evaluations.backtest import Backtest

DIAGONAL = "said = true"
FEW = 20  # statements of a bin below which it is no point of the curve


def curve_of(found: Backtest, part: str = FIELD, *, width: float = 7.0) -> Figure:
    """The reliability curve of a backtest: all measures and fields together, one line for each number of labels."""
    bins = pooled(found.reliability.filter(pl.col("part") == part), "labels").filter(pl.col("pairs") >= FEW)
    groups = {_labels(labels): own for (labels,), own in bins.group_by("labels", maintain_order=True)}
    return reliability_curves(groups, width=width)


def _labels(count: object) -> str:
    return "no labels" if not count else f"{count} {'label' if count == 1 else 'labels'} a topic"


def reliability_curves(
    lines: Mapping[str, pl.DataFrame], *, count: str = "pairs", start: float = 0.5, across: str = "stated probability",
    up: str = "share that was right", width: float = 7.0,
) -> Figure:  # fmt: skip
    """One line for each group of bins: the mean of what was said across, the share that was right up.

    A frame of `lines` has said, right, and the number of statements in the column `count`. Above the diagonal
    statements are more often right than they say. The first six lines have a colour, a marker and a line style.
    """
    with style.styled():
        narrow = width < style.NARROW
        chosen = list(lines)[: len(style.SERIES)]
        names = style.fitted(chosen, 30, width - 1.0 if narrow else 0.3 * width)
        legend = (len(chosen) + 1) * 0.21 + 0.1
        left, above, below = 0.6, 0.12, 0.52
        right = 0.2 if narrow else style.inches_of([*names, DIAGONAL]) + 0.8
        tall = width - left - right if narrow else 3.6
        foot = below + (legend if narrow else 0.0)
        figure, axes = style.canvas(width, tall + foot + above, left=left, bottom=foot, right=right, top=above)
        axes.grid(visible=True)
        lowest = min([start, *(value for rows in lines.values() for value in rows["right"].to_list())])
        axes.set_xlim(start, 1.0)
        axes.set_ylim(max(0.0, lowest - 0.03) if lowest < start else start, 1.0)
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        axes.locator_params(axis="x", nbins=5)
        look: dict[str, Any] = {"color": style.MUTED, "linestyle": (0, (4, 3)), "linewidth": 1.3, "zorder": 1.5}
        handles = axes.plot([start, 1.0], [start, 1.0], gid=style.hover(DIAGONAL), **look)
        for place, name in enumerate(chosen):
            rows, (color, marker, dashes) = lines[name], style.SERIES[place]
            said, true = rows["said"].to_numpy(), rows["right"].to_numpy()
            known: dict[str, Any] = {"color": color, "clip_on": False, "zorder": 4 - place / 10}
            handles[place:place] = axes.plot(said, true, linestyle=dashes, linewidth=1.8, gid=style.MUTE, **known)
            for x, y, n in zip(said, true, rows[count].to_list(), strict=True):
                text = style.hover(f"{name}: said {number(x, 3)}, true {number(y, 3)}, {n:,} {count}")
                axes.plot(
                    [x], [y], marker=marker, markersize=6, markeredgecolor=style.PAPER, markeredgewidth=0.8, gid=text,
                    **known,
                )  # fmt: skip
            handles[place].set(marker=marker, markersize=6, markeredgecolor=style.PAPER, markeredgewidth=0.8)
        high = figure.get_figheight()
        corner = (0.3 / width, legend / high) if narrow else (1 - (right - 0.2) / width, 1 - (above + 0.05) / high)
        figure.legend(
            handles, [*names, DIAGONAL], loc="upper left", borderaxespad=0, borderpad=0, handlelength=2.6,
            labelspacing=0.5, fontsize=10, bbox_to_anchor=corner,
        )  # fmt: skip
        return figure
