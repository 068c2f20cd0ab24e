"""endoxa write: the same table in another format."""

from __future__ import annotations

from typing import Annotated

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.declared import argument, option
from endoxa.verbs.parameters import Lenient


# By hand: it reads by one verb and writes by another.
def write(
    file: Annotated[str, argument("A table, or an evaluation (.json).", "FILE")],
    to: Annotated[str, argument("The suffix chooses the format: .csv, .jsonl, .parquet, .run, .html …", "TARGET")],
    kind: Annotated[str, option("What FILE is, if its content does not tell.", metavar="KIND")] = "auto",
    assessors: Annotated[bool, option("Column 2 of qrels names the assessor.")] = False,
    lenient: Lenient = False,
) -> None:
    """Convert a file: runs, judgments, beliefs, scores; an evaluation also becomes a page or a table for a paper.

    Examples:
        endoxa write bm25.run bm25.parquet
        endoxa write evaluation.json report.html
    """
    from endoxa.verbs.read import read
    from endoxa.verbs.write import write as verb

    verb(read(file, kind=kind, assessors=assessors, lenient=lenient, report=output.skipped), to)  # type: ignore[arg-type]
    output.say(f"{file} is written to {to}.")


COMMANDS = (derived("write", write),)
