"""The fold over all that was said, against a slow and obvious one."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.studies.latest import ROWS, answers, labels, latest, opinions

START = datetime(2026, 1, 1, tzinfo=UTC)


def table(rows):
    """Rows from dicts; what is not said is null."""
    given_rows = [
        {name: None for name in ROWS}  # noqa: C420
        | {"number": at, "role": "main", "kind": "answer", "round": 1, "at": START + timedelta(seconds=at)}
        | row
        for at, row in enumerate(rows)
    ]
    return pl.DataFrame(given_rows, schema=ROWS, orient="row")


def act(source, task, key, kind="answer", grades=(3.0,), **more):
    """An act about a task of as many items as there are grades."""
    if kind != "answer":
        return [{"source": source, "task": task, "key": key, "kind": kind, **more}]
    return [
        {"source": source, "task": task, "key": key, "query": f"q{task}", "item": f"d{task}.{at}", "grade": g, **more}
        for at, g in enumerate(grades)
    ]


acts = st.lists(
    st.tuples(
        st.sampled_from(["ana", "ben"]), st.integers(0, 2), st.sampled_from(["answer", "answer", "skip", "undo"]),
        st.lists(st.sampled_from([1.0, 2.0, None]), min_size=2, max_size=2),
    ),
    max_size=12,
)  # fmt: skip


@given(acts)
def test_the_last_act_counts(plan):
    rows, held = [], {}
    for number, (source, task, kind, grades) in enumerate(plan):
        rows += act(source, task, f"key{number}", kind, grades)
        held[source, task] = [(source, f"d{task}.{at}", g) for at, g in enumerate(grades)] if kind == "answer" else []
    found = latest(table(rows).sample(fraction=1, shuffle=True, seed=1))  # the order of rows is in their numbers
    wanted = sorted((row for part in held.values() for row in part), key=str)
    assert sorted(found.select("source", "item", "grade").rows(), key=str) == wanted
    assert found["number"].is_sorted()


def test_nothing_said():
    empty = latest(table([]))
    assert empty.height == 0 and dict(empty.schema) == ROWS
    assert opinions(empty, "1-5") is None and labels(empty) is None and answers(empty) is None


def test_opinions_keep_what_was_recorded():
    rows = table(act("ana", 1, "k", grades=(4.0, None), propensity=0.25, selected_by="a+b", role="common"))
    frame = opinions(latest(rows), "1-5").frame
    assert frame.select("source", "query", "item", "grade", "scale", "propensity", "selected_by", "role").rows() == [
        ("ana", "q1", "d1.0", 4.0, "1-5", 0.25, "a+b", "common"),
        ("ana", "q1", "d1.1", None, "1-5", 0.25, "a+b", "common"),
    ]
    assert frame["at"].to_list() == [START, START + timedelta(seconds=1)]


@pytest.mark.parametrize(
    ("roles", "kept"),
    [
        (("gold", "main"), 1), (("main", "gold"), 0), (("main", "main"), 1), (("practice", "gold"), 1),
        (("common", "attention"), 0), (("main", "common"), 1),
    ],
)  # fmt: skip
def test_a_pair_met_twice_counts_once(roles, kept):
    """In another task each time. The main answer counts, and of two the later."""
    pair = {"query": "q", "item": "d"}
    rows = [{"source": "ana", "task": n, "key": f"k{n}", "grade": float(n), "role": role, **pair}
            for n, role in enumerate(roles)]  # fmt: skip
    frame = opinions(latest(table(rows)), "1-5").frame
    assert frame.select("grade", "role").rows() == [(float(kept), roles[kept])]


def test_labels_leave_out_practice_and_undecided():
    rows = [
        {"source": "ana", "task": 0, "key": "a", "item": "d0", "category": "cats"},
        {"source": "ana", "task": 1, "key": "b", "item": "d1", "category": None},
        {"source": "ana", "task": 2, "key": "c", "item": "d2", "category": "dogs", "role": "practice"},
        {"source": "ben", "task": 0, "key": "d", "item": "d0", "category": "dogs"},
    ]
    assert labels(latest(table(rows))).frame.rows() == [("ana", "d0", "cats"), ("ben", "d0", "dogs")]


def test_of_a_query_ranked_twice_the_later_counts_whole():
    def ranked(task, items, **more):
        return [
            {"source": "ana", "task": task, "key": f"k{task}", "query": "q", "item": item, "rank": at,
             "relevance": 1 / at, **more}
            for at, item in enumerate(items, 1)
        ]  # fmt: skip

    rows = table([*ranked(0, "xyz"), *ranked(1, "zw"), *ranked(2, "ab", role="practice")])
    assert answers(latest(rows)).frame.select("item", "rank").rows() == [("z", 1), ("w", 2)]
