"""Run indexed systems over queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from endoxa.declared import option
from endoxa.errors import FileError, TextError, did_you_mean
from endoxa.later import pl
from endoxa.verbs.parameters import Engines, Home, PathLike, Searched, Seed, Without

if TYPE_CHECKING:
    from endoxa.engines.searching import Query, Ran, Searcher
    from endoxa.images.corpus import Progress


def run(
    place: Searched,
    systems: Engines = None,
    *,
    queries: Annotated[
        Sequence[str] | None,
        option("A query: an item, or a file; may be repeated.", "--query", "-q", metavar="ITEM|FILE"),
    ] = None,
    sample: Annotated[int | None, option("Draw N pictures as queries. Default: every picture.", least=1)] = None,
    texts: Annotated[
        Mapping[str, str] | PathLike | None, option("Queries of words, a line each: name, tab, words.", metavar="FILE")
    ] = None,
    depth: Annotated[int, option("Number of items returned for a query.", least=1)] = 100,
    itself: Annotated[bool, option("Let a query retrieve itself.")] = False,
    to: Annotated[PathLike | None, option("Folder of the runs, one file per system.", metavar="DIR")] = None,
    without: Without = None,
    home: Home = None,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Ran:
    """Run the indexed systems over queries. Writes DIR/SYSTEM.run and DIR/costs.csv.

    queries  items of the corpus, or files with pictures. Without them every picture that all systems know is a query,
             or `sample` of them, drawn with `seed`.
    texts    queries of words in place of pictures: name to text, or a file (a line each: name, tab, words). Systems
             that take no words have no run; the notes say so.

    Examples:
        endoxa images run photos --sample 60 --to runs && endoxa eval runs/*.run
        endoxa images run photos -q holiday/beach -q ~/new.jpg -e histograms
    """
    from endoxa.engines.searching import Text
    from endoxa.io.texts import read_questions
    from endoxa.verbs.find import open_searcher

    if queries is not None and texts is not None:
        raise TextError("give queries or texts, not both", remedy="run them separately")
    asked = read_questions(texts) if isinstance(texts, str | Path) else texts
    searcher = open_searcher(place, home=home, without=without, progress=progress)
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
    from endoxa.io.opening import find_query

    found = find_query(searcher.corpus, typed)
    if found is None:
        near = did_you_mean(typed, searcher.corpus.items)
        problem = f"is neither an item of the corpus{f'; {near}' if near else ''} nor a file"
        raise FileError(typed, problem, "name an item of the corpus, or a file with a picture")
    return found


def _write(ran: Ran, folder: Path) -> None:
    from endoxa.io.write import unwritten, write, write_frame
    from endoxa.tables import Run

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritten(folder, error) from None
    for system in ran.run.systems:
        write(Run(ran.run.frame.filter(pl.col("system") == system)), folder / f"{system}.run")
    write_frame(ran.costs.frame, folder / "costs.csv")
