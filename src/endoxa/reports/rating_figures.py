"""Pictures of people's ratings: maps from scores, curves with bands, raters, use of the scale.

They follow the rules of `figures`: they read in grey, sizes are worked out from the number of rows, below five inches
the layout is the one for a phone, and marks carry a text that shows on hovering.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from endoxa.reports import labels
from endoxa.reports.figures import (
    BLUE,
    FAINT,
    GREEN,
    GREY,
    INK,
    MUTE,
    MUTED,
    NARROW,
    ORANGE,
    OTHER,
    PAPER,
    SERIES,
    SLATE,
    _figure,
    _fitted,
    _hint,
    _inches,
    _span,
    _styled,
)
from endoxa.reports.labels import number, shortened, signed
from endoxa.tables import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 2000  # pairs that one picture draws
ALL_POINTS = 8000  # and all pictures of a kind together
ROWS = 40  # raters that a picture draws one below the other
NAMED = 12  # raters that have their name on the map
FAR = 0.2  # correlation with the others below which a rater is odd
LOOKS: dict[str, tuple[str, Any, float]] = {
    "isotonic": (ORANGE, "solid", 1.6),
    "bayes": (BLUE, "solid", 2.0),
    "ogive": (GREEN, (0, (5, 2)), 1.6),
}


def score_map(
    points: pl.DataFrame,
    maps: Mapping[str, pl.DataFrame],
    *,
    width: float = 7.0,
    band: str = "bayes",
    span: tuple[float, float] = (math.nan, math.nan),
    threshold: float = math.nan,
    share: int = 1,
) -> Figure:
    """Rated pairs of one system by score and mean rating, and the maps between; `band` is shaded.

    At most some 2,000 pairs are drawn, every so-manyth by score; on a page with many systems (`share`) fewer. Ratings
    are moved a little at random, always in the same way, so that equal ones show.
    """
    with _styled():
        from matplotlib.lines import Line2D

        narrow = width < NARROW
        left, right, top, bottom = 0.55, 0.2, 0.42, 0.52
        figure, axes = _figure(width, 2.9 if narrow else 4.2, left=left, bottom=bottom, right=right, top=top)
        axes.grid(visible=True)
        most = points_of(share) // (3 if narrow else 1)
        drawn = points.sort("score").gather_every(max(1, math.ceil(points.height / most)))
        x, y = drawn["score"].to_numpy(), drawn["rating"].to_numpy()
        axes.plot(
            x, y + _jitter(points["rating"].to_numpy(), len(y)), linestyle="none", marker="o", markersize=3.2,
            color=GREY, alpha=0.35, markeredgewidth=0, zorder=1.5,
        )  # fmt: skip
        ends = [end for table in maps.values() for name in ("mean",) for end in table[name].to_list()]
        low, high = _span([*ends, *points["rating"].to_list(), *(end for end in span if math.isfinite(end))])
        axes.set_ylim(low, high)
        if not math.isnan(threshold):
            hint = _hint(f"threshold: relevant is above {threshold:g}")
            axes.axhline(threshold, color=MUTED, linewidth=1, linestyle=(0, (1, 2)), zorder=1.8, gid=hint)
        handles, texts = [], []
        for method, table in maps.items():
            color, dashes, thick = LOOKS[method]
            at, mean = table["x"].to_numpy(), table["mean"].to_numpy()
            if method == band:
                lo, hi = (table[name].to_numpy() for name in ("lo", "hi"))
                axes.fill_between(
                    at, lo, hi, color=color, alpha=0.18, linewidth=0, zorder=2, gid=_hint(f"{method}: band")
                )
            axes.plot(at, mean, color=color, linestyle=dashes, linewidth=thick, zorder=3, gid=_hint(f"map: {method}"))
            handles.append(Line2D([], [], color=color, linestyle=dashes, linewidth=thick))
            texts.append(method)
        axes.locator_params(axis="x", nbins=4 if narrow else 7)
        axes.set_xlabel("score")
        axes.set_ylabel("rating")
        figure.legend(
            handles, texts, loc="upper left", bbox_to_anchor=(left / width, 1 - 0.08 / figure.get_figheight()),
            ncols=3, borderaxespad=0, borderpad=0, handlelength=2.2, columnspacing=1.4,
        )  # fmt: skip
        return figure


def points_of(share: int) -> int:
    """How many pairs a picture draws at the most, on a page with so many of its kind."""
    return max(600, min(POINTS, ALL_POINTS // max(share, 1)))


def _jitter(every: Floats, size: int) -> Floats:
    """A little to add to each rating: a sixth of the usual step between grades, or a fiftieth of the range."""
    steps = np.diff(np.unique(every))
    reach = max(float(np.median(steps)) / 6, 0.02 * float(np.ptp(every))) if len(steps) else 0.0
    return np.asarray(np.random.default_rng(0).uniform(-reach, reach, size))


def precision_recall(points: pl.DataFrame, *, width: float = 7.0) -> Figure:
    """Estimated precision against recall, a mark per cut-off, shaded where there is a band.

    Up to six systems, those of the highest mean precision, have a colour and a mark; the others are grey.
    """
    with _styled():
        from matplotlib.lines import Line2D

        narrow = width < NARROW
        known = points.filter(pl.col("precision").is_not_nan() & pl.col("recall").is_not_nan())
        means = known.group_by("system", maintain_order=True).agg(pl.col("precision").mean())
        order = means.sort("precision", descending=True, maintain_order=True)["system"].to_list()
        chosen = order[: len(SERIES)]
        names = _fitted(chosen, 34 if narrow else 26, width - 1.0 if narrow else 0.3 * width)
        entries = len(chosen) + (len(order) > len(chosen))
        legend = entries * 0.21 + 0.1
        left, top, below = 0.6, 0.12, 0.52
        right = 0.2 if narrow else _inches(names or [""]) + 0.8
        bottom = below + (legend if narrow else 0.0)
        tall = 2.7 if narrow else max(3.8, legend)
        figure, axes = _figure(width, tall + bottom + top, left=left, bottom=bottom, right=right, top=top)
        axes.grid(visible=True)
        axes.set_xlim(0, 1)
        highest = max([*known["precision"].to_list(), *known["precision_hi"].drop_nans().to_list(), 0.0])
        axes.set_ylim(0, min(1.02, 1.08 * highest) if highest else 1.0)
        axes.locator_params(nbins=5)
        axes.set_xlabel("recall")
        axes.set_ylabel("precision")
        handles: list[Any] = []
        for system in reversed(order):  # the best is drawn last, on top
            rows = known.filter(pl.col("system") == system).sort("cutoff")
            x, y = rows["recall"].to_numpy(), rows["precision"].to_numpy()
            if system not in chosen:
                axes.plot(x, y, color=OTHER, linewidth=0.9, zorder=1.5, gid=_hint(system))
                continue
            color, marker, dashes = SERIES[chosen.index(system)]
            lo, hi = (rows[name].to_numpy() for name in ("precision_lo", "precision_hi"))
            axes.fill_between(x, lo, hi, color=color, alpha=0.12, linewidth=0, zorder=1.8, gid=_hint(f"{system}: band"))
            axes.plot(x, y, color=color, linestyle=dashes, linewidth=1.8, zorder=3, gid=_hint(system))
            for row in rows.iter_rows(named=True):
                band = (
                    ""
                    if math.isnan(row["precision_lo"])
                    else f" [{row['precision_lo']:.2f}, {row['precision_hi']:.2f}]"
                )
                hint = _hint(
                    f"{system}, first {row['cutoff']}: precision {row['precision']:.2f}{band}, recall "
                    f"{row['recall']:.2f}, "
                    f"{row['sampled']} asked, effective {row['effective']:.0f}"
                )
                axes.plot(
                    [row["recall"]], [row["precision"]], marker=marker, color=color, markersize=6, zorder=4, gid=hint,
                    markeredgecolor=PAPER, markeredgewidth=0.8, clip_on=False,
                )  # fmt: skip
            handles.append(Line2D([], [], color=color, linestyle=dashes, marker=marker, linewidth=1.8, markersize=6))
        handles.reverse()
        texts = list(names)
        if len(order) > len(chosen):
            handles.append(Line2D([], [], color=OTHER, linewidth=0.9))
            texts.append(f"{len(order) - len(chosen)} other systems")
        tall_inches = figure.get_figheight()
        corner = (0.3 / width, legend / tall_inches) if narrow else (1 - (right - 0.2) / width, 1 - 0.1 / tall_inches)
        figure.legend(
            handles, texts, loc="upper left", bbox_to_anchor=corner, borderaxespad=0, borderpad=0, handlelength=2.6,
            labelspacing=0.5,
        )  # fmt: skip
        return figure


def rater_map(raters: pl.DataFrame, *, width: float = 7.0) -> Figure:
    """Each rater by shift (how severe) and stretch (how little of the scale is used); larger with more answers.

    A filled blue circle goes with the others, the darker the more; an orange diamond hardly or not (correlation below
    0.2); an open one cannot be told. Flagged raters and the farthest out have their names.
    """
    with _styled():
        from matplotlib.lines import Line2D

        narrow = width < NARROW
        rows = raters.filter(pl.col("shift").is_not_nan() & pl.col("a").is_not_nan())
        left, right, top, bottom = 0.62, 0.2, 0.42 if not narrow else 0.72, 0.52
        figure, axes = _figure(width, 3.6 if narrow else 4.6, left=left, bottom=bottom, right=right, top=top)
        axes.grid(visible=True)
        x, y = rows["shift"].to_numpy(), rows["a"].to_numpy()
        axes.axvline(0, color=MUTED, linewidth=0.9, zorder=1)
        axes.axhline(1, color=MUTED, linewidth=0.9, zorder=1)
        axes.set_xlim(*_room([*x.tolist(), 0.0]))
        axes.set_ylim(*_room([*y.tolist(), 1.0]))
        answers = rows["answers"].to_numpy().astype(np.float64)
        crowd = min(1.0, math.sqrt(30 / max(rows.height, 1))) * (0.75 if narrow else 1.0)
        size = 4 + 10 * crowd * np.sqrt(answers / max(float(answers.max(initial=1)), 1.0))
        for place in np.argsort(-size).tolist():  # the small on top of the large
            row = rows.row(place, named=True)
            r = row["correlation"]
            color, marker, alpha = _look(r)
            said = "" if math.isnan(r) else f", correlation {number(r, 2)}"
            flags = f" ({row['flags']})" if row["flags"] else ""
            hint = _hint(
                f"{row['source']}: shift {signed(row['shift'], 2)}, stretch {number(row['a'], 2)}, "
                f"{row['answers']} answers{said}{flags}"
            )
            face = (color, alpha) if not math.isnan(r) else PAPER
            axes.plot(
                [x[place]], [y[place]], marker=marker, markersize=float(size[place]), markerfacecolor=face,
                markeredgecolor=color, markeredgewidth=0.9, gid=hint, zorder=3,
            )  # fmt: skip
        _name_some(axes, rows, x, y, size, narrow=narrow)
        axes.locator_params(axis="x", nbins=4 if narrow else 7)
        axes.locator_params(axis="y", nbins=6)
        axes.set_xlabel("shift: ← mild, severe →")
        axes.set_ylabel("stretch: uses much ↔ little")
        shapes: list[tuple[str, str, Any]] = [
            ("o", BLUE, (BLUE, 0.8)),
            ("D", ORANGE, (ORANGE, 0.8)),
            ("o", GREY, PAPER),
        ]
        handles = [
            Line2D([], [], linestyle="none", marker=m, markersize=8, markeredgecolor=c, markerfacecolor=f)
            for m, c, f in shapes
        ]
        texts = ["goes with the others", f"hardly (r below {FAR:g})", "not known"]
        figure.legend(
            handles, texts, loc="upper left", bbox_to_anchor=(left / width, 1 - 0.08 / figure.get_figheight()),
            ncols=2 if narrow else 3, borderaxespad=0, borderpad=0, handlelength=1, columnspacing=1.4, fontsize=9,
        )  # fmt: skip
        return figure


def _look(r: float) -> tuple[str, str, float]:
    """Colour, marker and darkness of a rater's correlation with the others."""
    if math.isnan(r):
        return GREY, "o", 0.0
    return (ORANGE, "D", 0.75) if r < FAR else (BLUE, "o", 0.15 + 0.75 * min(r, 1.0))


