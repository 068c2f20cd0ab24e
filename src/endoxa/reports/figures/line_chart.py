"""A few named lines over the same numbers, with a legend that fits a desktop or a phone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from endoxa.frozen import dataclass
from endoxa.reports.figures import style
from endoxa.tables import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Line:
    """The points of a line, the text that shows on hovering, and the length of the bars at its points, if any."""

    x: Floats
    y: Floats
    text: str
    error: Floats | None = None


def _beside(x: Floats, place: int, lines: int) -> Floats:
    """Places of bars, a little apart, so that those of several lines can be told apart."""
    return x + 0.06 * (place - (lines - 1) / 2)


def line_chart(
    lines: Mapping[str, Line], *, across: str, up: str, top: float = 1.0, start: float = 0.0,
    level: tuple[float, str] | None = None, width: float = 7.0, thing: str = "system", bottom: float = 0.0,
) -> Figure:  # fmt: skip
    """Lines in the order of their importance, from `start` across and from `bottom` to `top` up.

    The first six have a colour, a marker and a line style; the others are grey, behind them, and counted as `thing`.
    `level` is a height with its meaning, drawn as a dashed line.
    """
    with style.styled():
        from matplotlib.lines import Line2D
        from matplotlib.ticker import MaxNLocator

        narrow = width < style.NARROW
        order = list(lines)
        chosen = order[: len(style.SERIES)]
        names = style.fitted(chosen, 34 if narrow else 26, width - 1.0 if narrow else 0.3 * width)
        meaning = [level[1]] if level is not None else []
        others = len(order) - len(chosen)
        legend = (len(chosen) + bool(others) + len(meaning)) * 0.21 + 0.1
        left, above, below = 0.6, 0.12, 0.52
        right = 0.15 if narrow else style.inches_of([*names, *meaning, f"10 other {thing}s"]) + 0.8
        tall = 2.4 if narrow else max(3.0, legend)
        foot = below + (legend if narrow else 0.0)
        figure, axes = style.canvas(width, tall + foot + above, left=left, bottom=foot, right=right, top=above)
        axes.grid(visible=True)
        axes.set_xlim(start, max(start + 1, *(max(line.x) for line in lines.values())))
        axes.set_ylim(bottom, top)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, steps=[1, 2.5, 5, 10]))
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        drawn: dict[str, Any] = {}
        for name in reversed(order):
            line = lines[name]
            text = style.hover(line.text)
            if name not in chosen:
                axes.plot(line.x, line.y, color=style.OTHER, linewidth=0.9, zorder=1.5, gid=text)
                continue
            place = chosen.index(name)
            color, marker, dashes = style.SERIES[place]
            if line.error is not None:
                bars: dict[str, Any] = {"color": color, "linewidth": 1.1, "zorder": 3 - place / 10, "gid": style.MUTE}
                axes.vlines(_beside(line.x, place, len(chosen)), line.y - line.error, line.y + line.error, **bars)
            drawn[name] = axes.plot(
                line.x, line.y, color=color, linestyle=dashes, linewidth=1.8, marker=marker, markersize=5.5,
                markeredgecolor=style.PAPER, markeredgewidth=0.8, zorder=4 - place / 10, gid=text, clip_on=False,
            )[0]  # fmt: skip
        handles, texts = [drawn[name] for name in chosen], list(names)
        if others:
            handles.append(Line2D([], [], color=style.OTHER, linewidth=0.9))
            texts.append(f"{others} other {thing}{'' if others == 1 else 's'}")
        if level is not None:
            look: dict[str, Any] = {"color": style.MUTED, "linestyle": (0, (4, 3)), "linewidth": 1.3}
            handles.append(axes.axhline(level[0], zorder=3, gid=style.hover(level[1]), **look))
            texts.append(level[1])
        high = figure.get_figheight()
        corner = (0.3 / width, legend / high) if narrow else (1 - (right - 0.2) / width, 1 - (above - 0.05) / high)
        figure.legend(
            handles, texts, loc="upper left", borderaxespad=0, borderpad=0, handlelength=2.6, labelspacing=0.5,
            fontsize=10, bbox_to_anchor=corner,
        )  # fmt: skip
        return figure
