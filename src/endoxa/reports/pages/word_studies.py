"""The page of a study of words: how well regions predict them, by segmentation, number of regions, and features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Literal

import numpy as np
import polars as pl

from endoxa.comparisons.orders import orders
from endoxa.formatting import capitalised, html_of, number, signed
from endoxa.frozen import dataclass
from endoxa.reports.figures.dots import intervals
from endoxa.reports.figures.line_chart import Line, line_chart, prominent
from endoxa.reports.figures.style import limits_of
from endoxa.reports.pages import cells
from endoxa.reports.pages.cells import Cell
from endoxa.reports.pages.layout import Chart, Grid, Section, chart, render
from endoxa.wording.comparing import told_apart
from endoxa.words.feature_sets import TABLE_6
from endoxa.words.lifts import Lifts
from endoxa.words.splits import HELD_OUT, NOVEL, PARTS, TRAIN

Kind = Literal["predict", "segmenters", "features"]
TITLES: dict[Kind, str] = {
    "predict": "Words predicted from regions", "segmenters": "Segmentations compared by the words that they predict",
    "features": "Features compared by the words that they predict",
}  # fmt: skip
WORDS = 15  # shown from either end of the table of words
SEEN = 10  # held-out pictures, all resamples together, below which a word is not shown
ABOUT_WORDS = (
    "Held-out pictures of all resamples together: how often a word was on a picture, how often it was predicted, and "
    "the share of its pictures on which it was found, beside the same by frequency alone. Words on "
    f"{SEEN} pictures or more."
)
MEANING = {
    "score": "of the M words predicted for a picture with M words, the share that is right",
    "lift": "score minus that of the M most frequent words of the training pictures, picture by picture",
    "normalised": "the lift of r/M − (M − r)/(V − M), which is 0 by chance and 1 if all are right; V words are known",
    "held-out": "pictures of the topics that were learnt from; novel: pictures of other topics",
    "SE": "standard error over resamples after Nadeau and Bengio, sd·√(1/R + n_test/n_train); the naive one, sd/√R, "
    "ignores that resamples overlap",
}


@dataclass(frozen=True, eq=False)
class WordStudy:
    """The content of the page: the lifts, seconds per picture of each segmentation, and what to know."""

    kind: Kind
    title: str
    lifts: Lifts
    costs: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)


def page(study: WordStudy) -> str:
    """The study as one HTML file that opens offline."""
    draw = _curve if study.kind == "segmenters" else _dotted
    drawn = [draw(study, part) for part in (HELD_OUT, NOVEL) if part in study.lifts.parts]
    by_name = {"predict": "Contenders", "segmenters": "Segmentations", "features": "Features"}[study.kind]
    sections = [
        Section("lifts", by_name, f"Lift over the most frequent words, by {_thing(study)}", [], [table(study)], drawn),
        Section("words", "Words", "Word by word", [ABOUT_WORDS], words(study)),
    ]
    return render(
        title=study.title, answer=html_of(lambda name: answer(study, name=name)), facts=facts(study),
        warnings=study.warnings, sections=sections, notes=study.notes,
        policies=[f"{name}: {meaning}" for name, meaning in MEANING.items()], provenance=study.provenance,
    )  # fmt: skip


def facts(study: WordStudy) -> list[str]:
    """How much was studied."""
    found = study.lifts.value(study.lifts.names[0])
    return [
        f"{len(study.lifts.items):,} pictures", f"{found['train']:,.0f} learnt from",
        f"{found['vocabulary']:,.0f} words", f"{len(next(iter(study.lifts.outcomes.values())))} resamples",
    ]  # fmt: skip


def answer(study: WordStudy, *, name: Callable[[str], str] = str) -> str:
    """What the study says: the leader against the frequencies, who is told apart, its reference, and novel topics."""
    lifts = study.lifts
    best = lifts.order()[0]
    own = lifts.value(best)
    text = (
        f"{capitalised(_what(study, best, name))} predict {number(own['score'], 3)} of the words of held-out pictures, "
        f"the most frequent words {number(own['baseline'], 3)}: {_lift(own['lift'], own['lo'], own['hi'])}."
    )
    if (peers := lifts.peers(best)).order[1:]:
        text += f" {capitalised(told_apart(_wins(study, best), **peers.facts, name=name))}."
    if best in lifts.references:
        other, found = lifts.against(best)
        clear = "" if found.lo > 0 else ", which is no clear difference"
        text += f" Against {name(other)} that is {_lift(found.value, found.lo, found.hi)}{clear}."
    if NOVEL in lifts.parts:
        new = lifts.value(best, NOVEL)
        text += f" For pictures of novel topics the lift is {_lift(new['lift'], new['lo'], new['hi'])}."
    text += _merges(study, name)
    if (tau := against_source(study)) is not None:
        text += f" Kendall's tau with the order that Barnard et al. printed is {number(tau, 2)}."
    return text


def _wins(study: WordStudy, best: str) -> str:
    text = f"predicts words better than every other {_thing(study)}"
    if study.kind != "segmenters" or not study.lifts.references:
        return text
    return f"{text} with {_regions(study, best):,.0f} regions"


def _regions(study: WordStudy, arm: str) -> float:
    """The regions of a contender's pictures: those asked for, or those that are left, in the mean."""
    one = next(one for one in study.lifts.contenders if one.name == arm)
    if not one.merge:
        return one.regions
    return float(np.mean([found.regions for found in study.lifts.outcomes[arm]]))


