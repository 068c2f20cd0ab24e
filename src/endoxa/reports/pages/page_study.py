"""The page of a study of pipelines that read pages: both consensus tables beside truth, and where readings differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial

import polars as pl

from endoxa.evaluations.pipelines import ALIGNED, BAG, F1, MEANINGS, MEASURES, NOTHING, PRECISION, TRUTH, PipelineStudy
from endoxa.formatting import capitalised, clean, counted, html_of, number
from endoxa.frozen import dataclass
from endoxa.notes import marked
from endoxa.reports.figures.way_dots import ranked, way_dots
from endoxa.reports.pages import cells
from endoxa.reports.pages.layout import Chart, Grid, Section, chart, render

TABLES = {TRUTH: "Table 6", BAG: "Table 7", ALIGNED: "Table 8"}  # of the source
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
        warnings=[*reported.failures, *study.warnings], sections=[_tables(study), _agreement(study)],
        policies=[f"{way}: {MEANINGS[way]}" for way in study.ways], notes=_notes(study),
        provenance=reported.provenance, views=reported.views,
    )  # fmt: skip


def answer(study: PipelineStudy, *, name: Callable[[str], str] = str) -> str:
    """Which pipeline reads most precisely by consensus, and whether the transcriptions agree."""
    leader, value = _leader(study, ALIGNED)
    first = f"By consensus, {name(leader)} reads most precisely: precision {value} (Method II)."
    if TRUTH not in study.ways:
        return f"{first} Nobody has typed these pages, and without a truth an order is a guess."
    true, best = _leader(study, TRUTH)
    if true == leader:
        agreed = f"The transcriptions agree: {best}."
    else:
        agreed = f"By the transcriptions it is {name(true)}: {best}."
    row = study.taus.filter((pl.col("way") == ALIGNED) & (pl.col("measure") == PRECISION)).row(0, named=True)
    ends = f"[{number(row['lo'], 2)}, {number(row['hi'], 2)}]"
    return f"{first} {agreed} Kendall's tau of the two orders by precision is {number(row['tau'], 2)} {ends}."


def _leader(study: PipelineStudy, way: str) -> tuple[str, str]:
    """The most precise pipeline, and its precision with the interval."""
    rows = _rows(study, PRECISION).filter(pl.col("way") == way)
    row = rows.filter(pl.col("system") == ranked(rows)[0]).row(0, named=True)
    return row["system"], f"{number(row['value'], 3)} [{number(row['lo'], 3)}, {number(row['hi'], 3)}]"


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
    tops = {measure: max(study.means(way, measure).values(), default=0.0) for measure in MEASURES}
    lines = []
    for pipeline in study.pipelines:
        line = [cells.name(pipeline)]
        for measure in MEASURES:
            one = at[pipeline, measure]
            strong = one["value"] == tops[measure]
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
        "precision there." if way == next(iter(study.ways)) else "",
    )  # fmt: skip


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
