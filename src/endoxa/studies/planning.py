"""From runs, pairs and settings to the tasks of a study: the pairs to ask, their roles and their propensities."""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TableError
from endoxa.frozen import dataclass
from endoxa.notes import texts
from endoxa.pools.deciding import Deciding
from endoxa.studies import sampling
from endoxa.studies.design import Settings
from endoxa.tables import ASIDE, DRAW, Run

TASKS = {
    "task": pl.Int64, "query": pl.String, "item": pl.String, "place": pl.Int64, "propensity": pl.Float64,
    "selected_by": pl.String, **dict.fromkeys(DRAW, pl.Int64), "role": pl.String, "round": pl.Int64,
    "expected": pl.String,
}  # fmt: skip
DRAWS = sampling.DRAWS
KNOWN = ASIDE  # roles whose answer is known beforehand


@dataclass(frozen=True)
class Material:
    """What tasks are planned from; `deciding` is the question about the runs, if it is there already."""

    run: Run | None = None
    items: tuple[str, ...] = ()
    pairs: pl.DataFrame | None = None
    deciding: Deciding | None = None


@dataclass(frozen=True)
class Work:
    """Tasks to be entered.

    tasks  one row per item of a task, with the columns `TASKS`
    draws  which system drew which pair, with the columns `DRAWS`
    notes  sentences for the organiser
    """

    tasks: pl.DataFrame
    draws: pl.DataFrame
    notes: tuple[str, ...] = ()


def prepare(settings: Settings, material: Material, *, rng: np.random.Generator) -> Work:
    """The first round, as the kind of study plans it. Some tasks, drawn at random, go to every judge first."""
    work = settings.kind.plan(settings, material, rng)
    if not work.tasks.height:
        raise TableError("there is no task: the runs or pairs are empty")
    numbers = work.tasks["task"].unique().sort().to_numpy()
    chosen = rng.choice(numbers, size=min(settings.common, len(numbers)), replace=False)
    role = pl.when(pl.col("task").is_in(chosen.tolist())).then(pl.lit("common")).otherwise(pl.col("role"))
    notes = work.notes
    if settings.common >= len(numbers):
        notes = (*notes, f"all {len(numbers)} tasks are common: every judge gets all of them")
    return Work(work.tasks.with_columns(role.alias("role")), work.draws, notes)


def need_run(material: Material) -> Run:
    """The runs that results are drawn from; a study of results without pairs needs them."""
    if material.run is None:
        raise JoinError(
            "there is nothing to ask: give runs to draw results from (--run), or pairs of query and item (--pairs)"
        )
    return material.run


def of_pairs(settings: Settings, pairs: pl.DataFrame | None, rng: np.random.Generator) -> Work:
    """Tasks from pairs as given."""
    if pairs is None:
        raise JoinError("choose = 'pairs' needs a file of pairs: query, item (from `endoxa next -o csv`)")
    return work_of(sampling.pairs_plan(pairs, settings.items_per_task, rng=rng))


def known(frame: pl.DataFrame, role: str, per_task: int) -> Work:
    """Practice, gold or attention tasks, from rows of query, item and expected.

    Rows of the same query share a page, up to `per_task` of them; pages come in the order of the rows.
    """
    if role not in KNOWN:
        raise TableError(f"{role!r} is none of {', '.join(KNOWN)}")
    place = pl.int_range(pl.len()).over("query")
    frame = frame.with_row_index("row").with_columns(page=place // per_task, place=place % per_task)
    number = pl.col("row").min().over("query", "page").rank("dense").cast(pl.Int64) - 1
    rows = frame.with_columns(
        number.alias("task"), pl.lit(None, pl.Float64).alias("propensity"), pl.lit(role).alias("selected_by"),
        pl.lit(role).alias("role"), pl.lit(1, pl.Int64).alias("round"),
    )  # fmt: skip
    return Work(sampling.shaped(rows, TASKS).sort("task", "place"), pl.DataFrame(schema=DRAWS))


def work_of(plan: sampling.Plan) -> Work:
    """Main tasks from a plan of pairs."""
    tasks = plan.tasks.with_columns(pl.lit("main").alias("role"), pl.lit(None, pl.String).alias("expected"))
    return Work(sampling.shaped(tasks, TASKS), plan.draws.select(list(DRAWS)), texts(plan.notes))


def certain(rows: pl.DataFrame) -> Work:
    """Main tasks that are asked with certainty, from rows of task, query, item, place and selected_by."""
    tasks = rows.with_columns(
        pl.lit(1.0).alias("propensity"), pl.lit("main").alias("role"), pl.lit(1).alias("round"),
        pl.lit(None, pl.String).alias("expected"),
    )  # fmt: skip
    return Work(sampling.shaped(tasks, TASKS), pl.DataFrame(schema=DRAWS))
