"""Fetch a collection of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from endoxa.declared import argument

if TYPE_CHECKING:
    from endoxa.images.corpus import Corpus, Progress


def fetch(
    name: Annotated[
        str,
        argument("Tux Paint's stamps, Open Clip Art, electrical symbols, or emoji.", "stamps|clipart|symbols|emoji"),
    ],
    *,
    without: Sequence[str] | None = None,
    language: str = "",
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Corpus:
    """Fetch a corpus from Debian's packages into the cache, without root. Other commands fetch it when they need it.

    It is fetched unless it is in the cache. `without` leaves out categories, `language` chooses the captions of stamps
    and symbols. `seconds` limits the time for fetching.

    Examples:
        endoxa images fetch stamps
    """
    from endoxa.io.packages import corpus_of

    return corpus_of(name, without=without, language=language, progress=progress, seconds=seconds)