def _name_some(axes: Axes, rows: pl.DataFrame, x: Floats, y: Floats, size: Floats, *, narrow: bool) -> None:
    """Names beside flagged raters, and those farthest out, as long as none would lie on another."""
    if not rows.height:
        return
    wide, tall = np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())
    # a rater with few common items only is nothing to be named for
    serious = rows["flags"].fill_null("").str.contains("constant|reversed").to_numpy()
    odd = rows["correlation"].fill_nan(1.0).to_numpy() < FAR
    out = np.hypot(x / wide, (y - 1) / tall) + 10.0 * (serious | odd)
    names = shortened(rows["source"].to_list(), 12 if narrow else 18)
    box = axes.get_position()
    inches = axes.figure.get_figwidth() * box.width, axes.figure.get_figheight() * box.height  # type: ignore[union-attr]
    spots = (x - axes.get_xlim()[0]) / wide * inches[0], (y - axes.get_ylim()[0]) / tall * inches[1]
    taken: list[tuple[float, float, float, float]] = []
    for place in np.argsort(-out).tolist()[: NAMED // 2 if narrow else NAMED]:
        long, high = 1.1 * _inches([names[place]], 9), 0.17
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
            ha="right" if turned else "left", va="center", fontsize=9, color=INK, gid=MUTE, annotation_clip=False,
        )  # fmt: skip


