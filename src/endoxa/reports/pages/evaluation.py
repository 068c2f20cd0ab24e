"""The page of an evaluation: with judgments, or where the truth is in doubt."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import polars as pl

from endoxa.errors import EndoxaError
from endoxa.evaluations import standings
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.judge_cards import SHARES
from endoxa.evaluations.sentences import advice, answer, caveats, doubt_name, within
from endoxa.formatting import DASH, clean, counted, html_of, number, probability, shortened, signed
from endoxa.measures.explain import definition_line
from endoxa.notes import marked, texts
from endoxa.reports.figures.chance_matrix import NUMBERED, better
from endoxa.reports.figures.dots import intervals
from endoxa.reports.figures.doubt_shares import shares
from endoxa.reports.figures.hills import ridges
from endoxa.reports.figures.pair_matrix import CELLS_WITH_TEXT, pair_matrix, pairs
from endoxa.reports.figures.query_bars import differences, query_differences
from endoxa.reports.figures.recall_curves import curves, curves_order, generality, generality_note
from endoxa.reports.pages import cells
from endoxa.reports.pages.cells import Cell
from endoxa.reports.pages.filed import filed
from endoxa.reports.pages.layout import Chart, Grid, Section, chart, cost_grid, render
from endoxa.reports.text import undefined_note
from endoxa.wording.evaluating import LIMITS_OF_CONSENSUS

FOLDED = 4  # measures that have figures of their own; the first is open
OF_JUDGES = {  # columns of the table of machine judges, with their heads and meaning
    "weight": ("weight", "Weight: what its grades are worth in the learned belief."),
    "tau": ("tau", "Tau: between its own order of the systems and the learned one."),
    "tau_top": ("tau, best", "Tau, best: the same among the best systems."),
    "others": ("kappa, others", "Kappa, others: agreement with the other judges together."),
    "same": ("same again", "Same again: share of the pairs it graded more than once that have one grade."),
}  # fmt: skip
ROWS = 200  # rows of a data table before the middle is left out


def page(evaluation: Evaluation) -> str:
    """The evaluation as one HTML file. Nothing is fetched when it is opened."""
    limits = LIMITS_OF_CONSENSUS if any(one.code == "consensus.limits" for one in evaluation.notes) else ""
    return render(
        title=evaluation.title,
        answer=html_of(lambda name: answer(evaluation, name=name)),
        aside=" ".join([*caveats(evaluation), *([limits] if limits else [])]),
        facts=_facts(evaluation),
        warnings=_warnings(evaluation),
        sections=_sections(evaluation),
        policies=evaluation.policy.lines(),
        notes=_notes(evaluation),
        definitions=_definitions(evaluation),
        provenance=evaluation.provenance,
        files=evaluation.files,
    )


def _sections(evaluation: Evaluation) -> Iterator[Section | None]:
    """The sections of the page in their order; None for those that there is nothing to say in."""
    if evaluation.in_doubt:
        yield _doubtful_summary(evaluation)
        if not evaluation.is_modelled and evaluation.doubts is not None:  # the model knows orders, not sizes
            charts = [_ridge(evaluation, measure) for measure in evaluation.measures[:FOLDED]]
            yield Section("ridges", "Distributions", "Where each mean may lie", charts=charts)
        yield _better(evaluation)
        yield _machine_judges(evaluation)
        yield _shares(evaluation)
        yield _depths(evaluation)
        yield filed(evaluation)
    else:
        yield Section("summary", "Summary", "Summary", (), [_summary(evaluation)], _intervals(evaluation))
    yield _curves(evaluation)
    yield _differences(evaluation)
    yield None if evaluation.in_doubt else _pairs(evaluation)
    yield _coverage(evaluation)
    if evaluation.costs is not None:
        yield Section("costs", "Costs", "What the systems cost", grids=[cost_grid(evaluation.costs)])


def _facts(evaluation: Evaluation) -> list[str]:
    scores = evaluation.scores
    queries = max(evaluation.summary["queries"].to_list(), default=0) if scores is None else len(scores.queries)
    measures = evaluation.measures if scores is None else scores.measures
    return [
        counted(len(evaluation.systems), "system", "systems"),
        counted(queries or 0, "query", "queries"),
        counted(len(measures), "measure", "measures"),
    ]


def _warnings(evaluation: Evaluation) -> list[str]:
    """Those of the evaluation, and the lines of the belief that are warnings."""
    lines = evaluation.belief.lines() if evaluation.belief is not None else []
    loud = [line for line in lines if line.kind == "warning"]
    return list(dict.fromkeys(texts([*evaluation.warnings, *loud])))


def _notes(evaluation: Evaluation) -> list[str]:
    """Notes on the evaluation and on the comparison, without those that are elsewhere on the page."""
    elsewhere = {LIMITS_OF_CONSENSUS, *marked(evaluation.belief.lines() if evaluation.belief is not None else ())}
    compared = evaluation.comparison.notes if evaluation.comparison is not None else ()
    return [note for note in dict.fromkeys(marked([*evaluation.notes, *compared])) if note not in elsewhere]


def _definitions(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Names of measures and what they mean; measures that differ only in a setting (P@5, P@10) share an entry."""
    names: dict[str, list[str]] = {}
    for name in evaluation.measures if evaluation.scores is None else evaluation.scores.measures:
        try:
            names.setdefault(definition_line(name), []).append(name)
        except EndoxaError:  # a figure of a method of its own, which its notes explain
            continue
    return [(", ".join(together), meaning) for meaning, together in names.items()]


