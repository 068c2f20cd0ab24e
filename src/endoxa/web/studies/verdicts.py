"""The verdict beside a judge's tasks: in a study that decides between systems, every answer moves it."""

from __future__ import annotations

import threading
from dataclasses import field
from typing import Any

import polars as pl
from fastapi import APIRouter, Request

from endoxa.errors import RefusedError, absent
from endoxa.evaluations.sentences import foreseen, settled
from endoxa.frozen import dataclass
from endoxa.pools.deciding import Look
from endoxa.store import making
from endoxa.store.sessions import Session, session_of
from endoxa.tables import Opinions
from endoxa.web.shapes import PROBLEMS
from endoxa.web.studies import bodies as b
from endoxa.web.studies.app import Studio
from endoxa.web.studies.bodies import Name

SHOWN = 8  # systems in the bars and in the matrix
EVERY = 5  # labels between two points of the history
POINTS = 40  # of the history at the most; with more labels they lie further apart


@dataclass
class History:
    """The verdict of a study as its page shows it, and how it came about.

    Only the last verdict is waited for; earlier points are computed in the background.
    """

    session: Session
    newest: int = -1  # the answer after which the verdict is shown
    shown: dict[str, Any] = field(default_factory=dict)  # the verdict as the page shows it
    counted: pl.DataFrame = field(default_factory=pl.DataFrame)  # the labels, in the order of their answers
    points: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)  # by labels and last answer
    filling: threading.Lock = field(default_factory=threading.Lock)  # held while the history is computed

    def renew(self, now: float) -> None:
        """Show the verdict by the answers so far, and plan a further round if one is due."""
        session = self.session
        with session.lock:
            deciding = session.look()
            if session.newest == self.newest:
                return
            self.shown = told(deciding.verdict, session.labels)
            self.newest = session.newest
            self._keep(deciding.verdict, session.rows)
        making.plan_if_due(session.home, session.study.name, now=now)

    def _keep(self, now: Look, rows: pl.DataFrame) -> None:
        """Keep the verdict as the last point of the history, and compute missing ones in the background."""
        self.counted = rows.filter(pl.col("grade").is_not_null()).sort("number") if rows.height else rows
        if wanted := _wanted(self.counted):
            self.points[wanted[-1]] = _point(wanted[-1][0], now)
        if not self.is_complete:
            threading.Thread(target=self._fill, name="history", daemon=True).start()

    def _fill(self) -> None:
        then = self.session.deciding.told(None)
        with self.filling:
            while (key := self._missing()) is not None:
                counted, size = self.counted, key[0]
                if size > counted.height or int(counted["number"][size - 1]) != key[1]:
                    continue  # an answer came in between
                part = (
                    counted.head(size)
                    .select("source", "query", "item", "grade")
                    .unique(["source", "query", "item"], keep="last", maintain_order=True)
                )
                then = then.told(Opinions.of(part))
                self.points[key] = _point(size, then.verdict)

    def _missing(self) -> tuple[int, int] | None:
        """The first point that the history lacks."""
        return next((key for key in _wanted(self.counted) if key not in self.points), None)

    @property
    def known_points(self) -> list[dict[str, Any]]:
        """The points that are known by now."""
        return [self.points[key] for key in _wanted(self.counted) if key in self.points]

    @property
    def is_complete(self) -> bool:
        """Whether the history has all its points."""
        return self._missing() is None


def _wanted(counted: pl.DataFrame) -> list[tuple[int, int]]:
    """The points that the history of these labels should have: number of labels and last answer."""
    count, step = counted.height, EVERY
    while count > POINTS * step:
        step *= 2
    sizes = [*range(step, count, step), count] if count else []
    return [(size, int(counted["number"][size - 1])) for size in sizes]


def _point(size: int, look: Look) -> dict[str, Any]:
    return {"labels": size, "leader": look.leader, "chance": look.chance, "decided": look.done}


def router(studio: Studio) -> APIRouter:
    """The route of the verdict."""
    here = APIRouter()
    histories: dict[int, History] = {}

    @here.get("/api/studies/{study}/verdict", response_model=b.VerdictOut, responses=PROBLEMS, tags=["judging"])
    def verdict(request: Request, study: Name) -> Any:
        """Which system is better by the answers of all judges so far, and how sure that is."""
        visitor = studio.visitor(request)
        found = studio.study(study)
        if visitor.role != "organiser" and visitor.study_id != found.id:
            raise absent("study")
        if found.settings.choose != "decide":
            raise RefusedError("this study does not decide between systems", 404)
        history = histories.setdefault(found.id, History(session_of(studio.home, found)))
        history.renew(studio.now())
        return history.shown | {"history": history.known_points, "complete": history.is_complete}

    return here


def told(now: Look, labels: Opinions | None) -> dict[str, Any]:
    """The verdict as the page shows it."""
    ranked = now.found.worth if now.question.about == "order" else now.best
    order = sorted(
        range(len(now.best)),
        key=lambda place: (now.found.systems[place] != now.leader, -ranked[place], -now.found.worth[place]),
    )
    systems = [
        {"system": now.found.systems[place], "p_best": float(now.best[place]), "mean": float(now.found.mean[place])}
        for place in order
    ]
    top = order[:SHOWN]
    better = [[float(now.found.superiority[a, other]) for other in top] for a in top]
    return {
        "measure": str(now.question.measure), "until": now.question.until, "labels": len(now.learned.judged),
        "relevant": float(now.learned.judged.tails[0].sum()), "disputed": now.learned.judged.torn,
        "judges": 0 if labels is None else len(labels.sources), "settled": now.is_settled, "leader": now.leader,
        "chance": now.chance, "sentence": settled(now), "systems": systems,
        "shown": [now.found.systems[place] for place in top], "better": better, "decided": now.done,
        "pairs": now.pairs, "guarantee": now.question.guarantee,
        "forecast": None if now.forecast is None or not len(now.learned.judged) else foreseen(now.forecast),
    }  # fmt: skip
