"""What the answers so far say of the planned tasks, with intervals that stay valid if one looks after every task.

The only doubt is which answers the remaining tasks will get. Other queries, other judges and pairs that were not asked
are the doubts of `studies.comparison`, which alone says that a system is better.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TableError, TextError
from endoxa.frozen import dataclass
from endoxa.notes import Note, note
from endoxa.policies import refuse_outside
from endoxa.statistics.betting import confidence_sequence
from endoxa.tables import Floats, Ints, refuse_null, require

GRID = 1000  # number of means in the grid of the confidence sequence
ROUNDING = 1e-9  # relative to the scale: smaller differences are 0


@dataclass(frozen=True, eq=False)
class Verdict:
    """The planned tasks; with probability 1 - alpha, all intervals are correct at all times.

    systems     system, n (number of answered draws), mean (of their ratings so far), lo, hi (for the mean over all
                planned tasks)
    pairs       system, baseline, difference (of the two means so far), lo, hi, decided (the interval excludes 0)
    answered    number of completely answered tasks, out of `tasks` planned
    statements  one note per pair
    notes       what was left out
    """

    systems: pl.DataFrame
    pairs: pl.DataFrame
    answered: int
    tasks: int
    statements: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()


def verdict(
    draws: pl.DataFrame, order: Iterable[int], grades: pl.DataFrame, *, scale: tuple[float, float],
    tasks: int | None = None, alpha: float = 0.05, simultaneous: bool = True,
) -> Verdict:  # fmt: skip
    """The mean rating of what each system shows, and the differences, with intervals that are valid at any time.

    theta_m = Σ over m's draws of the rating / number of m's draws. Each task gives z = Σ over its pairs of coef ·
    rating, coef = draws of the pair by m / all draws of m (for a difference coef_a - coef_b), rescaled to [0, 1] by the
    bounds of all planned tasks. Tasks are given out in random order, so the z are drawn without replacement. The
    interval is a betting confidence sequence over the tasks with a non-zero coefficient, intersected with the range
    that the unanswered tasks still allow; when all tasks are answered, it is the value itself.

    draws         task, query, system, item of the plan, all tasks
    order         the tasks in the order in which they were given out (random, as a plan numbers them)
    grades        query, item, grade of the first answer; null is undecided; pairs without a row are not answered yet
    simultaneous  divide alpha equally among the intervals of all pairs, and among those of all systems (Bonferroni)
    Undecided pairs are left out as if they had not been drawn. A task counts once all its pairs are answered.
    Misleads: a system's own interval is valid only if the same judges work throughout (if a severe judge answers the
    first half, it missed in 20 to 97 % of simulated studies); differences do not shift. The verdict covers the planned
    tasks and first answers, not other queries or raters. It is invalid if raters pick or abandon tasks because of their
    content, and approximate with many undecided pairs.
    Source: Waudby-Smith & Ramdas 2024; docs/methods/deciding.md, Confidence sequences.
    """
    study = _study(draws, order, grades, scale, tasks)
    refuse_outside("alpha", alpha, 0.05)
    names, M = study.systems, len(study.systems)
    each = alpha / M if simultaneous else alpha
    rows = []
    means = []
    for m, name in enumerate(names):
        count = study.counts[m]
        seen = count * study.answered
        n = int(seen.sum())
        means.append(float((seen * study.ratings).sum() / n) if n else math.nan)
        lo, hi = _last(*_course(study, _share(count), each), own=True, scale=scale)
        rows.append((name, n, means[m], lo, hi))
    couples = list(combinations(range(M), 2))
    each = alpha / max(len(couples), 1) if simultaneous else alpha
    compared, statements = [], []
    for a, b in couples:
        coef = _share(study.counts[a]) - _share(study.counts[b])
        lo, hi = _last(*_course(study, coef, each), own=False, scale=scale)
        decided = lo > 0 or hi < 0
        compared.append((names[a], names[b], means[a] - means[b], lo, hi, decided))
        statements.append(_statement(names[a], names[b], lo, hi, len(study.order), study.tasks))
    systems = {"system": pl.String, "n": pl.Int64, "mean": pl.Float64, "lo": pl.Float64, "hi": pl.Float64}
    pairs = dict.fromkeys(("difference", "lo", "hi"), pl.Float64)
    return Verdict(
        pl.DataFrame(rows, schema=systems, orient="row"),
        pl.DataFrame(
            compared, schema={"system": pl.String, "baseline": pl.String, **pairs, "decided": pl.Boolean}, orient="row"
        ),
        len(study.order),
        study.tasks,
        tuple(statements),
        tuple(study.notes),
    )


def course(
    draws: pl.DataFrame, order: Iterable[int], grades: pl.DataFrame, *, scale: tuple[float, float], system: str,
    baseline: str | None = None, alpha: float = 0.05,
) -> pl.DataFrame:  # fmt: skip
    """The course of the interval of a system, or of its difference from a baseline: tasks, lo, hi.

    There is one row per answered task with a non-zero coefficient; `tasks` is its position among the answered ones.
    """
    study = _study(draws, order, grades, scale, None)
    for name in (system, baseline):
        if name is not None and name not in study.systems:
            raise JoinError(
                f"system {name!r} has no draws in the plan", remedy=f"systems with draws: {', '.join(study.systems)}"
            )
    coef = _share(study.counts[study.systems.index(system)])
    if baseline is not None:
        coef = coef - _share(study.counts[study.systems.index(baseline)])
    at, lo, hi = _course(study, coef, alpha)
    width, start = scale[1] - scale[0], 0.0 if baseline is not None else scale[0]
    return pl.DataFrame({"tasks": at + 1, "lo": start + width * lo, "hi": start + width * hi})


@dataclass(frozen=True, eq=False)
class _Study:
    """The plan as arrays over its pairs; counts are draws by [system, pair]."""

    systems: list[str]
    task: Ints
    counts: Floats
    ratings: Floats  # as given; 0 where not answered
    unit: Floats  # in [0, 1]; 0 where not answered
    answered: Floats  # 1 or 0
    order: Ints
    tasks: int
    notes: list[Note]


def _study(
    draws: pl.DataFrame, order: Iterable[int], grades: pl.DataFrame, scale: tuple[float, float], tasks: int | None
) -> _Study:
    """Check the input, and convert it to arrays."""
    lo, hi = scale
    if not lo < hi:
        raise TextError(f"the lowest grade of a scale is below the highest; here they are {lo:g} and {hi:g}")
    require(draws, ("task", "query", "system", "item"), "table of draws")
    require(grades, ("query", "item", "grade"), "table of grades")
    refuse_null(draws, ("task", "query", "system", "item"), "table of draws")
    if not draws.height:
        raise TableError(
            "the plan has no draws by systems", remedy="a verdict needs a plan in which systems drew the pairs"
        )
    if (twice := grades.filter(grades.select("query", "item").is_duplicated())).height:
        raise TableError(
            f"item {twice['item'][0]!r} of query {twice['query'][0]!r} has several grades",
            remedy="keep the first answer",
        )
    outside = grades.filter(~pl.col("grade").cast(pl.Float64).is_between(lo, hi))
    if outside.height:
        raise TableError(
            f"grade {outside['grade'][0]:g} of item {outside['item'][0]!r} is not on the scale from {lo:g} to {hi:g}",
            remedy="use the original grades, not calibrated ones",
        )
    systems = sorted(draws["system"].unique())
    pairs = draws.group_by("query", "item").agg(pl.col("task").first(), pl.col("task").n_unique().alias("several"))
    if (torn := pairs.filter(pl.col("several") > 1)).height:
        raise TableError(
            f"item {torn['item'][0]!r} of query {torn['query'][0]!r} is in several tasks", remedy="ask it in one"
        )
    first = grades.select("query", "item", pl.col("grade").cast(pl.Float64), pl.lit(True).alias("is_answered"))
    pairs = pairs.sort("task", "query", "item").join(first, on=["query", "item"], how="left", maintain_order="left")
    answered_tasks = pairs.group_by("task").agg(pl.col("is_answered").fill_null(False).all())
    done = set(answered_tasks.filter("is_answered")["task"])
    known = set(answered_tasks["task"])
    given = list(order)
    if len(set(given)) < len(given) or not set(given) <= known:
        wrong = next(t for i, t in enumerate(given) if t not in known or t in given[:i])
        raise TableError(
            f"the order contains task {wrong} {'twice' if wrong in known else 'which is not in the plan'}",
            remedy="it lists the tasks that were given out, each once",
        )
    number = len(known) if tasks is None else tasks
    if number < len(known):
        raise TableError(f"the plan has {len(known):,} tasks, more than the {number:,} in `tasks`")
    finished = [task for task in given if task in done]
    notes = list[Note]()
    if len(finished) < len(given):
        notes.append(note("study.unfinished", tasks=len(given) - len(finished)))
    undecided = pairs.filter(pl.col("is_answered") & pl.col("grade").is_null()).height
    if undecided:
        notes.append(note("study.undecided", pairs=undecided))
        pairs = pairs.filter(pl.col("is_answered").is_null() | pl.col("grade").is_not_null())
    drawn = draws.join(pairs.with_row_index("pair").select("query", "item", "pair"), on=["query", "item"], how="inner")
    cell = drawn["system"].replace_strict(systems, list(range(len(systems))), return_dtype=pl.Int64).to_numpy()
    cell = cell * pairs.height + drawn["pair"].to_numpy().astype(np.int64)
    counts = np.bincount(cell, minlength=len(systems) * pairs.height).reshape(len(systems), pairs.height)
    counted = pairs.select(pl.col("task").is_in(finished).cast(pl.Float64))["task"].to_numpy()
    rating = np.where(counted > 0, pairs["grade"].fill_null(lo).to_numpy(), 0.0)
    return _Study(
        systems, pairs["task"].to_numpy(), counts.astype(np.float64), rating,
        np.where(counted > 0, (rating - lo) / (hi - lo), 0.0), counted, np.asarray(finished, dtype=np.int64), number,
        notes,
    )  # fmt: skip


def _share(counts: Floats) -> Floats:
    """The draws of each pair as a share of the system's draws; NaN if it has none."""
    whole = counts.sum()
    return counts / whole if whole > 0 else np.full(len(counts), np.nan)


