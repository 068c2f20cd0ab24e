"""endoxa measure: one value per system, query and measure, and nothing else."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from endoxa.cli import loudness, output
from endoxa.cli import options as o

FORMS = ("table", "csv", "tsv", "json", "jsonl", "parquet", "markdown", "latex")


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("measure")(measure)


@o.takes_settings(scoring_only=True)
def measure(
    words: o.Words = None, measures: o.Measures = None, form: Annotated[str, o.form_option(*FORMS)] = "table",
    to: o.To = None, labels: o.Labels = None, taxonomy: o.Taxonomy = None, qrels: o.Qrels = None, runs: o.Runs = None,
    *, settings: dict[str, Any],
) -> None:  # fmt: skip
    """Print the value of every measure for every system and query, without means and intervals.

    Parquet keeps the possible worlds too, so that `endoxa.compare` can go on from the file.

    [bold]Examples[/bold]

      endoxa measure qrels.txt bm25.run nDCG@10 -o tsv

      endoxa measure runs/*.gz AP -o parquet --to scores.parquet
    """
    from endoxa.evaluations.sentences import measured
    from endoxa.verbs.measure import measure as verb

    form = output.need_form(form, to, FORMS)
    inputs = o.told_apart(words, measures, qrels, runs)
    with output.progress_bar(max(len(inputs.runs), 1)) as progress:
        scores = verb(
            inputs.runs, inputs.reference, inputs.measures or None, labels=labels, taxonomy=taxonomy,
            progress=progress, report=output.skipped, **settings,
        )  # fmt: skip
    policy = scores.policy.lines() if loudness.is_full() else [f"{scores.policy} (-v explains)"]
    output.table(scores, form, to, policy, answer=measured(scores))
