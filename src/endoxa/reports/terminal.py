"""How an evaluation looks on a terminal, and as text for files and pipes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.settings import VOTED
from endoxa.later import pl
from endoxa.reports import text
from endoxa.reports.sheets import Head, Sheet, escaped

NAMES = {"system", "baseline", "group", "query", "item", "by", "measure", "other"}  # columns that may be long
HEADINGS = {
    "opinions": "By what people said about every pair",
    "sample": "Estimated from the pairs that were drawn",
    "labels": "By where people filed the items",
    "categories": "By where people filed the items",
    "answers": "Against each subject's own order",
}

WITHIN = {"consensus": " within this consensus", "votes": " within this consensus", "sample": " by what labels teach"}


# ---- an evaluation ------------------------------------------------------------------------------------


def parts(evaluation: Evaluation, *, width: int, per_query: bool = False, summary: bool = True) -> Iterator[Any]:
    """What the terminal shows of an evaluation, in order: tables for Rich, and lines of text."""
    if per_query and evaluation.scores is not None:
        yield frame_table(tidy(evaluation.scores.frame, *(() if evaluation.in_doubt else ("undefined",))))
        yield ""
    if evaluation.kind in {"sample", "consensus"} and summary:
        told = evaluation.sentences if evaluation.kind == "sample" else evaluation.sentences[:1]
        yield "\n".join(map(plain, told)) + "\n"
    if evaluation.kind == "bundle":
        yield from _bundled(evaluation, width)
    elif summary and evaluation.in_doubt:
        yield from _doubtful(evaluation, width)
    elif summary:
        yield summary_table(evaluation.rows, evaluation.lower, width)
        if "ranges" in evaluation.tables:
            ties = evaluation.policy.ties == "range"
            reach = " with ties at their worst and at their best" if ties else ", least and most"
            yield f"\n[bold]Mean over queries{reach}[/bold]"
            yield frame_table(evaluation.tables["ranges"])
    if evaluation.kind != "bundle":
        yield "\n" + "\n".join(map(plain, remarks(evaluation)))
    if "calibration" in evaluation.tables:
        yield from _labelled(evaluation)
    elif "estimates" in evaluation.tables:
        yield from _estimates(evaluation.tables["estimates"])


def remarks(evaluation: Evaluation) -> list[str]:
    """Under which choices the numbers were made, and what to know before trusting them."""
    warnings = [f"! {line}" for line in evaluation.warnings]
    if evaluation.kind in {"bundle", "answers", "sample"}:
        return [*evaluation.notes, *warnings]
    if not evaluation.in_doubt:
        assert evaluation.scores is not None
        queries = f"{len(evaluation.scores.queries):,} queries"
        over = f"{queries}; intervals: {evaluation.confidence:.0%} over queries, bounded by the range of the measure"
        over += f" (bootstrap-t for {', '.join(evaluation.unbounded)})" if evaluation.unbounded else ""
        return [over, *evaluation.policy.lines(), *warnings]
    notes = [note for note in evaluation.notes if not note.startswith("labels: ")]
    limits = notes[-1:] if evaluation.kind in VOTED else []
    return [*notes[: len(notes) - len(limits)], *evaluation.policy.lines(), *warnings, *limits]


def _bundled(evaluation: Evaluation, width: int) -> Iterator[Any]:
    sentences = evaluation.tables["coverage"].height
    yield "\n".join(map(plain, evaluation.notes[:sentences]))
    for part in evaluation.summary.partition_by("by", maintain_order=True):
        yield f"\n[bold]{HEADINGS[part['by'][0]]}[/bold]"
        yield summary_table(part.to_dicts(), width=width)
    yield "\n" + "\n".join(map(plain, remarks(evaluation)[sentences:]))


def _doubtful(evaluation: Evaluation, width: int) -> Iterator[Any]:
    first = evaluation.measures[0]
    within = WITHIN.get(evaluation.kind, " under this belief")
    yield f"[bold]{plain(first)}{within}[/bold]"
    yield frame_table(ranking(evaluation, first))
    others = evaluation.summary.filter(pl.col("measure") != first)
    if others.height:
        yield f"\n[bold]Other measures{within}[/bold]"
        yield summary_table(others.to_dicts(), evaluation.lower, width)
    if "depths" in evaluation.tables:
        yield f"\n[bold]The order on {plain(first)} at other vote depths[/bold] (tau to the order above)"
        yield frame_table(evaluation.tables["depths"])


def ranking(evaluation: Evaluation, measure: str) -> pl.DataFrame:
    """The systems in order: mean with interval, score without the own vote, P(best), unique share."""
    rows = evaluation.summary.filter(pl.col("measure") == measure)
    rows = rows.sort("value", descending=measure not in evaluation.lower, nulls_last=True)
    columns: dict[str, Any] = {"system": rows["system"], "mean": rows["value"], "interval": _intervals(rows)}
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


def _labelled(evaluation: Evaluation) -> Iterator[Any]:
    """How far the belief agrees with the labels, and what the labels say on their own."""
    figures = evaluation.tables["calibration"].row(0, named=True)
    yield "\n[bold]How far the belief agrees with the labels[/bold]"
    yield (
        f"{figures['labels']:,} labels on {figures['queries']:,} queries: Brier {figures['brier']:.4f}, "
        f"Spiegelhalter z {figures['z']:.2f}, slope {figures['slope']:.2f} "
        f"\\[{figures['slope_lo']:.2f}, {figures['slope_hi']:.2f}] (1 if calibrated)"
    )
    if "gaps" in evaluation.tables:
        yield frame_table(evaluation.tables["gaps"])
        yield (
            "gap: observed minus believed relevance of what the system returned; above 0 the belief underrates the "
            "system"
        )
    if "estimates" in evaluation.tables:
        yield from _estimates(evaluation.tables["estimates"])
    labelled = [note for note in evaluation.notes if note.startswith("labels: ")]
    if labelled:
        yield "\n".join(plain(note.removeprefix("labels: ")) for note in labelled)


def _estimates(estimates: pl.DataFrame) -> Iterator[Any]:
    """Intervals from labels and belief together; nothing where the sample does not bound the value."""

    def ends(row: dict[str, Any], over: str) -> str:
        lo, hi = row[f"lo{over}"], row[f"hi{over}"]
        if row["outside"] > 0 or lo != lo:  # noqa: PLR0124
            return "–"
        return interval(max(lo, 0.0), min(hi, float("inf") if row["measure"].startswith("DCG") else 1.0))

    intervals = [
        pl.Series(name, [ends(row, over) for row in estimates.iter_rows(named=True)], pl.String)
        for name, over in (("these queries", ""), ("queries like these", "_queries"))
    ]
    bounded = pl.when(pl.col("lo").is_not_nan() & (pl.col("outside") == 0)).then("estimate").alias("estimate")
    table = estimates.select("system", "measure", bounded, *intervals, "labels")
    yield "\n[bold]Design-based estimates[/bold] (valid whatever the belief)"
    yield frame_table(table)
    if (estimates["outside"] > 0).any():
        yield "–: the measure looks at items that could not be drawn; draw as deep: endoxa next -k"
    if estimates["lo"].is_nan().any():
        yield "–: fewer than 10 of its labels were left to chance, or all are alike; they do not bound the value"


# ---- a comparison -------------------------------------------------------------------------------------


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


def _intervals(rows: pl.DataFrame) -> pl.Series:
    ends = [interval(lo, hi) for lo, hi in rows.select("lo", "hi").iter_rows()]
    return pl.Series("interval", ends, dtype=pl.String)


# ---- text for files and pipes -------------------------------------------------------------------------


def as_text(evaluation: Evaluation, style: text.Style, *, per_query: bool = False) -> str:
    """An evaluation as Markdown, LaTeX, TSV or JSON lines: the summary, or every query."""
    if style in {"latex", "markdown"} and not per_query:
        tables = (
            evaluation.summary.partition_by("by", maintain_order=True)
            if evaluation.kind == "bundle"
            else [_contenders(evaluation)]
        )
        return "\n".join(text.summary_table(table, style, lower=evaluation.lower) for table in tables)
    return text.render(frame_of(evaluation, per_query=per_query), style)


def frame_of(evaluation: Evaluation, *, per_query: bool = False) -> pl.DataFrame:
    """The scores of every query; or the summary with what belongs beside it (ranges, estimates, coverage)."""
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


def _contenders(evaluation: Evaluation) -> pl.DataFrame:
    """The summary; under doubt without the virtual system and best first: a table for a paper marks the best."""
    if not evaluation.in_doubt:
        return evaluation.summary
    order = ranking(evaluation, evaluation.measures[0])["system"].to_list()
    rows = evaluation.summary.filter(pl.col("system") != (evaluation.virtual or ""))
    place = pl.col("system").replace_strict(order, list(range(len(order))), return_dtype=pl.Int64)
    return rows.sort(place, maintain_order=True)


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
    """Systems down and measures across where that fits; else a row for each of their pairs."""
    systems = list(dict.fromkeys(row["system"] for row in summary))
    measures = list(dict.fromkeys(row["measure"] for row in summary))
    cells = {(row["system"], row["measure"]): row for row in summary}
    counts = {row["measure"] for row in summary if row["se"] is None}

    def cell(system: str, measure: str) -> str:
        row = cells.get((system, measure))
        if row is None:
            return "–"
        return f"{number(row['value'], measure in counts)} [dim]{interval(row['lo'], row['hi'])}[/dim]".strip()

    if max(map(len, systems)) + 23 * len(measures) > width and len(systems) > 1 and len(measures) > 1:
        return _long(summary, measures)
    if len(systems) == 1 or len(measures) > 6:
        heads = [Head("measure"), *(Head(plain(system), fold=True) for system in systems)]
        return Sheet(heads, [[plain(name), *(cell(system, name) for system in systems)] for name in measures])
    sign = 1 if measures[0] in lower else -1
    known = [row for row in summary if row["measure"] == measures[0] and row["value"] is not None]
    known = [row for row in known if not math.isnan(row["value"])]
    ordered = [row["system"] for row in sorted(known, key=lambda row: sign * row["value"])]
    heads = [Head("system", fold=True), *(Head(plain(measure), no_wrap=True) for measure in measures)]
    rows = [
        [plain(system), *(cell(system, measure) for measure in measures)]
        for system in dict.fromkeys([*ordered, *systems])
    ]
    return Sheet(heads, rows)


def _long(summary: Sequence[Mapping[str, Any]], measures: Sequence[str]) -> Sheet:
    """One row per measure and system."""

    def place(row: Mapping[str, Any]) -> tuple[int, bool, float]:
        value = row["value"]
        known = value is not None and not math.isnan(value)
        return measures.index(row["measure"]), value is None, -value if known else -math.inf

    columns = ("measure", "system", "value", "interval", "queries")
    rows = [
        [row["measure"], row["system"], row["value"], interval(row["lo"], row["hi"]), row["queries"]]
        for row in sorted(summary, key=place)
    ]
    return _sheet(columns, rows, ("value", "queries"))


def plain(text: str) -> str:
    """Text that Rich prints as it is."""
    return escaped(text)


def frame_table(frame: pl.DataFrame, whole: Sequence[str] = ()) -> Sheet:
    """Any small frame as a table. Headings break at blanks, names anywhere; numbers and intervals stay whole."""
    numeric = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    return _sheet(frame.columns, frame.rows(), numeric, whole)


def _sheet(
    columns: Sequence[str], values: Sequence[Sequence[Any]], numeric: Sequence[str], whole: Sequence[str] = ()
) -> Sheet:
    def cell(name: str, value: Any) -> str:
        return number(value, name in whole) if isinstance(value, float) else "" if value is None else str(value)

    rows = [[cell(name, value) for name, value in zip(columns, row, strict=True)] for row in values]
    heads = []
    for place, name in enumerate(columns):
        widest = max((len(row[place]) for row in rows), default=1)
        heads.append(
            Head(
                name.replace("_", " "),
                justify="right" if name in numeric else "left",
                fold=True,
                least=min(widest, 6) if name in NAMES else widest,
                no_wrap=name not in NAMES and " " not in name.replace("_", " "),
            )
        )
    return Sheet(heads, [list(map(plain, row)) for row in rows])


def tidy(frame: pl.DataFrame, *but: str) -> pl.DataFrame:
    """Without columns that are empty, and without those named."""
    kept = [name for name in frame.columns if name not in but]
    return frame.select(name for name in kept if frame[name].null_count() < max(frame.height, 1))
