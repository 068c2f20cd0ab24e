"""The page of a study of pipelines that read pages: both consensus tables beside truth, and where readings differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import polars as pl

from endoxa.comparisons.winners import Apart
from endoxa.evaluations.pipelines import (
    ALIGNED,
    BAG,
    F1,
    LEAST,
    MEANINGS,
    MEASURES,
    NOTHING,
    PRECISION,
    TRUTH,
    VOTERS,
    PipelineStudy,
)
from endoxa.formatting import capitalised, chance, clean, counted, html_of, listed, number, signed
from endoxa.frozen import dataclass
from endoxa.notes import marked
from endoxa.reports.figures.way_dots import ranked, way_dots
from endoxa.reports.pages import cells
from endoxa.reports.pages.cells import Cell
from endoxa.reports.pages.layout import Chart, Grid, Section, chart, render
from endoxa.statistics.bootstrap import TINY
from endoxa.wording.comparing import told_apart

TABLES = {TRUTH: "Table 6", BAG: "Table 7", ALIGNED: "Table 8"}  # of the source
NAMED = 3  # pairs that a sentence names before it only counts them
RANKED = 5  # pipelines from which a sentence has Kendall's tau
NONE = "⊥"  # the virtual pipeline that finds nothing


@dataclass(frozen=True)
class Mark:
    """A place on a page where pipelines differ: its box in per cent of the page, and what each read.

    `split` says that no word has the majority of the pipelines.
    """

    left: float
    top: float
    width: float
    height: float
    readings: Sequence[tuple[str, str]]
    split: bool = False


@dataclass(frozen=True)
class View:
    """A page with its differing words.

    picture  a data address, or empty
    agreed   of what was found on the page, the share that all pipelines found
    marks    places where pipelines differ, as far as their position is known
    texts    of each pipeline (and of the transcription) the words in order, and whether each differs from what most
             pipelines read there; where a word is missing that most have, it is empty
    """

    page: str
    picture: str
    agreed: float
    marks: Sequence[Mark]
    texts: Mapping[str, Sequence[tuple[str, bool]]]


@dataclass(frozen=True)
class Reported:
    """The content of the page."""

    title: str
    study: PipelineStudy
    find: str
    views: Sequence[View] = ()
    failures: Sequence[str] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)


def page(reported: Reported) -> str:
    """The study as one HTML file that opens offline."""
    study = reported.study
    return render(
        title=reported.title, answer=html_of(lambda name: answer(study, name=name)), facts=_facts(reported),
        warnings=[*reported.failures, *study.warnings], sections=[_tables(study), _pairs(study), _agreement(study)],
        policies=[f"{way}: {MEANINGS[way]}" for way in study.ways], notes=_notes(study),
        provenance=reported.provenance, views=reported.views,
    )  # fmt: skip


def answer(study: PipelineStudy, *, name: Callable[[str], str] = str) -> str:
    """Which pipeline reads best by the transcriptions, or by agreement without them; and whether both agree.

    By truth the sentence is about F1, by consensus about precision: consensus recall, and with it F1, rewards errors.
    """
    if len(study.judged) < LEAST:
        return _by_agreement(study, name)
    true = study.compared[TRUTH, F1]
    typed = counted(len(study.judged), "transcription", "transcriptions")
    first = f"By {typed}, {_ranking(true, F1, 'reads best', 'read better', name)}."
    voted = study.compared[ALIGNED, PRECISION]
    second = f"By consensus precision (Method II), {told_apart('reads most precisely', **voted.facts, name=name)}."
    return f"{_reversed(study, name)}{first} {second} {_alike(study)}{_tau(study)}"


def _by_agreement(study: PipelineStudy, name: Callable[[str], str]) -> str:
    """What agreement alone says; it names nobody by the votes of fewer than four pipelines, or without a decided pair.

    Where a few pages have a transcription, that they are too few comes first: precision alone does not carry the
    answer where a truth exists.
    """
    voted = study.compared[ALIGNED, PRECISION]
    count = len(study.pipelines)
    if count < VOTERS:
        words = f"{count} pipelines are too few to say which reads best"
    elif not voted.decided:
        words = f"no two of {count} pipelines can be told apart"
    else:
        words = _ranking(voted, PRECISION, "reads most precisely", "read more precisely", name)
    if not study.judged:
        return (
            f"By agreement, not by truth, {words}. Nobody has typed these pages, and without a truth an order is a "
            "guess."
        )
    pages = counted(len(study.judged), "page has", "pages have")
    first = f"Only {pages} a transcription; fewer than {LEAST} tell no pipelines apart."
    return f"{first} By agreement, not by truth, {words}."


def _ranking(found: Apart, measure: str, best: str, better: str, name: Callable[[str], str]) -> str:
    """Who is best, or who cannot be told apart and who is surely worse, with the differences that this rests on."""
    group = (found.leader, *found.level)
    every = all(found.tells(one, other) > 0 for one in group for other in found.behind)
    if len(group) == 1 or not (found.facts["mutual"] and found.behind and every):
        return told_apart(best, **found.facts, name=name) + _evidence(found, measure, name)
    words = told_apart(best, leader=group[0], level=group[1:], behind=(), mutual=True, name=name)
    gaps = [min(found.difference(one, other)[0] for other in found.behind) for one in group]
    by = listed([signed(gap, 3) for gap in gaps], NAMED) if len(group) <= NAMED else f"{signed(min(gaps), 3)} or more"
    worse = listed(list(map(name, found.behind)), NAMED)
    return f"{words}; {'both' if len(group) == 2 else 'all'} {better} than {worse} ({measure} {by})"


def _evidence(found: Apart, measure: str, name: Callable[[str], str]) -> str:
    """The least difference that the sentence rests on: the leader against the nearest of those behind it."""
    if not found.behind:
        return ""
    nearest = min(found.behind, key=lambda other: found.difference(found.leader, other)[0])
    ends = _difference(found.difference(found.leader, nearest))
    return f" ({measure} {ends})" if found.level and len(found.behind) == 1 else (
        f" ({measure} {ends} against {name(nearest)})"
    )  # fmt: skip


def _difference(ends: tuple[float, float, float]) -> str:
    value, lo, hi = ends
    return f"{signed(value, 3)} [{number(lo, 3)}, {number(hi, 3)}]"


def _shared(study: PipelineStudy) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The pairs that the transcriptions decide (F1), better one first: those that the consensus orders alike, and those
    that it turns round, by mean precision (Method II)."""
    voted = study.means(ALIGNED, PRECISION)
    gaps = {pair: voted[pair[0]] - voted[pair[1]] for pair in sorted(study.compared[TRUTH, F1].decided)}
    return [pair for pair, gap in gaps.items() if gap > TINY], [pair for pair, gap in gaps.items() if gap < -TINY]


