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


@dataclass
class Desk:
    """What is kept of a study between two requests: its universe, the last fit, the course of the verdict."""

    universe: Universe
    question: Question
    learned: Learned | None = None
    course: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)  # by labels and last answer
    further: int | None = None  # labels that are likely still needed
    expected_at: int = -1  # labels at which `further` was last asked for
    lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self, labels: Opinions | None) -> Look:
        """The verdict by these labels; the last fit is where the new one starts."""
        with self.lock:
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


def router(studio: Studio) -> APIRouter:
    """The route of the verdict."""
    here = APIRouter()
    desks: dict[int, Desk] = {}

    @here.get("/api/studies/{study}/verdict", response_model=b.VerdictOut, responses=PROBLEMS, tags=["judging"])
    def verdict(request: Request, study: Name) -> Any:
        """Which system is better by the answers of all judges so far, and how sure that is."""
        visitor = studio.visitor(request)
        found = studio.study(study)
        if visitor.role != "organiser" and visitor.study_id != found.id:
            raise absent("study")
        if found.settings.choose != "decide":
            raise RefusedError("this study does not decide between systems", 404)
        desk = _desk(studio, desks, found)
        with studio.reading() as connection:
            rows = latest(records.rows(connection, found))
        labels = found.settings.kind.opinions(rows, found.settings.shape)
        now = desk.look(labels)
        making.plan_if_due(studio.home, found.name, now=studio.now())
        return told(desk, now, rows, labels)

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


def told(desk: Desk, now: Look, rows: pl.DataFrame, labels: Opinions | None) -> dict[str, Any]:
    """The verdict as the page shows it."""
    count = len(now.learned.judged)
    order = sorted(range(len(now.best)), key=lambda place: (-now.best[place], -now.found.mean[place]))
    systems = [
        {"system": now.found.systems[place], "p_best": float(now.best[place]), "mean": float(now.found.mean[place])}
        for place in order
    ]
    top = order[:SHOWN]
    better = [[float(now.found.better[a, other]) for other in top] for a in top]
    desk.expect(now)
    return {
        "measure": str(now.question.measure), "until": now.question.until, "labels": count,
        "relevant": float(now.learned.judged.tails[0].sum()), "disputed": now.learned.judged.torn,
        "judges": 0 if labels is None else len(labels.sources), "settled": now.is_settled, "leader": now.leader,
        "chance": now.chance, "sentence": settled(now), "systems": systems,
        "shown": [now.found.systems[place] for place in top], "better": better, "decided": now.done,
        "pairs": now.pairs, "guarantee": now.question.guarantee, "further": desk.further,
        "history": _history(desk, rows, now),
    }  # fmt: skip


def _history(desk: Desk, rows: pl.DataFrame, now: Look) -> list[dict[str, Any]]:
    """How the verdict went, at every fifth label; what was computed once is kept."""
    counted = rows.filter(pl.col("grade").is_not_null()).sort("number")
    points = []
    for size in [*range(EVERY, counted.height, EVERY), counted.height]:
        if size < 1:
            continue
        key = (size, int(counted["number"][size - 1]))
        if key not in desk.course:
            part = (
                counted.head(size)
                .select("source", "query", "item", "grade")
                .unique(["source", "query", "item"], keep="last", maintain_order=True)
            )
            then = now if size == counted.height else desk.look(Opinions.of(part))
            desk.course[key] = {
                "labels": size, "leader": then.leader, "chance": then.chance, "decided": then.done,
            }  # fmt: skip
        points.append(desk.course[key])
    return points
