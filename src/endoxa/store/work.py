"""What a judge does: get tasks, answer, skip, undo. Each act is one short transaction.

A slot is given to one judge at a time, and in an order that knows nothing of its content: slots carry a random number,
and a judge takes the next free one after a random place. So two judges never race for a slot, each has an order
of their own, and what was answered by any moment is a random part of what was planned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection

from endoxa.store import schema as s
from endoxa.store.refusals import RefusedError, absent
from endoxa.store.studies import Study, note, taxonomy_of

HOUR = 3600.0
BEFORE = ("practice", "common", "gold", "attention")  # what every judge gets
KNOWN = ("gold", "attention")
NEAR = 100  # tasks left, below which they are counted one by one
TAKES = {"rate": ("grade",), "file": ("category",), "rank": ("rank", "relevance")}


@dataclass(frozen=True)
class Response:
    """What was said about one item. Nothing given is undecided."""

    item: int
    grade: float | None = None
    category: str | None = None
    rank: int | None = None
    relevance: float | None = None


@dataclass(frozen=True)
class Circumstances:
    """How an answer came about."""

    comment: str | None = None
    active_seconds: float | None = None
    away_seconds: float | None = None
    screen: str | None = None
    method: str | None = None


@dataclass(frozen=True)
class Progress:
    """How far a judge is."""

    done: int
    total: int
    practice_left: int

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.done >= self.total and not self.practice_left


@dataclass(frozen=True)
class Task:
    """A task as a judge sees it: items in the order to show them; what was said before an undo."""

    id: int
    practice: bool
    query: dict[str, Any] | None
    items: list[dict[str, Any]]
    previous: list[dict[str, Any]] | None


@dataclass(frozen=True)
class Received:
    """What became of an answer: whether it is new, and in practice what was looked for."""

    new: bool
    progress: Progress
    feedback: list[dict[str, Any]] | None


def tasks(
    connection: Connection, study: Study, rater_id: int, *, count: int, now: float
) -> tuple[list[Task], Progress]:
    """The tasks that a judge has before them, `count` at most; slots are taken as needed."""
    seed = _lock(connection, study, rater_id)
    if study.state == "open":
        _prepare(connection, study, rater_id, seed)
        missing = count - _count(connection, rater_id, "open")
        while missing > 0 and _give(connection, study, rater_id, seed, now):
            missing -= 1
    rows = connection.execute(
        sa.select(s.assignments)
        .where(s.assignments.c.rater_id == rater_id, s.assignments.c.state == "open")
        .order_by(s.assignments.c.position)
        .limit(count)
    ).all()
    return _shown(connection, rows), progress(connection, study, rater_id)


def _lock(connection: Connection, study: Study, rater_id: int) -> int:
    """One act of a judge at a time, were it from two browsers. The judge's own seed."""
    row = connection.execute(
        sa.select(s.raters.c.seed).where(s.raters.c.id == rater_id, s.raters.c.study_id == study.id).with_for_update()
    ).one_or_none()
    if row is None:
        raise absent("judge")
    return int(row.seed)


def _count(connection: Connection, rater_id: int, *states: str) -> int:
    return int(
        connection.scalar(
            sa.select(sa.func.count())
            .select_from(s.assignments)
            .where(s.assignments.c.rater_id == rater_id, s.assignments.c.state.in_(states))
        )
        or 0
    )


def _prepare(connection: Connection, study: Study, rater_id: int, seed: int) -> None:
    """Give a judge what every judge gets, if there is any that they lack."""
    a, t = s.assignments, s.tasks
    mine = sa.select(a.c.task_id).where(a.c.rater_id == rater_id)
    missing = connection.execute(
        sa.select(t.c.id, t.c.role)
        .where(t.c.study_id == study.id, t.c.role.in_(BEFORE), t.c.id.not_in(mine))
        .order_by(t.c.id)
    ).all()
    if not missing:
        return
    connection.execute(
        sa.insert(a),
        [
            {
                "study_id": study.id, "task_id": row.id, "rater_id": rater_id, "role": row.role, "state": "waiting",
                "shuffle": float(np.random.default_rng([seed, row.id]).random()),
            }
            for row in missing
        ],
    )  # fmt: skip


