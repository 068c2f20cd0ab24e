"""compare: which differences between systems are more than chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Unpack

from endoxa.declared import option
from endoxa.errors import CallError
from endoxa.verbs.parameters import (
    Against,
    Labelled,
    Machines,
    Measures,
    Report,
    Runs,
    Tree,
    takes_either_order,
    takes_settings,
)

if TYPE_CHECKING:
    from endoxa.evaluations.evaluation import Evaluation
    from endoxa.evaluations.given import Given
    from endoxa.measures.grammar import Measure, Wanted
    from endoxa.progress import Progress
    from endoxa.tables import Comparison, Scores

Between = Annotated[
    tuple[str, str] | None, option("Without judgments: only these two, without their own votes.", metavar="A B")
]
Power = Annotated[bool, option("Also swap rates, discriminative power, queries needed.")]


@takes_settings()
@takes_either_order
def compare(
    run: Any,
    reference: Any = None,
    measures: Wanted | None = None,
    *,
    between: tuple[str, str] | None = None,
    labels: Any = None,
    judges: Any = None,
    taxonomy: Any = None,
    progress: Progress | bool | None = None,
    report: Report | None = None,
    **settings: Unpack[Given],
) -> Comparison:
    """Compare systems pair by pair: difference, interval, and a test or P(better).

    `run` and `reference` are given as to `evaluate`; in place of `run` may stand an Evaluation, or Scores as `measure`
    makes them. `between` names two systems of runs without judgments that are compared without their own votes.
    """
    from endoxa.evaluations import dispatch
    from endoxa.evaluations.evaluation import Evaluation
    from endoxa.tables import Scores

    if isinstance(run, Scores):
        return _scores(run, measures, settings)
    if isinstance(run, Evaluation):
        if settings or reference is not None:
            raise CallError("an evaluation is compared under its own settings", remedy="give them to evaluate(...)")
        evaluation = run
    else:
        evaluation = compared(
            run, reference, measures, between=between, labels=labels, judges=judges, taxonomy=taxonomy,
            progress=progress, report=report, **settings,
        )  # fmt: skip
    if evaluation.scores is None:
        raise CallError(
            f"systems scored against {evaluation.kind} are not compared pair by pair", remedy="use evaluate"
        )
    return evaluation.comparison or dispatch.compare(evaluation.scores, evaluation.settings)


def compared(
    run: Runs,
    reference: Against = None,
    measures: Measures = None,
    *,
    between: Between = None,
    power: Power = False,
    labels: Labelled = None,
    judges: Machines = None,
    taxonomy: Tree = None,
    progress: Progress | bool | None = None,
    report: Report | None = None,
    **settings: Unpack[Given],
) -> Evaluation:
    """Compare systems pair by pair: difference, interval, test, correction, effect size.

    The result is the evaluation behind the comparison: its tables also say whether measures agree, and the power of the
    queries.

    Examples:
        endoxa compare runs/*.gz AP
        endoxa compare runs/*.gz AP --between bm25 dense
        endoxa compare qrels.txt bm25.run dense.run hybrid.run nDCG@10
        endoxa compare qrels.txt runs/*.gz AP --baseline bm25 --test tukey
        endoxa compare qrels.txt runs/*.gz AP nDCG@10 --power -o markdown
    """
    from endoxa.verbs.evaluate import evaluate
    from endoxa.verbs.inputs import is_nothing

    if between is not None and not (is_nothing(labels) and is_nothing(judges)):
        raise CallError(
            "between leaves the votes of two systems out, and labels and machine judges decide without votes",
            remedy="give one of them",
        )
    if between is not None:
        return _between(run, reference, measures, between, settings)
    return evaluate(
        run, reference, measures, labels=labels, judges=judges, taxonomy=taxonomy, power=power, orders=True,
        progress=progress, report=report, **settings,
    )  # fmt: skip


def _scores(scores: Scores, measures: Wanted | None, given: Given) -> Comparison:
    from endoxa.evaluations import dispatch
    from endoxa.evaluations.settings import REGISTRY
    from endoxa.measures.grammar import Measure
    from endoxa.verbs.evaluate import kinds_of
    from endoxa.verbs.inputs import settings_of

    settings = settings_of(given)
    for name in given:
        if REGISTRY[name].scoring and name != "seed":
            raise CallError(f"{name} changes scores, and these are made", remedy="give it to measure(...)")
    settings.refuse_foreign(given, kinds_of(scores))
    names = [measures] if isinstance(measures, str | Measure) else measures
    return dispatch.compare(scores, settings, None if names is None else [str(name) for name in names])


def _between(run: Any, reference: Any, measures: Wanted | None, pair: tuple[str, str], given: Given) -> Evaluation:
    from endoxa.evaluations import dispatch
    from endoxa.verbs.inputs import foreign, reference_of, run_of, settings_of

    settings = settings_of(given, run)
    against = reference_of(reference, settings)
    if against.kind != "consensus":
        raise CallError("between leaves votes out, and with a reference nobody votes", remedy="remove it")
    foreign(settings, given, against)
    if settings.on is not None:
        raise CallError("between works in this process only", remedy="leave on out")
    return dispatch.between(run_of(run, settings), *pair, against.measures(measures, settings, compared=True), settings)


@takes_either_order
def superiority(
    run: Any, reference: Any, first: str, second: str, measure: str | Measure, query: str | None = None, *,
    confidence: float = 0.95,
) -> Any:  # fmt: skip
    """How probably one system is better than another, exactly: P@k (one query, or the mean), SetP, R@k, SetR."""
    from endoxa.comparisons.exact import compare_two
    from endoxa.evaluations import dispatch
    from endoxa.verbs.inputs import reference_of, run_of, settings_of
    from endoxa.verbs.measure import certain

    settings = settings_of({"confidence": confidence}, run)
    table = run_of(run, settings)
    belief = dispatch.belief_of(certain(reference_of(reference, settings)), table, settings)
    return compare_two(table, belief, first, second, measure, query, confidence=confidence)
