"""Answers as tables, counts of tasks, and the import of earlier answers."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import Any

import polars as pl
import sqlalchemy as sa
from sqlalchemy import Connection

from endoxa.errors import JoinError, TableError
from endoxa.store import schema as s
from endoxa.store.catalogue import Study, count_rows, ids, insert, note
from endoxa.store.people import add_rater, checked, folded, rater_named
from endoxa.studies.latest import ROWS, latest
from endoxa.tables import COUNTED, DRAW, Opinions

ROLES = ("main", "common", "gold", "attention", "practice")
# Namespace for the keys of imported rows: an identical row gets the same key.
SPACE = uuid.UUID("6f1d5d7e-61c0-4f2b-9b5a-0d2c4c0f7a11")


def rows(connection: Connection, study: Study) -> pl.DataFrame:
    """All rows of a study in order, including skips and undos."""
    a, t, m = s.answers.c, s.tasks.c, s.task_items.c
    found = connection.execute(
        sa.select(
            a.id, s.raters.c.nickname, a.task_id, s.queries.c.name, s.items.c.name, a.key, a.kind, a.grade, a.category,
            a.rank, a.relevance, a.comment, a.place, a.shown, a.screen, a.method, a.active_seconds, a.away_seconds,
            a.propensity, a.selected_by, *(a[name] for name in DRAW), a.role, t.round, m.expected, a.at,
        )
        .select_from(s.answers)
        .join(s.raters, s.raters.c.id == a.rater_id)
        .join(s.tasks, t.id == a.task_id)
        .outerjoin(s.queries, s.queries.c.id == t.query_id)
        .outerjoin(s.items, s.items.c.id == a.item_id)
        .outerjoin(s.task_items, sa.and_(m.task_id == a.task_id, m.item_id == a.item_id))
        .where(a.study_id == study.id)
        .order_by(a.id)
    )  # fmt: skip
    shown = list(ROWS).index("shown")
    data = [
        (*row[:shown], None if row[shown] is None else json.dumps(row[shown]), *row[shown + 1 : -1],
         datetime.fromtimestamp(row[-1], UTC))
        for row in found
    ]  # fmt: skip
    return pl.DataFrame(data, schema=ROWS, orient="row")


def newest(connection: Connection, study: Study) -> int:
    """The number of the last row of a study; 0 where there is none."""
    return int(connection.scalar(sa.select(sa.func.max(s.answers.c.id)).where(s.answers.c.study_id == study.id)) or 0)


def given_out(connection: Connection, study: Study) -> list[int]:
    """The tasks that were given to a judge, in the order in which they were first given out."""
    a = s.assignments.c
    first = sa.func.min(a.claimed_at)
    found = connection.scalars(
        sa.select(a.task_id)
        .where(a.study_id == study.id, a.claimed_at.is_not(None))
        .group_by(a.task_id)
        .order_by(first, a.task_id)
    )
    return [int(task) for task in found]


def answered_shares(connection: Connection, study: Study) -> dict[int, float]:
    """For each round, the share of its tasks that somebody has answered."""
    a, t = s.assignments.c, s.tasks.c
    done = sa.func.max(sa.case((a.state == "answered", 1), else_=0)).label("done")
    each = (
        sa.select(t.round, t.id, done)
        .select_from(s.tasks)
        .join(s.assignments, a.task_id == t.id)
        .where(t.study_id == study.id, t.role.in_(("main", "common")))
        .group_by(t.round, t.id)
        .subquery()
    )
    found = connection.execute(sa.select(each.c.round, sa.func.avg(each.c.done)).group_by(each.c.round))
    return {number: float(share) for number, share in found}


def slots(connection: Connection, study: Study) -> dict[str, int]:
    """The number of main and common slots by state: free, open, answered, skipped, lapsed."""
    a = s.assignments.c
    found = connection.execute(
        sa.select(a.state, sa.func.count())
        .where(a.study_id == study.id, a.role.in_(("main", "common")), a.state != "waiting")
        .group_by(a.state)
    )
    return {state: count for state, count in found}  # noqa: C416


def progress(connection: Connection, study: Study) -> dict[str, int]:
    """How far a study is: slots planned, done (answered or skipped) and skipped, and the number of judges."""
    states, a = slots(connection, study), s.assignments.c
    waiting = count_rows(connection, s.assignments, a.study_id == study.id, a.role == "common", a.state == "waiting")
    return {
        "planned": sum(count for state, count in states.items() if state != "lapsed") + waiting,
        "done": states.get("answered", 0) + states.get("skipped", 0),
        "skipped": states.get("skipped", 0),
        "raters": count_rows(connection, s.raters, s.raters.c.study_id == study.id),
    }


def answers_now(connection: Connection, study: Study) -> int:
    """The number of answers that count now: without undone ones, practice and known items."""
    return latest(rows(connection, study)).filter(COUNTED).height


def add_opinions(connection: Connection, study: Study, opinions: Opinions, *, now: float) -> tuple[int, int]:
    """Import answers that were given elsewhere; returns the number of new rows and of rows imported before.

    A source becomes a rater of that nickname. Every pair gets a task of its own without slots, so that existing answers
    to pages with that pair stay unchanged.
    """
    frame = opinions.frame
    _refuse_strange(study, frame)
    items, queries = ids(connection, s.items, study), ids(connection, s.queries, study)
    missing = frame.filter(~pl.col("item").is_in(list(items)) | ~pl.col("query").is_in(list(queries)))
    if missing.height:
        query, item = missing.select("query", "item").row(0)
        raise JoinError(
            f"the study has no pair {query!r}, {item!r} ({missing.height:,} of {frame.height:,} rows name missing "
            "items or queries)",
            remedy="import the items and queries first",
        )
    chosen, tasks = _chosen(connection, study), _imported(connection, study)
    known = set(connection.scalars(sa.select(s.answers.c.key).where(s.answers.c.study_id == study.id)))
    columns = ("source", "query", "item", "grade")
    present = {
        (folded(source), *answer) for source, *answer in latest(rows(connection, study)).select(columns).iter_rows()
    }
    raters: dict[str, int] = {}
    added = 0
    for row in frame.iter_rows(named=True):
        answer = "" if row["grade"] is None else f"{row['grade']:g}"
        key = str(uuid.uuid5(SPACE, "\x1f".join((study.name, row["source"], row["query"], row["item"], answer))))
        if key in known or (folded(row["source"]), row["query"], row["item"], row["grade"]) in present:
            continue
        known.add(key)
        pair = (queries[row["query"]], items[row["item"]])
        planned = chosen.get(pair, {"propensity": None, "selected_by": None})
        by = row if planned["selected_by"] is None else planned
        selection = {name: by[name] for name in ("selected_by", *DRAW)}  # a pair that this study planned keeps its own
        selection["propensity"] = row["propensity"] if planned["propensity"] is None else planned["propensity"]
        if pair not in tasks:
            tasks[pair] = insert(connection, s.tasks, study_id=study.id, query_id=pair[0], role="main", round=1)
            member = {"task_id": tasks[pair], "item_id": pair[1], "place": 0, **selection}
            connection.execute(sa.insert(s.task_items).values(member))
        if row["source"] not in raters:
            there = rater_named(connection, study.id, row["source"])
            raters[row["source"]] = there or add_rater(connection, study.id, row["source"], now=now)
        at = row["at"].timestamp() if row["at"] is not None else now
        insert(
            connection, s.answers, study_id=study.id, rater_id=raters[row["source"]], task_id=tasks[pair],
            item_id=pair[1], key=key, kind="answer", place=0, grade=row["grade"], role=row["role"] or "main", at=at,
            method="import", **selection,
        )  # fmt: skip
        added += 1
    note(connection, study.id, "imported answers", now=now, added=added)
    return added, frame.height - added


def _refuse_strange(study: Study, frame: pl.DataFrame) -> None:
    """Refuse grades, roles and names that the study cannot store."""
    lo, hi = study.settings.shape.scale
    grades = [grade.value for grade in study.settings.shape.grades]
    for row, grade in enumerate(frame["grade"], start=1):
        if grade is not None and grade not in grades:
            raise TableError(
                f"row {row}: grade {grade:g} is not on the scale from {lo:g} to {hi:g} of study {study.name!r}",
                remedy="convert the grades to its scale first",
            )
    for role in frame["role"].drop_nulls().unique().sort():
        if role not in ROLES:
            raise TableError(f"role {role!r} is none of {', '.join(ROLES)}")
    names: dict[str, str] = {}
    for name in frame["source"].unique().sort():
        if checked(name) != name:
            raise TableError(
                f"{name!r} is not a nickname: it contains extra spaces or invisible characters", remedy="rename it"
            )
        if other := names.get(folded(name)):
            raise TableError(f"{other!r} and {name!r} differ only in letter case", remedy="rename one of them")
        names[folded(name)] = name


def _chosen(connection: Connection, study: Study) -> dict[tuple[int, int], dict[str, Any]]:
    """How each pair was chosen that the study chose: the row of its task."""
    rows = connection.execute(
        sa.select(s.tasks.c.query_id, s.task_items)
        .join(s.task_items, s.task_items.c.task_id == s.tasks.c.id)
        .where(s.tasks.c.study_id == study.id, s.tasks.c.role.in_(("main", "common")))
    )
    return {(row["query_id"], row["item_id"]): dict(row) for row in rows.mappings()}


def _imported(connection: Connection, study: Study) -> dict[tuple[int, int], int]:
    """The tasks of pairs that were imported before."""
    rows = connection.execute(
        sa.select(s.tasks.c.query_id, s.answers.c.item_id, s.answers.c.task_id)
        .distinct()
        .join(s.tasks, s.tasks.c.id == s.answers.c.task_id)
        .where(s.answers.c.study_id == study.id, s.answers.c.method == "import")
    )
    return {(row.query_id, row.item_id): row.task_id for row in rows}
