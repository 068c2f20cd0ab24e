"""The front door where the truth is in doubt: believe, appraise, distribution, estimate, choose, calibrate.

Apart from `verbs`, because it stands on SciPy, and scoring against judgments should start at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from endoxa.beliefs import calibration, consensus, models
from endoxa.beliefs.calibration import Calibration
from endoxa.comparisons import prediction
from endoxa.comparisons.appraisal import Appraisal, by_consensus
from endoxa.comparisons.appraisal import appraise as appraise_scores
from endoxa.comparisons.exact import compare_two
from endoxa.comparisons.individual import Individual, individual
from endoxa.comparisons.prediction import Estimates
from endoxa.comparisons.superiority import Superiority
from endoxa.errors import TableError
from endoxa.io.provenance import provenance
from endoxa.io.read import judgments_of, read, run_of
from endoxa.measures import own_votes
from endoxa.measures.distributions import Distribution
from endoxa.measures.grammar import Measure, Wanted, parse_all
from endoxa.measures.judgments import refuse_all_relevant
from endoxa.measures.uncertain import Progress, distribute, expectations, measure_belief
from endoxa.policies import WORLDS, Policy
from endoxa.pools.choosing import choose as choose_pairs
from endoxa.tables import Answers, Belief, Labels, Opinions, Run, Scores, Taxonomy

MARK = re.compile(r"^next@(\d+)$")  # how `next` says from how deep it drew
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
    worlds: int = WORLDS,
    confidence: float = 0.95,
    level: float | None = None,
    plugin: bool = False,
    progress: Progress | None = None,
    policy: Policy | None = None,
    model: str | None = None,
    systems_vote: bool = False,
    **votes: Any,
) -> Appraisal:
    """All there is to say where the truth is in doubt: means with intervals, P(best), P(A better), the three doubts.

    Without judgments the systems' consensus is believed (settings: depth, prior, weights, families, people), every
    system is scored within it, with ⊤ as baseline. Otherwise `judgments` is a Belief, or the votes of systems alone, or
    opinions of people, believed by `model`. systems_vote=True lets the runs vote beside the people (their first
    `depth` items; Dawid–Skene): `alone` is then the level under the belief without the system's own votes.
    """
    wanted = parse_all(measures, level=level)
    chosen = policy or Policy()
    how: dict[str, Any] = {"worlds": worlds, "plugin": plugin, "progress": progress}
    if judgments is None:
        return by_consensus(run_of(run), wanted, chosen, level=confidence, **how, **votes)
    if isinstance(judgments, Opinions) and set(judgments.frame["kind"]) != {"system"}:
        return _by_people(run_of(run), judgments, wanted, chosen, model, systems_vote, confidence, how, **votes)
    if isinstance(judgments, Opinions):
        return by_consensus(sets_of(judgments), wanted, chosen, votes=judgments, level=confidence, **how, **votes)
    if not isinstance(judgments, Belief):
        raise TableError(f"expected a belief, got {type(judgments).__name__}; make one with believe(...)")
    scores = measure_belief(run_of(run), judgments, wanted, chosen, level=confidence, **how)
    return appraise_scores(scores, judgments, level=confidence, seed=chosen.seed)


def _by_people(
    run: Run, opinions: Opinions, wanted: list[Measure], policy: Policy, model: str | None, systems_vote: bool,
    confidence: float, how: dict[str, Any], *, depth: int = consensus.DEPTH, **settings: Any,
) -> Appraisal:  # fmt: skip
    """Under what people said, the systems' own votes beside theirs if asked; then levels without the own vote too."""
    if systems_vote:
        model = model or "dawid-skene"
        opinions = Opinions(pl.concat([opinions.frame, consensus.votes(run, depth).frame]))
    model = model or models.default(opinions)
    belief = believe(opinions, model, seed=policy.seed, **settings)
    scores = measure_belief(run, belief, wanted, policy, level=confidence, **how)
    made = appraise_scores(scores, belief, level=confidence, seed=policy.seed)
    voters = [system for system in run.systems if system in opinions.sources]
    if not voters or model != "dawid-skene":
        return made
    people = len([source for source in opinions.sources if source not in voters])
    warning = (
        f"{len(voters)} systems vote beside {people} people: systems that err alike outvote them; compare with the "
        "people alone, and read the level without the own vote"
    )
    made = replace(made, warnings=(warning, *made.warnings))
    rows = []
    for system in voters:
        own = Run(run.frame.filter(pl.col("system") == system), run.ties)
        others = believe(opinions, model, seed=policy.seed, without=[system], **(settings | {"people": 0}))
        means = expectations(own, others, wanted, policy)[:, 0]
        rows += [(system, str(m), mean) for m, mean in zip(wanted, means, strict=True)]
    alone = pl.DataFrame(rows, schema=["system", "measure", "alone"], orient="row")
    summary = made.summary.join(alone, on=["system", "measure"], how="left", maintain_order="left")
    return replace(made, summary=summary)


