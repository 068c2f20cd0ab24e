"""endoxa images compose: scenes whose regions and words are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from endoxa.cli import groups as g
from endoxa.cli import options as o
from endoxa.cli import output


def add_to(_app: typer.Typer) -> None:
    """Register the command."""
    g.images.command("compose")(compose)


def compose(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the scenes.")],
    count: Annotated[int, typer.Option("--count", "-n", help="Number of scenes.", min=1)] = 200,
    cutouts: Annotated[
        str | None, typer.Option("--from", metavar="CORPUS", help="Cut-outs to paste: stamps, or pictures with alpha.")
    ] = None,
    seed: o.Seed = 0,
) -> None:
    """Make captioned scenes whose regions and words are known exactly. They are drawn, or pasted from cut-outs.

    [bold]Examples[/bold]

      endoxa images compose scenes --count 500

      endoxa images compose collage --count 500 --from stamps
    """
    from endoxa.verbs.compose import compose as verb

    with output.stages(2) as progress:
        verb(folder, count, cutouts=cutouts, seed=seed, progress=progress)
    output.say(f"{count:,} scenes are in {folder} (compare systems on them: endoxa images contest {folder}).")
