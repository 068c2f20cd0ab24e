"""endoxa estimate: what a few labels say, even if the belief is wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from endoxa.cli import options as o
from endoxa.cli import output

FORMS = ("table", "csv", "tsv", "json", "jsonl", "parquet", "markdown", "latex")


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("estimate")(estimate)


def estimate(
    words: o.Words = None, labels: o.Labels = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="Differences between systems instead of values.")] = False,
    form: Annotated[str, o.form_option(*FORMS)] = "table", to: o.To = None, confidence: o.Confidence = 0.95,
    runs: o.Runs = None,
) -> None:  # fmt: skip
    """Estimate measures from a belief and a few labels, with intervals that stay valid even if the belief is wrong.

    [bold]Examples[/bold]

      endoxa estimate runs/*.gz P@10 --labels judge.csv

      endoxa estimate belief.parquet runs/*.gz P@10 --labels round1.csv --labels round2.csv --pairs -o tsv
    """
    from endoxa.evaluations.sentences import estimated as sentence
    from endoxa.verbs.estimate import estimate as verb

    form = output.need_form(form, to, FORMS)
    inputs = o.told_apart(words, None, None, runs)
    found = verb(inputs.runs, inputs.reference, labels, inputs.measures or ("P@10",), confidence=confidence)
    rows = found.best_first(pairs=pairs) if form == "table" else found.pairs if pairs else found.frame
    output.table(rows, form, to, found.notes, answer=sentence(found, confidence))
