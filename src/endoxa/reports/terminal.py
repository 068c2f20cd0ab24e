"""How an evaluation looks on a terminal, and as text for files and pipes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.sentences import within as basis
from endoxa.evaluations.settings import LABELS, VOTED
from endoxa.evaluations.standings import counts as counts_of
from endoxa.evaluations.standings import headline, order_of, title_of
from endoxa.formatting import DASH, folded, longest
from endoxa.later import pl
from endoxa.notes import BEFORE, marked
from endoxa.reports import text
from endoxa.reports.columns import LEAST, ROOM, Column, laid_out
from endoxa.reports.papers import paper_table
from endoxa.reports.sheets import Head, Sheet, escaped
from endoxa.wording.comparing import test_in_short

NAMES = {
    "system", "baseline", "group", "query", "item", "by", "measure", "other", "leader", "picture", "study", "subject",
    "category", "judge",
}  # fmt: skip
HEADINGS = {
    "opinions": "By what people said about every pair",
    "sample": "Estimated from the pairs that were drawn",
    "labels": "By where people filed the items",
    "categories": "By where people filed the items",
    "answers": "Against each subject's own order",
}

CARD = "judges.card"  # the note that says what a machine judge may be used for; it stands below the table of judges
plain = escaped  # text that Rich prints as it is
WITHIN = {"consensus": " within this consensus", "votes": " within this consensus"}


# ---- an evaluation ------------------------------------------------------------------------------------


def parts(
    evaluation: Evaluation, *, width: int, per_query: bool = False, summary: bool = True, full: bool = False
) -> Iterator[Any]:
    """What the terminal shows of an evaluation below the answer, in order: tables for Rich, and lines of text.

    `full` explains every choice and note; without it one line names them.
    """
    if per_query and evaluation.kind == "answers":
        yield frame_table(individual(evaluation), width=width)
        yield "\n[bold]Mean over subjects, with its standard deviation[/bold]"
        yield frame_table(evaluation.tables["by_query"], width=width)
        yield ""
    elif per_query and evaluation.scores is not None:
        kept = tidy(evaluation.scores.frame, *(() if evaluation.in_doubt else ("undefined",)))
        yield frame_table(kept, width=width)
        yield ""
    if summary and evaluation.kind == "bundle":
        yield from _bundled(evaluation, width)
    elif summary and evaluation.in_doubt:
        yield from _doubtful(evaluation, width)
    elif summary:
        yield summary_table(evaluation.rows, evaluation.lower, width)
        if "ranges" in evaluation.tables:
            ties = evaluation.policy.ties == "range"
            reach = " with ties at their worst and at their best" if ties else ", least and most"
            yield f"\n[bold]Mean over queries{reach}[/bold]"
            yield frame_table(evaluation.tables["ranges"], width=width)
        if "people" in evaluation.tables:
            yield "\n[bold]The list of each subject, judged by all others[/bold]"
            yield frame_table(persons(evaluation), width=width)
    if "judges" in evaluation.tables:
        yield "\n[bold]Machine judges beside people[/bold]"
        yield frame_table(machine_judges(evaluation), width=width)
        yield "\n".join(plain(str(one)) for one in evaluation.notes if one.code == CARD)
    if "calibration" in evaluation.tables:
        yield from _labelled(evaluation, width)
    elif "estimates" in evaluation.tables:
        yield from _estimates(evaluation, width)
    yield "\n" + "\n".join(map(plain, remarks(evaluation, full=full)))


def remarks(evaluation: Evaluation, *, full: bool = True) -> list[str]:
    """Further sentences, under which choices the numbers were made, and what to know before trusting them."""
    warnings = marked([one for one in evaluation.warnings if one.code not in BEFORE])
    more = list(evaluation.sentences[1:])
    if not full:
        own = [note for note in evaluation.notes if note.code == "bundle.coverage" or note.code.startswith("study.")]
        return [*marked(own), *more, choices(evaluation), *warnings]
    if evaluation.kind in {"bundle", "answers", "sample"}:
        return [*more, *marked([one for one in evaluation.notes if one.code != CARD]), *warnings]
    if not evaluation.in_doubt:
        over = f"{_over(evaluation)}, bounded by the range of the measure"
        over += f" (bootstrap-t for {', '.join(evaluation.unbounded)})" if evaluation.unbounded else ""
        return [*more, over, *evaluation.policy.lines(), *warnings]
    notes = [note for note in evaluation.notes if note.part != LABELS]
    limits = notes[-1:] if evaluation.kind in VOTED else []
    notes = notes[: len(notes) - len(limits)]
    return [*more, *marked(notes), *evaluation.policy.lines(), *warnings, *marked(limits)]


def choices(evaluation: Evaluation) -> str:
    """One line: what the numbers are over, and the choices behind them."""
    if evaluation.kind in {"bundle", "answers", "sample"}:
        return f"{evaluation.notes[-1 if evaluation.kind == 'bundle' else 0]} (-v explains)"
    notes = [note for note in evaluation.notes if note.part != LABELS]
    over = notes[0] if evaluation.in_doubt and notes else _over(evaluation)
    return f"{over}; {evaluation.policy} (-v explains)"


def _over(evaluation: Evaluation) -> str:
    queries = max((row["queries"] for row in evaluation.rows), default=0)
    if evaluation.scores is not None:
        queries = len(evaluation.scores.queries)
    return f"{queries:,} {'query' if queries == 1 else 'queries'}; {evaluation.confidence:.0%} intervals over queries"


def _bundled(evaluation: Evaluation, width: int) -> Iterator[Any]:
    several = evaluation.summary.partition_by("by", maintain_order=True)
    for place, part in enumerate(several):
        act = "" if len(several) == 1 else " (for comparison)" if place else " (the answer rests on this table)"
        yield f"{chr(10) if place else ''}[bold]{HEADINGS[part['by'][0]]}[/bold]{act}"
        yield summary_table(part.to_dicts(), width=width)


def _doubtful(evaluation: Evaluation, width: int) -> Iterator[Any]:
    first = evaluation.measures[0]
    within = (
        f" {basis(evaluation)}" if evaluation.kind == "sample" else WITHIN.get(evaluation.kind, " under this belief")
    )
    title = title_of(evaluation, first)
    yield f"[bold]{plain(title)}{within}[/bold]"
    yield frame_table(ranking(evaluation, first), width=width)
    others = evaluation.summary.filter((pl.col("measure") != first) & (pl.col("system") != (evaluation.virtual or "")))
    if others.height:
        yield f"\n[bold]Other measures{within}[/bold] (the answer rests on {plain(title)})"
        named = [row | {"measure": title_of(evaluation, row["measure"])} for row in others.to_dicts()]
        yield summary_table(named, evaluation.lower, width)
    if everything := _virtual(evaluation):
        yield plain(everything)
    if "depths" in evaluation.tables:
        what = f"The order on {plain(first)} at other vote depths"
        yield f"\n[bold]{what}[/bold] (tau to the consensus at the depth that counts)"
        yield frame_table(evaluation.tables["depths"], width=width)


def machine_judges(evaluation: Evaluation) -> pl.DataFrame:
    """The cards of the machine judges, in columns that a person reads; what is unknown of all of them is left out."""
    table = evaluation.tables["judges"]
    columns: dict[str, Any] = {"judge": table["judge"], "graded": table["graded"], "labelled": table["labelled"]}
    for name in ("sensitivity", "specificity", "kappa"):
        rows = table.select(name, f"{name}_lo", f"{name}_hi").iter_rows()
        columns[name] = [f"{_probability(value)} {interval(lo, hi)}".strip() for value, lo, hi in rows]
    for name, heading in (
        ("weight", "weight"),
        ("tau", "tau"),
        ("others", "kappa with others"),
        ("same", "same again"),
    ):
        columns[heading] = [_probability(value) for value in table[name]]
    unknown = [name for name, values in columns.items() if all(value == DASH for value in values)]
    return pl.DataFrame({name: values for name, values in columns.items() if name not in unknown})


def _virtual(evaluation: Evaluation) -> str:
    """The baseline that is no contender, on one line."""
    rows = evaluation.summary.filter(pl.col("system") == (evaluation.virtual or ""))
    values = [f"{measure} {number(value)}" for measure, value in rows.select("measure", "value").iter_rows()]
    if not values:
        return ""
    return f"Baseline {evaluation.virtual}, which returns everything in random order: {', '.join(values)}."


def ranking(evaluation: Evaluation, measure: str) -> pl.DataFrame:
    """The contenders in order: mean with interval, score without the own vote, P(best), unique share."""
    contends = pl.col("system") != (evaluation.virtual or "")
    rows = evaluation.summary.filter((pl.col("measure") == measure) & contends)
    place = {one.system: number for number, one in enumerate(order_of(evaluation, measure))}
    rows = rows.sort(pl.col("system").replace_strict(place, return_dtype=pl.Int64))
    columns: dict[str, Any] = {"system": rows["system"], "mean": rows["value"]}
    if rows["lo"].is_not_nan().any():
        columns["interval"] = _intervals(rows)
    if "consensus" in rows.columns:
        columns["consensus"] = rows["consensus"]
    if "without_own_vote" in rows.columns:
        columns["without own vote"] = rows["without_own_vote"]
    columns["P(best)"] = [_probability(value) for value in rows["p_best"]]
    if "unique" in rows.columns:
        columns["unique"] = ["–" if share is None else f"{share:.0%}" for share in rows["unique"].fill_nan(None)]
    return pl.DataFrame(columns)


def _probability(value: float | None) -> str:
    if value is None or value != value:  # noqa: PLR0124
        return "–"
    return "<.01" if 0 < value < 0.005 else f"{value:.2f}"


def _labelled(evaluation: Evaluation, width: int) -> Iterator[Any]:
    """How far the belief agrees with the labels, and what the labels say on their own."""
    figures = evaluation.tables["calibration"].row(0, named=True)
    yield "\n[bold]How far the belief agrees with the labels[/bold]"
    yield (
        f"{figures['labels']:,} labels on {figures['queries']:,} queries: Brier {figures['brier']:.4f}, "
        f"Spiegelhalter z {figures['z']:.2f}, slope {figures['slope']:.2f} "
        f"\\[{figures['slope_lo']:.2f}, {figures['slope_hi']:.2f}] (1 if calibrated)"
    )
    if "gaps" in evaluation.tables:
        yield frame_table(evaluation.tables["gaps"], width=width)
        yield (
            "gap: observed minus believed relevance of what the system returned; above 0 the belief underrates the "
            "system"
        )
    if "estimates" in evaluation.tables:
        yield from _estimates(evaluation, width)
    labelled = [note.whole for note in evaluation.notes if note.part == LABELS]
    if labelled:
        yield "\n".join(map(plain, marked(labelled)))


def _estimates(evaluation: Evaluation, width: int) -> Iterator[Any]:
    """Intervals from labels and belief together; nothing where the sample does not bound the value."""
    estimates = evaluation.tables["estimates"]

    def ends(row: dict[str, Any], over: str) -> str:
        lo, hi = row[f"lo{over}"], row[f"hi{over}"]
        if row["outside"] > 0 or lo != lo:  # noqa: PLR0124
            return "–"
        return interval(max(lo, 0.0), min(hi, float("inf") if row["measure"].startswith("DCG") else 1.0))

    intervals = [
        pl.Series(name, [ends(row, over) for row in estimates.iter_rows(named=True)], pl.String)
        for name, over in (("these queries", ""), ("queries like these", "_queries"))
    ]
    here, like = (pl.col(f"lo{over}").is_not_nan() for over in ("", "_queries"))
    bounded = pl.when((here | like) & (pl.col("outside") == 0)).then("estimate").alias("estimate")
    table = estimates.select("system", "measure", bounded, *intervals, "labels")
    act = "take sizes from these" if evaluation.kind == "sample" else "act on these"
    yield f"\n[bold]Design-based estimates[/bold] ({act}: they are valid whatever the belief)"
    yield frame_table(_best_first(table, evaluation), width=width)
    if (estimates["outside"] > 0).any():
        yield "–: the measure looks at items that could not be drawn; draw as deep: endoxa next -k"
    if estimates.select((~here & ~like).any()).item():
        yield "–: fewer than 10 of its labels were left to chance, or all are alike; they do not bound the value"
    if linearised := estimates.filter(~here & like)["measure"].unique(maintain_order=True).to_list():
        yield f"–: linearised, with an interval over queries only: {plain(', '.join(linearised))}"


# ---- a comparison -------------------------------------------------------------------------------------


def comparison_parts(evaluation: Evaluation, *, width: int, full: bool = False) -> Iterator[Any]:
    """What the terminal shows of the pairs of an evaluation below the answer: a table per measure, then the rest."""
    comparison = evaluation.comparison
    assert comparison is not None
    draws = evaluation.scores.draws if evaluation.scores is not None else None
    tables = comparison.frame.group_by("measure", maintain_order=True)
    several = comparison.frame["measure"].n_unique() > 1
    for place, ((name,), rows) in enumerate(tables):
        counts = sorted({int(count) for count in rows["queries"]})
        over = f"{counts[0]} queries" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} queries, by pair"
        doubts = draws is not None and rows["doubt"].n_unique() > 1
        doubt = "; standard deviation of the difference by doubt" if doubts else ""
        act = "; the answer rests on this measure" if several and name == headline(evaluation) else ""
        title = title_of(evaluation, str(name))
        yield f"{chr(10) if place else ''}[bold]{plain(title)}[/bold], {over}{doubt}{act}"
        yield frame_table(pairs(best_pairs_first(rows, evaluation, str(name))), width=width)
    for key, heading in (
        ("orders", "Do the measures order the systems alike?"),
        ("power", "How well do these queries separate systems?"),
    ):
        if key in evaluation.tables:
            yield f"\n[bold]{heading}[/bold]"
            yield frame_table(evaluation.tables[key], width=width)
    yield "\n" + "\n".join(map(plain, comparison_remarks(evaluation, full=full)))


def comparison_remarks(evaluation: Evaluation, *, full: bool = True) -> list[str]:
    """How the pairs were compared: in full, or the test and its correction on one line."""
    comparison = evaluation.comparison
    assert comparison is not None
    warnings = marked(evaluation.warnings)
    if not full:
        short = [test_in_short(**note.facts) for note in comparison.notes if note.code == "compared.test"]
        short += [str(note) for note in comparison.notes if note.code == "compared.correction"]
        usual = {"compared.test", "compared.interval", "compared.correction"}
        loud = [note.marked for note in comparison.notes if note.code not in usual]
        how = f"{'; '.join([*short, str(evaluation.policy)])} (-v explains)"
        return [*evaluation.sentences[1:], how, *loud, *warnings]
    draws = evaluation.scores.draws if evaluation.scores is not None else None
    lines = [*evaluation.sentences[1:], *marked((*comparison.notes, *(draws.lines if draws is not None else ())))]
    lines += evaluation.policy.lines()
    return [*lines, *warnings, *marked(evaluation.notes[-1:] if evaluation.kind == "consensus" else ())]


def best_pairs_first(rows: pl.DataFrame, evaluation: Evaluation, measure: str) -> pl.DataFrame:
    """The pairs of one measure, those of the best system first, and the better one of a pair as its `system`.

    Where a baseline was named, it stays where it is.
    """
    order = [one.system for one in order_of(evaluation, measure)]
    place = {system: number for number, system in enumerate(order)}

    def at(name: str) -> pl.Expr:
        return pl.col(name).replace_strict(place, default=len(place), return_dtype=pl.Int64)

    if evaluation.baseline is None:
        turned = at("system") > at("baseline")
        swap = {"system": "baseline", "baseline": "system"}
        flip = {"difference": "difference", "lo": "hi", "hi": "lo", "effect": "effect"}
        rows = rows.with_columns(
            *(pl.when(turned).then(pl.col(other)).otherwise(pl.col(name)).alias(name) for name, other in swap.items()),
            *(pl.when(turned).then(-pl.col(other)).otherwise(pl.col(name)).alias(name) for name, other in flip.items()),
            pl.when(turned).then(1 - pl.col("p_better") - pl.col("p_tie")).otherwise("p_better").alias("p_better"),
        )
    return rows.sort(at("system"), at("baseline"), maintain_order=True)


def pairs(rows: pl.DataFrame) -> pl.DataFrame:
    """The pairs of one measure, in the columns that fit a terminal: a test, or P(better) and each doubt's part."""
    if rows["p_better"].is_null().all():
        return rows.select(
            "system", "baseline", pl.col("difference").alias("diff"), _intervals(rows), pl.col("p_value").alias("p"),
            pl.col("p_adjusted").alias("adjusted"), pl.col("effect").round(2).cast(pl.String).alias("effect"),
        )  # fmt: skip
    whole = rows.filter(pl.col("doubt") == "all")
    doubts = [doubt for doubt in ("truth", "people", "queries") if doubt in rows["doubt"]]
    parts = [rows.filter(pl.col("doubt") == doubt)["sd"].alias(doubt) for doubt in doubts]
    return whole.select(
        "system", "baseline", pl.col("difference").alias("diff"), _intervals(whole),
        pl.col("p_better").round(2).cast(pl.String).alias("P(better)"),
    ).with_columns(parts)  # fmt: skip


