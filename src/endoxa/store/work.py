"""The acts of a judge: get tasks, answer, skip, undo. Each act is one short transaction.

A slot is given to one judge at a time, in an order that is independent of its content: slots have a random number, and
a judge takes the next free one after a random place. So judges do not compete for the same slot, each judge has an
order of their own, and the tasks answered at any moment are a random part of the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection

from endoxa.errors import RefusedError, needed
from endoxa.frozen import dataclass
from endoxa.store import schema as s
from endoxa.store import statements as q
from endoxa.store.catalogue import Study, count_rows, insert, taxonomy_of
from endoxa.studies.kinds import COLUMNS, Response
from endoxa.tables import DRAW

HOUR = 3600.0
KNOWN = ("gold", "attention")
NEAR = 100  # with fewer tasks left, they are counted exactly


@dataclass(frozen=True)
class Circumstances:
    """The circumstances of an answer."""

    comment: str | None = None
    active_seconds: float | None = None
    away_seconds: float | None = None
    screen: str | None = None
    method: str | None = None


@dataclass(frozen=True)
class Progress:
    """The progress of a judge."""

    done: int
    total: int
    practice_left: int

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.done >= self.total and not self.practice_left


@dataclass(frozen=True)
class Task:
    """A task as a judge sees it: the items in display order, and the responses before an undo."""

    id: int
    practice: bool
    query: dict[str, Any] | None
    items: list[dict[str, Any]]
    previous: list[dict[str, Any]] | None


@dataclass(frozen=True)
class Received:
    """The outcome of an answer: whether it is new, and after practice the known answers."""

    new: bool
    progress: Progress
    feedback: list[dict[str, Any]] | None


def tasks(
    connection: Connection, study: Study, rater_id: int, *, count: int, now: float
) -> tuple[list[Task], Progress]:
    """The current tasks of a judge, at most `count`; free slots are taken as needed."""
    seed = _lock(connection, study, rater_id)
    if study.state == "open":
        _prepare(connection, study, rater_id, seed)
    wanted = {"rater": rater_id, "count": count}
    rows = connection.execute(q.OPEN, wanted).all()
    if study.state == "open" and len(rows) < count:
        for _ in range(count - len(rows)):
            if not _give(connection, study, rater_id, seed, now):
                break
        rows = connection.execute(q.OPEN, wanted).all()
    return _shown(connection, rows), progress(connection, study, rater_id)


def _lock(connection: Connection, study: Study, rater_id: int) -> int:
    """Lock the judge, so that two browsers act one after the other. Returns the judge's seed."""
    seed = connection.scalars(q.SEED, {"rater": rater_id, "study": study.id}).one_or_none()
    return int(needed(seed, "judge"))


def _prepare(connection: Connection, study: Study, rater_id: int, seed: int) -> None:
    """Assign the tasks that every judge gets and this judge lacks."""
    missing = connection.execute(q.LACKED, {"rater": rater_id, "study": study.id}).all()
    if not missing:
        return
    connection.execute(
        sa.insert(s.assignments),
        [
            {
                "study_id": study.id, "task_id": row.id, "rater_id": rater_id, "role": row.role, "state": "waiting",
                "shuffle": float(np.random.default_rng([seed, row.id]).random()),
            }
            for row in missing
        ],
    )  # fmt: skip


def _give(connection: Connection, study: Study, rater_id: int, seed: int, now: float) -> bool:
    """Give a judge one more task: practice first, then common, then main tasks, with gold in between."""
    given, last = connection.execute(q.GIVEN, {"rater": rater_id}).one()
    waiting = connection.execute(q.WAITING, {"rater": rater_id}).all()
    waiting = sorted(waiting, key=lambda row: row.task_id if row.role == "practice" else row.shuffle)

    def first(*roles: str) -> Any:
        return next((row for row in waiting if row.role in roles), None)

    every = study.settings.gold_every
    practice, common = first("practice"), first("common")
    gold = first(*KNOWN) if given % every == seed % every else None
    chosen = practice or gold or common
    a, limit = s.assignments.c, study.settings.limit
    mine = (a.rater_id == rater_id, a.role == "main", a.state.in_(("open", "answered")))
    if chosen is None and (limit is None or count_rows(connection, s.assignments, *mine) < limit):
        chosen = _claim(connection, study, rater_id, np.random.default_rng([seed, given]).random(), now)
    if chosen is None:
        return False
    members = [row.item_id for row in connection.execute(q.MEMBERS, {"task": chosen.task_id})]
    shown = np.random.default_rng([seed, chosen.task_id, 1]).permutation(np.array(members)).tolist()
    position = 0 if last is None else last + 1
    connection.execute(q.TAKE, {"slot": chosen.id, "rater": rater_id, "at": position, "order": shown, "now": now})
    return True


