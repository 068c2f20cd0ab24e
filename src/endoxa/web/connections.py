"""Connections to the server: how long a peer may take, how many it may hold, and what happens when none are left.

A connection waits while its request has not arrived completely. Waiting connections have a time limit, and give way
when there are too many: the oldest one is closed, so that a peer that sends half requests cannot keep others out, not
even others behind its own address. A request that has arrived is never cut off by this.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import os
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.web.security import network_of

VARIABLE = "ENDOXA_CONNECTIONS"
OPEN_FILES = 4096  # descriptors to ask the system for; many systems give 1,024 to a process that does not ask
RESERVE = 256  # descriptors for the database, pictures and other processes
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
BACKLOG = 512  # connections that wait to be accepted
TURN = 16  # connections that are accepted at once, before any of them is counted
QUIET, EASE = 60.0, 1.0  # seconds between two lines of the log, and between two times of closing connections
BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 42\r\n"
    b"Retry-After: 2\r\nConnection: close\r\n\r\nThe server is busy; try again in a moment."
)
log = logging.getLogger("endoxa")


@dataclass(frozen=True)
class Limits:
    """Limits of connections.

    header       seconds until the header of a request is complete
    body         seconds for a body, and one second more for each `rate` bytes of it
    response     seconds that a peer may leave a response unread
    per_address  connections of one address (IPv6: of one network)
    whole        connections of all addresses together
    """

    header: float = 20.0
    body: float = 20.0
    rate: int = 1000
    response: float = 60.0
    per_address: int = 256
    whole: int = OPEN_FILES - RESERVE


def limits_here() -> Limits:
    """The limits for this process: by the descriptors that it may open, and by ENDOXA_CONNECTIONS."""
    files = _open_files()
    whole = max(files - RESERVE, files // 2)
    given = os.environ.get(VARIABLE)
    if not given:
        return Limits(whole=whole)
    if not given.isascii() or not given.isdigit() or not 0 < len(given) < 7 or not int(given):
        raise TextError(f"{VARIABLE} is a number of connections for each address, such as 256, not {given!r}")
    return Limits(per_address=int(given), whole=whole)


def _open_files() -> int:
    """The number of descriptors that this process may open, raised as far as the system allows and we need."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return OPEN_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    return most if soft == resource.RLIM_INFINITY else min(soft, OPEN_FILES)


class Connection(H11Protocol):
    """A connection with limits."""

    def __init__(self, *given: Any, limits: Limits, **named: Any) -> None:
        super().__init__(*given, **named)
        self.limits = limits
        self.network = ""
        self.was_answered = False  # whether it has brought a whole request before
        self.timer: asyncio.TimerHandle | None = None  # None while the application is at work
        self.since = 0.0  # when the part that is awaited began
        self.received = 0  # bytes of it
        self.awaited: object = None  # the state of h11 in which the peer must send something
        self.reading: asyncio.TimerHandle | None = None  # None while the peer has read all there is

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the place of a connection that waits, if there are too many."""
        super().connection_made(transport)
        self.network = network_of(self.client[0]) if self.client else "?"
        everybody = _connections(self.connections)
        own = [one for one in everybody if one.network == self.network]
        crowd = everybody if len(everybody) > self.limits.whole else []
        if len(own) > self.limits.per_address:
            crowd = own
        if crowd and not _make_room([one for one in crowd if one is not self]):
            transport.write(BUSY)
            transport.close()
            return
        self._watch(0)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop()
        self._stop_reading()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read, and see what is awaited now."""
        super().data_received(data)
        self._watch(len(data))

    def on_response_complete(self) -> None:
        """See whether the rest of the request is awaited, or the next one."""
        super().on_response_complete()
        self.was_answered = True
        self._watch(0)
        self._expect_reading()

    def pause_writing(self) -> None:
        """Wait for the peer to read."""
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        """The peer has read."""
        super().resume_writing()
        self._stop_reading()

    @property
    def is_waiting(self) -> bool:
        """Whether the peer has to send something before the application can work."""
        return self.conn.their_state in {h11.IDLE, h11.SEND_BODY}

    def _watch(self, received: int) -> None:
        """Start the clock of a part of the request that is awaited, and stop it when the part is there."""
        state = self.conn.their_state
        if self.transport.is_closing() or not self.is_waiting or self.timeout_keep_alive_task is not None:
            self._stop()  # the application is at work, or uvicorn waits for the next request
            return
        if state is not self.awaited:
            self._stop()
            self.awaited, self.since, self.received = state, self.loop.time(), 0
        self.received += received
        if self.timer is None:
            self.timer = self.loop.call_at(self._deadline(), self._late)

    def _deadline(self) -> float:
        if self.awaited is h11.IDLE:
            return self.since + self.limits.header
        return self.since + self.limits.body + self.received / self.limits.rate

    def _late(self) -> None:
        """Close the connection, unless more of the body came meanwhile, or it is us who do not read it."""
        self.timer = None
        if self.flow.read_paused:
            self.since, self.received = self.loop.time(), 0
        if self.loop.time() < self._deadline():
            self.timer = self.loop.call_at(self._deadline(), self._late)
        else:
            self.transport.abort()

    def _stop(self) -> None:
        self.awaited = None
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _expect_reading(self) -> None:
        """Start the clock of a response that the peer has not read."""
        self._stop_reading()
        if unread := self.transport.get_write_buffer_size():
            self.reading = self.loop.call_later(self.limits.response, self._unread, unread)

    def _unread(self, before: int) -> None:
        """Close the connection of a peer that reads too slowly, or not at all."""
        if self.transport.get_write_buffer_size() > max(0, before - self.limits.rate * self.limits.response):
            self.transport.abort()
        else:
            self._expect_reading()

    def _stop_reading(self) -> None:
        if self.reading is not None:
            self.reading.cancel()
            self.reading = None


def _connections(protocols: Iterable[object]) -> list[Connection]:
    return [one for one in protocols if isinstance(one, Connection) and not one.transport.is_closing()]


def _make_room(connections: list[Connection], count: int = 1) -> bool:
    """Close connections that wait; whether there were any.

    Those of the address that has the most go first: the oldest that never brought a whole request, then the others.
    """
    waiting = [one for one in connections if one.is_waiting]
    held = Counter(one.network for one in waiting)
    for one in sorted(waiting, key=lambda one: (-held[one.network], one.was_answered, one.since))[:count]:
        one.transport.abort()
    return bool(waiting)


class Server(uvicorn.Server):
    """A server that goes on when the process has no descriptors left."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.reported = self.eased = -math.inf  # when the log last said so, and when connections were last closed

    async def startup(self, sockets: Any = ()) -> None:
        """Handle the errors of the event loop, then start; the queue of the system is longer than one turn."""
        asyncio.get_running_loop().set_exception_handler(self._failed)
        await super().startup(sockets)
        for listening in sockets:
            listening.listen(BACKLOG)

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Close some waiting connections if descriptors ran out; asyncio accepts new ones again a second later."""
        error, now = context.get("exception"), time.monotonic()
        if not isinstance(error, OSError) or error.errno not in EXHAUSTED:
            loop.default_exception_handler(context)
            return
        connections = _connections(self.server_state.connections)
        if now - self.reported >= QUIET:
            self.reported = now
            log.error("new connections have to wait: %s; raise the limit of open files (ulimit -n)", error.strerror)
        if now - self.eased >= EASE:  # this is called for every connection that waits
            self.eased = now
            _make_room(connections, count=len(connections) // 4 + 1)