def _reversed(study: PipelineStudy, name: Callable[[str], str]) -> str:
    """That the consensus is wrong, where it turns round a pair that the transcriptions decide."""
    _, turned = _shared(study)
    if not turned:
        return ""
    pairs = listed([f"{name(worse)} above {name(better)}" for better, worse in turned], NAMED)
    return f"The consensus is wrong here: its precision puts {pairs}, the transcriptions ({F1}) the other way round. "


def _alike(study: PipelineStudy) -> str:
    """How many of the pairs that the transcriptions decide the consensus orders alike; without any, nothing follows."""
    decided, alike = len(study.compared[TRUTH, F1].decided), len(_shared(study)[0])
    if not decided:
        return "The transcriptions decide no pair, so they do not say whether the consensus is right."
    if decided == 1:
        verb = "orders" if alike else "does not order"
        return f"The consensus {verb} the one decided pair as the transcriptions do."
    which = (
        ("both" if decided == 2 else f"all {decided}") if alike == decided else f"{alike or 'none'} of the {decided}"
    )
    return f"The consensus orders {which} decided pairs as the transcriptions do."


def _tau(study: PipelineStudy) -> str:
    """Kendall's tau; of fewer than five pipelines its interval says nothing."""
    if len(study.pipelines) < RANKED:
        return ""
    row = study.taus.filter((pl.col("way") == ALIGNED) & (pl.col("measure") == PRECISION)).row(0, named=True)
    ends = f"[{number(row['lo'], 2)}, {number(row['hi'], 2)}]"
    return f" Kendall's tau of the two orders by precision is {number(row['tau'], 2)} {ends}."


def _rows(study: PipelineStudy, measure: str) -> pl.DataFrame:
    """Of a measure: way, system, value, lo, hi of every pipeline, without the virtual one."""
    kept = (pl.col("measure") == measure) & (pl.col("pipeline") != (study.virtual or ""))
    return study.values.filter(kept).rename({"pipeline": "system"}).select("way", "system", "value", "lo", "hi")