def _best_first(frame: pl.DataFrame, evaluation: Evaluation) -> pl.DataFrame:
    """Rows of systems and measures: measure after measure, the best system first."""
    order = evaluation.measures
    rank = pl.col("measure").replace_strict(order, list(range(len(order))), default=len(order), return_dtype=pl.Int64)
    value = pl.col("estimate").fill_nan(None)
    sign = pl.when(pl.col("measure").is_in(evaluation.lower)).then(1).otherwise(-1)
    return frame.sort(rank, value * sign, nulls_last=True, maintain_order=True)


def _intervals(rows: pl.DataFrame) -> pl.Series:
    ends = [interval(lo, hi) for lo, hi in rows.select("lo", "hi").iter_rows()]
    return pl.Series("interval", ends, dtype=pl.String)


# ---- text for files and pipes -------------------------------------------------------------------------


def as_text(evaluation: Evaluation, style: text.Style, *, per_query: bool = False) -> str:
    """An evaluation as Markdown, LaTeX, TSV or JSON lines: the summary, or every query."""
    if style in {"latex", "markdown"} and not per_query:
        return paper_table(evaluation, style)
    return text.render(frame_of(evaluation, per_query=per_query), style)


def has_queries(evaluation: Evaluation) -> bool:
    """Whether there are values of every query."""
    return evaluation.scores is not None or evaluation.kind == "answers"


