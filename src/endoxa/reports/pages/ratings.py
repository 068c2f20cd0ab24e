"""The page of ratings: how far raters agree, and how well systems' scores follow them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import polars as pl

from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.rating_sentences import by_rating
from endoxa.evaluations.ratings import Analysis
from endoxa.evaluations.sentences import answer
from endoxa.formatting import clean, counted, html_of, number, probability, share, shortened, signed
from endoxa.notes import marked, texts
from endoxa.reports.figures import rater_plots, rating_maps
from endoxa.reports.pages import cells
from endoxa.reports.pages.cells import Cell
from endoxa.reports.pages.layout import Chart, Grid, Section, chart, render
from endoxa.studies.comparison import Comparison

CHARTS = 12  # maps that are drawn; the table has all
FLAGS = "\ntbody th small { display: block; color: var(--muted); font-size: 0.8rem; }"
MEANINGS = {
    "isotonic": "the best nondecreasing map (least squares)",
    "bayes": "nondecreasing steps, averaged over their possible positions",
    "ogive": "an S-shaped curve of cubic pieces (least squares)",
}


def page(evaluation: Evaluation) -> str:
    """The evaluation of ratings as one HTML file. Nothing is fetched when it is opened."""
    found: Analysis = evaluation.details
    return render(
        title=evaluation.title,
        answer=html_of(lambda name: answer(evaluation, name=name)),
        facts=[
            counted(found.raters, "rater", "raters"), counted(found.pairs, "rated pair", "rated pairs"),
            counted(found.queries, "query", "queries"), counted(found.answers, "answer", "answers"),
            counted(found.undecided, "undecided", "undecided"),
        ],
        warnings=texts(evaluation.warnings),
        sections=[
            _compared(found), _maps(found), _curves(found), _agreement(found), _raters(found), _scale(found),
            _selection(found), _dominance(found),
        ],
        policies=found.policies(),
        notes=marked(evaluation.notes),
        provenance=evaluation.provenance,
        files=evaluation.files,
        css=FLAGS,
    )  # fmt: skip


def _compared(found: Analysis) -> Section | None:
    one = found.comparison
    lines = by_rating(found)
    if not lines:
        return None
    grids = []
    if isinstance(one, Comparison):
        rows = [
            [cells.name(row["system"]), cells.number(row["mean"], 2), cells.whole(row["pairs"])]
            for row in one.systems.iter_rows(named=True)
        ]
        grids.append(Grid(f"Mean rating of the first {one.first} results", ("system", "mean", "rated pairs"), rows))
    return Section("compared", "Comparison", "Whose results are rated higher", lines, grids)


def _maps(found: Analysis) -> Section | None:
    first = found.first
    if first is None:
        return None
    by_method = {
        name: {row["system"]: row for row in one.frame.iter_rows(named=True)} for name, one in found.mappings.items()
    }
    order = first.frame.sort(pl.col("held_out").fill_nan(None), descending=True, nulls_last=True, maintain_order=True)
    rows = []
    for own in order.iter_rows(named=True):
        system = own["system"]
        missing = f"{own['missing']:,} missing" if own["missing"] else ""
        rows.append(
            [
                cells.name(system),
                *(_r_cell(of[system], strong=method == first.method) for method, of in by_method.items()),
                *(cells.number(own[name], 3) for name in ("in_sample", "null", "pearson")),
                cells.text(own["input"] or "–"),
                cells.whole(own["pairs"], small=missing),
            ]
        )
    heads = ["system", *(f"r, {method}" for method in by_method), "in sample", "noise", "plain r", "input", "pairs"]
    note = (
        "r: correlation of the ratings with what a map fitted on other queries predicts, ± its standard error. Compare "
        f"systems by it, under one map. In sample: the same on the pairs that the {first.method} map was fitted on, "
        "which is too high. Noise: what in sample would be for meaningless scores. Plain r: correlation with the "
        "scores themselves. Input: what maps read, the score (raw), its place in the list of the query (z) or the "
        "rank; by auto the one that predicts other queries best. Missing: rated pairs without a score of this system."
    )
    grid = Grid("Correlation of mapped scores with people’s ratings, on held-out queries", heads, rows, 1, False, note)
    drawn = [system for system in order["system"] if any(system in one.maps for one in found.mappings.values())]
    charts = [_map_chart(found, system, len(drawn)) for system in drawn[:CHARTS]]
    lines = [f"{method}: {MEANINGS[method]}." for method in found.mappings]
    if len(drawn) > CHARTS:
        lines.append(f"The best {CHARTS} of {len(drawn)} systems are drawn; the table has all.")
    return Section("maps", "Scores and ratings", "From scores to ratings", [" ".join(lines)], [grid], charts)


def _r_cell(row: Mapping[str, float], value: str = "held_out", error: str = "se", *, strong: bool = False) -> Cell:
    """A correlation and its standard error."""
    small = "" if math.isnan(row[error]) else f"± {number(row[error], 3)}"
    return cells.number(row[value], 3, small=small, strong=strong)


def _map_chart(found: Analysis, system: str, systems: int) -> Chart:
    one = next(mapping for mapping in found.mappings.values() if system in mapping.maps)
    points, read = one.points[system], one.frame.row(by_predicate=pl.col("system") == system, named=True)["input"]
    tables = {method: one.maps[system] for method, one in found.mappings.items() if system in one.maps}
    rows = []
    for method, table in tables.items():
        kept = table.gather_every(max(1, table.height // 20))
        rows += [[cells.text(method), *(cells.number(value, 4) for value in row)] for row in kept.iter_rows()]
    band = "bayes" if "bayes" in tables else next(iter(tables))
    remark = ""
    if "bayes" in tables:
        moved = found.mappings["bayes"].frame.filter(pl.col("system") == system)["moved"][0]
        remark = f" Another prior (v0 x 4, lam x 3) moves the bayes map by at most {moved:.2g}."
    kind = "credible" if band == "bayes" else "resampled" if band == "isotonic" else "jackknife"
    most = rating_maps.points_of(systems)
    part = f" (at most {most:,} of {points.height:,} are drawn)" if points.height > most else ""
    return chart(
        partial(
            rating_maps.score_map,
            points,
            tables,
            band=band,
            span=found.scale,
            threshold=found.threshold,
            share=systems,
            read=read,
        ),
        heading=system,
        label=f"Scores of {system} and the ratings that people gave, with the maps {', '.join(tables)}",
        caption=f"A point is a rated pair, moved a little so that equal ones do not hide each other{part}. Shaded: the "
        f"{found.confidence:.0%} {kind} band of the {band} map; dotted: the threshold.{remark}",
        grid=Grid(f"{system}: maps", ("map", "score", "rating", "low", "high"), rows),
    )


def _curves(found: Analysis) -> Section | None:
    estimated = found.curves
    if estimated is None:
        return None
    rows = []
    for row in estimated.points.iter_rows(named=True):
        ranges = [(row[name], row[f"{name}_lo"], row[f"{name}_hi"]) for name in ("precision", "recall", "rating")]
        figures = [cells.whole(row["cutoff"]), *(cells.interval(*ends, 3) for ends in ranges)]
        rows.append(
            [cells.name(row["system"]), *figures, cells.whole(row["sampled"]), cells.number(row["effective"], 1)]
        )
    heads = ("system", "first", "precision", "recall", "mean rating", "asked", "effective")
    drawing = chart(
        partial(rating_maps.precision_recall, estimated.points),
        heading="Precision and recall",
        label=f"Estimated precision and recall of {len(found.systems)} systems, weighted by the probabilities with "
        "which pairs were chosen",
        caption=f"Each mark is a cut-off; shaded: the {estimated.confidence:.0%} band over resampled queries, where "
        "the effective sample size is 30 or more. Hover over a mark for its numbers.",
        grid=Grid("Estimates at each cut-off", heads, rows),
    )
    line = (
        "Estimated for whole lists from the pairs that were asked, each weighted by one over the probability with "
        f"which it was chosen (Hájek). A mean rating above {found.threshold:g} is relevant."
    )
    return Section("curves", "Precision and recall", "Precision and recall", [line], charts=[drawing])


def _agreement(found: Analysis) -> Section:
    stages = [("as given", found.agreement)] + ([("calibrated", found.after)] if found.after is not None else [])
    alphas = [cells.interval(one.alpha, one.lo, one.hi, 3, strong=True) for _, one in stages]
    rows = [[cells.text(f"Krippendorff’s alpha ({found.metric})"), *alphas]]
    kappas = {"kappa": "Cohen’s kappa", "quadratic": "Cohen’s kappa, quadratic", "fleiss": "Fleiss’ kappa"}
    for figure, name in kappas.items():
        values = [getattr(one, figure) for _, one in stages]
        if not all(math.isnan(value) for value in values):
            # calibrated grades are hardly ever equal, so kappas without weights mean nothing for them
            values[1:] = [value if figure == "quadratic" else math.nan for value in values[1:]]
            rows.append([cells.text(name), *(cells.number(value, 3) for value in values)])
    for place, form in enumerate(found.agreement.icc["form"]):
        ends = [one.icc.row(place)[1:] for _, one in stages]
        if not all(math.isnan(value) for value, _, _ in ends):
            rows.append([cells.text(form), *(cells.interval(value, lo, hi, 3) for value, lo, hi in ends)])
    note = (
        f"Over {found.agreement.units:,} pairs that two or more raters graded; intervals resample pairs, with the same "
        "raters."
    )
    if found.agreement.complete > 1:
        note += (
            f" ICC over the {found.agreement.complete:,} pairs that all raters graded: (1) other raters for each pair, "
            "(2) these raters represent others, (3) these raters only; 1: of one rater, k: of their mean."
        )
    grids = [Grid("How far raters agree", ("figure", *(name for name, _ in stages)), rows, note=note)]
    if found.benefit is not None:
        stage_rows = [
            [cells.text(stage), cells.number(variance, 4), cells.number(value, 3, strong=stage == "held out")]
            for stage, variance, value in found.benefit.frame.iter_rows()
        ]
        note = (
            "Variance: between raters, mean over pairs. Trust the row “held out”, because in sample the variance falls "
            "by construction, and alpha, because it does not depend on the scale."
        )
        caption = f"The effect of calibration on {found.benefit.items:,} common pairs"
        grids.append(Grid(caption, ("stage", "variance", "alpha"), stage_rows, note=note))
    return Section("agreement", "Agreement", "How far raters agree", (), grids, _by_query(found))


def _by_query(found: Analysis) -> list[Chart]:
    """Agreement within each query, where at least two have any."""
    every = found.final.per_query
    defined = every.filter(pl.col("alpha").is_not_nan())
    if defined.height < 2:
        return []
    before = dict(found.agreement.per_query.select("query", "alpha").iter_rows())
    rows = [
        [
            cells.name(query), cells.whole(units), cells.whole(graded), cells.number(before.get(query), 3),
            cells.number(value, 3),
        ]
        for query, units, graded, value in defined.sort("alpha", descending=True).iter_rows()
    ]  # fmt: skip
    left = every.height - defined.height
    return [
        chart(
            partial(rater_plots.per_query, defined, found.final.alpha),
            heading="Query by query",
            label=f"Agreement of the raters on {defined.height} queries, from {rows[-1][-1].text} to "
            f"{rows[0][-1].text}",
            caption=f"Alpha within each query{', calibrated' if found.after else ''}; it is low where the items of a "
            "query are similar, however careful the raters are."
            + (f" {left:,} queries without two different grades are left out." if left else ""),
            grid=Grid("Agreement by query", ("query", "pairs", "ratings", "as given", "as shown"), rows, 4),
        )
    ]


def _raters(found: Analysis) -> Section:
    frame = found.per_rater.sort("answers", descending=True, maintain_order=True)
    rows = [
        [
            cells.name(row["source"], row["flags"] or ""), cells.whole(row["answers"]), cells.whole(row["undecided"]),
            cells.number(row["correlation"], 3), cells.signed(row["change"], 3), cells.whole(row["common"]),
            cells.signed(row["shift"], 2), cells.number(row["a"], 2),
        ]
        for row in frame.iter_rows(named=True)
    ]  # fmt: skip
    heads = ("rater", "answers", "undecided", "with others", "alpha without", "common", "shift", "stretch")
    note = (
        "With others: correlation with the mean of the others. Alpha without: the change of alpha if this rater is "
        "left out. Shift and stretch: what calibration adds to the mean, and multiplies differences by. A flag is a "
        "reason to talk with the rater, not to discard answers."
    )
    grid = Grid("Raters", heads, rows, 1, False, note)
    known = frame.filter(pl.col("common").fill_null(0) > 0)
    if known.height < 2:
        return Section("raters", "Raters", "The raters", below=grid)
    calibrated = "calibrated" if found.calibrated else "as calibration would change them"
    drawn = (0, 6, 7, 3, 1)  # columns of the table that the map shows
    after = [
        [cells.name(source), *(cells.number(value, 2) for value in (mean, sd, a * mean + b, a * sd))]
        for source, mean, sd, a, b in known.select("source", "mean", "sd", "a", "b").iter_rows()
    ]
    charts = [
        chart(
            partial(rater_plots.rater_map, known),
            heading="Map of the raters",
            label=f"{known.height} raters by how severe they are and how much of the scale they use",
            caption="To the right: severe raters, whose grades calibration raises. Up: raters who use little of the "
            "scale, whose differences it stretches. Larger: more answers. Dark blue: agrees with the others; orange "
            "diamond: hardly agrees, or disagrees.",
            grid=Grid("Raters on the map", [heads[at] for at in drawn], [[row[at] for at in drawn] for row in rows]),
        ),
        chart(
            partial(rater_plots.calibration, known),
            heading="Before and after calibration",
            label=f"Mean and spread of the grades of {known.height} raters on common pairs, before and after "
            "calibration",
            caption="Mean and one standard deviation of each rater’s grades on common pairs. Grey and open: as given; "
            f"blue and filled: {calibrated}.",
            grid=Grid("Raters before and after", ("rater", "mean", "sd", "mean after", "sd after"), after),
        ),
    ]
    return Section("raters", "Raters", "The raters", charts=charts, below=grid)


def _scale(found: Analysis) -> Section | None:
    one = found.uniformity
    if one is None or len(one.shares) < 2:
        return None
    rows = [[cells.text(name), cells.share(value)] for name, value in zip(found.classes, one.shares, strict=True)]
    drawing = chart(
        partial(rater_plots.uniformity, found.classes, one.shares),
        heading="Use of the scale",
        label=f"Shares of {len(rows)} grades among the answers",
        caption=f"Share of each grade among the answers; dashed: even use. The deviation is {number(one.dev, 3)}, "
        f"{share(one.normalised, 1)} of the greatest possible; {share(one.total_variation, 1)} of the answers would "
        "have to change for the grades to be even.",
        grid=Grid("Use of the scale", ("grade", "share"), rows),
    )
    return Section("scale", "Scale", "How evenly the scale is used", charts=[drawing])


def _selection(found: Analysis) -> Section | None:
    chosen = found.selection
    if chosen is None:
        return None
    rows = [
        [cells.name(system), cells.name(by), cells.number(r, 3), cells.whole(pairs)]
        for system, by, r, pairs in chosen.frame.iter_rows()
    ]
    one = chosen.advantage
    line = (
        "The self-advantage cannot be computed: a cell of the table is empty."
        if math.isnan(one.gamma)
        else f"On pairs that it chose itself a system’s correlation differs by {signed(one.gamma, 3)} "
        f"({found.confidence:.0%} interval {signed(chosen.lo, 3)} to {signed(chosen.hi, 3)}; "
        f"{probability(one.p_value)}, which with {chosen.frame['system'].n_unique()} systems cannot fall below "
        f"{one.smallest:.3g}). This is an indication, not a test: the scores of a system vary more over pairs that it "
        "drew by rank, and that alone raises the correlation."
    )
    drawing = chart(
        partial(rating_maps.selection, chosen.frame),
        heading="Who chose the pairs",
        label="Correlation of every system on the pairs that each system chose",
        caption="Row: system; column: who chose the pairs. Framed: its own pairs. Darker: higher.",
        grid=Grid("Correlation by who chose the pairs", ("system", "chosen by", "r", "pairs"), rows),
    )
    heading = "Does a system do better on the pairs it chose?"
    return Section("selection", "Choice of pairs", heading, [line], charts=[drawing])


def _dominance(found: Analysis) -> Section | None:
    one = found.dominance
    if one is None:
        return None
    rows = [
        [
            cells.name(row["system"]),
            *(_r_cell(row, f"r_{who}", f"se_{who}") for who in ("master", "others", "all")),
            cells.interval(row["difference"], row["lo"], row["hi"], 3),
            cells.text(row["verdict"]),
        ]
        for row in one.frame.iter_rows(named=True)
    ]
    name = clean(one.master)
    heads = ("system", f"with {shortened([name], 18)[0]}", "with others", "with all", "difference", "in words")
    note = (
        f"Plain correlation of scores with ratings, ± standard error over queries. Equal means within {one.margin:g} "
        "by two one-sided tests: a difference that is not significant is no proof of equality."
    )
    line = f"{name} gave the most ratings: {one.share:.0%} of all."
    if one.share < 0.5 and one.share < 1.5 / max(found.raters, 1):
        line += " That is about an even share."
    grid = Grid(f"{name} against the others", heads, rows, note=note)
    return Section("dominance", "Dominant rater", "Do the results depend on one rater?", [line], [grid])
