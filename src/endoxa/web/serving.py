"""Starting a server: the socket, its address, and uvicorn with limits of connections."""

from __future__ import annotations

import socket
from functools import partial
from typing import Any

import uvicorn

from endoxa.errors import TextError
from endoxa.web.connections import BACKLOG, TURN, Connection, Limits, Server, limits_here


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Connections wait from now on, and are accepted once the server runs."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol given, asyncio sends small responses without delay (TCP_NODELAY).
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise TextError(
            f"cannot listen at {host}:{port}: {error.strerror}", remedy="choose another port with --port"
        ) from None
    return listening


def address_at(host: str, listening: socket.socket, url: str | None = None) -> str:
    """The address at which browsers reach the server, without a slash at the end; `url` overrides it."""
    shown = socket.gethostname() if host in {"0.0.0.0", "::"} else f"[{host}]" if ":" in host else host
    return (url or f"http://{shown}:{listening.getsockname()[1]}").rstrip("/")


def run(app: Any, listening: socket.socket, limits: Limits | None = None) -> None:
    """Serve an application until the process is told to stop; `limits` are those of this process unless given."""
    protocol: Any = partial(Connection, limits=limits or limits_here())
    config = uvicorn.Config(
        app, http=protocol, ws="none", loop="asyncio", log_level="warning", access_log=False, server_header=False,
        lifespan="off", timeout_graceful_shutdown=5, backlog=TURN,
    )  # fmt: skip
    try:
        Server(config).run(sockets=[listening])
    finally:
        listening.close()
