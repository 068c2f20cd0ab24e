"""Run indexed systems over queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from endoxa.engines.ranking import DEPTH
from endoxa.engines.searching import Query, Ran, Searcher, Text
from endoxa.errors import FileError, TextError, did_you_mean
from endoxa.images.corpus import Progress
from endoxa.io.opening import find_query
from endoxa.io.texts import read_questions
from endoxa.io.write import unwritten, write, write_frame
from endoxa.tables import Run
from endoxa.verbs.find import Place, searcher_of


def run(
    place: Place,
    systems: Iterable[str] | None = None,
    *,
    queries: Sequence[str] | None = None,
    sample: int | None = None,
    texts: Mapping[str, str] | str | Path | None = None,
    depth: int = DEPTH,
    itself: bool = False,
    to: str | Path | None = None,
    home: str | Path | None = None,
    without: Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Ran:
    """Run every indexed system, or those named, over queries.

    queries  items of the corpus, or files with pictures. Without them every picture that all systems know is a query,
             or `sample` of them, drawn with `seed`.
    texts    queries of words in place of pictures: name to text, or a file (a line each: name, tab, words). Systems
             that take no words have no run; the notes say so.
    itself   a query never retrieves itself, unless this is True
    to       a folder to write SYSTEM.run and costs.csv to
    """
    if queries is not None and texts is not None:
        raise TextError("give queries or texts, not both", remedy="run them separately")
    asked = read_questions(texts) if isinstance(texts, str | Path) else texts
    searcher = searcher_of(place, home=home, without=without, progress=progress)
    chosen: list[Query] | None = None
    if asked is not None:
        chosen = [Text(name, text) for name, text in asked.items()]
    elif queries is not None:
        found = {typed: _query(searcher, typed) for typed in queries}
        chosen = list(dict.fromkeys(found.values()))
    ran = searcher.run(chosen, systems, sample=sample, depth=depth, itself=itself, seed=seed, progress=progress)
    if to is not None:
        _write(ran, Path(to))
    return ran


def _query(searcher: Searcher, typed: str) -> Query:
    found = find_query(searcher.corpus, typed)
    if found is None:
        near = did_you_mean(typed, searcher.corpus.items)
        problem = f"is neither an item of the corpus{f'; {near}' if near else ''} nor a file"
        raise FileError(typed, problem, "name an item of the corpus, or a file with a picture")
    return found


def _write(ran: Ran, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritten(folder, error) from None
    for system in ran.run.systems:
        write(Run(ran.run.frame.filter(pl.col("system") == system)), folder / f"{system}.run")
    write_frame(ran.costs.frame, folder / "costs.csv")
