"""endoxa report: one page that opens offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import output
from endoxa.errors import CallError
from endoxa.notes import marked


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("report")(report)


@o.takes_settings()
def report(
    words: o.Words = None,
    measures: o.Measures = None,
    to: Annotated[
        str, typer.Option("--to", metavar="FILE", help=".html, .md, .tex, .json or .parquet")
    ] = "report.html",
    figures: Annotated[
        str | None, typer.Option("--figures", metavar="DIR", help="Also write the figures, as SVG and PNG.")
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Heading of the page.")] = "",
    costs: Annotated[
        str | None,
        typer.Option("--costs", metavar="FILE", help="Costs beside quality: costs.csv of `endoxa images run`."),
    ] = None,
    labels: o.Labels = None,
    taxonomy: o.Taxonomy = None,
    qrels: o.Qrels = None,
    runs: o.Runs = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Write one self-contained page: summary with intervals, curves, differences, warnings, policies.

    Without judgments, or under a belief: distributions, P(A better), the three doubts.

    [bold]Examples[/bold]

      endoxa report runs/*.gz --to report.html

      endoxa report qrels.txt runs/*.gz --to report.html

      endoxa report qrels.txt runs/*.gz nDCG@10 AP --baseline bm25 --figures figures --to report.html
    """
    from endoxa.verbs.report import report as verb
    from endoxa.verbs.write import write, write_figures

    if Path(to).suffix.lower() not in {".html", ".htm", ".md", ".tex", ".json", ".parquet"}:
        raise CallError(f"--to ends in .html, .md, .tex, .json or .parquet, not {to!r}")
    inputs = o.told_apart(words, measures, qrels, runs)
    with output.progress_bar(max(len(inputs.runs), 2)) as progress:
        evaluation = verb(
            inputs.runs, inputs.reference, inputs.measures or None, title=title, costs=costs, labels=labels,
            taxonomy=taxonomy, command=o.command_line(), progress=progress, report=output.skipped, **settings,
        )  # fmt: skip
    with output.busy("drawing"):
        write(evaluation, to)
    output.say(evaluation.sentences[0])
    output.tell(*marked(evaluation.warnings))
    output.note(f"wrote {to}")
    if figures is not None:
        for path in write_figures(evaluation, figures):
            output.note(f"wrote {path}")
