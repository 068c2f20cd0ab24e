"""Requests to a server that speaks OpenAI's protocol of chat completions: keys, time limits, what is tried again.

The key is sent in the header of each request and kept nowhere else: no error, note or file has it.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from functools import cached_property
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from endoxa.errors import CallError, EndoxaError
from endoxa.frozen import dataclass
from endoxa.io import faults

PATH = "/chat/completions"
KEY = "OPENAI_API_KEY"  # whose key goes to https addresses; elsewhere only a key that is named
LOCAL = {"localhost", "127.0.0.1", "::1"}
WAITS = (0.5, 1.0, 2.0, 4.0)  # seconds between tries
LONGEST = 120.0  # seconds that a server may ask to wait
MOST = 16 << 20  # bytes of an answer
SHOWN = 200  # characters of what a server said that an error shows
REFUSED, BUSY = {401, 403}, {408, 409, 425, 429}
VISIBLE = re.compile(r"[!-~]*")  # ASCII without blanks
CONTENT = (*faults.CONTENT, IndexError)


class ChatError(EndoxaError):
    """A request that failed after all tries; `final` if no other request would fare better."""

    def __init__(self, problem: str, *, remedy: str = "", final: bool = False) -> None:
        super().__init__(problem, remedy=remedy)
        self.final = final


class _AgainError(Exception):
    """A request that may succeed later: why it failed, the seconds that the server asks to wait, and if it hung."""

    def __init__(self, why: str, after: float | None = None, *, hung: bool = False) -> None:
        super().__init__(why)
        self.why, self.after, self.hung = why, after, hung


@dataclass(frozen=True)
class Completion:
    """What a model said: text, tokens read and written (None: unknown), and its tokens with their alternatives."""

    text: str
    tokens_in: int | None
    tokens_out: int | None
    places: Sequence[tuple[str, Mapping[str, float]]] = ()


class _NoRedirect(HTTPRedirectHandler):
    """An answer that names another address is an error: the key is for this one."""

    def redirect_request(self, *_: Any) -> None:
        return None


def key_of(url: str, variable: str | None) -> str:
    """The key in a variable of the environment; empty if the address gets none."""
    named = variable or (KEY if urlsplit(url).scheme == "https" else "")
    key = os.environ.get(named, "").strip() if named else ""
    if variable and not key:
        raise CallError(f"the environment variable {variable} holds no key", remedy=f"export {variable}=…")
    if not VISIBLE.fullmatch(key):
        raise CallError(f"the environment variable {named} holds no key: it has blanks or odd characters")
    return key


class Chat:
    """A server and a model; may be used by several threads."""

    def __init__(
        self, url: str, model: str, *, key_from: str | None = None, seconds: float, stopped: threading.Event
    ) -> None:
        self.url, self.model, self.seconds, self.stopped = _address(url), model, seconds, stopped
        self._named = key_from or KEY
        self._key = key_of(self.url, key_from)
        self._unnamed = not self._key and not self.url.startswith("https:")
        self._until = 0.0  # when the server takes requests again, by the monotonic clock

    def ask(self, body: Mapping[str, Any]) -> Completion:
        """Send a request; try again where that may help, with growing waits."""
        waits = iter(WAITS)
        while True:
            self._wait(max(0.0, self._until - time.monotonic()))
            try:
                return _completion(self._sent({"model": self.model, **body}))
            except _AgainError as again:
                wait = next(waits, None)
                if again.hung:  # each try takes the whole time limit
                    wait = next(waits, None)
                if wait is None:
                    raise ChatError(again.why) from None
                if again.after is not None:
                    wait = again.after
                    self._until = max(self._until, time.monotonic() + wait)
                self._wait(wait)

    def _wait(self, seconds: float) -> None:
        if self.stopped.wait(seconds) if seconds else self.stopped.is_set():
            raise ChatError("was stopped")

    @cached_property
    def _opener(self) -> OpenerDirector:
        direct = (ProxyHandler({}),) if urlsplit(self.url).hostname in LOCAL else ()
        return build_opener(_NoRedirect, *direct)

    def _sent(self, body: Mapping[str, Any]) -> bytes:
        """The bytes of the answer."""
        heads = {"Content-Type": "application/json", "User-Agent": "endoxa"}
        heads |= {"Authorization": f"Bearer {self._key}"} if self._key else {}
        request = Request(self.url, json.dumps(body).encode(), heads, method="POST")
        until = time.monotonic() + self.seconds
        try:
            with self._opener.open(request, timeout=self.seconds) as response:
                return _within(response, until)
        except HTTPError as error:
            with error:
                raise self._refusal(error) from None
        except TimeoutError:
            raise _AgainError(f"the server did not answer within {self.seconds:g} s", hung=True) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise _AgainError(f"the server did not answer within {self.seconds:g} s", hung=True) from None
            why = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
            raise _AgainError(f"the server cannot be reached: {self._shown(why)}") from None

    def _refusal(self, error: HTTPError) -> Exception:
        """What becomes of a request that the server did not carry out."""
        status = error.code
        if status in BUSY or status >= 500:
            after = _seconds(error.headers.get("Retry-After"))
            if after is not None and after > LONGEST:
                return ChatError(f"the server asks to wait for {after:,.0f} s", final=True)
            return _AgainError(f"the server answered with status {status}{self._said(error)}", after)
        if status in REFUSED:
            what = "does not accept the key" if self._key else "wants a key"
            remedy = f"put it into the environment variable {self._named}"
            named = f"{remedy}, and name it: --key-from {self._named}" if self._unnamed else remedy
            return ChatError(f"the server {what} (status {status}{self._said(error)})", remedy=named, final=True)
        if 300 <= status < 400:
            there = self._shown(str(error.headers.get("Location", "")))
            return ChatError(f"the server sends to another address, {there}", remedy="give that one", final=True)
        what = f"the server answered with status {status}{self._said(error)}"
        if status in {404, 405}:
            remedy = "check the address (it often ends in /v1) and the name of the model"
            return ChatError(what, remedy=remedy, final=True)
        return RejectedError(what)

    def _said(self, error: HTTPError) -> str:
        """The server's own words about an error, without the key."""
        try:
            raw = error.read(1 << 16)
            found = json.loads(raw)
            found = found.get("error", found)
            text = found.get("message") if isinstance(found, Mapping) else found
        except (OSError, HTTPException, *faults.JSON, *faults.CONTENT):
            text = None
        return f": {self._shown(text)}" if isinstance(text, str) and text.strip() else ""

    def _shown(self, text: str) -> str:
        line = " ".join(text.split())
        return (line.replace(self._key, "…") if self._key else line)[:SHOWN]


