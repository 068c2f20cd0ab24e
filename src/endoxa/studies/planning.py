"""From runs, pairs and settings to the tasks of a study: what is asked, of everybody or of some, and how likely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TableError
from endoxa.studies import sampling
from endoxa.studies.design import Settings
from endoxa.tables import ASIDE, Opinions, Run

TASKS = {
    "task": pl.Int64,
    "query": pl.String,
    "item": pl.String,
    "place": pl.Int64,
    "propensity": pl.Float64,
    "selected_by": pl.String,
    "role": pl.String,
    "round": pl.Int64,
    "expected": pl.String,
}
DRAWS = {"task": pl.Int64, "query": pl.String, "system": pl.String, "item": pl.String}
KNOWN = ASIDE  # roles whose answer is known beforehand


@dataclass(frozen=True)
class Work:
    """Tasks to be entered: a row per item of a task; who drew what; and sentences for the organiser."""

    tasks: pl.DataFrame
    draws: pl.DataFrame
    notes: tuple[str, ...] = ()


def prepare(
    settings: Settings, *, run: Run | None, items: list[str], pairs: pl.DataFrame | None, rng: np.random.Generator
) -> Work:
    """The first round. Some tasks, drawn at random, become common: every judge gets them first."""
    if settings.shape.kind == "file":
        made = filing(items, rng=rng)
    elif settings.choose == "pairs" or pairs is not None:
        if pairs is None:
            raise JoinError("choose = 'pairs' needs a file of pairs: query, item (from `endoxa next -o csv`)")
        made = of_pairs(settings, pairs, rng=rng)
    elif run is None:
        raise JoinError(
            "there is nothing to ask: give runs to draw results from (--run), or pairs of query and item (--pairs)"
        )
    elif settings.shape.kind == "rank":
        made = _ranking(run, settings.items_per_task, rng)
    elif settings.choose == "pool":
        made = _work(sampling.pool_plan(run, settings.depth or 10, settings.items_per_task, rng=rng))
    else:
        made = _work(
            sampling.plan(
                run, per_task=settings.items_per_task, tasks_per_query=settings.tasks_per_query, gamma=settings.gamma,
                floor=settings.floor, depth=settings.depth, rng=rng,
            )
        )  # fmt: skip
    if not made.tasks.height:
        raise TableError("no task came out: the runs or pairs are empty")
    if (
        run is not None
        and settings.choose == "proposal"
        and made.draws.height
        and len(run.systems) < settings.items_per_task
    ):
        few = f"{len(run.systems)} systems draw a result each, so a page shows fewer than {settings.items_per_task}"
        made = Work(made.tasks, made.draws, (*made.notes, few))
    return _with_common(made, settings.common, rng)


def of_pairs(settings: Settings, pairs: pl.DataFrame, *, rng: np.random.Generator) -> Work:
    """Tasks from pairs as given."""
    return _work(sampling.pairs_plan(pairs, settings.items_per_task, rng=rng))


def next_round(
    settings: Settings, run: Run, opinions: Opinions, number: int, *, asked: pl.DataFrame, rng: np.random.Generator
) -> Work:
    """A round chosen from the answers so far, so that they spread over the scale; `asked` is not asked again."""
    lo, hi = settings.shape.scale
    chosen = sampling.adapt(
        run, opinions, settings.count, round=number, levels=(lo, hi, len(settings.shape.grades)),
        floor=max(settings.floor, 0.2), depth=settings.depth, asked=asked, per_task=settings.items_per_task, rng=rng,
    )  # fmt: skip
    return _work(chosen)


def known(frame: pl.DataFrame, role: str, per_task: int) -> Work:
    """Practice, gold or attention tasks, from rows of query, item and expected.

    Rows of one query stand together, up to `per_task` of them on a page; pages come in the order of the rows.
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
    return Work(_shaped(rows).sort("task", "place"), pl.DataFrame(schema=DRAWS))


def _work(plan: sampling.Plan) -> Work:
    tasks = plan.tasks.with_columns(pl.lit("main").alias("role"), pl.lit(None, pl.String).alias("expected"))
    return Work(_shaped(tasks), plan.draws.select(list(DRAWS)), plan.notes)


def _shaped(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.col(name).cast(dtype) for name, dtype in TASKS.items())


def filing(items: list[str], *, rng: np.random.Generator) -> Work:
    """A task per item."""
    order = rng.permutation(len(items))
    rows = pl.DataFrame({"item": [items[at] for at in order], "task": range(len(items))}).with_columns(
        pl.lit(None, pl.String).alias("query"), pl.lit(0).alias("place"), pl.lit(1.0).alias("propensity"),
        pl.lit("all").alias("selected_by"), pl.lit("main").alias("role"), pl.lit(1).alias("round"),
        pl.lit(None, pl.String).alias("expected"),
    )  # fmt: skip
    return Work(_shaped(rows), pl.DataFrame(schema=DRAWS))


def _ranking(run: Run, size: int, rng: np.random.Generator) -> Work:
    """Per query the items that stand highest in some run, up to `size`."""
    best = run.frame.group_by("query", "item").agg(pl.col("rank").min(), pl.col("system").unique().sort().str.join("+"))
    best = best.sort("query", "item").with_columns(pl.Series("chance", rng.random(best.height)))
    kept = best.sort("query", "rank", "chance").filter(pl.int_range(pl.len()).over("query") < size)
    rows = kept.with_columns(
        (pl.col("query").rank("dense") - 1).alias("task"),
        pl.int_range(pl.len()).over("query").alias("place"),
        pl.lit(1.0).alias("propensity"), pl.col("system").alias("selected_by"), pl.lit("main").alias("role"),
        pl.lit(1).alias("round"), pl.lit(None, pl.String).alias("expected"),
    )  # fmt: skip
    return Work(_shaped(rows), pl.DataFrame(schema=DRAWS))


def _with_common(work: Work, common: int, rng: np.random.Generator) -> Work:
    numbers = work.tasks["task"].unique().sort().to_numpy()
    chosen = rng.choice(numbers, size=min(common, len(numbers)), replace=False)
    role = pl.when(pl.col("task").is_in(chosen.tolist())).then(pl.lit("common")).otherwise(pl.col("role"))
    notes = work.notes
    if common >= len(numbers):
        notes = (*notes, f"all {len(numbers)} tasks are common: every judge gets them all")
    return Work(work.tasks.with_columns(role.alias("role")), work.draws, notes)
