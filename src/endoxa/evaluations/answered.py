"""Evaluation against each subject's own ranked answer: no truth is assumed, only this person's view in this context.

Every (subject, query) gives a number first; averages are taken of numbers.
Source: Santini, section 5; docs/methods/distributions.md, Displacement.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl

from endoxa.comparisons.chosen_intervals import intervals_over_queries
from endoxa.comparisons.intervals import SUMMARY
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.settings import Settings
from endoxa.measures.displacement import Rule, answer_values, average_answers, compare_answers
from endoxa.notes import Note, note
from endoxa.statistics.bootstrap import RESAMPLES, Means
from endoxa.statistics.crossed import crossed_bootstrap
from endoxa.tables import Answers, Comparison, Floats, Run

MEASURES = {"order": "score", "ranks off": "per_item", "returned": "returned"}  # name: column of `compare_answers`


def evaluate(run: Run, answers: Answers, settings: Settings, *, rule: Rule = "uniform") -> Evaluation:
    """Weighted displacement of every system against the subjects' answers, with intervals over subjects and queries.

    summary   measures order (with interval), ranks off and returned; systems in order of `order`, best first
    tables    pairs    system, baseline, difference (of order), lo, hi: over the same subjects and queries
              single   one row per system, subject and query; see `measures.displacement.compare_answers`
              quality  system, quality: mean of g of the displacement

    settings.collection is the number of items in the collection; `rule` says where items that a system did not return
    are assumed to stand.
    """
    single = compare_answers(run, answers, N=settings.collection, rule=rule)
    systems, subjects, queries, values = answer_values(single, "score")
    means = average_answers(single)
    seed = int(np.random.default_rng(settings.seed).integers(1 << 62))
    found = _interval(values, 1.0, settings.confidence, np.random.default_rng(seed))
    frame = pl.DataFrame(
        {"system": systems, "score": found.mean, "lo": found.lo, "hi": np.minimum(found.hi, 1.0)}
    ).join(
        means.select("system", "per_item", "quality", "returned", "queries", "undefined"),
        on="system",
        how="left",
        maintain_order="left",
    )
    frame = frame.sort("score", descending=True, nulls_last=True)
    left, right = np.array(list(combinations(range(len(systems)), 2)), dtype=np.int64).reshape(-1, 2).T
    between = _interval(values[left] - values[right], np.inf, settings.confidence, np.random.default_rng(seed))
    pairs = pl.DataFrame(
        {
            "system": [systems[a] for a in left],
            "baseline": [systems[b] for b in right],
            "difference": between.mean,
            "lo": between.lo,
            "hi": between.hi,
        },
        schema_overrides={"system": pl.String, "baseline": pl.String},
    )
    return Evaluation(
        kind="answers", scores=None, summary=_summary(frame), settings=settings, compared=_comparison(pairs),
        tables={"pairs": pairs, "single": single, "quality": frame.select("system", "quality")},
        notes=_notes(settings, rule, subjects, queries),
    )  # fmt: skip


def _comparison(pairs: pl.DataFrame) -> Comparison:
    """The pairs as a comparison on `order`: intervals over subjects and queries, no test."""
    known = pairs.with_columns(pl.lit("order").alias("measure"), pl.lit("all").alias("doubt"))
    empty = [pl.lit(None, dtype).alias(name) for name, dtype in Comparison.SCHEMA.items() if name not in known.columns]
    return Comparison(known.with_columns(empty).select(list(Comparison.SCHEMA)))


def _summary(frame: pl.DataFrame) -> pl.DataFrame:
    """A row per system and measure; only `order` has an interval."""
    parts = [
        frame.select(
            "system",
            pl.lit(measure).alias("measure"),
            pl.col(column).alias("value"),
            *(["lo", "hi"] if measure == "order" else []),
            "queries",
            "undefined",
        )
        for measure, column in MEASURES.items()
    ]
    joined = pl.concat(parts, how="diagonal").with_columns(
        pl.lit(float("nan")).alias("se"), pl.col("lo", "hi").fill_null(float("nan"))
    )  # null would mean a count, which has no error
    place = pl.col("system").replace_strict(frame["system"], pl.Series(range(frame.height)), return_dtype=pl.Int64)
    return joined.sort(place, maintain_order=True).select(list(SUMMARY)).cast(SUMMARY)  # type: ignore[arg-type]


def _interval(values: Floats, high: float, confidence: float, rng: np.random.Generator) -> Means:
    """Over subjects and queries; over queries alone where there is one subject. No value is above `high`."""
    if values.shape[-2] > 1:
        return crossed_bootstrap(values, confidence=confidence, rng=rng)
    return intervals_over_queries(
        values[..., 0, :], -np.inf, high, interval="bootstrap-t", confidence=confidence, resamples=RESAMPLES, rng=rng
    )


def _notes(settings: Settings, rule: str, subjects: list[str], queries: list[str]) -> tuple[Note, ...]:
    return (
        note("answers.size", subjects=len(subjects), queries=len(queries)),
        note("answers.measures"),
        note("answers.rule", rule=rule, collection=settings.collection),
        note("answers.interval", confidence=settings.confidence, subjects=len(subjects)),
    )
