"""endoxa images index: describe pictures and build indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.verbs.index import index

if TYPE_CHECKING:
    from endoxa.verbs.index import Indexed


def print_indexed(indexed: Indexed) -> None:
    """Print how many pictures are indexed, those that were left out, and the costs."""
    pictures, systems = len(indexed.items), len(indexed.systems)
    counts = "1 picture is" if pictures == 1 else f"{pictures:,} pictures are"
    counts += f" indexed by {systems} system{'' if systems == 1 else 's'}"
    output.say(f"{counts}, with {indexed.described:,} new descriptions, in {indexed.home}.")
    g.print_skipped(indexed.skipped)
    g.print_costs(indexed.costs.frame)
    for note in indexed.notes:
        output.note(f"! {note}")


COMMANDS = (g.pictured("index", index, print_indexed, stages=3),)
