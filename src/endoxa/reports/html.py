"""One page that tells all: self-contained, opens offline, prints, reads on a phone and to a screen reader."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import polars as pl

from endoxa.reports import doubts, figures
from endoxa.reports.costs import cost_grid
from endoxa.reports.doubts import chance
from endoxa.reports.findings import best_values, headline, pairs_of, ranking, rival, undecided, verdict
from endoxa.reports.labels import clean, counts, number, probability, share, shortened, signed, size
from endoxa.reports.tables import Cell, Grid
from endoxa.reports.text import undefined_note

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.figure import Figure

    from endoxa.comparisons.appraisal import Appraisal
    from endoxa.reports import Report

NAME = 48  # letters of a name in a table; the whole name stands in its title
WIDE, NARROW = 9.0, 3.6  # inches of a figure on a desk and on a phone
FOLDED = 4  # measures that have figures of their own; the first is open
ROWS = 200  # rows of a data table before the middle is left out

# Colours of the figures that follow the reader's choice of light or dark.
THEME = {
    figures.INK: "ink",
    figures.MUTED: "muted",
    figures.FAINT: "line",
    figures.PAPER: "card",
    figures.OTHER: "other",
    figures.BLUE: "blue",
    figures.ORANGE: "orange",
    figures.GREEN: "green",
    figures.PURPLE: "purple",
    figures.EARTH: "earth",
    figures.GREY: "grey",
    figures.SLATE: "slate",
}


@dataclass(frozen=True)
class Chart:
    """A figure in its two widths (or one for both), what it shows in words, and its numbers."""

    heading: str
    label: str
    caption: str
    wide: str
    narrow: str
    wide_pixels: int
    narrow_pixels: int
    grid: Grid


@dataclass(frozen=True)
class Doubted:
    """What a page shows where the truth is in doubt. `verdict` and `warnings` are empty where they stand on top."""

    heading: str
    verdict: str
    sentence: str
    warnings: Sequence[str]
    lines: Sequence[str]
    summary: Grid
    others: Grid | None
    ridges: Sequence[Chart]
    better: Sequence[Chart]
    shares: Chart
    advice: Sequence[str]
    depths: Grid | None


def page(report: Report) -> str:
    """The report as one HTML file. Nothing is fetched when it is opened; it says so itself (its CSP)."""
    from markupsafe import Markup

    environment = templates()
    script = _asset(environment, "report.js")
    ids = count(1)
    appraisal = report.appraisal
    # Where the scores of the page are those in doubt, all of it is about them; else they have a section of their own.
    alone = appraisal is not None and appraisal.scores is report.scores
    measure = report.scores.measures[0] if alone else headline(report)
    doubted = _doubted(report, appraisal, ids, alone=alone) if appraisal is not None else None
    plain = _without_baseline(report) if alone else report
    sentence = _appraised(report) if alone else verdict(report, name=_escaped)
    html = environment.get_template("report.html.j2").render(
        title=clean(report.title),
        verdict=Markup(_unbroken(sentence)),
        aside=clean(appraisal.sentence) if appraisal is not None and alone else _aside(report, measure),
        facts=_facts(plain),
        warnings=[clean(text) for text in (_warnings(report) if alone else report.warnings)],
        doubted=doubted,
        summary=None if alone else _summary(report),
        intervals=[] if alone else _interval_charts(report, ids),
        curves=_curve_chart(report, ids),
        differences=_difference_chart(
            plain, measure, ids, where=doubts.within(appraisal) if appraisal and alone else ""
        ),
        pairs=[] if alone else _pair_charts(report, ids),
        coverage=_coverage(report, alone=alone),
        costs=None if report.costs is None else cost_grid(report.costs),
        policies=[line.partition(": ")[::2] for line in report.scores.policy.lines()],
        notes=_notes(report),
        definitions=_definitions(report),
        provenance=report.provenance,
        files=_files(report),
        css=Markup(_asset(environment, "report.css") + ("\n" + _asset(environment, "doubts.css") if doubted else "")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return html.strip() + "\n"


def templates() -> Environment:
    """The templates of all pages: everything is escaped, nothing undefined passes."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("endoxa.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _asset(environment: Any, name: str) -> str:
    source, _, _ = environment.loader.get_source(environment, name)
    return str(source).strip()