def _room(values: Sequence[float]) -> tuple[float, float]:
    """Limits with a tenth of room on either side, never narrower than a fifth."""
    low, high = min(values), max(values)
    room = max(0.12 * (high - low), 0.1)
    return low - room, high + room


def calibration(raters: pl.DataFrame, *, width: float = 7.0) -> Figure:
    """Mean ± one standard deviation of each rater on common items: open and grey before, filled and blue after.

    Beyond forty raters those that calibration moves most.
    """
    with _styled():
        from matplotlib.lines import Line2D

        narrow = width < NARROW
        moved = raters.with_columns((pl.col("a") * pl.col("mean") + pl.col("b")).alias("mean_after"))
        moved = moved.with_columns((pl.col("a") * pl.col("sd")).alias("sd_after")).filter(pl.col("mean").is_not_nan())
        drawn = moved.sort(pl.col("shift").abs(), descending=True).head(ROWS).sort("mean")
        names = _fitted(drawn["source"].to_list(), 24, 0.3 * width)
        row = 0.3 if drawn.height <= 20 else 0.22
        left, right, bottom, top = _inches(names or [""], 9) + 0.3, 0.2, 0.52, 0.36
        note = f"The {ROWS} of {moved.height} raters that are moved most." if moved.height > ROWS else ""
        bottom += 0.2 if note else 0.0
        figure, axes = _figure(width, drawn.height * row + bottom + top, left=left, bottom=bottom, right=right, top=top)
        axes.set_ylim(drawn.height - 0.4, -0.6)
        axes.grid(axis="x")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.set_yticks(range(drawn.height), names, fontsize=9)
        for place, one in enumerate(drawn.iter_rows(named=True)):
            axes.axhline(place, color=FAINT, linewidth=0.6, zorder=0.5)
            stages = (("", GREY, -0.14, PAPER), ("_after", BLUE, 0.14, BLUE))
            for end, color, off, face in stages:
                mean, sd = one[f"mean{end}"], one[f"sd{end}"]
                said = "calibrated" if end else "as given"
                hint = _hint(f"{one['source']}, {said}: mean {number(mean, 2)}, sd {number(sd, 2)}")
                y = place + off
                axes.plot([mean - sd, mean + sd], [y, y], color=color, linewidth=1.6, gid=hint, zorder=2)
                axes.plot(
                    [mean], [y], marker="o", markersize=5, color=color, markerfacecolor=face, gid=hint, zorder=3
                )  # fmt: skip
        axes.locator_params(axis="x", nbins=4 if narrow else 7)
        axes.set_xlabel("grade: mean ± sd on common pairs")
        keys = [
            Line2D([], [], color=color, marker="o", markersize=5, markerfacecolor=face)
            for color, face in ((GREY, PAPER), (BLUE, BLUE))
        ]
        figure.legend(
            keys, ["as given", "calibrated"], loc="upper left", ncols=2, borderaxespad=0, borderpad=0, fontsize=9,
            bbox_to_anchor=(left / width, 1 - 0.06 / figure.get_figheight()), columnspacing=1.4,
        )  # fmt: skip
        if note:
            figure.text(0.15 / width, 0.05 / figure.get_figheight(), note, fontsize=9, color=MUTED, va="bottom")
        return figure


