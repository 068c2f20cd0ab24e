"""A study that decides between systems, as the terminal, the page and the planner of rounds share it."""

from __future__ import annotations

import threading

import polars as pl

from endoxa.errors import RefusedError
from endoxa.pools.deciding import Deciding
from endoxa.store import catalogue, records
from endoxa.store.catalogue import Study
from endoxa.store.home import Home
from endoxa.studies import settling
from endoxa.studies.latest import latest
from endoxa.tables import Opinions


class Session:
    """What is kept of such a study between two calls: one universe, and one fit for each state of its answers."""

    def __init__(self, home: Home, study: Study) -> None:
        self.home, self.study = home, study
        with home.store.reading() as connection:
            run, judges = catalogue.run_of(connection, study), catalogue.gradings_of(connection, study)
        if run is None:
            raise RefusedError("this study has no runs to decide between", 404)
        self.deciding = settling.begin(study.settings, run, judges=judges)
        self.newest = 0  # the last answer that was taken into account
        self.rows = pl.DataFrame()  # the last answer of every judge to every pair
        self.labels: Opinions | None = None
        self.lock = threading.RLock()

    def look(self) -> Deciding:
        """The question by the answers of all judges. It is fitted again only if there are new ones, whoever asks."""
        with self.lock:
            with self.home.store.reading() as connection:
                newest = records.newest(connection, self.study)
                rows = self.rows if newest == self.newest else latest(records.rows(connection, self.study))
            if newest != self.newest:
                self.rows, self.labels = rows, self.study.settings.kind.opinions(rows, self.study.settings.shape)
                self.deciding, self.newest = self.deciding.told(self.labels), newest
            return self.deciding


def session_of(home: Home, study: Study) -> Session:
    """The session of a study, which lasts as long as its home is open."""
    with home.opening:
        if study.id not in home.sessions:
            home.sessions[study.id] = Session(home, study)
        return home.sessions[study.id]
