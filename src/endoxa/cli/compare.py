"""endoxa compare: which differences between systems are more than chance."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import output

FORMS = ("table", "csv", "tsv", "json", "jsonl", "parquet", "markdown", "latex", "html")


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("compare")(compare)


@o.takes_settings()
def compare(
    words: o.Words = None,
    measures: o.Measures = None,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option("--between", metavar="A B", help="Without judgments: only these two, without their own votes."),
    ] = None,
    power: Annotated[
        bool, typer.Option("--power", help="Also swap rates, discriminative power, queries needed.")
    ] = False,
    form: Annotated[str, o.form_option(*FORMS)] = "table",
    to: o.To = None,
    labels: o.Labels = None,
    taxonomy: o.Taxonomy = None,
    qrels: o.Qrels = None,
    runs: o.Runs = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Compare systems pair by pair: difference, interval, test, correction, effect size.

    Without judgments, or under a belief: the probability that one is better, in the same possible worlds.

    [bold]Examples[/bold]

      endoxa compare runs/*.gz AP

      endoxa compare runs/*.gz AP --between bm25 dense

      endoxa compare qrels.txt bm25.run dense.run hybrid.run nDCG@10

      endoxa compare qrels.txt runs/*.gz AP --baseline bm25 --test tukey

      endoxa compare qrels.txt runs/*.gz AP nDCG@10 --power -o markdown
    """
    from endoxa.verbs import compare as verbs

    form = output.need_form(form, to, FORMS)
    inputs = o.told_apart(words, measures, qrels, runs)
    with output.progress_bar(max(len(inputs.runs), 2)) as progress:
        found = verbs.compared(
            inputs.runs, inputs.reference, inputs.measures or None, between=between, power=power, labels=labels,
            taxonomy=taxonomy, progress=progress, report=output.skipped, **settings,
        )  # fmt: skip
    output.comparison(found, form, to)
