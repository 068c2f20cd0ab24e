"""Studies that settle which system is better: every round asks the pairs whose labels say most about it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import polars as pl

from endoxa.beliefs.learned import Judged, Universe
from endoxa.errors import JoinError
from endoxa.measures.grammar import parse
from endoxa.measures.judgments import refuse_out_of_reach
from endoxa.pools import choosing, deciding
from endoxa.pools.deciding import Question
from endoxa.pools.guaranteed import Draws
from endoxa.studies.design import Settings
from endoxa.studies.planning import DRAWS, TASKS, Work
from endoxa.tables import Opinions, Run

AHEAD = 5  # free tasks at which the next round is planned
ROUNDS = 10_000  # as many as are needed


def question_of(settings: Settings) -> Question:
    """What the labels of a study are to settle."""
    about, measure, screen = choosing.about_of(settings.about), parse(settings.measure), settings.shape
    grades = [grade.value for grade in screen.grades] or screen.scale
    refuse_out_of_reach([measure], grades, f"the screen {screen.name}", "choose a screen with higher grades")
    return Question(measure, about, settings.until, guarantee=settings.guarantee)


def depth_of(settings: Settings, run: Run) -> int:
    """How deep in the lists pairs are drawn."""
    return choosing.depth_of(universe_of(run, settings.depth), question_of(settings).measure)


@lru_cache(maxsize=4)
def universe_of(run: Run, depth: int | None) -> Universe:
    """The universe of a run, made once."""
    if len(run.systems) < 2:
        raise JoinError("labels decide between two systems or more; add a run")
    return Universe.of(run, depth)


def is_settled(settings: Settings, run: Run, answered: Opinions) -> bool:
    """Whether the answers so far settle the question."""
    return deciding.verdict(universe_of(run, settings.depth), question_of(settings), answered).is_settled


def first_round(settings: Settings, run: Run, rng: np.random.Generator) -> Work:
    """The first round: chosen by the consensus of the systems."""
    return _round(settings, run, None, 1, None, rng)


def further_round(
    settings: Settings, run: Run, answered: Opinions, number: int, asked: pl.DataFrame, rng: np.random.Generator
) -> Work:
    """A later round: chosen by what was learned so far; what was asked before is not asked again."""
    return _round(settings, run, answered, number, asked, rng)


def _round(
    settings: Settings, run: Run, answered: Opinions | None, number: int, asked: pl.DataFrame | None,
    rng: np.random.Generator,
) -> Work:  # fmt: skip
    universe, question = universe_of(run, settings.depth), question_of(settings)
    learned = deciding.teach(universe, question, Judged.of(universe, answered))
    waiting = np.zeros(0, np.int64) if asked is None else deciding.rows_of(universe, _inside(universe, asked))
    if question.guarantee:
        draws = Draws.of(universe, answered)
        pairs = deciding.ask_alone(question, learned, settings.count, draws=draws, asked=waiting, rng=rng)
    else:
        pairs = deciding.ask(question, learned, settings.count, number=number, asked=waiting, rng=rng)
    tasks = pairs.select(
        (pl.col("order") - 1).alias("task"), "query", "item", pl.lit(0, pl.Int64).alias("place"), "propensity",
        "selected_by", pl.lit("main").alias("role"), pl.lit(number, pl.Int64).alias("round"),
        pl.lit(None, pl.String).alias("expected"),
    )  # fmt: skip
    note = f"round {number}: {pairs.height:,} pairs of {pairs['query'].n_unique():,} queries, {question.measure}"
    return Work(tasks.select(list(TASKS)), pl.DataFrame(schema=DRAWS), (note,))


def _inside(universe: Universe, pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.join(universe.rows, on=["query", "item"], how="semi", maintain_order="left")
