"""Nobody where they don't belong: headers, sizes, origins, tokens, and a slow answer to whoever guesses."""

from __future__ import annotations

import hmac
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from ipaddress import ip_address, ip_network
from threading import Lock
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from endoxa.errors import RefusedError

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # no-referrer would make browsers send `Origin: null` with our own forms
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
SAFE = {"GET", "HEAD", "OPTIONS"}
BODY, UPLOAD = 256 * 1024, 64 * 1024 * 1024  # bytes of a request; of a run that is sent in
LENGTHY = 15  # digits of a length; Python itself refuses to read very many


@dataclass
class Wrapper:
    """Headers on every answer, and an end to bodies that are too long."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = UPLOAD if scope["path"].startswith("/submit/") else BODY
        seen = 0
        over = replaced = False

        async def counted() -> Message:
            nonlocal seen, over
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                over = True
                return {"type": "http.disconnect"}
            return message

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        async def unless_over(message: Message) -> None:
            nonlocal replaced
            if message["type"] == "http.response.start" and over:  # whatever was made of half a body is not the answer
                replaced = True
                await _too_long(scope, limit)(scope, receive, with_headers)
            if not replaced:
                await with_headers(message)

        declared = Headers(scope=scope).get("content-length", "0")
        if not is_length(declared, limit):
            await _too_long(scope, limit)(scope, receive, with_headers)
            return
        await self.app(scope, counted, unless_over)


def is_length(declared: str, limit: int) -> bool:
    """Whether it is a number of bytes, and not too many."""
    return declared.isascii() and declared.isdigit() and len(declared) <= LENGTHY and int(declared) <= limit


def _too_long(scope: Scope, limit: int) -> ASGIApp:
    """A sentence, as JSON for programs and as text for people."""
    size = f"{limit >> 20} MB" if limit >> 20 else f"{limit >> 10} kB"
    said = f"what was sent is too long, or does not say how long it is: {size} at most"
    if scope["path"].startswith("/api/"):
        return JSONResponse({"detail": said}, 413)
    return PlainTextResponse(said, 413)


def csrf_of(key: str, secret: str) -> str:
    """The token that a page of this session sends back."""
    return hmac.new(key.encode(), f"csrf:{secret}".encode(), sha256).hexdigest()


def need_own_page(request: Request) -> None:
    """An act must come from a page of ours: the browser says so, or names our origin."""
    if request.method in SAFE:
        return
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        if site not in {"same-origin", "none"}:
            raise RefusedError("this was sent by another site's page; open the study's own page", 403)
        return
    origin = request.headers.get("origin")
    host = request.headers.get("host")
    if origin is not None and origin not in {f"http://{host}", f"https://{host}"}:
        raise RefusedError("this was sent by another site's page; open the study's own page", 403)


def need_token(key: str, secret: str, given: str | None) -> None:
    """An act of a session must carry its token."""
    if given is None or not hmac.compare_digest(csrf_of(key, secret).encode(), given.encode("utf-8", "replace")):
        raise RefusedError("the page is out of date; reload it", 403)


@dataclass
class Patience:
    """Who tries wrong links is answered ever less: `most` a minute from one address, then no more.

    When all addresses together reach ten times that, one wrong link is enough. An address that sent none is always
    heard, so that nobody can shut judges out by guessing.
    """

    most: int = 20
    window: float = 60.0
    clock: Callable[[], float] = time.monotonic
    tries: dict[str, deque[float]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def check(self, address: str) -> None:
        """Refuse an address that failed too often lately."""
        with self.lock:
            most = self.most if len(self._recent("")) < 10 * self.most else 1
            if len(self._recent(address)) >= most:
                raise RefusedError("too many wrong links from here; wait a minute and try again", 429)

    def failed(self, address: str) -> None:
        """Remember a failure."""
        with self.lock:
            for name in (address, ""):
                self._recent(name).append(self.clock())
            if len(self.tries) > 10_000:  # addresses that are forgotten are those whose failures are old
                self.tries = {name: times for name, times in self.tries.items() if self._recent(name)}

    def _recent(self, name: str) -> deque[float]:
        times = self.tries.setdefault(name, deque())
        while times and times[0] < self.clock() - self.window:
            times.popleft()
        return times


def address_of(request: Request) -> str:
    """Where a request comes from; of IPv6 the network, for everybody has 2^64 addresses in it."""
    client: Any = request.client
    host = client.host if client else "?"
    try:
        found = ip_address(host)
    except ValueError:
        return str(host)
    return str(found) if found.version == 4 else str(ip_network((found, 64), strict=False))