def compare_answers(
    run: Any, answers: Any, *, N: int | None = None, level: float = 0.95, seed: int = 0, **how: Any
) -> Individual:
    """Every system against each subject's own ranked answer: weighted displacement, chance-corrected, with intervals.

    A row per system: mean displacement per item (in ranks), quality g, chance-corrected score with its interval over
    subjects and queries together, share of the subjects' items returned. Values become numbers per (subject, query)
    first and are averaged after. See `endoxa.measures.displacement` for rules and settings.
    """
    table = answers if isinstance(answers, Answers) else read(answers, kind="answers")
    return individual(run_of(run), table, N=N, level=level, rng=np.random.default_rng(seed), **how)


def estimate(run: Any, belief: Belief, labels: Any, measures: Wanted = ("P@10",), **how: Any) -> Estimates:
    """Prediction-powered estimates: the belief everywhere, corrected by labels drawn with known propensities.

    Valid however wrong the belief is; for sums and ratios of sums over items only (P@k, DCG@k, R@k, F@k, set forms).
    """
    table, given = run_of(run), judgments_of(labels)
    refuse_all_relevant(given, [1.0])
    how.setdefault("universe", drawn_from(table, belief, given))
    return prediction.estimate(table, belief, given, [str(m) for m in parse_all(measures)], **how)


def rounds_of(files: Sequence[Any]) -> Opinions:
    """Labels of several rounds of judging as one table, the last round last.

    Given the earlier rounds, what they judged is known: its propensity is 1, and only the last round's own counts.
    """
    tables = [judgments_of(file) for file in files]
    known = [table.frame.with_columns(pl.lit(1.0).alias("propensity")) for table in tables[:-1]]
    return Opinions.of(pl.concat([*known, tables[-1].frame]))


def drawn_from(run: Any, belief: Belief, labels: Opinions) -> pl.DataFrame | None:
    """The pairs that could be drawn, where the labels say how they were chosen (`next@10`); else None.

    They are what any run has in its first so many items and the belief holds, and what was labelled.
    """
    marks = labels.frame["selected_by"].drop_nulls().str.extract(MARK.pattern).drop_nulls().cast(pl.Int64)
    if not len(marks):
        return None
    tops = run_of(run).frame.filter(pl.col("rank") <= int(marks.max()))  # type: ignore[arg-type]
    pairs = ["query", "item"]
    held = tops.select(pairs).unique().join(belief.frame.select(pairs).unique(), on=pairs, how="semi")
    return pl.concat([held, labels.frame.select(pairs)]).unique().sort(pairs)


def is_estimable(measure: str) -> bool:
    """Whether a sample of labels gives a valid interval for it."""
    m = parse_all(measure)[0]
    return m.sum_form is not None and m.rel == 1


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
    return calibration.calibrate(belief, judgments_of(labels), None if run is None else run_of(run), **how)


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
    """What each system said yes to, as lists without an order: scores are equal."""
    rows = votes.frame.filter(pl.col("grade") > 0)
    return Run.of(rows.select(pl.col("source").alias("system"), "query", "item", pl.lit(0.0).alias("score")))


def distribution(
    run: Any, belief: Belief, measure: str | Measure, system: str, query: str | None = None, *, worlds: int = 4000
) -> Distribution:
    """The distribution of a measure for one system: on one query, or of its mean over all queries.

    Exact for P, R, F and their set forms, RR and Success on a query, and for the mean of P@k; else over `worlds`.
    """
    return distribute(run_of(run), belief, parse_all(measure)[0], system, query, worlds=worlds)
