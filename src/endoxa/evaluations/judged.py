"""Runs scored against judgments or preferences that are taken at their word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl

from endoxa.comparisons import intervals, orders, paired, power
from endoxa.errors import TableError, TextError
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.references import Reference
from endoxa.evaluations.sentences import warnings_of
from endoxa.evaluations.settings import Settings
from endoxa.measures import evaluate as kernels
from endoxa.measures import preference_judgments
from endoxa.measures.curves import curve_measures, curves
from endoxa.measures.gather import Block, gather
from endoxa.measures.grammar import Measure, parse
from endoxa.measures.preference_judgments import Preferences, applied
from endoxa.tables import Comparison, Opinions, Run, Scores

T = TypeVar("T")
COMPARED = ("AP", "nDCG@10")  # what `compare` compares by, where nothing is named


class Blocks(Protocol):
    """A run that is read in blocks of whole queries: a file, several files, later a cluster."""

    def map(self, kernel: Callable[[Run], T]) -> Iterable[tuple[list[str], dict[str, str], Sequence[T]]]:
        """For each part the names of its systems, new names for them, and the kernel's results."""

    def whole(self) -> Run:
        """All of it as one table."""


def score(run: Run | Blocks, reference: Reference, measures: Sequence[Measure], settings: Settings) -> Scores:
    """One value per system, query and measure."""
    table = reference.table
    policy = settings.policy
    panel: dict[str, Any]
    kernel: Callable[..., Block] = kernels.score_block
    empty: Callable[..., Block] = kernels.score_empty
    if isinstance(table, Preferences):
        policy, panel = applied(policy), {"": table}
        kernel, empty = preference_judgments.score_preferences, preference_judgments.score_empty
    else:
        assert isinstance(table, Opinions)
        panel = kernels.prepare(table, policy)

    def scored(block: Run) -> dict[str, Block]:
        return {source: kernel(block, judgments, measures, policy) for source, judgments in panel.items()}

    gathered: dict[str, list[Block]] = {source: [] for source in panel}
    systems: list[str] = []
    if isinstance(run, Run):
        _refuse_other_order(run, settings)
        parts: Iterable[Any] = [(run.systems, {name: name for name in run.systems}, [scored(run)])]
    else:
        parts = run.map(scored)
    for names, renamed, results in parts:
        systems += [renamed[name] for name in names]
        for result in results:
            for source, block in result.items():
                gathered[source].append(block.renamed(renamed))
    return gather(panel, list(gathered.values()), measures, policy, systems=systems, empty=empty)


def _refuse_other_order(run: Run, settings: Settings) -> None:
    if (settings.ties == "input") != (run.ties == "input"):
        raise TableError(
            f"the run was ranked with ties={run.ties} and is to be measured with ties={settings.ties}; "
            f"read it with ties={settings.ties!r}"
        )


def evaluate(
    run: Run | Blocks,
    reference: Reference,
    measures: Sequence[Measure],
    settings: Settings,
    *,
    with_curves: bool = False,
    with_power: bool = False,
) -> Evaluation:
    """Scores with intervals over queries; pairs are compared when they are first asked for."""
    drawn = [_with_rel(m, settings) for m in curve_measures()] if with_curves else []
    scores = score(run, reference, [*measures, *drawn], settings)
    tables: dict[str, pl.DataFrame] = {}
    notes: list[str] = []
    if with_curves and isinstance(reference.table, Opinions):
        rel = 1 if settings.rel is None else settings.rel
        tables["curves"] = curves(scores, reference.table, rel=rel, N=settings.collection)
        notes.append(_random_ranking(reference.table, settings.collection))
        names = [str(m) for m in measures]
        scores = Scores(
            scores.frame.filter(pl.col("measure").is_in(names)), scores.policy, scores.coverage, scores.texts,
            scores.absent,
        )  # fmt: skip
    if (reach := ranges(scores)) is not None:
        tables["ranges"] = reach
    if (agreement := orders.between_measures(scores)) is not None:
        tables["orders"] = agreement
    if with_power and (found := power.of_scores(scores, settings.seed)) is not None:
        tables["power"] = found
    several = len(scores.systems) > 1 and not _is_open(scores)
    return Evaluation(
        kind=reference.kind,
        scores=scores,
        summary=summarise(scores, settings),
        settings=settings,
        compared=partial(compare, scores, settings) if several else None,
        tables=tables,
        warnings=tuple(warnings_of(scores, tables.get("curves"))),
        notes=tuple(notes),
        baseline=settings.baseline,
        wanted=tuple(measures),
    )


def _with_rel(measure: Measure, settings: Settings) -> Measure:
    return measure if settings.rel is None else measure.with_level(settings.rel)


def _random_ranking(opinions: Opinions, collection: int | None) -> str:
    if collection is not None:
        return f"Random ranking: of a collection of {collection:,} items."
    known = opinions.frame["item"].n_unique()
    return (
        f"Random ranking: the size of the collection was not given (-N). The {known:,} items judged for any query "
        "stand for it, so the line is an upper bound."
    )


def summarise(scores: Scores, settings: Settings) -> pl.DataFrame:
    """Mean (sum, geometric mean) of every system and measure with its interval over queries."""
    known = {name: parse(name).definition for name in scores.measures}
    return intervals.summarise(
        scores,
        aggregate={name: definition.aggregate for name, definition in known.items()},
        limits={name: (definition.low, definition.high) for name, definition in known.items()},
        confidence=settings.confidence,
        resamples=settings.resamples,
        rng=np.random.default_rng(settings.seed),
    )


def compare(scores: Scores, settings: Settings, measures: Sequence[str] | None = None) -> Comparison:
    """Every pair of systems: difference, interval, test, correction, effect size."""
    if _is_open(scores):
        raise TextError(
            f"there is no one value to compare under {scores.policy}; "
            "take --ties trec or average, and --unjudged nonrelevant or condensed"
        )
    means = [name for name in scores.measures if parse(name).definition.aggregate == "mean"]
    comparison = paired.compare(
        scores,
        baseline=settings.baseline,
        measures=measures or means or scores.measures,
        test=settings.test,  # type: ignore[arg-type]
        interval=settings.interval,  # type: ignore[arg-type]
        correction=settings.correction,  # type: ignore[arg-type]
        confidence=settings.confidence,
        resamples=settings.resamples,
        rng=np.random.default_rng(settings.seed),
    )
    spans = {name: parse(name).definition.high - parse(name).definition.low for name in scores.measures}
    reach = pl.col("measure").replace_strict(spans, return_dtype=pl.Float64)  # no difference is larger than the range
    ends = pl.col("lo").clip(lower_bound=-reach), pl.col("hi").clip(upper_bound=reach)
    return Comparison(comparison.frame.with_columns(*ends), comparison.notes)


def _is_open(scores: Scores) -> bool:
    return scores.policy.ties == "range" or scores.policy.unjudged == "bounds"


def ranges(scores: Scores) -> pl.DataFrame | None:
    """Mean over queries of the least and greatest value, where ties or unjudged items leave it open; else None."""
    if not _is_open(scores) or scores.frame["lo"].is_null().all():
        return None
    return (
        scores.frame.filter(pl.col("lo").is_not_null())
        .group_by("system", "measure", maintain_order=True)
        .agg(pl.col("lo").mean().alias("least"), pl.col("value").mean(), pl.col("hi").mean().alias("most"))
    )