def _claim(connection: Connection, study: Study, rater_id: int, start: float, now: float) -> Any | None:
    """A free slot of a task that is new to this judge; otherwise one that was given out long ago."""
    for part in q.NEXT_FREE:
        found = connection.execute(part, {"study": study.id, "rater": rater_id, "start": start}).one_or_none()
        if found is not None:
            return found
    before = now - study.settings.hold * HOUR
    stale = connection.execute(q.STALE, {"study": study.id, "rater": rater_id, "before": before}).one_or_none()
    if stale is None:
        return None
    a = s.assignments
    connection.execute(sa.update(a).where(a.c.id == stale.id).values(state="lapsed"))
    number = _add_slot(connection, study, stale.task_id, start)
    return connection.execute(sa.select(a.c.id, a.c.task_id).where(a.c.id == number)).one()


def _add_slot(connection: Connection, study: Study, task_id: int, shuffle: float) -> int:
    slot = {"study_id": study.id, "task_id": task_id, "role": "main", "state": "free", "shuffle": shuffle}
    return insert(connection, s.assignments, **slot)


def progress(connection: Connection, study: Study, rater_id: int) -> Progress:
    """The numbers of finished and of all tasks without practice; skipped tasks are finished."""
    counts: dict[tuple[str, str], int] = {
        (row.role, row.state): row.n for row in connection.execute(q.COUNTS, {"rater": rater_id})
    }
    planned: dict[str, int] = {row.role: row.n for row in connection.execute(q.ROLES, {"study": study.id})}

    def of(*states: str, practice: bool = False) -> int:
        return sum(n for (role, state), n in counts.items() if state in states and (role == "practice") == practice)

    had = {role: sum(n for (mine, _), n in counts.items() if mine == role) for role in planned}
    for role in q.BEFORE:  # tasks that are not assigned yet wait too
        counts[role, "waiting"] = counts.get((role, "waiting"), 0) + planned.get(role, 0) - had.get(role, 0)
    done, before = of("answered", "skipped"), of("open")
    left = counts.get(("common", "waiting"), 0)
    if study.state == "open":
        free = _free(connection, study, rater_id, planned.get("main", 0) - had.get("main", 0))
        limit = study.settings.limit
        taken = counts.get(("main", "open"), 0) + counts.get(("main", "answered"), 0)
        left += free if limit is None else min(free, max(0, limit - taken))
        known = sum(counts.get((role, "waiting"), 0) for role in KNOWN)
        left += min(known, left // study.settings.gold_every)
    return Progress(done, done + before + left, of("waiting", "open", practice=True) if study.state == "open" else 0)


def _free(connection: Connection, study: Study, rater_id: int, most: int) -> int:
    """The number of free tasks that are new to a judge: exact near the end, an upper bound before that.

    The exact count reads every free slot, which is too slow for each answer of a large study.
    """
    most = min(most, int(connection.scalar(q.FREE, {"study": study.id}) or 0))
    if most > NEAR:
        return most
    return int(connection.scalar(q.FREE_FOR, {"study": study.id, "rater": rater_id}) or 0)


def _shown(connection: Connection, rows: Sequence[Any]) -> list[Task]:
    """Tasks with their queries and items as a page shows them."""
    numbers = {"tasks": [row.task_id for row in rows]}
    found = {task.task_id: task for task in connection.execute(q.QUERIES, numbers)}
    items = {item["id"]: dict(item) for item in connection.execute(q.ITEMS, numbers).mappings()}
    previous = _before_undo(connection, rows)
    shown_tasks = []
    for row in rows:
        task = found[row.task_id]
        query = None if task.id is None else {"text": task.text, "file": task.file, "name": task.name}
        shown = [items[number] for number in row.shown]
        shown_tasks.append(Task(row.task_id, task.role == "practice", query, shown, previous.get(row.task_id)))
    return shown_tasks


def _before_undo(connection: Connection, rows: Sequence[Any]) -> dict[int, list[dict[str, Any]]]:
    """The last responses to each task."""
    whose = {"rater": rows[0].rater_id if rows else None, "tasks": [row.task_id for row in rows]}
    last: dict[int, tuple[str, list[dict[str, Any]]]] = {}
    for r in connection.execute(q.RESPONSES, whose):
        if r.task_id not in last or last[r.task_id][0] != r.key:
            last[r.task_id] = (r.key, [])
        given = {name: getattr(r, name) for name in (*COLUMNS, "comment")}
        last[r.task_id][1].append({"item": r.item_id, **given})
    return {task_id: previous for task_id, (_, previous) in last.items()}


def answer(
    connection: Connection, study: Study, rater_id: int, task_id: int, key: str, responses: Sequence[Response],
    circumstances: Circumstances, *, now: float,
) -> Received:  # fmt: skip
    """Save an answer. The same key again changes nothing and returns the same outcome."""
    _lock(connection, study, rater_id)
    if _known_act(connection, rater_id, key, "answer", task_id):
        return Received(False, progress(connection, study, rater_id), _feedback(connection, study, rater_id, key))
    slot = _slot(connection, study, rater_id, task_id)
    members = {row["item_id"]: row for row in connection.execute(q.MEMBERS, {"task": task_id}).mappings()}
    _check(connection, study, responses, set(members))
    place = {number: at for at, number in enumerate(slot.shown or [])}
    inserted = connection.execute(
        q.ANSWER,
        [
            {
                "study_id": study.id, "rater_id": rater_id, "task_id": task_id, "item_id": given.item, "key": key,
                "kind": "answer", "place": place.get(given.item, 0), "grade": given.grade, "category": given.category,
                "rank": given.rank, "relevance": given.relevance, "shown": slot.shown, "role": slot.role, "at": now,
                **{name: members[given.item][name] for name in ("propensity", "selected_by", *DRAW)},
                **vars(circumstances),
            }
            for given in responses
        ],
    )  # fmt: skip
    connection.execute(q.CLOSE, {"slot": slot.id, "as_state": "answered", "last": max(inserted.scalars())})
    if slot.state in {"skipped", "lapsed"}:
        _balance(connection, study, slot)
    feedback = _feedback(connection, study, rater_id, key) if slot.role == "practice" else None
    return Received(True, progress(connection, study, rater_id), feedback)


def skip(
    connection: Connection, study: Study, rater_id: int, task_id: int, key: str, circumstances: Circumstances, *,
    now: float,
) -> Received:  # fmt: skip
    """Skip a task; another judge gets it instead."""
    _lock(connection, study, rater_id)
    new = not _known_act(connection, rater_id, key, "skip", task_id)
    if new:
        if not study.settings.skip:
            raise RefusedError("tasks of this study cannot be skipped", 422, remedy="choose undecided instead")
        slot = _slot(connection, study, rater_id, task_id)
        number = _mark(connection, study, rater_id, slot, key, "skip", now, circumstances)
        connection.execute(q.CLOSE, {"slot": slot.id, "as_state": "skipped", "last": number})
        _balance(connection, study, slot)
    return Received(new, progress(connection, study, rater_id), None)


def undo(connection: Connection, study: Study, rater_id: int, key: str, *, now: float) -> tuple[Task, Progress]:
    """Undo the last answer or skip; its task becomes the current one."""
    _lock(connection, study, rater_id)
    a = s.assignments
    if known := _known_act(connection, rater_id, key, "undo"):
        slot = connection.execute(q.SLOT, {"rater": rater_id, "task": known.task_id}).one()
        return _shown(connection, [slot])[0], progress(connection, study, rater_id)
    if study.state != "open":
        raise RefusedError("the study is closed; answers can no longer be changed")
    acts = sa.select(a).where(a.c.rater_id == rater_id, a.c.state.in_(("answered", "skipped")))
    last = connection.execute(acts.order_by(a.c.answer_id.desc()).limit(1)).one_or_none()
    if last is None:
        raise RefusedError("there is nothing to undo")
    _mark(connection, study, rater_id, last, key, "undo", now, Circumstances())
    connection.execute(q.CLOSE, {"slot": last.id, "as_state": "open", "last": None})
    if last.state == "skipped":
        _balance(connection, study, last)
    return _shown(connection, [last])[0], progress(connection, study, rater_id)


def _known_act(connection: Connection, rater_id: int, key: str, kind: str, task_id: int | None = None) -> Any | None:
    """This act, if it was saved before. A key that belongs to another act is refused, so that this one is not lost."""
    there = connection.execute(q.ACT, {"rater": rater_id, "key": key}).one_or_none()
    if there is not None and (there.kind != kind or task_id not in {None, there.task_id}):
        raise RefusedError("this key belongs to another act of yours", remedy="reload the page")
    return there


def _slot(connection: Connection, study: Study, rater_id: int, task_id: int) -> Any:
    """The judge's slot of a task that was given to them."""
    row = needed(connection.execute(q.SLOT, {"rater": rater_id, "task": task_id}).one_or_none(), "task")
    if study.state != "open":
        raise RefusedError("the study is closed and accepts no more answers; thank you for yours")
    return row


def _mark(
    connection: Connection, study: Study, rater_id: int, slot: Any, key: str, kind: str, now: float,
    circumstances: Circumstances,
) -> int:  # fmt: skip
    return insert(
        connection, s.answers, study_id=study.id, rater_id=rater_id, task_id=slot.task_id, key=key, kind=kind,
        place=-1, role=slot.role, at=now, shown=slot.shown, **vars(circumstances),
    )  # fmt: skip


def _balance(connection: Connection, study: Study, slot: Any) -> None:
    """Keep `overlap` slots per main task: add a free one when a slot is given up, remove one when it is taken again."""
    if slot.role != "main":
        return
    a = s.assignments
    used = a.c.state.in_(("free", "open", "answered"))
    over = count_rows(connection, a, a.c.task_id == slot.task_id, used) - study.settings.overlap
    if over < 0:
        _add_slot(connection, study, slot.task_id, slot.shuffle)
    elif over > 0:
        spare = sa.select(a.c.id).where(a.c.task_id == slot.task_id, a.c.state == "free").limit(over)
        numbers = connection.scalars(spare.with_for_update(skip_locked=True)).all()
        connection.execute(sa.delete(a).where(a.c.id.in_(numbers)))


def _check(connection: Connection, study: Study, responses: Sequence[Response], members: set[int]) -> None:
    """Refuse responses that do not answer the task."""
    named = [response.item for response in responses]
    if sorted(named) != sorted(members):
        raise RefusedError(
            f"the answer is about {len(named)} items, and the task has {len(members)}: send one response for each", 422
        )
    settings = study.settings
    kind = settings.kind
    for response in responses:
        if any(value is not None for name, value in vars(response).items() if name not in {"item", *kind.columns}):
            raise RefusedError(f"screen {settings.screen!r} takes a {' and a '.join(kind.columns)}, nothing else", 422)
    tree = taxonomy_of(connection, study) if kind.needs_taxonomy else None
    if problem := kind.check(settings.shape, responses, tree):
        raise RefusedError(problem, 422)


def _feedback(connection: Connection, study: Study, rater_id: int, key: str) -> list[dict[str, Any]] | None:
    """After practice: the known answers beside the judge's own."""
    rows = connection.execute(q.FEEDBACK, {"rater": rater_id, "key": key}).all()
    if not rows:
        return None
    kind = study.settings.kind
    feedback = []
    for row in rows:
        response = Response(row.item_id, row.grade, row.category, row.rank, row.relevance)
        said = next((own for name in kind.columns if (own := getattr(response, name)) is not None), None)
        right = None if row.expected is None else kind.is_right(row.expected, response, 0.0)
        feedback.append({"item": row.item_id, "expected": row.expected, "said": said, "right": right})
    return feedback
