"""endoxa read: what is in a file?"""

from __future__ import annotations

from typing import Annotated, Any

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.verbs.read import read

NAMES = {
    "Run": "a run", "Opinions": "judgments", "Belief": "a belief", "Taxonomy": "a taxonomy",
    "Comparison": "a comparison", "Evaluation": "an evaluation",
}  # fmt: skip
FORMS = ("table", "csv", "tsv", "json", "jsonl")


def print_table(
    table: Any, *, source: Any, form: Annotated[str, output.form_of(*FORMS)] = "table", to: output.To = None
) -> None:
    """Print what the table is and its first rows, or write it."""
    frame = table.to_polars()
    what = NAMES.get(type(table).__name__, f"a table of {type(table).__name__.lower()}")
    if "kind" in frame.columns and set(frame["kind"].unique()) == {"judge"}:
        what = "grades of machine judges (kind judge)"
    answer = f"{source} holds {what}: {frame.height:,} row{'' if frame.height == 1 else 's'}."
    if form == "table":
        output.say(answer)
        output.head(frame, "-o csv")
    else:
        output.table(frame, form, to, answer=answer)


COMMANDS = (
    derived(
        "read", read, print_table,
        says="Say what a file holds and show its first rows; with -o the whole table, in the columns used here.",
    ),
)  # fmt: skip