class RejectedError(ChatError):
    """A request that the server understood and does not take, as with a parameter that it does not know."""


def _address(url: str) -> str:
    """The address to which requests go."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not VISIBLE.fullmatch(url) or parts.query or parts.fragment:
        raise CallError("--url is the address of a server: http://localhost:8000/v1")
    if "@" in parts.netloc:
        raise CallError("--url holds a name or password, which would be shown", remedy="leave them out; see --key-from")
    return url.rstrip("/").removesuffix(PATH) + PATH


def _within(response: Any, until: float) -> bytes:
    """The whole answer; one that trickles beyond the time limit hangs."""
    parts, size = list[bytes](), 0
    while part := response.read1(1 << 16):
        parts.append(part)
        size += len(part)
        if time.monotonic() > until:
            raise TimeoutError
        if size > MOST:
            raise _AgainError(f"the server's answer has more than {MOST >> 20} MB")
    return b"".join(parts)


def _seconds(value: str | None) -> float | None:
    """`Retry-After`: seconds, or a date."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _completion(raw: bytes) -> Completion:
    try:
        value = json.loads(raw)
        choice = value["choices"][0]
        message = choice["message"]
        text = message.get("content") or message.get("refusal") or ""
        usage = value.get("usage") or {}
        tokens = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
        places = [_place(one) for one in (choice.get("logprobs") or {}).get("content") or ()]
    except (*faults.JSON, *CONTENT):
        raise _AgainError("the server's answer is not a chat completion") from None
    known = [one if isinstance(one, int) and one >= 0 else None for one in tokens]
    return Completion(text if isinstance(text, str) else json.dumps(text), known[0], known[1], places)


def _place(one: Mapping[str, Any]) -> tuple[str, dict[str, float]]:
    others = {str(other["token"]): float(other["logprob"]) for other in one.get("top_logprobs") or ()}
    return str(one["token"]), {str(one["token"]): float(one["logprob"]), **others}
