"""Studies that settle which system is better: every round asks the pairs whose labels say most about it."""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.beliefs.learned import Universe
from endoxa.errors import JoinError, RefusedError
from endoxa.measures.grammar import parse
from endoxa.measures.judgments import refuse_out_of_reach
from endoxa.pools import choosing
from endoxa.pools.deciding import Deciding, Question, rows_of
from endoxa.studies.design import Settings
from endoxa.studies.planning import DRAWS, TASKS, Work
from endoxa.tables import DRAW, Gradings, Ints, Opinions, Run

AHEAD = 5  # free tasks at which the next round is planned
ROUNDS = 10_000  # as many as are needed


def question_of(settings: Settings) -> Question:
    """What the labels of a study are to settle."""
    about, measure, screen = choosing.about_of(settings.about), parse(settings.measure), settings.shape
    grades = [grade.value for grade in screen.grades] or screen.scale
    refuse_out_of_reach([measure], grades, f"the screen {screen.name}", "choose a screen with higher grades")
    return Question(measure, about, settings.until, guarantee=settings.guarantee, exactly=settings.exactly)


def begin(settings: Settings, run: Run, labels: Opinions | None = None, judges: Gradings | None = None) -> Deciding:
    """The question of a study about its runs, beside what machine judges say of them."""
    if len(run.systems) < 2:
        raise JoinError("labels decide between two systems or more", remedy="add a run")
    return Deciding.of(Universe.of(run, settings.depth).with_judges(judges), question_of(settings), labels)


def round_of(
    deciding: Deciding, count: int, number: int, *, asked: pl.DataFrame | None = None, rng: np.random.Generator
) -> Work:
    """A round of tasks, chosen by what was learned so far; what was `asked` before is not asked again."""
    question = deciding.question
    if not is_left(deciding, asked):
        raise RefusedError("all pairs that bear on the measure were asked", remedy="add runs, or raise the depth")
    pairs = deciding.ask(count, number=number, asked=_rows(deciding.universe, asked), rng=rng)
    tasks = pairs.select(
        (pl.col("order") - 1).alias("task"), "query", "item", pl.lit(0, pl.Int64).alias("place"), "propensity",
        "selected_by", *DRAW, pl.lit("main").alias("role"), pl.lit(number, pl.Int64).alias("round"),
        pl.lit(None, pl.String).alias("expected"),
    )  # fmt: skip
    note = f"round {number}: {pairs.height:,} pairs of {pairs['query'].n_unique():,} queries, {question.measure}"
    return Work(tasks.select(list(TASKS)), pl.DataFrame(schema=DRAWS), (note,))


def is_left(deciding: Deciding, asked: pl.DataFrame | None) -> bool:
    """Whether there is a pair to ask about: as deep as the measure looks, not judged and not asked."""
    left = choosing.askable(deciding.universe, deciding.question.measure) & deciding.learned.unjudged
    left[_rows(deciding.universe, asked)] = False
    return bool(left.any())


def _rows(universe: Universe, asked: pl.DataFrame | None) -> Ints:
    if asked is None:
        return np.zeros(0, np.int64)
    return rows_of(universe, asked.join(universe.rows, on=["query", "item"], how="semi", maintain_order="left"))
