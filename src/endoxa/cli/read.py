"""endoxa read: what is in a file?"""

from __future__ import annotations

from typing import Annotated

import typer

from endoxa.cli import options as o
from endoxa.cli import output

NAMES = {
    "Run": "a run", "Opinions": "judgments", "Belief": "a belief", "Taxonomy": "a taxonomy",
    "Comparison": "a comparison", "Evaluation": "an evaluation",
}  # fmt: skip
FORMS = ("table", "csv", "tsv", "json", "jsonl")


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("read")(read)


def read(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of any kind; - is standard input.")],
    kind: Annotated[
        str,
        typer.Option("--kind", metavar="KIND", help="What it is (run, qrels, belief …), if its content does not tell."),
    ] = "auto",
    assessors: Annotated[bool, typer.Option("--assessors", help="Column 2 of qrels names the assessor.")] = False,
    lenient: o.Lenient = False,
    form: Annotated[str, o.form_option(*FORMS)] = "table",
    to: o.To = None,
) -> None:
    """Say what a file holds and show its first rows; with -o the whole table, in the columns used here.

    [bold]Examples[/bold]

      endoxa read bm25.run

      endoxa read opinions.parquet -o csv --to opinions.csv
    """
    from endoxa.verbs.read import read as verb

    form = output.need_form(form, to, FORMS)
    table = verb(file, kind=kind, assessors=assessors, lenient=lenient, report=output.skipped)  # type: ignore[arg-type]
    frame = table.to_polars()
    what = NAMES.get(type(table).__name__, f"a table of {type(table).__name__.lower()}")
    answer = f"{file} holds {what}: {frame.height:,} row{'' if frame.height == 1 else 's'}."
    if form == "table":
        output.say(answer)
        output.head(frame, "-o csv")
    else:
        output.table(frame, form, to, answer=answer)
