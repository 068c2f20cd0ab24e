"""Evaluation against each subject's own ranked answer: no truth is assumed, only this person's view in this context.

Every (subject, query) gives a number first; averages are taken of numbers.
Source: Santini, section 5; docs/methods/distributions.md, Displacement.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from endoxa.comparisons.chosen_intervals import intervals_over_queries
from endoxa.comparisons.intervals import SUMMARY
from endoxa.errors import CallError
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.settings import Settings
from endoxa.measures.displacement import answer_values, average_answers, compare_answers
from endoxa.notes import Note, note, warning
from endoxa.statistics.bootstrap import RESAMPLES, Means
from endoxa.statistics.crossed import crossed_bootstrap
from endoxa.statistics.panels import agreement
from endoxa.tables import Answers, Comparison, Floats, Run

MEASURES = {"order": "score", "ranks off": "per_item", "quality": "quality", "returned": "returned"}  # and its column
PERSON = "person "  # before the name of a subject whose own list is scored
SPREAD = {"w": "displacement", "quality": "quality", "order": "score"}


def evaluate(run: Run, answers: Answers, settings: Settings) -> Evaluation:
    """Weighted displacement of every system against the subjects' answers, with intervals over subjects and queries.

    summary   measures order (with interval), ranks off, quality and returned; systems in order of `order`, best first
    tables    pairs     system, baseline, difference (of order), lo, hi: over the same subjects and queries
              single    one row per system, subject and query; see `measures.displacement.compare_answers`
              by_query  query, system, subjects, then mean and deviation over subjects of w, quality and order
              people    with `subjects_as_systems`: system (person NAME), order with lo and hi, ranks off, quality,
                        returned, queries; each judged by all other subjects
              agreement with it: value, lo, hi, the mean of `order` over persons, each judged by all others

    settings.collection is the number of items in the collection; settings.rule says where items that a system did not
    return are assumed to stand. With `subjects_as_systems` the values of systems are over those queries that two
    subjects or more answered: the mean over panels that leave one subject out in turn, as persons are judged.
    """
    quality = _quality(settings)
    named = _with_people(run, answers) if settings.subjects_as_systems else run
    single = compare_answers(named, answers, N=settings.collection, rule=settings.rule, **quality)
    single, people, alone = _apart(single, run.systems) if settings.subjects_as_systems else (single, None, 0)
    systems, subjects, queries, values = answer_values(single, "score")
    seed = int(np.random.default_rng(settings.seed).integers(1 << 62))
    frame = _means(single, systems, values, settings.confidence, seed).sort(
        "score", descending=True, nulls_last=True, maintain_order=True
    )
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
    tables = {"pairs": pairs, "by_query": _by_query(single), "single": single}
    if people is not None:
        tables |= _of_people(people, settings, seed) | {"single": pl.concat([single, people])}
    return Evaluation(
        kind="answers", scores=None, summary=_summary(frame), settings=settings, compared=_comparison(pairs),
        tables=tables, warnings=_warnings(run, answers), notes=_notes(settings, subjects, queries, alone),
    )  # fmt: skip


def _quality(settings: Settings) -> dict[str, Any]:
    """The quality function and what it is given, by the names of `compare_answers`."""
    own, other = ("exponent", "rate") if settings.quality == "rational" else ("rate", "exponent")
    if getattr(settings, other) is not None:
        needed = "exponential" if other == "rate" else "rational"
        raise CallError(f"{other} does not apply to quality={settings.quality}", remedy=f"say quality={needed} too")
    given = getattr(settings, own)
    return {"g": settings.quality, "power": 1.0 if given is None else given, "scale": settings.scale}


# Subjects as systems


def _with_people(run: Run, answers: Answers) -> Run:
    """The run, and the list of each subject as that of a system; items of equal relevance are tied."""
    if len(answers.sources) < 2:
        raise CallError(
            f"only {answers.sources[0]!r} answered: there is nobody else to judge her list",
            remedy="leave subjects_as_systems out, or ask more people",
        )
    if taken := sorted({PERSON + name for name in answers.sources} & {*run.systems}):
        raise CallError(f"a system is called {taken[0]!r}, as the list of a subject is", remedy="rename the system")
    rows = answers.frame.select(
        (PERSON + pl.col("source")).alias("system"), "query", "item", pl.col("relevance").alias("score")
    )
    together = pl.concat([run.frame.select("system", "query", "item", "score"), rows])
    return Run(Run.of(together, ties=run.ties).frame, run.ties, run.empty)


def _apart(single: pl.DataFrame, systems: list[str]) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """Systems and persons on the queries that two subjects answered, and the number of the other queries.

    A person is judged on the queries that she answered, by all others who did. A system is judged by the panels that
    leave one subject out in turn: their mean is the mean over all subjects, each of whom is in as many panels.
    """
    several = pl.col("source").n_unique().over("query") > 1
    whole = single["query"].n_unique()
    single = single.filter(several)
    if not single.height:
        raise CallError(
            "no query was answered by two subjects: nobody can be judged by others",
            remedy="leave subjects_as_systems out",
        )
    of_system = pl.col("system").is_in(systems)
    whose = pl.col("system").str.strip_prefix(PERSON)
    own = single.select((PERSON + pl.col("source")).alias("system"), "query").unique()
    people = single.filter(~of_system & (whose != pl.col("source"))).join(
        own, on=["system", "query"], how="semi", maintain_order="left"
    )
    return single.filter(of_system), people, whole - single["query"].n_unique()


def _of_people(people: pl.DataFrame, settings: Settings, seed: int) -> dict[str, pl.DataFrame]:
    """The tables of the persons: each one, and the agreement of all."""
    persons, subjects, _, values = answer_values(people, "score")
    table = _means(people, persons, values, settings.confidence, seed).rename({"score": "order"})
    order = [persons.index(PERSON + name) for name in subjects]  # everybody who is judged judges
    found = agreement(values[order], confidence=settings.confidence, rng=np.random.default_rng(seed))
    one = {"value": [float(found.mean)], "lo": [float(found.lo)], "hi": [min(float(found.hi), 1.0)]}
    return {"people": table.drop("undefined"), "agreement": pl.DataFrame(one)}


# Means


def _means(single: pl.DataFrame, systems: list[str], values: Floats, confidence: float, seed: int) -> pl.DataFrame:
    """A row per system: the mean order with its interval, and the means of the other numbers."""
    found = _interval(values, 1.0, confidence, np.random.default_rng(seed))
    return pl.DataFrame({"system": systems, "score": found.mean, "lo": found.lo, "hi": np.minimum(found.hi, 1.0)}).join(
        average_answers(single).select("system", "per_item", "quality", "returned", "queries", "undefined"),
        on="system",
        how="left",
        maintain_order="left",
    )


def _by_query(single: pl.DataFrame) -> pl.DataFrame:
    """Mean and deviation over subjects, for every query and system."""
    columns = [
        part.fill_null(math.nan).alias(name + end)
        for name, column in SPREAD.items()
        for part, end in ((pl.col(column).fill_nan(None).mean(), ""), (pl.col(column).fill_nan(None).std(), "_sd"))
    ]
    several = single.group_by("query", "system", maintain_order=True)
    return several.agg(pl.len().cast(pl.Int64).alias("subjects"), *columns).sort("query", maintain_order=True)


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


def _warnings(run: Run, answers: Answers) -> tuple[Note, ...]:
    """Answers to queries that no run has, queries that some run lacks, and lists that nobody answered."""
    asked = answers.frame.select("source", "query").unique(maintain_order=True)
    listed = pl.DataFrame(
        [*run.frame.select("system", "query").unique().rows(), *run.empty], schema=["system", "query"], orient="row"
    ).unique()
    unknown = asked.join(listed, on="query", how="anti", maintain_order="left")
    known = asked.join(listed, on="query", how="semi")["query"].n_unique()
    answered = listed.join(asked, on="query", how="semi").group_by("system").len()
    have = dict(answered.iter_rows())
    missing = {system: known - have.get(system, 0) for system in run.systems if have.get(system, 0) < known}
    alone = listed.join(asked, on="query", how="anti")["query"].n_unique()
    found = []
    if unknown.height:
        source, query = unknown.row(0)
        found.append(
            warning("answers.unknown_queries", source=source, query=query, queries=unknown["query"].n_unique())
        )
    if missing:
        found.append(warning("scores.missing", topics="Answered queries", missing="empty", systems=missing))
    if alone:
        found.append(warning("answers.unanswered", queries=alone))
    return tuple(found)


def _notes(settings: Settings, subjects: list[str], queries: list[str], alone: int) -> tuple[Note, ...]:
    quality = _quality(settings)
    panels = [note("answers.panels", alone=alone)] if settings.subjects_as_systems else []
    return (
        note("answers.size", subjects=len(subjects), queries=len(queries)),
        note("answers.measures"),
        note("answers.rule", rule=settings.rule, collection=settings.collection),
        note("answers.quality", quality=settings.quality, power=quality["power"], scale=settings.scale),
        *panels,
        note("answers.interval", confidence=settings.confidence, subjects=len(subjects)),
    )
