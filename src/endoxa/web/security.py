"""Security of requests: headers, limits of bodies, origins, tokens, and a limit on guessed links."""

from __future__ import annotations

import hmac
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field
from hashlib import sha256
from ipaddress import ip_address, ip_network
from threading import Lock

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from endoxa.errors import RefusedError
from endoxa.frozen import dataclass

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
BODY, UPLOAD = 256 * 1024, 64 * 1024 * 1024  # bytes of an ordinary request; of an upload
LENGTHY = 15  # digits of a length; Python refuses to convert very long numbers


@dataclass
class Wrapper:
    """Middleware: security headers on every response, and a limit on the length of bodies.

    Paths that match a pattern of `uploads` from their beginning have the limit that stands with it.
    """

    app: ASGIApp
    uploads: Mapping[str, int] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = next((most for path, most in self.uploads.items() if re.match(path, scope["path"])), BODY)
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
            if message["type"] == "http.response.start" and over:  # the response to half a body must not be sent
                replaced = True
                await _too_long(scope, limit)(scope, receive, with_headers)
            if not replaced:
                await with_headers(message)

        declared = Headers(scope=scope).get("content-length", "0")
        is_number = declared.isascii() and declared.isdigit() and len(declared) <= LENGTHY
        if not is_number or int(declared) > limit:
            await _too_long(scope, limit)(scope, receive, with_headers)
            return
        await self.app(scope, counted, unless_over)


def _too_long(scope: Scope, limit: int) -> ASGIApp:
    """The refusal, as JSON for programs and as text for people."""
    size = f"{limit >> 20} MB" if limit >> 20 else f"{limit >> 10} kB"
    text = f"the request is too long, or does not give its length: {size} at most"
    if scope["path"].startswith("/api/"):
        return JSONResponse({"detail": text}, 413)
    return PlainTextResponse(text, 413)


def csrf_of(key: str, secret: str) -> str:
    """The token that pages of a session send back."""
    return hmac.new(key.encode(), f"csrf:{secret}".encode(), sha256).hexdigest()


def need_own_page(request: Request) -> None:
    """Refuse an act that another site's page sent, going by what the browser says of its origin."""
    if request.method in SAFE:
        return
    site, origin, host = (request.headers.get(name) for name in ("sec-fetch-site", "origin", "host"))
    same_origin = origin in {None, f"http://{host}", f"https://{host}"}
    if site not in {"same-origin", "none"} and not (site is None and same_origin):
        raise RefusedError("this was sent by a page of another site", 403, remedy="use this site's own page")


def need_token(key: str, secret: str, given: str | None) -> None:
    """Refuse an act without the session's token."""
    if given is None or not hmac.compare_digest(csrf_of(key, secret).encode(), given.encode("utf-8", "replace")):
        raise RefusedError("the page is out of date", 403, remedy="reload it")


@dataclass
class Patience:
    """Limits guessing: an address with `most` wrong links within the window is refused.

    When all addresses together reach ten times that number, one wrong link is enough. An address without wrong links is
    never refused, so that nobody can lock others out by guessing.
    """

    most: int = 20
    window: float = 60.0
    clock: Callable[[], float] = time.monotonic
    tries: dict[str, deque[float]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def check(self, address: str) -> None:
        """Refuse an address with too many recent failures."""
        with self.lock:
            most = self.most if len(self._recent("")) < 10 * self.most else 1
            if len(self._recent(address)) >= most:
                raise RefusedError("too many wrong links from here", 429, remedy="wait a minute and try again")

    def failed(self, address: str) -> None:
        """Record a failure."""
        with self.lock:
            for name in (address, ""):
                self._recent(name).append(self.clock())
            if len(self.tries) > 10_000:  # forget addresses whose failures are old
                self.tries = {name: times for name, times in self.tries.items() if self._recent(name)}

    def _recent(self, name: str) -> deque[float]:
        times = self.tries.setdefault(name, deque())
        while times and times[0] < self.clock() - self.window:
            times.popleft()
        return times


def network_of(host: str) -> str:
    """The address itself; for IPv6 its network, because one client has 2^64 addresses."""
    try:
        found = ip_address(host)
    except ValueError:
        return host
    return str(found) if found.version == 4 else str(ip_network((found, 64), strict=False))
