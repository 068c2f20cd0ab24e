"""endoxa check: is there anything wrong with these files?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.errors import CallError
from endoxa.verbs.check import check

if TYPE_CHECKING:
    from endoxa.pools.lint import Finding

MARKS = {"error": "✗", "warning": "!", "fine": "✓"}


def need_files(values: dict[str, Any]) -> None:
    """There is something to check."""
    if not values["runs"] and "judgments" not in values:
        raise CallError("name a file of judgments, or runs, or both")


def print_findings(findings: list[Finding]) -> None:
    """Print the findings. The exit code is 1 if something is wrong."""
    wrong = sum(finding.state == "error" for finding in findings)
    warned = sum(finding.state == "warning" for finding in findings)
    look = f"{warned} finding{' is' if warned == 1 else 's are'} worth a look" if warned else "nothing else stands out"
    what = f"{wrong} thing{' is' if wrong == 1 else 's are'} wrong" if wrong else "Nothing is wrong"
    output.say(f"{what}, and {look}.")
    output.tell(*(f"{MARKS[finding.state]} {finding.text}" for finding in findings))
    if wrong:
        sys.exit(1)


COMMANDS = (
    derived(
        "check", check, print_findings, before=need_files,
        more="The exit code is 1 if something is wrong, and 0 if there are only remarks.",
    ),
)  # fmt: skip
