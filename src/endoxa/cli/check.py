"""endoxa check: is there anything wrong with these files?"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from endoxa.cli import options as o
from endoxa.cli import output
from endoxa.errors import CallError

MARKS = {"error": "✗", "warning": "!", "fine": "✓"}


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("check")(check)


def check(
    words: o.Words = None,
    assessors: Annotated[
        str, typer.Option("--assessors", metavar="one|mean", help="mean: column 2 of the judgments names the assessor.")
    ] = "one",
    qrels: o.Qrels = None,
    runs: o.Runs = None,
) -> None:
    """Look for what spoils an evaluation: bad lines, duplicates, ties, missing topics, unjudged and dangling ids.

    The exit code is 1 if something is wrong, and 0 if there are only remarks.

    [bold]Examples[/bold]

      endoxa check qrels.txt runs/*.gz
    """
    from endoxa.verbs.check import check as verb

    inputs = o.told_apart(words, None, qrels, runs)
    if inputs.reference is None and not inputs.runs:
        raise CallError("name a file of judgments, or runs, or both")
    findings = verb(inputs.runs, inputs.reference, assessors=assessors)
    wrong = sum(finding.state == "error" for finding in findings)
    warned = sum(finding.state == "warning" for finding in findings)
    look = f"{warned} finding{' is' if warned == 1 else 's are'} worth a look" if warned else "nothing else stands out"
    what = f"{wrong} thing{' is' if wrong == 1 else 's are'} wrong" if wrong else "Nothing is wrong"
    output.say(f"{what}, and {look}.")
    output.tell(*(f"{MARKS[finding.state]} {finding.text}" for finding in findings))
    if wrong:
        sys.exit(1)
