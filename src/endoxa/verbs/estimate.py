"""estimate: what a few labels say, whatever the belief is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from endoxa.errors import CallError
from endoxa.verbs.parameters import Confidence, Labelled, Named, Relied, Runs, takes_either_order

if TYPE_CHECKING:
    from endoxa.comparisons.prediction import Estimates


@takes_either_order
def estimate(
    run: Runs, reference: Relied = None, labels: Labelled = None, measures: Named = ("P@10",), *,
    confidence: Confidence = 0.95, lam: float | None = None, universe: Any = None,
) -> Estimates:  # fmt: skip
    """Estimate measures from a belief and a few labels, with intervals that stay valid even if the belief is wrong.

    Prediction-powered: the belief everywhere, corrected by labels drawn with known propensities.
    Only sums and ratios of sums over items can be estimated (P@k, DCG@k, R@k, F@k, set forms). `reference` is a belief,
    opinions, or nothing: the consensus of the runs. `labels` are one or several rounds of judging, the last one last.

    Examples:
        endoxa estimate runs/*.gz P@10 --labels judge.csv
        endoxa estimate belief.parquet runs/*.gz P@10 --labels round1.csv --labels round2.csv --pairs -o tsv
    """
    from endoxa.comparisons import prediction
    from endoxa.evaluations.dispatch import belief_of, no_run
    from endoxa.measures.grammar import parse_all
    from endoxa.verbs.inputs import reference_of, rounds_of, run_of, settings_of

    if run is None or (isinstance(run, list) and not run):
        raise no_run()
    given = rounds_of(labels)
    if given is None:
        raise CallError("no labels were given", remedy="an estimate needs judged pairs")
    settings = settings_of({"confidence": confidence}, run)
    table = run_of(run, settings)
    belief = belief_of(reference_of(reference, settings), table, settings)

    names = [str(m) for m in parse_all(measures)]
    return prediction.estimate(table, belief, given, names, confidence=confidence, lam=lam, universe=universe)


def calibrate(belief: Any, labels: Any, run: Any = None, *, bins: int = 10, confidence: float = 0.95) -> Any:
    """How far a belief agrees with labels: Brier, Spiegelhalter's z, slope, reliability, and each system's gap."""
    from endoxa.beliefs import reliability
    from endoxa.evaluations.dispatch import belief_of
    from endoxa.verbs.inputs import reference_of, rounds_of, run_of, settings_of

    settings = settings_of({})
    reference = reference_of(belief, settings)
    table = None if run is None else run_of(run)
    given = rounds_of(labels)
    if given is None:
        raise CallError("no labels were given", remedy="a belief is calibrated against judged pairs")
    return reliability.calibrate(belief_of(reference, table, settings), given, table, bins=bins, confidence=confidence)
