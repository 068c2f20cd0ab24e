"""endoxa check: is there anything wrong with these files?"""

from __future__ import annotations

import sys

import typer

from endoxa.cli import options as o
from endoxa.cli import show


def add_to(app: typer.Typer) -> None:
    """Enter the verb."""
    app.command("check")(check)


def check(
    words: o.Words = None,
    assessors: o.Assessors = "one",
    qrels: o.Qrels = None,
    runs: o.Runs = None,
) -> None:
    """Look for what spoils an evaluation: bad lines, duplicates, ties, missing topics, unjudged and dangling ids.

    Exit code 1 if something is wrong, 0 if there are remarks at most.

    [bold]Examples[/bold]

      endoxa check qrels.txt runs/*.gz
    """
    from endoxa.verbs import check as checked

    inputs = o.sort_words(words, None, qrels, runs)
    if inputs.qrels is None and not inputs.runs:
        raise typer.BadParameter("name a file of judgments, or runs, or both")
    findings = checked(inputs.runs, inputs.qrels, assessors=assessors == "mean")
    for finding in findings:
        mark = {"error": "✗", "warning": "!", "fine": "✓"}[finding.state]
        print(f"{mark} {finding.text}")
    wrong = sum(finding.state == "error" for finding in findings)
    warned = sum(finding.state == "warning" for finding in findings)
    show.note(f"{wrong} wrong, {warned} to look at")
    if wrong:
        sys.exit(1)
