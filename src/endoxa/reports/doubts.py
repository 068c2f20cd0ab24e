"""What a report shows where the truth is in doubt: hills instead of points, P(A better than B), whence the doubt comes.

The figures follow the rules of `figures`: they read in grey, grow with the number of rows, and below five inches
take the layout for a phone. The sentences never claim more than the belief does: what holds within a consensus of
systems is said to hold there, and nowhere is it called the level of a system.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from endoxa.comparisons import shared
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
    PAPER,
    SLATE,
    _figure,
    _fitted,
    _hint,
    _inches,
    _span,
    _styled,
)
from endoxa.reports.findings import Standing, ranking
from endoxa.reports.labels import number, share, signed
from endoxa.tables import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from endoxa.comparisons.appraisal import Appraisal

DRAWN = 40  # systems that a figure draws; beyond that the best, and a line that says so
NUMBERED, NUMBERED_NARROW = 16, 8  # columns of the matrix up to which the numbers stand in the cells
NAMED = 3  # systems that a sentence names before it only counts them
POINTS = 72  # of a hill
DOUBTS = ("truth", "people", "queries")
COLOURS = {"truth": BLUE, "people": ORANGE, "queries": GREEN}


@dataclass(frozen=True)
class Chances:
    """How likely `system` is better than, equal to, worse than `against`, all doubts in; their difference."""

    system: str
    against: str
    better: float
    tie: float
    worse: float
    difference: float
    lo: float
    hi: float

    @property
    def superiority(self) -> float:
        """P(better) + P(tie)/2: a half where neither is ahead."""
        return self.better + self.tie / 2

    @property
    def differs(self) -> bool:
        """Whether the interval of the difference leaves out 0."""
        return self.lo > 0 or self.hi < 0

    def turned(self) -> Chances:
        """The same pair, seen from the other side."""
        return Chances(
            self.against, self.system, self.worse, self.tie, self.better, -self.difference, -self.hi, -self.lo
        )


def chances(appraisal: Appraisal, measure: str) -> list[Chances]:
    """The pairs on a measure, each once, as they stand in the table of comparisons; none without such a table."""
    if appraisal.comparison is None:
        return []
    rows = appraisal.comparison.frame.filter((pl.col("measure") == measure) & (pl.col("doubt") == "all"))
    found = []
    for row in rows.iter_rows(named=True):
        better, tie = _float(row["p_better"]), _float(row["p_tie"])
        worse = math.nan if math.isnan(better) else max(0.0, 1 - better - tie)
        ends = (_float(row[name]) for name in ("difference", "lo", "hi"))
        found.append(Chances(row["system"], row["baseline"], better, tie, worse, *ends))
    return found


def chance(p: float | None, decimals: int = 2) -> str:
    """`0.62`, `< 0.01`, `> 0.99`: a probability counted in draws is never printed as sure."""
    if p is None or math.isnan(p):
        return labels.DASH
    text = f"{p:.{decimals}f}"
    if float(text) >= 1:
        return f"> {1 - 10**-decimals:.{decimals}f}"
    return text if float(text) else f"< {10**-decimals:.{decimals}f}"


def consensual(appraisal: Appraisal) -> bool:
    """Whether the belief is made of the systems' own votes."""
    return appraisal.belief.model.startswith("consensus")


def within(appraisal: Appraisal) -> str:
    """Where the numbers hold."""
    return "within this consensus" if consensual(appraisal) else "under this belief"


def doubt_name(appraisal: Appraisal, doubt: str) -> str:
    """A doubt in plain words."""
    who = "who voted" if consensual(appraisal) else "who was asked"
    return {"truth": "what is relevant", "people": who, "queries": "which queries"}[doubt]


def contenders(appraisal: Appraisal, measure: str, *, lower: bool = False) -> list[Standing]:
    """Systems best first, without the virtual baseline."""
    return [one for one in ranking(appraisal.summary, measure, lower=lower) if one.system != appraisal.baseline]


