"""Figures: matplotlib, without pyplot, the same bytes every time.

They read in grey and to colour-blind eyes: colour never stands alone, there is always a place, a marker, a
line style or a sign beside it. Sizes are worked out in inches from the number of rows, so that labels never
overlap; `width` is that of the whole figure, and below five inches the layout is the one for a phone.
Marks carry a text that an SVG shows on hovering.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from endoxa.errors import EndoxaError, did_you_mean
from endoxa.reports import labels
from endoxa.reports.findings import Pair, pairs_of, ranking
from endoxa.reports.labels import number, probability, shortened, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from endoxa.tables import Comparison, Scores

INK, MUTED, FAINT, PAPER, OTHER = "#1d2330", "#5b6472", "#dcd9d2", "#ffffff", "#b3b8c0"
SLATE = "#4a5160"
# Chosen apart in lightness as well as hue: at least 16 CIE76 units between any two in simulated deuteranopia,
# protanopia and tritanopia, and a contrast of at least 3 with white.
BLUE, ORANGE, GREEN, PURPLE, EARTH, GREY = "#0072b2", "#d55e00", "#12a06e", "#8a2f86", "#5a3d00", "#7d8594"
SERIES: tuple[tuple[str, str, Any], ...] = (
    (BLUE, "o", "solid"),
    (ORANGE, "s", (0, (6, 1.5))),
    (GREEN, "^", "solid"),
    (PURPLE, "D", (0, (3, 1.2))),
    (EARTH, "v", "solid"),
    (GREY, "P", (0, (6, 1.5, 1, 1.5))),
)

NARROW = 5.0  # inches: below this, the layout for a phone
SINGLE_BARS = 400  # more queries than this are drawn as one shape: bars would be thinner than a pixel
MUTE = "mute"  # id of a mark that lies over another, whose hover text should show
CELLS_WITH_TEXT = 12  # larger matrices show colour and marks only

SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": PAPER,
    "font.size": 10,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "path.simplify": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "endoxa",
    "text.color": INK,
    "text.parse_math": False,  # a system may be called $x$
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
}


@contextmanager
def _styled() -> Iterator[None]:
    """Our settings on top of matplotlib's defaults, whatever the reader's own matplotlibrc says."""
    from matplotlib import style

    with style.context(SETTINGS, after_reset=True), warnings.catch_warnings():
        # An SVG keeps the letters as text; that DejaVu Sans lacks them matters to no one but the PNG.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        yield


def intervals(summary: pl.DataFrame, measure: str, *, width: float = 7.0, lower: bool = False) -> Figure:
    """A dot and an interval per system, best on top. Undefined systems stand last, without a dot.

    The intervals are each system's own. Two that overlap may still differ surely, since systems are compared
    query by query: see `pairs`.
    """
    with _styled():
        standings = ranking(summary, measure, lower=lower)
        narrow = width < NARROW
        names = _fitted([one.system for one in standings], 30, width - 1.1 if narrow else 0.35 * width)
        row = 0.44 if narrow else 0.3
        left = 0.15 if narrow else 1.08 * _inches(names) + 0.25  # the best is bold, which is wider
        right = 0.15 if narrow else 1.75
        bottom, top = 0.52, 0.1
        height = len(names) * row + bottom + top
        figure, axes = _figure(width, height, left=left, bottom=bottom, right=right, top=top)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.set_xlim(*_span([bound for one in standings for bound in (one.value, one.lo, one.hi)]))
        axes.locator_params(axis="x", nbins=4 if narrow else 6)
        axes.set_xlabel(labels.clean(measure))
        decimals = 0 if measure in labels.counts(summary) else 4
        line = 0.16 if narrow else 0.0  # on a phone the text stands above the line it belongs to
        edge = axes.get_yaxis_transform()
        bare = {"facecolor": PAPER, "edgecolor": "none", "pad": 1}  # grid lines stop at the text
        for place, (one, name) in enumerate(zip(standings, names, strict=True)):
            interval = "" if math.isnan(one.lo) else f" [{number(one.lo, decimals)}, {number(one.hi, decimals)}]"
            hint = _hint(f"{one.system}: {number(one.value, decimals)}{interval}")
            best = place == 0 and len(names) > 1
            y = place + line
            if not narrow:
                axes.axhline(y, color=FAINT, linewidth=0.6, zorder=0.5)
            if not math.isnan(one.value):
                color, marker = (BLUE, "D") if best else (SLATE, "o")
                # An interval without an end (too few queries to bound it) runs to the edge.
                ends = [max(one.lo, axes.get_xlim()[0]), min(one.hi, axes.get_xlim()[1])]
                axes.plot(ends, [y, y], color=color, linewidth=2, solid_capstyle="butt", gid=hint)
                axes.plot(
                    [one.value],
                    [y],
                    color=color,
                    marker=marker,
                    markersize=7.5 if best else 7,
                    markeredgecolor=PAPER,
                    markeredgewidth=1,
                    gid=hint,
                    clip_on=False,
                )
            weight = "bold" if best else "normal"
            text = f"{number(one.value, decimals)}{interval}" if not math.isnan(one.value) else "undefined"
            above = place - 0.2
            shift = (0, 0) if narrow else (-0.12 * 72, 0)
            axes.annotate(
                name,
                (0, above if narrow else y),
                xycoords=edge,
                xytext=shift,
                textcoords="offset points",
                ha="left" if narrow else "right",
                va="center",
                fontweight=weight,
                gid=hint,
                annotation_clip=False,
                bbox=bare if narrow else None,
            )
            axes.annotate(
                number(one.value, decimals) if narrow and not math.isnan(one.value) else text,
                (1, above if narrow else y),
                xycoords=edge,
                xytext=(0, 0) if narrow else (0.1 * 72, 0),
                textcoords="offset points",
                ha="right" if narrow else "left",
                va="center",
                fontsize=10 if narrow else 9,
                color=INK if best else MUTED,
                fontweight=weight if narrow else "normal",
                annotation_clip=False,
                bbox=bare if narrow else None,
            )
        return figure


def curves(curves: pl.DataFrame, *, width: float = 7.0, highlight: Sequence[str] = ()) -> Figure:
    """Precision at each recall, one line per system, and the generality line: what a random ranking would reach.

    Up to six systems have a colour, marker and line style: those of `highlight`, then those of the highest
    mean precision. The others are drawn in grey behind them. Where generality differs by more than a factor
    of two between queries or collections, a note under the figure says so (`generality_note`).
    """
    with _styled():
        from matplotlib.lines import Line2D

        narrow = width < NARROW
        order = curves_order(curves)
        chosen = [name for name in dict.fromkeys([*highlight, *order]) if name in order][: len(SERIES)]
        chosen.sort(key=order.index)
        names = _fitted(chosen, 34 if narrow else 26, width - 1.0 if narrow else 0.3 * width)
        note = wrap(generality_note(curves) or "", int((width - 0.3) / 0.075), break_on_hyphens=False)
        level, low, high = generality(curves)
        entries = len(chosen) + (len(order) > len(chosen)) + (not math.isnan(level))
        legend = entries * 0.21 + 0.1
        footer = len(note) * 0.17 + 0.1 if note else 0.0
        left, top, below = 0.6, 0.12, 0.52
        right = 0.15 if narrow else _inches([*names, "random ranking: 0.0001"]) + 0.8
        tall = 2.7 if narrow else max(3.6, legend)
        bottom = below + footer + (legend if narrow else 0.0)
        figure, axes = _figure(width, tall + bottom + top, left=left, bottom=bottom, right=right, top=top)
        axes.grid(visible=True)
        axes.set_xlim(0, 1)
        precision = curves["precision"].drop_nulls().drop_nans()
        highest = max([float(value) for value in precision.to_list()] + [0.0 if math.isnan(high) else high])
        axes.set_ylim(0, min(1.0, 1.12 * highest) if highest else 1.0)
        axes.locator_params(nbins=5)
        axes.set_xlabel("recall")
        axes.set_ylabel("precision")
        lines: dict[str, Any] = {}
        for (system,), rows in curves.sort("recall").group_by("system", maintain_order=True):
            hint = _hint(f"{system}")
            x, y = rows["recall"].to_numpy(), rows["precision"].to_numpy()
            if system not in chosen:
                axes.plot(x, y, color=OTHER, linewidth=0.9, zorder=1.5, gid=hint)
                continue
            place = chosen.index(str(system))
            color, marker, dashes = SERIES[place]
            # The first is drawn last, on top; markers are staggered so that close lines show whose they are.
            lines[str(system)] = axes.plot(
                x,
                y,
                color=color,
                linestyle=dashes,
                linewidth=1.8,
                marker=marker,
                markersize=5.5,
                markeredgecolor=PAPER,
                markeredgewidth=0.8,
                markevery=(place * len(x) // 60 % max(len(x), 1), max(len(x) // 10, 1)),
                zorder=4 - place / 10,
                gid=hint,
                clip_on=False,
            )[0]
        handles = [lines[name] for name in chosen]
        texts = list(names)
        if len(order) > len(chosen):
            handles.append(Line2D([], [], color=OTHER, linewidth=0.9))
            texts.append(f"{len(order) - len(chosen)} other systems")
        if not math.isnan(level):
            if high > low:
                axes.axhspan(low, high, color=MUTED, alpha=0.1, linewidth=0, zorder=1)
            text = f"random ranking: {_significant(level)}"
            handles.append(
                axes.axhline(level, color=MUTED, linestyle=(0, (4, 3)), linewidth=1.3, zorder=3, gid=_hint(text))
            )
            texts.append(text)
        figure.legend(
            handles,
            texts,
            loc="upper left",
            bbox_to_anchor=(
                (0.3 / width, (footer + legend) / figure.get_figheight())
                if narrow
                else (1 - (right - 0.2) / width, 1 - (top - 0.05) / figure.get_figheight())
            ),
            borderaxespad=0,
            borderpad=0,
            handlelength=2.6,
            labelspacing=0.5,
            fontsize=10,
        )
        for place, text in enumerate(note):
            figure.text(
                0.15 / width,
                (footer - 0.05 - place * 0.17) / figure.get_figheight(),
                text,
                fontsize=9,
                color=INK,
                va="top",
                fontstyle="italic",
            )
        return figure


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


def differences(scores: Scores, system: str, baseline: str, measure: str, *, width: float = 7.0) -> Figure:
    """What each query says: `system` minus `baseline`, sorted. Queries undefined for either are left out."""
    with _styled():
        from matplotlib.patches import Patch, Rectangle

        rows = query_differences(scores, system, baseline, measure)
        narrow = width < NARROW
        values = rows["difference"].to_numpy()
        queries = rows["query"].to_list()
        count = len(values)
        short = _fitted([system, baseline], 44, width - 2.3)
        wins, losses = int((values > 0).sum()), int((values < 0).sum())
        ticks = 0 < count <= (width - 0.9) / 0.2
        names = shortened(queries, 14) if ticks else []
        left, right, legend = 0.82, 0.15, 0.7
        bottom = 0.35 + (_inches(names, 9) + 0.1 if ticks else 0.05)
        tall = 2.1 if narrow else 2.8
        figure, axes = _figure(width, tall + bottom + legend, left=left, bottom=bottom, right=right, top=legend)
        axes.grid(axis="y")
        axes.spines["bottom"].set_visible(False)
        axes.set_xlim(-0.7, max(count, 1) - 0.3)
        reach = max((float(abs(value)) for value in values), default=0.0) or 1.0
        low, high = min(0.0, float(values.min(initial=0))), max(0.0, float(values.max(initial=0)))
        axes.set_ylim(low - 0.06 * reach, high + 0.06 * reach)
        if count > SINGLE_BARS:
            at = np.arange(count)
            for color, part in ((BLUE, np.maximum(values, 0)), (ORANGE, np.minimum(values, 0))):
                axes.fill_between(at, part, 0, step="mid", color=color, linewidth=0)
        else:
            thick = 0.8 if count < 150 else 1.0
            for place, (query, value) in enumerate(zip(queries, values, strict=True)):
                axes.add_patch(
                    Rectangle(
                        (place - thick / 2, 0),
                        thick,
                        value,
                        facecolor=BLUE if value > 0 else ORANGE,
                        linewidth=0,
                        gid=_hint(f"query {query}: {signed(float(value), 3)}"),
                        clip_on=False,
                    )
                )
        axes.axhline(0, color=INK, linewidth=0.9)
        if count:
            mean = float(values.mean())
            text = f"mean {signed(mean)}"
            axes.axhline(mean, color=INK, linewidth=1, linestyle=(0, (4, 3)), gid=_hint(text))
            # The bars fall from left to right, so that the upper right and the lower left are free.
            x, shift, ha, va = (1, (-2, 3), "right", "bottom") if mean >= 0 else (0, (4, -3), "left", "top")
            axes.annotate(
                text, (x, mean), xycoords=axes.get_yaxis_transform(), xytext=shift, textcoords="offset points",
                ha=ha, va=va, fontsize=9, color=INK,
            )  # fmt: skip
        axes.locator_params(axis="y", nbins=6)
        axes.yaxis.set_major_formatter(lambda value, _: signed(value, _places(reach)))
        axes.set_xticks(range(count) if ticks else [])
        if ticks:
            axes.set_xticklabels(names, rotation=90, fontsize=9)
            axes.tick_params(axis="x", length=0)
        axes.set_ylabel(f"difference in {_short(measure, 20)}")
        equal = count - wins - losses
        tail = f", {equal} equal" if equal else ""
        axes.set_xlabel(f"{count} quer{'y' if count == 1 else 'ies'}, sorted{tail}")
        figure.legend(
            [Patch(color=BLUE), Patch(color=ORANGE)],
            [f"{short[0]} higher: {wins}", f"{short[1]} higher: {losses}"],
            loc="upper left",
            bbox_to_anchor=(left / width, 1 - 0.1 / figure.get_figheight()),
            borderaxespad=0,
            borderpad=0,
            handlelength=1,
            handleheight=0.9,
        )
        return figure


def query_differences(scores: Scores, system: str, baseline: str, measure: str) -> pl.DataFrame:
    """query, system, baseline, difference: largest difference first, only queries defined for both."""
    systems, queries, values = scores.matrix(measure)
    for name in (system, baseline):
        if name not in systems:
            raise EndoxaError(
                f"no system is called {name!r}{did_you_mean(name, systems)} (there are: {', '.join(systems)})"
            )
    ours, theirs = values[systems.index(system)], values[systems.index(baseline)]
    frame = pl.DataFrame({"query": queries, "system": ours, "baseline": theirs, "difference": ours - theirs})
    return frame.filter(pl.col("difference").is_not_nan()).sort("difference", descending=True, maintain_order=True)


def pairs(comparison: Comparison, measure: str, *, width: float = 7.0, alpha: float = 0.05) -> Figure:
    """A matrix of differences, row minus column, best systems first; a mark where it can be told from none.

    Where all pairs were compared, each is shown once, above the diagonal. Against a single baseline the matrix is one
    column. Up to twelve systems the number stands in the cell; beyond that colour and mark only, and a text
    on hovering. The figure grows with the number of systems, beyond `width` if need be.
    """
    with _styled():
        from matplotlib.patches import Rectangle

        narrow = width < NARROW
        order, columns, cells = pair_matrix(comparison, measure)
        texts = len(columns) <= CELLS_WITH_TEXT
        small = 8 if narrow or not texts else 9
        letters = 8 if not texts else 9 if narrow else 10
        names = [
            f"{place + 1}  {name}" for place, name in enumerate(_fitted(order, 12 if narrow else 28, 0.32 * width))
        ]
        heads = (
            shortened(columns, 14 if narrow else 20)
            if len(columns) == 1
            else [str(order.index(name) + 1) for name in columns]
        )
        left = _inches(names, letters) + 0.2
        least = (0.45 if narrow else 0.6) if texts else 0.17
        cell = min(max((width - left - 0.1) / max(len(columns), 1), least), 0.85)
        if len(columns) == 1:
            cell = max(1.2, _inches(heads, letters) + 0.1)
        row = min(cell, 0.4) if texts else cell
        wide = max(left + cell * len(columns) + 0.1, width if narrow else 4.5)
        adjusted = any(one.adjusted for one in cells.values())
        legend = wrap(
            f"Row minus column, {labels.clean(measure)}. {'*' if texts else 'Dot'}: p < {alpha:.2g}"
            f"{', adjusted for the number of comparisons' if adjusted else ''}.",
            int((wide - 0.3) / 0.078),
        )
        top, bottom = 0.32, 0.14 + 0.18 * len(legend)
        margin = wide - left - cell * len(columns)
        figure, axes = _figure(wide, top + bottom + row * len(order), left=left, bottom=bottom, right=margin, top=top)
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(order) - 0.5, -0.5)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.xaxis.tick_top()
        axes.set_xticks(range(len(columns)), heads, fontsize=letters)
        axes.set_yticks(range(len(order)), names, ha="left", fontsize=letters)
        axes.tick_params(length=0)
        axes.tick_params(axis="y", pad=(left - 0.15) * 72)
        reach = max((abs(one.difference) for one in cells.values() if not math.isnan(one.difference)), default=0) or 1
        for (i, j), one in cells.items():
            strength = 0 if math.isnan(one.difference) else abs(one.difference) / reach
            axes.add_artist(
                Rectangle(
                    (j - 0.5, i - 0.5),
                    1,
                    1,
                    facecolor=(ORANGE if one.difference < 0 else BLUE, 0.06 + 0.5 * strength),
                    edgecolor=PAPER,
                    linewidth=1.5 if texts else 0.8,
                    gid=_hint(_spoken(one)),
                    clip_on=False,
                )
            )
        marked = [place for place, one in cells.items() if one.differs(alpha)]
        if texts:
            for (i, j), one in cells.items():
                text = signed(one.difference, 3).replace("0.", "." if narrow else "0.", 1)
                star, weight = ("*", "normal" if narrow else "bold") if (i, j) in marked else ("", "normal")
                axes.text(
                    j, i, text + star, ha="center", va="center", fontsize=small, fontweight=weight, gid=MUTE
                )  # fmt: skip
        else:
            axes.plot([j for _, j in marked], [i for i, _ in marked], "o", color=INK, markersize=2.6, gid=MUTE)
        for place, text in enumerate(legend):
            figure.text(
                0.15 / wide,
                (bottom - 0.1 - place * 0.18) / figure.get_figheight(),
                text,
                fontsize=9,
                color=MUTED,
                va="top",
            )
        return figure


def pair_matrix(comparison: Comparison, measure: str) -> tuple[list[str], list[str], dict[tuple[int, int], Pair]]:
    """(rows, columns, cells): systems by their mean difference from the others, best first."""
    found = pairs_of(comparison, measure)
    gains: dict[str, list[float]] = {}
    for pair in found:
        for one in (pair, pair.turned()):
            gains.setdefault(one.system, []).append(0.0 if math.isnan(one.difference) else one.difference)
    order = sorted(gains, key=lambda name: -sum(gains[name]) / len(gains[name]))
    if len(found) > 1 and len({pair.baseline for pair in found}) == 1:
        column = found[0].baseline
        rows = [name for name in sorted(gains, key=lambda name: -gains[name][0]) if name != column]
        return rows, [column], {(rows.index(pair.system), 0): pair for pair in found}
    cells = {}
    rows, columns = order, order[1:]  # nothing stands below the last, but its row bears its name
    for pair in found:
        one = pair if order.index(pair.system) < order.index(pair.baseline) else pair.turned()
        cells[rows.index(one.system), columns.index(one.baseline)] = one
    return rows, columns, cells


def to_svg(figure: Figure, *, prefix: str = "") -> str:
    """The figure as one `<svg>` element, text as text, hover texts as `<title>`; the same bytes every time.

    It stands alone as a file and inside a page. `prefix` keeps the ids of several figures on one page apart.
    """
    out = io.StringIO()
    with _styled():
        figure.savefig(out, format="svg", metadata={"Date": None})
    svg = out.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], count=1, flags=re.DOTALL)
    # Only tags are touched: the text between them holds names, which may look like anything.
    svg = re.sub(r"<[^>]+>", lambda tag: _tidied(tag[0], prefix), svg)
    return re.sub(r"\n\s*", "\n", svg)


def to_png(figure: Figure, *, dpi: int = 200) -> bytes:
    """The figure as a PNG; the same bytes every time."""
    out = io.BytesIO()
    with _styled():
        figure.savefig(out, format="png", dpi=dpi, metadata={"Software": None})
    return out.getvalue()


def _tidied(tag: str, prefix: str) -> str:
    """One tag of matplotlib's SVG: hints become titles, ids that nothing refers to go, numbers lose noise."""
    if hint := re.fullmatch(r"<g id=([\"'])hint:(.*)\1>", tag, flags=re.DOTALL):
        return f"<g><title>{hint[2]}</title>"
    if tag == f'<g id="{MUTE}">':
        return '<g pointer-events="none">'
    tag = re.sub(r"^<g id=\"[^\"]*\"", "<g", tag)
    tag = re.sub(r"font-family: [^;\"]*sans-serif", "font-family: sans-serif", tag)
    tag = re.sub(r' transform="rotate\(-0 [^)]*\)"', "", tag)
    tag = re.sub(r' d="([^"]*)"', lambda found: f' d="{_rounded(found[1])}"', tag)
    return re.sub(r'( id="| xlink:href="#|url\(#)', rf"\g<1>{prefix}-", tag) if prefix else tag


