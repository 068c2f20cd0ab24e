"""The front door for ratings of people: tables are read here; `endoxa.evaluations.ratings` does the work."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Any, Literal

import polars as pl

from endoxa.evaluations import ratings
from endoxa.evaluations.ratings import METHODS, STEPS, Analysis, Metric, Progress
from endoxa.io.read import judgments_of, run_of
from endoxa.studies.mapping import Method
from endoxa.tables import Belief, Opinions

__all__ = ["STEPS", "Analysis", "analyse", "believe", "opinions_of"]


def analyse(
    opinions: Any,
    run: Any = None,
    *,
    threshold: float | None = None,
    calibrated: bool = True,
    shrinkage: float = 5.0,
    metric: Metric = "interval",
    methods: Sequence[Method] = METHODS,
    distances: bool | Literal["auto"] | Collection[str] = False,
    confidence: float = 0.95,
    resamples: int = 500,
    seed: int = 0,
    progress: Progress | None = None,
) -> Analysis:
    """Analyse people's ratings, and how well systems' scores follow them: see `endoxa.evaluations.ratings.analyse`.

    >>> found = analyse({"q": {"a": 1, "b": 5}})
    >>> found.raters, found.pairs, found.threshold
    (1, 2, 3.0)
    """
    return ratings.analyse(
        opinions_of(opinions), None if run is None else run_of(run), threshold=threshold, calibrated=calibrated,
        shrinkage=shrinkage, metric=metric, methods=methods, distances=distances, confidence=confidence,
        resamples=resamples, seed=seed, progress=progress,
    )  # fmt: skip


def believe(
    opinions: Any,
    *,
    threshold: float,
    model: str | None = None,
    calibrated: bool = True,
    shrinkage: float = 5.0,
    seed: int = 0,
    **settings: Any,
) -> Belief:
    """Turn ratings into a belief: see `endoxa.evaluations.ratings.believe`. `settings` are those of the model.

    >>> rows = [{"source": who, "query": "q", "item": "x", "grade": g} for who, g in (("a", 5), ("b", 4), ("c", 2))]
    >>> believe(rows, threshold=3, calibrated=False).frame["p"].round(3).to_list()
    [0.667]
    """
    return ratings.believe(
        opinions_of(opinions), threshold=threshold, model=model, calibrated=calibrated, shrinkage=shrinkage, seed=seed,
        settings=settings,
    )  # fmt: skip


def opinions_of(source: Any) -> Opinions:
    """Ratings from a table, a file (column 2 of qrels says who judged), or several files."""
    if isinstance(source, Opinions):
        return source
    several = isinstance(source, list | tuple) and source and all(isinstance(s, str | os.PathLike) for s in source)
    tables = [judgments_of(place, "mean") for place in (source if several else [source])]
    return tables[0] if len(tables) == 1 else Opinions.of(pl.concat([table.frame for table in tables]))
