"""Search a corpus of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from endoxa.engines.searching import Found, Searcher, Text
from endoxa.errors import TextError
from endoxa.images.corpus import Corpus, Progress
from endoxa.io import indexes
from endoxa.io.opening import find_query, home_of, open_corpus, refuse_missing

Place = str | Path | Corpus | Searcher


def find(
    place: Place,
    query: str,
    system: str | None = None,
    *,
    count: int = 10,
    home: str | Path | None = None,
    without: Sequence[str] | None = None,
) -> Found:
    """The best items for one query: an item, a file with a picture, or words.

    What is neither an item nor a file is taken as words: those of captions, of a manifest, and of the names of files
    and folders, which need no index; what looks like a path is a missing file. Give a Searcher (`open_searcher`) in
    place of the corpus to ask many queries: nothing is then read again.
    """
    searcher = searcher_of(place, home=home, without=without)
    found = find_query(searcher.corpus, query)
    if found is None:
        refuse_missing(searcher.corpus, query)
    text = Text("_".join(query.split()) or "text", query)
    return searcher.search(text if found is None else found, system, count=count)


def open_searcher(
    place: str | Path | Corpus,
    *,
    home: str | Path | None = None,
    without: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Searcher:
    """An opened corpus with its indexes, for many queries.

    The corpus is read now, and each index when it is first used. An index is refused if the corpus has changed since
    it was built; changes after opening are not noticed.
    """
    corpus = open_corpus(place, without=without, progress=progress)
    folder = home_of(corpus, home)
    return Searcher(corpus, indexes.systems_in(folder), indexes.loader(corpus, folder))


def searcher_of(
    place: Place,
    *,
    home: str | Path | None = None,
    without: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Searcher:
    """The searcher itself if it is one, else one that is opened now."""
    if not isinstance(place, Searcher):
        return open_searcher(place, home=home, without=without, progress=progress)
    if home is not None or without is not None:
        raise TextError("home and without are chosen when a searcher is opened; give them to open_searcher")
    return place
