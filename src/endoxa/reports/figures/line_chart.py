"""A few named lines over the same numbers, with a legend that fits a desktop or a phone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def prominent(names: Sequence[str], reference: str) -> list[str]:
    """The first five names, the reference, then the others: only six lines have a colour."""
    others = [name for name in names if name != reference]
    return [*others[:5], *(name for name in names if name == reference), *others[5:]]


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
        entries = len(chosen) + bool(others) + len(meaning)
        right = 0.15 if narrow else style.inches_of([*names, *meaning, f"10 other {thing}s"]) + 0.8
        figure, axes, legend = style.line_axes(width, entries, right=right, tall=3.0, low=2.4)
        axes.set_xlim(start, max(start + 1, *(max(line.x) for line in lines.values())))
        axes.set_ylim(bottom, top)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, steps=[1, 2.5, 5, 10]))
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        drawn: dict[str, Any] = {}
        for name in reversed(order):
            line, place = lines[name], chosen.index(name) if name in chosen else None
            if line.error is not None and place is not None:
                look: dict[str, Any] = {"color": style.SERIES[place][0], "linewidth": 1.1, "zorder": 3 - place / 10}
                beside = line.x + 0.06 * (place - (len(chosen) - 1) / 2)  # so that bars of several lines stand apart
                axes.vlines(beside, line.y - line.error, line.y + line.error, gid=style.MUTE, **look)
            drawn[name] = style.add_line(axes, line.x, line.y, line.text, place)
        handles, texts = [drawn[name] for name in chosen], list(names)
        if others:
            handles.append(Line2D([], [], color=style.OTHER, linewidth=0.9))
            texts.append(f"{others} other {thing}{'' if others == 1 else 's'}")
        if level is not None:
            look = {"color": style.MUTED, "linestyle": (0, (4, 3)), "linewidth": 1.3}
            handles.append(axes.axhline(level[0], zorder=3, gid=style.hover(level[1]), **look))
            texts.append(level[1])
        figure.legend(handles, texts, **legend)
        return figure
