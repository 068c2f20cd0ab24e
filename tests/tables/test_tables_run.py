"""The tables: what they check on entry, how they rank, and what they turn into."""

from __future__ import annotations

import datetime
import sys
from itertools import groupby
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import endoxa
from endoxa.errors import EndoxaError, InstallError, TableError
from endoxa.notes import text
from endoxa.policies import Policy
from endoxa.tables import DRAW, Comparison, DuplicateItemError, DuplicateJudgmentError, Opinions, Run, Scores

Row = tuple[str, str, str, float]

rows_of_runs = st.lists(
    st.tuples(
        st.sampled_from(["b", "a", "ü"]), st.sampled_from(["q1", "q10", "q2"]), st.sampled_from(list("abcdeéZ")),
        st.sampled_from([0.0, -0.0, 1.0, 2.5, -3.0, float("inf"), 1e-300]),
    ),
    unique_by=lambda row: row[:3],
    max_size=25,
)  # fmt: skip


def frame_of(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row").cast({"score": pl.Float64})


def ranked_plainly(rows: list[Row]) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Rank and block of every item: score descending, then id descending by bytes."""
    found = {}
    by_list = sorted(rows, key=lambda row: row[:2])
    for (system, query), group in groupby(by_list, key=lambda row: row[:2]):
        members = sorted(group, key=lambda row: row[2].encode(), reverse=True)
        members.sort(key=lambda row: -row[3])
        for rank, (_, _, item, score) in enumerate(members, 1):
            block = next(place for place, other in enumerate(members, 1) if other[3] == score)
            found[system, query, item] = (rank, block)
    return found


@settings(max_examples=150, deadline=None)
@given(rows_of_runs, st.booleans())
def test_ranks_are_those_of_a_plain_sort(rows: list[Row], grouped: bool) -> None:
    if grouped:
        rows = sorted(rows, key=lambda row: row[:2])
    run = Run.of(frame_of(rows))
    assert run.frame.columns == ["system", "query", "item", "rank", "block", "score"]
    found = {row[:3]: row[3:5] for row in run.frame.rows()}
    assert found == ranked_plainly(rows)
    assert len(run) == len(rows)
    lists = [row[:2] for row in run.frame.rows()]
    assert len({*lists}) == sum(1 for _ in groupby(lists)), "the rows of a list stand together"
    for _, group in groupby(run.frame.rows(), key=lambda row: row[:2]):
        assert [row[3] for row in group] == list(range(1, len([r for r in rows if r[:2] == _]) + 1))
    assert {row[:3]: row[5] for row in run.frame.rows()} == {row[:3]: row[3] for row in rows}


@settings(max_examples=60, deadline=None)
@given(rows_of_runs, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_change_the_ranks(rows: list[Row], random: Random) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    key = ["system", "query", "rank"]
    assert Run.of(frame_of(shuffled)).frame.sort(key).equals(Run.of(frame_of(rows)).frame.sort(key))


@settings(max_examples=60, deadline=None)
@given(rows_of_runs)
def test_input_order_is_kept_among_equal_scores(rows: list[Row]) -> None:
    run = Run.of(frame_of(rows), ties="input")
    assert run.ties == "input"
    for (system, query), group in groupby(run.frame.rows(), key=lambda row: row[:2]):
        expected = sorted((row for row in rows if row[:2] == (system, query)), key=lambda row: -row[3])
        assert [row[2] for row in group] == [row[2] for row in expected]


def test_systems_are_in_the_order_read() -> None:
    grouped = [("b", "q", "x", 1.0), ("b", "q", "y", 0.0), ("a", "q", "x", 1.0)]
    assert Run.of(frame_of(grouped)).systems == ["b", "a"]
    mixed = [("b", "q", "x", 1.0), ("a", "q", "x", 1.0), ("b", "q", "y", 0.0)]
    assert Run.of(frame_of(mixed)).systems == ["b", "a"]


def test_a_run_without_a_system_gets_a_name() -> None:
    frame = pl.DataFrame({"query": ["q"], "item": ["x"], "score": [1]})
    assert Run.of(frame).systems == ["run"]
    assert Run.of(frame, system="bm25").systems == ["bm25"]


@pytest.mark.parametrize(
    "names", [("query_id", "doc_id", "score"), ("qid", "docno", "sim"), ("topic", "docid", "similarity")]
)
def test_names_of_other_tools_are_understood(names: tuple[str, str, str]) -> None:
    run = Run.of(pl.DataFrame([("q", "x", 1.0)], schema=list(names), orient="row"))
    assert run.frame.row(0) == ("run", "q", "x", 1, 1, 1.0)


def test_numbers_as_ids_become_texts_and_texts_as_scores_numbers() -> None:
    run = Run.of(pl.DataFrame({"query": [301, 301], "item": [7, 12], "score": ["1", "2.5"]}))
    assert run.frame.rows() == [("run", "301", "12", 1, 1, 2.5), ("run", "301", "7", 2, 2, 1.0)]


def test_an_empty_run() -> None:
    run = Run.of(pl.DataFrame(schema={"query": pl.String, "item": pl.String, "score": pl.Float64}))
    assert len(run) == 0
    assert run.systems == []
    assert run.to_dict() == {}


Columns = dict[str, list[Any]]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (
            {"query": ["q"], "doc": ["x"], "score": [1]},
            r"needs a column 'item'; the columns are query, doc, score \(doc is unknown: did you mean docno, docid",
        ),
        ({}, r"a run needs a column 'query'; the columns are \(none\)"),
        (
            {"query": ["q"], "item": ["x"], "scores": [1]},
            r"needs a column 'score'; .*scores is unknown: did you mean score",
        ),
        (
            {"query": ["q", "q"], "item": ["x", "y"], "score": ["1", "abc"]},
            r"row 2 of the run: score 'abc' is not a num",
        ),
        ({"query": ["q"], "item": ["x"], "score": [[1.0]]}, r"column 'score' of the run holds List\(Float64\)"),
        ({"query": ["q"], "item": [["x"]], "score": [1.0]}, r"column 'item' of the run holds List\(String\)"),
        ({"query": ["q", "q"], "item": ["x", "y"], "score": [1.0, float("nan")]}, r"row 2 of the run: score is NaN"),
        ({"query": ["q", "q"], "item": ["x", "y"], "score": [1, None]}, r"row 2 of the run: score is missing"),
        ({"query": ["q", None], "item": ["x", "y"], "score": [1, 2]}, r"row 2 of the run: query is missing"),
        ({"query": ["q", "q"], "item": [None, "y"], "score": [1, 2]}, r"row 1 of the run: item is missing"),
    ],
)
def test_a_wrong_run_is_refused(columns: Columns, says: str) -> None:
    with pytest.raises(TableError, match=says):
        Run.of(pl.DataFrame(columns))


@pytest.mark.parametrize("between", [0, 3])
def test_an_item_stands_once_in_a_list(between: int) -> None:
    others = [("s", "q", f"d{i}", float(i)) for i in range(between)]
    twice = [("s", "q", "x", 1.0), *others, ("s", "other", "x", 1.0), ("s", "q", "x", 2.0)]
    with pytest.raises(DuplicateItemError, match=r"query 'q' of 's' lists item 'x' twice; .*remove one") as caught:
        Run.of(frame_of(twice))
    assert (caught.value.system, caught.value.query, caught.value.item) == ("s", "q", "x")
    fine = [("s", "q", "x", 1.0), ("s", "r", "x", 1.0), ("t", "q", "x", 1.0)]
    assert len(Run.of(frame_of(fine))) == 3


# ---- opinions


def test_opinions_fill_in_what_is_left_out() -> None:
    opinions = Opinions.of(pl.DataFrame({"query_id": [1], "doc_id": ["x"], "relevance": ["2"]}))
    row = opinions.frame.row(0, named=True)
    expected = {"source": "qrels", "kind": "person", "query": "1", "item": "x", "grade": 2.0, "role": "main"}
    assert row == dict.fromkeys(["scale", "confidence", "selected_by", *DRAW, "propensity", "at"]) | expected
    assert opinions.frame.columns[:5] == ["source", "kind", "query", "item", "grade"]
    named = Opinions.of(pl.DataFrame({"query": ["q"], "item": ["x"], "grade": [1]}), source="llm", kind="judge")
    assert (named.sources, named.frame["kind"][0]) == (["llm"], "judge")


def test_draws_of_old_texts_become_columns() -> None:
    """What 0.1 wrote is split; names that only look alike stay."""
    split = {
        "next@10": ("next", None, None, 10), "next@10 round 2": ("next", 2, None, 10),
        "next@10 round 57 after 50": ("next", 57, 50, 10), "pool@4": ("pool", None, None, 4),
        "adaptive@3": ("adaptive", 3, None, None),
    }  # fmt: skip
    others = ("next", "next@", "a+next@10", "bm25@10", "dense round 2", "adaptive@2 round 1", "next@" + "9" * 30, None)
    texts = pl.Series("selected_by", [*split, *others], dtype=pl.String)
    frame = pl.DataFrame({"query": "q", "item": [f"d{at}" for at in range(len(texts))], "grade": 1.0}).with_columns(
        texts
    )
    found = Opinions.of(frame).frame
    assert found.select("selected_by", *DRAW).rows() == [
        *split.values(),
        *((name, None, None, None) for name in others),
    ]
    assert Opinions.of(found).frame.equals(found)


def test_draws_are_whole_numbers() -> None:
    def drawn(**columns: Any) -> pl.DataFrame:
        return Opinions.of(pl.DataFrame({"query": "q", "item": list("ab"), "grade": 1.0, **columns})).frame

    assert drawn(draw=["2.0", None], draw_after=[None, None])["draw"].to_list() == [2, None]
    assert drawn(draw_depth=[10.0, None])["draw_depth"].to_list() == [10, None]
    assert drawn(selected_by=["next@5 round 3", "next"], draw=[None, 4])["draw"].to_list() == [3, 4]
    for wrong in (-1.0, 0.5, float("nan"), float("inf"), 2.0**60):
        with pytest.raises(TableError, match=r"row 2.*: draw .* is not a whole number from 0"):
            drawn(draw=[1.0, wrong])
    with pytest.raises(TableError, match="draw_after 'x' is not a number"):
        drawn(draw_after=["1", "x"])


def test_opinions_keep_floats_nulls_and_negative_grades() -> None:
    opinions = Opinions.of(pl.DataFrame({"query": "q", "item": list("abc"), "grade": [0.9, None, -1.0]}))
    assert opinions.frame["grade"].to_list() == [0.9, None, -1]
    assert opinions.to_dict() == {"q": {"a": 0.9, "b": None, "c": -1}}


def test_opinions_know_who_spoke() -> None:
    rows = [("bob", "q", "x", 1), ("ann", "q", "x", 0)]
    opinions = Opinions.of(pl.DataFrame(rows, schema=["iteration", "query", "item", "grade"], orient="row"))
    assert opinions.sources == ["ann", "bob"]
    with pytest.raises(TableError, match="several assessors"):
        opinions.to_dict()


def test_the_moment_of_an_opinion() -> None:
    moment = datetime.datetime(2024, 5, 6, 7, 8, 9, tzinfo=datetime.UTC)
    for said in (moment, "2024-05-06T07:08:09Z", "2024-05-06 07:08:09"):
        opinions = Opinions.of(pl.DataFrame({"query": ["q"], "item": ["x"], "grade": [1], "at": [said]}))
        assert opinions.frame["at"][0] == moment


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"grade": ["1", "maybe"]}, "row 2 of the table of judgments: grade 'maybe' is not a number, nor a known word"),
        ({"grade": [1.0, float("nan")]}, "row 2 of the table of judgments: grade is NaN; leave it empty for undecided"),
        ({"grade": [1.0, float("inf")]}, "row 2 of the table of judgments: grade is infinite"),
        ({"grade": [1, 1], "confidence": ["0.5", "high"]}, "row 2 .*: confidence 'high' is not a number"),
        ({"grade": [1, 1], "at": ["2024-01-01T00:00:00Z", "soon"]}, "row 2 .*: at 'soon' is not a date and time"),
        ({"grade": [1, 1], "propensity": [1.0, 0.0]}, r"inclusion probability 0.0 of item 'y' is not in \(0, 1\]"),
        ({"grade": [1, 1], "propensity": [1.5, 1.0]}, r"inclusion probability 1.5 of item 'x' is not in \(0, 1\]"),
        ({"grade": [1, 1], "source": ["a", None]}, "row 2 of the table of judgments: source is missing"),
        ({"rank": [1, 2]}, "a table of judgments needs a column 'grade'"),
    ],
)
def test_wrong_opinions_are_refused(columns: Columns, says: str) -> None:
    with pytest.raises(TableError, match=says):
        Opinions.of(pl.DataFrame({"query": ["q", "q"], "item": ["x", "y"]} | columns))


def test_a_source_judges_a_pair_once() -> None:
    rows = [("q", "x", 1), ("q", "y", 1), ("q", "x", 0)]
    with pytest.raises(DuplicateJudgmentError, match="item 'x' of query 'q' has two judgments") as caught:
        Opinions.of(pl.DataFrame(rows, schema=["query", "item", "grade"], orient="row"))
    assert (caught.value.query, caught.value.item) == ("q", "x")


# ---- turning into other things

RUN = Run.of(frame_of([("s", "q", "x", 2.0), ("s", "q", "y", 1.0), ("t", "q", "x", 1.0)]))


def test_a_run_turns_into_polars_pandas_arrow_and_dict() -> None:
    assert RUN.to_polars() is RUN.frame
    frame = RUN.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == RUN.frame.columns
    assert frame["score"].tolist() == [2, 1, 1]
    assert RUN.to_arrow().column_names == RUN.frame.columns
    assert pl.DataFrame(RUN.to_arrow()).equals(RUN.frame)
    assert RUN.to_dict() == {"s": {"q": {"x": 2.0, "y": 1.0}}, "t": {"q": {"x": 1.0}}}
    again = [(s, q, i, v) for s, lists in RUN.to_dict().items() for q, d in lists.items() for i, v in d.items()]
    assert Run.of(frame_of(again)).frame.equals(RUN.frame)


@pytest.mark.parametrize(("module", "turn"), [("pandas", "to_pandas"), ("pyarrow", "to_arrow")])
def test_a_missing_tool_is_named(module: str, turn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InstallError, match=f"{module} is not installed; pip install"):
        getattr(RUN, turn)()


def some_scores() -> Scores:
    rows = [("s", "q1", "AP", 0.5), ("s", "q2", "AP", float("nan")), ("t", "q1", "AP", 0.25), ("s", "q1", "RR", 1.0)]
    frame = pl.DataFrame(rows, schema=["system", "query", "measure", "value"], orient="row").with_columns(
        pl.lit(None, dtype=pl.Float64).alias("sd"),
        pl.lit(None, dtype=pl.Float64).alias("lo"),
        pl.lit(None, dtype=pl.Float64).alias("hi"),
        pl.col("value").is_nan().cast(pl.Float64).alias("undefined"),
    )
    return Scores(frame, Policy(), pl.DataFrame({"system": ["s", "t"]}))


def test_scores_as_a_matrix() -> None:
    scores = some_scores()
    assert scores.measures == ["AP", "RR"]
    systems, queries, values = scores.matrix("AP")
    assert (systems, queries) == (["s", "t"], ["q1", "q2"])
    assert values == pytest.approx(np.array([[0.5, np.nan], [0.25, np.nan]]), nan_ok=True)
    assert scores.matrix("RR")[2] == pytest.approx(np.array([[1.0], [np.nan]]), nan_ok=True)
    with pytest.raises(EndoxaError, match=r"no score is called 'ap'; did you mean AP\? \(there are: AP, RR\)"):
        scores.matrix("ap")


def test_scores_as_a_dict() -> None:
    assert some_scores().to_dict()["t"] == {"q1": {"AP": 0.25}}


def test_a_comparison_as_dicts() -> None:
    comparison = Comparison(pl.DataFrame({"measure": ["AP"], "difference": [0.1]}), (text("a note"),))
    assert comparison.to_dict() == [{"measure": "AP", "difference": 0.1}]
    assert comparison.notes == (text("a note"),)


def test_tables_do_not_change() -> None:
    with pytest.raises(AttributeError):
        RUN.frame = pl.DataFrame()  # type: ignore[misc]


def test_rows_that_try_the_judge_count_nowhere():
    frame = pl.DataFrame(
        {
            "source": ["ana"] * 4,
            "query": ["q"] * 4,
            "item": ["a", "b", "c", "d"],
            "grade": [1.0] * 4,
            "role": ["main", "practice", "gold", "attention"],
        }
    )
    opinions = Opinions.of(frame)
    run = {"q": {"d": 4, "c": 3, "b": 2, "a": 1}}
    assert endoxa.measure(run, opinions, ["RR"]).to_dict()["run"]["q"] == {"RR": 0.25}
    assert endoxa.believe(opinions, "crisp").frame["item"].to_list() == ["a"]
