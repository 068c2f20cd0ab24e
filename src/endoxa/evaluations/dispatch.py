"""One evaluation for every kind of reference: the only place where kinds are told apart to be scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from endoxa.errors import CallError, JoinError
from endoxa.evaluations.references import Reference, voters
from endoxa.evaluations.settings import DOUBTED, JUDGED, LEARNED, Settings
from endoxa.later import pl
from endoxa.measures.evaluate import Blocks, measure
from endoxa.measures.grammar import Measure
from endoxa.measures.preference_judgments import Preferences
from endoxa.progress import Progress
from endoxa.tables import Answers, Belief, Bundle, Comparison, Labels, Opinions, Run, Scores

if TYPE_CHECKING:
    from endoxa.evaluations.evaluation import Evaluation

Mapper = Callable[..., Any]
SHOWN = 6  # items that people filed of which a page has the shares


def no_run() -> CallError:
    """The error for a call without a run."""
    remedy = "name a file: TREC's 6 columns, JSON, or a table with the columns query, item and score"
    return CallError("no run was given", remedy=remedy)


def evaluate(
    run: Run | Blocks | None, reference: Reference, measures: Sequence[Measure] | None, settings: Settings, *,
    labels: Opinions | None = None, curves: bool = False, power: bool = False, orders: bool = False,
    progress: Progress | None = None, mapper: Mapper = map,
) -> Evaluation:  # fmt: skip
    """Score a run against a reference. `labels` are a few judged pairs beside a belief or a consensus."""
    if labels is not None and reference.kind not in DOUBTED:
        raise CallError(
            "labels are a few judged pairs beside runs or a belief",
            remedy="with judgments, add them to these. Several files of labels are given as --labels A --labels B",
        )
    if run is None and reference.kind != "votes":
        raise no_run()
    if reference.kind in JUDGED:
        from endoxa.evaluations import judged

        assert run is not None
        return judged.evaluate(
            run, reference, measures or (), settings, with_curves=curves, with_power=power, with_orders=orders
        )
    if power:
        raise CallError("power does not apply here", remedy="it is about tests against judgments")
    whole = None if run is None else _whole(run)
    table = reference.table
    if reference.kind == "sample" and whole is not None:
        from endoxa.evaluations import decided

        assert table is None or isinstance(table, Opinions)
        return decided.evaluate(whole, table, list(measures or ()), settings, judges=reference.judges)
    if isinstance(table, Bundle) and whole is not None:
        from endoxa.evaluations import bundled

        return bundled.evaluate(whole, table, measures, settings)
    if isinstance(table, Answers) and whole is not None:
        from endoxa.evaluations import answered

        if measures:
            named = ", ".join(map(str, measures))
            raise CallError("subjects' answers have their own measure, the displacement", remedy=f"remove {named}")
        return answered.evaluate(whole, table, settings)
    found = _in_doubt(whole, reference, list(measures or ()), settings, labels, progress, mapper)
    return found.changed(tables={**found.tables, **_filed(reference, settings)}) if curves else found


def _filed(reference: Reference, settings: Settings) -> dict[str, pl.DataFrame]:
    """What several people who filed items say, for a page: the categories, and the items that they agree on least."""
    if not isinstance(reference.table, Labels) or reference.taxonomy is None or len(reference.table.sources) < 2:
        return {}
    import numpy as np

    from endoxa.studies.filings import filings

    rng = np.random.default_rng(settings.seed)
    found = filings(reference.table, reference.taxonomy, confidence=settings.confidence, rng=rng)
    return {"categories": found.tree, "filed": found.torn(SHOWN), "filing_agreement": found.agreement}


def _in_doubt(
    run: Run | None, reference: Reference, measures: list[Measure], settings: Settings, labels: Opinions | None,
    progress: Progress | None, mapper: Mapper,
) -> Evaluation:  # fmt: skip
    from endoxa.evaluations import believed, consensus

    table = reference.table
    if reference.kind == "consensus":
        assert run is not None
        if labels is None:
            return consensus.evaluate(run, measures, settings, progress=progress, mapper=mapper)
        evaluation = consensus.with_labels(run, measures, settings, labels, progress=progress, mapper=mapper)
    elif reference.kind == "votes" and run is None:
        assert isinstance(table, Opinions)
        run = voters(table)
        evaluation = consensus.of_votes(run, measures, settings, table, labels=labels, progress=progress, mapper=mapper)
    else:
        assert run is not None
        belief = belief_of(reference, run, settings, labels)
        evaluation = believed.evaluate(run, belief, measures, settings, progress=progress, mapper=mapper)
        evaluation = replace(evaluation, kind=reference.kind)
    if labels is None:
        return evaluation
    return believed.with_labels(evaluation, run, belief_of(reference, run, settings), labels)


def belief_of(reference: Reference, run: Run | None, settings: Settings, labels: Opinions | None = None) -> Belief:
    """The belief that a reference amounts to: given, made by a model, or the consensus of the systems."""
    from endoxa.beliefs import models
    from endoxa.beliefs.votes import pinned
    from endoxa.evaluations import consensus

    table = reference.table
    if reference.kind == "sample":
        if run is None:
            raise no_run()
        return models.believe(run, "learned", seed=settings.seed, labels=table, judges=reference.judges)
    if isinstance(table, Belief):
        belief = table
    elif reference.kind in {"consensus", "votes"}:
        source = table if isinstance(table, Opinions) else run
        if source is None:
            raise no_run()
        belief = consensus.belief(source, settings)
    elif isinstance(table, Opinions | Labels):
        more: dict[str, Any] = {} if settings.people is None else {"people": settings.people}
        more |= {} if settings.mix is None else {"mix": settings.mix}
        if isinstance(table, Labels) and reference.taxonomy is not None:
            more["taxonomy"] = reference.taxonomy
        belief = models.believe(table, settings.model, seed=settings.seed, **more)
        belief = _asked(belief, run) if isinstance(table, Labels) and run is not None else belief
    else:
        raise JoinError(f"{reference.kind} are not a belief", remedy="make one with believe(...)")
    return belief if labels is None else pinned(belief, labels)


def _asked(belief: Belief, run: Run) -> Belief:
    """The belief about the filed items that a run was asked for: an item that nobody asked about is no query."""
    asked = {*run.frame["query"].unique(), *(query for _, query in run.empty)}
    frame = belief.frame.filter(pl.col("query").is_in(list(asked)))
    return replace(belief, frame=frame) if frame.height else belief


def score(
    run: Run | Blocks | None, reference: Reference, measures: Sequence[Measure], settings: Settings, *,
    labels: Opinions | None = None, progress: Progress | None = None, mapper: Mapper = map,
) -> Scores:  # fmt: skip
    """Values per system, query and measure only; under doubt they are expectations, with draws."""
    if reference.kind in {"answers", "bundle"}:
        raise CallError(f"against {reference.kind} there are no values per query", remedy="use evaluate")
    if run is None and reference.kind != "votes":
        raise no_run()
    if reference.kind in JUDGED:
        assert run is not None
        assert isinstance(reference.table, Opinions | Preferences)
        return measure(run, reference.table, measures, settings.policy)
    from endoxa.evaluations import believed

    if run is None:
        assert isinstance(reference.table, Opinions)
        run = voters(reference.table)
    whole = _whole(run)
    if reference.kind == "sample":
        from endoxa.evaluations import decided

        assert reference.table is None or isinstance(reference.table, Opinions)
        return decided.score(whole, reference.table, measures, settings, judges=reference.judges)
    if reference.kind == "consensus" and labels is None:
        from endoxa.evaluations import consensus

        return consensus.score(whole, measures, settings)
    belief = belief_of(reference, whole, settings, labels)
    return believed.score(whole, belief, measures, settings, progress=progress, mapper=mapper)


def compare(scores: Scores, settings: Settings, measures: Sequence[str] | None = None) -> Comparison:
    """Every pair of systems, by tests over queries or, under doubt, by P(better) in shared possible worlds."""
    if len(scores.systems) < 2:
        raise JoinError("a comparison needs two systems", remedy="add a run")
    if scores.draws is None:
        from endoxa.evaluations import judged

        return judged.compare(scores, settings, measures)
    _refuse_learned(scores)
    from endoxa.evaluations import believed

    return believed.compare(scores, settings, measures)


def between(run: Run, first: str, second: str, measures: Sequence[Measure], settings: Settings) -> Evaluation:
    """Two systems under the consensus of all the others: neither votes on the truth that scores it."""
    from endoxa.evaluations import consensus

    return consensus.between(run, (first, second), measures, settings)


def summarise(scores: Scores, settings: Settings) -> pl.DataFrame:
    """Mean of every system and measure with its interval."""
    if scores.draws is None:
        from endoxa.evaluations import judged

        return judged.summarise(scores, settings)
    _refuse_learned(scores)
    from endoxa.evaluations import believed

    return believed.summarise(scores, settings)


def _refuse_learned(scores: Scores) -> None:
    if scores.draws is not None and LEARNED in scores.draws.lines:
        raise CallError(
            "these values are modelled from the runs, and from labels where there are any",
            remedy="give the runs: compare(runs), or compare(runs, labels=…)",
        )


def _whole(run: Run | Blocks) -> Run:
    return run if isinstance(run, Run) else run.whole()
