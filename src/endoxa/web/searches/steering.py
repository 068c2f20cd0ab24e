"""The searches of a person: beginning one, acting in it, asking why, bringing pictures, sharing it."""

from __future__ import annotations

import secrets
import tempfile
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse
from starlette.requests import ClientDisconnect

from endoxa.errors import RefusedError, needed
from endoxa.formatting import capitalised
from endoxa.io.sketch_files import read_sketch
from endoxa.searches import session
from endoxa.searches.seeking import start_detail
from endoxa.searches.session import State
from endoxa.searches.sketches import Sketch, relevance
from endoxa.store import searches
from endoxa.store.searches import Record
from endoxa.web.searches import search_bodies as b
from endoxa.web.searches.collection import Collection
from endoxa.web.searches.deposits import decoded
from endoxa.web.searches.search_app import Access, LoadedSearch, SearchServer
from endoxa.web.shapes import PROBLEMS, ProblemOut
from endoxa.web.workshop import Workshop

MORE: dict[int | str, dict[str, Any]] = {
    410: {"model": ProblemOut, "description": "what it needs is no longer here"},
    429: {"model": ProblemOut, "description": "more pages than anybody can look at; wait a moment"},
}
LISTED = 50  # searches in the list of one's own
GONE = 410  # the status of a refusal because an uploaded picture or a sketch is no longer here
PLACES = ("mark", "found")  # acts on one picture, after which the page stays
RAW = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


def router(server: SearchServer) -> APIRouter:
    """The routes of searches."""
    api = APIRouter(prefix="/api/searches", responses={**PROBLEMS, **MORE}, tags=["searches"])
    workshop = Workshop()

    @api.get("", response_model=b.SavedListOut)
    def mine(request: Request) -> Any:
        """One's own searches, the newest first."""
        visitor = server.searcher(request)
        with server.home.store.reading() as connection:
            collection = searches.collection_of(server.collection.corpus)
            records = searches.listed(connection, owner=visitor.invitation_id, collection=collection)[:LISTED]
            found = []
            for record in records:
                with suppress(RefusedError):  # an event of a later release: the others are there all the same
                    found.append(_saved(server.collection, record, session.fold(searches.events(connection, record))))
        return {"searches": found}

    @api.post("", response_model=b.SearchOut, status_code=201)
    def begin(request: Request, body: b.BeginBody) -> Any:
        """Begin a search, empty or from an event of another. The same key again gives the same search."""
        visitor = server.searcher(request)
        key, now, owner = str(body.key), server.now(), visitor.invitation_id
        if body.fork is not None:
            record = _forked(server, request, body.fork, key=key, owner=owner)
        else:
            features, collection = server.collection.features, searches.collection_of(server.collection.corpus)
            _teach_last(server, owner, collection)
            with server.home.store.writing() as connection:
                counts, _ = searches.counts(connection, collection, features)
                settings = replace(server.settings, size=body.size)
                start = start_detail(features, settings=settings, counts=counts, seed=secrets.randbits(62))
                record = searches.begin(connection, start, collection=collection, owner=owner, key=key, now=now)
        return _standing(server, Access(server.loaded(record), "act"))

    @api.get("/{name}", response_model=b.SearchOut)
    def look(request: Request, name: b.Id) -> Any:
        """A search as it stands."""
        return _standing(server, server.access(request, name))

    @api.post("/{name}/events", response_model=b.SearchOut)
    def events(request: Request, name: b.Id, body: b.EventBody) -> Any:
        """Act. The same key again changes nothing; 409 if the search went on elsewhere since event `after`."""
        loaded = server.own(request, name)
        with loaded.lock:
            if all(event.key != str(body.key) for event in loaded.search.events):
                _act(server, loaded, body)
        return _standing(server, Access(loaded, "act"))

    @api.post("/{name}/uploads", response_model=b.UploadOut, status_code=201, openapi_extra=RAW)
    async def upload(request: Request, name: b.Id, keep: Annotated[bool, Query()] = False) -> Any:
        """Bring a picture: a copy without metadata, removed when the search is closed or the server stops."""
        loaded = await run_in_threadpool(server.own, request, name)  # nobody else's upload is read
        async with workshop.turn(loaded.record.owner or 0):
            with tempfile.TemporaryDirectory() as folder:
                source = Path(folder) / "upload"
                await _receive(request, source)
                store = partial(server.deposits.upload, loaded.record.name, source, keep=keep)
                return {"sha": await workshop.do(store)}

    @api.get("/{name}/uploads/{sha}", response_class=FileResponse)
    def uploaded(request: Request, name: b.Id, sha: b.Sha) -> Response:
        """The copy of a picture that was brought."""
        access = server.access(request, name)
        return FileResponse(server.deposits.uploaded(access.loaded.record.name, sha), media_type="image/jpeg")

    @api.post("/{name}/preview", response_model=b.PreviewOut)
    def preview(request: Request, name: b.Id, body: b.PreviewBody) -> Any:
        """Pictures like a sketch as it is painted; nothing is recorded. Of several at once the newest is answered."""
        loaded = server.own(request, name)
        loaded.previews += 1
        own = loaded.previews
        pixels, _ = read_sketch(decoded(body.sketch))
        features = server.collection.features
        with loaded.lock, server.collection.cores:
            if own != loaded.previews:
                raise RefusedError("a newer sketch came", 409)
            fit = relevance(Sketch.of(pixels), features.group("layout"))
            fit = np.where(features.leaders == np.arange(len(fit)), fit, -1.0)  # one of each stack
            places = np.argsort(-fit, kind="stable")[: body.size]
        return {"tiles": [server.collection.tile(int(place), slot="sketch") for place in places if fit[place] >= 0]}

    @api.get("/{name}/why/{place}", response_model=b.WhyOut)
    def why(request: Request, name: b.Id, place: b.Place) -> Any:
        """Why a mark is expected of a picture, in marks."""
        access = server.access(request, name)
        server.collection.need(place)
        with server.scoring(access.loaded) as search:
            reason = search.why(place)
        places, upload = server.collection.features.place, search.state.query.upload
        return {
            "base": 2 * reason.base, "groups": {group: 2 * value for group, value in reason.groups.items()},
            "hint": 2 * reason.hint, "expected": reason.expected,
            "examples": [
                {"place": places.get(item or ""), "upload": upload if item is None else None, "value": 2 * value}
                for item, value in reason.pulls
            ],
        }  # fmt: skip

    @api.get("/{name}/rounds/{number}", response_model=b.PageOut)
    def one_round(request: Request, name: b.Id, number: b.Place) -> Any:
        """A page as it was shown, with the marks that count now."""
        search = server.access(request, name).loaded.search
        page = next((page for page in search.rounds if page.round == number), None)
        return _page(server.collection, search.state, needed(page, "round"))

    @api.post("/{name}/links", response_model=b.LinkOut, status_code=201)
    def links(request: Request, name: b.Id, body: b.LinkBody) -> Any:
        """An address at which others look at a search, or (those who search here) go on from it."""
        loaded = server.own(request, name)
        if body.fork:
            return {"url": f"{server.url}/search/{name}?look={server.look(name, 'fork')}"}
        with server.home.store.writing() as connection:
            token = searches.share(connection, server.home.key, loaded.record, now=server.now())
        return {"url": f"{server.url}/join/{token}"}

    return api


