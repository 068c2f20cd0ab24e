"""endoxa fuse: one ranked list out of those of several systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from endoxa.cli import output
from endoxa.cli.derived import derived, one_of
from endoxa.declared import option
from endoxa.verbs.fuse import fused

if TYPE_CHECKING:
    from endoxa.verbs.fuse import Fused


def need_method(values: dict[str, Any]) -> None:
    """The method is known."""
    from endoxa.verbs.fuse import methods

    one_of("--method", values.get("method", "rrf"), methods())


def print_fused(
    outcome: Fused,
    *,
    method: str,
    to: Annotated[
        str, option("The fused run; the suffix chooses the format: .run, .csv, .parquet …", metavar="FILE")
    ] = "",
) -> None:
    """Print the first rows, or write the run."""
    from endoxa.verbs.write import write

    frame = outcome.run.frame
    answer = f"Fused by {method}: {frame.height:,} items for {frame['query'].n_unique():,} queries."
    if to:
        write(outcome.run, to)
        output.say(f"{answer} Wrote {to}.")
    else:
        output.say(answer)
        output.head(frame.drop("block"), "--to fused.run")
    for line in outcome.notes:
        output.note(line)


COMMANDS = (derived("fuse", fused, print_fused, before=need_method, during=lambda _: output.busy("fusing")),)