def individual(evaluation: Evaluation) -> pl.DataFrame:
    """Each subject's discrepancy from each system on each query: nothing is pooled before it is a number."""
    rows = evaluation.tables["single"].sort("query", "source", maintain_order=True)
    return rows.rename({"source": "subject", "displacement": "w"}).select(
        "query", "subject", "system", "w_A", "w_B", "w", "quality", "returned"
    )


def persons(evaluation: Evaluation) -> pl.DataFrame:
    """Each subject's own list as that of a system: order with its interval, and the other means."""
    rows = evaluation.tables["people"]
    return rows.select("system", "order", _intervals(rows), "per_item", "quality", "returned", "queries").rename(
        {"per_item": "ranks off"}
    )


def frame_of(evaluation: Evaluation, *, per_query: bool = False) -> pl.DataFrame:
    """The scores of every query; or the summary with what belongs beside it (ranges, estimates, coverage)."""
    if per_query and evaluation.kind == "answers":
        return individual(evaluation)
    if per_query and evaluation.scores is not None:
        return evaluation.scores.frame
    frame, keys = evaluation.summary, ["system", "measure"]
    if "ranges" in evaluation.tables:
        ranges = evaluation.tables["ranges"].drop("value")
        frame = frame.join(ranges, on=keys, how="left", maintain_order="left")
    if "estimates" in evaluation.tables:
        beside = evaluation.tables["estimates"].select(*keys, pl.exclude(keys).name.prefix("labels_"))
        frame = frame.join(beside, on=keys, how="left", maintain_order="left")
    if evaluation.kind == "bundle":
        coverage = evaluation.tables["coverage"].drop("effective")
        frame = frame.join(coverage, on=["system", "by"], how="left", suffix="_share", maintain_order="left")
    return frame


