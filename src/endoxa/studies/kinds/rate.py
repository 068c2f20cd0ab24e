"""The kind `rate`: judges give each result a grade. The answers become opinions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from endoxa.errors import TextError
from endoxa.notes import Note, texts
from endoxa.policies import Metric
from endoxa.studies import adapting, sampling, settling, uniformity
from endoxa.studies import comparison as comparing
from endoxa.studies.agreement import Agreement
from endoxa.studies.design import Screen, Settings
from endoxa.studies.kinds import Answered, Response, StudyKind, near, register
from endoxa.studies.latest import as_answered, opinions
from endoxa.studies.planning import Material, Work, need_run, of_pairs, work_of
from endoxa.studies.verdict import verdict
from endoxa.tables import COUNTED, Opinions, Run, Taxonomy


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
    """A round chosen from the answers so far, so that answers use the scale evenly; `asked` is not asked again."""
    lo, hi = settings.shape.scale
    chosen = adapting.adapt(
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
    given = opinions(answers, screen.scale_name)
    found = None if given is None else comparing.agreed(given)
    return {
        "agreement": None if found is None else plain_agreement(found),
        "uniformity": _uniformity(screen, answers.filter(pl.col("grade").is_not_null())),
        "verdict": _verdict(screen, answered, found),
    }


def agreement_of(given: Opinions | None, level: Metric) -> dict[str, Any] | None:
    """Krippendorff's alpha with its interval, for the status."""
    return None if given is None else plain_agreement(comparing.agreed(given, level=level))


def plain_agreement(found: Agreement) -> dict[str, Any]:
    """An agreement as the status has it."""
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


def _verdict(screen: Screen, answered: Answered, agreement: Agreement | None) -> dict[str, Any] | None:
    """Which system's results are rated higher so far, and what the unanswered tasks can still change."""
    current = as_answered(answered.answers.filter(COUNTED), answered.shares)
    found = comparing.attempted(
        answered.run, opinions(current, screen.scale_name), scale=screen.scale, agreement=agreement
    )
    if not isinstance(found, comparing.Comparison):
        return None if found is None else {
            "estimand": "", "leads": [], "systems": [], "pairs": [], "notes": [str(found)], "scale": list(screen.scale),
        }  # fmt: skip
    rows = found.pairs.iter_rows(named=True)
    return {
        "estimand": str(found.estimand), "leads": list(texts(found.leads)), "systems": found.systems.to_dicts(),
        "pairs": [row | {"sentence": str(one)} for row, one in zip(rows, found.statements(), strict=True)],
        "notes": list(texts([found.doubts, *_planned(screen, answered, found)])), "scale": list(screen.scale),
    }  # fmt: skip


def _planned(screen: Screen, answered: Answered, found: comparing.Comparison) -> list[Note]:
    """What the planned tasks that are not answered yet can still change for the two best systems."""
    draws, answers = answered.draws, answered.answers.filter(COUNTED)
    best = found.systems["system"].to_list()[:2]
    if not set(best) <= set(draws["system"].unique()):
        return []
    planned = set(draws["task"])
    first = answers.unique(["query", "item"], keep="first", maintain_order=True)
    one = verdict(
        draws, [task for task in answered.order if task in planned], first.select("query", "item", "grade"),
        scale=screen.scale,
    )  # fmt: skip
    pair = pl.col("system").is_in(best) & pl.col("baseline").is_in(best)
    at = one.pairs.with_row_index().filter(pair)["index"].to_list()
    open_ones = [one.statements[place] for place in at if one.statements[place].code == "study.planned"]
    return [*open_ones, *one.notes]


RATE = register(
    StudyKind(
        name="rate", columns=("grade",), table=Opinions,
        tabulate=lambda answers, screen: opinions(answers, screen.scale_name),
        plan=plan, check=check, read_expected=read_expected, is_right=is_right, summary=summary, next_round=next_round,
    )
)  # fmt: skip
