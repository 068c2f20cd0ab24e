"""endoxa images compose: scenes whose regions and words are known."""

from __future__ import annotations

from typing import Any

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.verbs.compose import compose


def print_composed(manifest: Any, *, folder: Any, count: int) -> None:
    """Print where the scenes are."""
    output.say(f"{count:,} scenes are in {folder} (compare systems on them: endoxa images contest {folder}).")


COMMANDS = (g.pictured("compose", compose, print_composed, stages=2, before=None),)
