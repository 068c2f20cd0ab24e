"""endoxa categories: what people who filed items in categories say, and how far they agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from endoxa.cli import loudness, output
from endoxa.cli.derived import derived
from endoxa.cli.typed import at_call
from endoxa.declared import option
from endoxa.evaluations.settings import Settings
from endoxa.verbs.filing import categories

if TYPE_CHECKING:
    from endoxa.studies.filings import Filings

FORMS = ("table", "csv", "tsv", "json", "jsonl", "parquet", "markdown", "latex")


def check(values: dict[str, object]) -> None:
    """The confidence is one."""
    at_call(lambda: Settings(confidence=values.get("confidence", 0.95)))  # type: ignore[arg-type]


def print_filings(
    found: Filings,
    *,
    item: Annotated[str | None, option("Only this item.", "-q", "--item", metavar="ITEM")] = None,
    form: Annotated[str, output.form_of(*FORMS)] = "table",
    to: output.To = None,
) -> None:
    """Print the tree with shares, sizes and agreement; as data a row for each item and category."""
    from endoxa.reports.filed_terminal import parts

    shares = found.shares if item is None else found.of(item)
    remarks = [one.marked for one in found.notes if loudness.is_full() or one.kind == "warning"]
    if form != "table":
        output.table(shares, form, to, remarks, answer=found.answer)
        return
    output.say(found.answer)
    output.tell("")
    output.show(parts(found, item, width=output.width()))
    output.tell(*remarks)


COMMANDS = (derived("categories", categories, print_filings, before=check),)