def verdict(appraisal: Appraisal, *, lower: bool = False, name: Callable[[str], str] = str) -> str:
    """Who leads on the first measure, how surely, and who cannot be told apart from the leader.

    Two systems are told apart where the interval of their difference, all doubts in, leaves out 0. `name` is applied
    to everything that came from outside: a page escapes there.
    """
    measure = appraisal.scores.measures[0]
    standings = [one for one in contenders(appraisal, measure, lower=lower) if not math.isnan(one.value)]
    where, what = within(appraisal), name(measure)
    if not standings:
        return f"{_upper(where)} {what} is undefined for every system: there is nothing to compare."
    best = standings[0]
    interval = (
        "" if math.isnan(best.lo) else f" ({100 * appraisal.level:g} % interval {number(best.lo)} to {number(best.hi)})"
    )
    level = f"{what} {number(best.value)}{interval}"
    if len(standings) == 1:
        said = f"{_upper(where)} {name(best.system)} has {level}; there is no other system to hold it against."
        return said + _no_better(appraisal, best, name, lower=lower, several=False)
    equals = [one.system for one in standings if one.value == best.value]
    if len(equals) > 1:
        lead = f"{_upper(where)} {_listed([name(one) for one in equals])} share the lead with {level}"
    else:
        lead = f"{_upper(where)} {name(best.system)} leads with {level}"
    sure = _how_sure(appraisal, measure, best.system, len(standings), name, shared=len(equals) > 1)
    return f"{lead}{sure}" + _no_better(appraisal, best, name, lower=lower, several=True)


def _how_sure(
    appraisal: Appraisal, measure: str, best: str, count: int, name: Callable[[str], str], *, shared: bool
) -> str:
    """P(best) of the leader, and who cannot be told apart from it."""
    won = {
        system: _float(p)
        for system, p in appraisal.summary.filter(pl.col("measure") == measure).select("system", "p_best").iter_rows()
        if p is not None and not math.isnan(p)
    }
    if best not in won:
        return "; how sure that is, is not known."
    it = name(best) if shared else "it"
    told = f"; {it} is the best of {count} systems with probability {chance(won[best])}"
    most = max(won, key=lambda system: won[system])
    if round(won[most], 2) > round(won[best], 2):
        told += f", {name(most)} more often, with {chance(won[most])}"
    against = [one if one.system == best else one.turned() for one in chances(appraisal, measure)]
    against = [one for one in against if one.system == best and one.against != appraisal.baseline]
    if not against:
        return told + "."
    if len(against) == 1 and count == 2:
        one = against[0]
        can = "can" if one.differs else "cannot"
        won_by = f"; {it} is better than {name(one.against)} with probability {chance(one.better)}"
        return f"{won_by}. The two {can} be told apart."
    same = sorted((one for one in against if not one.differs), key=lambda one: one.superiority)
    subject = _upper(it) if it == "it" else it
    if not same:
        return f"{told}. {subject} can be told apart from all others."
    named = [
        f"{name(one.against)} ({'it is better with probability ' if not place else ''}{chance(one.better)})"
        for place, one in enumerate(same[:NAMED])
    ]
    return f"{told}. {subject} cannot be told apart from {_listed(named, len(same))}."


def _no_better(appraisal: Appraisal, best: Standing, name: Callable[[str], str], *, lower: bool, several: bool) -> str:
    """A sentence where not even the leader beats the virtual baseline."""
    everyone = ranking(appraisal.summary, appraisal.scores.measures[0], lower=lower)
    mark = next((one.value for one in everyone if one.system == appraisal.baseline), math.nan)
    if math.isnan(mark) or ((best.value < mark) if lower else (best.value > mark)):
        return ""
    who = "no system does" if several else "it does no"
    return f" But {who} better than the baseline {name(str(appraisal.baseline))} ({number(mark)})."


