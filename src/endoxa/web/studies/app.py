"""The study application: who is signed in, which study a request concerns, and the routers that respond."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from endoxa.errors import RefusedError, absent, needed
from endoxa.frozen import dataclass
from endoxa.store import catalogue, people
from endoxa.store.catalogue import Study
from endoxa.store.database import told
from endoxa.store.home import Home
from endoxa.store.people import Visitor
from endoxa.web.security import UPLOAD
from endoxa.web.site import Site, create_application

TEMPLATES = Path(__file__).parent / "templates"
log = logging.getLogger("endoxa")


@dataclass(frozen=True)
class Studio:
    """The studies of a home on a site. Routers get it whole."""

    home: Home
    url: str
    now: Callable[[], float] = time.time

    @cached_property
    def site(self) -> Site:
        """The site that its pages stand on."""
        return Site(self.home.key, self.url, "study", TEMPLATES, self.now)

    def visitor(self, request: Request) -> Visitor:
        """The person whose browser this is. An act must come from our own page and carry its token."""
        with self.home.store.reading() as connection:
            return self._visitor(connection, request)

    def _visitor(self, connection: Connection, request: Request, *, acts: bool = True) -> Visitor:
        secret = self.site.secret(request)
        found = people.visitor_of(connection, secret, now=self.now()) if secret else None
        if found is None:
            raise RefusedError("you are not signed in here", 401, remedy="open your link again")
        if acts:
            self.site.need_own_act(request)
        return found

    def invitation(self, request: Request, token: str) -> people.Invitation:
        """The invitation of a link. Wrong links are counted, and too many are refused."""
        with self.site.guarding(request), self.home.store.reading() as connection:
            return people.invitation_of(connection, self.home.key, token)

    def need_open(self, request: Request, invitation: people.Invitation) -> None:
        """Refuse a link that is no longer valid, unless this browser used it and got no reply."""
        with self.home.store.reading() as connection:
            if people.joined(connection, invitation, self.site.join_key(request), now=self.now()) is None:
                people.need_open(invitation, self.now())

    def sign_in(self, response: Response, secret: str) -> Response:
        """The response with the session's cookie."""
        return self.site.sign_in(response, secret, seconds=people.SESSION)

    def study(self, name: str) -> Study:
        """The study of that name."""
        with self.home.store.reading() as connection:
            return self._study(connection, name)

    def _study(self, connection: Connection, name: str) -> Study:
        try:
            return catalogue.find(connection, name)
        except RefusedError:
            raise absent("study") from None  # without the names of other studies

    def member(self, request: Request, name: str, role: str, *, acts: bool = True) -> tuple[Study, Visitor]:
        """The study and its judge or participant; to anybody else the study does not exist.

        With acts=False the caller checks the token of an act, which is in a form that is not read yet.
        """
        with self.home.store.reading() as connection:
            visitor, study = self._visitor(connection, request, acts=acts), self._study(connection, name)
        if visitor.role != role or visitor.study_id != study.id:
            raise absent("study")
        return study, visitor

    def judge(self, request: Request, name: str) -> tuple[Study, int]:
        """The study and the number of its judge."""
        study, visitor = self.member(request, name, "judge")
        return study, needed(visitor.rater_id, "study")

    def organiser(self, request: Request) -> Visitor:
        """The organiser; anybody else is refused."""
        try:
            visitor = self.visitor(request)
        except RefusedError as error:
            if error.status != 401:
                raise
            remedy = "endoxa study serve prints a new link for the organiser at every start"
            raise RefusedError("you are not signed in here", 401, remedy=remedy) from None
        if visitor.role != "organiser":
            raise RefusedError("this page is for the organiser only", 403)
        return visitor


def create_app(studio: Studio) -> FastAPI:
    """The study application."""
    from endoxa.web.studies import judging, organising, participating, verdicts

    app = create_application(
        studio.site,
        title="Endoxa studies",
        description="What the pages of a study speak. A session comes from an invitation link; unsafe methods carry "
        "X-CSRF-Token, which the page holds.",
        routers=[part.router(studio) for part in (judging, organising, participating, verdicts)],
        uploads={"/submit/": UPLOAD},
    )
    site = studio.site

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    def front(request: Request) -> Response:
        text = "Open the link that you were given. Organisers: endoxa study serve prints one at every start."
        return site.page("message.html", request, title="Endoxa studies", text=text)

    @app.exception_handler(IntegrityError)
    async def collided(request: Request, _: Exception) -> Response:
        return site.problem(request, 409, "somebody did the same at the same moment; try again")

    @app.exception_handler(DatabaseError)
    @app.exception_handler(PoolTimeoutError)
    async def away(request: Request, error: Exception) -> Response:
        log.error("%s", told(error, studio.home.store))
        response = site.problem(request, 503, "the database does not respond at the moment; try again soon")
        response.headers["Retry-After"] = "2"
        return response

    return app
