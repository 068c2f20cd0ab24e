"""The verdict beside a judge's tasks: in a study that decides between systems, every answer moves it."""

from __future__ import annotations

import threading
from dataclasses import field
from typing import Any

import polars as pl
from fastapi import APIRouter, Request

from endoxa.beliefs.learned import Learned, Universe
from endoxa.errors import RefusedError, absent
from endoxa.evaluations.sentences import settled
from endoxa.frozen import dataclass
from endoxa.pools import deciding
from endoxa.pools.deciding import Look, Question
from endoxa.store import catalogue, making, records
from endoxa.store.catalogue import Study
from endoxa.studies import settling
from endoxa.studies.latest import latest
from endoxa.tables import Opinions
from endoxa.web.shapes import PROBLEMS
from endoxa.web.studies import bodies as b
from endoxa.web.studies.app import Studio
from endoxa.web.studies.bodies import Name

SHOWN = 8  # systems in the bars and in the matrix
EVERY = 5  # labels between two points of the history
POINTS = 40  # of the history at the most; with more labels they lie further apart


@dataclass
class Desk:
    """What is kept of a study between two requests: its universe, the last verdict, the history of the verdict.

    A verdict is computed once for each state of the answers, whoever asks. Only the last one is waited for; earlier
    points of the history and the labels that are still needed are computed in the background.
    """

    universe: Universe
    question: Question
    newest: int = -1  # the answer that the verdict was computed after
    shown: dict[str, Any] = field(default_factory=dict)  # the verdict as the page shows it
    learned: Learned | None = None
    counted: pl.DataFrame = field(default_factory=pl.DataFrame)  # the labels, in the order of their answers
    points: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)  # by labels and last answer
    further: int | None = None  # labels that are likely still needed
    expected_at: int = -1  # labels at which `further` was last asked for
    lock: threading.Lock = field(default_factory=threading.Lock)
    filling: threading.Lock = field(default_factory=threading.Lock)  # held while the history is computed

    def look(self, labels: Opinions | None) -> Look:
        """The verdict by these labels; the last fit is where the new one starts."""
        now = deciding.verdict(self.universe, self.question, labels, self.learned)
        self.learned = now.learned
        return now

    def expect(self, now: Look) -> None:
        """Find out in the background how many labels the model is likely to need, at every fifth label."""
        count = len(now.learned.judged)
        if count and not now.question.guarantee and count // EVERY != self.expected_at:
            self.expected_at = count // EVERY
            threading.Thread(target=self._expect, args=(now,), daemon=True).start()

    def _expect(self, now: Look) -> None:
        self.further = deciding.further(now)

    def keep(self, now: Look, rows: pl.DataFrame) -> None:
        """Keep the verdict as the last point of the history, and compute missing ones in the background."""
        self.counted = rows.filter(pl.col("grade").is_not_null()).sort("number")
        if wanted := _wanted(self.counted):
            self.points[wanted[-1]] = _point(wanted[-1][0], now)
        if not self.is_complete:
            threading.Thread(target=self._fill, name="history", daemon=True).start()

    def _fill(self) -> None:
        learned: Learned | None = None
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
                then = deciding.verdict(self.universe, self.question, Opinions.of(part), learned)
                learned = then.learned
                self.points[key] = _point(size, then)

    def _missing(self) -> tuple[int, int] | None:
        """The first point that the history lacks."""
        return next((key for key in _wanted(self.counted) if key not in self.points), None)

    @property
    def history(self) -> list[dict[str, Any]]:
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
    desks: dict[int, Desk] = {}
    opening = threading.Lock()

    @here.get("/api/studies/{study}/verdict", response_model=b.VerdictOut, responses=PROBLEMS, tags=["judging"])
    def verdict(request: Request, study: Name) -> Any:
        """Which system is better by the answers of all judges so far, and how sure that is."""
        visitor = studio.visitor(request)
        found = studio.study(study)
        if visitor.role != "organiser" and visitor.study_id != found.id:
            raise absent("study")
        if found.settings.choose != "decide":
            raise RefusedError("this study does not decide between systems", 404)
        with opening:
            desk = _desk(studio, desks, found)
        with desk.lock:
            _renew(studio, desk, found)
        return desk.shown | {"further": desk.further, "history": desk.history, "complete": desk.is_complete}

    return here


def _desk(studio: Studio, desks: dict[int, Desk], study: Study) -> Desk:
    if study.id not in desks:
        with studio.reading() as connection:
            run = catalogue.run_of(connection, study)
        if run is None:
            raise RefusedError("this study has no runs to decide between", 404)
        question = settling.question_of(study.settings)
        desks[study.id] = Desk(settling.universe_of(run, study.settings.depth), question)
    return desks[study.id]


def _renew(studio: Studio, desk: Desk, study: Study) -> None:
    """Compute the verdict if answers came in since the last one, and plan a further round if one is due."""
    with studio.reading() as connection:
        newest = records.newest(connection, study)
        if newest == desk.newest:
            return
        rows = latest(records.rows(connection, study))
    labels = study.settings.kind.opinions(rows, study.settings.shape)
    now = desk.look(labels)
    making.plan_if_due(studio.home, study.name, now=studio.now())
    desk.shown, desk.newest = told(now, labels), newest
    desk.keep(now, rows)
    desk.expect(now)


def told(now: Look, labels: Opinions | None) -> dict[str, Any]:
    """The verdict as the page shows it."""
    ranked = now.found.mean if now.question.about == "order" else now.best  # the leader is the first of them
    order = sorted(range(len(now.best)), key=lambda place: (-ranked[place], -now.found.mean[place]))
    systems = [
        {"system": now.found.systems[place], "p_best": float(now.best[place]), "mean": float(now.found.mean[place])}
        for place in order
    ]
    top = order[:SHOWN]
    better = [[float(now.found.better[a, other]) for other in top] for a in top]
    return {
        "measure": str(now.question.measure), "until": now.question.until, "labels": len(now.learned.judged),
        "relevant": float(now.learned.judged.tails[0].sum()), "disputed": now.learned.judged.torn,
        "judges": 0 if labels is None else len(labels.sources), "settled": now.is_settled, "leader": now.leader,
        "chance": now.chance, "sentence": settled(now), "systems": systems,
        "shown": [now.found.systems[place] for place in top], "better": better, "decided": now.done,
        "pairs": now.pairs, "guarantee": now.question.guarantee,
    }  # fmt: skip