async def _receive(request: Request, target: Path) -> None:
    """Write the body of a request to a file, as it comes."""
    with target.open("wb") as file:
        try:
            async for part in request.stream():
                file.write(part)
        except ClientDisconnect:
            raise RefusedError("the upload was cut off", 400, remedy="send it again") from None


def _forked(server: SearchServer, request: Request, fork: b.ForkBody, *, key: str, owner: int) -> Record:
    access = server.access(request, fork.search)
    if access.may == "look":
        raise RefusedError("this search is for looking at only", 403)
    with server.home.store.writing() as connection:
        record = searches.fork(connection, access.loaded.record, fork.number, owner=owner, key=key, now=server.now())
    server.deposits.inherit(record.name, fork.search)
    return record


def _act(server: SearchServer, loaded: LoadedSearch, body: Any) -> None:
    """Add the event, and the page that is due after it."""
    search = loaded.search
    if body.after != search.state.number:
        server.leave(loaded.record.name)
        raise RefusedError("this search went on in another tab", remedy="reload it to go on from there")
    if body.kind not in PLACES:
        server.pace(loaded)
    detail = _detail(server, loaded, body)
    about = {"active_seconds": body.active_seconds, "method": body.method}
    detail |= {name: value for name, value in about.items() if value is not None}
    try:
        search.add(body.kind, detail, key=str(body.key))
    except RefusedError as error:
        if error.status == 409:
            server.leave(loaded.record.name)
        raise
    if body.kind == "close":  # what it taught is kept; pictures that were brought, and not kept, go
        if loaded.record.forked is None:
            _teach(server, loaded)
        server.deposits.forget_search(loaded.record.name)


def _detail(server: SearchServer, loaded: LoadedSearch, body: Any) -> dict[str, Any]:
    """The detail of an event as it is stored: pictures by name, a sketch by its digest."""
    detail: dict[str, Any] = body.detail.model_dump()
    if body.kind == "sketch":
        png = detail["png"]
        return {"sha": None if png is None else server.deposits.sketch(loaded.record.name, png)}
    if body.kind == "picture" and detail["upload"] is not None:
        server.deposits.uploaded(loaded.record.name, detail["upload"])  # refused if there is none
    if body.kind == "view":
        return {"items": [_item(server.collection, place) for place in detail["places"]]}
    place = detail.pop("place", None)
    return detail if place is None else {**detail, "item": _item(server.collection, place)}


