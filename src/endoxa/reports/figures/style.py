"""What all figures share: colours, sizes, fonts, and the way to SVG and PNG.

Figures are made by matplotlib, without pyplot, and have the same bytes every time. They are readable in greyscale and
for colour-blind readers: besides colour there is always a position, a marker, a line style or a sign. Sizes are
computed in inches from the number of rows, so that labels never overlap; `width` is that of the whole figure, and below
five inches the layout is the one for a phone. Marks carry a text that an SVG shows on hovering.
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
from zlib import crc32

from endoxa import formatting
from endoxa.formatting import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, FAINT, PAPER, OTHER = "#1d2330", "#5b6472", "#dcd9d2", "#ffffff", "#b3b8c0"
SLATE = "#4a5160"
# Chosen apart in lightness as well as hue: at least 16 CIE76 units between any two in simulated deuteranopia,
# protanopia and tritanopia, and a contrast of at least 3 with white.
BLUE, ORANGE, GREEN, PURPLE, EARTH, GREY = "#0072b2", "#d55e00", "#12a06e", "#8a2f86", "#5a3d00", "#7d8594"
SERIES: tuple[tuple[str, str, Any], ...] = (
    (BLUE, "o", "solid"), (ORANGE, "s", (0, (6, 1.5))), (GREEN, "^", "solid"), (PURPLE, "D", (0, (3, 1.2))),
    (EARTH, "v", "solid"), (GREY, "P", (0, (6, 1.5, 1, 1.5))),
)  # fmt: skip

NARROW = 5.0  # inches: below this, the layout for a phone
MUTE = "mute"  # id of a mark that lies over another, whose hover text should show

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
def styled() -> Iterator[None]:
    """Our settings on top of matplotlib's defaults, whatever the reader's own matplotlibrc says."""
    from matplotlib import style

    with style.context(SETTINGS, after_reset=True), warnings.catch_warnings():
        # An SVG keeps the letters as text; that DejaVu Sans lacks them matters to no one but the PNG.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        yield


def canvas(width: float, height: float, *, left: float, bottom: float, right: float, top: float) -> tuple[Figure, Axes]:
    """A figure with one pair of axes; all margins in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    box = (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
    return figure, figure.add_axes(box)


def hover(text: str) -> str:
    """An id that `to_svg` turns into a hover text."""
    return f"hint:{formatting.clean(text)}"


def inches_of(texts: Sequence[str], size: float = 10) -> float:
    """Width of the longest text, set in letters of `size` points."""
    return max((formatting.width(text) for text in texts), default=0.0) * size / 72


def fitted(names: Sequence[str], limit: int, inches: float) -> list[str]:
    """Names cut to `limit` letters, or to as many as `inches` hold."""
    while limit > 6 and inches_of(shortened(names, limit)) > inches:
        limit -= 1
    return shortened(names, limit)


def limits_of(values: Sequence[float]) -> tuple[float, float]:
    """Limits of an axis that hold all values with a little room; never below 0 where nothing is."""
    known = [value for value in values if math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    room = 0.06 * (high - low) or 0.1 * abs(high) or 0.1
    return (max(low - room, 0.0) if low > 0 else low - room), high + room


def wrapped(texts: Sequence[str], width: float) -> list[str]:
    """Small texts as lines that fit a figure of this width."""
    return [line for text in texts for line in wrap(text, int((width - 0.3) / 0.078))]


def footer(figure: Figure, lines: Sequence[str]) -> None:
    """Small lines at the bottom of a figure."""
    wide, tall = figure.get_figwidth(), figure.get_figheight()
    for place, text in enumerate(reversed(lines)):
        figure.text(0.15 / wide, (0.06 + place * 0.18) / tall, text, fontsize=9, color=MUTED, va="bottom")


def matrix(
    names: Sequence[str], heads: Sequence[str], wide: float, *, left: float, cell: float, row: float, bottom: float,
    top: float = 0.32, letters: float = 10,
) -> tuple[Figure, Axes]:  # fmt: skip
    """A figure of a matrix: a row per name, a column per head, nothing but cells; all lengths in inches."""
    right = wide - left - cell * len(heads)
    figure, axes = canvas(wide, top + bottom + row * len(names), left=left, bottom=bottom, right=right, top=top)
    axes.set_xlim(-0.5, len(heads) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.spines[:].set_visible(False)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xticks(range(len(heads)), heads, fontsize=letters)
    axes.set_yticks(range(len(names)), names, ha="left", fontsize=letters)
    axes.tick_params(length=0)
    axes.tick_params(axis="y", pad=(left - 0.15) * 72)
    return figure, axes


def add_cell(
    axes: Axes, row: int, column: int, face: Any, text: str, label: str = "", *, size: float = 9, bold: bool = False
) -> None:
    """A cell of a matrix with its label, and the text that shows on hovering. Cells without labels are small."""
    from matplotlib.patches import Rectangle

    patch = Rectangle((column - 0.5, row - 0.5), 1, 1, gid=hover(text), clip_on=False)
    patch.set(facecolor=face, edgecolor=PAPER, linewidth=1.5 if label else 0.8)
    axes.add_artist(patch)
    weight = "bold" if bold else "normal"
    axes.text(column, row, label, ha="center", va="center", fontsize=size, fontweight=weight, gid=MUTE)


def legend_at(figure: Figure, x: float, y: float) -> dict[str, Any]:
    """Settings of a legend whose upper left corner is x inches from the left edge and y inches from the top."""
    corner = (x / figure.get_figwidth(), 1 - y / figure.get_figheight())
    return {"loc": "upper left", "bbox_to_anchor": corner, "borderaxespad": 0, "borderpad": 0}


def line_axes(
    width: float, entries: int, *, right: float, tall: float, low: float = 2.7, footer: float = 0.0
) -> tuple[Figure, Axes, dict[str, Any]]:
    """Axes for lines, and the settings of their legend of so many entries: beside them, or below them on a phone.

    The axes are `tall` inches high, on a phone `low`; `footer` is the space for notes below them.
    """
    narrow, legend = width < NARROW, entries * 0.21 + 0.1
    inside = low if narrow else max(tall, legend)
    bottom = 0.52 + footer + (legend if narrow else 0.0)
    figure, axes = canvas(width, inside + bottom + 0.12, left=0.6, bottom=bottom, right=right, top=0.12)
    axes.grid(visible=True)
    corner = (0.3, figure.get_figheight() - footer - legend) if narrow else (width - right + 0.2, 0.07)
    return figure, axes, {**legend_at(figure, *corner), "handlelength": 2.6, "labelspacing": 0.5}


def add_line(axes: Axes, x: Any, y: Any, text: str, place: int | None = None, **look: Any) -> Any:
    """A line in the look of its place in `SERIES`, the first on top; without a place grey, behind all others."""
    if place is None:
        return axes.plot(x, y, color=OTHER, linewidth=0.9, zorder=1.5, gid=hover(text))[0]
    color, marker, dashes = SERIES[place]
    return axes.plot(
        x, y, color=color, linestyle=dashes, linewidth=1.8, marker=marker, markeredgecolor=PAPER, markeredgewidth=0.8,
        zorder=4 - place / 10, gid=hover(text), clip_on=False, **{"markersize": 5.5, **look},
    )[0]  # fmt: skip


def beside(axes: Axes, y: float, *, right: bool = False, narrow: bool, off: float = 0.12) -> dict[str, Any]:
    """Settings of a text `off` inches outside the left or right edge of the axes; on a phone just inside it."""
    shift = 0.0 if narrow else (off if right else -off) * 72
    place = {"xy": (int(right), y), "xycoords": axes.get_yaxis_transform(), "annotation_clip": False, "va": "center"}
    return place | {"xytext": (shift, 0), "textcoords": "offset points", "ha": "left" if right != narrow else "right"}


def to_svg(figure: Figure, *, apart: bool = False) -> str:
    """The figure as one `<svg>` element, text as text, hover texts as `<title>`; the same bytes every time.

    It stands alone as a file and inside a page. `apart` gives its ids a prefix made from its content, so that several
    figures can be on one page.
    """
    out = io.StringIO()
    with styled():
        figure.savefig(out, format="svg", metadata={"Date": None})
    svg = out.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], count=1, flags=re.DOTALL)
    prefix = f"f{crc32(svg.encode()):08x}" if apart else ""
    # Only tags are touched: the text between them holds names, which may look like anything.
    svg = re.sub(r"<[^>]+>", lambda tag: _tidied(tag[0], prefix), svg)
    return re.sub(r"\n\s*", "\n", svg)


def to_png(figure: Figure, *, dpi: int = 200) -> bytes:
    """The figure as a PNG; the same bytes every time."""
    out = io.BytesIO()
    with styled():
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
