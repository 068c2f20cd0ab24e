"""The kind `rank`: judges put the results of a query in order and say how relevant each is. They become answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from endoxa.errors import TextError
from endoxa.studies.design import Screen, Settings
from endoxa.studies.kinds import Response, StudyKind, near, register
from endoxa.studies.latest import answers as as_answers
from endoxa.studies.planning import Material, Work, certain, need_run, of_pairs
from endoxa.tables import Answers, Taxonomy


def plan(settings: Settings, material: Material, rng: np.random.Generator) -> Work:
    """Tasks from pairs as given; otherwise, per query, the items that rank highest in any run."""
    if settings.choose == "pairs" or material.pairs is not None:
        return of_pairs(settings, material.pairs, rng)
    run = need_run(material)
    best = run.frame.group_by("query", "item").agg(
        pl.col("rank").min(), pl.col("system").unique().sort().str.join("+").alias("selected_by")
    )
    best = best.sort("query", "item").with_columns(pl.Series("chance", rng.random(best.height)))
    place = pl.int_range(pl.len()).over("query")
    kept = best.sort("query", "rank", "chance").filter(place < settings.items_per_task)
    return certain(kept.with_columns((pl.col("query").rank("dense") - 1).alias("task"), place.alias("place")))


def check(_: Screen, responses: Sequence[Response], __: Taxonomy | None) -> str | None:
    """Ranks 1, 2, 3 … without a gap, and a relevance between 0 and 1 that never rises with rank."""
    ordered = sorted(responses, key=lambda response: response.rank or 0)
    if [response.rank for response in ordered] != list(range(1, len(ordered) + 1)):
        return "ranks count 1, 2, 3 … without a gap"
    relevance = [-1.0 if response.relevance is None else response.relevance for response in ordered]
    if any(not 0 <= value <= 1 for value in relevance):
        return "relevance lies between 0 and 1"
    if any(above < below for above, below in pairwise(relevance)):
        return "relevance falls with rank: an item cannot be more relevant than the one above it"
    return None


def read_expected(text: str, _: Screen, __: Taxonomy | None) -> str:
    """A relevance between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise TextError("expected a relevance between 0 and 1")
    return str(value).removesuffix(".0")


def is_right(expected: str, response: Response, tolerance: float = 0.0) -> bool:
    """Whether the relevance lies within the tolerance of the known one."""
    return near(expected, response.relevance, tolerance)


RANK = register(
    StudyKind(
        name="rank", columns=("rank", "relevance"), table=Answers, tabulate=lambda answers, _: as_answers(answers),
        plan=plan, check=check, read_expected=read_expected, is_right=is_right,
    )
)  # fmt: skip
