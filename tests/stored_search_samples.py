"""A stored search of drawn scenes, as the page would have left it."""

from __future__ import annotations

import uuid
from pathlib import Path

from endoxa.io.opening import open_corpus
from endoxa.io.search_features import open_features
from endoxa.searches.seeking import Search, start_detail
from endoxa.searches.session import Event, Settings
from endoxa.store import searches
from endoxa.store.home import open_home

NOW = 1_700_000_000.0


def stored_search(folder: Path, scenes: Path) -> tuple[Path, str]:
    """The home, and the name of a search of two rounds with marks on both sides and a find; it has taught."""
    corpus = open_corpus(scenes)
    features = open_features(corpus, workers=1)
    start = start_detail(features, settings=Settings(size=5))
    home = folder / "searches"
    with open_home(home, create=True) as opened:
        with opened.store.writing() as connection:
            record = searches.begin(connection, start, collection=searches.collection_of(corpus), title="cows", now=NOW)
        with opened.store.reading() as connection:
            events = searches.events(connection, record)

        def keep(event: Event) -> None:
            with opened.store.writing() as connection:
                searches.append(connection, record, str(uuid.uuid4()), event.number - 1, event)

        search = Search(features, events, name=record.name, keep=keep, clock=lambda: NOW)
        search.picture(0)
        for item, grade in zip(search.state.pages[0].items, (2, 1, -1, -2), strict=False):
            search.mark(item, grade)
        search.refine()
        search.found(search.state.pages[1].items[0])
        search.close()
        with opened.store.writing() as connection:
            searches.teach(connection, record, search.lesson(), now=NOW)
    return home, record.name