def _escaped(text: str) -> str:
    from markupsafe import escape

    return f"<b>{escape(_short(text, 80))}</b>"


def _unbroken(sentence: str) -> str:
    """The sentence with numbers that do not part from their signs at the end of a line."""
    return re.sub(r"(?<=\d) %|(?<=p) (?=[=<] )|(?<=[=<]) (?=\d)", lambda gap: gap[0].replace(" ", "\u00a0"), sentence)


def _notes(report: Report) -> list[str]:
    appraisal = report.appraisal
    tables = (report.comparison, appraisal.comparison if appraisal else None)
    told = appraisal.belief.lines() if appraisal else ()  # they stand under the summary already
    notes = [note for note in report.notes if note not in told]
    return list(dict.fromkeys([*notes, *(note for table in tables if table for note in table.notes)]))


def _facts(report: Report) -> list[str]:
    def counted(number: int, one: str, many: str) -> str:
        return f"{number:,} {one if number == 1 else many}".replace(",", "\u202f")

    return [
        counted(len(report.scores.systems), "system", "systems"),
        counted(len(report.scores.queries), "query", "queries"),
        counted(len(report.scores.measures), "measure", "measures"),
    ]


def _definitions(report: Report) -> list[tuple[str, str]]:
    """Measures that differ only in a setting (P@5, P@10) share a definition and are told together."""
    names: dict[str, list[str]] = {}
    for name, meaning in report.definitions.items():
        names.setdefault(meaning, []).append(name)
    return [(", ".join(together), meaning) for meaning, together in names.items()]


def _aside(report: Report, measure: str) -> str:
    found = undecided(report, measure)
    if found is None or found[1] < 2:
        return ""
    same, compared = found
    apart = {0: "All can be told apart from it", 1: "One cannot be told apart from it"}
    told = apart.get(same, f"{same} cannot be told apart from it")
    return f"It was compared with {compared} systems on {clean(measure)}. {told} at the {1 - report.level:.2g} level."


def _summary(report: Report) -> Grid:
    summary = report.summary
    measures = summary["measure"].unique(maintain_order=True).to_list()
    whole = counts(summary)
    best = best_values(summary, report.lower, whole)
    caption = f"Means over queries, with {100 * report.level:g} % intervals. The best of each measure is bold."
    note = undefined_note(summary) or ""

    def cell(row: dict[str, Any]) -> Cell:
        decimals = 0 if row["measure"] in whole else 4
        value, lo, hi = row["value"], row["lo"], row["hi"]
        known = value is not None and not math.isnan(value)
        interval = "" if lo is None or math.isnan(lo) else f"[{number(lo, decimals)}, {number(hi, decimals)}]"
        return Cell(
            number(value, decimals),
            sort=value if known else "",
            small=interval,
            strong=known and round(value, 4) == best.get(row["measure"]),
        )

    if len(report.scores.systems) == 1:  # one row as wide as the measures are many reads better as a column
        rows = [
            [_name(row["measure"]), cell(row), Cell(str(row["queries"]), row["queries"])]
            for row in summary.iter_rows(named=True)
        ]
        caption = f"Means over queries, with {100 * report.level:g} % intervals."
        return Grid(caption, ("measure", "value", "queries"), rows, note=note)
    first = headline(report)
    order = [one.system for one in ranking(summary, first, lower=first in report.lower)]
    found = {(row["system"], row["measure"]): cell(row) for row in summary.iter_rows(named=True)}
    rows = [
        [_name(system), *(found.get((system, measure), Cell(number(None))) for measure in measures)] for system in order
    ]
    heads = ["system", *(clean(measure) for measure in measures)]
    return Grid(caption, heads, rows, measures.index(first) + 1, first in report.lower, note)


