"""A small study of texts, entered task by task, and judges who work on it."""

from __future__ import annotations

import itertools
import uuid
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import sqlalchemy as sa

from endoxa.store import catalogue, people, records, work
from endoxa.store import schema as s
from endoxa.store.catalogue import Study
from endoxa.store.home import Home
from endoxa.studies.design import Settings
from endoxa.studies.latest import latest
from endoxa.studies.planning import DRAWS, TASKS, Work

NOW = 1_700_000_000.0
DAY = 86_400.0
numbers = itertools.count()
QUERIES = ("red", "green", "blue")


def fresh(word: str = "study") -> str:
    """A name that no other test uses."""
    return f"{word}-{next(numbers)}-{uuid.uuid4().hex[:6]}"


def work_of(*, per_task: int = 1, has_query: bool = True, expected: str | None = "4", **roles: int) -> Work:
    """So many tasks of each role; no item stands in two tasks."""
    rows = []
    task = 0
    for role, count in roles.items():
        for _ in range(count):
            for place in range(per_task):
                known = role in {"practice", "gold", "attention"}
                rows.append(
                    (
                        task, QUERIES[task % 3] if has_query else None, f"item-{task}-{place}", place,
                        None if known else (place + 1) / (per_task + 1), None if known else "a+b", None, None, None,
                        role, 1, expected if known else None,
                    )
                )  # fmt: skip
            task += 1
    return Work(pl.DataFrame(rows, schema=TASKS, orient="row"), pl.DataFrame(schema=DRAWS))


def study_of(
    home: Home, *, screen: str = "one-result", per_task: int = 1, name: str | None = None, planned: Work | None = None,
    settings: dict | None = None, **roles: int,
) -> Study:  # fmt: skip
    """A study with so many tasks of each role (main=4, common=2 …)."""
    shape = Settings(name=name or fresh(), screen=screen, per_task=per_task, **(settings or {}))
    has_query = shape.shape.asks_query
    planned = planned or work_of(per_task=per_task, has_query=has_query, **roles)
    items = planned.tasks["item"].unique(maintain_order=True)
    with home.store.writing() as connection:
        study = catalogue.create(connection, shape, now=NOW)
        catalogue.add_shown(connection, s.items, study, shown(items, "item"))
        if has_query:
            catalogue.add_shown(connection, s.queries, study, shown(pl.Series(QUERIES), "query"))
        catalogue.add_work(connection, study, planned, rng=np.random.default_rng(3))
    return study


def shown(names: pl.Series, what: str) -> pl.DataFrame:
    """Items or queries whose text tells their name."""
    empty = pl.lit(None, pl.String)
    return pl.DataFrame({what: names}).with_columns(
        ("about " + pl.col(what)).alias("text"), empty.alias("file"), empty.alias("original")
    )


def rater(home: Home, study: Study, nickname: str = "ana") -> int:
    """A judge who came in by a link."""
    with home.store.writing() as connection:
        _, token = people.invite(connection, home.key, study, "judge", nickname=nickname, now=NOW)
        secret = people.join(connection, people.invitation_of(connection, home.key, token), "", now=NOW)
        found = people.visitor_of(connection, secret, now=NOW)
    assert found is not None and found.rater_id is not None
    return found.rater_id


@dataclass
class Judge:
    """A judge at work; every act is a transaction of its own, and takes a second."""

    home: Home
    study: Study
    nickname: str = "ana"
    number: int = field(init=False)
    clock: float = NOW

    def __post_init__(self) -> None:
        self.number = rater(self.home, self.study, self.nickname)

    def tick(self) -> float:
        """The time, a second later than last asked."""
        self.clock += 1
        return self.clock

    def tasks(self, count: int = 1) -> list[work.Task]:
        with self.home.store.writing() as connection:
            return work.tasks(connection, self.study, self.number, count=count, now=self.tick())[0]

    def progress(self) -> work.Progress:
        with self.home.store.reading() as connection:
            return work.progress(connection, self.study, self.number)

    def answer(
        self, task: work.Task | int, grade: float | None = 3.0, *, key: str | None = None,
        how: work.Circumstances | None = None, responses: list[work.Response] | None = None,
    ) -> work.Received:  # fmt: skip
        """The same grade to all items of the task, unless responses say otherwise."""
        if responses is None:
            assert isinstance(task, work.Task)
            responses = [work.Response(item["id"], grade) for item in task.items]
        number = task.id if isinstance(task, work.Task) else task
        with self.home.store.writing() as connection:
            return work.answer(
                connection, self.study, self.number, number, key or str(uuid.uuid4()), responses,
                how or work.Circumstances(), now=self.tick(),
            )  # fmt: skip

    def skip(self, task: work.Task, *, key: str | None = None) -> work.Received:
        with self.home.store.writing() as connection:
            return work.skip(
                connection, self.study, self.number, task.id, key or str(uuid.uuid4()), work.Circumstances(),
                now=self.tick(),
            )  # fmt: skip

    def undo(self, key: str | None = None) -> work.Task:
        with self.home.store.writing() as connection:
            return work.undo(connection, self.study, self.number, key or str(uuid.uuid4()), now=self.tick())[0]

    def finish(self, grade: float = 3.0, most: int = 500) -> list[work.Task]:
        """Answer all there is; the tasks in the order in which they came."""
        done = []
        while given := self.tasks():
            done += given
            assert len(done) <= most, "the tasks do not end"
            self.answer(given[0], grade)
        return done


def rows_of(home: Home, study: Study) -> pl.DataFrame:
    """Every row that was ever added."""
    with home.store.reading() as connection:
        return records.rows(connection, study)


def held_of(home: Home, study: Study) -> pl.DataFrame:
    """What judges hold now."""
    return latest(rows_of(home, study))


def slots_of(home: Home, study: Study) -> list[sa.Row]:
    """All slots of a study."""
    with home.store.reading() as connection:
        return list(connection.execute(sa.select(s.assignments).where(s.assignments.c.study_id == study.id)))


def roles_of(home: Home, study: Study) -> dict[int, str]:
    """The role of every task."""
    with home.store.reading() as connection:
        found = connection.execute(sa.select(s.tasks.c.id, s.tasks.c.role).where(s.tasks.c.study_id == study.id))
        return {number: role for number, role in found}  # noqa: C416
