"""Search a corpus of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from endoxa.engines.searching import WORDS, Found, Outside, Searcher, Text
from endoxa.errors import CallError, JoinError, TextError
from endoxa.images.corpus import Corpus, Progress
from endoxa.io import indexes
from endoxa.io.opening import find_query, home_of, is_path, open_corpus, refuse_missing
from endoxa.tables import Opinions, Run

Place = str | Path | Corpus | Searcher


def find(
    place: Place,
    query: str,
    system: str | None = None,
    *,
    count: int = 10,
    home: str | Path | None = None,
    without: Sequence[str] | None = None,
    ratings: Any = None,
    good: float | None = None,
    seed: int = 0,
) -> Found:
    """The best items for one query: an item, a file with a picture, or words.

    What is neither an item nor a file is taken as words: those of captions, of a manifest, and of the names of files
    and folders, which need no index; what looks like a path is a missing file. Words that also name a picture (`cat`,
    where there is cat.jpg) are that picture if a system that looks at pictures is indexed, and words otherwise, or for
    the system `keywords`; a note says which. Give a Searcher (`open_searcher`) in place of the corpus to ask many
    queries: nothing is then read again.

    `ratings` (query, item, grade) of other queries over this corpus predict how people would rate each result: the
    column `rating`. From `good` on (by default 3.5 on a scale from 1 to 5) a result is a good match; `matches` says how
    often that is right on queries that were held out.
    """
    if good is not None and ratings is None:
        raise CallError("good matches are learned from ratings; give a file of query, item and grade (--ratings)")
    searcher = open_searcher(place, home=home, without=without)
    named = find_query(searcher.corpus, query)
    if named is None:
        refuse_missing(searcher.corpus, query)
    asked, note = _understood(searcher, query, named, system)
    found = searcher.search(asked, system, count=count if ratings is None else max(count, len(searcher.corpus)))
    if ratings is not None:
        found = _matched(searcher, found, asked, ratings, good, count, seed)
    return replace(found, notes=(*found.notes, note)) if note else found


def _matched(
    searcher: Searcher,
    found: Found,
    asked: str | Outside | Text,
    ratings: Any,
    good: float | None,
    count: int,
    seed: int,
) -> Found:
    """The first results with the rating that people would give them, learned from rated queries of the same sort."""
    from endoxa.evaluations.ratings import scale_of
    from endoxa.studies.matches import learn
    from endoxa.verbs.inputs import opinions_of

    opinions = opinions_of(ratings, assessors=True)
    run, lost = _rated_lists(searcher, opinions, found.system, words=isinstance(asked, Text))
    lo, hi, _ = scale_of(opinions)
    matches = learn(run, opinions, scale=(lo, hi), good=good, rng=np.random.default_rng(seed))
    predicted = matches.predict(found.frame["score"].to_numpy())
    frame = found.frame.with_columns(pl.Series("rating", predicted)).head(count)
    notes = (f"{lost:,} rated queries are not used: {found.system} has no list for them",) if lost else ()
    shown = Run(found.run.frame.filter(pl.col("rank") <= count), found.run.ties)
    return replace(found, frame=frame, run=shown, matches=matches, notes=(*found.notes, *notes))


def _rated_lists(searcher: Searcher, opinions: Opinions, system: str, *, words: bool) -> tuple[Run, int]:
    """The whole lists of a system for the rated queries, pictures or words, and how many of these have none."""
    names, depth = opinions.frame["query"].unique().sort().to_list(), len(searcher.corpus)
    lists = []
    if words:
        for name in names:
            if name not in searcher.corpus.rows:
                with suppress(JoinError):  # no picture has any of these words
                    lists.append(searcher.search(Text(name, name.replace("_", " ")), system, count=depth).run.frame)
    else:
        known = set(searcher.saved(system).index.items)
        pictures = [name for name in names if name in known]
        lists = [searcher.run(pictures, [system], depth=depth).run.frame] if pictures else []
    if not lists:
        raise JoinError(
            f"{system} has no list for any of the {len(names):,} rated queries (the first: {names[0]!r})",
            remedy=f"rate results of {'words' if words else 'pictures of this corpus'}, under the names of the queries",
        )
    run = Run(pl.concat(lists))
    return run, len(names) - run.frame["query"].n_unique()


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
