"""Studies that settle which system is better: their rounds, and when they stop asking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from endoxa.errors import CallError, JoinError, TextError
from endoxa.pools.deciding import Question
from endoxa.studies import planning, settling
from endoxa.studies.design import Settings
from endoxa.tables import DRAW, Opinions, Run


def field(seed: int = 0) -> tuple[Run, dict[tuple[str, str], float]]:
    """Three systems on six queries; the first sees the truth best."""
    rng = np.random.default_rng(seed)
    rows, truth = [], {}
    for t in range(6):
        relevant = rng.random(40) < 0.3
        truth |= {(f"q{t}", f"d{d}"): float(relevant[d]) for d in range(40)}
        for system, noise in (("good", 0.4), ("fair", 1.2), ("poor", 3.0)):
            score = relevant + noise * rng.normal(size=40)
            rows += [(system, f"q{t}", f"d{d}", float(score[d])) for d in np.argsort(-score)[:25]]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")), truth


RUN, TRUTH = field()
SETTINGS = Settings(name="decide", screen="yes-no", choose="decide", common=0, count=25, rounds=settling.ROUNDS)


def answers(tasks: pl.DataFrame) -> Opinions:
    grades = [TRUTH[pair] for pair in tasks.select("query", "item").iter_rows()]
    return Opinions.of(tasks.select("query", "item", "propensity", pl.Series("grade", grades)))


def test_rounds_ask_exactly_as_many_pairs_and_none_twice() -> None:
    work = planning.prepare(SETTINGS, planning.Material(RUN), rng=np.random.default_rng(0))
    assert work.tasks.height == 25
    assert work.tasks["task"].sort().to_list() == list(range(25))
    assert set(work.tasks["role"]) == {"main"}
    assert set(work.tasks.select("selected_by", *DRAW).rows()) == {("next", 1, None, 20)}
    assert ((work.tasks["propensity"] > 0) & (work.tasks["propensity"] <= 1)).all()
    asked = work.tasks.select("query", "item")
    for number in (2, 3, 4):
        begun = settling.begin(SETTINGS, RUN, answers(work.tasks))
        work = settling.round_of(begun, 25, number, asked=asked, rng=np.random.default_rng(number))
        assert work.tasks.height == 25
        assert set(work.tasks["round"]) == {number}
        assert work.tasks.join(asked, on=["query", "item"], how="semi").is_empty()
        asked = pl.concat([asked, work.tasks.select("query", "item")])


def test_it_is_settled_by_enough_answers() -> None:
    work = settling.round_of(settling.begin(SETTINGS, RUN), 25, 1, rng=np.random.default_rng(0))
    few = answers(work.tasks.head(20))
    assert not settling.begin(SETTINGS, RUN, few).verdict.is_settled
    pairs = RUN.frame.filter(pl.col("rank") <= 20).select("query", "item").unique()
    every = pairs.with_columns(pl.lit(1.0).alias("propensity"))
    assert settling.begin(SETTINGS, RUN, answers(every)).verdict.is_settled


def test_questions_from_settings() -> None:
    two = Settings(name="d", screen="yes-no", choose="decide", measure="P@5", about="good, poor", until=0.9)
    asked = settling.question_of(two)
    assert isinstance(asked, Question)
    assert (str(asked.measure), asked.about, asked.until) == ("P@5", ("good", "poor"), 0.9)
    with pytest.raises(TextError, match="labels cannot settle RR"):
        settling.question_of(Settings(name="d", screen="yes-no", choose="decide", measure="RR"))
    with pytest.raises(TextError, match="about is best, order, or two systems"):
        settling.question_of(Settings(name="d", screen="yes-no", choose="decide", about="nope"))
    with pytest.raises(TextError, match="until is a number"):
        Settings(name="d", screen="yes-no", choose="decide", until="sure")  # type: ignore[arg-type]
    with pytest.raises(JoinError, match="two systems or more"):
        settling.begin(SETTINGS, Run(RUN.frame.filter(pl.col("system") == "good"), RUN.ties))


def test_a_measure_of_grades_that_the_screen_does_not_have_is_refused() -> None:
    """Answers yes and no settle nothing about items of grade 2."""
    with pytest.raises(CallError, match=r"screen yes-no has no grade above 1; take AP, or choose a screen"):
        settling.question_of(replace(SETTINGS, measure="AP(rel=2)"))
    assert str(settling.question_of(replace(SETTINGS, measure="AP(rel=2)", screen="one-result")).measure) == "AP(rel=2)"
