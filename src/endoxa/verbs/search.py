"""Interactive search: a search in memory, the page for people, and what is done with searches that are stored."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from endoxa.errors import FileError, RefusedError, TextError, refuse_unknown
from endoxa.extras import need
from endoxa.frozen import dataclass
from endoxa.images.corpus import Corpus, Progress, Skipped
from endoxa.io.opening import home_at, home_of, open_corpus
from endoxa.searches import outcomes
from endoxa.searches.arms import Features, Point
from endoxa.searches.seeking import Crop, Replayed, Search, learner_named, replay
from endoxa.searches.session import SIZE, Event, Settings, State, fold
from endoxa.searches.signals import upload_key
from endoxa.tables import Answers, Floats, Opinions, Run
from endoxa.verbs.parameters import PathLike
from endoxa.verbs.study import FOLDER, opened_home

if TYPE_CHECKING:
    from endoxa.store.home import Home
    from endoxa.store.searches import Record

PORT = 8766
PARTS = ("marks", "rounds", "found")  # of a search that is exported
SCREEN = "five-levels"  # of a study that asks others what a searcher was asked


def search(
    place: PathLike | Corpus | Features,
    *,
    size: int = SIZE,
    learner: str = "kernel",
    explore: bool = True,
    weak: bool = True,
    audit: bool = False,
    thompson: bool = False,
    seed: int = 0,
    vectors: PathLike | None = None,
    home: PathLike | None = None,
    without: Sequence[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Search:
    """A search in memory over a corpus of pictures, for a person or a program that marks what it is shown.

    place    a folder of pictures, a manifest, `stamps` or `clipart`, a corpus, or features that are opened already
    size     pictures on a page
    learner  what learns from marks: kernel, or a baseline
    explore  whether some places of a page go to the pictures that would teach most
    weak     whether what is left unmarked on a submitted page is weak evidence against it
    audit    whether one place of a page is drawn by chance, for honest estimates
    thompson whether the weights to begin with are drawn at random; the chance of each choice is in the first event
    vectors  a file of vectors of your own, in place of the network's
    home     the folder of the index; `.endoxa` in the corpus if not given
    workers  processes that describe pictures; one per core if not given

    `show` gives a page, `mark` marks a picture from -2 to 2, `refine` gives the next page. The pictures are described
    when the corpus is first searched.
    """
    features = place
    if not isinstance(features, Features):
        features = _opened(features, home, without, vectors, workers, progress)[1]
    settings = Settings(size=size, learner=learner, explore=explore, weak=weak, audit=audit, thompson=thompson)
    return Search(features, settings=settings, seed=seed, reader=Files(features), clock=time.time)


def _opened(
    place: PathLike | Corpus, home: PathLike | None = None, without: Sequence[str] | None = None,
    vectors: PathLike | None = None, workers: int | None = None, progress: Progress | None = None, *,
    again: bool = False,
) -> tuple[Corpus, Features]:  # fmt: skip
    """A corpus and its features, which are built if there are none."""
    from endoxa.io.search_features import open_features

    corpus = open_corpus(place, without=without, progress=progress)
    return corpus, open_features(corpus, home, vectors=vectors, again=again, workers=workers, progress=progress)


@dataclass(frozen=True)
class Files:
    """Reads pictures and sketches from files."""

    features: Features

    def picture(self, path: Path, crop: Crop | None) -> tuple[str, Point]:
        """The digest of a file, and the numbers of the picture, or of a part of it."""
        from endoxa.io.decoding import read
        from endoxa.io.search_features import point_of

        raw = read(path)
        return sha256(raw).hexdigest(), point_of(self.features, raw, crop, name=str(path))

    def sketch(self, path: Path) -> tuple[str, Floats]:
        """The digest of a sketch, a PNG of 256 × 256 pixels, and the relevance of every picture to it."""
        from endoxa.io.decoding import read
        from endoxa.io.sketch_files import read_sketch
        from endoxa.searches.sketches import Sketch, relevance

        pixels, png = read_sketch(read(path))
        return sha256(png).hexdigest(), relevance(Sketch.of(pixels), self.features.group("layout"))


def serve(
    place: PathLike | Corpus,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    url: str | None = None,
    home: PathLike = FOLDER,
    db: str | None = None,
    index: PathLike | None = None,
    without: Sequence[str] | None = None,
    vectors: PathLike | None = None,
    workers: int | None = None,
    learner: str = "kernel",
    audit: bool = False,
    thompson: bool = False,
    several: bool = False,
    again: bool = False,
    progress: Progress | None = None,
    skipped: Callable[[tuple[Skipped, ...]], None] | None = None,
    started: Callable[[str, str], None],
) -> None:
    """Serve the page of interactive search over a corpus until stopped.

    `started` gets the address and a link: of one person, or with `several` one by which people come in, each by a
    nickname. Searches are kept in the folder `home` (or the database at `db`), the index in the folder `index`.
    `learner`, `audit` and `thompson` are those of `search`, for every search that begins here. `again` describes a
    corpus that has changed; `skipped` is told which pictures are left out.
    """
    need("studio")
    settings = Settings(learner=learner, audit=audit, thompson=thompson)
    learner_named(learner)
    corpus, features = _opened(place, index, without, vectors, workers, progress, again=again)
    if skipped is not None and features.skipped:
        skipped(features.skipped)
    from endoxa.web.searches.search_hosting import serve as host_searches
    from endoxa.web.serving import address_at, listen

    with listen(host, port) as listening, opened_home(home, db, create=True) as opened:
        address = address_at(host, listening, url)
        host_searches(
            opened, corpus, features, listening, address, settings=settings, several=several, started=started
        )  # fmt: skip


# ---- searches that are stored -------------------------------------------------------------------------


def searches(*, home: PathLike = FOLDER, db: str | None = None) -> pl.DataFrame:
    """All stored searches, the newest first: search, person, title, rounds, marks, found, closed, folder."""
    rows = []
    with _stored(home, db) as opened:
        from endoxa.store import searches as stored

        with opened.store.reading() as connection:
            for record in stored.listed(connection):
                counts: tuple[int | bool | None, ...] = (None,) * 4  # of a search that this release cannot read
                with suppress(RefusedError):
                    state = fold(stored.events(connection, record))
                    counts = (len(state.pages), len(state.marks), len(state.found), state.closed)
                rows.append((record.name, record.nickname, record.title, *counts, record.collection))
    return pl.DataFrame(rows, schema=LISTED, orient="row")


LISTED: dict[str, Any] = {
    "search": pl.String, "person": pl.String, "title": pl.String, "rounds": pl.Int64, "marks": pl.Int64,
    "found": pl.Int64, "closed": pl.Boolean, "folder": pl.String,
}  # fmt: skip


def replayed(
    name: str, place: PathLike | Corpus | None = None, *, home: PathLike = FOLDER, db: str | None = None,
    index: PathLike | None = None,
) -> Replayed:  # fmt: skip
    """Compute every page of a stored search again, and compare it with what was shown.

    place  the corpus; the folder that the search began with if not given
    index  the folder of its index; `.endoxa` in the corpus if not given
    """
    with _stored(home, db) as opened:
        record, events = _search(opened, name)
        features = _features(record, place, index)
        points, hints = _brought(opened, record, events, features)
        return replay(features, events, points=points, hints=hints)


def _features(record: Record, place: PathLike | Corpus | None, index: PathLike | None) -> Features:
    """The features that are stored, without a look at the pictures; where there are none, they are built."""
    from endoxa.io import search_features
    from endoxa.io.search_neighbours import with_neighbours

    if place is not None:
        return _opened(place, index)[1]
    folder = home_at(record.collection, index) / search_features.FOLDER
    return with_neighbours(search_features.load(folder).features, folder)


def _brought(
    opened: Home, record: Record, events: Sequence[Event], features: Features
) -> tuple[dict[str, Point], dict[str, Floats]]:
    """The pictures and sketches that a person brought, as far as they were kept."""
    reader = Files(features)
    points: dict[str, Point] = {}
    hints: dict[str, Floats] = {}
    for event in events:
        detail = event.detail
        if event.kind == "picture" and detail.get("upload"):
            path = _deposit(opened, record, f"{detail['upload']}.jpg")
            if path is not None:
                points[upload_key(detail["upload"], detail["crop"])] = reader.picture(path, detail["crop"])[1]
        elif event.kind == "sketch" and detail["sha"]:
            path = _deposit(opened, record, f"{detail['sha']}.png")
            if path is not None:
                hints[detail["sha"]] = reader.sketch(path)[1]
    return points, hints


def _deposit(opened: Home, record: Record, name: str) -> Path | None:
    from endoxa.web.searches.deposits import Deposits

    return Deposits(opened.folder / "searches").find(record.name, name)


def export(name: str, to: PathLike, *, part: str = "marks", home: PathLike = FOLDER, db: str | None = None) -> int:
    """Write a part of a stored search to a file that the other verbs read; the number of rows.

    marks   opinions of the searcher: grades from 0 to 4, for what they were shown, and with which chance
    rounds  a run with one system per round
    found   what was found, as a ranked answer
    """
    from endoxa.io.write import write

    refuse_unknown("part of a search", part, PARTS, listed=True)
    with _stored(home, db) as opened:
        record, events = _search(opened, name)
    state, source = fold(events), record.nickname or "searcher"
    table: Opinions | Run | Answers
    if part == "marks":
        table = outcomes.opinions(state, name, source)
    elif part == "rounds":
        table = outcomes.run(state, name)
    else:
        table = outcomes.answers(state, name, source)
    write(table, to)
    return len(table)


def ask_others(
    name: str, to: PathLike, place: PathLike | Corpus | None = None, *, home: PathLike = FOLDER, db: str | None = None
) -> int:
    """Write a stored search as a study in which others judge what was shown; the number of pairs.

    The folder `to` gets items.csv, queries.csv, pairs.csv and copies of the pictures, which `endoxa study new` takes.
    """
    from endoxa.io.write import write_frame

    with _stored(home, db) as opened:
        record, events = _search(opened, name)
    state = fold(events)
    shown = {
        item: (slot, chance)
        for page in state.pages
        for item, slot, chance in zip(page.items, page.slots, page.propensity, strict=True)
    }
    shown |= {item: ("browse", None) for item in (*state.marks, *state.found) if item not in shown}
    if not shown:
        raise TextError(f"search {name!r} has shown no picture yet; there is nothing to ask others about")
    corpus = open_corpus(record.collection if place is None else place)
    lost = [item for item in shown if item not in corpus.rows]
    if lost:
        raise FileError(corpus.root, f"{len(lost):,} of {len(shown):,} pictures are gone, such as {lost[0]!r}")
    folder = Path(to)
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    wanted = [*shown, *([state.query.item] if state.query.item in corpus.rows else [])]
    files = {item: _copied(corpus, str(item), folder) for item in wanted}
    write_frame(pl.DataFrame({"item": list(shown), "file": [files[item] for item in shown]}), folder / "items.csv")
    query = {"query": [name], "text": [_asked(record, state)], "file": [files.get(state.query.item or "")]}
    write_frame(pl.DataFrame(query, schema=dict.fromkeys(query, pl.String)), folder / "queries.csv")
    pairs = [(name, item, slot, chance) for item, (slot, chance) in shown.items()]
    schema = {"query": pl.String, "item": pl.String, "selected_by": pl.String, "propensity": pl.Float64}
    write_frame(pl.DataFrame(pairs, schema=schema, orient="row"), folder / "pairs.csv")
    return len(pairs)


def _copied(corpus: Corpus, item: str, folder: Path) -> str:
    """Copy a picture below a folder; its path from there."""
    row = corpus.rows[item]
    original = Path(corpus.root) / corpus.frame["path"][row]
    place = f"pictures/{row:06d}{original.suffix}"
    shutil.copyfile(original, folder / place)
    return place


def _asked(record: Record, state: State) -> str:
    """What judges are told about what the searcher looked for."""
    wished = [record.title, state.query.words, "a picture like this one" if state.query.item else ""]
    return "; ".join(part for part in wished if part) or "what the searcher looked for"


def neighbours(
    place: PathLike | Corpus, *, index: PathLike | None = None, without: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> int:  # fmt: skip
    """Build approximate neighbours of a corpus that is too large to scan; the number of pictures.

    Searches use them beyond 100,000 pictures. They are built anew after the corpus was described again.
    """
    from endoxa.io.search_features import FOLDER as SEARCH
    from endoxa.io.search_neighbours import build_neighbours

    corpus, features = _opened(place, index, without, progress=progress)
    build_neighbours(features, home_of(corpus, index) / SEARCH, progress=progress)
    return len(features)


def reset(place: PathLike | Corpus, *, home: PathLike = FOLDER, db: str | None = None) -> int:
    """Forget what earlier searches of a corpus taught later ones; the number of arms that had been learnt."""
    corpus = open_corpus(place)
    with _stored(home, db) as opened:
        from endoxa.store import searches as stored

        with opened.store.writing() as connection:
            return stored.reset(connection, stored.collection_of(corpus))


def _search(opened: Home, name: str) -> tuple[Record, list[Event]]:
    from endoxa.store import searches as stored

    with opened.store.reading() as connection:
        record = stored.find(connection, name)
        return record, stored.events(connection, record)


@contextmanager
def _stored(home: PathLike, db: str | None) -> Iterator[Home]:
    """The folder or database of searches, opened."""
    if db is None and not Path(home).exists():
        raise FileError(str(home), "there are no searches here", "begin one with `endoxa search PHOTOS`, or use --home")
    with opened_home(home, db) as opened:
        yield opened
