"""One page that tells all: self-contained, opens offline, prints, reads on a phone and to a screen reader."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import polars as pl

from endoxa.reports import figures
from endoxa.reports.findings import best_values, headline, pairs_of, ranking, rival, undecided, verdict
from endoxa.reports.labels import clean, counts, number, probability, share, shortened, signed, size
from endoxa.reports.text import undefined_note

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
class Cell:
    """One cell: what stands there, what it is sorted by, a second line in small letters."""

    text: str
    sort: float | str = ""
    small: str = ""
    title: str = ""
    strong: bool = False
    numeric: bool = True


@dataclass(frozen=True)
class Grid:
    """A table: its caption, the heads, rows of cells of which the first names the row."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    sorted_by: int | None = None
    ascending: bool = False
    note: str = ""


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


def page(report: Report) -> str:
    """The report as one HTML file. Nothing is fetched when it is opened; it says so itself (its CSP)."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    environment = Environment(
        loader=PackageLoader("endoxa.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = _asset(environment, "report.js")
    measure = headline(report)
    ids = count(1)
    sentence = verdict(report, name=lambda text: f"<b>{escape(_short(text, 80))}</b>")
    sentence = re.sub(
        r"(?<=\d) %|(?<=p) (?=[=<] )|(?<=[=<]) (?=\d)", lambda gap: gap[0].replace(" ", "\u00a0"), sentence
    )
    html = environment.get_template("report.html.j2").render(
        title=clean(report.title),
        verdict=Markup(sentence),
        aside=_aside(report, measure),
        facts=_facts(report),
        warnings=[clean(text) for text in report.warnings],
        summary=_summary(report),
        intervals=_interval_charts(report, ids),
        curves=_curve_chart(report, ids),
        differences=_difference_chart(report, measure, ids),
        pairs=_pair_charts(report, ids),
        coverage=_coverage(report),
        policies=[line.partition(": ")[::2] for line in report.scores.policy.lines()],
        notes=list(dict.fromkeys([*report.notes, *(report.comparison.notes if report.comparison else ())])),
        definitions=_definitions(report),
        provenance=report.provenance,
        files=_files(report),
        css=Markup(_asset(environment, "report.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return html.strip() + "\n"


def _asset(environment: Any, name: str) -> str:
    source, _, _ = environment.loader.get_source(environment, name)
    return str(source).strip()


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


def _difference_chart(report: Report, measure: str, ids: count[int]) -> Chart | None:
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


def _coverage(report: Report) -> Grid:
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
    return Grid("What each system returned, and how much of it was judged", heads, rows, note=note)


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
