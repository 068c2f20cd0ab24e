"""The front door where the truth is in doubt: believe, appraise, distribution, estimate, choose, calibrate.

Apart from `verbs`, because it stands on SciPy, and scoring against judgments should start at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from endoxa.beliefs import consensus, models, reliability
from endoxa.beliefs.reliability import Calibration
from endoxa.comparisons import prediction
from endoxa.comparisons.appraisal import Appraisal
from endoxa.comparisons.exact import compare_two
from endoxa.comparisons.prediction import Estimates
from endoxa.comparisons.superiority import Superiority
from endoxa.errors import TableError
from endoxa.evaluations import answered, believed
from endoxa.evaluations import consensus as by_consensus
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.settings import Settings
from endoxa.io.provenance import provenance
from endoxa.io.read import judgments_of, read, run_of
from endoxa.measures import own_votes
from endoxa.measures.displacement import Rule
from endoxa.measures.distributions import Distribution
from endoxa.measures.grammar import Measure, Wanted, parse_all
from endoxa.measures.uncertain import Progress, distribute
from endoxa.policies import WORLDS, Policy
from endoxa.pools.choosing import choose as choose_pairs
from endoxa.tables import Answers, Belief, Labels, Opinions, Run, Scores, Taxonomy

DEFAULT = ("AP", "nDCG@10", "P@10", "RR")


def believe(source: Any, model: str | None = None, *, taxonomy: Any = None, seed: int = 0, **settings: Any) -> Belief:
    """What is held to be relevant, and how surely, from runs, opinions or labels: see `endoxa.beliefs.models`.

    `source` is a table, or a file or several files of one; `model` the way to believe, by name; without it the one
    that suits the source: consensus for runs, votes for several people, crisp for one.

    >>> belief = believe({"a": {"q": {"x": 2, "y": 1}}, "b": {"q": {"x": 2, "z": 1}}}, weights="equal")
    >>> belief.frame.select("item", "p").rows()
    [('x', 0.75), ('y', 0.5), ('z', 0.5)]
    """
    held = isinstance(source, Run | Opinions | Labels | Belief)
    table = source if held else read(source, **_as_assessors(source))
    if isinstance(table, Belief):
        return table
    if taxonomy is not None:
        settings["taxonomy"] = taxonomy if isinstance(taxonomy, Taxonomy) else read(taxonomy, kind="taxonomy")
    if not isinstance(table, Run | Opinions | Labels):
        raise TableError(f"a belief is made of runs, opinions or labels, and this is {type(table).__name__}")
    made = models.believe(table, model, seed=seed, **settings)
    return made if held else replace(made, files=files_of(source))


def files_of(source: Any) -> tuple[str, ...]:
    """Name, size and SHA-256 of each file that a belief was made of."""
    places = source if isinstance(source, list | tuple) else [source]
    named = [place for place in places if isinstance(place, str | Path) and str(place) != "-"]
    return tuple(f"{one.name} {one.size:,} bytes sha256 {one.sha256}" for one in (provenance(str(p)) for p in named))


def _as_assessors(source: Any) -> dict[str, Any]:
    """Where a file of judgments is to be believed, its second column says who judged."""
    return {"assessors": True} if isinstance(source, str | Path) else {}


def appraise(
    run: Any,
    judgments: Any = None,
    measures: Wanted = DEFAULT,
    *,
    level: float | None = None,
    policy: Policy | None = None,
    progress: Progress | None = None,
    labels: Opinions | None = None,
    **settings: Any,
) -> Appraisal:
    """An evaluation where the truth is in doubt, under the names that the reports still use; see `evaluate`."""
    return adapted(evaluate(run, judgments, measures, level=level, policy=policy, progress=progress, labels=labels,
                            **settings))  # fmt: skip


def evaluate(
    run: Any,
    judgments: Any = None,
    measures: Wanted = DEFAULT,
    *,
    level: float | None = None,
    policy: Policy | None = None,
    progress: Progress | None = None,
    labels: Opinions | None = None,
    **settings: Any,
) -> Evaluation:
    """Evaluate where the truth is in doubt.

    Without judgments the systems' consensus is believed. Otherwise `judgments` is a Belief, the votes of systems, or
    opinions of people, from which a model makes a belief.
    """
    wanted = parse_all(measures, level=level)
    names = ("ties", "missing", "unjudged", "undefined", "compat", "assessors", "cut", "seed", "shuffles")
    chosen = {} if policy is None else {name: getattr(policy, name) for name in names}
    given = Settings.of(chosen | settings)
    if judgments is None:
        return by_consensus.evaluate(run_of(run), wanted, given, labels=labels, progress=progress)
    if isinstance(judgments, Opinions) and set(judgments.frame["kind"]) == {"system"}:
        return by_consensus.evaluate(sets_of(judgments), wanted, given, votes=judgments, progress=progress)
    if isinstance(judgments, Opinions) and given.systems_vote:
        return believed.with_systems(run_of(run), judgments, wanted, given, progress=progress)
    if isinstance(judgments, Opinions):
        more = {} if given.people is None else {"people": given.people}
        judgments = models.believe(judgments, given.model, seed=given.seed, **more)
    if not isinstance(judgments, Belief):
        raise TableError(f"expected a belief, got {type(judgments).__name__}; make one with believe(...)")
    return believed.evaluate(run_of(run), judgments, wanted, given, progress=progress)


def adapted(made: Evaluation) -> Appraisal:
    """The evaluation under the names that the reports still use."""
    assert made.scores is not None
    assert made.belief is not None
    assert made.doubts is not None
    summary = made.summary
    summary = summary.rename({"without_own_vote": "alone"}) if "without_own_vote" in summary.columns else summary
    sentence = by_consensus.LIMITS if by_consensus.LIMITS in made.notes else ""
    return Appraisal(
        made.scores, made.belief, summary, made.doubts, made.comparison, made.tables.get("depths"), made.warnings,
        sentence, made.virtual, made.confidence,
    )  # fmt: skip


def compare_answers(
    run: Any, answers: Any, *, N: int | None = None, confidence: float = 0.95, seed: int = 0, rule: Rule = "uniform"
) -> Evaluation:
    """Every system against each subject's own ranked answer; see `endoxa.evaluations.answered`."""
    table = answers if isinstance(answers, Answers) else read(answers, kind="answers")
    settings = Settings(collection=N, confidence=confidence, seed=seed)
    return answered.evaluate(run_of(run), table, settings, rule=rule)


