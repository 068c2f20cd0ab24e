"""Hosting a search: the server, and the link by which people come in."""

from __future__ import annotations

import socket
from collections.abc import Callable
from threading import Thread

from endoxa.images.corpus import Corpus
from endoxa.searches.arms import Features
from endoxa.searches.seeking import Search
from endoxa.searches.session import Settings
from endoxa.store import people, searches
from endoxa.store.home import Home
from endoxa.web.searches.collection import Collection
from endoxa.web.searches.search_app import SearchServer, create_search_app
from endoxa.web.serving import run

ALONE = "me"  # the nickname of a person who searches alone


def serve(
    home: Home, corpus: Corpus, features: Features, listening: socket.socket, address: str, *,
    settings: Settings | None = None, several: bool = False, started: Callable[[str, str], None],
) -> None:  # fmt: skip
    """Serve at a socket until stopped. `started` gets the address and a link.

    With `several` people each who opens the link chooses a nickname; else it is one person's, whose searches go on.
    """
    server = SearchServer(home, address, Collection(corpus, features, home.files), settings=settings or Settings())
    with home.store.writing() as connection:
        if several:
            _, token = people.invite(connection, home.key, None, "searcher", now=server.now())
        else:
            token = searches.come_back(connection, home.key, ALONE, now=server.now())
    home.remember(address)
    server.deposits.forget()  # of a server that did not stop in order
    Thread(target=warm_up, args=(features,), daemon=True).start()
    started(address, f"{address}/join/{token}")
    try:
        run(create_search_app(server), listening)
    finally:
        server.deposits.forget()


def warm_up(features: Features) -> None:
    """Refine once before anybody does: the first time, the kernels are compiled and the features are read."""
    if len(features) > 1:
        search = Search(features)
        search.show()
        search.mark(0, 1)
        search.refine(1)
