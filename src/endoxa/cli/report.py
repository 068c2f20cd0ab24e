"""endoxa report: one page that opens offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.declared import option
from endoxa.errors import CallError
from endoxa.notes import marked
from endoxa.verbs.report import report

if TYPE_CHECKING:
    from endoxa.evaluations.evaluation import Evaluation

PAGE = "report.html"


def need_suffix(values: dict[str, Any]) -> None:
    """The suffix names a form that a report has."""
    to = values.get("to", PAGE)
    if Path(to).suffix.lower() not in {".html", ".htm", ".md", ".tex", ".json", ".parquet"}:
        raise CallError(f"--to ends in .html, .md, .tex, .json or .parquet, not {to!r}")


def print_report(
    evaluation: Evaluation,
    *,
    to: Annotated[str, option(".html, .md, .tex, .json or .parquet", metavar="FILE")] = PAGE,
    figures: Annotated[str | None, option("Also write the figures, as SVG and PNG.", metavar="DIR")] = None,
) -> None:
    """Write the page and the figures, and print the answer."""
    from endoxa.verbs.write import write, write_figures

    with output.busy("drawing"):
        write(evaluation, to)
    output.say(evaluation.sentences[0])
    output.tell(*marked(evaluation.warnings))
    output.note(f"wrote {to}")
    if figures is not None:
        for path in write_figures(evaluation, figures):
            output.note(f"wrote {path}")


COMMANDS = (
    derived(
        "report", report, print_report, before=need_suffix,
        says="Write one self-contained page: summary with intervals, curves, differences, warnings, policies.",
        more="Without judgments, or under a belief: distributions, P(A better), the three doubts.",
    ),
)  # fmt: skip
