"""Subjects' ranked answers: what they check on entry, and how they rank."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.errors import TableError
from endoxa.tables import Answers

FULL = ("source", "query", "item", "rank", "relevance")


def answers(rows, columns=FULL) -> Answers:
    return Answers.of(pl.DataFrame(rows, schema=list(columns), orient="row"))


def test_ranks_and_relevance_as_given():
    made = answers([("bob", "q", "b", 2, 0.5), ("bob", "q", "a", 1, 1.0), ("ann", "q", "a", 1, 0.25)])
    assert made.frame.columns == list(FULL)
    assert made.frame.rows() == [("ann", "q", "a", 1, 0.25), ("bob", "q", "a", 1, 1.0), ("bob", "q", "b", 2, 0.5)]
    assert made.sources == ["ann", "bob"]


def test_ranks_are_closed_up():
    made = answers([("ann", "q", "a", 3, 1), ("ann", "q", "b", 10, 1), ("ann", "r", "c", 7, 1)])
    assert made.frame["rank"].to_list() == [1, 2, 1]


def test_relevance_makes_ranks():
    made = answers([("q", "a", 0.2), ("q", "b", 1.0), ("q", "c", 0.2), ("r", "d", 0.1)], ("query", "item", "relevance"))
    assert made.frame["item"].to_list() == ["b", "a", "c", "d"]
    assert made.frame["rank"].to_list() == [1, 2, 3, 1]
    assert made.sources == ["subject"]


def test_with_ranks_alone_relevance_falls_evenly():
    made = answers([("q", "a", 2), ("q", "b", 1), ("q", "c", 7), ("q", "d", 7)], ("query", "item", "rank"))
    assert made.frame.select("item", "relevance").rows() == [("b", 1.0), ("a", 2 / 3), ("c", 1 / 3), ("d", 1 / 3)]


def test_grades_are_relevance():
    assert answers([("q", "a", 0.5)], ("query", "item", "grade")).frame["relevance"].to_list() == [0.5]


def test_equals_may_share_a_rank():
    made = answers([("ann", "q", "a", 1, 1), ("ann", "q", "b", 2, 0.5), ("ann", "q", "c", 2, 0.5)])
    assert made.frame["item"].to_list() == ["a", "b", "c"]
    assert made.frame["rank"].to_list() == [1, 2, 3]
    with pytest.raises(TableError, match=r"two items at rank 2 have different relevance"):
        answers([("ann", "q", "a", 1, 1), ("ann", "q", "b", 2, 0.5), ("ann", "q", "c", 2, 0.4)])


def test_an_item_is_ranked_once():
    with pytest.raises(TableError, match="'ann' lists item 'a' of query 'q' twice"):
        answers([("ann", "q", "a", 1, 1), ("ann", "q", "a", 2, 0.5)])
    assert len(answers([("ann", "q", "a", 1, 1), ("bob", "q", "a", 1, 1), ("ann", "r", "a", 1, 1)])) == 3


@pytest.mark.parametrize("relevance", [-0.5, 1.5, 2.0, float("nan"), float("inf")])
def test_relevance_lies_between_zero_and_one(relevance):
    with pytest.raises(TableError, match=r"relevance of item 'a' is .*between 0 and 1"):
        answers([("ann", "q", "a", 1, relevance)])


def test_relevance_falls_with_rank():
    with pytest.raises(
        TableError, match="'ann', query 'q': item 'b' has a higher relevance than the item ranked above it"
    ):
        answers([("ann", "q", "a", 1, 0.5), ("ann", "q", "b", 2, 0.7)])
    # Another query, or another person, begins anew.
    assert len(answers([("ann", "q", "a", 1, 0.5), ("ann", "r", "b", 1, 0.7), ("bob", "q", "b", 1, 0.9)])) == 3


def test_an_order_is_needed():
    with pytest.raises(TableError, match="needs a column 'rank' or 'relevance'"):
        answers([("q", "a")], ("query", "item"))


def test_bad_rows():
    with pytest.raises(TableError, match="needs a column 'item'"):
        answers([("q", 1)], ("query", "rank"))
    with pytest.raises(TableError, match="item is missing"):
        answers([("ann", "q", None, 1, 1.0)])
    with pytest.raises(TableError, match="relevance 'much' is not a number"):
        answers([("ann", "q", "a", 1, "much")])
    with pytest.raises(TableError, match="relevance is missing"):
        answers([("ann", "q", "a", 1, None)])


def test_no_rows():
    made = Answers.of(pl.DataFrame(schema=dict.fromkeys(("query", "item", "rank"), pl.String)))
    assert len(made) == 0
    assert made.sources == []


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"), st.sampled_from("qr"), st.sampled_from("wxyz"), st.sampled_from([0, 0.5, 0.75, 1])
        ),
        unique_by=lambda row: row[:3],
        min_size=1,
        max_size=14,
    )
)
def test_ranks_from_relevance_are_a_plain_sort(rows):
    made = answers([(*row[:3], float(row[3])) for row in rows], ("source", "query", "item", "relevance"))
    expected = []
    for who in sorted({row[:2] for row in rows}):
        mine = sorted((row for row in rows if row[:2] == who), key=lambda row: -row[3])  # stable: equals as read
        expected += [(*row[:3], place, float(row[3])) for place, row in enumerate(mine, 1)]
    assert made.frame.rows() == expected