def _give(connection: Connection, study: Study, rater_id: int, seed: int, now: float) -> bool:
    """Put one more task before a judge: practice, then common ones, then main ones, with gold in between."""
    a = s.assignments
    given, last = connection.execute(
        sa.select(sa.func.count(sa.case((a.c.role != "practice", a.c.position))), sa.func.max(a.c.position)).where(
            a.c.rater_id == rater_id
        )
    ).one()
    waiting = connection.execute(
        sa.select(a.c.id, a.c.task_id, a.c.role, a.c.shuffle).where(a.c.rater_id == rater_id, a.c.state == "waiting")
    ).all()
    practice = min((row for row in waiting if row.role == "practice"), key=lambda row: row.task_id, default=None)
    gold = common = None
    every = study.settings.gold_every
    if given % every == seed % every:
        gold = min((row for row in waiting if row.role in KNOWN), key=lambda row: row.shuffle, default=None)
    common = min((row for row in waiting if row.role == "common"), key=lambda row: row.shuffle, default=None)
    chosen = practice or gold or common
    if chosen is None and not _at_limit(connection, study, rater_id):
        chosen = _claim(connection, study, rater_id, np.random.default_rng([seed, given]).random(), now)
    if chosen is None:
        return False
    members = connection.scalars(
        sa.select(s.task_items.c.item_id).where(s.task_items.c.task_id == chosen.task_id).order_by(s.task_items.c.place)
    ).all()
    shown = np.random.default_rng([seed, chosen.task_id, 1]).permutation(np.array(members)).tolist()
    connection.execute(
        sa.update(a)
        .where(a.c.id == chosen.id)
        .values(rater_id=rater_id, state="open", position=0 if last is None else last + 1, shown=shown, claimed_at=now)
    )
    return True


def _at_limit(connection: Connection, study: Study, rater_id: int) -> bool:
    limit = study.settings.limit
    return limit is not None and _main_of(connection, rater_id) >= limit


def _main_of(connection: Connection, rater_id: int) -> int:
    a = s.assignments
    mine = (
        sa.select(sa.func.count())
        .select_from(a)
        .where(a.c.rater_id == rater_id, a.c.role == "main", a.c.state.in_(("open", "answered")))
    )
    return int(connection.scalar(mine) or 0)


