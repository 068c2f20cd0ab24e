"""Studies and their parts: items, queries, documents, tasks."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl
import sqlalchemy as sa
from sqlalchemy import Connection

from endoxa.errors import RefusedError, TableError, unknown
from endoxa.frozen import dataclass
from endoxa.store import schema as s
from endoxa.store import statements as q
from endoxa.studies.design import Settings
from endoxa.studies.planning import DRAWS, Work
from endoxa.tables import DRAW, Gradings, Run, Taxonomy

CHUNK = 5_000  # rows per insert
DELETED = "deleted"


@dataclass(frozen=True)
class Study:
    """A study in its current state: open, or closed, which accepts no answers."""

    id: int
    settings: Settings
    state: str
    results_open: bool
    created_at: float

    @property
    def name(self) -> str:
        """The name, as in addresses and commands."""
        return self.settings.name


def create(connection: Connection, settings: Settings, *, now: float) -> Study:
    """Create a study; its name must be free."""
    if connection.scalar(sa.select(s.studies.c.id).where(s.studies.c.name == settings.name)):
        raise RefusedError(f"a study called {settings.name!r} exists already", remedy="choose another name")
    given = {"name": settings.name, "settings": asdict(settings)}
    insert(connection, s.studies, **given, state="open", results_open=False, created_at=now)
    return find(connection, settings.name)


def find(connection: Connection, name: str) -> Study:
    """The study of that name."""
    row = connection.execute(q.STUDY, {"name": name}).one_or_none()
    if row is None:
        known = connection.scalars(sa.select(s.studies.c.name).where(s.studies.c.state != DELETED)).all()
        problem = f"no study is called {name!r}"
        if not known:
            raise RefusedError(problem, 404, remedy="create one with `endoxa study new`")
        raise unknown(RefusedError, problem, name, known, listed=f"studies: {', '.join(known)}", status=404)
    return _study(row)


def listed(connection: Connection) -> list[Study]:
    """All studies that are not deleted, the newest first."""
    wanted = sa.select(s.studies).where(s.studies.c.state != DELETED).order_by(s.studies.c.id.desc())
    return [_study(row) for row in connection.execute(wanted)]


def _study(row: Any) -> Study:
    return Study(row.id, Settings.of(row.settings), row.state, row.results_open, row.created_at)


def set_state(connection: Connection, study: Study, state: str, *, now: float) -> None:
    """Open or close a study; a closed study accepts no answers and keeps all it has."""
    if state not in {"open", "closed"}:
        raise RefusedError(f"a study is open or closed, not {state!r}", 422)
    connection.execute(sa.update(s.studies).where(s.studies.c.id == study.id).values(state=state))
    note(connection, study.id, f"study {state}", now=now)


def edit(connection: Connection, study: Study, changes: Mapping[str, Any], *, now: float) -> Study:
    """Change texts of a study. What they were is recorded, because earlier answers were given to the old words."""
    settings = study.settings.edited(changes)
    old = {name: getattr(study.settings, name) for name in changes}
    connection.execute(sa.update(s.studies).where(s.studies.c.id == study.id).values(settings=asdict(settings)))
    note(connection, study.id, "study edited", now=now, old=old, new=dict(changes))
    return replace(study, settings=settings)


def delete(connection: Connection, study: Study, *, now: float) -> None:
    """Hide a study: no command and no page shows it, its links no longer open, and its name is free again.

    Its rows stay, because answers are only added to. They go when the folder or the database is removed.
    """
    hidden = f"{study.name[:40]}~{study.id}"  # no study has a ~ in its name
    connection.execute(sa.update(s.studies).where(s.studies.c.id == study.id).values(state=DELETED, name=hidden))
    i = s.invitations
    links = sa.update(i).where(i.c.study_id == study.id, i.c.withdrawn_at.is_(None))
    connection.execute(links.values(withdrawn_at=now))
    note(connection, study.id, "study deleted", now=now, name=study.name)


def open_results(connection: Connection, study: Study, opened: bool, *, now: float) -> None:
    """Show the results to participants, or hide them."""
    connection.execute(sa.update(s.studies).where(s.studies.c.id == study.id).values(results_open=opened))
    note(connection, study.id, "results opened" if opened else "results closed", now=now)


def note(
    connection: Connection, study_id: int | None, kind: str, *, now: float, rater_id: int | None = None, **detail: Any
) -> None:
    """Record an event."""
    insert(connection, s.events, study_id=study_id, rater_id=rater_id, kind=kind, detail=detail, at=now)


def insert(connection: Connection, table: sa.Table, **values: Any) -> int:
    """Insert a row; returns its number."""
    return int(connection.execute(sa.insert(table).values(**values)).inserted_primary_key[0])  # type: ignore[index]


def count_rows(connection: Connection, table: sa.Table, *which: sa.ColumnElement[bool]) -> int:
    """The number of rows to which all conditions apply."""
    return int(connection.scalar(sa.select(sa.func.count()).select_from(table).where(*which)) or 0)


# Items and queries


def add_shown(connection: Connection, table: sa.Table, study: Study, frame: pl.DataFrame) -> int:
    """Add items or queries (item or query, text, file, original), unless they exist. Returns the number of new ones."""
    known = ids(connection, table, study)
    named = frame.select(pl.first().alias("name"), "text", "file", "original")
    rows = [{"study_id": study.id, **row} for row in named.iter_rows(named=True) if row["name"] not in known]
    _insert(connection, table, rows)
    return len(rows)


def _insert(connection: Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    for start in range(0, len(rows), CHUNK):
        connection.execute(sa.insert(table), rows[start : start + CHUNK])


def ids(connection: Connection, table: sa.Table, study: Study) -> dict[str, int]:
    """The names of a study's items or queries, with their ids."""
    found = connection.execute(sa.select(table.c.name, table.c.id).where(table.c.study_id == study.id))
    return {name: number for name, number in found}  # noqa: C416


