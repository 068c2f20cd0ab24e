"""The SQL statements for tasks and answers, built once because building one takes longer than running it."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from endoxa.store import schema as s

BEFORE = ("practice", "common", "gold", "attention")  # roles of tasks that every judge gets


def _bind(name: str, *, several: bool = False) -> sa.BindParameter[Any]:
    """A parameter of the statement."""
    return sa.bindparam(name, expanding=several)


_a, _t, _c = s.assignments.c, s.tasks.c, s.answers.c
_rater, _study, _task, _key = _bind("rater"), _bind("study"), _bind("task"), _bind("key")
_start, _tasks = _bind("start"), _bind("tasks", several=True)
_mine = sa.select(_a.task_id).where(_a.rater_id == _rater)

# The judge

VISITOR = (
    sa.select(
        s.invitations.c.id, s.invitations.c.role, s.invitations.c.study_id, s.invitations.c.nickname,
        s.raters.c.id.label("rater_id"),
    )
    .select_from(s.sessions)
    .join(s.invitations, s.invitations.c.id == s.sessions.c.invitation_id)
    .outerjoin(s.raters, s.raters.c.invitation_id == s.invitations.c.id)
    .where(
        s.sessions.c.digest == _bind("digest"), s.sessions.c.ended_at.is_(None),
        s.sessions.c.expires_at > _bind("now"), s.invitations.c.withdrawn_at.is_(None),
    )
)  # fmt: skip
SEED = sa.select(s.raters.c.seed).where(s.raters.c.id == _rater, s.raters.c.study_id == _study).with_for_update()
COUNTS = (
    sa.select(_a.role, _a.state, sa.func.count().label("n")).where(_a.rater_id == _rater).group_by(_a.role, _a.state)
)
OPEN = (
    sa.select(s.assignments)
    .where(_a.rater_id == _rater, _a.state == "open")
    .order_by(_a.position)
    .limit(_bind("count"))
)  # fmt: skip
GIVEN = sa.select(
    sa.func.count(sa.case((_a.role != "practice", _a.position))), sa.func.max(_a.position)
).where(_a.rater_id == _rater)  # fmt: skip
WAITING = sa.select(_a.id, _a.task_id, _a.role, _a.shuffle).where(_a.rater_id == _rater, _a.state == "waiting")
SLOT = sa.select(s.assignments).where(_a.rater_id == _rater, _a.task_id == _task, _a.position.is_not(None))
ACT = sa.select(_c.kind, _c.task_id).where(_c.rater_id == _rater, _c.key == _key).limit(1)

# The study

STUDY = sa.select(s.studies).where(s.studies.c.name == _bind("name"))
ROLES = sa.select(_t.role, sa.func.count().label("n")).where(_t.study_id == _study).group_by(_t.role)
LACKED = (
    sa.select(_t.id, _t.role)
    .where(_t.study_id == _study, _t.role.in_(BEFORE), _t.id.not_in(_mine))
    .order_by(_t.id)
)  # fmt: skip
FREE = sa.select(sa.func.count()).select_from(s.assignments).where(_a.study_id == _study, _a.state == "free")
FREE_FOR = sa.select(sa.func.count(sa.distinct(_a.task_id))).where(
    _a.study_id == _study, _a.state == "free", _a.task_id.not_in(_mine)
)
_free = (
    sa.select(_a.id, _a.task_id)
    .where(_a.study_id == _study, _a.state == "free", _a.role == "main", _a.task_id.not_in(_mine))
    .order_by(_a.shuffle)
    .limit(1)
    .with_for_update(skip_locked=True)
)
# the next after a random place, otherwise the first of all
NEXT_FREE = (_free.where(_a.shuffle >= _start), _free.where(_a.shuffle < _start))
STALE = (
    sa.select(_a.id, _a.task_id)
    .where(
        _a.study_id == _study, _a.state == "open", _a.role == "main", _a.claimed_at < _bind("before"),
        _a.task_id.not_in(_mine),
    )
    .order_by(_a.shuffle)
    .limit(1)
    .with_for_update(skip_locked=True)
)  # fmt: skip

# Tasks

MEMBERS = sa.select(s.task_items).where(s.task_items.c.task_id == _task).order_by(s.task_items.c.place)
QUERIES = (
    sa.select(_t.id.label("task_id"), _t.role, s.queries.c.id, s.queries.c.text, s.queries.c.file, s.queries.c.name)
    .select_from(s.tasks)
    .outerjoin(s.queries, s.queries.c.id == _t.query_id)
    .where(_t.id.in_(_tasks))
)
ITEMS = (
    sa.select(s.items.c.id, s.items.c.text, s.items.c.file, s.items.c.name)
    .join(s.task_items, s.task_items.c.item_id == s.items.c.id)
    .where(s.task_items.c.task_id.in_(_tasks))
)
RESPONSES = (
    sa.select(_c.task_id, _c.key, _c.item_id, _c.grade, _c.category, _c.rank, _c.relevance, _c.comment)
    .where(_c.rater_id == _rater, _c.task_id.in_(_tasks), _c.kind == "answer")
    .order_by(_c.id)
)
FEEDBACK = (
    sa.select(_c.item_id, _c.grade, _c.category, _c.rank, _c.relevance, s.task_items.c.expected)
    .join(s.task_items, sa.and_(s.task_items.c.task_id == _c.task_id, s.task_items.c.item_id == _c.item_id))
    .where(_c.rater_id == _rater, _c.key == _key, _c.role == "practice")
    .order_by(_c.place)
)

# Writing

ANSWER = sa.insert(s.answers).returning(_c.id)
TAKE = (
    sa.update(s.assignments)
    .where(_a.id == _bind("slot"))
    .values(rater_id=_rater, state="open", position=_bind("at"), shown=_bind("order"), claimed_at=_bind("now"))
)
CLOSE = sa.update(s.assignments).where(_a.id == _bind("slot")).values(state=_bind("as_state"), answer_id=_bind("last"))
