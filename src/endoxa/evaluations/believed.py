"""Evaluation under a belief: means with intervals, P(best), pairs, and how much every doubt adds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from endoxa.comparisons.shared import RESAMPLES, Doubts
from endoxa.errors import EndoxaError, TextError, did_you_mean
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.sentences import lacking
from endoxa.evaluations.settings import LABELS, Kind, Settings
from endoxa.measures.grammar import Measure, parse
from endoxa.measures.placing import Placement
from endoxa.measures.registry import Definition
from endoxa.measures.uncertain import Mapper, Progress, measure_belief
from endoxa.notes import Note, note, warning
from endoxa.tables import Belief, Comparison, Opinions, Run, Scores

EVERYTHING = "⊤"  # Lamiroy and Sun's virtual system that returns the whole universe; never a contender
OF_SYSTEMS = ("consensus", "learned")  # models of beliefs that rest on the systems' own lists
FEW = 10  # queries below which resampling them says too little
TOPICS = {"consensus": "Queries of other runs", "votes": "Queries of other systems"}  # else: those of the belief


def evaluate(
    run: Run, belief: Belief, measures: Sequence[Measure], settings: Settings, *, progress: Progress | None = None,
    mapper: Mapper = map,
) -> Evaluation:  # fmt: skip
    """Score runs under a belief."""
    scores = score(run, belief, measures, settings, progress=progress, mapper=mapper)
    evaluation = of_scores(scores, belief, settings)
    return without_chances(evaluation) if belief.model.startswith(OF_SYSTEMS) else evaluation


def score(
    run: Run, belief: Belief, measures: Sequence[Measure], settings: Settings, *, progress: Progress | None = None,
    mapper: Mapper = map, placement: Placement | None = None,
) -> Scores:  # fmt: skip
    """Score every list in possible worlds: the only place where runs are measured under a belief from settings.

    `placement` is the run placed in this belief, if the caller has placed it already.
    """
    return measure_belief(
        run, belief, measures, settings.policy, worlds=settings.worlds, confidence=settings.confidence,
        plugin=settings.plugin, progress=progress, mapper=mapper, placement=placement,
    )  # fmt: skip


def compare(scores: Scores, settings: Settings, measures: Sequence[str] | None = None) -> Comparison:
    """Every pair of systems, or every system against settings.baseline: P(better) in shared possible worlds."""
    return _compared(doubts_of(scores, settings), settings, measures)


def _compared(doubts: Doubts, settings: Settings, measures: Sequence[str] | None = None) -> Comparison:
    """Pairs on the measures named, or else on those that are averaged over queries."""
    known = _definitions(doubts.scores)
    averaged = [name for name, definition in known.items() if definition.aggregate == "mean"]
    return doubts.compare(
        baseline=settings.baseline, measures=measures or averaged, lower=_lower(known), confidence=settings.confidence
    )


def _against_best(doubts: Doubts, settings: Settings, measure: str, best: str) -> Comparison:
    """The pairs of the best system with all doubts: what the answer needs of all pairs, and no more."""
    lower = _lower(_definitions(doubts.scores))
    return doubts.compare(
        baseline=best, measures=[measure], lower=lower, confidence=settings.confidence, doubts=("all",)
    )


def _lower(known: dict[str, Definition]) -> list[str]:
    """The measures of which less is better."""
    return [name for name, definition in known.items() if definition.lower]


def summarise(scores: Scores, settings: Settings) -> pl.DataFrame:
    """Mean of every system on every measure, with an interval that holds all doubts."""
    return _summary(doubts_of(scores, settings), settings)


def _definitions(scores: Scores) -> dict[str, Definition]:
    return {name: parse(name).definition for name in scores.measures}


def doubts_of(scores: Scores, settings: Settings) -> Doubts:
    """The doubts about the means: the same draws wherever they are asked for."""
    aside = (EVERYTHING,) if EVERYTHING in scores.systems else ()
    return Doubts(scores, settings.resamples or RESAMPLES, settings.seed, aside)


def _summary(doubts: Doubts, settings: Settings) -> pl.DataFrame:
    known = _definitions(doubts.scores)
    return doubts.summarise(
        limits={name: (definition.low, definition.high) for name, definition in known.items()},
        aggregate={name: definition.aggregate for name, definition in known.items()},
        confidence=settings.confidence,
    )


def of_scores(scores: Scores, belief: Belief, settings: Settings, *, kind: Kind = "belief") -> Evaluation:
    """What follows from scores under a belief: means with intervals, P(best), pairs, doubts. One draw serves all."""
    doubts = doubts_of(scores, settings)
    virtual = next(iter(doubts.aside), None)
    contenders = [system for system in scores.systems if system != virtual]
    if settings.baseline is not None and settings.baseline not in contenders:
        raise TextError(
            f"no system is called {settings.baseline!r}", remedy=did_you_mean(settings.baseline, contenders)
        )
    lower = _lower(_definitions(scores))
    chances = [
        (system, name, share)
        for name in scores.measures
        for system, share in doubts.best(name, lower=name in lower).items()
    ]
    best = pl.DataFrame(chances, schema={"system": pl.String, "measure": pl.String, "p_best": pl.Float64}, orient="row")
    shares = doubts.shares(scores.measures[0])

    summary = _summary(doubts, settings).join(best, on=["system", "measure"], how="left", maintain_order="left")
    notes = (*_notes(scores, belief, settings, shares, virtual), *_of_skew(summary, settings))
    return Evaluation(
        kind=kind, scores=scores, summary=summary,
        settings=settings, belief=belief,
        compared=partial(_compared, doubts, settings) if len(contenders) > 1 else None,
        deciding=partial(_against_best, doubts, settings) if len(contenders) > 1 and not settings.baseline else None,
        doubts=shares,
        warnings=(*lacking(scores, TOPICS.get(kind, "Topics of the belief")), *_of_scores(scores), *_of_people(doubts)),
        notes=notes, baseline=settings.baseline, virtual=virtual,
    )  # fmt: skip


def without_chances(evaluation: Evaluation) -> Evaluation:
    """The evaluation without intervals, P(best) and pairs, where the belief is made of the systems' own lists.

    What such a belief calls certain is true far less often: above .95 without labels, 9 pairs in 10 were right, among
    the best systems 6 in 10. Runs alone, or with labels, have probabilities that were measured to hold.
    """
    nothing = pl.lit(None, pl.Float64)
    return replace(
        evaluation, summary=evaluation.summary.with_columns(lo=nothing, hi=nothing, p_best=pl.lit(math.nan)),
        compared=None, deciding=None, doubts=None, warnings=(*evaluation.warnings, warning("doubt.no_chances")),
    )  # fmt: skip


def _notes(scores: Scores, belief: Belief, settings: Settings, shares: pl.DataFrame, virtual: str | None) -> list[Note]:
    """How the numbers were made, and which doubt adds most."""
    draws = scores.draws
    worlds = None if draws is None or draws.truth is None else draws.truth.shape[-1]
    how = {"people": draws is not None and draws.people is not None, "plugin": settings.plugin}
    lines = [
        note("doubt.over", queries=len(scores.queries), worlds=worlds, **how, confidence=settings.confidence),
        *([note("doubt.everything", system=virtual)] if virtual is not None else []),
    ]
    return [*lines, *belief.lines(), *_of_shares(shares, belief, virtual)]


def _of_skew(summary: pl.DataFrame, settings: Settings) -> list[Note]:
    """Whether an interval was extended to its mean."""
    at_end = (pl.col("value") == pl.col("lo")) | (pl.col("value") == pl.col("hi"))
    if not summary.filter(at_end & (pl.col("lo") < pl.col("hi"))).height:
        return []
    return [note("doubt.skew", confidence=settings.confidence)]


def _of_shares(shares: pl.DataFrame, belief: Belief, virtual: str | None) -> list[Note]:
    """The mean share of every doubt over the contenders, and what would help most."""
    rows = shares.filter(pl.col("system") != (virtual or ""))
    means = rows.group_by("doubt", maintain_order=True).agg(pl.col("share").mean())
    whom = "voters" if belief.model.startswith("consensus") else "people"
    named = {whom if doubt == "people" else doubt: share for doubt, share in means.iter_rows()}
    known = {doubt: share for doubt, share in named.items() if share is not None and not np.isnan(share)}
    unknown = [doubt for doubt in named if doubt not in known]
    return [note("doubt.shares", shares=known, unknown=unknown)] if known else []


def _of_scores(scores: Scores) -> list[Note]:
    """Warnings that hold for any belief."""
    holes = scores.frame.group_by("measure", maintain_order=True).agg(pl.col("undefined").mean())
    warnings = [
        warning("doubt.undefined", measure=measure, mass=mass) for measure, mass in holes.iter_rows() if mass > 0.01
    ]
    queries = len(scores.queries)
    if queries < FEW:
        warnings.append(warning("doubt.few_queries", queries=queries))
    coverage = scores.coverage.filter((pl.col("items") > 0) & (pl.col("judged") < 0.1 * pl.col("items")))
    if coverage.height:
        warnings.append(warning("doubt.few_mentioned", systems=coverage["system"].to_list()))
    return warnings


def _of_people(doubts: Doubts) -> list[Note]:
    """Whether resampling the people moves the means away from those of the belief: then the belief is unstable."""
    spread = doubts.spread(doubts.scores.measures[0])
    if spread.people is None or spread.truth is None:
        return []
    size = min(spread.truth.shape[-1], spread.people.shape[-1])
    able = spread.known.any(1)
    people, truth = spread.people[able], spread.truth[able]
    with np.errstate(invalid="ignore"):
        shift = np.nanmean(people[..., :size] - truth[..., :size], axis=(1, 2))
        sd = np.nanstd(np.nanmean(people, axis=1), axis=1)
    moved = np.abs(shift) > np.maximum(sd, 0.02)
    if not moved.any():
        return []
    names = [system for system, far in zip(np.array(spread.systems)[able].tolist(), moved, strict=True) if far]
    return [warning("doubt.people", systems=names)]


def with_labels(evaluation: Evaluation, run: Run, before: Belief, labels: Opinions) -> Evaluation:
    """The evaluation with what a sample of judged pairs says on its own; `before` is the belief without them.

    notes    those about the labels are of the part `labels` and come first

    tables   calibration      one row: labels, queries, brier, z, p_value, slope, slope_lo, slope_hi, intercept
             reliability      stated against observed probability, in bins
             gaps             system, gap, se, lo, hi, judged, queries: observed minus believed relevance
             estimates        prediction-powered estimates that stay valid even if the belief is wrong; absent where
                              the labels do not allow any: then a note says why
             estimated_pairs  the same of every pair of systems
    """
    from endoxa.beliefs import reliability

    confidence = evaluation.confidence
    found = reliability.calibrate(before, labels, run, confidence=confidence)
    columns = ("labels", "queries", "brier", "z", "p_value", "slope", "slope_lo", "slope_hi", "intercept")
    tables: dict[str, pl.DataFrame] = {
        "calibration": pl.DataFrame([{name: getattr(found, name) for name in columns}]),
        "reliability": found.reliability,
    }
    if found.systems is not None:
        tables["gaps"] = found.systems
    estimated, notes = _estimated(run, before, labels, evaluation.measures, confidence)
    return replace(
        evaluation,
        tables={**evaluation.tables, **tables, **estimated},
        notes=(*(line.of(LABELS) for line in (*found.notes, *notes)), *evaluation.notes),
    )


def _estimated(
    run: Run, belief: Belief, labels: Opinions, measures: Sequence[str], confidence: float
) -> tuple[Mapping[str, pl.DataFrame], Sequence[Note]]:
    """Estimates from the labels, or the reason why there are none."""
    from endoxa.comparisons import prediction

    wanted = [name for name in measures if prediction.is_estimable(name)]
    if not wanted:
        return {}, [note("labels.no_measure", measures=list(measures))]
    try:
        found = prediction.estimate(run, belief, labels, wanted, confidence=confidence)
    except EndoxaError as error:
        return {}, [note("labels.no_interval", reason=str(error))]
    notes = list(found.notes)
    if prediction.drawn_from(run, belief, labels) is None:
        notes.append(note("labels.drawn_unknown"))
    return {"estimates": found.frame, "estimated_pairs": found.pairs}, notes
