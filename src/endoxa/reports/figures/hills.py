"""A hill per system: where its mean may lie, with all doubts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from endoxa.evaluations import believed
from endoxa.evaluations.sentences import within
from endoxa.evaluations.standings import Standing, order_of, p_best
from endoxa.formatting import chance, clean, number
from endoxa.reports.figures import style
from endoxa.reports.figures.dots import add_dot, add_texts, interval_of, rows_of
from endoxa.tables import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from endoxa.evaluations.evaluation import Evaluation

DRAWN = 40  # systems that a figure draws; with more it draws the best, and says so
POINTS = 72  # at which the outline of a hill is computed


@style.styled()
def ridges(evaluation: Evaluation, measure: str, *, width: float = 7.0) -> Figure:
    """A hill per system, best on top: the density of its mean over queries, with all doubts.

    All hills have the same height, because the sharpest would flatten all others; the width shows the doubt. The darker
    part is the interval, the mark the mean; both are those of the summary. The virtual system is grey. With more than
    forty systems only the best are drawn. Systems whose hills overlap can still differ, because systems share worlds
    and queries: see `better`.
    """
    standings, note = shown(evaluation, measure)
    scores = evaluation.scores
    spread = None if scores is None else believed.doubts_of(scores, evaluation.settings).spread(measure)
    drawn = None if spread is None else spread.drawn("all")
    draws: dict[str, Floats] = {}
    fewest = 2
    if spread is not None and drawn is not None:
        worlds = spread.people[..., ::2] if spread.people is not None else spread.truth
        fewest = spread.resamples if worlds is None else min(spread.resamples, worlds.shape[-1])
        draws = dict(zip(spread.systems, drawn, strict=True))
    narrow, lines = width < style.NARROW, style.wrapped([note], width)
    titles = [titled(evaluation, one.system) for one in standings]
    row = 0.64 if narrow else 0.46 if len(titles) <= 12 else 0.36
    names, figure, axes = rows_of(titles, row, width, [0.0], below=0.18 * len(lines))
    axes.set_xlim(*_reach(standings, draws))
    axes.set_xlabel(f"{clean(measure)} {within(evaluation)}")
    best = next((one.system for one in standings if one.system != evaluation.virtual), "")
    won = p_best(evaluation, measure)
    for place, (one, name) in enumerate(zip(standings, names, strict=True)):
        first, virtual = one.system == best and len(names) > 1, one.system == evaluation.virtual
        color = style.BLUE if first else style.GREY if virtual else style.SLATE
        y = place + (0.38 if narrow else 0.3)
        sure = f", best with probability {chance(won[one.system])}" if one.system in won else ""
        text = style.hover(f"{one.system}: {number(one.value)}{interval_of(one)}{sure}")
        axes.axhline(y, color=style.FAINT, linewidth=0.6, zorder=0.5)
        if one.system in draws and not math.isnan(one.value):
            hill = _hill(draws[one.system], axes.get_xlim(), fewest)
            _add_hill(axes, one, hill, y, 0.5 if narrow else 0.78, color, text, dashed=virtual)
        add_dot(axes, one, y, color, text, diamond=first)
        above = place - 0.33 if narrow else y - 0.13
        add_texts(axes, one, name, above, text, narrow=narrow, best=first, virtual=virtual)
    style.footer(figure, lines)
    return figure


def _add_hill(
    axes: Axes, one: Standing, hill: tuple[Floats, Floats] | None, y: float, high: float, color: str, text: str, *,
    dashed: bool,
) -> None:  # fmt: skip
    """The outline of a hill, and its darker part over the interval."""
    from matplotlib.patches import Polygon

    if hill is None:
        return
    x, shape = hill[0], y - high * hill[1]
    ends = np.clip([one.lo, one.hi], x[0], x[-1])
    middle = np.concatenate([ends[:1], x[(x > one.lo) & (x < one.hi)], ends[1:]])
    # The outline of the virtual system is dashed: grey alone would not set it apart.
    dashes = (0, (2.5, 1.5)) if dashed else "solid"
    whole = {"facecolor": (color, 0.16), "edgecolor": color, "linewidth": 1.1, "linestyle": dashes}
    for along, look in ((x, whole), (middle, {"facecolor": (color, 0.3), "linewidth": 0})):
        edge = np.stack([along, np.interp(along, x, shape)], 1)
        outline = np.concatenate([[[along[0], y]], edge, [[along[-1], y]]])
        if np.isfinite(outline).all():  # there may be no interval
            axes.add_artist(Polygon(outline, closed=False, gid=text, clip_on=False, **look))


def _hill(draws: Floats, limits: tuple[float, float], size: int) -> tuple[Floats, Floats] | None:
    """(places within the limits, height there as a share of the greatest); None where the draws do not vary."""
    known = draws[np.isfinite(draws)]
    if not known.size:
        return None
    room = float(known.std())
    low, high = max(limits[0], float(known.min()) - room), min(limits[1], float(known.max()) + room)
    if low >= high:
        return None
    at = np.linspace(low, high, POINTS)
    heights = density(known, at, size=size)
    return None if heights is None else (at, heights / heights.max())


def density(draws: Floats, at: Floats, *, size: int) -> Floats | None:
    """Density of the draws at some places: Gaussian kernels of the width that Silverman's rule gives for `size` draws.

    `size` is that of the scarcest kind of draw (a few resamples of people, used again and again), so that repetition
    does not look like detail. None where the draws do not vary. Source: Silverman 1986, eq 3.31.
    """
    draws = draws[np.isfinite(draws)]
    if draws.size < 2 or np.ptp(draws) <= 1e-12 * max(1.0, float(np.abs(draws).max())):
        return None
    quarter, three = np.quantile(draws, [0.25, 0.75])
    deviation = float(draws.std(ddof=1))
    scale = min(deviation, float(three - quarter) / 1.349) or deviation
    wide = 0.9 * scale * max(size, 2) ** -0.2
    counts, edges = np.histogram(draws, bins=512)
    centres = (edges[1:] + edges[:-1]) / 2
    wide = max(wide, float(edges[1] - edges[0]))  # a bin is the finest detail there is
    kernel = np.exp(-0.5 * ((at[:, None] - centres) / wide) ** 2)
    heights = np.asarray(kernel @ counts / (draws.size * wide * math.sqrt(2 * math.pi)))
    return heights if heights.max() > 0 else None


def shown(evaluation: Evaluation, measure: str) -> tuple[list[Standing], str]:
    """The systems that a figure shows, best first, the virtual one in its place; a note where some are left out."""
    everyone = order_of(evaluation, measure)
    real = [one.system for one in everyone if one.system != evaluation.virtual]
    kept = {*real[:DRAWN], evaluation.virtual}
    note = f"The best {DRAWN} of {len(real)} systems are drawn; the tables have all." if len(real) > DRAWN else ""
    return [one for one in everyone if one.system in kept], note


def titled(evaluation: Evaluation, system: str) -> str:
    """The name of a system; of the virtual one also what it does."""
    return f"{system} (everything)" if system == evaluation.virtual else system


def _reach(standings: Sequence[Standing], draws: dict[str, Floats]) -> tuple[float, float]:
    """Limits of the axis: all but the outermost draws, and nothing beyond where no interval may reach."""
    ends = [bound for one in standings for bound in (one.value, one.lo, one.hi) if math.isfinite(bound)]
    wide = list(ends)
    rows = [draws[one.system] for one in standings if one.system in draws and not math.isnan(one.value)]
    if rows:
        drawn = np.array(rows)
        room = np.array([[-0.3], [0.3]]) * drawn.std(1)  # a hill is wider than its draws
        wide += [float(end) for end in (np.quantile(drawn, [0.002, 0.998], axis=1) + room).ravel()]
    low, high = style.limits_of(wide)
    return (max(low, 0.0) if min(ends, default=0.0) >= 0 else low), (
        min(high, 1.0) if max(ends, default=1.0) <= 1 and high > 1 else high
    )