def advice(appraisal: Appraisal) -> list[str]:
    """Where the doubt comes from, what would lessen it most, and which doubt is not known.

    By the mean over the systems of each doubt's share of the variance; the virtual baseline does not count.
    """
    rows = appraisal.doubts.filter(pl.col("system") != (appraisal.baseline or ""))
    parts: dict[str, float] = {}
    unknown = []
    for doubt in DOUBTS:
        own = rows.filter(pl.col("doubt") == doubt)
        if own["variance"].fill_nan(None).drop_nulls().is_empty():
            unknown.append(doubt)
        elif len(known := own["share"].fill_nan(None).drop_nulls()):
            parts[doubt] = float(known.mean())  # type: ignore[arg-type]
    consensus = consensual(appraisal)
    helps = {
        "truth": "judged pairs (endoxa next) or clearer questions would help most",
        "people": "more voters would help most, above all systems that err in other ways"
        if consensus
        else "asking more people would help most",
        "queries": "more queries would help most",
    }
    reasons = {
        "truth": "no possible worlds were drawn",
        "people": "there is one voice, or none that can be resampled",
        "queries": "one query tells nothing of others",
    }
    said = []
    if parts:
        most = max(parts, key=lambda doubt: parts[doubt])
        lead = "Most" if parts[most] > 0.5 else "The largest part"
        mean = share(parts[most], 1)
        said.append(
            f"{lead} of the doubt ({mean} of the variance, on average) hangs on {doubt_name(appraisal, most)}: "
            f"{helps[most]}."
        )
    elif len(unknown) < len(DOUBTS):
        said.append("None of the doubts that are known moves a mean.")
    for doubt in unknown:
        said.append(
            f"How much hangs on {doubt_name(appraisal, doubt)} is not known: {reasons[doubt]}. "
            "The intervals are without it."
        )
    return said


def depths(appraisal: Appraisal) -> list[tuple[int, float, str]]:
    """(depth of votes, tau to the order shown, leader), shallow first; empty where votes have no depth."""
    if appraisal.depths is None:
        return []
    return list(appraisal.depths.select("depth", "tau", "leader").sort("depth").iter_rows())


