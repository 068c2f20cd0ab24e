"""endoxa generality: precision against recall under a common share of relevant items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.verbs.generality import generality

if TYPE_CHECKING:
    from endoxa.evaluations.growing import Growing
    from endoxa.verbs.parameters import PathLike

FORMS = ("table", "csv", "tsv", "json", "jsonl", "markdown", "latex")


def print_curves(
    found: Growing, *, form: Annotated[str, output.form_of(*FORMS, to_file=False)] = "table", to: PathLike | None
) -> None:
    """Print what growing does to the precision, and the curves; as data, one row per system, generality and recall."""
    from endoxa.reports.pages.growing_collections import CAVEAT, answer, table

    if form != "table":
        output.table(found.curves, form, None, found.notes)
    else:
        output.say(answer(found))
        output.tell("")
        output.show_frame(table(found))
        output.tell("", *(f"! {note}" for note in (*found.notes, CAVEAT)))
    if to is not None:
        output.tell_page(to)


COMMANDS = (derived("generality", generality, print_curves),)
