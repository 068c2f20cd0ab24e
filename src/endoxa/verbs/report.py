"""report: everything that a page shows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from endoxa.declared import option
from endoxa.errors import CallError
from endoxa.verbs.evaluate import evaluate
from endoxa.verbs.parameters import (
    Against,
    Labelled,
    Machines,
    Measures,
    Report,
    Runs,
    Title,
    Tree,
    takes_either_order,
    takes_settings,
)

if TYPE_CHECKING:
    from endoxa.evaluations.evaluation import Evaluation
    from endoxa.evaluations.given import Given
    from endoxa.progress import Progress
    from endoxa.tables import Costs


@takes_settings()
@takes_either_order
def report(
    run: Runs,
    reference: Against = None,
    measures: Measures = None,
    *,
    title: Title = "",
    costs: Annotated[Any, option("Costs beside quality: costs.csv of `endoxa images run`.", metavar="FILE")] = None,
    labels: Labelled = None,
    judges: Machines = None,
    taxonomy: Tree = None,
    command: str = "",
    progress: Progress | bool | None = None,
    report: Report | None = None,
    **settings: Unpack[Given],
) -> Evaluation:
    """Evaluate systems for a page: as `evaluate`, with precision-recall curves where there are judgments.

    `write(report(...), "report.html")` writes one self-contained page; `.md` and `.tex` the summary table. `costs` is a
    table of costs, or a file of them, to be shown beside quality.

    Examples:
        endoxa report runs/*.gz --to report.html
        endoxa report qrels.txt runs/*.gz --to report.html
        endoxa report qrels.txt runs/*.gz nDCG@10 AP --baseline bm25 --figures figures --to report.html
    """
    from endoxa.verbs.inputs import files_of

    evaluation = evaluate(
        run, reference, measures, labels=labels, judges=judges, taxonomy=taxonomy, curves=True, title=title,
        command=command, progress=progress, report=report, **settings,
    )  # fmt: skip
    if evaluation.kind in {"answers", "bundle", "votes"}:
        raise CallError(
            f"a page is made of runs, with judgments, a belief, or alone, not of {evaluation.kind}",
            remedy="use evaluate",
        )
    return replace(evaluation, costs=costs_of(costs), files=files_of(run, reference, labels, judges))


def costs_of(source: Any) -> Costs | None:
    """A table of costs from whatever holds one."""
    from endoxa.tables import Costs

    if source is None or isinstance(source, Costs):
        return source
    from endoxa.io.table_files import read_costs

    return read_costs(source)
