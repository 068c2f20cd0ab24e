"""P(best) of systems against the number of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from endoxa.formatting import chance
from endoxa.reports.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTABLE = 0.1  # P(best) from which a system is drawn


def label_curves(curve: pl.DataFrame, until: float, *, width: float = 7.0) -> Figure:
    """P(best) after every batch of labels, one line per system, and a dashed line where the question is settled.

    `curve` has labels, system, p_best. Drawn are the systems of `notable`; the first six have a colour, marker and line
    style, the others are drawn in grey behind them.
    """
    with style.styled():
        from matplotlib.lines import Line2D
        from matplotlib.ticker import MaxNLocator

        narrow = width < style.NARROW
        order = notable(curve)
        chosen = order[: len(style.SERIES)]
        names = style.fitted(chosen, 34 if narrow else 26, width - 1.0 if narrow else 0.3 * width)
        settled = f"settled: {until:g}"
        legend = (len(chosen) + (len(order) > len(chosen)) + 1) * 0.21 + 0.1
        left, top, below = 0.6, 0.12, 0.52
        right = 0.15 if narrow else style.inches_of([*names, settled, "10 other systems"]) + 0.8
        tall = 2.4 if narrow else max(3.0, legend)
        bottom = below + (legend if narrow else 0.0)
        figure, axes = style.canvas(width, tall + bottom + top, left=left, bottom=bottom, right=right, top=top)
        axes.grid(visible=True)
        axes.set_xlim(0, max(1, *curve["labels"].to_list()))
        axes.set_ylim(0, 1)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, steps=[1, 2.5, 5, 10]))
        axes.set_xlabel("labels given")
        axes.set_ylabel("P(best)")
        lines: dict[str, Any] = {}
        for system in reversed(order):
            rows = curve.filter(pl.col("system") == system).sort("labels")
            x, y = rows["labels"].to_numpy(), rows["p_best"].to_numpy()
            text = style.hover(f"{system}: {chance(y[-1])} after {x[-1]} labels")
            if system not in chosen:
                axes.plot(x, y, color=style.OTHER, linewidth=0.9, zorder=1.5, gid=text)
                continue
            place = chosen.index(system)
            color, marker, dashes = style.SERIES[place]
            lines[system] = axes.plot(
                x, y, color=color, linestyle=dashes, linewidth=1.8, marker=marker, markersize=5.5,
                markeredgecolor=style.PAPER, markeredgewidth=0.8, zorder=4 - place / 10, gid=text, clip_on=False,
            )[0]  # fmt: skip
        handles, texts = [lines[name] for name in chosen], list(names)
        if others := len(order) - len(chosen):
            handles.append(Line2D([], [], color=style.OTHER, linewidth=0.9))
            texts.append(f"{others} other system{'' if others == 1 else 's'}")
        look: dict[str, Any] = {"color": style.MUTED, "linestyle": (0, (4, 3)), "linewidth": 1.3}
        handles.append(axes.axhline(until, zorder=3, gid=style.hover(settled), **look))
        texts.append(settled)
        high = figure.get_figheight()
        corner = (0.3 / width, legend / high) if narrow else (1 - (right - 0.2) / width, 1 - (top - 0.05) / high)
        figure.legend(
            handles, texts, loc="upper left", borderaxespad=0, borderpad=0, handlelength=2.6, labelspacing=0.5,
            fontsize=10, bbox_to_anchor=corner,
        )  # fmt: skip
        return figure


def notable(curve: pl.DataFrame) -> list[str]:
    """The systems that lead at any time or reach a P(best) of .1; the highest in the end first."""
    leads = pl.col("p_best") == pl.col("p_best").max().over("labels")
    names = curve.filter(leads | (pl.col("p_best") >= NOTABLE))["system"].unique()
    rows = curve.filter(pl.col("system").is_in(names.to_list())).sort("labels")
    ends = rows.group_by("system").agg(pl.col("p_best").last().alias("last"), pl.col("p_best").max().alias("most"))
    return ends.sort("last", "most", "system", descending=[True, True, False])["system"].to_list()
