"""The application of interactive search: who is here, which search a request concerns, and the routers that respond."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from functools import cached_property
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Literal

from fastapi import FastAPI, Request
from itsdangerous import BadSignature, URLSafeTimedSerializer
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.responses import Response

from endoxa.errors import RefusedError, absent
from endoxa.frozen import dataclass
from endoxa.io.search_features import point_of
from endoxa.io.sketch_files import read_sketch
from endoxa.searches.seeking import Search
from endoxa.searches.session import Event, Settings
from endoxa.searches.signals import upload_key
from endoxa.searches.sketches import Sketch, relevance
from endoxa.store import people, searches
from endoxa.store.home import Home
from endoxa.store.people import Visitor
from endoxa.store.searches import Record
from endoxa.web.searches.collection import Collection
from endoxa.web.searches.deposits import PICTURE, Deposits
from endoxa.web.site import Site, create_application

TEMPLATES = Path(__file__).parent / "templates"
OPEN = 64  # searches in memory at most; others are built again from their events
MEMORY = 2**30  # bytes for all their kernels
PACE, MINUTE = 30, 60.0  # pages that one search may ask for in a minute
LOOKS = int(30 * people.DAY)  # seconds for which an address to look at a search is good

May = Literal["act", "fork", "look"]


@dataclass
class LoadedSearch:
    """A search in memory. Whoever works on it holds its lock; `previews` counts, so that the newest sketch wins."""

    record: Record
    search: Search
    lock: Any = field(default_factory=RLock)
    pages: deque[float] = field(default_factory=deque)
    previews: int = 0


@dataclass(frozen=True)
class Access:
    """A search with what a person may do with it: act, go on from it in a fork, or only look."""

    loaded: LoadedSearch
    may: May


@dataclass(frozen=True)
class SearchServer:
    """The searches of a home over one collection, on a site. Routers get it whole."""

    home: Home
    url: str
    collection: Collection
    settings: Settings = field(default_factory=Settings)  # of searches that begin here
    now: Callable[[], float] = time.time
    ticks: Callable[[], float] = time.monotonic  # of the pace, which the clock of the machine must not change
    in_memory: OrderedDict[str, LoadedSearch] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)

    @cached_property
    def site(self) -> Site:
        """The site that its pages stand on."""
        return Site(self.home.key, self.url, "search", TEMPLATES, self.now)

    @cached_property
    def deposits(self) -> Deposits:
        """What people brought."""
        return Deposits(self.home.folder / "searches")

    # ---- people

    def visitor(self, request: Request) -> Visitor:
        """The person whose browser this is. An act must come from our own page and carry its token."""
        found = self.known(request)
        if found is None:
            raise RefusedError("you are not signed in here", 401, remedy="open your link again")
        self.site.need_own_act(request)
        return found

    def known(self, request: Request) -> Visitor | None:
        """The person whose browser this is, if anybody; only for looking, as nothing is checked about an act."""
        secret = self.site.secret(request)
        with self.home.store.reading() as connection:
            found = people.visitor_of(connection, secret, now=self.now()) if secret else None
        return found if found is not None and found.role in people.SEARCHING else None

    def searcher(self, request: Request) -> Visitor:
        """Somebody with searches of their own."""
        visitor = self.visitor(request)
        if visitor.role != "searcher":
            raise RefusedError("with this link you can look at a search, and not search yourself", 403)
        return visitor

    def invitation(self, request: Request, token: str) -> people.Invitation:
        """The invitation of a link. Wrong links are counted, and too many are refused."""
        with self.site.guarding(request), self.home.store.reading() as connection:
            found = people.invitation_of(connection, self.home.key, token)
        if found.role not in people.SEARCHING:
            raise absent("page")
        return found

    # ---- searches

    def access(self, request: Request, name: str) -> Access:
        """A search and what the person may do with it; one neither theirs nor shared with them does not exist."""
        visitor = self.visitor(request)
        with self.home.store.reading() as connection:
            record, may = self._record(connection, visitor, name, request.query_params.get("look", ""))
        return Access(self.loaded(record), may)

    def own(self, request: Request, name: str) -> LoadedSearch:
        """A person's own search, to act on."""
        found = self.access(request, name)
        if found.may != "act":
            raise RefusedError("this search is for looking at only", 403)
        return found.loaded

    def _record(self, connection: Any, visitor: Visitor, name: str, look: str) -> tuple[Record, May]:
        if visitor.role == "viewer":
            return searches.shared(connection, name, visitor.invitation_id), "look"
        try:
            return searches.owned(connection, name, visitor.invitation_id), "act"
        except RefusedError:
            allowed = self._allowed(look, name)
            if allowed is None:
                raise
        return searches.find(connection, name), allowed

    def look(self, name: str, may: May) -> str:
        """A token with which people who search here may look at a search, or go on from it."""
        return self._signer.dumps([name, may])

    def _allowed(self, token: str, name: str) -> May | None:
        try:
            shared, may = self._signer.loads(token, max_age=LOOKS)
        except (BadSignature, TypeError, ValueError):
            return None
        if shared != name:
            return None
        return "fork" if may == "fork" else "look"

    @cached_property
    def _signer(self) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self.home.key, salt="look at a search")

    def loaded(self, record: Record) -> LoadedSearch:
        """The search in memory; it is built from its events if it is not there."""
        with self.lock:
            found = self.in_memory.get(record.name)
            if found is None:
                found = self.in_memory[record.name] = self._load(record)
            self.in_memory.move_to_end(record.name)
            self._free_memory()
            return found

    def _free_memory(self) -> None:
        """Drop searches from memory, the oldest first, while there are too many; nobody may be at them."""
        for name in list(self.in_memory)[:-1]:
            sizes = (loaded.search.seeker.nbytes for loaded in self.in_memory.values())
            if len(self.in_memory) <= OPEN and sum(sizes) <= MEMORY:
                return
            if self.in_memory[name].lock.acquire(blocking=False):
                self.in_memory.pop(name).lock.release()

    def _load(self, record: Record) -> LoadedSearch:
        with self.home.store.reading() as connection:
            events = searches.events(connection, record)

        def keep(event: Event) -> None:
            key = event.key or searches.following_key(record, event.number - 1)
            with self.home.store.writing() as connection:
                searches.append(connection, record, key, event.number - 1, event)

        search = Search(self.collection.features, events, name=record.name, keep=keep, clock=self.now)
        return LoadedSearch(record, search)

    def leave(self, name: str) -> None:
        """Forget a search in memory, which is then read again: another server may have gone on with it."""
        with self.lock:
            self.in_memory.pop(name, None)

    @contextmanager
    def scoring(self, loaded: LoadedSearch) -> Iterator[Search]:
        """Around work that scores pictures: what the query needs is there, and no more run at once than cores."""
        with loaded.lock, self.collection.cores:
            self.supply(loaded)
            yield loaded.search

    def supply(self, loaded: LoadedSearch) -> None:
        """Describe the uploaded picture and the sketch of a query, where that is not known yet."""
        search, features = loaded.search, self.collection.features
        query = search.state.query
        if query.upload is not None:
            key = upload_key(query.upload, query.crop)
            path = self.deposits.find(search.name, f"{query.upload}.jpg")
            if key not in search.points and path is not None:
                search.points[key] = point_of(features, path.read_bytes(), query.crop, name="the picture")
        if query.sketch is not None and query.sketch not in search.hints:
            path = self.deposits.find(search.name, f"{query.sketch}.png")
            if path is not None:
                pixels, _ = read_sketch(path.read_bytes())
                search.hints[query.sketch] = relevance(Sketch.of(pixels), features.group("layout"))

    def pace(self, loaded: LoadedSearch) -> None:
        """Refuse a search that asks for more pages than anybody can look at."""
        pages, now = loaded.pages, self.ticks()
        while pages and pages[0] <= now - MINUTE:
            pages.popleft()
        if len(pages) >= PACE:
            raise RefusedError(f"more than {PACE} pages in a minute", 429, remedy="wait a moment")
        pages.append(now)


def create_search_app(server: SearchServer) -> FastAPI:
    """The application of interactive search."""
    from endoxa.web.searches import entering, steering, viewing

    app = create_application(
        server.site,
        title="Endoxa search",
        description="What the page of a search speaks. A session comes from a link; unsafe methods carry X-CSRF-Token, "
        "which the page holds. Pictures are addressed by their place in the index.",
        routers=[part.router(server) for part in (entering, viewing, steering)],
        uploads={r"/api/searches/[\w-]+/uploads$": PICTURE},
    )

    @app.exception_handler(OperationalError)
    @app.exception_handler(PoolTimeoutError)
    async def away(request: Request, _: Exception) -> Response:
        response = server.site.problem(request, 503, "the database does not respond at the moment; try again soon")
        response.headers["Retry-After"] = "2"
        return response

    return app
