"""endoxa words visual: which words are visual, beside chance and beside ratings by people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.cli.words import Form
from endoxa.verbs.visual import visual

if TYPE_CHECKING:
    from endoxa.words.visualness import Visualness

ROWS = 40  # words that are printed


def print_visual(found: Visualness, *, form: Form = "table", to: Any) -> None:
    """Print the answer, the table, and what correlates with ratings; or the table in another form."""
    from endoxa.reports.pages.visual_words import CAVEAT, answer, heads, lines, norm_lines

    if form != "table":
        output.table(found.frame, form, None, found.notes)
    else:
        output.say(answer(found))
        output.tell("")
        table = output.frame_of(heads(found), lines(found))
        used = [name for name in table.columns if name == "word" or set(table[name]) != {"–"}]
        output.head(table.select(used), "-o csv", ROWS)
        if found.correlations is not None:
            output.tell("", f"Spearman's rho with the ratings, {found.correlations['words'][0]:,} words")
            output.tell(*(f"  {line}" for line in norm_lines(found)))
        output.tell("", *(f"! {note}" for note in (*found.notes, CAVEAT)))
    if to is not None:
        output.note(f"wrote {to}")
        if form == "table":
            output.tell_page(to)


COMMANDS = (
    g.pictured(
        "visual", visual, print_visual, during=lambda values: output.stages(7 if values.get("iterated") else 5)
    ),
)  # fmt: skip