def _item(collection: Collection, place: int) -> str:
    if place >= len(collection.features):
        raise RefusedError(f"the collection has {len(collection.features):,} pictures, no picture {place}", 422)
    return collection.features.items[place]


def _teach_last(server: SearchServer, owner: int, collection: str) -> None:
    """Whoever begins another search is done with the last one, for now: what it taught is kept."""
    with server.home.store.reading() as connection:
        last = next(iter(searches.listed(connection, owner=owner, collection=collection)), None)
    if last is not None and last.taught_at is None and last.forked is None:  # a fork has the marks of another
        with suppress(RefusedError):  # of other features, or a picture that is gone: it teaches nothing
            _teach(server, server.loaded(last))


def _teach(server: SearchServer, loaded: LoadedSearch) -> None:
    with server.scoring(loaded) as search:
        lesson = None if search.changed else search.lesson()
    with server.home.store.writing() as connection:
        searches.teach(connection, loaded.record, lesson, now=server.now())


# ---- a search as the page gets it ---------------------------------------------------------------------


def _standing(server: SearchServer, access: Access) -> dict[str, Any]:
    """The search as it stands; a page that is due is made now."""
    loaded, collection = access.loaded, server.collection
    with loaded.lock:
        search = loaded.search
        notes = _page_made(server, access)
        state, at = search.state, collection.features.place
        return {
            "id": loaded.record.name, "title": _title(loaded.record, state), "number": state.number,
            "round": state.page.round if state.page else 0,
            "query": {
                "picture": at.get(state.query.item or ""), "upload": state.query.upload,
                "sketch": state.query.sketch is not None, "words": state.query.words,
            },
            "page": _page(collection, state, state.page),
            "marks": [{"place": at[item], "grade": grade} for item, grade in state.marks.items() if item in at],
            "rounds": [
                {"number": page.number, "round": page.round, "shown": len(page.items),
                 "marked": sum(item in state.marks for item in page.items)}
                for page in search.rounds
            ],
            "groups": [
                {"name": one.name, "weight": one.weight, "metric": one.metric, "setting": one.setting}
                for one in search.groups
            ],
            "found": _places(collection, state.found), "undo": state.acts > 0, "seen": len(state.seen),
            "left": search.left, "show_seen": state.show_seen, "explore": state.settings.explore,
            "notes": [*search.notes, *notes, *_alike(state)],
            "read_only": access.may != "act" or search.changed or state.closed,
            "may_fork": access.may != "look" and not search.changed,
        }  # fmt: skip


def _page_made(server: SearchServer, access: Access) -> list[str]:
    """Make the page that is due; why not, if what the query needs is gone: then it can still be changed."""
    search = access.loaded.search
    if not search.state.due or access.may != "act" or search.changed or search.state.closed:
        return []
    try:
        with server.scoring(access.loaded):
            search.show()
    except RefusedError as error:
        if error.status != GONE:
            raise
        return [f"{capitalised(str(error))}."]
    return []


def _alike(state: State) -> list[str]:
    """That no marks are expected of a page, where the person's marks do not tell its pictures apart."""
    page = state.page
    known = page is not None and any(mark is not None for mark in page.expected.values())
    if page is None or not known or not state.rated_before(page) or page.separates:
        return []
    return ["By what you marked, these pictures cannot be told apart: about the same mark is expected of all of them."]


def _page(collection: Collection, state: State, page: Any) -> dict[str, Any]:
    """A page; pictures that are no longer in the collection are left out."""
    if page is None:
        return {"round": 0, "tiles": []}
    place, expected = collection.features.place, state.told(page)
    tiles = [
        collection.tile(place[item], slot=slot, expected=expected[item], mark=state.marks.get(item))
        for item, slot in zip(page.items, page.slots, strict=True)
        if item in place
    ]
    return {"round": page.round, "tiles": tiles}


def _places(collection: Collection, items: Any) -> list[int]:
    return [collection.features.place[item] for item in items if item in collection.features.place]


def _title(record: Record, state: State) -> str:
    """The title, or what the search starts from."""
    if record.title:
        return record.title
    query = state.query
    parts = [
        query.words and f"“{query.words[:60]}”", query.sketch and "a sketch", query.upload and "my picture",
        query.item and f"like {query.item[:60]}",
    ]  # fmt: skip
    return ", ".join(part for part in parts if part) or "A search by marks"


def _saved(collection: Collection, record: Record, state: State) -> dict[str, Any]:
    """A search in the list: its cover is what was found, else what was marked best, else the query."""
    liked = sorted((item for item, grade in state.marks.items() if grade > 0), key=lambda item: -state.marks[item])
    covers = _places(collection, [*state.found, *liked, *([state.query.item] if state.query.item else [])])
    last = state.trail.event.at if state.trail is not None else record.created_at
    return {
        "id": record.name, "title": _title(record, state), "rounds": len(state.pages), "marks": len(state.marks),
        "found": len(state.found), "cover": covers[0] if covers else None, "at": last,
    }  # fmt: skip
