"""A backtest in words: the answer is one short claim, and its numbers are those of the tables."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from answer_samples import is_answer

import endoxa
from endoxa.evaluations.backtest import Backtest
from endoxa.evaluations.backtest_sentences import answer, courses, evidence, forecast, further, percent

RUNS = {"a": {"q": {"x": 3, "y": 2, "z": 1}}, "b": {"q": {"z": 3, "y": 2, "x": 1}}}


@pytest.fixture(scope="module")
def found() -> Backtest:
    return endoxa.backtest(RUNS, {"q": {"x": 1, "y": 0, "z": 0}}, ["AP"], labels=(0, 3), draws=2)


def stated(found: Backtest, rows: list[tuple[str, int, float]]) -> Backtest:
    return replace(found, statements=pl.DataFrame(rows, schema=["part", "stated", "right"], orient="row"))


def test_the_answer_pools_all_cells(found: Backtest) -> None:
    many = stated(
        found,
        [("field", 4000, 0.99), ("field", 210, 1.0), ("field", 0, float("nan")), ("best quarter", 312, 0.973),
         ("true best quarter", 1000, 0.1)],
    )  # fmt: skip
    assert answer(many) == "Of 4,210 pairs stated above 0.95, 99.0 % were right; in the best quarter 97.3 % of 312."
    assert is_answer(answer(many)) and len(answer(many).split()) <= 25


def test_where_nothing_is_stated_nothing_can_be_checked(found: Backtest) -> None:
    assert answer(stated(found, [("field", 0, float("nan")), ("best quarter", 0, float("nan"))])) == (
        "No pair of systems was stated above 0.95, so nothing can be checked."
    )
    alone = stated(found, [("field", 1, 1.0), ("best quarter", 0, float("nan"))])
    assert answer(alone) == "Of 1 pair stated above 0.95, all was right; in the best quarter none was stated."


def test_the_evidence_says_what_it_rests_on(found: Backtest) -> None:
    assert evidence(found) == (
        "2 draws of 0 and 3 labels a topic from 3 judgments of 2 systems on 1 topics, by AP. A pair counts once for "
        "each draw; 1 distinct pairs of systems were stated."
    )


def test_courses_and_forecast_in_words(found: Backtest) -> None:
    assert not list(further(found))
    rows = {
        "course": [0, 1, 2], "field": ["whole"] * 3, "number": [0] * 3, "measure": ["AP"] * 3,
        "settled": [True, True, False], "labels": [50, 100, 600], "leader": ["a", "b", "a"], "chance": [0.96] * 3,
        "right": [True, False, True], "loss": [0.0, 0.004, 0.0], "gap": [0.1, 0.004, 0.02],
    }  # fmt: skip
    one = replace(found, courses=pl.DataFrame(rows))
    assert courses(one) == (
        "Of 3 courses 2 were settled within 600 labels, 50.0 % of these with the right winner and all within 0.01 of "
        "the best; the median was 50 labels."
    )
    none = replace(found, courses=pl.DataFrame(rows).with_columns(settled=pl.lit(value=False)))
    assert courses(none) == "None of 3 courses was settled within 600 labels."
    looks = {
        "course": [0, 0, 1], "measure": ["AP"] * 3, "labels": [0, 25, 50], "median": [100.0, 50.0, 25.0],
        "low": [25.0] * 3, "high": [200.0] * 3, "actual": [50, 25, 50], "within_100": [0.5] * 3,
        "within_300": [0.9] * 3, "ends": [50, 50, 100],
    }  # fmt: skip
    assert forecast(replace(one, looks=pl.DataFrame(looks))) == (
        "The forecast was 2.0 times the actual number of further labels in the median (quartiles 0.5 and 2.0)."
    )
    assert len(list(further(replace(one, looks=pl.DataFrame(looks))))) == 2


def test_a_share_is_never_rounded_to_all() -> None:
    assert [percent(share) for share in (1.0, 0.9999, 0.991, float("nan"))] == ["all", "> 99.9 %", "99.1 %", "–"]