def per_query(frame: pl.DataFrame, whole: float, *, width: float = 7.0) -> Figure:
    """Alpha within each query, sorted, larger with more ratings; the line is alpha over all queries."""
    with _styled():
        narrow = width < NARROW
        rows = frame.sort("alpha", descending=True, maintain_order=True)
        values = rows["alpha"].to_numpy()
        queries = rows["query"].to_list()
        ticks = len(queries) <= (width - 0.9) / 0.2
        names = shortened(queries, 14) if ticks else []
        left, right, top = 0.72, 0.2, 0.15
        bottom = 0.35 + (_inches(names, 9) + 0.1 if ticks else 0.05)
        tall = 2.1 if narrow else 2.8
        figure, axes = _figure(width, tall + bottom + top, left=left, bottom=bottom, right=right, top=top)
        axes.grid(axis="y")
        axes.set_xlim(-0.7, len(values) - 0.3)
        low = max(-1.05, min(0.0, float(values.min())) - 0.05)  # one query far below chance would squeeze all others
        axes.set_ylim(low, 1.05)
        axes.axhline(0, color=MUTED, linewidth=0.9)
        size = 3 + 4 * np.sqrt(rows["ratings"].to_numpy() / max(int(rows["ratings"].max()), 1))  # type: ignore[arg-type]
        if len(values) > 400:
            axes.plot(np.arange(len(values)), np.maximum(values, low), color=SLATE, linewidth=1.6)
        else:
            for place, (query, value) in enumerate(zip(queries, values.tolist(), strict=True)):
                axes.plot(
                    [place], [max(value, low)], marker="o" if value >= low else "v", markersize=float(size[place]),
                    color=ORANGE if value < 0 else SLATE, markeredgewidth=0, clip_on=False,
                    gid=_hint(f"query {query}: alpha {number(value, 3)}, {rows['ratings'][place]} ratings"),
                )  # fmt: skip
        if not math.isnan(whole):
            axes.axhline(whole, color=BLUE, linewidth=1, linestyle=(0, (4, 3)), gid=_hint(f"all: {number(whole, 3)}"))
            axes.annotate(
                f"all queries {number(whole, 2)}", (1, whole), xycoords=axes.get_yaxis_transform(), xytext=(-2, 3),
                textcoords="offset points", ha="right", va="bottom", fontsize=9, color=BLUE,
            )  # fmt: skip
        axes.set_xticks(range(len(names)))
        if ticks:
            axes.set_xticklabels(names, rotation=90, fontsize=9)
            axes.tick_params(axis="x", length=0)
        axes.set_ylabel("alpha")
        axes.set_xlabel(f"{len(queries)} queries, sorted")
        return figure


