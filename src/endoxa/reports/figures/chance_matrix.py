"""A matrix of the probabilities that one system is better than another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from endoxa.evaluations.standings import Chances, chances
from endoxa.formatting import chance, clean, signed
from endoxa.reports.figures import style
from endoxa.reports.figures.hills import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from endoxa.evaluations.evaluation import Evaluation

NUMBERED, NUMBERED_NARROW = 16, 8  # columns of the matrix up to which the cells show numbers


@style.styled()
def better(evaluation: Evaluation, measure: str, *, width: float = 7.0) -> Figure:
    """A matrix of P(row better than column), best systems first, with all doubts.

    Blue where the row is ahead, orange where the column is, pale where neither is; ties count half in the colour
    and not in the number. The cells show numbers up to fifteen systems and a virtual one (eight on a phone); beyond
    that colour, a dot where the two can be told apart, and a text on hovering.
    """
    narrow = width < style.NARROW
    standings, note = shown(evaluation, measure)
    order = [one.system for one in standings if one.system != evaluation.virtual]  # it takes no part in pairs
    place = {system: at for at, system in enumerate(order)}
    cells = {
        (place[one.system], place[one.against]): one
        for pair in chances(evaluation, measure)
        for one in (pair, pair.turned())
        if one.system in place and one.against in place
    }
    texts = len(order) <= (NUMBERED_NARROW if narrow else NUMBERED)
    letters = (9 if narrow else 10) if texts else 8
    names = [f"{at}  {name}" for at, name in enumerate(style.fitted(order, 14 if narrow else 28, 0.34 * width), 1)]
    left = style.inches_of(names, letters) + 0.25
    least = 0.36 if texts else 0.14 if narrow else 0.17
    cell = min(max((width - left - 0.1) / max(len(order), 1), least), 0.7)
    row = min(cell, 0.4) if texts else cell
    wide = max(left + cell * len(order) + 0.1, width if narrow else 4.5)
    mark = "Bold" if texts else "Dot"
    key = f"P(row better than column), {clean(measure)}. {mark}: the two can be told apart."
    legend = style.wrapped([key, note], wide)
    bottom = 0.5 + 0.18 * len(legend)
    each = 1 if cell > 0.16 else 5  # so that numbers of two digits do not touch
    heads = ["" if at % each else str(at) for at in range(1, len(order) + 1)]
    figure, axes = style.matrix(names, heads, wide, left=left, cell=cell, row=row, bottom=bottom, letters=letters)
    for (i, j), one in cells.items():
        text = chance(one.better).replace(" ", "") if texts else ""
        style.add_cell(
            axes, i, j, _shade(one.superiority), _compared(one), text.replace("0.", ".") if narrow else text,
            size=8 if narrow else 9, bold=one.differs,
        )  # fmt: skip
    if not texts:
        marked = [at for at, one in cells.items() if one.differs]
        axes.plot([j for _, j in marked], [i for i, _ in marked], "o", color=style.INK, markersize=2.4, gid=style.MUTE)
    _add_scale(figure, bottom - 0.14, wide)
    style.footer(figure, legend)
    return figure


def _compared(one: Chances) -> str:
    """What hovering over a cell shows."""
    tie = f", equal {chance(one.tie)}" if one.tie > 0 else ""
    interval = "" if math.isnan(one.lo) else f" [{signed(one.lo, 3)}, {signed(one.hi, 3)}]"
    return f"{one.system} better than {one.against}: {chance(one.better)}{tie}; {signed(one.difference, 3)}{interval}"


def _shade(superiority: float) -> tuple[str, float]:
    """Blue above a half, orange below, the paler the nearer to it; grey where it is unknown."""
    if math.isnan(superiority):
        return style.GREY, 0.15
    return (style.ORANGE if superiority < 0.5 else style.BLUE), 0.04 + 0.6 * abs(2 * superiority - 1)


def _add_scale(figure: Figure, y: float, width: float) -> None:
    """The key of the colours: five patches from 0 to 1."""
    from matplotlib.patches import Rectangle

    tall, box = figure.get_figheight(), 0.42
    for place, p in enumerate((0.0, 0.25, 0.5, 0.75, 1.0)):
        x = 0.15 + place * box
        patch = Rectangle((x / width, (y - 0.2) / tall), box / width, 0.2 / tall, transform=figure.transFigure)
        patch.set(facecolor=_shade(p), edgecolor=style.PAPER, linewidth=1)
        figure.add_artist(patch)
        figure.text((x + box / 2) / width, (y - 0.105) / tall, f"{p:g}", ha="center", va="center", fontsize=8)
