"""Fetch a collection of pictures."""

from __future__ import annotations

from collections.abc import Sequence

from endoxa.images.corpus import Corpus, Progress
from endoxa.io.packages import corpus_of


def fetch(
    name: str,
    *,
    without: Sequence[str] | None = None,
    language: str = "",
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Corpus:
    """The corpus `stamps`, `clipart`, `symbols` or `emoji`, from Debian's packages; fetched unless it is in the cache.

    `without` leaves out categories, `language` chooses the captions of stamps and symbols. `seconds` limits
    the time for fetching.
    """
    return corpus_of(name, without=without, language=language, progress=progress, seconds=seconds)
