"""Starting the server: where it listens, the organiser's link, and the rounds that are planned while it runs."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable

import uvicorn
from sqlalchemy.exc import SQLAlchemyError

from endoxa.errors import EndoxaError, TextError
from endoxa.store import catalogue, making, people
from endoxa.store.home import Home
from endoxa.web.app import Site, create_app

LATER = 2.0  # seconds between two looks whether a round is due
log = logging.getLogger("endoxa")


def serve(home: Home, host: str, port: int, url: str | None, *, tell: Callable[[str, str], None]) -> None:
    """Serve until stopped. `tell` gets the address and the organiser's link once the server listens."""
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    address = (url or f"http://{socket.gethostname() if host in {'0.0.0.0', '::'} else shown}:{port}").rstrip("/")
    site = Site(home, address)
    with site.writing() as connection:
        _, token = people.invite(connection, home.key, None, "organiser", days=1, now=site.now())
    (home.folder / "address").write_text(address + "\n", encoding="utf-8")
    config = uvicorn.Config(
        create_app(site), log_level="warning", access_log=False, server_header=False, lifespan="off",
        timeout_graceful_shutdown=5,
    )  # fmt: skip
    stop = threading.Event()
    planner = threading.Thread(target=_plan, args=(site, stop), daemon=True)
    planner.start()
    tell(address, f"{address}/organise/{token}")
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        stop.set()
        planner.join(timeout=5)
        listening.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, for asyncio sends small answers at once (TCP_NODELAY) only where it is.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(512)  # from now on nobody is turned away, though the answer comes when the server is up
    except OSError as error:
        found.close()
        raise TextError(f"cannot listen at {host}:{port}: {error.strerror}; choose another with --port") from None
    return found


def _plan(site: Site, stop: threading.Event) -> None:
    """Plan the next round of a study when the last is nearly used up."""
    while not stop.wait(LATER):
        try:
            with site.reading() as connection:
                names = [one.name for one in catalogue.listed(connection) if one.settings.rounds > 1]
        except SQLAlchemyError as error:  # it comes back, and so do we
            log.warning("the database does not answer: %s", error)
            continue
        for name in names:
            try:
                if making.round_is_due(site.home, name):
                    made = making.next_round(site.home, name, now=site.now())
                    log.warning("%s: %s", name, "; ".join(made.notes))
            except (EndoxaError, SQLAlchemyError) as error:  # the study goes on without; the organiser reads why
                log.warning("%s: no further round: %s", name, error)