def tables(study: PipelineStudy) -> dict[str, pl.DataFrame]:
    """For the terminal, a table per measure: a row per pipeline, a column per way; `value [lo, hi]`."""
    found = {}
    for measure in MEASURES:
        rows = _rows(study, measure)
        order = ranked(rows)
        columns = {"pipeline": order}
        for way in study.ways:
            at = {row["system"]: row for row in rows.filter(pl.col("way") == way).iter_rows(named=True)}
            columns[way] = [
                f"{number(at[one]['value'], 3)} [{number(at[one]['lo'], 3)}, {number(at[one]['hi'], 3)}]"
                for one in order
            ]
        found[measure] = pl.DataFrame(columns)
    return found


def _facts(reported: Reported) -> list[str]:
    study = reported.study
    facts = [counted(len(study.pages), "page", "pages"), f"{len(study.pipelines)} pipelines"]
    facts.append(f"{len(study.judged)} with a transcription" if study.judged else "no transcription")
    return [*facts, f"looked for {reported.find}"]


def _tables(study: PipelineStudy) -> Section:
    """Precision, recall and F1 by each way, as in the tables of the source, and as figures."""
    lines = [f"{way}: {MEANINGS[way]}." for way in study.ways]
    return Section(
        "tables", "Tables", "Precision and recall by consensus and by truth" if study.judged else
        "Precision and recall by consensus", [clean(line) for line in map(capitalised, lines)],
        [_table(study, way) for way in study.ways], [_figure(study, measure) for measure in MEASURES],
    )  # fmt: skip


def _table(study: PipelineStudy, way: str) -> Grid:
    rows = study.values.filter(pl.col("way") == way)
    at = {(row["pipeline"], row["measure"]): row for row in rows.iter_rows(named=True)}
    winners = {measure: study.compared[way, measure].winner for measure in MEASURES}
    lines = []
    for pipeline in study.pipelines:
        line = [cells.name(pipeline)]
        for measure in MEASURES:
            one = at[pipeline, measure]
            strong = pipeline == winners[measure] and _claimed(way, measure)
            line.append(cells.interval(one["value"], one["lo"], one["hi"], 4, strong=strong))
        undefined = at[pipeline, PRECISION]["undefined"]
        lines.append([*line, cells.whole(undefined, alert=True)])
    if way != TRUTH and study.virtual is not None:
        everything = [cells.number(at[study.virtual, measure]["value"], 4) for measure in MEASURES]
        lines.append([cells.name(study.virtual, "finds everything", virtual=True), *everything, cells.whole(0)])
        nothing = [cells.number(NOTHING[measure], 4) for measure in MEASURES]
        lines.append([cells.name(NONE, "finds nothing", virtual=True), *nothing, cells.whole(len(study.pages))])
    pages = len(study.judged if way == TRUTH else study.pages)
    confidence = 100 * study.ways[way].confidence
    return Grid(
        f"{capitalised(way)}: means over {counted(pages, 'page', 'pages')} (as {TABLES[way]} of Lamiroy and Sun)",
        ("pipeline", *map(capitalised, MEASURES), "Pages without output"),
        lines,
        note=f"Below each mean its {confidence:g} % interval over pages. A pipeline without output on a page has no "
        "precision there. Bold: better than every other pipeline, page by page; never recall or F1 by consensus."
        if way == next(iter(study.ways))
        else "",
    )  # fmt: skip


def pairs(study: PipelineStudy, way: str, measure: str) -> pl.DataFrame:
    """Every two pipelines, the one with the greater mean first: the difference page by page, and the pages won."""
    rows = study.pairs.filter((pl.col("way") == way) & (pl.col("measure") == measure))
    ends = [
        _difference(one) if not math.isnan(one[1]) else signed(one[0], 3)
        for one in rows.select("difference", "lo", "hi").iter_rows()
    ]
    return rows.select(
        "pipeline", pl.col("other").alias("against"), pl.Series(measure, ends, dtype=pl.String),
        pl.Series("P(better)", [chance(p) for p in rows["p_better"]], dtype=pl.String), "won", "lost",
    )  # fmt: skip