def _claim(connection: Connection, study: Study, rater_id: int, start: float, now: float) -> Any | None:
    """A free slot of a task that this judge does not have yet; else one that was given out long ago."""
    a = s.assignments
    mine = sa.select(a.c.task_id).where(a.c.rater_id == rater_id)
    free = (
        sa.select(a.c.id, a.c.task_id)
        .where(a.c.study_id == study.id, a.c.state == "free", a.c.role == "main", a.c.task_id.not_in(mine))
        .order_by(a.c.shuffle)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    for part in (a.c.shuffle >= start, a.c.shuffle < start):
        if (found := connection.execute(free.where(part)).one_or_none()) is not None:
            return found
    stale = connection.execute(
        sa.select(a.c.id, a.c.task_id)
        .where(
            a.c.study_id == study.id, a.c.state == "open", a.c.role == "main",
            a.c.claimed_at < now - study.settings.hold * HOUR, a.c.task_id.not_in(mine),
        )
        .order_by(a.c.shuffle)
        .limit(1)
        .with_for_update(skip_locked=True)
    ).one_or_none()  # fmt: skip
    if stale is None:
        return None
    connection.execute(sa.update(a).where(a.c.id == stale.id).values(state="lapsed"))
    number = _add_slot(connection, study, stale.task_id, start)
    return connection.execute(sa.select(a.c.id, a.c.task_id).where(a.c.id == number)).one()


def _add_slot(connection: Connection, study: Study, task_id: int, shuffle: float) -> int:
    made = connection.execute(
        sa.insert(s.assignments).values(study_id=study.id, task_id=task_id, role="main", state="free", shuffle=shuffle)
    )
    return int(made.inserted_primary_key[0])  # type: ignore[index]


def progress(connection: Connection, study: Study, rater_id: int) -> Progress:
    """Tasks done and to do, without practice; skipped ones count as done."""
    a = s.assignments
    counts: dict[tuple[str, str], int] = {
        (row.role, row.state): row.n
        for row in connection.execute(
            sa.select(a.c.role, a.c.state, sa.func.count().label("n"))
            .where(a.c.rater_id == rater_id)
            .group_by(a.c.role, a.c.state)
        )
    }

    def of(*states: str, but: tuple[str, ...] = ("practice",)) -> int:
        return sum(n for (role, state), n in counts.items() if state in states and role not in but)

    for role, there in _given_to_all(connection, study).items():  # what a judge has not been given yet waits too
        had = sum(n for (mine, _), n in counts.items() if mine == role)
        counts[role, "waiting"] = counts.get((role, "waiting"), 0) + there - had
    done, before = of("answered", "skipped"), of("open")
    left = counts.get(("common", "waiting"), 0)
    if study.state == "open":
        free = _free(connection, study, rater_id, sum(n for (role, _), n in counts.items() if role == "main"))
        limit = study.settings.limit
        left += free if limit is None else min(free, max(0, limit - _main_of(connection, rater_id)))
        known = sum(counts.get((role, "waiting"), 0) for role in KNOWN)
        left += min(known, left // study.settings.gold_every)
    practice = sum(n for (role, state), n in counts.items() if role == "practice" and state in {"waiting", "open"})
    return Progress(done, done + before + left, practice if study.state == "open" else 0)


def _free(connection: Connection, study: Study, rater_id: int, mine: int) -> int:
    """Tasks with a free slot that a judge does not have: counted one by one near the end, before that an upper bound.

    The exact count looks at every free slot, which is too dear to do at each answer of a large study.
    """
    a = s.assignments
    here = (a.c.study_id == study.id, a.c.state == "free")
    slots = int(connection.scalar(sa.select(sa.func.count()).select_from(a).where(*here)) or 0)
    main = sa.select(sa.func.count()).select_from(s.tasks)
    there = int(connection.scalar(main.where(s.tasks.c.study_id == study.id, s.tasks.c.role == "main")) or 0)
    if (most := min(slots, there - mine)) > NEAR:
        return most
    having = sa.select(a.c.task_id).where(a.c.rater_id == rater_id)
    exact = sa.select(sa.func.count(sa.distinct(a.c.task_id))).where(*here, a.c.task_id.not_in(having))
    return int(connection.scalar(exact) or 0)


def _given_to_all(connection: Connection, study: Study) -> dict[str, int]:
    """How many tasks of each role every judge gets."""
    t = s.tasks.c
    rows = connection.execute(
        sa.select(t.role, sa.func.count()).where(t.study_id == study.id, t.role.in_(BEFORE)).group_by(t.role)
    )
    return {role: count for role, count in rows}  # noqa: C416


def _shown(connection: Connection, rows: Sequence[Any]) -> list[Task]:
    """Tasks with their queries and items as a page shows them."""
    numbers = [row.task_id for row in rows]
    found = {
        task.task_id: task
        for task in connection.execute(
            sa.select(
                s.tasks.c.id.label("task_id"), s.tasks.c.role, s.queries.c.id, s.queries.c.text, s.queries.c.file,
                s.queries.c.name,
            )
            .select_from(s.tasks)
            .outerjoin(s.queries, s.queries.c.id == s.tasks.c.query_id)
            .where(s.tasks.c.id.in_(numbers))
        )
    }  # fmt: skip
    items = {
        item.id: {"id": item.id, "text": item.text, "file": item.file, "name": item.name}
        for item in connection.execute(
            sa.select(s.items.c.id, s.items.c.text, s.items.c.file, s.items.c.name)
            .join(s.task_items, s.task_items.c.item_id == s.items.c.id)
            .where(s.task_items.c.task_id.in_(numbers))
        )
    }
    said = _before_undo(connection, rows)
    made = []
    for row in rows:
        task = found[row.task_id]
        query = None if task.id is None else {"text": task.text, "file": task.file, "name": task.name}
        shown = [items[number] for number in row.shown]
        made.append(Task(row.task_id, task.role == "practice", query, shown, said.get(row.task_id)))
    return made


def _before_undo(connection: Connection, rows: Sequence[Any]) -> dict[int, list[dict[str, Any]]]:
    """What was said last of each task, where it was taken back."""
    c = s.answers.c
    numbers = [row.task_id for row in rows]
    whose = rows[0].rater_id if rows else None
    last: dict[int, tuple[str, list[dict[str, Any]]]] = {}
    for r in connection.execute(
        sa.select(c.task_id, c.key, c.item_id, c.grade, c.category, c.rank, c.relevance, c.comment)
        .where(c.rater_id == whose, c.task_id.in_(numbers), c.kind == "answer")
        .order_by(c.id)
    ):
        if r.task_id not in last or last[r.task_id][0] != r.key:
            last[r.task_id] = (r.key, [])
        last[r.task_id][1].append(
            {"item": r.item_id, "grade": r.grade, "category": r.category, "rank": r.rank, "relevance": r.relevance,
             "comment": r.comment}
        )  # fmt: skip
    return {task_id: said for task_id, (_, said) in last.items()}


def answer(
    connection: Connection, study: Study, rater_id: int, task_id: int, key: str, responses: Sequence[Response],
    how: Circumstances, *, now: float,
) -> Received:  # fmt: skip
    """Keep an answer. The same key again changes nothing and gets the same reply."""
    _lock(connection, study, rater_id)
    if _is_known(connection, rater_id, key, "answer", task_id):
        return Received(False, progress(connection, study, rater_id), _feedback(connection, rater_id, key))
    slot = _slot(connection, study, rater_id, task_id)
    members = {row.item_id: row for row in connection.execute(
        sa.select(s.task_items).where(s.task_items.c.task_id == task_id)
    )}  # fmt: skip
    _check(connection, study, responses, set(members))
    place = {number: at for at, number in enumerate(slot.shown or [])}
    made = connection.execute(
        sa.insert(s.answers).returning(s.answers.c.id),
        [
            {
                "study_id": study.id, "rater_id": rater_id, "task_id": task_id, "item_id": given.item, "key": key,
                "kind": "answer", "place": place.get(given.item, 0), "grade": given.grade, "category": given.category,
                "rank": given.rank, "relevance": given.relevance, "comment": how.comment, "shown": slot.shown,
                "screen": how.screen, "method": how.method, "active_seconds": how.active_seconds,
                "away_seconds": how.away_seconds, "propensity": members[given.item].propensity,
                "selected_by": members[given.item].selected_by, "role": slot.role, "at": now,
            }
            for given in responses
        ],
    )  # fmt: skip
    _close(connection, slot.id, "answered", max(made.scalars()))
    if slot.state in {"skipped", "lapsed"}:
        _balance(connection, study, slot)
    return Received(True, progress(connection, study, rater_id), _feedback(connection, rater_id, key))


def skip(
    connection: Connection, study: Study, rater_id: int, task_id: int, key: str, how: Circumstances, *, now: float
) -> Received:
    """Pass a task by; another judge gets it instead."""
    _lock(connection, study, rater_id)
    new = not _is_known(connection, rater_id, key, "skip", task_id)
    if new:
        if not study.settings.skip:
            raise RefusedError("tasks of this study cannot be skipped; say undecided instead", 422)
        slot = _slot(connection, study, rater_id, task_id)
        number = _mark(connection, study, rater_id, slot, key, "skip", now, how)
        _close(connection, slot.id, "skipped", number)
        _balance(connection, study, slot)
    return Received(new, progress(connection, study, rater_id), None)


def undo(connection: Connection, study: Study, rater_id: int, key: str, *, now: float) -> tuple[Task, Progress]:
    """Take back the last answer or skip; its task is before the judge again."""
    _lock(connection, study, rater_id)
    a = s.assignments
    if _is_known(connection, rater_id, key, "undo"):
        task_id = connection.scalar(
            sa.select(s.answers.c.task_id).where(s.answers.c.rater_id == rater_id, s.answers.c.key == key)
        )
        slot = connection.execute(sa.select(a).where(a.c.rater_id == rater_id, a.c.task_id == task_id)).one()
        return _shown(connection, [slot])[0], progress(connection, study, rater_id)
    if study.state != "open":
        raise RefusedError("the study is closed; nothing can be changed any more")
    slot_row = connection.execute(
        sa.select(a)
        .where(a.c.rater_id == rater_id, a.c.state.in_(("answered", "skipped")))
        .order_by(a.c.answer_id.desc())
        .limit(1)
    ).one_or_none()
    if slot_row is None:
        raise RefusedError("there is nothing to undo")
    _mark(connection, study, rater_id, slot_row, key, "undo", now, Circumstances())
    _close(connection, slot_row.id, "open", None)
    if slot_row.state == "skipped":
        _balance(connection, study, slot_row)
    return _shown(connection, [slot_row])[0], progress(connection, study, rater_id)


def record(connection: Connection, study: Study, rater_id: int, kind: str, *, now: float) -> None:
    """Add an event of a judge: pause, resume, enlarge."""
    note(connection, study.id, kind, now=now, rater_id=rater_id)


def _is_known(connection: Connection, rater_id: int, key: str, kind: str, task_id: int | None = None) -> bool:
    """Whether this act was kept before. A key that stands for another act is refused: yes would lose this one."""
    c = s.answers.c
    there = connection.execute(
        sa.select(c.kind, c.task_id).where(c.rater_id == rater_id, c.key == key).limit(1)
    ).one_or_none()
    if there is None:
        return False
    if there.kind != kind or task_id not in {None, there.task_id}:
        raise RefusedError("this key stands for another act of yours; reload the page")
    return True


def _slot(connection: Connection, study: Study, rater_id: int, task_id: int) -> Any:
    """The judge's own slot of a task, once it was put before them."""
    a = s.assignments
    row = connection.execute(
        sa.select(a).where(a.c.rater_id == rater_id, a.c.task_id == task_id, a.c.position.is_not(None))
    ).one_or_none()
    if row is None:
        raise absent("task")
    if study.state != "open":
        raise RefusedError("the study is closed and takes no more answers; thank you for yours")
    return row


def _mark(
    connection: Connection, study: Study, rater_id: int, slot: Any, key: str, kind: str, now: float, how: Circumstances
) -> int:
    made = connection.execute(
        sa.insert(s.answers).values(
            study_id=study.id, rater_id=rater_id, task_id=slot.task_id, key=key, kind=kind, place=-1, role=slot.role,
            at=now, comment=how.comment, active_seconds=how.active_seconds, away_seconds=how.away_seconds,
            screen=how.screen, method=how.method, shown=slot.shown,
        )
    )  # fmt: skip
    return int(made.inserted_primary_key[0])  # type: ignore[index]


def _balance(connection: Connection, study: Study, slot: Any) -> None:
    """A main task has as many takers as wanted: free slots come when one is given up, and go when it is taken up."""
    if slot.role != "main":
        return
    a = s.assignments
    states = (
        sa.select(sa.func.count())
        .select_from(a)
        .where(a.c.task_id == slot.task_id, a.c.state.in_(("free", "open", "answered")))
    )
    over = int(connection.scalar(states) or 0) - study.settings.overlap
    if over < 0:
        _add_slot(connection, study, slot.task_id, slot.shuffle)
    elif over > 0:
        spare = sa.select(a.c.id).where(a.c.task_id == slot.task_id, a.c.state == "free").limit(over)
        numbers = connection.scalars(spare.with_for_update(skip_locked=True)).all()
        connection.execute(sa.delete(a).where(a.c.id.in_(numbers)))


def _close(connection: Connection, slot_id: int, state: str, answer_id: int | None) -> None:
    connection.execute(
        sa.update(s.assignments).where(s.assignments.c.id == slot_id).values(state=state, answer_id=answer_id)
    )


def _check(connection: Connection, study: Study, responses: Sequence[Response], members: set[int]) -> None:
    """Refuse what is no answer to the task."""
    named = [response.item for response in responses]
    if sorted(named) != sorted(members):
        raise RefusedError(
            f"the answer is about {len(named)} items, and the task has {len(members)}: one response each", 422
        )
    kind, grades = study.settings.shape.kind, {grade.value for grade in study.settings.shape.grades}
    takes = TAKES[kind]
    for response in responses:
        if any(value is not None for name, value in vars(response).items() if name not in {"item", *takes}):
            raise RefusedError(
                f"screen {study.settings.screen!r} takes a {' and a '.join(takes)}, and nothing else", 422
            )
    if kind == "rate":
        for response in responses:
            if response.grade is not None and response.grade not in grades:
                lo, hi = study.settings.shape.scale
                raise RefusedError(f"{response.grade:g} is not on the scale from {lo:g} to {hi:g}", 422)
    elif kind == "file":
        tree = taxonomy_of(connection, study)
        for response in responses:
            if response.category is not None and (tree is None or response.category not in tree.categories):
                raise RefusedError(f"{response.category!r} is not a category of this study", 422)
    else:
        ordered = sorted(responses, key=lambda response: response.rank or 0)
        if [response.rank for response in ordered] != list(range(1, len(ordered) + 1)):
            raise RefusedError("ranks count 1, 2, 3 … without a gap", 422)
        relevance = [response.relevance for response in ordered]
        if any(value is None or not 0 <= value <= 1 for value in relevance):
            raise RefusedError("relevance lies between 0 and 1", 422)
        if any(above < below for above, below in pairwise(relevance)):  # type: ignore[operator]
            raise RefusedError("relevance falls with rank: an item cannot be more relevant than the one above it", 422)


def _feedback(connection: Connection, rater_id: int, key: str) -> list[dict[str, Any]] | None:
    """In practice: what was looked for beside what was said."""
    c, m = s.answers.c, s.task_items.c
    rows = connection.execute(
        sa.select(c.item_id, c.grade, c.category, c.role, m.expected)
        .join(s.task_items, sa.and_(m.task_id == c.task_id, m.item_id == c.item_id))
        .where(c.rater_id == rater_id, c.key == key)
        .order_by(c.place)
    ).all()
    if not rows or rows[0].role != "practice":
        return None
    return [
        {
            "item": row.item_id,
            "expected": row.expected,
            "said": row.category if row.category is not None else row.grade,
            "right": is_right(row.expected, row.grade, row.category),
        }
        for row in rows
    ]


def is_right(expected: str | None, grade: float | None, category: str | None) -> bool | None:
    """Whether an answer is the one looked for; None where none was."""
    if expected is None:
        return None
    if category is not None:
        return category == expected
    if grade is None:
        return False
    try:
        return abs(grade - float(expected)) < 1e-9
    except ValueError:
        return False
