"""Files that machine judges wrote, as grades."""

from __future__ import annotations

from collections.abc import Sequence

from endoxa.io.read import read
from endoxa.io.sources import Source
from endoxa.tables import Gradings


def read_gradings(sources: Sequence[Source]) -> Gradings | None:
    """The grades in files."""
    return Gradings.joined([Gradings.of_opinions(read(source, kind="qrels", assessors=True)) for source in sources])
