"""Search a corpus of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from endoxa.engines.searching import WORDS, Found, Outside, Searcher, Text
from endoxa.errors import TextError
from endoxa.images.corpus import Corpus, Progress
from endoxa.io import indexes
from endoxa.io.opening import find_query, home_of, is_path, open_corpus, refuse_missing

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
    and folders, which need no index; what looks like a path is a missing file. Words that also name a picture (`cat`,
    where there is cat.jpg) are that picture if a system that looks at pictures is indexed, and words otherwise, or for
    the system `keywords`; a note says which. Give a Searcher (`open_searcher`) in place of the corpus to ask many
    queries: nothing is then read again.
    """
    searcher = open_searcher(place, home=home, without=without)
    named = find_query(searcher.corpus, query)
    if named is None:
        refuse_missing(searcher.corpus, query)
    asked, note = _understood(searcher, query, named, system)
    found = searcher.search(asked, system, count=count)
    return replace(found, notes=(*found.notes, note)) if note else found


def _understood(
    searcher: Searcher, typed: str, named: str | Outside | None, system: str | None
) -> tuple[str | Outside | Text, str]:
    """What is looked for, and a note if it could have been something else: a picture, or words that are its name."""
    text = Text("_".join(typed.split()) or "text", typed)
    if named is None:
        return text, ""
    if not isinstance(named, str) or is_path(typed) or not (system == WORDS or searcher.answers_words(text)):
        return named, ""
    path = searcher.corpus.frame["path"][searcher.corpus.rows[named]]
    if system not in {None, WORDS} or (system is None and searcher.looks_at_pictures()):
        return named, f"{typed!r} is taken as the picture {path}; by words: -e keywords"
    return text, "" if system == WORDS else f"{typed!r} is taken as words; pictures like {path} need an index"


def open_searcher(
    place: Place,
    *,
    home: str | Path | None = None,
    without: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Searcher:
    """An opened corpus with its indexes, for many queries.

    The corpus is read now, and each index when it is first used. An index is refused if the corpus has changed since
    it was built; changes after opening are not noticed. A searcher that is opened already is given back.
    """
    if isinstance(place, Searcher):
        if home is not None or without is not None:
            raise TextError(
                "home and without are chosen when a searcher is opened", remedy="give them to open_searcher"
            )
        return place
    corpus = open_corpus(place, without=without, progress=progress)
    folder = home_of(corpus, home)
    named = "" if isinstance(place, Corpus) else str(place)
    return Searcher(corpus, indexes.systems_in(folder), indexes.loader(corpus, folder), place=named)
