"""Tables of machine judges: query, item, grade, and who gave the grade.

The judge is named by the column judge, model, source, annotator or another name of a source. Instead of a grade there
may be a probability of relevance, or a `score` that looks like grades. A cell that is no grade is no opinion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.io.beir import graded
from endoxa.io.judge_replies import number_of
from endoxa.io.judge_tools import EMPTY, PERSON
from endoxa.io.layouts import sort_of
from endoxa.later import pl
from endoxa.tables import ASIDE, Gradings, Opinions, rename_known, require
from endoxa.tables.checks import OTHER_NAMES, cast, first_true, refuse_null
from endoxa.tables.grade_words import EXPECTED
from endoxa.tables.gradings import NAME, SCALE, WHAT

JUDGES = ("judge", "model", "source", *(name for name in OTHER_NAMES["source"] if name not in {"judge", "iteration"}))
CHANCES = ("p", "probability")
NO_NUMBER = "the grade is not a number"
UNNAMED = "query or item is missing"
Missing = Mapping[str, tuple[int, int | None]]  # how many rows have no grade, and where the first one is, by reason
KEPT = ("judge", "query", "item", "grade", "scale", "least", "most")
NOT_JUDGES = {"person": PERSON, "system": "by a system"}  # kinds of opinions that are not those of a machine judge


@dataclass(frozen=True)
class Part:
    """What one file holds: rows for `Gradings.of`, how many rows it has, and why some have no grade."""

    rows: pl.DataFrame
    total: int
    missing: Missing = field(default_factory=dict)


def part_of(rows: pl.DataFrame, *, lenient: bool = False) -> Part:
    """Return the gradings in a table. Rows are counted from 1, also in errors."""
    rows = _graded(rename_known(graded(rows), ("query", "item", "grade")))
    require(rows, ("query", "item", "grade"), WHAT)
    judge = next((name for name in JUDGES if name in rows.columns), None)
    absent = [pl.lit(None, pl.String).alias(name) for name in ("scale", "least", "most") if name not in rows.columns]
    given = rows.with_row_index("row", 1).with_columns(absent).select(
        pl.col("row").cast(pl.Int64),
        pl.lit(None, pl.String).alias("judge") if judge is None else pl.col(judge).cast(pl.String).alias("judge"),
        pl.col("query", "item", "scale").cast(pl.String), _numbers(rows["grade"]).alias("grade"), "least", "most",
        empty=rows["grade"].is_null(), kind=_text(rows, "kind", "judge"), role=_text(rows, "role", "main"),
        repeat=_repeat(rows),
    )  # fmt: skip
    unnamed = pl.any_horizontal(pl.col("query", "item").is_null())
    if not lenient:
        refuse_null(given, ("query", "item"), WHAT)
    if (row := first_true(~given["scale"].str.contains(SCALE))) is not None:
        problem = f"scale {given['scale'][row]!r:.40} is not understood"
        raise TableError(problem, remedy="write its ends, like 0-3", row=row + 1, table=WHAT)
    others = pl.col("kind").replace_strict(NOT_JUDGES, default=pl.format("of kind {}", "kind"))
    reason = (
        pl.when(unnamed).then(pl.lit(UNNAMED))
        .when(pl.col("kind") != "judge").then(others)
        .when(pl.col("role").is_in(ASIDE)).then(pl.lit("to test the judge"))
        .when("empty").then(pl.lit(EMPTY))
        .when(pl.col("grade").is_null()).then(pl.lit(NO_NUMBER))
    )  # fmt: skip
    given = cast(given, {"least": pl.Float64, "most": pl.Float64}, WHAT)
    given = given.with_columns(reason.alias("reason"))
    word = given["reason"] == NO_NUMBER
    if given["grade"].is_null().all() and (row := first_true(word)) is not None:
        problem = f"no grade is a number or a known word, such as {rows['grade'].cast(pl.String)[row]!r:.60}"
        raise TableError(problem, remedy=EXPECTED, row=row + 1, table=WHAT)
    missing = given.drop_nulls("reason").group_by("reason", maintain_order=True).agg(pl.len(), pl.col("row").first())
    kept = given.filter(pl.col("reason").is_null())
    _refuse_twice(kept)
    counted = {reason: (count, row) for reason, count, row in missing.iter_rows()}
    return Part(kept.sort("repeat", maintain_order=True).select(KEPT), rows.height, counted)


def opinions_of_machines(rows: pl.DataFrame) -> Opinions:
    """Return the opinions of machine judges in a table."""
    part = part_of(rows)
    if part.rows.is_empty():
        raise TableError("no row has a grade of a machine judge", remedy="give rows of query, item and grade")
    return Gradings.of(part.rows.with_columns(pl.col("judge").fill_null(NAME))).opinions


def _graded(rows: pl.DataFrame) -> pl.DataFrame:
    """The table with a column `grade`: a probability has the scale 0 to 1, and scores must look like grades."""
    chance = next((name for name in CHANCES if name in rows.columns), None)
    if "grade" in rows.columns:
        if "p" in rows.columns and not {"judge", "model"} & set(rows.columns):
            problem = "a table of grades with their probabilities p is a belief, not the grades of a judge"
            raise TableError(problem, remedy="give the grades of the judge; if p is something else, remove the column")
        return rows
    if chance is not None:
        ends = {"least": 0.0, "most": 1.0}
        return rows.rename({chance: "grade"}).with_columns(pl.lit(value).alias(name) for name, value in ends.items())
    if not {"query", "item", "score"} <= set(rows.columns):
        return rows
    rows = rows.rename({"score": "grade"})
    numbers = _numbers(rows["grade"]).drop_nulls()
    items = rows.select(pl.col("query").cast(pl.String), pl.col("item").cast(pl.String), number=_numbers(rows["grade"]))
    if "system" in rows.columns or (len(numbers) and sort_of(items.drop_nulls(), floats=False) == "run"):
        raise TableError("the scores are those of a run", remedy="of grades, name the column grade")
    return rows


def _numbers(column: pl.Series) -> pl.Series:
    """The grades in a column: numbers, known words, `2 relevant`; null where a cell is neither."""
    if column.dtype.is_nested():
        raise TableError(f"column {column.name!r} of the {WHAT} holds {column.dtype}", remedy="expected numbers")
    numbers = column.cast(pl.Float64, strict=False)
    if column.dtype == pl.String:
        words = column.filter(numbers.is_null() & column.is_not_null()).unique()
        known = pl.Series([number_of(word) for word in words], dtype=pl.Float64)
        numbers = numbers.fill_null(column.replace_strict(words, known, default=None, return_dtype=pl.Float64))
    return numbers.set(~numbers.is_finite().fill_null(True), None)


def _text(rows: pl.DataFrame, name: str, otherwise: str) -> pl.Expr:
    return pl.col(name).cast(pl.String).fill_null(otherwise) if name in rows.columns else pl.lit(otherwise)


def _repeat(rows: pl.DataFrame) -> pl.Expr:
    """The number of a repeat; null where there is none, or where it is no number."""
    return pl.col("repeat").cast(pl.Int64, strict=False) if "repeat" in rows.columns else pl.lit(None, pl.Int64)


def _refuse_twice(rows: pl.DataFrame) -> None:
    """Refuse a repeat that a judge has twice, as in a file that was appended to itself."""
    rows = rows.filter(pl.col("repeat").is_not_null())
    again = ~rows.select(pl.struct("judge", "query", "item", "repeat").is_first_distinct()).to_series()
    if (found := first_true(again)) is not None:
        one = rows.row(found, named=True)
        problem = f"item {one['item']!r:.60} of query {one['query']!r:.60} has repeat {one['repeat']} twice"
        raise TableError(problem, remedy="remove one of the rows", row=one["row"], table=WHAT)
