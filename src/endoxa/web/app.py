"""The application: what every request meets, and the parts that answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException

from endoxa import __version__
from endoxa.errors import EndoxaError, RefusedError, absent
from endoxa.store import catalogue, people
from endoxa.store.catalogue import Study
from endoxa.store.home import Home
from endoxa.store.people import Visitor
from endoxa.web.security import HEADERS, Patience, Wrapper, csrf_of, need_own_page, need_token

HERE = Path(str(files("endoxa.web")))
COOKIE = "endoxa"
log = logging.getLogger("endoxa")


@dataclass(frozen=True)
class Site:
    """What the parts of the application share."""

    home: Home
    url: str  # where people reach it, without a slash at the end
    now: Callable[[], float] = time.time
    patience: Patience = field(default_factory=Patience)
    pages: Environment = field(
        default_factory=lambda: Environment(
            loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined
        )
    )

    @property
    def secure(self) -> bool:
        """Whether browsers reach it by https."""
        return self.url.startswith("https://")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that reads."""
        with self.home.store.reading() as connection:
            yield connection

    @contextmanager
    def writing(self, *, lasting: bool = True) -> Iterator[Connection]:
        """A transaction that is on the disk when it ends; see `Store.writing`."""
        with self.home.store.writing(lasting=lasting) as connection:
            yield connection

    def secret(self, request: Request) -> str:
        """The session's secret, from the cookie."""
        return request.cookies.get(self.cookie, "")

    @property
    def cookie(self) -> str:
        """A name that no other host may set, where https allows it."""
        return f"__Host-{COOKIE}" if self.secure else COOKIE

    def visitor(self, request: Request, *, form: bool = False) -> Visitor:
        """Whose browser this is; acts must come from our own page and carry its token (a form's is checked apart)."""
        with self.reading() as connection:
            return self._visitor(connection, request, form=form)

    def _visitor(self, connection: Connection, request: Request, *, form: bool = False) -> Visitor:
        secret = self.secret(request)
        found = people.visitor_of(connection, secret, now=self.now()) if secret else None
        if found is None:
            raise RefusedError("you are not signed in here; open your link again", 401)
        if request.method not in {"GET", "HEAD"} and not form:
            need_own_page(request)
            need_token(self.home.key, secret, request.headers.get("x-csrf-token"))
        return found

    def study(self, name: str) -> Study:
        """The study of that name."""
        with self.reading() as connection:
            return self._study(connection, name)

    def _study(self, connection: Connection, name: str) -> Study:
        try:
            return catalogue.find(connection, name)
        except RefusedError:
            raise absent("study") from None  # without the names of other studies

    def judge(self, request: Request, name: str) -> tuple[Study, int]:
        """The study, and whose browser this is; a judge of another study is not told that this one exists."""
        with self.reading() as connection:
            visitor, study = self._visitor(connection, request), self._study(connection, name)
        if visitor.role != "judge" or visitor.study_id != study.id or visitor.rater_id is None:
            raise absent("study")
        return study, visitor.rater_id

    def participant(self, request: Request, name: str, *, form: bool = False) -> tuple[Study, Visitor]:
        """The study, and the participant."""
        with self.reading() as connection:
            visitor, study = self._visitor(connection, request, form=form), self._study(connection, name)
        if visitor.role != "participant" or visitor.study_id != study.id:
            raise absent("study")
        return study, visitor

    def organiser(self, request: Request) -> Visitor:
        """The organiser; anybody else is not told what there is."""
        try:
            visitor = self.visitor(request)
        except RefusedError as error:
            if error.status != 401:
                raise
            said = "you are not signed in here; endoxa study serve prints a new link for the organiser at every start"
            raise RefusedError(said, 401) from None
        if visitor.role != "organiser":
            raise RefusedError("this page is the organiser's", 403)
        return visitor

    def page(self, name: str, request: Request, status: int = 200, **values: Any) -> HTMLResponse:
        """A page."""
        secret = self.secret(request)
        values.setdefault("csrf", csrf_of(self.home.key, secret) if secret else "")
        values.setdefault("status", status)
        return HTMLResponse(self.pages.get_template(name).render(**values), status_code=status)


def create_app(site: Site) -> FastAPI:
    """The application for a site."""
    from endoxa.web import judging, organising, participating

    app = FastAPI(
        title="Endoxa studies",
        version=__version__,
        description="What the pages of a study speak. A session comes from an invitation link; unsafe methods carry "
        "X-CSRF-Token, which the page holds.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,  # such redirects name whatever host the request named
    )
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    for part in (judging, organising, participating):
        app.include_router(part.router(site))

    @app.get("/api", response_class=HTMLResponse, include_in_schema=False)
    def api(request: Request) -> Response:
        return site.page("api.html", request, document=app.openapi())

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    def front(request: Request) -> Response:
        text = "Open the link that you were given. Organisers: endoxa study serve prints one at every start."
        return site.page("message.html", request, title="Endoxa studies", text=text, status=200)

    @app.get("/favicon.ico", include_in_schema=False)
    def favicon() -> Response:
        return Response((HERE / "static" / "favicon.svg").read_bytes(), media_type="image/svg+xml")

    @app.exception_handler(EndoxaError)
    async def refused(request: Request, error: Exception) -> Response:
        status = error.status if isinstance(error, RefusedError) else 422
        return _problem(site, request, status, str(error))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 500)
        words = {
            400: "what was sent cannot be read", 404: "there is nothing at this address",
            405: "this address does not take that method",
        }  # fmt: skip
        answer = _problem(site, request, status, words.get(status, str(getattr(error, "detail", ""))))
        answer.headers.update(getattr(error, "headers", None) or {})
        return answer

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: Exception) -> Response:
        found: Any = error.errors()[0] if isinstance(error, RequestValidationError) else {}
        where = ".".join(str(part) for part in found.get("loc", ()))
        return _problem(site, request, 422, f"{where}: {found.get('msg', 'not as expected')}")

    @app.exception_handler(IntegrityError)
    async def collided(request: Request, _: Exception) -> Response:
        return _problem(site, request, 409, "somebody did the same at the same moment; try again")

    @app.exception_handler(OperationalError)
    @app.exception_handler(PoolTimeoutError)
    async def away(request: Request, error: Exception) -> Response:
        log.error("the database does not answer: %s", error)
        answer = _problem(site, request, 503, "the database does not answer at the moment; try again soon")
        answer.headers["Retry-After"] = "2"
        return answer

    @app.exception_handler(Exception)
    async def broken(request: Request, _: Exception) -> Response:
        # Starlette sends this past every wrapper, and then lets the server log the error.
        answer = _problem(site, request, 500, "something broke here; the organiser finds what in the server's log")
        answer.headers.update({**HEADERS, "Cache-Control": "no-store"})
        return answer

    app.add_middleware(Wrapper)
    return app


def _problem(site: Site, request: Request, status: int, text: str) -> Response:
    """A sentence, as JSON for programs and as a page for people."""
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({"detail": text}, status_code=status)
    titles = {
        401: "Please open your link again",
        404: "Not here",
        410: "This link no longer opens",
        429: "Wait a little",
    }
    return site.page("message.html", request, status, title=titles.get(status, "That did not work"), text=text)
