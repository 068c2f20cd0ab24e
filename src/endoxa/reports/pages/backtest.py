"""The page of a backtest: the answer, the reliability curve, and what became of courses and forecasts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import polars as pl

from endoxa.evaluations.backtest import FIELD, PARTS, QUARTER, TRUE_QUARTER, Backtest, pooled
from endoxa.evaluations.backtest_sentences import answer, courses, evidence, forecast, percent
from endoxa.formatting import number
from endoxa.reports.figures.reliability_curves import FEW, curve_of, reliability_curves
from endoxa.reports.pages import cells
from endoxa.reports.pages.cells import Cell
from endoxa.reports.pages.layout import Chart, Grid, Section, chart, render

SAID = "Above the diagonal statements are more often right than they say, below it they claim too much."
STATED = (
    "field", "measure", "labels a topic", "stated", "right", "share stated", "pairs", "distinct pairs", "draws", "equal"
)  # fmt: skip
HEADS = ("labels a topic", "from", "to", "pairs", "said", "true")


def page(found: Backtest) -> str:
    """The backtest as one HTML file that opens offline."""
    from markupsafe import escape

    sections = [_reliability(found), _statements(found), _best(found), _courses(found), _forecast(found)]
    return render(
        title=found.title, answer=str(escape(answer(found))), aside=evidence(found),
        facts=[
            f"{found.systems} systems", f"{found.topics} topics", f"{found.judgments:,} judgments",
            f"{found.plan.draws} draws",
        ],
        sections=sections, notes=[str(note) for note in found.notes],
        provenance=found.provenance,
    )  # fmt: skip


def _reliability(found: Backtest) -> Section:
    charts = [one for part in (FIELD, QUARTER) if (one := _curve(found, part)) is not None]
    return Section("reliability", "Reliability", "What was stated and what was true", [SAID], charts=charts)


def _curve(found: Backtest, part: str) -> Chart | None:
    rows = found.reliability.filter(part=part)
    bins = pooled(rows, "labels")
    if not (bins["pairs"] >= FEW).any():
        return None
    where = "All pairs of the field" if part == FIELD else "Pairs within the best quarter by the estimate"
    grid = Grid(f"{where}: reliability by bins of P(better), all measures together", HEADS, _bins(bins))
    return chart(
        partial(curve_of, found, part),
        heading=where,
        label=f"{where}: the share of statements that was right, against the probability that was stated",
        caption=f"{where}, all measures together. Each point is a bin of P(better) with {FEW} statements or "
        "more, at the mean of what was said.",
        grid=grid,
    )


def _bins(bins: pl.DataFrame, first: str = "labels", count: str = "pairs") -> list[list[Cell]]:
    return [
        [
            cells.whole(row[first]), cells.number(row["lo"], 2), cells.number(row["hi"], 2), cells.whole(row[count]),
            cells.number(row["said"], 3), cells.number(row["right"], 3),
        ]
        for row in bins.iter_rows(named=True)
    ]  # fmt: skip


def _statements(found: Backtest) -> Section:
    until = f"{found.plan.until:g}"
    note = "Equal pairs, which all judgments call equal, are left out of all other columns."
    captions = {
        FIELD: "All pairs", QUARTER: "Pairs within the best quarter by the estimate, which is what a user sees",
        TRUE_QUARTER: "Pairs within the best quarter by all judgments, which nobody can see",
    }  # fmt: skip
    grids = [Grid(captions[part], STATED, _stated(found, part), note=note) for part in PARTS]
    return Section("statements", "Statements", f"Pairs stated above {until}, and how many were right", grids=grids)


def _stated(found: Backtest, part: str) -> list[list[Cell]]:
    return [
        [
            cells.text(row["field"]), cells.text(row["measure"]), cells.whole(row["labels"]),
            cells.whole(row["stated"]), _percent(row["right"]), _percent(row["share"]), cells.whole(row["pairs"]),
            cells.whole(row["distinct"]), cells.whole(row["draws"]), cells.whole(row["equal"]),
        ]
        for row in found.statements.filter(part=part).iter_rows(named=True)
    ]  # fmt: skip


def _percent(share: float) -> Cell:
    return Cell(percent(share), "" if math.isnan(share) else share)


def _best(found: Backtest) -> Section:
    heads = ("field", "measure", "labels a topic", "draws", "said", "true", "labels without a judgment")
    rows = [
        [
            cells.text(row["field"]), cells.text(row["measure"]), cells.whole(row["labels"]), cells.whole(row["draws"]),
            cells.number(row["said"], 3), cells.number(row["right"], 3), cells.share(row["unjudged"]),
        ]
        for row in found.best.iter_rows(named=True)
    ]  # fmt: skip
    bins = Grid(
        "The same by bins of P(best), all measures and fields together",
        ("labels a topic", "from", "to", "draws", "said", "true"),
        _bins(_added(found.leaders), count="draws"),
    )
    grid = Grid("P(best) of the leader: mean of what was said, and how often the leader was the best", heads, rows)
    return Section("best", "The leader", "How often the leader is the best", grids=[grid, bins])


def _added(leaders: pl.DataFrame) -> pl.DataFrame:
    return pooled(leaders.rename({"draws": "pairs"}), "labels").rename({"pairs": "draws"})


def _courses(found: Backtest) -> Section | None:
    if not found.courses.height:
        return None
    heads = (
        "measure", "courses", "settled", "right", "within .01", "labels of the settled", "gap of the settled",
        "gap of the open",
    )  # fmt: skip
    rows = [
        [
            cells.text(row["measure"]), cells.whole(row["courses"]), cells.whole(row["settled"]),
            _percent(row["right"]), _percent(row["near"]), _quartiles(row, "labels", 0),
            _quartiles(row, "gap_settled", 3), _quartiles(row, "gap_open", 3),
        ]
        for row in found.settled.iter_rows(named=True)
    ]  # fmt: skip
    note = "Medians, with the quartiles below. The gap is the true difference between the best system and the second."
    grid = Grid("What became of the courses", heads, rows, note=note)
    return Section("courses", "Courses", "How many labels settle which system is best", [courses(found)], [grid])


def _quartiles(row: dict[str, float], name: str, decimals: int) -> Cell:
    low, middle, high = (row[f"{name}_{percent}"] for percent in (25, 50, 75))
    return cells.number(middle, decimals, small=f"{number(low, decimals)} to {number(high, decimals)}")


def _forecast(found: Backtest) -> Section | None:
    if not found.looks.height:
        return None
    heads = ("measure", "looks", "later settled", "forecast / actual", "settled by the median", "within the quartiles")
    rows = [
        [
            cells.text(row["measure"]), cells.whole(row["looks"]), cells.whole(row["settled"]),
            _quartiles(row, "ratio", 2), cells.number(row["by_then"], 2), cells.number(row["inside"], 2),
        ]
        for row in found.forecast.iter_rows(named=True)
    ]  # fmt: skip
    grids = [
        Grid("Forecast and actual number of further labels", heads, rows),
        Grid(
            "P(settled within so many further labels)", ("further labels", "from", "to", "looks", "said", "true"),
            _bins(found.horizons, "further", "looks"),
        ),
    ]  # fmt: skip
    lines = [line for line in [forecast(found)] if line]
    return Section("forecast", "Forecast", "How many further labels it took", lines, grids, list(_horizons(found)))


def _horizons(found: Backtest) -> Iterator[Chart]:
    rows = found.horizons
    many = rows.filter(pl.col("looks") >= FEW)
    if many.height:
        groups = {f"within {further}": own for (further,), own in many.group_by("further", maintain_order=True)}
        yield chart(
            partial(reliability_curves, groups, count="looks", start=0.0, up="share that was settled"),
            heading="P(settled within so many further labels)",
            label="The share of looks that were settled in time, against the probability that was stated",
            caption=f"Each point is a bin with {FEW} looks or more.",
            grid=Grid(
                "P(settled within so many further labels), by bins",
                ("further labels", "from", "to", "looks", "said", "true"), _bins(rows, "further", "looks"),
            ),
        )  # fmt: skip