def _merges(study: WordStudy, name: Callable[[str], str]) -> str:
    """What merging did to the contender that had the highest mean before, beside merging at random."""
    lifts = study.lifts
    arms = {one.name: one for one in lifts.contenders if one.merge}
    before = [arm for arm in lifts.order() if arm in {lifts.references[one] for one in arms}]
    if not before:
        return ""
    merged = next(one for one in arms if lifts.references[one] == before[0] and not arms[one].shuffled)
    random = next(one for one in arms if lifts.references[one] == before[0] and arms[one].shuffled)
    (_, by_words), (_, by_chance) = lifts.against(merged), lifts.against(random)
    return (
        f" Merging neighbours of {name(before[0])} whose words agree leaves {_regions(study, merged):.1f} regions and "
        f"changes its lift by {_lift(by_words.value, by_words.lo, by_words.hi)}; merging as many at random, by "
        f"{_lift(by_chance.value, by_chance.lo, by_chance.hi)}."
    )


def _what(study: WordStudy, best: str, name: Callable[[str], str]) -> str:
    if study.kind == "predict":
        groups = next(one.groups for one in study.lifts.contenders if one.name == best)
        return f"the regions of {name(best)}" if "vector" not in groups else f"the vectors {name(best)}"
    return f"the largest regions of {name(best)}" if study.kind == "segmenters" else f"the features {name(best)}"


def _lift(value: float, lo: float, hi: float) -> str:
    return f"{signed(value, 3)} [{number(lo, 3)}, {number(hi, 3)}]"


def _thing(study: WordStudy) -> str:
    return {"predict": "contender", "segmenters": "segmentation", "features": "set of features"}[study.kind]


def against_source(study: WordStudy, part: str = HELD_OUT) -> float | None:
    """Kendall's tau of the sets of features with those of Table 6; None if fewer than three are in both."""
    printed = _printed(part)
    ours = {name: study.lifts.value(name, part)["lift"] for name in study.lifts.names if name in printed}
    return orders(printed, ours).tau if study.kind == "features" and len(ours) > 2 else None


def _printed(part: str) -> dict[str, float]:
    return {one.name: one.printed[PARTS.index(part)] for one in TABLE_6 if one.printed is not None}


def heads(study: WordStudy) -> list[str]:
    """The columns of the table of contenders."""
    lifts = study.lifts
    compared = ["against"] if lifts.references else []
    printed = ["Barnard et al."] if study.kind == "features" else []
    cost = ["s per picture"] if study.costs and study.kind != "features" else []
    return [_thing(study), HELD_OUT, *compared, *printed, *_others(lifts), "SE", "score", "normalised", *cost]


def lines(study: WordStudy) -> list[list[Cell]]:
    """The rows of the table of contenders, in the order given; of segmentations the best first."""
    order = study.lifts.names if study.kind == "features" else study.lifts.order()
    return [_line(study, name) for name in order]


def _line(study: WordStudy, arm: str) -> list[Cell]:
    lifts = study.lifts
    own = lifts.value(arm)
    merged = f"{_regions(study, arm):.1f} regions" if any(c.merge for c in lifts.contenders if c.name == arm) else ""
    row = [
        cells.name(arm, merged),
        cells.interval(own["lift"], own["lo"], own["hi"], 3, strong=arm == lifts.peers(arm).winner),
    ]
    if lifts.references:
        row.append(_against(lifts, arm))
    if study.kind == "features":
        row.append(cells.number(_printed(HELD_OUT).get(arm), 3))
    for part in _others(lifts):
        one = lifts.value(arm, part)
        row.append(cells.interval(one["lift"], one["lo"], one["hi"], 3))
    row += [cells.number(own["se"], 4, small=f"naive {number(own['naive'], 4)}")]
    row += [cells.number(own["score"], 3, small=f"{number(own['baseline'], 3)} by frequency")]
    row += [cells.number(own["normalised"], 3)]
    if study.costs and study.kind != "features":
        source = next(one.source for one in lifts.contenders if one.name == arm)
        row.append(cells.number(study.costs.get(source), 3))
    return row


def _others(lifts: Lifts) -> list[str]:
    """The parts beside the one that counts; novel topics first."""
    return [part for part in (NOVEL, TRAIN) if part in lifts.parts]


def _against(lifts: Lifts, arm: str) -> Cell:
    if arm not in lifts.references:
        return Cell("–")
    other, found = lifts.against(arm)
    return Cell(
        signed(found.value, 3), found.value, f"[{number(found.lo, 3)}, {number(found.hi, 3)}] to {other}",
        strong=found.lo > 0 or found.hi < 0,
    )  # fmt: skip