def _course(study: _Study, coef: Floats, alpha: float) -> tuple[Ints, Floats, Floats]:
    """The positions of the tasks with a coefficient, and the interval of Σ coef·unit after each, ratings in [0, 1].

    Without any answer, the possible range at position -1. NaN if a system has no draws left.
    """
    nowhere = np.array([-1])
    if np.isnan(coef).any():
        return nowhere, np.array([np.nan]), np.array([np.nan])
    names, at = np.unique(study.task[coef != 0], return_inverse=True)
    if not len(names):  # two systems that drew the same pairs equally often
        return nowhere, np.zeros(1), np.zeros(1)
    counted = coef != 0
    c, unit = coef[counted], study.unit[counted]
    n = len(names)
    least = np.bincount(at, weights=np.minimum(c, 0), minlength=n)  # the minimum of a task, for any ratings
    most = np.bincount(at, weights=np.maximum(c, 0), minlength=n)
    z = np.bincount(at, weights=c * unit, minlength=n)
    L, U = float(least.min()), float(most.max())
    place = np.flatnonzero(np.isin(study.order, names))
    if not len(place):
        return nowhere, np.array([least.sum()]), np.array([most.sum()])
    seen = np.searchsorted(names, study.order[place])
    x = np.clip((z[seen] - L) / (U - L), 0, 1)
    sequence = confidence_sequence(x, alpha=alpha, pool=n, grid=GRID)
    lo, hi = n * (L + (U - L) * sequence.lo), n * (L + (U - L) * sequence.hi)
    # tasks differ in their possible contribution: the rest is bounded by its own coefficients
    so_far = np.cumsum(z[seen])
    low = so_far + least.sum() - np.cumsum(least[seen])
    high = so_far + most.sum() - np.cumsum(most[seen])
    apart = (lo > high) | (hi < low)  # the certain range wins over the confidence sequence
    return place, np.where(apart, low, np.maximum(lo, low)), np.where(apart, high, np.minimum(hi, high))


def _last(_: Ints, lo: Floats, hi: Floats, *, own: bool, scale: tuple[float, float]) -> tuple[float, float]:
    """The last interval, on the scale."""
    width, start = scale[1] - scale[0], scale[0] if own else 0.0
    low, high = (0.0 if abs(end) < ROUNDING else float(end) for end in (lo[-1], hi[-1]))
    return start + width * low, start + width * high


def _statement(a: str, b: str, lo: float, hi: float, answered: int, tasks: int) -> Note:
    """What is known of the difference of two systems over the planned tasks."""
    if math.isnan(lo):
        return note("study.planned_none", system=a, baseline=b)
    code = "study.planned_done" if answered == tasks else "study.planned"
    return note(code, system=a, baseline=b, lo=lo, hi=hi, answered=answered, tasks=tasks)