def uniformity(classes: Sequence[str], shares: Sequence[float], *, width: float = 7.0) -> Figure:
    """A bar per grade, and the line of even use."""
    with _styled():
        from matplotlib.patches import Rectangle

        narrow = width < NARROW
        names = shortened(classes, 12)
        upright = _inches(names, 9) * len(names) > width - 1.0
        left, right, top = 0.62, 0.2, 0.25
        bottom = 0.42 + (_inches(names, 9) if upright else 0.15)
        figure, axes = _figure(width, 2.3 + bottom + top, left=left, bottom=bottom, right=right, top=top)
        axes.grid(axis="y")
        even, highest = 1 / len(shares), max(*shares, 1 / len(shares))
        axes.set_ylim(0, 1.12 * highest)
        axes.set_xlim(-0.6, len(shares) - 0.4)
        for place, (name, value) in enumerate(zip(classes, shares, strict=True)):
            hint = _hint(f"grade {name}: {labels.share(value, 1)}")
            axes.add_patch(Rectangle((place - 0.4, 0), 0.8, value, facecolor=BLUE, linewidth=0, gid=hint))
            if len(shares) <= (8 if narrow else 14):
                axes.annotate(
                    f"{100 * value:.0f} %", (place, value), xytext=(0, 3), textcoords="offset points", ha="center",
                    va="bottom", fontsize=9, gid=MUTE, bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5},
                )  # fmt: skip
        axes.axhline(even, color=INK, linewidth=1, linestyle=(0, (4, 3)), gid=_hint(f"even: {labels.share(even, 1)}"))
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        axes.locator_params(axis="y", nbins=5)
        axes.set_xticks(range(len(names)), names, fontsize=9, rotation=90 if upright else 0)
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel("grade")
        return figure


