"""endoxa images fetch: a corpus from Debian's packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.verbs.fetch import fetch

if TYPE_CHECKING:
    from endoxa.images.corpus import Corpus


def print_fetched(corpus: Corpus) -> None:
    """Print where the pictures are."""
    output.say(f"{len(corpus):,} pictures are in {corpus.root}.")


COMMANDS = (g.pictured("fetch", fetch, print_fetched, before=None),)
