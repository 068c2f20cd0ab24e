"""The difference of two systems on every query."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from endoxa.errors import refuse_unknown
from endoxa.formatting import shortened, signed
from endoxa.reports.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from endoxa.tables import Scores

SINGLE_BARS = 400  # more queries than this are drawn as one shape: bars would be thinner than a pixel


@style.styled()
def differences(scores: Scores, system: str, baseline: str, measure: str, *, width: float = 7.0) -> Figure:
    """What each query says: `system` minus `baseline`, sorted. Queries undefined for either are left out."""
    from matplotlib.patches import Patch, Rectangle

    rows = query_differences(scores, system, baseline, measure)
    narrow = width < style.NARROW
    values = rows["difference"].to_numpy()
    queries = rows["query"].to_list()
    count = len(values)
    short = style.fitted([system, baseline], 44, width - 2.3)
    wins, losses = int((values > 0).sum()), int((values < 0).sum())
    names = shortened(queries, 14) if count <= (width - 0.9) / 0.2 else []
    left, right, legend = 0.82, 0.15, 0.7
    bottom = 0.35 + (style.inches_of(names, 9) + 0.1 if names else 0.05)
    tall = 2.1 if narrow else 2.8
    figure, axes = style.canvas(width, tall + bottom + legend, left=left, bottom=bottom, right=right, top=legend)
    axes.grid(axis="y")
    axes.spines["bottom"].set_visible(False)
    axes.set_xlim(-0.7, max(count, 1) - 0.3)
    reach = max((float(abs(value)) for value in values), default=0.0) or 1.0
    low, high = min(0.0, float(values.min(initial=0))), max(0.0, float(values.max(initial=0)))
    axes.set_ylim(low - 0.06 * reach, high + 0.06 * reach)
    if count > SINGLE_BARS:
        at = np.arange(count)
        for color, part in ((style.BLUE, np.maximum(values, 0)), (style.ORANGE, np.minimum(values, 0))):
            axes.fill_between(at, part, 0, step="mid", color=color, linewidth=0)
    else:
        thick = 0.8 if count < 150 else 1.0
        for place, (query, value) in enumerate(zip(queries, values, strict=True)):
            text = style.hover(f"query {query}: {signed(float(value), 3)}")
            look: dict[str, Any] = {"facecolor": style.BLUE if value > 0 else style.ORANGE, "linewidth": 0}
            axes.add_patch(Rectangle((place - thick / 2, 0), thick, value, gid=text, clip_on=False, **look))
    axes.axhline(0, color=style.INK, linewidth=0.9)
    if count:
        mean = float(values.mean())
        text = f"mean {signed(mean)}"
        axes.axhline(mean, color=style.INK, linewidth=1, linestyle=(0, (4, 3)), gid=style.hover(text))
        # The bars fall from left to right, so that the upper right and the lower left are free.
        x, shift, ha, va = (1, (-2, 3), "right", "bottom") if mean >= 0 else (0, (4, -3), "left", "top")
        axes.annotate(
            text, (x, mean), xycoords=axes.get_yaxis_transform(), xytext=shift, textcoords="offset points",
            ha=ha, va=va, fontsize=9, color=style.INK,
        )  # fmt: skip
    axes.locator_params(axis="y", nbins=6)
    decimals = max(0, min(6, 1 - math.floor(math.log10(reach))))
    axes.yaxis.set_major_formatter(lambda value, _: signed(value, decimals))
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=9)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel(f"difference in {shortened([measure], 20)[0]}")
    equal = count - wins - losses
    tail = f", {equal} equal" if equal else ""
    axes.set_xlabel(f"{count} quer{'y' if count == 1 else 'ies'}, sorted{tail}")
    texts = [f"{short[0]} higher: {wins}", f"{short[1]} higher: {losses}"]
    patches = [Patch(color=style.BLUE), Patch(color=style.ORANGE)]
    figure.legend(patches, texts, **style.legend_at(figure, left, 0.1), handlelength=1, handleheight=0.9)
    return figure


def query_differences(scores: Scores, system: str, baseline: str, measure: str) -> pl.DataFrame:
    """query, system, baseline, difference: largest difference first, only queries defined for both."""
    systems, queries, values = scores.matrix(measure)
    for name in (system, baseline):
        refuse_unknown("system", name, systems, listed=True)
    ours, theirs = values[systems.index(system)], values[systems.index(baseline)]
    frame = pl.DataFrame({"query": queries, "system": ours, "baseline": theirs, "difference": ours - theirs})
    return frame.filter(pl.col("difference").is_not_nan()).sort("difference", descending=True, maintain_order=True)
