"""What people's ratings say, on one page with pictures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import polars as pl

from endoxa.reports import rating_figures as figures
from endoxa.reports.html import Chart, _chart, _escaped, _name, _number, _whole
from endoxa.reports.labels import clean, number, probability, share, shortened, signed
from endoxa.reports.rating_findings import Analysis, verdict
from endoxa.reports.sections import Section, render, text_cell
from endoxa.reports.tables import Cell, Grid

if TYPE_CHECKING:
    from endoxa.reports import Source

CHARTS = 12  # maps that are drawn; the table holds all
FLAGS = "\ntbody th small { display: block; color: var(--muted); font-size: 0.8rem; }"
MEANINGS = {
    "isotonic": "the best nondecreasing map (least squares)",
    "bayes": "nondecreasing steps, averaged over where they may lie",
    "ogive": "an S of cubic pieces (least squares)",
}


def page(
    found: Analysis,
    *,
    title: str = "",
    provenance: Mapping[str, str] | None = None,
    files: Sequence[Source] = (),
) -> str:
    """The analysis as one HTML file in the look of the report. Nothing is fetched when it is opened."""
    ids = count(1)
    return render(
        title=clean(title) or _title(found),
        verdict=re.sub(r" ([=±]) (?=\d|−)", "\u00a0\\1\u00a0", verdict(found, name=_escaped)),
        facts=_facts(found),
        warnings=found.warnings,
        sections=[section for section in _sections(found, ids) if section is not None],
        policies=found.policies(),
        notes=found.remarks(),
        provenance=provenance or {},
        files=files,
        css=FLAGS,
    )


def _title(found: Analysis) -> str:
    raters = "1 rater" if found.raters == 1 else f"{found.raters:,} raters"
    if not found.systems:
        return f"Ratings of {raters}"
    systems = "1 system" if len(found.systems) == 1 else f"{len(found.systems)} systems"
    return f"{systems} against {raters}"


def _facts(found: Analysis) -> list[str]:
    def counted(value: int, one: str, many: str) -> str:
        return f"{value:,} {one if value == 1 else many}".replace(",", "\u202f")

    return [
        counted(found.raters, "rater", "raters"),
        counted(found.pairs, "rated pair", "rated pairs"),
        counted(found.queries, "query", "queries"),
        counted(found.answers, "answer", "answers"),
        f"{found.undecided:,} undecided".replace(",", "\u202f"),
    ]


def _sections(found: Analysis, ids: count[int]) -> Iterator[Section | None]:
    yield _maps(found, ids)
    yield _curve_section(found, ids)
    yield _agreement(found, ids)
    yield _raters(found, ids)
    yield _uniform(found, ids)
    yield _selected(found, ids)
    yield _dominant(found)


def _ranged(value: float, lo: float, hi: float, decimals: int = 3, *, strong: bool = False) -> Cell:
    interval = "" if math.isnan(lo) else f"[{number(lo, decimals)}, {number(hi, decimals)}]"
    sort = "" if math.isnan(value) else value
    return Cell(number(value, decimals), sort, small=interval, strong=strong)


def _erring(value: float, se: float, *, strong: bool = False) -> Cell:
    return replace(_number(value, 3), small="" if math.isnan(se) else f"± {number(se, 3)}", strong=strong)


def _change(value: float | None, decimals: int) -> Cell:
    return Cell(signed(value, decimals), "" if value is None or math.isnan(value) else value)


def _maps(found: Analysis, ids: count[int]) -> Section | None:
    made = found.first
    if made is None or found.points is None:
        return None
    by_method = {
        name: {row["system"]: row for row in one.frame.iter_rows(named=True)} for name, one in found.mappings.items()
    }
    order = sorted(made.frame["system"].to_list(), key=lambda system: _last(by_method[made.method][system]["held_out"]))
    rows = []
    for system in order:
        own = by_method[made.method][system]
        figures_ = [
            _erring(of[system]["held_out"], of[system]["se"], strong=method == made.method)
            for method, of in by_method.items()
        ]
        others = [_number(own[name], 3) for name in ("in_sample", "null", "pearson")]
        lost = f"{own['missing']:,} missing" if own["missing"] else ""
        rows.append([_name(system), *figures_, *others, replace(_whole(own["pairs"]), small=lost)])
    heads = ["system", *(f"r, {method}" for method in by_method), "in sample", "noise", "plain r", "pairs"]
    note = (
        "r: correlation of ratings with what a map made on other queries predicts, ± its standard error: the figure to "
        f"compare systems by, under one map. In sample: the same on the pairs the {made.method} map was made on, which "
        "flatters; noise: what in sample would show if scores meant nothing. Plain r: scores as they are. Missing: "
        "rated pairs that the system gave no score."
    )
    grid = Grid("Correlation of mapped scores with people’s ratings, on queries not seen", heads, rows, 1, False, note)
    drawn = [system for system in order if any(system in one.maps for one in found.mappings.values())]
    charts = [_map_chart(found, found.points, system, ids, len(drawn)) for system in drawn[:CHARTS]]
    lines = [f"{method}: {MEANINGS[method]}." for method in found.mappings]
    if len(drawn) > CHARTS:
        lines.append(f"The best {CHARTS} of {len(drawn)} systems are drawn; the table holds all.")
    return Section("maps", "Scores and ratings", "From scores to ratings", [" ".join(lines)], [grid], charts)


def _last(value: float) -> float:
    return math.inf if math.isnan(value) else -value


def _map_chart(found: Analysis, every: pl.DataFrame, system: str, ids: count[int], systems: int) -> Chart:
    points = every.filter(pl.col("system") == system)
    tables = {method: made.maps[system] for method, made in found.mappings.items() if system in made.maps}
    rows = []
    for method, table in tables.items():
        kept = table.gather_every(max(1, table.height // 20))
        rows += [[text_cell(method), *(_number(value, 4) for value in row)] for row in kept.iter_rows()]
    band = "bayes" if "bayes" in tables else next(iter(tables))
    remarks = [
        note.removeprefix(f"{system}: ")
        for made in found.mappings.values()
        for note in made.notes
        if note.startswith(f"{system}: ") and "settled" in note
    ]
    if "bayes" in tables:
        moved = found.mappings["bayes"].frame.filter(pl.col("system") == system)["moved"][0]
        remarks.insert(0, f"another prior (v0 x 4, lam x 3) moves the bayes map by at most {moved:.2g}")
    kind = "credible" if band == "bayes" else "resampled" if band == "isotonic" else "jackknife"
    most = figures.points_of(systems)
    some = f" (of {points.height:,}, at most {most:,} are drawn)" if points.height > most else ""
    said = "".join(f" {note[:1].upper()}{note[1:]}." for note in remarks)
    return _chart(
        lambda width: figures.score_map(
            points, tables, width=width, band=band, span=found.scale, threshold=found.threshold, share=systems
        ),
        ids,
        heading=system,
        label=f"Scores of {system} and the ratings that people gave, with the maps {', '.join(tables)}",
        caption=f"A point is a rated pair, moved a little so that equals show{some}. Shaded: the "
        f"{found.confidence:.0%} {kind} band of the {band} map; dotted: the threshold.{said}",
        grid=Grid(f"{system}: maps", ("map", "score", "rating", "low", "high"), rows),
    )


def _curve_section(found: Analysis, ids: count[int]) -> Section | None:
    made = found.curves
    if made is None:
        return None
    rows = [
        [
            _name(row["system"]),
            _whole(row["cutoff"]),
            *(_ranged(row[name], row[f"{name}_lo"], row[f"{name}_hi"]) for name in ("precision", "recall", "rating")),
            _whole(row["sampled"]),
            _number(row["effective"], 1),
        ]
        for row in made.points.iter_rows(named=True)
    ]
    heads = ("system", "first", "precision", "recall", "mean rating", "asked", "effective")
    chart = _chart(
        lambda width: figures.precision_recall(made.points, width=width),
        ids,
        heading="Precision and recall",
        label=f"Estimated precision and recall of {len(found.systems)} systems, weighted by the chances with which "
        f"pairs "
        "were chosen",
        caption=f"Each mark is a cut-off; shaded: {made.confidence:.0%} of resampled queries. No band where the "
        f"effective "
        "sample size is below 30. Hover over a mark for its numbers.",
        grid=Grid("Estimates at each cut-off", heads, rows),
    )
    lines = [
        "Estimated for whole lists from the pairs that were asked, each weighted by one over the chance with which it "
        f"was chosen (Hájek). Relevant is a mean rating above {found.threshold:g}."
    ]
    return Section("curves", "Precision and recall", "Precision and recall", lines, (), [chart])


def _agreement(found: Analysis, ids: count[int]) -> Section:
    stages = [("as given", found.agreement)] + ([("calibrated", found.after)] if found.after is not None else [])
    rows = [
        [
            text_cell(f"Krippendorff’s alpha ({found.level})"),
            *(_ranged(one.alpha, one.lo, one.hi, strong=True) for _, one in stages),
        ]
    ]
    for name, figure in (
        ("Cohen’s kappa", "kappa"),
        ("Cohen’s kappa, quadratic", "quadratic"),
        ("Fleiss’ kappa", "fleiss"),
    ):
        if not all(math.isnan(getattr(one, figure)) for _, one in stages):
            values = [getattr(one, figure) for _, one in stages]
            # calibrated grades are hardly ever equal, so kappas without weights say nothing of them
            values[1:] = [value if figure == "quadratic" else math.nan for value in values[1:]]
            rows.append([text_cell(name), *(_number(value, 3) for value in values)])
    for place, form in enumerate(found.agreement.icc["form"]):
        ends = [one.icc.row(place)[1:] for _, one in stages]
        if not all(math.isnan(value) for value, _, _ in ends):
            rows.append([text_cell(form), *(_ranged(*end) for end in ends)])
    note = (
        f"Over {found.agreement.units:,} pairs that two raters or more graded; intervals resample pairs, with the same "
        "raters."
    )
    if found.agreement.complete > 1:
        note += (
            f" ICC over the {found.agreement.complete:,} pairs that all graded: (1) other raters for each pair, (2) "
            "these stand for others, (3) these only; 1 of one rater, k of their mean."
        )
    grids = [Grid("How far raters agree", ("figure", *(name for name, _ in stages)), rows, note=note)]
    if found.benefit is not None:
        cells = [
            [
                text_cell(stage),
                _number(variance, 4),
                Cell(number(value, 3), "" if math.isnan(value) else value, strong=stage == "held out"),
            ]
            for stage, variance, value in found.benefit.frame.iter_rows()
        ]
        told = (
            "Variance: between raters, mean over pairs. Believe the row held out: in sample it falls by construction; "
            "and alpha, which is free of scale."
        )
        grids.append(
            Grid(
                f"What calibration does, on {found.benefit.items:,} common pairs",
                ("stage", "variance", "alpha"),
                cells,
                note=told,
            )
        )
    charts = []
    held = found.held.per_query
    defined = held.filter(pl.col("alpha").is_not_nan())
    if defined.height > 1:
        before = dict(found.agreement.per_query.select("query", "alpha").iter_rows())
        cells = [
            [_name(query), _whole(units), _whole(graded), _number(before.get(query), 3), _number(value, 3)]
            for query, units, graded, value in defined.sort("alpha", descending=True).iter_rows()
        ]
        left = held.height - defined.height
        charts.append(
            _chart(
                lambda width: figures.per_query(defined, found.held.alpha, width=width),
                ids,
                heading="Query by query",
                label=f"Agreement of the raters on {defined.height} queries, from {cells[-1][-1].text} to "
                f"{cells[0][-1].text}",
                caption=f"Alpha within each query{', calibrated' if found.after else ''}; it is low where the items "
                f"of a "
                "query are alike, however careful the raters."
                + (f" {left:,} queries without two grades that differ are left out." if left else ""),
                grid=Grid("Agreement by query", ("query", "pairs", "ratings", "as given", "as shown"), cells, 4),
            )
        )  # fmt: skip
    return Section("agreement", "Agreement", "How far raters agree", (), grids, charts)


def _raters(found: Analysis, ids: count[int]) -> Section | None:
    frame = found.per_rater.sort("answers", descending=True, maintain_order=True)
    rows = [
        [
            replace(_name(row["source"]), small=row["flags"] or ""),
            _whole(row["answers"]),
            _whole(row["undecided"]),
            _number(row["correlation"], 3),
            _change(row["change"], 3),
            _whole(row["common"]),
            _change(row["shift"], 2),
            _number(row["a"], 2),
        ]
        for row in frame.iter_rows(named=True)
    ]
    heads = ("rater", "answers", "undecided", "with others", "alpha without", "common", "shift", "stretch")
    note = (
        "With others: correlation with the mean of the others. Alpha without: what alpha gains if this rater is left "
        "out. Shift and stretch: what calibration adds to the mean and multiplies differences by. Flags are for a talk "
        "with the rater, not for throwing answers away."
    )
    grid = Grid("Raters", heads, rows, 1, False, note)
    charts = []
    known = frame.filter(pl.col("common").fill_null(0) > 0)
    if known.height > 1:
        cells = [[row[0], row[6], row[7], row[3], row[1]] for row in rows]
        charts.append(
            _chart(
                lambda width: figures.rater_map(known, width=width),
                ids,
                heading="Map of the raters",
                label=f"{known.height} raters by how severe they are and how much of the scale they use",
                caption="To the right: severe raters, whose grades calibration raises. Up: raters who use little of "
                "the "
                "scale, whose differences it stretches. Larger: more answers. Dark blue: goes with the others; "
                "orange diamond: hardly, or against them.",
                grid=Grid("Raters on the map", ("rater", "shift", "stretch", "with others", "answers"), cells),
            )
        )
        after = [
            [_name(s), _number(m, 2), _number(sd, 2), _number(a * m + b, 2), _number(a * sd, 2)]
            for s, m, sd, a, b in known.select("source", "mean", "sd", "a", "b").iter_rows()
        ]
        charts.append(
            _chart(
                lambda width: figures.calibration(known, width=width),
                ids,
                heading="Before and after calibration",
                label=f"Mean and spread of the grades of {known.height} raters on common pairs, before and after "
                f"calibration",
                caption="Mean and one standard deviation of each rater’s grades on common pairs: grey and open as "
                "given, "
                + ("blue and filled "
                "calibrated." if found.calibrated else "blue and filled as calibration would make them."),
                grid=Grid("Raters before and after", ("rater", "mean", "sd", "mean after", "sd after"), after),
            )
        )  # fmt: skip
    return Section("raters", "Raters", "The raters", (), (), charts, grid)


def _uniform(found: Analysis, ids: count[int]) -> Section | None:
    one = found.uniformity
    if one is None or len(one.shares) < 2:
        return None
    rows = [
        [text_cell(name), Cell(share(value, 1), value)] for name, value in zip(found.classes, one.shares, strict=True)
    ]
    chart = _chart(
        lambda width: figures.uniformity(found.classes, one.shares, width=width),
        ids,
        heading="Use of the scale",
        label=f"Shares of {len(rows)} grades among the answers",
        caption=f"Share of each grade among the answers; dashed: even. Deviation {number(one.dev, 3)}, "
        f"{share(one.normalised, 1)} of the greatest possible; {share(one.total_variation, 1)} of the answers would "
        f"have "
        "to be others for the grades to be even.",
        grid=Grid("Use of the scale", ("grade", "share"), rows),
    )
    return Section("scale", "Scale", "How evenly the scale is used", (), (), [chart])


def _selected(found: Analysis, ids: count[int]) -> Section | None:
    made = found.selection
    if made is None:
        return None
    rows = [[_name(system), _name(by), _number(r, 3), _whole(pairs)] for system, by, r, pairs in made.frame.iter_rows()]
    one = made.advantage
    line = (
        "No self-advantage can be worked out: a cell of the table is empty."
        if math.isnan(one.gamma)
        else f"On pairs that it chose itself a system’s correlation differs by {signed(one.gamma, 3)} "
        f"({made.confidence:.0%} interval {signed(made.lo, 3)} to {signed(made.hi, 3)}; {probability(one.p_value)}, which "
        f"with "
        f"{len(set(made.frame['system']))} systems cannot fall below {one.smallest:.3g}). A figure to look at, not a "
        "test: pairs that a system drew by rank spread its own scores more, which by itself makes it rise."
    )
    chart = _chart(
        lambda width: figures.selection(made.frame, width=width),
        ids,
        heading="Who chose the pairs",
        label="Correlation of every system on the pairs that each system chose",
        caption="Row: system; column: who chose the pairs. Framed: its own. The darker the higher.",
        grid=Grid("Correlation by who chose the pairs", ("system", "chosen by", "r", "pairs"), rows),
    )
    return Section(
        "selection", "Choice of pairs", "Does a system do better on the pairs it chose?", [line], (), [chart]
    )


def _dominant(found: Analysis) -> Section | None:
    made = found.dominance
    if made is None:
        return None
    rows = [
        [
            _name(row["system"]),
            *(_erring(row[f"r_{who}"], row[f"se_{who}"]) for who in ("master", "others", "all")),
            _ranged(row["difference"], row["lo"], row["hi"]),
            text_cell(row["verdict"]),
        ]
        for row in made.frame.iter_rows(named=True)
    ]
    name = clean(made.master)
    heads = ("system", f"with {shortened([name], 18)[0]}", "with others", "with all", "difference", "in words")
    note = (
        f"Plain correlation of scores with ratings, ± standard error over queries. Equal means within {made.margin:g} "
        "by two one-sided tests: that two figures do not differ is no proof that they are equal."
    )
    line = f"Nobody gave more ratings than {name}: {made.share:.0%} of all."
    if made.share < 0.5 and made.share < 1.5 / max(found.raters, 1):
        line += " That is about an even share."
    grid = Grid(f"{name} against the others", heads, rows, note=note)
    return Section("dominance", "Dominant rater", "Does it hang on one rater?", [line], [grid])
