"""rate: what people's ratings say, about themselves and about systems."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from endoxa.declared import RUN, option
from endoxa.policies import Inputs, Method, Metric
from endoxa.verbs.parameters import Confidence, Relied, Seed, Title, takes_either_order

if TYPE_CHECKING:
    from endoxa.evaluations.evaluation import Evaluation
    from endoxa.progress import Progress

METHODS: tuple[Method, ...] = get_args(Method)


@takes_either_order
def rate(
    opinions: Relied,
    run: Annotated[Any, RUN._replace(hidden=True)] = None,
    *,
    threshold: Annotated[float | None, option("Relevant is above it; without: the middle of the scale.")] = None,
    calibrated: Annotated[bool, option("Take every rater's grades as they are.", "--no-calibrate")] = True,
    shrinkage: Annotated[float, option("Shrinks the calibration of a rater as if by N more items.", least=0)] = 5.0,
    metric: Annotated[Metric, option("What distance between grades means, for alpha.")] = "interval",
    methods: Annotated[Sequence[Method], option("Map from scores to ratings; may be repeated.", "--method")] = METHODS,
    input: Annotated[Inputs, option("What maps read: scores, z per query, ranks; auto chooses by system.")] = "auto",  # noqa: A002
    distances: Annotated[
        bool | Literal["auto"] | Collection[str], option("Scores are distances: they fall where ratings rise.")
    ] = False,
    confidence: Confidence = 0.95,
    resamples: Annotated[int, option("Of pairs and queries, for intervals.", least=2)] = 500,
    seed: Seed = 0,
    title: Title = "",
    command: str = "",
    progress: Progress | None = None,
) -> Evaluation:
    """Analyse people's ratings: agreement, calibration, each rater; with runs, which system people agree with.

    `opinions` and `run` are tables, files, frames or dicts. `threshold`: a mean rating above it is relevant; without
    one, the middle of the scale. `metric` is the level of measurement behind alpha (nominal, ordinal, interval, ratio).
    `input` is what maps read: "raw" scores, "z" within the list of the query, "rank", or the best of them by "auto".
    The details of the evaluation hold everything that was found.

    >>> found = rate({"q": {"a": 1, "b": 5}}).details
    >>> found.raters, found.pairs, found.threshold
    (1, 2, 3.0)

    Examples:
        endoxa ratings answers.csv
        endoxa ratings answers.csv runs/*.gz --threshold 3 --to report.html
        endoxa ratings votes.qrels --metric ordinal --no-calibrate
        endoxa ratings answers.parquet dense.run --method isotonic -o jsonl
        endoxa believe answers.csv --threshold 3 --to belief.parquet
    """
    from endoxa import __version__
    from endoxa.evaluations import ratings
    from endoxa.verbs.inputs import files_of, opinions_of, run_of

    found = ratings.analyse(
        opinions_of(opinions, assessors=True),
        None if run is None else run_of(run),
        threshold=threshold, calibrated=calibrated, shrinkage=shrinkage, metric=metric, methods=methods, input=input,
        distances=distances, confidence=confidence, resamples=resamples, seed=seed, progress=progress,
    )  # fmt: skip
    provenance = {"Endoxa": __version__, "Command": command, "Seed": str(seed)}
    return ratings.evaluation_of(found, title=title, provenance=provenance, files=files_of(run, opinions))