def estimate(run: Any, belief: Belief, labels: Any, measures: Wanted = ("P@10",), **how: Any) -> Estimates:
    """Prediction-powered estimates: the belief everywhere, corrected by labels drawn with known propensities.

    Valid however wrong the belief is; for sums and ratios of sums over items only (P@k, DCG@k, R@k, F@k, set forms).
    """
    return prediction.estimate(run_of(run), belief, judgments_of(labels), [str(m) for m in parse_all(measures)], **how)


def rounds_of(files: Sequence[Any]) -> Opinions:
    """Labels of several rounds of judging as one table, the last round last."""
    return prediction.rounds_of([judgments_of(file) for file in files])


def choose(
    run: Any, belief: Belief | None = None, count: int = 100, *, judged: Any = None, seed: int = 0, **how: Any
) -> pl.DataFrame:
    """The pairs whose judgment tells most about the order of the systems, each with its probability of being chosen."""
    table = run_of(run)
    held = believe(table, people=0) if belief is None else belief
    known = None if judged is None else judgments_of(judged)
    return choose_pairs(table, held, count, judged=known, rng=np.random.default_rng(seed), **how)


def calibrate(belief: Belief, labels: Any, run: Any = None, **how: Any) -> Calibration:
    """How far a belief agrees with labels: Brier, Spiegelhalter's z, slope, reliability, and each system's gap."""
    return reliability.calibrate(belief, judgments_of(labels), None if run is None else run_of(run), **how)


def superiority(
    run: Any, belief: Belief, first: str, second: str, measure: str | Measure, query: str | None = None, **how: Any
) -> Superiority:
    """How probably one system is better than another, exactly: P@k (one query, or the mean), SetP, R@k, SetR."""
    return compare_two(run_of(run), belief, first, second, measure, query, **how)


def between(
    run: Any, first: str, second: str, measures: Wanted = ("AP",), *, depth: int = 100, weights: Any = "cluster",
    prior: tuple[float, float] = (1.0, 1.0), worlds: int = WORLDS, policy: Policy | None = None,
) -> Scores:  # fmt: skip
    """Two systems scored under the consensus of all the others: neither votes on the truth that scores it."""
    table = run_of(run)
    counted = consensus.tally(consensus.votes(table, depth), prior=prior, weights=weights)
    return own_votes.between(table, counted, first, second, list(parse_all(measures)), policy, worlds=worlds)


def sets_of(votes: Opinions) -> Run:
    """What each system said yes to, as lists without an order: all scores are equal."""
    rows = votes.frame.filter(pl.col("grade") > 0)
    return Run.of(rows.select(pl.col("source").alias("system"), "query", "item", pl.lit(0.0).alias("score")))


def distribution(
    run: Any, belief: Belief, measure: str | Measure, system: str, query: str | None = None, *, worlds: int = 4000
) -> Distribution:
    """The distribution of a measure for one system: on one query, or of its mean over all queries.

    Exact for P, R, F and their set forms, RR and Success on a query, and for the mean of P@k; else over `worlds`.
    """
    return distribute(run_of(run), belief, parse_all(measure)[0], system, query, worlds=worlds)
