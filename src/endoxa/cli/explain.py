"""endoxa explain: what a measure means."""

from __future__ import annotations

from typing import Annotated

import typer

from endoxa.cli import output


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("explain")(explain)


def explain(
    measure: Annotated[
        str | None, typer.Argument(help="A measure; without one, all are listed.", show_default=False)
    ] = None,
) -> None:
    """Say what a measure means: definition, formula, when it misleads, source.

    [bold]Examples[/bold]

      endoxa explain nDCG

      endoxa explain ndcg_cut_10

      endoxa explain
    """
    from endoxa.verbs.explain import explain as verb

    first, _, rest = verb(measure).partition("\n")
    if measure is None:
        output.say(f"{1 + rest.count(chr(10))} measures are known; endoxa explain NAME says more of one.")
        output.tell(first)
    else:
        output.say(first)
    output.tell(*rest.splitlines())
