"""report: everything that a page shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from endoxa.errors import CallError
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.given import Given
from endoxa.measures.grammar import Wanted
from endoxa.progress import Progress
from endoxa.tables import Costs
from endoxa.verbs.evaluate import evaluate
from endoxa.verbs.inputs import Report, files_of, takes_either_order, takes_settings


@takes_settings()
@takes_either_order
def report(
    run: Any,
    reference: Any = None,
    measures: Wanted | None = None,
    *,
    title: str = "",
    costs: Any = None,
    labels: Any = None,
    taxonomy: Any = None,
    command: str = "",
    progress: Progress | bool | None = None,
    report: Report | None = None,
    **settings: Unpack[Given],
) -> Evaluation:
    """Evaluate systems for a page: as `evaluate`, with precision-recall curves where there are judgments.

    `write(report(...), "report.html")` writes one self-contained page; `.md` and `.tex` the summary table. `costs` is a
    table of costs, or a file of them, to be shown beside quality.
    """
    evaluation = evaluate(
        run, reference, measures, labels=labels, taxonomy=taxonomy, curves=True, title=title, command=command,
        progress=progress, report=report, **settings,
    )  # fmt: skip
    if evaluation.kind in {"answers", "bundle", "votes"}:
        raise CallError(
            f"a page is made of runs, with judgments, a belief, or alone, not of {evaluation.kind}",
            remedy="use evaluate",
        )
    return replace(evaluation, costs=costs_of(costs), files=files_of(run, reference))


def costs_of(source: Any) -> Costs | None:
    """A table of costs from whatever holds one."""
    if source is None or isinstance(source, Costs):
        return source
    from endoxa.io.table_files import read_costs

    return read_costs(source)
