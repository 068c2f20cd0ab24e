"""rate: what people's ratings say, about themselves and about systems."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

from endoxa import __version__
from endoxa.evaluations import ratings
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.ratings import METHODS, Metric
from endoxa.progress import Progress
from endoxa.studies.score_mapping import Method
from endoxa.verbs.inputs import files_of, opinions_of, run_of, takes_either_order


@takes_either_order
def rate(
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
    title: str = "",
    command: str = "",
    progress: Progress | None = None,
) -> Evaluation:
    """Analyse people's ratings: agreement, calibration, each rater; with runs, which system people agree with.

    `opinions` and `run` are tables, files, frames or dicts. `threshold`: a mean rating above it is relevant; without
    one, the middle of the scale. `metric` is the level of measurement behind alpha (nominal, ordinal, interval, ratio).
    The details of the evaluation hold everything that was found.

    >>> found = rate({"q": {"a": 1, "b": 5}}).details
    >>> found.raters, found.pairs, found.threshold
    (1, 2, 3.0)
    """
    found = ratings.analyse(
        opinions_of(opinions, assessors=True),
        None if run is None else run_of(run),
        threshold=threshold, calibrated=calibrated, shrinkage=shrinkage, metric=metric, methods=methods,
        distances=distances, confidence=confidence, resamples=resamples, seed=seed, progress=progress,
    )  # fmt: skip
    provenance = {"Endoxa": __version__, "Command": command, "Seed": str(seed)}
    return ratings.evaluation_of(found, title=title, provenance=provenance, files=files_of(run, opinions))