def table(study: WordStudy) -> Grid:
    """The table of contenders."""
    note = (
        "Intervals of 95 % over resamples, by the corrected standard error; on training pictures they say little. "
        "Differences are paired: the same splits and starting points for all; their intervals hold together. Bold "
        "differences exclude 0. A lift is bold if it is told apart from every other that has the same reference"
        + (", and thus as many regions." if study.kind == "segmenters" else ".")
    )
    return Grid("Mean lift of each part", heads(study), lines(study), note=note)


def words(study: WordStudy) -> list[Grid]:
    """The words that the contender with the highest mean predicts best, and worst, beyond their frequency."""
    best = study.lifts.order()[0]
    frame = study.lifts.words.filter(pl.col("arm") == best).filter(pl.col("pictures") >= SEEN)
    shown = {"Gained most": frame.head(WORDS)}
    if frame.height > WORDS:
        shown["Gained least"] = frame.tail(min(WORDS, frame.height - WORDS)).reverse()
    columns = ("word", "pictures", "predicted", "recall", "precision", "recall by frequency", "lift")
    return [Grid(f"{caption}, {best}", columns, [_word(row) for row in rows.iter_rows(named=True)])
            for caption, rows in shown.items()]  # fmt: skip


def _word(row: Mapping[str, float]) -> list[Cell]:
    return [
        cells.text(str(row["word"])), cells.whole(int(row["pictures"])), cells.whole(int(row["predicted"])),
        *(cells.number(row[column], 3) for column in ("recall", "precision", "usual")), cells.signed(row["lift"], 3),
    ]  # fmt: skip


def _dotted(study: WordStudy, part: str) -> Chart:
    """A dot and an interval per contender."""
    rows = study.lifts.summary.filter(pl.col("part") == part)
    measure = f"lift, {part}"
    frame = rows.select(
        pl.col("arm").alias("system"), pl.lit(measure).alias("measure"), pl.col("lift").alias("value"), "lo", "hi",
        pl.col("pictures").alias("queries"), pl.lit(0).alias("undefined"),
    )  # fmt: skip
    order = study.lifts.order(part)
    heading = f"Lift over the most frequent words, {part} pictures"
    lifts = [study.lifts.value(name, part) for name in order]
    lines = [
        [cells.name(name), cells.interval(one["lift"], one["lo"], one["hi"], 3)]
        for name, one in zip(order, lifts, strict=True)
    ]
    return chart(
        partial(intervals, frame, measure), heading=heading,
        label=f"{heading}: {order[0]} has the highest mean", caption=f"{heading}, with 95 % intervals over resamples.",
        grid=Grid(f"Lift, {part}", (_thing(study), part), lines),
    )  # fmt: skip


def curve_of(study: WordStudy, part: str) -> pl.DataFrame:
    """source, regions, lift, se of every contender of a study of segmentations; the best source first."""
    at = {one.name: (one.source, one.regions) for one in study.lifts.contenders if not one.merge}
    rows = [
        (*at[row["arm"]], row["lift"], row["se"])
        for row in study.lifts.summary.filter(pl.col("part") == part).iter_rows(named=True)
        if row["arm"] in at
    ]
    return pl.DataFrame(rows, schema=["source", "regions", "lift", "se"], orient="row").sort("source", "regions")


def _curve(study: WordStudy, part: str) -> Chart:
    """Lift by the number of regions, a line per segmentation with error bars, as the source's Figure 2."""
    frame = curve_of(study, part)
    means = curve_of(study, HELD_OUT).group_by("source").agg(pl.col("lift").max()).sort("lift", descending=True)
    order = prominent(means["source"].to_list(), "grid")
    drawn = {}
    for name in order:
        rows = frame.filter(pl.col("source") == name)
        x, y, error = (rows[column].to_numpy().astype(float) for column in ("regions", "lift", "se"))
        drawn[name] = Line(x, y, f"{name}: {number(float(np.nanmax(y)), 3)} at most", error)
    error = frame["se"].to_numpy()
    ends = frame["lift"].to_numpy() + np.array([[-1], [1]]) * np.nan_to_num(error)
    low, high = limits_of([*ends.ravel().tolist(), 0.0])
    heading = f"Lift by number of regions, {part} pictures"
    start, level = float(frame["regions"].to_numpy().min()), (0.0, "the most frequent words")
    return chart(
        partial(line_chart, drawn, across="largest regions", up="lift", top=high, bottom=low, start=start,
                thing="segmentation", level=level),
        heading=heading, label=f"{heading}: {order[0]} has the highest mean",
        caption=f"{heading}. Bars are one corrected standard error on either side.",
        grid=Grid(heading, ("segmentation, regions", "lift", "SE"), [
            [cells.name(f"{source}, {regions}"), cells.number(lift, 3), cells.number(se, 4)]
            for source, regions, lift, se in frame.iter_rows()
        ]),
    )  # fmt: skip
