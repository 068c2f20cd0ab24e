"""Raters: how severe they are, what calibration does to them, where they agree, and which grades they use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from endoxa.formatting import number, share, shortened, signed
from endoxa.reports.figures import style
from endoxa.tables import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROWS = 40  # raters that a figure draws one below the other
NAMED = 12  # raters whose names are on the map
FAR = 0.2  # correlation with the others below which a rater is marked


@style.styled()
def rater_map(raters: pl.DataFrame, *, width: float = 7.0) -> Figure:
    """Each rater by shift (how severe) and stretch (how little of the scale is used); larger with more answers.

    A filled blue circle agrees with the others, the darker the more; an orange diamond does not (correlation below
    0.2); for an open one this is unknown. Flagged raters and those farthest out are named.
    """
    from matplotlib.lines import Line2D

    narrow = width < style.NARROW
    rows = raters.filter(pl.col("shift").is_not_nan() & pl.col("a").is_not_nan())
    left, right, top, bottom = 0.62, 0.2, 0.42 if not narrow else 0.72, 0.52
    figure, axes = style.canvas(width, 3.6 if narrow else 4.6, left=left, bottom=bottom, right=right, top=top)
    axes.grid(visible=True)
    x, y = rows["shift"].to_numpy(), rows["a"].to_numpy()
    axes.axvline(0, color=style.MUTED, linewidth=0.9, zorder=1)
    axes.axhline(1, color=style.MUTED, linewidth=0.9, zorder=1)
    axes.set_xlim(*_limits([*x.tolist(), 0.0]))
    axes.set_ylim(*_limits([*y.tolist(), 1.0]))
    answers = rows["answers"].to_numpy().astype(np.float64)
    crowd = min(1.0, math.sqrt(30 / max(rows.height, 1))) * (0.75 if narrow else 1.0)
    size = 4 + 10 * crowd * np.sqrt(answers / max(float(answers.max(initial=1)), 1.0))
    for place in np.argsort(-size).tolist():  # the small on top of the large
        row = rows.row(place, named=True)
        r = row["correlation"]
        agrees = not r < FAR
        color = style.GREY if math.isnan(r) else style.BLUE if agrees else style.ORANGE
        face = style.PAPER if math.isnan(r) else (color, 0.15 + 0.75 * min(r, 1.0) if agrees else 0.75)
        known = "" if math.isnan(r) else f", correlation {number(r, 2)}"
        flags = f" ({row['flags']})" if row["flags"] else ""
        text = style.hover(
            f"{row['source']}: shift {signed(row['shift'], 2)}, stretch {number(row['a'], 2)}, "
            f"{row['answers']} answers{known}{flags}"
        )
        axes.plot(
            [x[place]], [y[place]], marker="o" if agrees else "D", markersize=float(size[place]), markerfacecolor=face,
            markeredgecolor=color, markeredgewidth=0.9, gid=text, zorder=3,
        )  # fmt: skip
    _add_names(axes, rows, x, y, size, narrow=narrow)
    axes.locator_params(axis="x", nbins=4 if narrow else 7)
    axes.locator_params(axis="y", nbins=6)
    axes.set_xlabel("shift: ← lenient, severe →")
    axes.set_ylabel("stretch: uses much ↔ little of the scale")
    looks: dict[str, tuple[str, str, Any]] = {
        "agrees with the others": ("o", style.BLUE, (style.BLUE, 0.8)),
        f"does not (r below {FAR:g})": ("D", style.ORANGE, (style.ORANGE, 0.8)),
        "unknown": ("o", style.GREY, style.PAPER),
    }
    handles = [
        Line2D([], [], linestyle="none", marker=marker, markersize=8, markeredgecolor=edge, markerfacecolor=face)
        for marker, edge, face in looks.values()
    ]
    place = style.legend_at(figure, left, 0.08)
    columns = 2 if narrow else 3
    figure.legend(handles, list(looks), **place, ncols=columns, handlelength=1, columnspacing=1.4, fontsize=9)
    return figure


def _add_names(axes: Axes, rows: pl.DataFrame, x: Floats, y: Floats, size: Floats, *, narrow: bool) -> None:
    """Names beside flagged raters and those farthest out, as long as no name would cover another."""
    if not rows.height:
        return
    wide, tall = np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())
    # having few common items alone is no reason to be named
    serious = rows["flags"].fill_null("").str.contains("constant|reversed").to_numpy()
    odd = rows["correlation"].fill_nan(1.0).to_numpy() < FAR
    out = np.hypot(x / wide, (y - 1) / tall) + 10.0 * (serious | odd)
    names = shortened(rows["source"].to_list(), 12 if narrow else 18)
    box = axes.get_position()
    inches = axes.figure.get_figwidth() * box.width, axes.figure.get_figheight() * box.height  # type: ignore[union-attr]
    spots = (x - axes.get_xlim()[0]) / wide * inches[0], (y - axes.get_ylim()[0]) / tall * inches[1]
    taken: list[tuple[float, float, float, float]] = []
    for place in np.argsort(-out).tolist()[: NAMED // 2 if narrow else NAMED]:
        long, high = 1.1 * style.inches_of([names[place]], 9), 0.17
        at = float(spots[0][place]), float(spots[1][place])
        off = float(size[place]) / 2 + 3  # points
        turned = at[0] + off / 72 + long > inches[0]
        start = at[0] - off / 72 - long if turned else at[0] + off / 72
        frame = (start, at[1] - high / 2, start + long, at[1] + high / 2)
        hit = any(frame[0] < b[2] and b[0] < frame[2] and frame[1] < b[3] and b[1] < frame[3] for b in taken)
        under = (spots[0] > frame[0]) & (spots[0] < frame[2]) & (np.abs(spots[1] - at[1]) < 0.1)
        if hit or (under.sum() > 1 and not (serious[place] or odd[place])):
            continue
        taken.append(frame)
        axes.annotate(
            names[place], (x[place], y[place]), xytext=(-off if turned else off, 0), textcoords="offset points",
            ha="right" if turned else "left", va="center", fontsize=9, color=style.INK, gid=style.MUTE,
            annotation_clip=False,
        )  # fmt: skip


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """Limits with a tenth of room on either side, never narrower than a fifth."""
    low, high = min(values), max(values)
    room = max(0.12 * (high - low), 0.1)
    return low - room, high + room


@style.styled()
def calibration(raters: pl.DataFrame, *, width: float = 7.0) -> Figure:
    """Mean ± one standard deviation of each rater on common items: open and grey before, filled and blue after.

    With more than forty raters, those that calibration moves most.
    """
    from matplotlib.lines import Line2D

    narrow = width < style.NARROW
    moved = raters.with_columns((pl.col("a") * pl.col("mean") + pl.col("b")).alias("mean_after"))
    moved = moved.with_columns((pl.col("a") * pl.col("sd")).alias("sd_after")).filter(pl.col("mean").is_not_nan())
    drawn = moved.sort(pl.col("shift").abs(), descending=True).head(ROWS).sort("mean")
    names = style.fitted(drawn["source"].to_list(), 24, 0.3 * width)
    row = 0.3 if drawn.height <= 20 else 0.22
    left, right, bottom, top = style.inches_of(names or [""], 9) + 0.3, 0.2, 0.52, 0.36
    note = f"The {ROWS} of {moved.height} raters that calibration moves most." if moved.height > ROWS else ""
    bottom += 0.2 if note else 0.0
    figure, axes = style.canvas(
        width, drawn.height * row + bottom + top, left=left, bottom=bottom, right=right, top=top
    )
    axes.set_ylim(drawn.height - 0.4, -0.6)
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_yticks(range(drawn.height), names, fontsize=9)
    for place, one in enumerate(drawn.iter_rows(named=True)):
        axes.axhline(place, color=style.FAINT, linewidth=0.6, zorder=0.5)
        stages = (("", style.GREY, -0.14, style.PAPER), ("_after", style.BLUE, 0.14, style.BLUE))
        for end, color, off, face in stages:
            mean, sd = one[f"mean{end}"], one[f"sd{end}"]
            stage = "calibrated" if end else "as given"
            text = style.hover(f"{one['source']}, {stage}: mean {number(mean, 2)}, sd {number(sd, 2)}")
            y = place + off
            axes.plot([mean - sd, mean + sd], [y, y], color=color, linewidth=1.6, gid=text, zorder=2)
            axes.plot(
                [mean], [y], marker="o", markersize=5, color=color, markerfacecolor=face, gid=text, zorder=3
            )  # fmt: skip
    axes.locator_params(axis="x", nbins=4 if narrow else 7)
    axes.set_xlabel("grade: mean ± sd on common pairs")
    keys = [
        Line2D([], [], color=color, marker="o", markersize=5, markerfacecolor=face)
        for color, face in ((style.GREY, style.PAPER), (style.BLUE, style.BLUE))
    ]
    figure.legend(
        keys, ["as given", "calibrated"], **style.legend_at(figure, left, 0.06), ncols=2, columnspacing=1.4, fontsize=9
    )
    if note:
        figure.text(0.15 / width, 0.05 / figure.get_figheight(), note, fontsize=9, color=style.MUTED, va="bottom")
    return figure


@style.styled()
def per_query(frame: pl.DataFrame, whole: float, *, width: float = 7.0) -> Figure:
    """Alpha within each query, sorted; larger marks have more ratings; the line is alpha over all queries."""
    narrow = width < style.NARROW
    rows = frame.sort("alpha", descending=True, maintain_order=True)
    values = rows["alpha"].to_numpy()
    queries = rows["query"].to_list()
    names = shortened(queries, 14) if len(queries) <= (width - 0.9) / 0.2 else []
    left, right, top = 0.72, 0.2, 0.15
    bottom = 0.35 + (style.inches_of(names, 9) + 0.1 if names else 0.05)
    tall = 2.1 if narrow else 2.8
    figure, axes = style.canvas(width, tall + bottom + top, left=left, bottom=bottom, right=right, top=top)
    axes.grid(axis="y")
    axes.set_xlim(-0.7, len(values) - 0.3)
    low = max(-1.05, min(0.0, float(values.min())) - 0.05)  # one query far below chance would squeeze all others
    axes.set_ylim(low, 1.05)
    axes.axhline(0, color=style.MUTED, linewidth=0.9)
    size = 3 + 4 * np.sqrt(rows["ratings"].to_numpy() / max(int(rows["ratings"].max()), 1))  # type: ignore[arg-type]
    if len(values) > 400:
        axes.plot(np.arange(len(values)), np.maximum(values, low), color=style.SLATE, linewidth=1.6)
    else:
        for place, (query, value) in enumerate(zip(queries, values.tolist(), strict=True)):
            axes.plot(
                [place], [max(value, low)], marker="o" if value >= low else "v", markersize=float(size[place]),
                color=style.ORANGE if value < 0 else style.SLATE, markeredgewidth=0, clip_on=False,
                gid=style.hover(f"query {query}: alpha {number(value, 3)}, {rows['ratings'][place]} ratings"),
            )  # fmt: skip
    if not math.isnan(whole):
        axes.axhline(
            whole, color=style.BLUE, linewidth=1, linestyle=(0, (4, 3)), gid=style.hover(f"all: {number(whole, 3)}")
        )
        axes.annotate(
            f"all queries {number(whole, 2)}", (1, whole), xycoords=axes.get_yaxis_transform(), xytext=(-2, 3),
            textcoords="offset points", ha="right", va="bottom", fontsize=9, color=style.BLUE,
        )  # fmt: skip
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=9)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("alpha")
    axes.set_xlabel(f"{len(queries)} queries, sorted")
    return figure


@style.styled()
def uniformity(classes: Sequence[str], shares: Sequence[float], *, width: float = 7.0) -> Figure:
    """A bar per grade, and the line of even use."""
    from matplotlib.patches import Rectangle

    narrow = width < style.NARROW
    names = shortened(classes, 12)
    upright = style.inches_of(names, 9) * len(names) > width - 1.0
    left, right, top = 0.62, 0.2, 0.25
    bottom = 0.42 + (style.inches_of(names, 9) if upright else 0.15)
    figure, axes = style.canvas(width, 2.3 + bottom + top, left=left, bottom=bottom, right=right, top=top)
    axes.grid(axis="y")
    even, highest = 1 / len(shares), max(*shares, 1 / len(shares))
    axes.set_ylim(0, 1.12 * highest)
    axes.set_xlim(-0.6, len(shares) - 0.4)
    for place, (name, value) in enumerate(zip(classes, shares, strict=True)):
        text = style.hover(f"grade {name}: {share(value, 1)}")
        axes.add_patch(Rectangle((place - 0.4, 0), 0.8, value, facecolor=style.BLUE, linewidth=0, gid=text))
        if len(shares) <= (8 if narrow else 14):
            axes.annotate(
                f"{100 * value:.0f} %", (place, value), xytext=(0, 3), textcoords="offset points", ha="center",
                va="bottom", fontsize=9, gid=style.MUTE,
                bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip
    axes.axhline(even, color=style.INK, linewidth=1, linestyle=(0, (4, 3)), gid=style.hover(f"even: {share(even, 1)}"))
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.locator_params(axis="y", nbins=5)
    axes.set_xticks(range(len(names)), names, fontsize=9, rotation=90 if upright else 0)
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel("grade")
    return figure
