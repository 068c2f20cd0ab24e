"""The gallery: what stands where, what is safe, who is asked first."""

from __future__ import annotations

import json
import re

import polars as pl

from endoxa.reports.pages.gallery import agreement, gallery, probabilities_of
from endoxa.reports.pages.layout import render
from endoxa.tables import Belief, Run

ROWS = [
    ("a", "q1", "x", 2.0), ("a", "q1", "y", 1.0), ("b", "q1", "x", 0.5), ("b", "q1", "y", 0.25),
    ("a", "q2", "x", 3.0), ("a", "q2", "y", 3.0), ("b", "q2", "</script><b>", 1.0),
]  # fmt: skip


def run() -> Run:
    return Run.of(pl.DataFrame(ROWS, schema=["system", "query", "item", "score"], orient="row"))


def test_queries_on_which_systems_agree_least_come_first() -> None:
    assert agreement(run().frame) == {"q1": 1.0, "q2": 0.0}
    made = gallery(run(), pictures={}, captions={})
    assert [asked.query for asked in made.queries] == ["q2", "q1"]
    assert [asked.query for asked in gallery(run(), pictures={}, captions={}, queries=1).queries] == ["q2"]
    assert made.total == 2


def test_strips_hold_each_systems_first_results_best_first() -> None:
    known = {("q1", "x"): 0.75}
    made = gallery(
        run(), pictures={"x": "data:x"}, captions={"x": "An x"}, beliefs={"us": ("what we think", known)}, depth=1
    )
    asked = next(one for one in made.queries if one.query == "q1")
    assert [(system, [r.item for r in results]) for system, results in asked.strips.items()] == [
        ("a", ["x"]),
        ("b", ["x"]),
    ]
    only = asked.strips["a"][0]
    assert (only.caption, only.score, only.probabilities, only.tied) == ("An x", "2.00", [("us", "0.75", 0.75)], False)
    tied = next(one for one in made.queries if one.query == "q2").strips["a"][0]
    assert tied.tied and tied.probabilities == [("us", "0", 0.0)]


def test_nothing_in_the_page_breaks_out_of_its_place() -> None:
    nasty = "</script><b>"
    made = gallery(run(), pictures={nasty: "data:z", "x": "data:x"}, captions={"x": "<i>x</i>"})
    html = render(title="t", sections=[], gallery=made)
    assert '<b>"' not in html and "<i>x</i>" not in html
    data = re.search(r'<script type="application/json" id="pictures">(.*?)</script>', html, re.S)
    assert data is not None
    assert json.loads(data[1]) == {nasty: "data:z", "x": "data:x"}
    assert "http:" not in html and "https:" not in html


def test_a_belief_of_several_readings_is_weighed() -> None:
    rows = [("q", "one", 0.25, "x", 1.0, 1.0), ("q", "two", 0.75, "x", 1.0, 0.5), ("q", "two", 0.75, "y", 2.0, 0.5)]
    belief = Belief.of(pl.DataFrame(rows, schema=["query", "reading", "weight", "item", "grade", "p"], orient="row"))
    assert probabilities_of(belief) == {("q", "x"): 0.625, ("q", "y"): 0.375}
    assert probabilities_of(belief, rel=2.0) == {("q", "y"): 0.375}
