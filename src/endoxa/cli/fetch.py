"""endoxa images fetch: a corpus from Debian's packages."""

from __future__ import annotations

from typing import Annotated

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.declared import argument


def fetch(
    name: Annotated[
        str,
        argument("Tux Paint's stamps, Open Clip Art, electrical symbols, or emoji.", "stamps|clipart|symbols|emoji"),
    ],
) -> None:
    """Fetch a corpus from Debian's packages into the cache, without root. Other commands fetch it when they need it.

    Examples:
        endoxa images fetch stamps
    """
    from endoxa.verbs.fetch import fetch as verb

    with output.stages(1) as progress:
        corpus = verb(name, progress=progress)
    output.say(f"{len(corpus):,} pictures are in {corpus.root}.")


COMMANDS = (derived("fetch", fetch, needs=("images",)),)
