"""Runs scored against judgments or preferences that are taken as certain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from endoxa.comparisons import intervals
from endoxa.comparisons.chosen_intervals import ENOUGH
from endoxa.errors import JoinError, TextError
from endoxa.evaluations.evaluation import Evaluation, unbounded
from endoxa.evaluations.references import Reference
from endoxa.evaluations.sentences import sampled, warnings_of
from endoxa.evaluations.settings import Settings
from endoxa.later import np, pl
from endoxa.measures.evaluate import Blocks, measure
from endoxa.measures.grammar import Measure, parse
from endoxa.measures.preference_judgments import Preferences
from endoxa.notes import Note, note, warning
from endoxa.tables import Comparison, Opinions, Run, Scores

ALL_PAIRS = 30  # systems up to which the answer rests on a test of every pair


def evaluate(
    run: Run | Blocks, reference: Reference, measures: Sequence[Measure], settings: Settings, *,
    with_curves: bool = False, with_power: bool = False, with_orders: bool = False,
) -> Evaluation:  # fmt: skip
    """Scores with intervals over queries; pairs are compared when they are first asked for."""
    with_curves = with_curves and isinstance(reference.table, Opinions)
    if with_curves:
        from endoxa.measures.curves import curve_measures, curves
    drawn = [_with_rel(m, settings) for m in curve_measures()] if with_curves else []
    assert isinstance(reference.table, Opinions | Preferences)
    scores = measure(run, reference.table, [*measures, *drawn], settings.policy)
    estimated = sampled(scores)  # also of the curves
    tables: dict[str, pl.DataFrame] = {}
    notes: list[Note] = []
    if with_curves and isinstance(reference.table, Opinions):
        rel = 1 if settings.rel is None else settings.rel
        tables["curves"] = curves(scores, reference.table, rel=rel, N=settings.collection)
        known = reference.table.frame["item"].n_unique()
        notes.append(note("curves.random", collection=settings.collection, known=known))
        names = [str(m) for m in measures]
        scores = Scores(
            scores.frame.filter(pl.col("measure").is_in(names)), scores.policy, scores.coverage, scores.texts,
            scores.absent,
        )  # fmt: skip
    if (reach := ranges(scores)) is not None:
        tables["ranges"] = reach
    if with_orders or with_power:
        from endoxa.comparisons import orders, power
    if with_orders and (agreement := orders.between_measures(scores)) is not None:
        tables["orders"] = agreement
    if with_power and (found := power.of_scores(scores, settings.seed)) is not None:
        tables["power"] = found
    several = len(scores.systems) > 1 and not _is_open(scores)
    rows = _summary_rows(scores, settings)
    return Evaluation.of_rows(
        rows, kind=reference.kind, scores=scores, settings=settings,
        compared=partial(compare, scores, settings) if several else None,
        deciding=partial(against_best, scores, settings) if several else None, tables=tables,
        warnings=(
            *_of_sample(reference), *warnings_of(scores, tables.get("curves")), *estimated, *_of_intervals(rows)
        ),
        notes=tuple(notes), baseline=settings.baseline, wanted=tuple(measures),
    )  # fmt: skip


def _with_rel(measure: Measure, settings: Settings) -> Measure:
    return measure if settings.rel is None else measure.with_relevant_grade(settings.rel)


def summarise(scores: Scores, settings: Settings) -> pl.DataFrame:
    """Mean (sum, geometric mean) of every system and measure with its interval over queries."""
    return intervals.frame_of(_summary_rows(scores, settings))


def _summary_rows(scores: Scores, settings: Settings) -> list[dict[str, Any]]:
    known = {name: parse(name).definition for name in scores.measures}
    return intervals.summary_rows(
        scores, aggregate={name: definition.aggregate for name, definition in known.items()},
        limits={name: (definition.low, definition.high) for name, definition in known.items()},
        confidence=settings.confidence, resamples=settings.resamples, rng=np.random.default_rng(settings.seed),
    )  # fmt: skip


def _of_sample(reference: Reference) -> list[Note]:
    """A warning about labels that were taken for judgments of all that matters."""
    table = reference.table
    if not isinstance(table, Opinions) or table.judged is not None or "selected_by" not in table.frame.columns:
        return []
    chosen = (pl.col("selected_by") == "next") & pl.col("draw_depth").is_not_null()
    if not table.frame.select(chosen.any()).item():
        return []
    return [warning("scores.sample_as_judgments")]


def _of_intervals(summary: Sequence[dict[str, Any]]) -> list[Note]:
    """Warnings about intervals that nothing bounds, and about those that can be too short."""
    free = set(unbounded(dict.fromkeys(row["measure"] for row in summary)))
    rows = [row for row in summary if row["measure"] in free]
    open_: dict[str, list[str]] = {}
    for row in rows:
        lo, hi = row["lo"], row["hi"]
        if lo is not None and hi is not None and (math.isinf(lo) or math.isinf(hi) or lo == hi):
            open_.setdefault(row["measure"], []).append(row["system"])
    found = [warning("scores.unbounded", measure=measure, systems=systems) for measure, systems in open_.items()]
    few = list(dict.fromkeys(row["measure"] for row in rows if row["queries"] < ENOUGH))
    if few:
        found.append(warning("scores.short_intervals", enough=ENOUGH, measures=few))
    return found


def compare(scores: Scores, settings: Settings, measures: Sequence[str] | None = None) -> Comparison:
    """Every pair of systems: difference, interval, test, correction, effect size."""
    from endoxa.comparisons import paired

    if _is_open(scores):
        raise TextError(
            f"there is no one value to compare under {scores.policy}",
            remedy="take --ties trec or average, and --unjudged nonrelevant or condensed",
        )
    means = [name for name in scores.measures if parse(name).definition.aggregate == "mean"]
    definitions = {name: parse(name).definition for name in scores.measures}
    return paired.compare(
        scores,
        baseline=settings.baseline,
        measures=measures or means or scores.measures,
        test=settings.test,
        interval=settings.interval,
        correction=settings.correction,
        confidence=settings.confidence,
        spans={name: definition.high - definition.low for name, definition in definitions.items()},
        resamples=settings.resamples,
        rng=np.random.default_rng(settings.seed),
    )


def against_best(scores: Scores, settings: Settings, measure: str, best: str) -> Comparison | None:
    """The pairs that say whether the best system on a measure is; None where they cannot be tested.

    These are the rows of `compare` for this measure. Of more than 30 systems only those with the best: the tests of
    thousands of pairs take a minute, and an answer must not.
    """
    if parse(measure).definition.aggregate != "mean" or len(scores.queries) < 2:
        return None
    if settings.baseline is None and len(scores.systems) > ALL_PAIRS:
        settings = replace(settings, baseline=best)
    try:
        return compare(scores, settings, [measure])
    except JoinError:  # no two systems share two queries with a value
        return None


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
