"""Hosting studies: the server, the organiser's link, and further rounds that are planned while it runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from endoxa.errors import EndoxaError
from endoxa.store import catalogue, making, people
from endoxa.store.database import told
from endoxa.store.home import Home
from endoxa.web.serving import address_at, listen, run
from endoxa.web.studies.app import Studio, create_app

INTERVAL = 2.0  # seconds between two checks whether a round is due
log = logging.getLogger("endoxa")


def serve(home: Home, host: str, port: int, url: str | None, *, started: Callable[[str, str], None]) -> None:
    """Serve until stopped. `started` gets the address and the organiser's link once the server listens."""
    listening = listen(host, port)
    address = address_at(host, listening, url)
    studio = Studio(home, address)
    with studio.home.store.writing() as connection:
        _, token = people.invite(connection, home.key, None, "organiser", days=1, now=studio.now())
    home.remember(address)
    stop = threading.Event()
    planner = threading.Thread(target=_plan, args=(studio, stop), daemon=True)
    planner.start()
    started(address, f"{address}/organise/{token}")
    try:
        run(create_app(studio), listening)
    finally:
        stop.set()
        planner.join(timeout=5)


def _plan(studio: Studio, stop: threading.Event) -> None:
    """Plan the next round of a study when few tasks of the last one are left."""
    while not stop.wait(INTERVAL):
        try:
            with studio.home.store.reading() as connection:
                names = [study.name for study in catalogue.listed(connection) if study.settings.rounds > 1]
        except SQLAlchemyError as error:  # try again at the next check
            log.warning("%s", told(error, studio.home.store))
            continue
        for name in names:
            try:
                if making.round_is_due(studio.home, name):
                    planned = making.next_round(studio.home, name, now=studio.now())
                    log.warning("%s: %s", name, "; ".join(planned.notes))
            except (EndoxaError, SQLAlchemyError) as error:  # the study goes on without a further round
                log.warning("%s: no further round: %s", name, told(error, studio.home.store))
