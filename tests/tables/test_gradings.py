"""Grades of machine judges: scales, repeats, what is skipped, and what is refused."""

from __future__ import annotations

import polars as pl
import pytest

from endoxa.errors import TableError
from endoxa.tables import Gradings, Opinions


def frame(*rows: tuple[str, str, str, float | None], **more: object) -> pl.DataFrame:
    names = {"judge": pl.String, "query": pl.String, "item": pl.String, "grade": pl.Float64}
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(pl.lit(v).alias(n) for n, v in more.items())


def test_repeats_are_numbered_in_their_order() -> None:
    made = Gradings.of(frame(("a", "q", "x", 1), ("a", "q", "x", 2), ("b", "q", "x", 3), ("a", "q", "y", 0)))
    assert made.frame["repeat"].to_list() == [1, 2, 1, 1]
    assert made.judges == ["a", "b"]


@pytest.mark.parametrize(
    ("more", "ends"),
    [({}, (0, 2)), ({"scale": "0-3"}, (0, 3)), ({"scale": "1–5"}, (1, 5)), ({"least": 1, "most": 4}, (1, 4))],
)
def test_the_scale_is_as_stated_else_from_0_to_the_highest_grade(more: dict, ends: tuple[float, float]) -> None:
    made = Gradings.of(frame(("a", "q", "x", 1), ("a", "q", "y", 2), **more))
    assert made.frame.select("least", "most").unique().rows() == [ends]


def test_a_probability_is_itself() -> None:
    made = Gradings.of(frame(("a", "q", "x", 0.2), ("a", "q", "y", 0.7)))
    assert made.frame.select("least", "most").unique().rows() == [(0, 1)]


def test_each_judge_has_a_scale_of_its_own() -> None:
    rows = [("a", "q", "x", 4), ("b", "q", "x", 0.5)]
    assert dict(Gradings.of(frame(*rows)).frame.select("judge", "most").iter_rows()) == {"a": 4, "b": 1}


def test_rows_without_a_grade_are_counted_and_not_read_as_0() -> None:
    made = Gradings.of(frame(("a", "q", "x", None), ("a", "q", "y", -1), ("a", "q", "z", 2)))
    assert made.skipped == {"empty": 1, "negative": 1}
    assert made.frame["item"].to_list() == ["z"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("a", "q", "x", 4.0)], "outside its scale of 0 to 3"),
        ([("a", "q", "x", -1.0)], "outside its scale of 0 to 3"),
        ([("a", "q", "x", float("nan"))], "row 1 of the table of machine judges: grade is not a number"),
    ],
)
def test_what_is_refused(rows: list, words: str) -> None:
    with pytest.raises(TableError, match=words):
        Gradings.of(frame(*rows, scale="0-3"))


def test_tables_are_joined_and_two_judges_of_one_name_refused() -> None:
    one, other = Gradings.of(frame(("a", "q", "x", 1))), Gradings.of(frame(("b", "q", "x", None), ("b", "q", "y", 1)))
    both = Gradings.joined([one, other])
    assert both is not None
    assert (both.judges, both.skipped) == (["a", "b"], {"empty": 1})
    assert Gradings.joined([]) is None
    with pytest.raises(TableError, match="two tables hold a machine judge called 'a'"):
        Gradings.joined([one, one])


def test_they_stand_as_opinions_of_kind_judge_and_come_back() -> None:
    rows = [("a", "q", "x", 1), ("a", "q", "x", 2), ("a", "q", "y", 3)]
    opinions = Gradings.of(frame(*rows, scale="0-3")).opinions
    assert opinions.by_machines
    assert opinions.frame.select("source", "item", "grade", "scale", "kind").rows() == [
        ("a", "x", 1.5, "0-3", "judge"), ("a", "y", 3, "0-3", "judge")
    ]  # fmt: skip
    back = Gradings.of_opinions(opinions)
    assert back.frame.select("judge", "item", "grade", "most").rows() == [("a", "x", 1.5, 3), ("a", "y", 3, 3)]


def test_people_and_machines_in_one_table_are_refused() -> None:
    rows = pl.DataFrame({"source": ["a", "b"], "kind": ["judge", "person"], "query": "q", "item": "x", "grade": 1.0})
    mixed = Opinions.of(rows)
    with pytest.raises(TableError, match="1 of 2 rows are of machine judges"):
        mixed.by_machines  # noqa: B018
    assert not Opinions.of(rows.filter(pl.col("kind") == "person")).by_machines