# ---- tables -------------------------------------------------------------------------------------------


def number(value: float | None, whole: bool = False) -> str:
    """Four decimals; a dash where there is no value."""
    if value is None or value != value:  # noqa: PLR0124
        return "–"
    return f"{value:.0f}" if whole else f"{value:.4f}"


def interval(lo: float | None, hi: float | None) -> str:
    """[lo, hi] with three decimals, or nothing."""
    if lo is None or hi is None or lo != lo:  # noqa: PLR0124
        return ""
    return f"[{lo:.3f}, {hi:.3f}]"


def summary_table(summary: Sequence[Mapping[str, Any]], lower: Sequence[str] = (), width: int = 200) -> Sheet:
    """Systems down and measures across where that fits, best first; else a row for each of their pairs."""
    measures = list(dict.fromkeys(row["measure"] for row in summary))
    whole_numbers = counts_of(summary)
    first = next((m for m in measures if m not in whole_numbers), measures[0])
    ordered = sorted((row for row in summary if row["measure"] == first), key=lambda row: _place(row, lower))
    systems = list(dict.fromkeys(row["system"] for row in (*ordered, *summary)))
    cells = {(row["system"], row["measure"]): row for row in summary}
    counts = {row["measure"] for row in summary if row["se"] is None}

    def cell(system: str, measure: str) -> tuple[str, str]:
        row = cells.get((system, measure))
        return ("–", "") if row is None else (number(row["value"], measure in counts), interval(row["lo"], row["hi"]))

    across = len(systems) > 1 and len(measures) <= 6
    heads, sides = (measures, systems) if across else (systems, measures)
    found = [[cell(side, head) if across else cell(head, side) for head in heads] for side in sides]
    wide = [max(len(f"{value} {ends}".strip()) for value, ends in column) for column in zip(*found, strict=True)]
    whole = [max(size, longest(head)) for size, head in zip(wide, heads, strict=True)]
    room = width - sum(whole) - 2 * len(whole)
    if room < min(max(map(len, sides)), ROOM) and len(heads) > 1:
        return _long(summary, lower, width)
    named = [plain(folded(head, size)) for head, size in zip(heads, whole, strict=True)]
    shown = [[f"{value} [dim]{plain(ends)}[/dim]" if ends else value for value, ends in line] for line in found]
    return Sheet(
        [Head("system" if across else "measure", no_wrap=True), *(Head(name, no_wrap=True) for name in named)],
        [[plain(folded(side, max(room, LEAST))), *line] for side, line in zip(sides, shown, strict=True)],
    )


