"""The kind `rate`: judges give each result a grade. The answers become opinions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from endoxa.errors import TextError
from endoxa.policies import Metric
from endoxa.studies import agreement, sampling, settling, uniformity
from endoxa.studies.design import Screen, Settings
from endoxa.studies.kinds import Answered, Response, StudyKind, near, register
from endoxa.studies.latest import opinions
from endoxa.studies.planning import Material, Work, need_run, of_pairs, work_of
from endoxa.studies.verdict import verdict
from endoxa.tables import COUNTED, Opinions, Run, Taxonomy

RESAMPLES = 200  # of the interval of agreement; few, because the dashboard is live


def plan(settings: Settings, material: Material, rng: np.random.Generator) -> Work:
    """Tasks from pairs as given, from the pool of the runs, or drawn from the runs by a proposal."""
    if settings.choose == "pairs" or material.pairs is not None:
        return of_pairs(settings, material.pairs, rng)
    run = need_run(material)
    if settings.choose == "decide":
        return settling.round_of(material.deciding or settling.begin(settings, run), settings.count, 1, rng=rng)
    if settings.choose == "pool":
        return work_of(sampling.pool_plan(run, settings.depth or 10, settings.items_per_task, rng=rng))
    drawn = sampling.plan(
        run, per_task=settings.items_per_task, tasks_per_query=settings.tasks_per_query, gamma=settings.gamma,
        floor=settings.floor, depth=settings.depth, rng=rng,
    )  # fmt: skip
    work = work_of(drawn)
    if len(run.systems) >= settings.items_per_task:
        return work
    few = f"only {len(run.systems)} systems draw a result each, so a page shows fewer than {settings.items_per_task}"
    return Work(work.tasks, work.draws, (*work.notes, few))


def next_round(
    settings: Settings, run: Run, answered: Opinions, number: int, asked: pl.DataFrame, rng: np.random.Generator
) -> Work:
    """A round chosen from the answers so far, so that answers spread over the scale; `asked` is not asked again."""
    lo, hi = settings.shape.scale
    chosen = sampling.adapt(
        run, answered, settings.count, round=number, scale=(lo, hi, len(settings.shape.grades)),
        floor=max(settings.floor, 0.2), depth=settings.depth, asked=asked, per_task=settings.items_per_task, rng=rng,
    )  # fmt: skip
    return work_of(chosen)


def check(screen: Screen, responses: Sequence[Response], _: Taxonomy | None) -> str | None:
    """A response is one of the screen's grades, or undecided."""
    grades = {grade.value for grade in screen.grades}
    for response in responses:
        if response.grade is not None and response.grade not in grades:
            lo, hi = screen.scale
            return f"{response.grade:g} is not on the scale from {lo:g} to {hi:g}"
    return None


def read_expected(text: str, screen: Screen, _: Taxonomy | None) -> str:
    """A grade of the screen, without a fraction of zero."""
    grades = [f"{grade.value:g}" for grade in screen.grades]
    if text.removesuffix(".0") not in grades:
        raise TextError(f"expected one of {', '.join(grades)}")
    return text.removesuffix(".0")


def is_right(expected: str, response: Response, tolerance: float = 0.0) -> bool:
    """Whether the grade lies within the tolerance of the known one."""
    return near(expected, response.grade, tolerance)


def summary(screen: Screen, answered: Answered) -> dict[str, Any]:
    """Agreement, use of the grades, and the verdict on the systems."""
    answers = answered.answers.filter(COUNTED)
    return {
        "agreement": agreement_of(opinions(answers, screen.scale_name), "interval"),
        "uniformity": _uniformity(screen, answers.filter(pl.col("grade").is_not_null())),
        "verdict": _verdict(screen, answers, answered),
    }


def agreement_of(given: Opinions | None, level: Metric) -> dict[str, Any] | None:
    """Krippendorff's alpha with its interval, for the status."""
    if given is None:
        return None
    found = agreement.agreement(given, level=level, resamples=RESAMPLES, rng=np.random.default_rng(0))
    return {
        "alpha": found.alpha, "lo": found.lo, "hi": found.hi, "level": found.level, "units": found.units,
        "note": "; ".join(found.notes[:2]) if math.isnan(found.alpha) else "",  # why it is undefined
    }  # fmt: skip


def _uniformity(screen: Screen, rows: pl.DataFrame) -> dict[str, Any] | None:
    """How evenly judges use the grades, in all and by round."""
    if not rows.height:
        return None
    values = [grade.value for grade in screen.grades]
    found = uniformity.deviation(rows["grade"].to_numpy(), values)
    counts = dict(rows["grade"].value_counts().iter_rows())
    by_round = [
        {"round": number, "deviation": uniformity.deviation(part["grade"].to_numpy(), values).normalised,
         "answers": part.height}
        for (number,), part in rows.sort("round", maintain_order=True).group_by("round", maintain_order=True)
    ]  # fmt: skip
    shares = [
        {"grade": grade.value, "label": grade.label, "share": share, "count": counts.get(grade.value, 0)}
        for grade, share in zip(screen.grades, found.shares, strict=True)
    ]
    return {"deviation": found.dev, "normalised": found.normalised, "shares": shares, "by_round": by_round}


def _verdict(screen: Screen, answers: pl.DataFrame, answered: Answered) -> dict[str, Any] | None:
    """Which system is better so far, with intervals that are valid at any time."""
    draws = answered.draws
    if draws["system"].n_unique() < 2:
        return None
    planned = set(draws["task"])
    first = answers.unique(["query", "item"], keep="first", maintain_order=True)
    found = verdict(
        draws, [task for task in answered.order if task in planned], first.select("query", "item", "grade"),
        scale=screen.scale,
    )  # fmt: skip
    count = found.pairs.height  # the first notes are the sentences about the pairs, in their order
    pairs = [
        {**row, "sentence": sentence} for row, sentence in zip(found.pairs.to_dicts(), found.notes[:count], strict=True)
    ]
    limits = [
        f"The verdict covers the {found.tasks:,} planned tasks and the first answer to each ({found.answered:,} so "
        "far). It does not cover other queries or other judges; use endoxa ratings or endoxa eval for those.",
        "The intervals of the differences are valid at any time. The means are only the values so far: they shift when "
        "judges of different severity answer one after another.",
    ]
    return {
        "systems": found.systems.with_columns(pl.lit(None).alias("lo"), pl.lit(None).alias("hi")).to_dicts(),
        "pairs": pairs, "notes": [*found.notes[count:], *limits], "scale": list(screen.scale),
    }  # fmt: skip


RATE = register(
    StudyKind(
        name="rate", columns=("grade",), table=Opinions,
        tabulate=lambda answers, screen: opinions(answers, screen.scale_name),
        plan=plan, check=check, read_expected=read_expected, is_right=is_right, summary=summary, next_round=next_round,
    )
)  # fmt: skip
