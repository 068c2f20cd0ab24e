"""Systems and ratings: maps from scores to ratings, estimated precision and recall, who chose the pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from endoxa.formatting import number
from endoxa.reports.figures import style
from endoxa.reports.figures.recall_curves import recall_axes
from endoxa.tables import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 2000  # pairs that one figure draws
ALL_POINTS = 8000  # and all figures of a kind together
READ = {"raw": "score", "z": "score, standardised per query", "rank": "rank, with a minus sign"}
LOOKS: dict[str, tuple[str, Any, float]] = {
    "isotonic": (style.ORANGE, "solid", 1.6),
    "bayes": (style.BLUE, "solid", 2.0),
    "ogive": (style.GREEN, (0, (5, 2)), 1.6),
}


@style.styled()
def score_map(
    points: pl.DataFrame, maps: Mapping[str, pl.DataFrame], *, width: float = 7.0, band: str = "bayes",
    span: tuple[float, float] = (math.nan, math.nan), threshold: float = math.nan, share: int = 1,
    read: str = "raw",
) -> Figure:  # fmt: skip
    """Rated pairs of one system by what the map reads (x) and mean rating, and the maps between; `band` is shaded.

    At most about 2,000 pairs are drawn, evenly spaced by score; fewer on a page with many systems (`share`). Ratings
    are moved a little at random, always in the same way, so that equal ones do not hide each other.
    """
    from matplotlib.lines import Line2D

    narrow = width < style.NARROW
    left, right, top, bottom = 0.55, 0.2, 0.42, 0.52
    figure, axes = style.canvas(width, 2.9 if narrow else 4.2, left=left, bottom=bottom, right=right, top=top)
    axes.grid(visible=True)
    most = points_of(share) // (3 if narrow else 1)
    drawn = points.sort("x").gather_every(max(1, math.ceil(points.height / most)))
    x, y = drawn["x"].to_numpy(), drawn["rating"].to_numpy()
    axes.plot(
        x, y + _jitter(points["rating"].to_numpy(), len(y)), linestyle="none", marker="o", markersize=3.2,
        color=style.GREY, alpha=0.35, markeredgewidth=0, zorder=1.5,
    )  # fmt: skip
    ends = [end for table in maps.values() for end in table["mean"].to_list()]
    low, high = style.limits_of([*ends, *points["rating"].to_list(), *(end for end in span if math.isfinite(end))])
    axes.set_ylim(low, high)
    if not math.isnan(threshold):
        text = style.hover(f"threshold: relevant is above {threshold:g}")
        axes.axhline(threshold, color=style.MUTED, linewidth=1, linestyle=(0, (1, 2)), zorder=1.8, gid=text)
    handles, texts = [], []
    for method, table in maps.items():
        color, dashes, thick = LOOKS[method]
        at, mean = table["x"].to_numpy(), table["mean"].to_numpy()
        if method == band:
            lo, hi = (table[name].to_numpy() for name in ("lo", "hi"))
            axes.fill_between(
                at, lo, hi, color=color, alpha=0.18, linewidth=0, zorder=2, gid=style.hover(f"{method}: band")
            )
        axes.plot(at, mean, color=color, linestyle=dashes, linewidth=thick, zorder=3, gid=style.hover(f"map: {method}"))
        handles.append(Line2D([], [], color=color, linestyle=dashes, linewidth=thick))
        texts.append(method)
    axes.locator_params(axis="x", nbins=4 if narrow else 7)
    axes.set_xlabel(READ[read])
    axes.set_ylabel("rating")
    figure.legend(handles, texts, **style.legend_at(figure, left, 0.08), ncols=3, handlelength=2.2, columnspacing=1.4)
    return figure


def points_of(share: int) -> int:
    """The number of pairs that a figure draws at most, on a page with `share` figures of this kind."""
    return max(600, min(POINTS, ALL_POINTS // max(share, 1)))


def _jitter(every: Floats, size: int) -> Floats:
    """A small shift for each rating: a sixth of the usual step between grades, or a fiftieth of the range."""
    steps = np.diff(np.unique(every))
    reach = max(float(np.median(steps)) / 6, 0.02 * float(np.ptp(every))) if len(steps) else 0.0
    return np.asarray(np.random.default_rng(0).uniform(-reach, reach, size))


@style.styled()
def precision_recall(points: pl.DataFrame, *, width: float = 7.0) -> Figure:
    """Estimated precision against recall, a mark per cut-off, with a shaded band where there is one.

    Up to six systems, those of the highest mean precision, have a colour and a mark; the others are grey.
    """
    from matplotlib.lines import Line2D

    narrow = width < style.NARROW
    known = points.filter(pl.col("precision").is_not_nan() & pl.col("recall").is_not_nan())
    means = known.group_by("system", maintain_order=True).agg(pl.col("precision").mean())
    order = means.sort("precision", descending=True, maintain_order=True)["system"].to_list()
    chosen = order[: len(style.SERIES)]
    names = style.fitted(chosen, 34 if narrow else 26, width - 1.0 if narrow else 0.3 * width)
    entries = len(chosen) + (len(order) > len(chosen))
    right = 0.2 if narrow else style.inches_of(names or [""]) + 0.8
    figure, axes, legend = recall_axes(width, entries, right=right, tall=3.8)
    highest = max([*known["precision"].to_list(), *known["precision_hi"].drop_nans().to_list(), 0.0])
    axes.set_ylim(0, min(1.02, 1.08 * highest) if highest else 1.0)
    handles: list[Any] = []
    for system in reversed(order):  # the best is drawn last, on top
        rows = known.filter(pl.col("system") == system).sort("cutoff")
        x, y = rows["recall"].to_numpy(), rows["precision"].to_numpy()
        if system not in chosen:
            style.add_line(axes, x, y, system)
            continue
        color, marker, dashes = style.SERIES[chosen.index(system)]
        lo, hi = (rows[name].to_numpy() for name in ("precision_lo", "precision_hi"))
        axes.fill_between(
            x, lo, hi, color=color, alpha=0.12, linewidth=0, zorder=1.8, gid=style.hover(f"{system}: band")
        )
        axes.plot(x, y, color=color, linestyle=dashes, linewidth=1.8, zorder=3, gid=style.hover(system))
        for row in rows.iter_rows(named=True):
            low, high = row["precision_lo"], row["precision_hi"]
            band = "" if math.isnan(low) else f" [{low:.2f}, {high:.2f}]"
            text = style.hover(
                f"{system}, first {row['cutoff']}: precision {row['precision']:.2f}{band}, recall "
                f"{row['recall']:.2f}, {row['sampled']} asked, effective {row['effective']:.0f}"
            )
            axes.plot(
                [row["recall"]], [row["precision"]], marker=marker, color=color, markersize=6, zorder=4, gid=text,
                markeredgecolor=style.PAPER, markeredgewidth=0.8, clip_on=False,
            )  # fmt: skip
        handles.append(Line2D([], [], color=color, linestyle=dashes, marker=marker, linewidth=1.8, markersize=6))
    handles.reverse()
    texts = list(names)
    if len(order) > len(chosen):
        handles.append(Line2D([], [], color=style.OTHER, linewidth=0.9))
        texts.append(f"{len(order) - len(chosen)} other systems")
    figure.legend(handles, texts, **legend)
    return figure


@style.styled()
def selection(frame: pl.DataFrame, *, width: float = 7.0) -> Figure:
    """A matrix of correlations: row system, column who chose the pairs; a frame around a system's own."""
    from matplotlib.patches import Rectangle

    narrow = width < style.NARROW
    order = frame["system"].unique(maintain_order=True).to_list()
    texts = len(order) <= (6 if narrow else 12)
    names = [f"{at}  {name}" for at, name in enumerate(style.fitted(order, 14 if narrow else 28, 0.34 * width), 1)]
    left = style.inches_of(names, 10) + 0.25
    cell = min(max((width - left - 0.15) / len(order), 0.36 if texts else 0.17), 0.85)
    row = min(cell, 0.45)
    wide = max(left + cell * len(order) + 0.15, width if narrow else 4.5)
    heads = [str(at + 1) for at in range(len(order))]
    figure, axes = style.matrix(names, heads, wide, left=left, cell=cell, row=row, bottom=0.15, top=0.55)
    axes.set_xlabel("pairs chosen by", fontsize=9, color=style.MUTED)
    reach = max((abs(r) for r in frame["r"].drop_nans().to_list()), default=1.0) or 1.0
    for system, by, r, pairs in frame.iter_rows():
        i, j = order.index(system), order.index(by)
        face = (style.ORANGE if r < 0 else style.BLUE, 0.05 + 0.55 * abs(r) / reach)
        text = number(r, 2).replace("0.", "." if narrow else "0.") if texts else ""
        style.add_cell(
            axes, i, j, (style.GREY, 0.15) if math.isnan(r) else face,
            f"{system} on pairs of {by}: r {number(r, 3)}, {pairs} pairs", text, bold=i == j,
        )  # fmt: skip
        if i == j:
            outline = Rectangle((j - 0.46, i - 0.44), 0.92, 0.88, gid=style.MUTE, fill=False, zorder=4)
            outline.set(edgecolor=style.INK, linewidth=1.2)
            axes.add_artist(outline)
    return figure
