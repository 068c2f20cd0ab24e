"""endoxa write: the same table in another format."""

from __future__ import annotations

from typing import Annotated

import typer

from endoxa.cli import options as o
from endoxa.cli import output


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("write")(write)


def write(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A table, or an evaluation (.json).")],
    to: Annotated[
        str,
        typer.Argument(metavar="TARGET", help="The suffix chooses the format: .csv, .jsonl, .parquet, .run, .html …"),
    ],
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="What FILE is, if its content does not tell.")
    ] = "auto",
    assessors: Annotated[bool, typer.Option("--assessors", help="Column 2 of qrels names the assessor.")] = False,
    lenient: o.Lenient = False,
) -> None:
    """Convert a file: runs, judgments, beliefs, scores; an evaluation also becomes a page or a table for a paper.

    [bold]Examples[/bold]

      endoxa write bm25.run bm25.parquet

      endoxa write evaluation.json report.html
    """
    from endoxa.verbs.read import read
    from endoxa.verbs.write import write as verb

    verb(read(file, kind=kind, assessors=assessors, lenient=lenient, report=output.skipped), to)  # type: ignore[arg-type]
    output.say(f"{file} is written to {to}.")