def frame_of(connection: Connection, table: sa.Table, study: Study, name: str) -> pl.DataFrame:
    """Items or queries as a frame: name, text, file, original."""
    columns = [table.c.name.label(name), table.c.text, table.c.file, table.c.original]
    rows = connection.execute(sa.select(*columns).where(table.c.study_id == study.id).order_by(table.c.id)).all()
    return pl.DataFrame(
        [tuple(row) for row in rows], schema=dict.fromkeys((name, "text", "file", "original"), pl.String), orient="row"
    )


# Documents


def add_document(
    connection: Connection, study: Study, kind: str, name: str, content: bytes, *, now: float,
    invitation_id: int | None = None, **detail: Any,
) -> int:  # fmt: skip
    """Store a document."""
    return insert(
        connection, s.documents, study_id=study.id, kind=kind, name=name, content=content, detail=detail,
        created_at=now, invitation_id=invitation_id,
    )  # fmt: skip


def add_run(connection: Connection, study: Study, run: Run, *, now: float) -> None:
    """Store the runs from which results are drawn."""
    there = set(connection.scalars(_documents(s.documents.c.name, study, "run")))
    for system in run.systems:
        if system in there:
            raise RefusedError(
                f"study {study.name!r} already has a run of system {system!r}", remedy="rename one of them"
            )
        rows = run.frame.filter(pl.col("system") == system).select("system", "query", "item", "score")
        add_document(connection, study, "run", system, _packed(rows), now=now, rows=rows.height)


def run_of(connection: Connection, study: Study) -> Run | None:
    """The runs of a study; None where it has none."""
    contents = connection.scalars(_documents(s.documents.c.content, study, "run")).all()
    return None if not contents else Run.of(pl.concat([pl.read_parquet(io.BytesIO(content)) for content in contents]))


def add_gradings(connection: Connection, study: Study, gradings: Gradings, *, now: float) -> None:
    """Store the grades of machine judges."""
    add_document(connection, study, "gradings", "gradings", _packed(gradings.frame), now=now)