# With judgments


def _summary(evaluation: Evaluation) -> Grid:
    summary = evaluation.summary
    measures, whole = evaluation.measures, standings.counts(summary)
    best = standings.best_values(summary, evaluation.lower)
    caption = f"Means over queries, with {100 * evaluation.confidence:g} % intervals."
    note = undefined_note(summary) or ""

    def cell(row: dict[str, Any]) -> Cell:
        strong = row["value"] is not None and round(row["value"], 4) == best.get(row["measure"])
        return cells.interval(row["value"], row["lo"], row["hi"], 0 if row["measure"] in whole else 4, strong=strong)

    if len(evaluation.systems) == 1:  # one row as wide as the measures are many reads better as a column
        rows = [
            [cells.name(row["measure"]), cell(row), cells.whole(row["queries"])]
            for row in summary.iter_rows(named=True)
        ]
        return Grid(caption, ("measure", "value", "queries"), rows, note=note)
    first = standings.headline(evaluation)
    found = {(row["system"], row["measure"]): cell(row) for row in summary.iter_rows(named=True)}
    rows = [
        [cells.name(one.system), *(found.get((one.system, measure), cells.number(None)) for measure in measures)]
        for one in standings.order_of(evaluation, first)
    ]
    heads = ["system", *(clean(measure) for measure in measures)]
    caption += " The best of each measure is bold."
    return Grid(caption, heads, rows, measures.index(first) + 1, first in evaluation.lower, note)


def _intervals(evaluation: Evaluation) -> list[Chart]:
    if len(evaluation.systems) == 1:
        return []
    summary, lower = evaluation.summary, evaluation.lower
    measures = [measure for measure in evaluation.measures if measure not in standings.counts(summary)]
    charts = []
    for measure in measures[:FOLDED]:
        ranked = standings.order_of(evaluation, measure)
        rows = [
            [
                cells.name(one.system), *(cells.number(value) for value in (one.value, one.lo, one.hi)),
                cells.whole(one.queries), cells.whole(one.undefined),
            ]
            for one in ranked
        ]  # fmt: skip
        best = ranked[0]
        heads = ("system", "mean", "low", "high", "queries", "undefined")
        charts.append(
            chart(
                partial(intervals, summary, measure, lower=measure in lower),
                heading=measure,
                label=f"Mean {measure} of {len(rows)} systems with intervals; best is {best.system} "
                f"with {number(best.value)}",
                caption="The intervals are each system’s own. Two systems with overlapping intervals can still differ "
                "significantly, because systems are compared query by query.",
                grid=Grid(f"{measure}: mean and interval", heads, rows, 1, measure in lower),
            )
        )
    return charts


