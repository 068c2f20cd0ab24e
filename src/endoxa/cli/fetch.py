"""endoxa images fetch: a corpus from Debian's packages."""

from __future__ import annotations

from typing import Annotated

import typer

from endoxa.cli import groups as g
from endoxa.cli import output


def add_to(_app: typer.Typer) -> None:
    """Register the command."""
    g.images.command("fetch")(fetch)


def fetch(
    name: Annotated[
        str,
        typer.Argument(
            metavar="stamps|clipart|symbols|emoji",
            help="Tux Paint's stamps, Open Clip Art, electrical symbols, or emoji.",
        ),
    ],
) -> None:
    """Fetch a corpus from Debian's packages into the cache, without root. Other commands fetch it when they need it.

    [bold]Examples[/bold]

      endoxa images fetch stamps
    """
    from endoxa.verbs.fetch import fetch as verb

    with output.stages(1) as progress:
        corpus = verb(name, progress=progress)
    output.say(f"{len(corpus):,} pictures are in {corpus.root}.")
