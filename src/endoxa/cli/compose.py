"""endoxa images compose: scenes whose regions and words are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.declared import argument, option
from endoxa.verbs.parameters import Seed


def compose(
    folder: Annotated[Path, argument("Folder of the scenes.", "DIR")],
    count: Annotated[int, option("Number of scenes.", "--count", "-n", least=1)] = 200,
    cutouts: Annotated[
        str | None, option("Cut-outs to paste: stamps, or pictures with alpha.", "--from", metavar="CORPUS")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Make captioned scenes whose regions and words are known exactly. They are drawn, or pasted from cut-outs.

    Examples:
        endoxa images compose scenes --count 500
        endoxa images compose collage --count 500 --from stamps
    """
    from endoxa.verbs.compose import compose as verb

    with output.stages(2) as progress:
        verb(folder, count, cutouts=cutouts, seed=seed, progress=progress)
    output.say(f"{count:,} scenes are in {folder} (compare systems on them: endoxa images contest {folder}).")


COMMANDS = (derived("compose", compose, needs=("images",)),)
