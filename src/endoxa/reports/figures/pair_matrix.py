"""A matrix of the differences between all pairs of systems."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from endoxa.evaluations.standings import Pair, pairs_of
from endoxa.formatting import clean, number, probability, shortened, signed
from endoxa.reports.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from endoxa.tables import Comparison

CELLS_WITH_TEXT = 12  # larger matrices show colour and marks only


@style.styled()
def pairs(
    comparison: Comparison, measure: str, *, width: float = 7.0, alpha: float = 0.05, lower: bool = False
) -> Figure:
    """A matrix of differences, row minus column, best systems first; a mark where the difference is significant.

    Where all pairs were compared, each is shown once, above the diagonal. Against a single baseline the matrix is one
    column. Up to twelve systems the cells show numbers; beyond that colour and mark only, and a text on hovering. The
    figure grows with the number of systems, beyond `width` if necessary.
    """
    narrow = width < style.NARROW
    order, columns, cells = pair_matrix(comparison, measure, lower=lower)
    texts = len(columns) <= CELLS_WITH_TEXT
    small = 8 if narrow or not texts else 9
    letters = 8 if not texts else 9 if narrow else 10
    names = [f"{at}  {name}" for at, name in enumerate(style.fitted(order, 12 if narrow else 28, 0.32 * width), 1)]
    heads = (
        shortened(columns, 14 if narrow else 20)
        if len(columns) == 1
        else [str(order.index(name) + 1) for name in columns]
    )
    left = style.inches_of(names, letters) + 0.2
    least = (0.45 if narrow else 0.6) if texts else 0.17
    cell = min(max((width - left - 0.1) / max(len(columns), 1), least), 0.85)
    if len(columns) == 1:
        cell = max(1.2, style.inches_of(heads, letters) + 0.1)
    row = min(cell, 0.4) if texts else cell
    wide = max(left + cell * len(columns) + 0.1, width if narrow else 4.5)
    adjusted = any(one.adjusted for one in cells.values())
    key = f"Row minus column, {clean(measure)}. {'*' if texts else 'Dot'}: p < {alpha:.2g}"
    legend = style.wrapped([f"{key}{', adjusted for the number of comparisons' if adjusted else ''}."], wide)
    bottom = 0.14 + 0.18 * len(legend)
    figure, axes = style.matrix(names, heads, wide, left=left, cell=cell, row=row, bottom=bottom, letters=letters)
    reach = max((abs(one.difference) for one in cells.values() if not math.isnan(one.difference)), default=0) or 1
    for (i, j), one in cells.items():
        strength = 0 if math.isnan(one.difference) else abs(one.difference) / reach
        face = (style.ORANGE if one.difference < 0 else style.BLUE, 0.06 + 0.5 * strength)
        text = signed(one.difference, 3).replace("0.", "." if narrow else "0.", 1) + "*" * one.differs(alpha)
        bold = one.differs(alpha) and not narrow
        style.add_cell(axes, i, j, face, _described(one), text if texts else "", size=small, bold=bold)
    if not texts:
        marked = [place for place, one in cells.items() if one.differs(alpha)]
        axes.plot([j for _, j in marked], [i for i, _ in marked], "o", color=style.INK, markersize=2.6, gid=style.MUTE)
    style.footer(figure, legend)
    return figure


def pair_matrix(
    comparison: Comparison, measure: str, *, lower: bool = False
) -> tuple[list[str], list[str], dict[tuple[int, int], Pair]]:
    """(rows, columns, cells): systems by their mean difference from the others, best first."""
    found = pairs_of(comparison, measure)
    gains: dict[str, list[float]] = {}
    for pair in found:
        for one in (pair, pair.turned()):
            gains.setdefault(one.system, []).append(0.0 if math.isnan(one.difference) else one.difference)
    sign = 1 if lower else -1
    order = sorted(gains, key=lambda name: sign * sum(gains[name]) / len(gains[name]))
    if len(found) > 1 and len({pair.baseline for pair in found}) == 1:
        column = found[0].baseline
        rows = [name for name in sorted(gains, key=lambda name: sign * gains[name][0]) if name != column]
        return rows, [column], {(rows.index(pair.system), 0): pair for pair in found}
    cells = {}
    rows, columns = order, order[1:]  # the last row has no cells, but it shows the name
    for pair in found:
        one = pair if order.index(pair.system) < order.index(pair.baseline) else pair.turned()
        cells[rows.index(one.system), columns.index(one.baseline)] = one
    return rows, columns, cells


def _described(pair: Pair) -> str:
    """What hovering over a cell shows."""
    interval = f", interval {number(pair.lo, 3)} to {number(pair.hi, 3)}" if not math.isnan(pair.lo) else ""
    return f"{pair.system} minus {pair.baseline}: {signed(pair.difference, 3)}{interval}, {probability(pair.p)}"
