"""The table of beliefs: what it takes, what it refuses."""

from __future__ import annotations

import polars as pl
import pytest

from endoxa.errors import TableError
from endoxa.tables import Belief


def made(rows, names=("query", "reading", "weight", "item", "grade", "p"), **how) -> Belief:
    return Belief.of(pl.DataFrame(rows, schema=list(names), orient="row"), **how)


def test_defaults_and_order() -> None:
    held = made([("q2", "b", 0.5), ("q1", "a", 0.25), ("q2", "a", 1.0)], ("query", "item", "p"))
    assert held.frame.rows() == [
        ("q1", "", 1.0, "a", 1.0, 0.25), ("q2", "", 1.0, "a", 1.0, 1.0), ("q2", "", 1.0, "b", 1.0, 0.5),
    ]  # fmt: skip
    assert held.queries == ["q1", "q2"]
    assert not held.certain


def test_weights_are_shares_of_their_query() -> None:
    held = made([("q", "r", 3.0, "a", 1.0, 0.5), ("q", "s", 1.0, "a", 1.0, 0.5), ("p", "r", 2.0, "a", 1.0, 0.5)])
    assert held.frame["weight"].to_list() == [1.0, 0.75, 0.25]


def test_certain_means_one_reading_and_no_doubt() -> None:
    assert made([("q", "a", 1.0), ("q", "b", 0.0)], ("query", "item", "p")).certain
    assert not made([("q", "a", 1.0)], ("query", "item", "p"), unmentioned=0.1).certain
    assert not made([("q", "r", 1.0, "a", 1.0, 1.0), ("q", "s", 1.0, "a", 1.0, 1.0)]).certain


def test_expected_grades() -> None:
    held = made([("q", "r", 0.25, "a", 1.0, 0.5), ("q", "r", 0.25, "a", 2.0, 0.5), ("q", "s", 0.75, "a", 1.0, 0.2)])
    assert held.expected().to_dict() == {"q": {"a": pytest.approx(0.25 * 1.5 + 0.75 * 0.2)}}


def test_what_it_prints() -> None:
    held = made([("q", "r", 0.25, "a", 1.0, 0.5), ("q", "s", 0.75, "b", 1.0, 0.2)], unmentioned=0.1, notes=["made up"])
    assert [str(line) for line in held.lines()] == [
        "belief=given: 1 query, 2 readings each, 2 pairs of query and item; "
        "an item that it does not mention is relevant with probability 0.1",
        "made up",
    ]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("q", "r", 1.0, "a", 1.0, 1.5)], "p of item 'a' in query 'q' is 1.5; a probability must be between 0 and 1"),
        ([("q", "r", 1.0, "a", 1.0, float("nan"))], "a probability must be between 0 and 1"),
        ([("q", "r", -1.0, "a", 1.0, 0.5)], "a weight must be a number of at least 0"),
        ([("q", "r", 0.0, "a", 1.0, 0.5)], "the weights of query 'q' sum to 0"),
        ([("q", "r", 0.5, "a", 1.0, 0.5), ("q", "r", 0.2, "b", 1.0, 0.5)], "reading 'r' of query 'q' has two weights"),
        ([("q", "r", 1.0, "a", 1.0, 0.5), ("q", "r", 1.0, "a", 1.0, 0.2)], "item 'a' has grade 1 twice"),
        ([("q", "r", 1.0, "a", 1.0, 0.8), ("q", "r", 1.0, "a", 2.0, 0.4)], "sum to 1.2"),
        ([("q", "r", 1.0, "a", float("inf"), 0.8)], "a grade must be a finite number"),
    ],
)
def test_what_is_no_belief(rows, words) -> None:
    with pytest.raises(TableError, match=words):
        made(rows)


def test_rules_for_the_unmentioned() -> None:
    for wrong in ("maybe", 1.5, -0.1):
        with pytest.raises(TableError, match="unmentioned must be"):
            made([("q", "a", 0.5)], ("query", "item", "p"), unmentioned=wrong)
    with pytest.raises(TableError, match="needs a column 'p'"):
        made([("q", "a", 0.5)], ("query", "item", "grade"))


def resampled(**columns: pl.Series) -> Belief:
    rows = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "p": [0.5, 0.5]})
    return Belief.of(rows.with_columns(column.alias(name) for name, column in columns.items()))


def arrays(*rows: list[float | None]) -> pl.Series:
    return pl.Series(list(rows), dtype=pl.Array(pl.Float32, len(rows[0])))


@pytest.mark.parametrize("wrong", [1.5, -0.1, float("nan"), float("inf"), None])
def test_resamples_of_people_are_probabilities(wrong: float | None) -> None:
    with pytest.raises(TableError, match="people of item 'b' in query 'q' are not all probabilities between 0 and 1"):
        resampled(people=arrays([0.5, 1.0], [0.5, wrong]))


def test_resamples_of_weights() -> None:
    people = arrays([0.5, 1.0], [0.5, 1.0])
    assert resampled(people=people, people_weight=arrays([0.5, 2.0], [0.5, 2.0])).frame.height == 2
    with pytest.raises(TableError, match="people_weight of item 'a' in query 'q' are not all weights of at least 0"):
        resampled(people=people, people_weight=arrays([-1.0, 2.0], [0.5, 2.0]))
    with pytest.raises(TableError, match="different numbers of resamples"):
        resampled(people=people, people_weight=arrays([1.0], [1.0]))
    with pytest.raises(TableError, match=r"column 'people' of the belief holds .*, expected an array of numbers"):
        resampled(people=pl.Series([["x"], ["y"]], dtype=pl.Array(pl.String, 1)))