def _interval_charts(report: Report, ids: count[int]) -> list[Chart]:
    if len(report.scores.systems) == 1:
        return []
    whole = counts(report.summary)
    known = report.summary["measure"].unique().to_list()
    measures = [measure for measure in report.scores.measures if measure in known and measure not in whole]
    charts = []
    for measure in measures[:FOLDED]:
        lower = measure in report.lower
        standings = ranking(report.summary, measure, lower=lower)
        rows = [
            [
                _name(one.system),
                _number(one.value),
                _number(one.lo),
                _number(one.hi),
                Cell(str(one.queries), one.queries),
                Cell(str(one.undefined), one.undefined),
            ]
            for one in standings
        ]
        best = standings[0]
        charts.append(
            _chart(
                lambda width, measure=measure, lower=lower: figures.intervals(  # type: ignore[misc]
                    report.summary, measure, width=width, lower=lower
                ),
                ids,
                heading=measure,
                label=f"Mean {measure} of {len(rows)} systems with intervals; best is {best.system} "
                f"with {number(best.value)}",
                caption="The intervals are each system’s own. Two that overlap may still differ surely, since systems "
                "are compared query by query.",
                grid=Grid(
                    f"{measure}: mean and interval",
                    ("system", "mean", "low", "high", "queries", "undefined"),
                    rows,
                    1,
                    lower,
                ),
            )
        )
    return charts


