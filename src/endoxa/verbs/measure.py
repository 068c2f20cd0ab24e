"""measure: one value per system, query and measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

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
    from endoxa.evaluations.given import Scoring
    from endoxa.measures.grammar import Measure
    from endoxa.progress import Progress
    from endoxa.tables import Scores


@takes_settings(scoring_only=True)
@takes_either_order
def measure(
    run: Runs,
    reference: Against = None,
    measures: Measures = None,
    *,
    labels: Labelled = None,
    judges: Machines = None,
    taxonomy: Tree = None,
    progress: Progress | bool | None = None,
    report: Report | None = None,
    **settings: Unpack[Scoring],
) -> Scores:
    """Score runs against a reference: one value per system, query and measure.

    `run` and `reference` are given as to `evaluate`; files are read and scored block by block, so that memory stays
    bounded. Under a belief, and without judgments, values are expectations and `draws` holds possible worlds.

    >>> scores = measure({"q1": {"a": 2.0, "b": 1.0}}, {"q1": {"b": 1}}, ["RR", "AP"])
    >>> scores.to_dict()["run"]["q1"]
    {'RR': 0.5, 'AP': 0.5}

    Examples:
        endoxa measure qrels.txt bm25.run nDCG@10 -o tsv
        endoxa measure runs/*.gz AP -o parquet --to scores.parquet
    """
    from endoxa.evaluations.dispatch import score
    from endoxa.progress import shown
    from endoxa.verbs.inputs import beside, foreign, mapper_of, reference_of, runs_of, settings_of

    progress = shown(progress)
    chosen = settings_of(settings, run, scoring_only=True)
    against, more = beside(reference_of(reference, chosen, taxonomy=taxonomy, report=report), labels, chosen, judges)
    foreign(chosen, settings, against)
    wanted = against.measures(measures, chosen) if against.kind not in {"answers", "bundle"} else []
    lists = runs_of(run, chosen, progress=progress, report=report)
    return score(lists, against, wanted, chosen, labels=more, progress=progress, mapper=mapper_of(chosen))


@takes_either_order
def distribution(
    run: Any, reference: Any, measure: str | Measure, system: str, query: str | None = None, *, worlds: int = 4000,
    seed: int = 0,
) -> Any:  # fmt: skip
    """The distribution of a measure for one system: on one query, or of its mean over all queries.

    Exact where the measure has an exact law (P, R, F and their set forms, RR and Success on a query, the mean of
    P@k), else over `worlds` possible worlds.
    """
    from endoxa.evaluations.dispatch import belief_of
    from endoxa.measures.grammar import parse_all
    from endoxa.measures.uncertain import distribute
    from endoxa.verbs.inputs import reference_of, run_of, settings_of

    settings = settings_of({"seed": seed}, run)
    table = run_of(run, settings)
    against = reference_of(reference, settings)
    if against.kind in {"answers", "bundle", "preferences"}:
        raise CallError(
            f"a distribution is under a belief, and {against.kind} are none", remedy="make one with believe(...)"
        )
    belief = belief_of(certain(against), table, settings)
    return distribute(table, belief, parse_all(measure)[0], system, query, worlds=worlds, seed=seed)


def certain(reference: Any) -> Any:
    """Judgments as a belief that holds them for certain; any other reference as it is."""
    from dataclasses import replace

    return replace(reference, kind="opinions") if reference.kind == "judgments" else reference