def _rounded(path: str) -> str:
    """A path at a hundredth of a point: half the bytes, no visible difference."""
    path = re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), path)
    return " ".join(path.split())


def _figure(
    width: float, height: float, *, left: float, bottom: float, right: float, top: float
) -> tuple[Figure, Axes]:
    """A figure with one pair of axes; all margins in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    box = (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
    return figure, figure.add_axes(box)


def _hint(text: str) -> str:
    """An id that `to_svg` turns into a hover text."""
    return f"hint:{labels.clean(text)}"


def _spoken(pair: Pair) -> str:
    interval = f", interval {number(pair.lo, 3)} to {number(pair.hi, 3)}" if not math.isnan(pair.lo) else ""
    return f"{pair.system} minus {pair.baseline}: {signed(pair.difference, 3)}{interval}, {probability(pair.p)}"


def _inches(texts: Sequence[str], size: float = 10) -> float:
    return max((labels.width(text) for text in texts), default=0.0) * size / 72


def _fitted(names: Sequence[str], limit: int, inches: float) -> list[str]:
    """Names cut to `limit` letters, or to as many as `inches` hold."""
    while limit > 6 and _inches(shortened(names, limit)) > inches:
        limit -= 1
    return shortened(names, limit)


def _short(text: str, limit: int) -> str:
    return shortened([text], limit)[0]


def _span(values: Sequence[float]) -> tuple[float, float]:
    """Limits of an axis that hold all values with a little room; never below 0 where nothing is."""
    known = [value for value in values if math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    room = 0.06 * (high - low) or 0.1 * abs(high) or 0.1
    return (max(low - room, 0.0) if low > 0 else low - room), high + room


def _places(reach: float) -> int:
    """Decimals of an axis whose largest value is `reach`."""
    return max(0, min(6, 1 - math.floor(math.log10(reach))))


def _significant(value: float) -> str:
    return f"{value:.2g}" if value >= 1e-4 or value == 0 else f"{value:.1e}"