def _pairs(study: PipelineStudy) -> Section:
    """Every two pipelines, page by page, by each way."""
    decided = f"{100 * study.ways[BAG].confidence:g} %"
    lines = [
        "Pages differ more than pipelines do, so pipelines are compared page by page. The pipeline with the greater "
        "mean stands first.",
        f"The intervals of all pairs of a column hold together with {decided}. Bold: the two are told apart; never "
        "recall or F1 by consensus, which reward errors.",
    ]
    if TRUTH in study.ways and len(study.judged) < LEAST:
        lines.append(f"By truth there are fewer than {LEAST} pages: only pages won are counted.")
    grids = [_paired(study, way) for way in study.ways]
    return Section("pairs", "Pairs", "Which pipeline reads better than which", lines, grids)


def _paired(study: PipelineStudy, way: str) -> Grid:
    frame = study.pairs.filter(pl.col("way") == way)
    at = {(row["measure"], row["pipeline"], row["other"]): row for row in frame.iter_rows(named=True)}
    lines = []
    for one, other in study.compared[way, PRECISION if way != TRUTH else F1].differences:
        line = [cells.name(one), cells.name(other)]
        for measure in MEASURES:
            straight = (measure, one, other) in at
            line.append(_pair(at[(measure, one, other) if straight else (measure, other, one)], straight=straight))
        lines.append(line)
    caption = f"{capitalised(way)}: difference and pages won–lost, with interval and P(better)"
    return Grid(caption, ("pipeline", "against", *MEASURES), lines)


def _pair(row: Mapping[str, Any], *, straight: bool) -> Cell:
    """The difference of a pair; `straight` where the row has it the way it is shown."""
    sign = 1 if straight else -1
    value, lo, hi = sign * row["difference"], *sorted((sign * row["lo"], sign * row["hi"]))
    won, lost = (row["won"], row["lost"])[::sign]
    text = f"{signed(value, 3)} · {won}–{lost}"
    if math.isnan(lo):
        return Cell(text, value)
    better = row["p_better"] if straight else 1 - row["p_better"]
    ends = f"[{number(lo, 3)}, {number(hi, 3)}] P {chance(better)}"
    return Cell(text, value, ends, strong=_claimed(row["way"], row["measure"]) and (lo > 0 or hi < 0))


def _claimed(way: str, measure: str) -> bool:
    """Whether a comparison may be called decided: recall and F1 by consensus reward errors, and never are."""
    return way == TRUTH or measure == PRECISION


def _figure(study: PipelineStudy, measure: str) -> Chart:
    rows = _rows(study, measure)
    at = {(row["way"], row["system"]): row for row in rows.iter_rows(named=True)}
    ways = list(study.ways)
    lines = [
        [
            cells.name(system),
            *(cells.interval(*(at[way, system][end] for end in ("value", "lo", "hi"))) for way in ways),
        ]
        for system in ranked(rows)
    ]
    name = capitalised(measure)
    sides = "by truth and by consensus" if TRUTH in ways else "by consensus"
    return chart(
        partial(way_dots, rows, measure),
        heading=name,
        label=f"{name} of each pipeline {sides}",
        caption=f"{name} of each pipeline {sides}, with intervals over pages. Compare orders, not numbers.",
        grid=Grid(f"{name} {sides}", ("pipeline", *map(capitalised, ways)), lines),
    )


def _agreement(study: PipelineStudy) -> Section | None:
    """Kendall's tau of each consensus and truth."""
    if not study.taus.height:
        return None
    rows = []
    for way in (BAG, ALIGNED):
        own = study.taus.filter(pl.col("way") == way)
        at = {row["measure"]: row for row in own.iter_rows(named=True)}
        taus = [cells.interval(at[one]["tau"], at[one]["lo"], at[one]["hi"], 2) for one in MEASURES]
        rows.append([cells.name(way), *taus])
    line = (
        "Kendall's tau is 1 where consensus and truth put the pipelines in the same order, and 0 where the orders have "
        f"nothing in common. Its interval is over {counted(len(study.judged), 'page', 'pages')}, drawn with "
        "replacement."
    )
    grid = Grid("Kendall's tau of the order by consensus and by truth", ("way", *map(capitalised, MEASURES)), rows)
    return Section(
        "agreement", "Agreement", "Does the consensus order the pipelines as the truth does?", [line], [grid]
    )


def _notes(study: PipelineStudy) -> list[str]:
    """How the numbers were made."""
    return [
        f"{F1} is the harmonic mean of precision and recall on each page, averaged over pages.",
        "The same numbers by hand: endoxa eval --tokens bag --lines --plugin OUT/* (Method I), and --tokens align "
        "--near .8 (Method II).",
        *marked(study.ways[BAG].notes),
    ]