def _curve_chart(report: Report, ids: count[int]) -> Chart | None:
    curves = report.curves
    if curves is None or not curves.height:
        return None
    highlight = [report.baseline] if report.baseline else []
    points = curves["recall"].unique().sort().to_list()
    shown = points[:: max((len(points) - 1) // 10, 1)]
    values = {
        (system, recall): precision
        for system, recall, precision in curves.select("system", "recall", "precision").iter_rows()
    }
    rows = [
        [_name(system), *(_number(values.get((system, recall)), 3) for recall in shown)]
        for system in figures.curves_order(curves)
    ]
    note = figures.generality_note(curves)
    mean, _, _ = figures.generality(curves)
    line = "" if math.isnan(mean) else f" A random ranking would reach {mean:.2g} at every recall."
    return _chart(
        lambda width: figures.curves(curves, width=width, highlight=highlight),
        ids,
        heading="Precision at each recall",
        label=f"Precision-recall curves of {len(rows)} systems; highest mean precision: {rows[0][0].title}.{line} "
        f"{note or ''}",
        caption="Interpolated precision, averaged over queries. The dashed line is what a random ranking would reach.",
        grid=Grid("Precision at recall", ("system", *(f"{recall:g}" for recall in shown)), rows),
    )


def _difference_chart(report: Report, measure: str, ids: count[int], *, where: str = "") -> Chart | None:
    pair = rival(report, measure)
    if pair is None:
        return None
    system, baseline = pair
    frame = figures.query_differences(report.scores, system, baseline, measure)
    if not frame.height:
        return None
    left_out = len(report.scores.queries) - frame.height
    mean = frame["difference"].mean()
    short = shortened([system, baseline], 40)
    note = ""
    if frame.height > ROWS:
        note = f"The {ROWS // 2} largest gains and losses of {frame.height} queries."
        frame = pl.concat([frame.head(ROWS // 2), frame.tail(ROWS // 2)])
    rows = [
        [_name(query), _number(ours), _number(theirs), Cell(signed(gap), gap)]
        for query, ours, theirs, gap in frame.iter_rows()
    ]
    return _chart(
        lambda width: figures.differences(report.scores, system, baseline, measure, width=width),
        ids,
        heading=f"{short[0]} against {short[1]}",
        label=f"Differences in {measure} per query, {system} minus {baseline}, from {rows[0][3].text} to "
        f"{rows[-1][3].text}",
        caption=f"{measure} of {short[0]} minus that of {short[1]} (mean {signed(float(mean))}), one bar per query."  # type: ignore[arg-type]
        + (f" Expected values {where}." if where else "")
        + (f" {left_out} queries where either is undefined or absent are left out." if left_out else ""),
        grid=Grid(f"{measure} per query", ("query", short[0], short[1], "difference"), rows, 3, note=note),
    )


def _pair_charts(report: Report, ids: count[int]) -> list[Chart]:
    comparison = report.comparison
    if comparison is None:
        return []
    charts = []
    measures = [measure for measure in report.scores.measures if pairs_of(comparison, measure)]
    alpha = 1 - report.level
    many = len(report.scores.systems) > figures.CELLS_WITH_TEXT
    for measure in measures[: 1 if many else FOLDED]:
        _, columns, cells = figures.pair_matrix(comparison, measure)
        found = [cells[place] for place in sorted(cells)]
        told = sum(one.differs(alpha) for one in found)
        rows = [
            [
                _name(one.system),
                _name(one.baseline),
                Cell(signed(one.difference), one.difference),
                _number(one.lo),
                _number(one.hi),
                Cell(probability(one.p).removeprefix("p ").removeprefix("= "), one.p, strong=one.differs(alpha)),
            ]
            for one in found
        ]
        charts.append(
            _chart(
                lambda width, measure=measure: figures.pairs(  # type: ignore[misc]
                    comparison, measure, width=width, alpha=alpha
                ),
                ids,
                heading=measure,
                label=f"Differences in {measure} between {len(found)} pairs of systems; {told} can be told apart",
                caption=_told(told, len(found), alpha)
                + (" Systems are numbered, best first." if len(columns) > 1 else ""),
                grid=Grid(f"{measure}: pairs", ("system", "against", "difference", "low", "high", "p"), rows),
                phone=not many,
            )
        )
    return charts


def _told(told: int, pairs: int, alpha: float) -> str:
    if pairs == 1:
        return f"The two {'can' if told else 'cannot'} be told apart at the {alpha:.2g} level."
    return f"{told} of {pairs} pairs can be told apart at the {alpha:.2g} level."


def _coverage(report: Report, *, alone: bool = False) -> Grid:
    rows = []
    for row in report.scores.coverage.iter_rows(named=True):
        items = row["items"] or 0
        judged, tied = row["judged"] or 0, row["tied"] or 0
        rows.append(
            [
                Cell(clean(row["system"]), clean(row["system"]), numeric=False),
                _whole(row["queries"]),
                _whole(row["missing"], alert=True),
                _whole(row["unknown"]),
                _whole(items),
                Cell(share(items - judged, items), (items - judged) / items if items else ""),
                Cell(share(tied, items), tied / items if items else ""),
            ]
        )
    heads = ("system", "queries", "missing", "unknown", "items", "unjudged", "tied")
    note = (
        "Missing: judged topics that the system has no list for. Unknown: topics it answered that have no judgments. "
        "Unjudged: share of its items without a judgment. Tied: share of its items whose score equals another’s."
    )
    if not alone or report.appraisal is None:
        return Grid("What each system returned, and how much of it was judged", heads, rows, note=note)
    note = (
        "Missing: queries that the system has no list for. Unknown: queries it answered that the belief does not hold. "
        "Unmentioned: share of its items of which the belief says nothing. Tied: share of its items whose score equals "
        "another’s."
    )
    heads = ("system", "queries", "missing", "unknown", "items", "unmentioned", "tied")
    at = _place(report.scores.systems, report.appraisal.baseline)
    return Grid("What each system returned, and how much of it the belief mentions", heads, rows, None, False, note, at)


def _without_baseline(report: Report) -> Report:
    """The report without the virtual system, which is no rival to anyone."""
    aside = report.appraisal.baseline if report.appraisal else None
    scores = report.scores
    if aside is None or aside not in scores.systems:
        return report
    kept = replace(
        scores,
        frame=scores.frame.filter(pl.col("system") != aside),
        coverage=scores.coverage.filter(pl.col("system") != aside),
    )
    return replace(report, scores=kept, summary=report.summary.filter(pl.col("system") != aside))


def _appraised(report: Report) -> str:
    """The verdict on scores in doubt."""
    appraisal = report.appraisal
    if appraisal is None:
        return ""
    return doubts.verdict(appraisal, lower=appraisal.scores.measures[0] in report.lower, name=_escaped)


def _warnings(report: Report) -> list[str]:
    """Those of the report and of the appraisal, and the lines of the belief that are warnings."""
    appraisal = report.appraisal
    if appraisal is None:
        return list(report.warnings)
    loud = [line.removeprefix("! ") for line in appraisal.belief.lines() if line.startswith("! ")]
    return list(dict.fromkeys([*report.warnings, *appraisal.warnings, *loud]))


def _doubted(report: Report, appraisal: Appraisal, ids: count[int], *, alone: bool) -> Doubted:
    from markupsafe import Markup

    within = doubts.within(appraisal)
    measures = appraisal.scores.measures
    own = _warnings(replace(report, warnings=()))
    return Doubted(
        heading="Summary" if alone else within[:1].upper() + within[1:],
        verdict="" if alone else Markup(_unbroken(_appraised(report))),
        sentence="" if alone else clean(appraisal.sentence),
        warnings=[] if alone else [clean(text) for text in own],
        lines=[clean(line) for line in appraisal.belief.lines() if not line.startswith("! ")],
        summary=_doubted_summary(report, appraisal, measures[0]),
        others=_doubted_others(report, appraisal) if len(measures) > 1 else None,
        ridges=[_ridge_chart(report, appraisal, measure, ids) for measure in measures[:FOLDED]],
        better=_better_charts(report, appraisal, ids),
        shares=_share_chart(report, appraisal, ids),
        advice=doubts.advice(appraisal),
        depths=_depths(appraisal),
    )


def _doubted_summary(report: Report, appraisal: Appraisal, measure: str) -> Grid:
    """The first measure: mean, level without the own vote, P(best), share of what nobody else returned."""
    rows = _by_value(report, appraisal, measure)
    several = sum(row["system"] != appraisal.baseline for row in rows) > 1
    chosen = [name for name in ("p_best", "alone", "unique") if _told_of(appraisal.summary, name)]
    if not several and "p_best" in chosen:
        chosen.remove("p_best")
    heads = {"p_best": "P(best)", "alone": "without own vote", "unique": "unique"}
    leader = next((row["system"] for row in rows if row["system"] != appraisal.baseline), None)
    cells = []
    for row in rows:
        more = {
            "alone": _number(row.get("alone")),
            "p_best": _chance(row.get("p_best")),
            "unique": _share(row.get("unique")),
        }
        value = _mean(row, strong=several and row["system"] == leader)
        cells.append([_system(appraisal, row["system"]), value, *(more[name] for name in chosen)])
    said = {
        "alone": "Without own vote: the level where a system’s own votes do not count.",
        "p_best": "P(best): how often it is the best of all, all doubts in.",
        "unique": "Unique: share of its votes that no other system shares.",
    }
    return Grid(
        f"{measure} {doubts.within(appraisal)}: means over queries, with {100 * appraisal.level:g} % intervals",
        ("system", clean(measure), *(heads[name] for name in chosen)),
        cells,
        1,
        measure in report.lower,
        " ".join(said[name] for name in chosen),
        _place([row["system"] for row in rows], appraisal.baseline),
    )


def _doubted_others(report: Report, appraisal: Appraisal) -> Grid:
    """The further measures side by side, in the order of the first."""
    first, *others = appraisal.scores.measures
    order = [row["system"] for row in _by_value(report, appraisal, first)]
    known = {(row["system"], row["measure"]): row for row in appraisal.summary.iter_rows(named=True)}
    leaders = {}
    for measure in others:
        standings = doubts.contenders(appraisal, measure, lower=measure in report.lower)
        leaders[measure] = standings[0].system if len(standings) > 1 else None
    rows = []
    for system in order:
        cells = [_system(appraisal, system)]
        for measure in others:
            row = known.get((system, measure), {"value": None, "lo": None, "hi": None})
            cells += [_mean(row, strong=system == leaders[measure]), _chance(row.get("p_best"))]
        rows.append(cells)
    heads = ["system", *(head for measure in others for head in (clean(measure), "P(best)"))]
    caption = f"Further measures {doubts.within(appraisal)}, each with P(best) on it"
    return Grid(caption, heads, rows, baseline=_place(order, appraisal.baseline))


def _ridge_chart(report: Report, appraisal: Appraisal, measure: str, ids: count[int]) -> Chart:
    lower = measure in report.lower
    rows = _by_value(report, appraisal, measure)
    cells = [
        [
            _system(appraisal, row["system"]),
            *(_number(row.get(name)) for name in ("value", "lo", "hi", "se")),
            _chance(row.get("p_best"), 3),
            *([_number(row.get("alone"))] if _told_of(appraisal.summary, "alone") else []),
            _whole(row["queries"]),
        ]
        for row in rows
    ]
    heads = ["system", "mean", "low", "high", "deviation", "P(best)", "queries"]
    if _told_of(appraisal.summary, "alone"):
        heads.insert(-1, "without own vote")
    best = doubts.contenders(appraisal, measure, lower=lower)[0]
    within = doubts.within(appraisal)
    return _chart(
        lambda width: doubts.ridges(appraisal, measure, width=width, lower=lower),
        ids,
        heading=measure,
        label=f"Distribution of the mean {measure} of {len(rows)} systems {within}; highest on average is "
        f"{best.system} with {number(best.value)}",
        caption=f"Where the mean over queries may lie {within}, all doubts in; the wider, the more doubtful. Dark: "
        f"the middle {100 * appraisal.level:g} %; mark: the mean. Hills that overlap may still be told apart, since "
        "systems share possible worlds and queries.",
        grid=Grid(
            f"{measure} {within}: mean and interval",
            heads,
            cells,
            1,
            lower,
            baseline=_place([row["system"] for row in rows], appraisal.baseline),
        ),
    )


def _better_charts(report: Report, appraisal: Appraisal, ids: count[int]) -> list[Chart]:
    many = len(appraisal.scores.systems) > doubts.NUMBERED
    charts = []
    for measure in appraisal.scores.measures[: 1 if many else FOLDED]:
        lower = measure in report.lower
        found = doubts.chances(appraisal, measure)
        if all(math.isnan(one.better) for one in found):  # none compared, or nothing known of them
            continue
        places = {row["system"]: at for at, row in enumerate(_by_value(report, appraisal, measure))}
        found = [one if places[one.system] < places[one.against] else one.turned() for one in found]
        found.sort(key=lambda one: (places[one.system], places[one.against]))
        real = [one for one in found if appraisal.baseline not in (one.system, one.against)] or found
        told = sum(one.differs for one in real)
        rows = [
            [
                _system(appraisal, one.system),
                _name(one.against),
                *(_chance(p, 3) for p in (one.better, one.tie, one.worse)),
                Cell(signed(one.difference), "" if math.isnan(one.difference) else one.difference),
                _number(one.lo),
                _number(one.hi),
            ]
            for one in found
        ]
        heads = ("system", "against", "P(better)", "P(equal)", "P(worse)", "difference", "low", "high")
        apart = "The two" if len(real) == 1 else f"{told} of {len(real)} pairs of systems"
        can = "can" if told or len(real) > 1 else "cannot"
        charts.append(
            _chart(
                lambda width, measure=measure, lower=lower: doubts.better(  # type: ignore[misc]
                    appraisal, measure, width=width, lower=lower
                ),
                ids,
                heading=measure,
                label=f"Probability that one system is better than another on {measure} {doubts.within(appraisal)}, "
                f"for {len(real)} pairs; {told} can be told apart",
                caption=f"{apart} {can} be told apart (they can where the middle {100 * appraisal.level:g} % of the "
                "difference leave out 0). Systems are numbered, best first.",
                grid=Grid(f"{measure} {doubts.within(appraisal)}: pairs", heads, rows),
                phone=not many,
            )
        )
    return charts


def _share_chart(report: Report, appraisal: Appraisal, ids: count[int]) -> Chart:
    measure = appraisal.scores.measures[0]
    lower = measure in report.lower
    parts = doubts.variances(appraisal)
    order = [row["system"] for row in _by_value(report, appraisal, measure)]
    rows = []
    for system in order:
        own = parts.get(system, {})
        total = sum(value for value in own.values() if not math.isnan(value))
        cells = [
            Cell(share(value, total), value / total if total > 0 and not math.isnan(value) else "")
            for value in (own.get(doubt, math.nan) for doubt in doubts.DOUBTS)
        ]
        deviation = Cell(number(math.sqrt(total)), math.sqrt(total)) if total > 0 else Cell(number(None))
        rows.append([_system(appraisal, system), *cells, deviation])
    names = [doubts.doubt_name(appraisal, doubt) for doubt in doubts.DOUBTS]
    said = " ".join(doubts.advice(appraisal))
    return _chart(
        lambda width: doubts.shares(appraisal, width=width, lower=lower),
        ids,
        heading="Where the doubt comes from",
        label=f"Share of each doubt in the variance of the mean {measure} of {len(rows)} systems. {said}",
        caption=f"Shares of the variance of the mean {measure} {doubts.within(appraisal)}; ±: its deviation.",
        grid=Grid(
            f"{measure} {doubts.within(appraisal)}: shares of the variance",
            ("system", *names, "deviation"),
            rows,
            baseline=_place(order, appraisal.baseline),
        ),
    )


def _depths(appraisal: Appraisal) -> Grid | None:
    found = doubts.depths(appraisal)
    if not found:
        return None
    rows = [[Cell(f"{depth}", depth), _number(tau, 2), _name(leader)] for depth, tau, leader in found]
    measure = clean(appraisal.scores.measures[0])
    note = "Tau is to the order shown. 1: the same; 0: they have nothing in common; −1: the reverse."
    caption = f"Order on {measure} {doubts.within(appraisal)}, by the depth to which items count as votes"
    return Grid(caption, ("depth", "tau", "leader"), rows, note=note)


def _by_value(report: Report, appraisal: Appraisal, measure: str) -> list[dict[str, Any]]:
    """The summary's rows of a measure, best first, the baseline in its place."""
    order = [one.system for one in ranking(appraisal.summary, measure, lower=measure in report.lower)]
    rows = appraisal.summary.filter(pl.col("measure") == measure).iter_rows(named=True)
    found = {row["system"]: row for row in rows}
    return [found[system] for system in order]


def _told_of(summary: pl.DataFrame, name: str) -> bool:
    """Whether the summary has the column, and something in it."""
    return name in summary.columns and not summary[name].fill_nan(None).drop_nulls().is_empty()


def _place(systems: Sequence[str], baseline: str | None) -> int | None:
    return systems.index(baseline) if baseline in systems else None


def _system(appraisal: Appraisal, system: str) -> Cell:
    cell = _name(system)
    return replace(cell, small="baseline") if system == appraisal.baseline else cell


def _mean(row: dict[str, Any], *, strong: bool = False) -> Cell:
    value, lo, hi = row["value"], row["lo"], row["hi"]
    interval = "" if lo is None or math.isnan(lo) else f"[{number(lo)}, {number(hi)}]"
    return replace(_number(value), small=interval, strong=strong)


def _chance(p: float | None, decimals: int = 2) -> Cell:
    return Cell(chance(p, decimals), "" if p is None or math.isnan(p) else p)


def _share(part: float | None) -> Cell:
    known = part is not None and not math.isnan(part)
    return Cell(share(part, 1), part) if known and part is not None else Cell(number(None))


def _files(report: Report) -> Grid | None:
    if not report.files:
        return None
    rows = [
        [
            Cell(clean(source.name), clean(source.name), numeric=False),
            Cell(source.kind, source.kind, numeric=False),
            Cell(size(source.size), source.size),
            Cell(source.sha256, source.sha256, numeric=False),
        ]
        for source in report.files
    ]
    return Grid("Files read", ("file", "kind", "size", "SHA-256"), rows)


def _chart(
    draw: Callable[[float], Figure],
    ids: count[int],
    *,
    heading: str,
    label: str,
    caption: str,
    grid: Grid,
    phone: bool = True,
) -> Chart:
    from markupsafe import Markup

    wide = draw(WIDE)
    narrow = draw(NARROW) if phone else None
    return Chart(
        clean(heading),
        clean(label),
        clean(caption),
        Markup(_themed(figures.to_svg(wide, prefix=f"f{next(ids)}"))),
        Markup(_themed(figures.to_svg(narrow, prefix=f"f{next(ids)}"))) if narrow else "",
        round(wide.get_figwidth() * 96),
        round(narrow.get_figwidth() * 84) if narrow else 0,
        grid,
    )


def _themed(svg: str) -> str:
    """The SVG for inside a page: colours from the page's light or dark set, no declarations that HTML implies."""
    head, _, body = svg.partition(">")
    viewbox = head[head.index("viewBox") :].split('"')[1]
    body = body.replace('<style type="text/css">*{stroke-linejoin: round; stroke-linecap: butt}</style>', "")
    parts = body.split(' style="')
    styles = [parts[0]]
    for part in parts[1:]:
        style, quote, rest = part.partition('"')
        for color, variable in THEME.items():
            style = style.replace(color, f"var(--{variable})")
        styles.append(style + quote + rest)
    return f'<svg viewBox="{viewbox}" aria-hidden="true" focusable="false">' + ' style="'.join(styles)


def _name(text: str) -> Cell:
    return Cell(_short(text), clean(text), title=clean(text), numeric=False)


def _short(text: str, limit: int = NAME) -> str:
    return shortened([text], limit)[0]


def _number(value: float | None, decimals: int = 4) -> Cell:
    return Cell(number(value, decimals), "" if value is None or math.isnan(value) else value)


def _whole(value: int | None, *, alert: bool = False) -> Cell:
    return Cell("–" if value is None else f"{value}", "" if value is None else value, strong=alert and bool(value))