def _curves(evaluation: Evaluation) -> Section | None:
    table = evaluation.tables.get("curves")
    if table is None or not table.height:
        return None
    highlight = [evaluation.baseline] if evaluation.baseline else []
    points = table["recall"].unique().sort().to_list()
    shown = points[:: max((len(points) - 1) // 10, 1)]
    values = {
        (system, recall): precision
        for system, recall, precision in table.select("system", "recall", "precision").iter_rows()
    }
    rows = [
        [cells.name(system), *(cells.number(values.get((system, recall)), 3) for recall in shown)]
        for system in curves_order(table)
    ]
    mean, _, _ = generality(table)
    line = "" if math.isnan(mean) else f" A random ranking would reach {mean:.2g} at every recall."
    drawing = chart(
        partial(curves, table, highlight=highlight),
        heading="Precision at each recall",
        label=f"Precision-recall curves of {len(rows)} systems; highest mean precision: {rows[0][0].title}.{line} "
        f"{generality_note(table) or ''}",
        caption="Interpolated precision, averaged over queries. The dashed line is what a random ranking would reach.",
        grid=Grid("Precision at recall", ("system", *(f"{recall:g}" for recall in shown)), rows),
    )
    return Section("curves", "Precision and recall", "Precision and recall", charts=[drawing])


def _differences(evaluation: Evaluation) -> Section | None:
    scores = evaluation.scores
    measure = standings.headline(evaluation)
    pair = standings.rival(evaluation, measure)
    if pair is None or scores is None or measure not in scores.measures:
        return None
    system, baseline = pair
    frame = query_differences(scores, system, baseline, measure)
    if not frame.height:
        return None
    left_out = len(scores.queries) - frame.height
    mean = float(frame["difference"].mean())  # type: ignore[arg-type]
    short = shortened([system, baseline], 40)
    note = ""
    if frame.height > ROWS:
        note = f"The {ROWS // 2} largest gains and losses of {frame.height} queries."
        frame = pl.concat([frame.head(ROWS // 2), frame.tail(ROWS // 2)])
    rows = [
        [cells.name(query), cells.number(ours), cells.number(theirs), cells.signed(gap)]
        for query, ours, theirs, gap in frame.iter_rows()
    ]
    drawing = chart(
        partial(differences, scores, system, baseline, measure),
        heading=f"{short[0]} against {short[1]}",
        label=f"Differences in {measure} per query, {system} minus {baseline}, from {rows[0][3].text} to "
        f"{rows[-1][3].text}",
        caption=f"{measure} of {short[0]} minus that of {short[1]} (mean {signed(mean)}), one bar per query."
        + (f" Expected values {within(evaluation)}." if evaluation.in_doubt else "")
        + (f" {left_out} queries where either is undefined or absent are left out." if left_out else ""),
        grid=Grid(f"{measure} per query", ("query", short[0], short[1], "difference"), rows, 3, note=note),
    )
    return Section("differences", "Query by query", f"Query by query: {short[0]} against {short[1]}", charts=[drawing])


def _pairs(evaluation: Evaluation) -> Section | None:
    comparison = evaluation.comparison
    if comparison is None:
        return None
    charts = []
    measures = [measure for measure in evaluation.measures if standings.pairs_of(comparison, measure)]
    alpha = 1 - evaluation.confidence
    many = len(evaluation.systems) > CELLS_WITH_TEXT
    for measure in measures[: 1 if many else FOLDED]:
        lower = measure in evaluation.lower
        _, columns, by_place = pair_matrix(comparison, measure, lower=lower)
        found = [by_place[place] for place in sorted(by_place)]
        apart = sum(one.differs(alpha) for one in found)
        rows = [
            [
                *map(cells.name, (one.system, one.baseline)),
                cells.signed(one.difference),
                *map(cells.number, (one.lo, one.hi)),
                Cell(probability(one.p).removeprefix("p ").removeprefix("= "), one.p, strong=one.differs(alpha)),
            ]
            for one in found
        ]
        who = f"{apart} of {len(found)} pairs can" if len(found) > 1 else f"The two {'can' if apart else 'cannot'}"
        charts.append(
            chart(
                partial(pairs, comparison, measure, alpha=alpha, lower=lower),
                heading=measure,
                label=f"Differences in {measure} between {len(found)} pairs of systems; {apart} can be told apart",
                caption=f"{who} be told apart at the {alpha:.2g} level."
                + (" Systems are numbered, best first." if len(columns) > 1 else ""),
                grid=Grid(f"{measure}: pairs", ("system", "against", "difference", "low", "high", "p"), rows),
                phone=not many,
            )
        )
    return Section("pairs", "Pairs", "Pairs of systems", charts=charts) if charts else None


def _coverage(evaluation: Evaluation) -> Section | None:
    scores = evaluation.scores
    if scores is None or evaluation.is_modelled:  # the belief mentions whatever a system returned
        return None
    rows = []
    for row in scores.coverage.iter_rows(named=True):
        items = row["items"] or 0
        rows.append(
            [
                cells.text(row["system"], virtual=row["system"] == evaluation.virtual), cells.whole(row["queries"]),
                cells.whole(row["missing"], alert=True), cells.whole(row["unknown"]), cells.whole(items),
                cells.share(items - (row["judged"] or 0), items),
                cells.share(row["tied"] or 0, items),
            ]
        )  # fmt: skip
    tied = "Tied: share of its items whose score equals another’s."
    if evaluation.in_doubt:
        caption, what = "What each system returned, and how much of it the belief mentions", "unmentioned"
        note = (
            "Missing: queries that the system has no list for. Unknown: queries it answered that the belief does not "
            f"contain. Unmentioned: share of its items that the belief says nothing about. {tied}"
        )
    else:
        caption, what = "What each system returned, and how much of it was judged", "unjudged"
        note = (
            "Missing: judged topics that the system has no list for. Unknown: topics it answered that have no "
            f"judgments. Unjudged: share of its items without a judgment. {tied}"
        )
    heads = ("system", "queries", "missing", "unknown", "items", what, "tied")
    return Section("coverage", "Coverage", "Coverage", grids=[Grid(caption, heads, rows, note=note)])


# Under doubt


def _doubtful_summary(evaluation: Evaluation) -> Section:
    """The first measure with all that is known of it, and the further measures with P(best)."""
    grids = [_first_measure(evaluation)]
    if len(evaluation.measures) > 1:
        grids.append(_further_measures(evaluation))
    belief = evaluation.belief
    lines = [clean(str(line)) for line in (belief.lines() if belief is not None else ()) if line.kind == "note"]
    return Section("doubts", "Summary", "Summary", grids=grids, small=lines)


def _first_measure(evaluation: Evaluation) -> Grid:
    """Mean, P(best), score excluding the system's own vote, share of items that no other system returned."""
    measure = evaluation.measures[0]
    rows = _rows_of(evaluation, measure)
    several = len(evaluation.systems) > 1
    without = "Without own vote: score where the system’s own votes do not count."
    doubts = " on these queries, once every pair is judged" if evaluation.is_modelled else ", with all doubts"
    within_consensus = "Consensus: expected value within the consensus of all systems."
    columns: dict[str, tuple[str, Callable[[float | None], Cell], str]] = {
        "p_best": ("P(best)", cells.chance, f"P(best): probability of being the best of all{doubts}."),
        "consensus": ("consensus", cells.number, within_consensus),
        "without_own_vote": ("without own vote", cells.number, without),
        "unique": ("unique", cells.share, "Unique: share of its votes that no other system shares."),
    }
    chosen = [name for name in columns if _known(evaluation, name) and (several or name != "p_best")]
    leader = next((row["system"] for row in rows if row["system"] != evaluation.virtual), None)
    table = [
        [
            _system(evaluation, row["system"]),
            cells.interval(row["value"], row["lo"], row["hi"], strong=several and row["system"] == leader),
            *(columns[name][1](row[name]) for name in chosen),
        ]
        for row in rows
        if row["system"] != evaluation.virtual
    ]
    title = standings.title_of(evaluation, measure)
    caption = f"{title} {within(evaluation)}: means over queries"
    if any(row["lo"] is not None and not math.isnan(row["lo"]) for row in rows):
        caption += f", with {100 * evaluation.confidence:g} % intervals"
    heads = ("system", clean(title), *(columns[name][0] for name in chosen))
    note = " ".join([*_everything(evaluation, [measure]), *(columns[name][2] for name in chosen)])
    return Grid(caption, heads, table, 1, measure in evaluation.lower, note)


def _everything(evaluation: Evaluation, measures: Sequence[str]) -> list[str]:
    """The virtual system, which is no contender, in a sentence below the table."""
    rows = evaluation.summary.filter(
        (pl.col("system") == (evaluation.virtual or "")) & pl.col("measure").is_in(list(measures))
    )
    values = [f"{clean(measure)} {number(value)}" for measure, value in rows.select("measure", "value").iter_rows()]
    if not values:
        return []
    return [f"Baseline {evaluation.virtual}, which returns everything in random order: {', '.join(values)}."]


def _further_measures(evaluation: Evaluation) -> Grid:
    """The further measures side by side, in the order of the first."""
    first, *others = evaluation.measures
    known = {(row["system"], row["measure"]): row for row in evaluation.summary.iter_rows(named=True)}
    leaders = {}
    for measure in others:
        ranked = standings.contenders(evaluation, measure)
        leaders[measure] = ranked[0].system if len(ranked) > 1 else None
    rows = []
    for system in (one.system for one in standings.contenders(evaluation, first)):
        line = [_system(evaluation, system)]
        for measure in others:
            row = known.get((system, measure), {"value": None, "lo": None, "hi": None})
            line.append(cells.interval(row["value"], row["lo"], row["hi"], strong=system == leaders[measure]))
            line.append(cells.chance(row.get("p_best")))
        rows.append(line)
    first, *titles = (clean(standings.title_of(evaluation, measure)) for measure in evaluation.measures)
    heads = ["system", *(head for title in titles for head in (title, "P(best)"))]
    caption = f"Further measures {within(evaluation)}, each with its P(best); the answer rests on {first}"
    return Grid(caption, heads, rows, note=" ".join(_everything(evaluation, others)))


def _ridge(evaluation: Evaluation, measure: str) -> Chart:
    rows = _rows_of(evaluation, measure)
    own = ["without_own_vote"] if _known(evaluation, "without_own_vote") else []
    table = [
        [
            _system(evaluation, row["system"]), *(cells.number(row[name]) for name in ("value", "lo", "hi", "se")),
            cells.chance(row.get("p_best"), 3), *(cells.number(row[name]) for name in own), cells.whole(row["queries"]),
        ]
        for row in rows
    ]  # fmt: skip
    heads = ["system", "mean", "low", "high", "deviation", "P(best)", *(["without own vote"] if own else []), "queries"]
    best = standings.contenders(evaluation, measure)[0]
    where = within(evaluation)
    return chart(
        partial(ridges, evaluation, measure),
        heading=measure,
        label=f"Distribution of the mean {measure} of {len(rows)} systems {where}; the best on average is "
        f"{best.system} with {number(best.value)}",
        caption=f"Where the mean over queries may lie {where}, with all doubts; the wider, the more doubtful. Dark: "
        f"the middle {100 * evaluation.confidence:g} %; mark: the mean. Systems whose hills overlap can still differ, "
        "because systems share possible worlds and queries.",
        grid=Grid(f"{measure} {where}: mean and interval", heads, table, 1, measure in evaluation.lower),
    )


def _better(evaluation: Evaluation) -> Section | None:
    many = len(evaluation.systems) > NUMBERED
    charts = []
    for measure in evaluation.measures[: 1 if many else FOLDED]:
        found = standings.chances(evaluation, measure)
        if all(math.isnan(one.better) for one in found):  # none compared, or nothing known about them
            continue
        places = {one.system: at for at, one in enumerate(standings.order_of(evaluation, measure))}
        found = [one if places[one.system] < places[one.against] else one.turned() for one in found]
        found.sort(key=lambda one: (places[one.system], places[one.against]))
        apart = sum(one.differs for one in found)
        rows = [
            [
                _system(evaluation, one.system), cells.name(one.against), *cells.chances(one),
                cells.signed(one.difference), cells.number(one.lo), cells.number(one.hi),
            ]
            for one in found
        ]  # fmt: skip
        heads = ("system", "against", "P(better)", "P(equal)", "P(worse)", "difference", "low", "high")
        who = "The two" if len(found) == 1 else f"{apart} of {len(found)} pairs of systems"
        can = "can" if apart or len(found) > 1 else "cannot"
        where = within(evaluation)
        reason = f"the middle {100 * evaluation.confidence:g} % of the difference "
        reason += f"{'excludes' if can == 'can' else 'includes'} 0"
        if found[0].by_chance:
            reason = f"P(better) of one of the two is {'at least' if can == 'can' else 'below'} {standings.SURE:g}"
        charts.append(
            chart(
                partial(better, evaluation, measure),
                heading=measure,
                label=f"Probability that one system is better than another on {measure} {where}, for {len(found)} "
                f"pairs; {apart} can be told apart",
                caption=f"{who} {can} be told apart: {reason}. Systems are numbered, best first.",
                grid=Grid(f"{measure} {where}: pairs", heads, rows),
                phone=not many,
            )
        )
    return Section("better", "Who is better", "Which system is better than which", charts=charts) if charts else None


def _machine_judges(evaluation: Evaluation) -> Section | None:
    """A card for every machine judge: agreement with people, weight, order, and which systems they favour."""
    table = evaluation.tables.get("judges")
    if table is None:
        return None
    shown = [name for name in (*SHARES, *OF_JUDGES) if table[name].is_not_nan().any()]
    rows = [
        [
            cells.name(row["judge"]), cells.whole(row["graded"]), cells.whole(row["labelled"]),
            *(cells.interval(row[name], row.get(f"{name}_lo"), row.get(f"{name}_hi"), 2) for name in shown),
        ]
        for row in table.iter_rows(named=True)
    ]  # fmt: skip
    heads = ("judge", "graded", "labelled", *(OF_JUDGES.get(name, (name, ""))[0] for name in shown))
    note = " ".join(OF_JUDGES[name][1] for name in shown if name in OF_JUDGES)
    if "sensitivity" in shown:
        note = f"A judge calls a pair relevant from half of its scale on. {note}"
    grids = [Grid("Machine judges beside people", heads, rows, note=note)]
    if "judge_grades" in evaluation.tables:
        grids += [_by_grade(evaluation), _favours(evaluation)]
    lines = [clean(str(one)) for one in evaluation.notes if one.code == "judges.card"]
    return Section("judges", "Machine judges", "How far to trust the machine judges", lines, grids)


def _by_grade(evaluation: Evaluation) -> Grid:
    rows = [
        [
            cells.name(row["judge"]), cells.number(row["grade"], 0), cells.whole(row["labels"]),
            cells.number(row["mean"], 2), cells.interval(row["bias"], row["bias_lo"], row["bias_hi"], 2),
        ]
        for row in evaluation.tables["judge_grades"].iter_rows(named=True)
    ]  # fmt: skip
    note = "Mean: share of its scale that the judge gave. Bias: how far that is above the share of people's scale."
    return Grid("By the grade that people gave", ("judge", "grade", "labels", "mean", "bias"), rows, note=note)


def _favours(evaluation: Evaluation) -> Grid:
    rows = [
        [cells.name(judge), _system(evaluation, system), cells.signed(favour, 1), cells.chance(q, 3)]
        for judge, system, favour, q in evaluation.tables["favours"].sort("favour", descending=True).iter_rows()
    ]
    note = (
        "Favour: how far the judge grades the items of a system above items to which people gave the same grade "
        "(Student's t). Up to q = .05 the judge is said to favour it: of such statements at most 1 in 20 is wrong."
    )
    return Grid("Which systems the judges favour", ("judge", "system", "favour", "q"), rows, 2, note=note)


def _shares(evaluation: Evaluation) -> Section | None:
    if evaluation.doubts is None:
        return None
    measure, where = evaluation.measures[0], within(evaluation)
    parts = standings.variances(evaluation)
    rows = []
    for system in (one.system for one in standings.order_of(evaluation, measure)):
        own = parts.get(system, {})
        total = sum(value for value in own.values() if not math.isnan(value))
        portions = [cells.share(own.get(doubt), total) for doubt in standings.DOUBTS]
        rows.append([_system(evaluation, system), *portions, cells.number(math.sqrt(total) if total > 0 else None)])
    lines = advice(evaluation)
    heads = ("system", *(doubt_name(evaluation, doubt) for doubt in standings.DOUBTS), "deviation")
    drawing = chart(
        partial(shares, evaluation),
        heading="Where the doubt comes from",
        label=f"Share of each doubt in the variance of the mean {measure} of {len(rows)} systems. {' '.join(lines)}",
        caption=f"Shares of the variance of the mean {measure} {where}; ±: its standard deviation.",
        grid=Grid(f"{measure} {where}: shares of the variance", heads, rows),
    )
    return Section("shares", "Doubts", "Where the doubt comes from", lines, charts=[drawing])


def _depths(evaluation: Evaluation) -> Section | None:
    table = evaluation.tables.get("depths")
    if table is None:
        return None
    rows = [
        [Cell(f"{depth}", depth), cells.number(tau, 2), cells.name(leader or DASH)]
        for depth, tau, leader in table.select("depth", "tau", "leader").sort("depth").iter_rows()
    ]
    against = "the consensus at the depth that counts" if evaluation.is_modelled else "the one shown above"
    note = f"Tau compares the ranking with {against}. 1: the same; 0: unrelated; −1: reversed."
    caption = f"Ranking on {clean(evaluation.measures[0])} {within(evaluation)}, by vote depth"
    grid = Grid(caption, ("depth", "tau", "leader"), rows, note=note, small=True)
    return Section("depths", "Vote depth", "Vote depth", grids=[grid])


def _rows_of(evaluation: Evaluation, measure: str) -> list[dict[str, Any]]:
    """The summary's rows of a measure, best first, the virtual system in its place."""
    rows = evaluation.summary.filter(pl.col("measure") == measure).iter_rows(named=True)
    found = {row["system"]: row for row in rows}
    return [found[one.system] for one in standings.order_of(evaluation, measure)]


def _known(evaluation: Evaluation, column: str) -> bool:
    """Whether the summary has the column, and a value in it."""
    summary = evaluation.summary
    return column in summary.columns and not summary[column].fill_nan(None).drop_nulls().is_empty()


def _system(evaluation: Evaluation, system: str) -> Cell:
    virtual = system == evaluation.virtual
    return cells.name(system, "returns everything" if virtual else "", virtual=virtual)