def gradings_of(connection: Connection, study: Study) -> Gradings | None:
    """The grades of machine judges of a study; None where it has none."""
    content = connection.scalar(_documents(s.documents.c.content, study, "gradings"))
    return None if content is None else Gradings.of(pl.read_parquet(io.BytesIO(content)))


def add_taxonomy(connection: Connection, study: Study, taxonomy: Taxonomy, *, now: float) -> None:
    """Store the taxonomy."""
    add_document(connection, study, "taxonomy", "taxonomy", _packed(taxonomy.frame), now=now)


def taxonomy_of(connection: Connection, study: Study) -> Taxonomy | None:
    """The taxonomy of a study; None where it has none."""
    wanted = _documents(s.documents.c.content, study, "taxonomy").order_by(s.documents.c.id.desc())
    content = connection.scalar(wanted)
    return None if content is None else Taxonomy.of(pl.read_parquet(io.BytesIO(content)))


def _packed(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _documents(column: sa.Column[Any], study: Study, kind: str) -> sa.Select[Any]:
    return sa.select(column).where(s.documents.c.study_id == study.id, s.documents.c.kind == kind)


# Tasks


def add_work(connection: Connection, study: Study, work: Work, *, rng: np.random.Generator) -> int:
    """Add tasks, and a slot for each judge of a main task. Returns the number of tasks."""
    items, queries = ids(connection, s.items, study), ids(connection, s.queries, study)
    _known(work.tasks["item"], items, "item")
    _known(work.tasks["query"].drop_nulls(), queries, "query")
    numbers: dict[int, int] = {}
    slots: list[dict[str, Any]] = []
    for (task,), rows in work.tasks.group_by("task", maintain_order=True):
        first = rows.row(0, named=True)
        given = {"query_id": queries.get(first["query"]), "role": first["role"], "round": first["round"]}
        numbers[int(task)] = number = insert(connection, s.tasks, study_id=study.id, **given)
        if first["role"] == "main":
            slot = {"study_id": study.id, "task_id": number, "role": "main", "state": "free"}
            slots += [slot] * study.settings.overlap
    kept = work.tasks.select("task", "item", "place", "propensity", "selected_by", *DRAW, "expected")
    members = [
        {"task_id": numbers[row.pop("task")], "item_id": items[row.pop("item")], **row}
        for row in kept.iter_rows(named=True)
    ]
    _insert(connection, s.task_items, members)
    shuffle = rng.random(len(slots))
    _insert(connection, s.assignments, [{**slot, "shuffle": at} for slot, at in zip(slots, shuffle, strict=True)])
    draws = [
        {"study_id": study.id, "task_id": numbers[task], "item_id": items[item], "system": system}
        for task, item, system in work.draws.select("task", "item", "system").iter_rows()
    ]
    _insert(connection, s.draws, draws)
    return len(numbers)


def _known(names: Iterable[str], there: dict[str, int], what: str) -> None:
    missing = sorted({name for name in names if name not in there})
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise TableError(
            f"the study has no {what} {missing[0]!r}{more}",
            remedy=f"every {what} in a run or a file of pairs must be among its "
            f"{'items' if what == 'item' else 'queries'}",
        )


def draws_of(connection: Connection, study: Study) -> pl.DataFrame:
    """The draws of the systems: task, query, system, item."""
    rows = connection.execute(
        sa.select(s.draws.c.task_id, s.queries.c.name, s.draws.c.system, s.items.c.name)
        .join(s.tasks, s.tasks.c.id == s.draws.c.task_id)
        .join(s.items, s.items.c.id == s.draws.c.item_id)
        .outerjoin(s.queries, s.queries.c.id == s.tasks.c.query_id)
        .where(s.draws.c.study_id == study.id)
        .order_by(s.draws.c.id)
    ).all()
    return pl.DataFrame([tuple(row) for row in rows], schema=DRAWS, orient="row")