def ridges(appraisal: Appraisal, measure: str, *, width: float = 7.0, lower: bool = False) -> Figure:
    """A hill per system, best on top: the density of its mean over queries, all doubts in.

    Hills are equally high, since the sharpest would else flatten all others: their width tells the doubt. The darker
    part is the interval, the mark the mean; both are those of the summary. The virtual baseline is grey. Beyond forty
    systems only the best are drawn. Neighbouring hills that overlap may still be told apart: systems share worlds and
    queries, see `better`.
    """
    with _styled():
        from matplotlib.patches import Polygon

        standings, note = _drawn(appraisal, measure, lower=lower)
        virtual = () if appraisal.baseline is None else (appraisal.baseline,)
        made = shared.Doubts(appraisal.scores, seed=appraisal.scores.policy.seed, aside=virtual).spread(measure)
        drawn = made.drawn("all")
        worlds = made.people[..., ::2] if made.people is not None else made.truth
        fewest = made.resamples if worlds is None else min(made.resamples, worlds.shape[-1])
        narrow = width < NARROW
        names = _fitted([_titled(appraisal, one.system) for one in standings], 30, _room(width))
        row = 0.64 if narrow else 0.46 if len(names) <= 12 else 0.36
        left = 0.15 if narrow else 1.08 * _inches(names) + 0.25  # the best is bold, which is wider
        right = 0.15 if narrow else 1.75
        lines = _wrapped([note], width)
        bottom, top = 0.52 + 0.18 * len(lines), 0.1
        figure, axes = _figure(width, len(names) * row + bottom + top, left=left, bottom=bottom, right=right, top=top)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.set_xlim(*_reach(standings, made.systems, drawn))
        axes.locator_params(axis="x", nbins=4 if narrow else 6)
        axes.set_xlabel(f"{labels.clean(measure)} {within(appraisal)}")
        high = 0.5 if narrow else 0.78
        best = next((one.system for one in standings if one.system != appraisal.baseline), "")
        for place, (one, name) in enumerate(zip(standings, names, strict=True)):
            first = one.system == best and len(names) > 1
            aside = one.system == appraisal.baseline
            color = BLUE if first else GREY if aside else SLATE
            y = place + (0.38 if narrow else 0.3)
            hint = _hint(_told(appraisal, measure, one))
            axes.axhline(y, color=FAINT, linewidth=0.6, zorder=0.5)
            own = None if drawn is None or math.isnan(one.value) else drawn[made.systems.index(one.system)]
            if own is not None and (hill := _hill(own, axes.get_xlim(), fewest)) is not None:
                x, shape = hill[0], y - high * hill[1]
                inside = (x > one.lo) & (x < one.hi)
                ends = np.clip([one.lo, one.hi], x[0], x[-1])
                middle = np.concatenate([ends[:1], x[inside], ends[1:]])
                # The baseline's outline is dashed: grey alone would not part it from the others.
                dashes = (0, (2.5, 1.5)) if aside else "solid"
                whole = {"facecolor": (color, 0.16), "edgecolor": color, "linewidth": 1.1, "linestyle": dashes}
                for along, look in ((x, whole), (middle, {"facecolor": (color, 0.3), "linewidth": 0})):
                    edge = np.stack([along, np.interp(along, x, shape)], 1)
                    outline = np.concatenate([[[along[0], y]], edge, [[along[-1], y]]])
                    if np.isfinite(outline).all():  # there may be no interval
                        axes.add_artist(Polygon(outline, closed=False, gid=hint, clip_on=False, **look))
            if not math.isnan(one.value):
                _mark(axes, one, y, color, "D" if first else "o", hint)
            _row_texts(
                axes, one, name, place - 0.33 if narrow else y - 0.13, hint, narrow=narrow, best=first, aside=aside
            )
        _footer(figure, lines)
        return figure


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
    """Density of the draws at some places: Gaussian kernels, as wide as Silverman's rule has it for `size` draws.

    `size` is that of the scarcest kind of draw (a few resamples of people, used again and again), so that their
    number is not taken for detail. None where the draws do not vary. Source: Silverman 1986, eq 3.31.
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
    wide = max(wide, float(edges[1] - edges[0]))  # finer than a bin nothing is known
    kernel = np.exp(-0.5 * ((at[:, None] - centres) / wide) ** 2)
    heights = np.asarray(kernel @ counts / (draws.size * wide * math.sqrt(2 * math.pi)))
    return heights if heights.max() > 0 else None


def better(appraisal: Appraisal, measure: str, *, width: float = 7.0, lower: bool = False) -> Figure:
    """A matrix of P(row better than column), best systems first, all doubts in.

    Blue where the row is ahead, orange where the column is, pale where neither is; equals count half in the colour
    and not in the number. The numbers stand in the cells up to fifteen systems and a baseline (eight on a phone);
    beyond that colour, a dot where the two can be told apart, and a text on hovering.
    """
    with _styled():
        from matplotlib.patches import Rectangle

        narrow = width < NARROW
        standings, note = _drawn(appraisal, measure, lower=lower)
        order = [one.system for one in standings]
        place = {system: number_ for number_, system in enumerate(order)}
        cells = {
            (place[one.system], place[one.against]): one
            for pair in chances(appraisal, measure)
            for one in (pair, pair.turned())
            if one.system in place and one.against in place
        }
        texts = len(order) <= (NUMBERED_NARROW if narrow else NUMBERED)
        letters = (9 if narrow else 10) if texts else 8
        fitted = _fitted([_titled(appraisal, system) for system in order], 14 if narrow else 28, 0.34 * width)
        names = [f"{at + 1}  {name}" for at, name in enumerate(fitted)]
        left = _inches(names, letters) + 0.25
        least = 0.36 if texts else 0.14 if narrow else 0.17
        cell = min(max((width - left - 0.1) / max(len(order), 1), least), 0.7)
        row = min(cell, 0.4) if texts else cell
        wide = max(left + cell * len(order) + 0.1, width if narrow else 4.5)
        mark = "Bold" if texts else "Dot"
        key = f"P(row better than column), {labels.clean(measure)}. {mark}: the two can be told apart."
        legend = _wrapped([key, note], wide)
        top, bottom = 0.32, 0.5 + 0.18 * len(legend)
        margin = wide - left - cell * len(order)
        figure, axes = _figure(wide, top + bottom + row * len(order), left=left, bottom=bottom, right=margin, top=top)
        axes.set_xlim(-0.5, len(order) - 0.5)
        axes.set_ylim(len(order) - 0.5, -0.5)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.xaxis.tick_top()
        each = 1 if cell > 0.16 else 5  # so that two digits do not run into their neighbours
        heads = ["" if (at + 1) % each else str(at + 1) for at in range(len(order))]
        axes.set_xticks(range(len(order)), heads, fontsize=letters)
        axes.set_yticks(range(len(order)), names, ha="left", fontsize=letters)
        axes.tick_params(length=0)
        axes.tick_params(axis="y", pad=(left - 0.15) * 72)
        if appraisal.baseline in place:
            axes.get_yticklabels()[place[str(appraisal.baseline)]].set_color(MUTED)
            axes.get_xticklabels()[place[str(appraisal.baseline)]].set_color(MUTED)
        for (i, j), one in cells.items():
            axes.add_artist(
                Rectangle(
                    (j - 0.5, i - 0.5),
                    1,
                    1,
                    facecolor=_shade(one.superiority),
                    edgecolor=PAPER,
                    linewidth=1.5 if texts else 0.8,
                    gid=_hint(_compared(one)),
                    clip_on=False,
                )
            )
        if texts:
            small = 8 if narrow else 9
            for (i, j), one in cells.items():
                text = chance(one.better).replace(" ", "")
                axes.text(
                    j, i, text.replace("0.", ".") if narrow else text, ha="center", va="center", fontsize=small,
                    fontweight="bold" if one.differs else "normal", gid=MUTE,
                )  # fmt: skip
        else:
            marked = [at for at, one in cells.items() if one.differs]
            axes.plot([j for _, j in marked], [i for i, _ in marked], "o", color=INK, markersize=2.4, gid=MUTE)
        _scale(figure, bottom - 0.14, wide)
        _footer(figure, legend)
        return figure


def shares(appraisal: Appraisal, *, width: float = 7.0, lower: bool = False) -> Figure:
    """A bar per system, best on top: which part of the variance of its mean each doubt makes.

    What is relevant, who was asked, which queries: always in this order, so that the place tells them apart as well
    as the colour. A doubt that is not known has no part. Beside the bar stands the deviation of the mean.
    """
    with _styled():
        from matplotlib.patches import Patch, Rectangle

        measure = appraisal.scores.measures[0]
        standings, note = _drawn(appraisal, measure, lower=lower)
        narrow = width < NARROW
        names = _fitted([_titled(appraisal, one.system) for one in standings], 30, _room(width))
        row = 0.46 if narrow else 0.32
        left = 0.15 if narrow else _inches(names) + 0.25
        right = 0.15 if narrow else 1.0
        lines = _wrapped([note], width)
        keys = [doubt_name(appraisal, doubt) for doubt in DOUBTS]
        legend = 0.3 if not narrow or _inches(keys, 9) * 3 < width - 0.9 else 0.72
        bottom = 0.3 + 0.18 * len(lines)
        figure, axes = _figure(
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
        for spine in axes.spines.values():
            spine.set_visible(False)
        inches = width - left - right
        parts = variances(appraisal)
        edge = axes.get_yaxis_transform()
        for place, (one, name) in enumerate(zip(standings, names, strict=True)):
            aside = one.system == appraisal.baseline
            y, thick = (place + 0.16, 0.5) if narrow else (place, 0.66)
            own = parts.get(one.system, {})
            total = sum(value for value in own.values() if not math.isnan(value))
            start = 0.0
            for doubt in DOUBTS:
                value = own.get(doubt, math.nan)
                if not total > 0 or not value > 0:
                    continue
                part = value / total
                hint = _hint(f"{one.system}, {doubt_name(appraisal, doubt)}: {share(value, total)} of the variance")
                axes.add_artist(
                    Rectangle(
                        (start, y - thick / 2),
                        part,
                        thick,
                        facecolor=(COLOURS[doubt], 0.45 if aside else 1.0),
                        edgecolor=PAPER,
                        linewidth=0.8,
                        gid=hint,
                        clip_on=False,
                    )
                )
                if part * inches > 0.45:
                    axes.text(
                        start + part / 2, y, f"{100 * part:.0f} %", ha="center", va="center", fontsize=9,
                        color=INK if aside else PAPER, fontweight="bold", gid=MUTE,
                    )  # fmt: skip
                start += part
            if not total > 0:
                axes.text(0, y, " no doubt that is known moves it", ha="left", va="center", fontsize=9, color=MUTED)
            deviation = f"± {number(math.sqrt(total), 3)}" if total > 0 else labels.DASH
            above = place - 0.26
            axes.annotate(
                name, (0, above if narrow else y), xycoords=edge, xytext=(0, 0) if narrow else (-0.12 * 72, 0),
                textcoords="offset points", ha="left" if narrow else "right", va="center",
                color=MUTED if aside else INK, annotation_clip=False,
            )  # fmt: skip
            axes.annotate(
                deviation, (1, above if narrow else y), xycoords=edge, xytext=(0, 0) if narrow else (0.12 * 72, 0),
                textcoords="offset points", ha="right" if narrow else "left", va="center", fontsize=9, color=MUTED,
                annotation_clip=False,
            )  # fmt: skip
        figure.legend(
            [Patch(color=COLOURS[doubt]) for doubt in DOUBTS],
            keys,
            loc="upper left",
            bbox_to_anchor=(left / width, 1 - 0.04 / figure.get_figheight()),
            ncols=3 if legend < 0.5 else 1,
            borderaxespad=0,
            borderpad=0,
            handlelength=1,
            handleheight=0.9,
            columnspacing=1.4,
            fontsize=9,
        )
        _footer(figure, lines)
        return figure


def variances(appraisal: Appraisal) -> dict[str, dict[str, float]]:
    """{system: {doubt: variance of its mean}}; NaN where it is not known."""
    found: dict[str, dict[str, float]] = {}
    for system, doubt, variance in appraisal.doubts.select("system", "doubt", "variance").iter_rows():
        found.setdefault(system, {})[doubt] = _float(variance)
    return found


def _drawn(appraisal: Appraisal, measure: str, *, lower: bool) -> tuple[list[Standing], str]:
    """The systems that a figure shows, best first, with the baseline in its place; a line where some are left out."""
    everyone = ranking(appraisal.summary, measure, lower=lower)
    real = [one.system for one in everyone if one.system != appraisal.baseline]
    kept = {*real[:DRAWN], appraisal.baseline}
    note = f"The best {DRAWN} of {len(real)} systems are drawn; the tables hold all." if len(real) > DRAWN else ""
    return [one for one in everyone if one.system in kept], note


def _titled(appraisal: Appraisal, system: str) -> str:
    return f"{system} (baseline)" if system == appraisal.baseline else system


def _told(appraisal: Appraisal, measure: str, one: Standing) -> str:
    """What hovering over a hill says."""
    interval = "" if math.isnan(one.lo) else f" [{number(one.lo)}, {number(one.hi)}]"
    rows = appraisal.summary.filter((pl.col("measure") == measure) & (pl.col("system") == one.system))
    p = _float(rows["p_best"][0]) if "p_best" in rows.columns else math.nan
    won = "" if math.isnan(p) else f", best with probability {chance(p)}"
    return f"{one.system}: {number(one.value)}{interval}{won}"


def _compared(one: Chances) -> str:
    """What hovering over a cell says."""
    tie = f", equal {chance(one.tie)}" if one.tie > 0 else ""
    interval = "" if math.isnan(one.lo) else f" [{signed(one.lo, 3)}, {signed(one.hi, 3)}]"
    return f"{one.system} better than {one.against}: {chance(one.better)}{tie}; {signed(one.difference, 3)}{interval}"


def _reach(standings: Sequence[Standing], systems: Sequence[str], drawn: Floats | None) -> tuple[float, float]:
    """Limits of the axis: all but the outermost of the draws, and nothing beyond where no interval may reach."""
    ends = [bound for one in standings for bound in (one.value, one.lo, one.hi) if math.isfinite(bound)]
    wide = list(ends)
    rows = [systems.index(one.system) for one in standings if not math.isnan(one.value)]
    if drawn is not None and rows:
        room = np.array([[-0.3], [0.3]]) * drawn[rows].std(1)  # a hill is wider than its draws
        wide += [float(end) for end in (np.quantile(drawn[rows], [0.002, 0.998], axis=1) + room).ravel()]
    low, high = _span(wide)
    return (max(low, 0.0) if min(ends, default=0.0) >= 0 else low), (
        min(high, 1.0) if max(ends, default=1.0) <= 1 and high > 1 else high
    )


def _mark(axes: Axes, one: Standing, y: float, color: str, marker: str, hint: str) -> None:
    """The mean and its interval, on the ground that the hill stands on."""
    low, high = axes.get_xlim()
    if not math.isnan(one.lo):
        ends = [max(one.lo, low), min(one.hi, high)]
        axes.plot(ends, [y, y], color=color, linewidth=2.2, solid_capstyle="butt", gid=hint)
    axes.plot(
        [one.value], [y], color=color, marker=marker, markersize=6.5, markeredgecolor=PAPER, markeredgewidth=1,
        gid=hint, clip_on=False,
    )  # fmt: skip


def _row_texts(
    axes: Axes, one: Standing, name: str, y: float, hint: str, *, narrow: bool, best: bool, aside: bool
) -> None:
    """The name on the left and the numbers on the right of a row; on a phone both above it."""
    interval = "" if math.isnan(one.lo) else f" [{number(one.lo)}, {number(one.hi)}]"
    value = "undefined" if math.isnan(one.value) else number(one.value) + ("" if narrow else interval)
    edge = axes.get_yaxis_transform()
    bare = {"facecolor": PAPER, "edgecolor": "none", "pad": 1} if narrow else None  # grid lines stop at the text
    weight = "bold" if best else "normal"
    axes.annotate(
        name, (0, y), xycoords=edge, xytext=(0, 0) if narrow else (-0.12 * 72, 0), textcoords="offset points",
        ha="left" if narrow else "right", va="center", fontweight=weight, color=MUTED if aside else INK, gid=hint,
        annotation_clip=False, bbox=bare,
    )  # fmt: skip
    axes.annotate(
        value, (1, y), xycoords=edge, xytext=(0, 0) if narrow else (0.1 * 72, 0), textcoords="offset points",
        ha="right" if narrow else "left", va="center", fontsize=10 if narrow else 9,
        fontweight=weight if narrow else "normal", color=INK if best else MUTED, annotation_clip=False, bbox=bare,
    )  # fmt: skip


def _shade(superiority: float) -> tuple[str, float]:
    """Blue above a half, orange below, the paler the nearer to it; grey where it is not known."""
    if math.isnan(superiority):
        return GREY, 0.15
    return (ORANGE if superiority < 0.5 else BLUE), 0.04 + 0.6 * abs(2 * superiority - 1)


def _scale(figure: Figure, y: float, width: float) -> None:
    """The key of the colours: five patches from 0 to 1."""
    from matplotlib.patches import Rectangle

    tall, box = figure.get_figheight(), 0.42
    for place, p in enumerate((0.0, 0.25, 0.5, 0.75, 1.0)):
        x = 0.15 + place * box
        figure.add_artist(
            Rectangle(
                (x / width, (y - 0.2) / tall), box / width, 0.2 / tall, transform=figure.transFigure,
                facecolor=_shade(p), edgecolor=PAPER, linewidth=1,
            )
        )  # fmt: skip
        figure.text((x + box / 2) / width, (y - 0.105) / tall, f"{p:g}", ha="center", va="center", fontsize=8)


def _wrapped(texts: Sequence[str], width: float) -> list[str]:
    return [line for text in texts for line in wrap(text, int((width - 0.3) / 0.078))]


def _footer(figure: Figure, lines: Sequence[str]) -> None:
    """Small lines at the bottom of a figure."""
    wide, tall = figure.get_figwidth(), figure.get_figheight()
    for place, text in enumerate(reversed(lines)):
        figure.text(0.15 / wide, (0.06 + place * 0.18) / tall, text, fontsize=9, color=MUTED, va="bottom")


def _room(width: float) -> float:
    """Inches that names may take."""
    return width - 1.1 if width < NARROW else 0.35 * width


def _listed(names: Sequence[str], count: int | None = None) -> str:
    """`a, b and c`; `a, b, c and 2 others` where there are more than are named."""
    total = len(names) if count is None else count
    shown = list(names[:NAMED])
    if total > len(shown):
        shown.append(f"{total - len(shown)} other{'' if total - len(shown) == 1 else 's'}")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _float(value: float | None) -> float:
    return math.nan if value is None else float(value)
