"""A bar per system: the parts of the doubt about its mean."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from endoxa.evaluations.sentences import doubt_name
from endoxa.evaluations.standings import DOUBTS, variances
from endoxa.formatting import DASH, number, share
from endoxa.reports.figures import style
from endoxa.reports.figures.dots import room_of_names
from endoxa.reports.figures.hills import shown, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from endoxa.evaluations.evaluation import Evaluation

COLOURS = {"truth": style.BLUE, "people": style.ORANGE, "queries": style.GREEN}


@style.styled()
def shares(evaluation: Evaluation, *, width: float = 7.0) -> Figure:
    """A bar per system, best on top: the share of each doubt in the variance of its mean.

    What is relevant, who was asked, which queries: always in this order, so that position separates them as well as
    colour. An unknown doubt has no part. The number beside a bar is the standard deviation of the mean.
    """
    from matplotlib.patches import Patch, Rectangle

    measure = evaluation.measures[0]
    standings, note = shown(evaluation, measure)
    narrow = width < style.NARROW
    names = style.fitted([titled(evaluation, one.system) for one in standings], 30, room_of_names(width))
    row = 0.46 if narrow else 0.32
    left = 0.15 if narrow else style.inches_of(names) + 0.25
    right = 0.15 if narrow else 1.0
    lines = style.wrapped([note], width)
    keys = [doubt_name(evaluation, doubt) for doubt in DOUBTS]
    legend = 0.3 if not narrow or style.inches_of(keys, 9) * 3 < width - 0.9 else 0.72
    bottom = 0.3 + 0.18 * len(lines)
    figure, axes = style.canvas(
        width, len(names) * row + bottom + legend, left=left, bottom=bottom, right=right, top=legend
    )
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.set_yticks([])
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"], fontsize=9)
    if narrow:  # at the edge of the paper
        axes.get_xticklabels()[0].set_horizontalalignment("left")
        axes.get_xticklabels()[-1].set_horizontalalignment("right")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    inches = width - left - right
    parts = variances(evaluation)
    for place, (one, name) in enumerate(zip(standings, names, strict=True)):
        virtual = one.system == evaluation.virtual
        y, thick = (place + 0.16, 0.5) if narrow else (place, 0.66)
        own = parts.get(one.system, {})
        total = sum(value for value in own.values() if not math.isnan(value))
        start = 0.0
        for doubt in DOUBTS:
            value = own.get(doubt, math.nan)
            if not total > 0 or not value > 0:
                continue
            part = value / total
            text = style.hover(f"{one.system}, {doubt_name(evaluation, doubt)}: {share(value, total)} of the variance")
            bar = Rectangle((start, y - thick / 2), part, thick, gid=text, clip_on=False, linewidth=0.8)
            bar.set(facecolor=(COLOURS[doubt], 0.45 if virtual else 1.0), edgecolor=style.PAPER)
            axes.add_artist(bar)
            if part * inches > 0.45:
                axes.text(
                    start + part / 2, y, f"{100 * part:.0f} %", ha="center", va="center", fontsize=9,
                    color=style.INK if virtual else style.PAPER, fontweight="bold", gid=style.MUTE,
                )  # fmt: skip
            start += part
        if not total > 0:
            axes.text(0, y, " no known doubt changes it", ha="left", va="center", fontsize=9, color=style.MUTED)
        deviation = f"± {number(math.sqrt(total), 3)}" if total > 0 else DASH
        above = place - 0.26 if narrow else y
        color = style.MUTED if virtual else style.INK
        axes.annotate(name, **style.beside(axes, above, narrow=narrow), color=color)
        edge = style.beside(axes, above, right=True, narrow=narrow)
        axes.annotate(deviation, **edge, fontsize=9, color=style.MUTED)
    figure.legend(
        [Patch(color=COLOURS[doubt]) for doubt in DOUBTS], keys, **style.legend_at(figure, left, 0.04),
        ncols=3 if legend < 0.5 else 1, handlelength=1, handleheight=0.9, columnspacing=1.4, fontsize=9,
    )  # fmt: skip
    style.footer(figure, lines)
    return figure
