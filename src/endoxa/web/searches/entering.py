"""Coming in by a link, and the page itself."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from endoxa.errors import RefusedError, needed
from endoxa.store import people, searches
from endoxa.web.searches.search_app import SearchServer
from endoxa.web.searches.search_bodies import Id
from endoxa.web.security import need_own_page
from endoxa.web.shapes import Token


def router(server: SearchServer) -> APIRouter:
    """The routes of the pages."""
    here = APIRouter()

    @here.get("/", response_class=HTMLResponse, include_in_schema=False)
    def front(request: Request) -> Response:
        visitor = server.known(request)
        if visitor is not None and visitor.role == "searcher":
            return RedirectResponse("/search", 303)
        text = "Open the link that you were given. endoxa search prints one at every start."
        return server.site.page("message.html", request, title="Endoxa search", text=text)

    @here.get("/join/{token}", response_class=HTMLResponse, include_in_schema=False)
    def invitation(request: Request, token: Token) -> Response:
        found, visitor = server.invitation(request, token), server.known(request)
        if visitor is None or not found.role == visitor.role == "searcher":
            return _page(server, request, token)
        if found.nickname is not None and found.id != visitor.invitation_id:
            return _page(server, request, token)  # the link of another person, who may come in by it
        people.need_open(found, server.now())
        return RedirectResponse("/search", 303)  # who is here already goes on

    @here.post("/join/{token}", include_in_schema=False)
    def join(request: Request, token: Token, nickname: Annotated[str, Form(max_length=200)] = "") -> Response:
        need_own_page(request)
        found = server.invitation(request, token)
        if found.role == "viewer":
            return _look(server, request, found)
        try:
            with server.home.store.writing() as connection:
                secret, own = searches.join(
                    connection, server.home.key, found, nickname, join_key=server.site.join_key(request),
                    now=server.now(),
                )  # fmt: skip
        except RefusedError as error:
            if error.status != 422:
                raise
            return _page(server, request, token, error=str(error))
        # A fragment is not sent to the server; the page keeps it as the person's own link.
        target = RedirectResponse("/search#start" if own is None else f"/search#mine/{own}", 303)
        return server.site.sign_in(target, secret, seconds=people.SESSION)

    @here.get("/search", response_class=HTMLResponse, include_in_schema=False)
    def start(request: Request) -> Response:
        server.searcher(request)
        return server.site.page("search.html", request, collection=server.collection.name)

    @here.get("/search/{name}", response_class=HTMLResponse, include_in_schema=False)
    def page(request: Request, name: Id) -> Response:
        server.access(request, name)
        return server.site.page("search.html", request, collection=server.collection.name)

    return here


def _page(server: SearchServer, request: Request, token: str, *, error: str | None = None) -> Response:
    found = server.invitation(request, token)
    people.need_open(found, server.now())
    number = len(server.collection.features)
    count = "There is one picture here." if number == 1 else f"There are {number:,} pictures here."
    page = server.site.page(
        "enter.html", request, 422 if error else 200, action=f"/join/{token}", collection=server.collection.name,
        count=count, error=error, nickname=found.nickname or "", looks=found.role == "viewer",
    )  # fmt: skip
    return server.site.expect_join(request, page)


def _look(server: SearchServer, request: Request, invitation: people.Invitation) -> Response:
    """Open a shared search. Whoever searches here already stays signed in as themselves."""
    people.need_open(invitation, server.now())
    with server.home.store.reading() as connection:
        name = needed(searches.shown_to(connection, invitation.id), "search")
    visitor = server.known(request)
    if visitor is None or visitor.role != "searcher":
        with server.home.store.writing() as connection:
            secret, _ = searches.join(connection, server.home.key, invitation, "", now=server.now())
        return server.site.sign_in(RedirectResponse(f"/search/{name}", 303), secret, seconds=people.SESSION)
    return RedirectResponse(f"/search/{name}?look={server.look(name, 'look')}", 303)