def selection(frame: pl.DataFrame, *, width: float = 7.0) -> Figure:
    """A matrix of correlations: row system, column who chose the pairs; a frame around a system's own."""
    with _styled():
        from matplotlib.patches import Rectangle

        narrow = width < NARROW
        order = frame["system"].unique(maintain_order=True).to_list()
        texts = len(order) <= (6 if narrow else 12)
        names = [f"{at + 1}  {name}" for at, name in enumerate(_fitted(order, 14 if narrow else 28, 0.34 * width))]
        left = _inches(names, 10) + 0.25
        cell = min(max((width - left - 0.15) / len(order), 0.36 if texts else 0.17), 0.85)
        row = min(cell, 0.45)
        wide = max(left + cell * len(order) + 0.15, width if narrow else 4.5)
        top, bottom = 0.55, 0.15
        margin = wide - left - cell * len(order)
        figure, axes = _figure(wide, top + bottom + row * len(order), left=left, bottom=bottom, right=margin, top=top)
        axes.set_xlim(-0.5, len(order) - 0.5)
        axes.set_ylim(len(order) - 0.5, -0.5)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set_xticks(range(len(order)), [str(at + 1) for at in range(len(order))])
        axes.set_xlabel("pairs chosen by", fontsize=9, color=MUTED)
        axes.set_yticks(range(len(order)), names, ha="left")
        axes.tick_params(length=0)
        axes.tick_params(axis="y", pad=(left - 0.15) * 72)
        reach = max((abs(r) for r in frame["r"].drop_nans().to_list()), default=1.0) or 1.0
        for system, by, r, pairs in frame.iter_rows():
            i, j = order.index(system), order.index(by)
            hint = _hint(f"{system} on pairs of {by}: r {number(r, 3)}, {pairs} pairs")
            face = (GREY, 0.15) if math.isnan(r) else (ORANGE if r < 0 else BLUE, 0.05 + 0.55 * abs(r) / reach)
            axes.add_artist(
                Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=face, edgecolor=PAPER, linewidth=1.5, gid=hint)
            )
            if texts:
                text = number(r, 2)
                axes.text(
                    j, i, text.replace("0.", ".") if narrow else text, ha="center", va="center", fontsize=9, gid=MUTE,
                    fontweight="bold" if i == j else "normal",
                )  # fmt: skip
            if i == j:
                axes.add_artist(
                    Rectangle(
                        (j - 0.46, i - 0.44), 0.92, 0.88, facecolor="none", edgecolor=INK, linewidth=1.2, gid=MUTE,
                        zorder=4,
                    )
                )  # fmt: skip
        return figure
