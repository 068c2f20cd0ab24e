"""The site: what every page of any application needs. It knows nothing about studies.

An application makes a `Site`, writes routers that use it, and hands them to `create_application`, which adds the
security headers, limits of request bodies, static files, problem pages and the description of the API.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from functools import cache, cached_property
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException

from endoxa.errors import EndoxaError, RefusedError
from endoxa.frozen import dataclass
from endoxa.web.security import HEADERS, Patience, Wrapper, csrf_of, need_own_page, need_token, network_of

HERE = Path(str(files("endoxa.web")))
COOKIE = "endoxa"
KEY = 32  # bytes of the key of a join
TITLES = {
    401: "Please open your link again",
    404: "Page not found",
    410: "This link no longer opens",
    429: "Please wait a moment",
}
REASONS = {
    400: "the request cannot be read",
    404: "there is nothing at this address",
    405: "this address does not accept that method",
}


@cache
def _templates(*folders: Path) -> Environment:
    """The templates of these folders, compiled once for all sites of a process."""
    return Environment(loader=FileSystemLoader(folders), autoescape=True, undefined=StrictUndefined)


@dataclass(frozen=True)
class Site:
    """Keys, address, clock, templates and session cookie of an application.

    key        the secret that signs tokens
    url        the address at which browsers reach the site, without a slash at the end
    name       the application, in the name of its cookie
    templates  the application's own templates; they may extend those in `web/templates/`
    """

    key: str
    url: str
    name: str
    templates: Path | None = None
    now: Callable[[], float] = time.time
    patience: Patience = field(default_factory=Patience)

    @cached_property
    def pages(self) -> Environment:
        """The templates."""
        return _templates(*([self.templates] if self.templates else []), HERE / "templates")

    @property
    def secure(self) -> bool:
        """Whether browsers reach the site by https."""
        return self.url.startswith("https://")

    @cached_property
    def cookie(self) -> str:
        """The name of the session cookie; with https, a name that no other host can set.

        Browsers send cookies to all ports of a host. The application and its key are in the name, so that two servers
        on one host do not sign out each other's people.
        """
        own = sha256(f"cookie:{self.key}".encode()).hexdigest()[:8]
        return f"{self._prefix}{COOKIE}-{self.name}-{own}"

    @property
    def _prefix(self) -> str:
        return "__Host-" if self.secure else ""

    def secret(self, request: Request) -> str:
        """The session's secret, from the cookie; empty where there is none.

        Earlier versions had one name for all servers; their sessions go on.
        """
        return request.cookies.get(self.cookie) or request.cookies.get(f"{self._prefix}{COOKIE}", "")

    def sign_in(self, response: Response, secret: str, *, seconds: float) -> Response:
        """The response with the session's cookie. Whoever gets it no longer needs the key of the join."""
        response.set_cookie(
            self.cookie, secret, max_age=int(seconds), httponly=True, samesite="lax", secure=self.secure, path="/"
        )
        response.delete_cookie(self._join_cookie, httponly=True, samesite="lax", secure=self.secure, path="/")
        return response

    def expect_join(self, request: Request, response: Response) -> Response:
        """The page of a link, with the key of the join in a cookie: the browser sends it with every attempt."""
        if self.join_key(request) is None:
            key = secrets.token_urlsafe(KEY)
            response.set_cookie(self._join_cookie, key, httponly=True, samesite="lax", secure=self.secure, path="/")
        return response

    def join_key(self, request: Request) -> str | None:
        """The key of the join that a browser attempts; it is a secret of that browser and of this site."""
        sent = request.cookies.get(self._join_cookie, "")
        if len(sent) < KEY:
            return None
        return hmac.new(self.key.encode(), f"join:{sent}".encode("utf-8", "replace"), sha256).hexdigest()

    @property
    def _join_cookie(self) -> str:
        return f"{self.cookie}-join"

    def sign_out(self, response: Response) -> None:
        """Remove the session's cookie."""
        response.delete_cookie(self.cookie, httponly=True, samesite="lax", secure=self.secure, path="/")

    def need_own_act(self, request: Request, token: str | None = None) -> None:
        """Refuse an act that does not come from a page of this site with the session's token.

        The token is in the header `X-CSRF-Token`, or in a field of a form, which passes it here.
        """
        if request.method not in {"GET", "HEAD"}:
            need_own_page(request)
            need_token(self.key, self.secret(request), token or request.headers.get("x-csrf-token"))

    @contextmanager
    def guarding(self, request: Request) -> Iterator[None]:
        """Around the check of a link: refusals are counted, and an address with too many is turned away."""
        address = network_of(request.client.host if request.client else "?")
        self.patience.check(address)
        try:
            yield
        except RefusedError:
            self.patience.failed(address)
            raise

    def page(self, name: str, request: Request, status: int = 200, **values: Any) -> HTMLResponse:
        """A page from a template; it gets the session's CSRF token."""
        secret = self.secret(request)
        values = {"csrf": csrf_of(self.key, secret) if secret else "", "status": status, **values}
        return HTMLResponse(self.pages.get_template(name).render(**values), status_code=status)

    def problem(self, request: Request, status: int, text: str) -> Response:
        """A sentence about a problem, as JSON for programs and as a page for people."""
        if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
            return JSONResponse({"detail": text}, status_code=status)
        return self.page("message.html", request, status, title=TITLES.get(status, "That did not work"), text=text)


def create_application(
    site: Site, *, title: str, description: str, routers: Iterable[APIRouter], uploads: Mapping[str, int] | None = None
) -> FastAPI:
    """An application on the site. `uploads` gives patterns of paths whose bodies may be long, and how many bytes."""
    app = FastAPI(
        title=title,
        version=version("endoxa"),
        description=description,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,  # such redirects contain whatever host the request names
    )
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    for router in routers:
        app.include_router(router)

    @app.get("/api", response_class=HTMLResponse, include_in_schema=False)
    def api(request: Request) -> Response:
        return site.page("api.html", request, document=app.openapi())

    @app.get("/favicon.ico", include_in_schema=False)
    def favicon() -> Response:
        return Response((HERE / "static" / "favicon.svg").read_bytes(), media_type="image/svg+xml")

    _add_problems(app, site)
    app.add_middleware(Wrapper, uploads=uploads or {})
    return app


def _add_problems(app: FastAPI, site: Site) -> None:
    """Handlers that turn errors into problems."""

    @app.exception_handler(EndoxaError)
    async def refused(request: Request, error: Exception) -> Response:
        status = error.status if isinstance(error, RefusedError) else 422
        return site.problem(request, status, str(error))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 500)
        response = site.problem(request, status, REASONS.get(status, str(getattr(error, "detail", ""))))
        response.headers.update(getattr(error, "headers", None) or {})
        return response

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: Exception) -> Response:
        found: Any = error.errors()[0] if isinstance(error, RequestValidationError) else {}
        where = ".".join(str(part) for part in found.get("loc", ()))
        return site.problem(request, 422, f"{where}: {found.get('msg', 'not as expected')}")

    @app.exception_handler(Exception)
    async def broken(request: Request, _: Exception) -> Response:
        # Starlette sends this response around every middleware, and then lets the server log the error.
        response = site.problem(request, 500, "an internal error occurred; the log of the server has the details")
        response.headers.update({**HEADERS, "Cache-Control": "no-store"})
        return response