def _place(row: Mapping[str, Any], lower: Sequence[str]) -> tuple[bool, float]:
    """Where a row stands among those of its measure: the best first, what has no value last."""
    value = row["value"]
    if value is None or math.isnan(value):
        return True, 0.0
    return False, value if row["measure"] in lower else -value


def _long(summary: Sequence[Mapping[str, Any]], lower: Sequence[str], width: int) -> Sheet:
    """One row per measure and system, the best of each measure first."""
    order = list(dict.fromkeys(row["measure"] for row in summary))
    rows = [
        [row["measure"], row["system"], row["value"], interval(row["lo"], row["hi"]), row["queries"]]
        for row in sorted(summary, key=lambda row: (order.index(row["measure"]), *_place(row, lower)))
    ]
    return _sheet(("measure", "system", "value", "interval", "queries"), rows, ("value", "queries"), width=width)


def frame_table(frame: pl.DataFrame, whole: Sequence[str] = (), width: int = 200) -> Sheet:
    """Any small frame as a table that fits the width; columns that do not fit stand below (`reports.columns`)."""
    numeric = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    return _sheet(frame.columns, frame.rows(), numeric, whole, width)


def _sheet(
    columns: Sequence[str], values: Sequence[Sequence[Any]], numeric: Sequence[str], whole: Sequence[str] = (),
    width: int = 200,
) -> Sheet:  # fmt: skip
    def cell(name: str, value: Any) -> str:
        return number(value, name in whole) if isinstance(value, float) else "" if value is None else str(value)

    made = [
        Column(name.replace("_", " "), [cell(name, row[place]) for row in values], name in numeric, name in NAMES)
        for place, name in enumerate(columns)
    ]
    return laid_out(made, width)


def tidy(frame: pl.DataFrame, *but: str) -> pl.DataFrame:
    """Without columns that are empty, and without those named."""
    kept = [name for name in frame.columns if name not in but]
    return frame.select(name for name in kept if frame[name].null_count() < max(frame.height, 1))
