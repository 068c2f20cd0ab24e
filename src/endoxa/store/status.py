"""The status of a study, as the dashboard shows it and `endoxa study status` prints it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import polars as pl
import sqlalchemy as sa
from sqlalchemy import Connection

from endoxa.store import catalogue, people, records
from endoxa.store import schema as s
from endoxa.store.catalogue import Study
from endoxa.studies import quality
from endoxa.studies.kinds import Answered, Response
from endoxa.studies.latest import UNDECIDED, latest
from endoxa.tables import COUNTED, Run
from endoxa.tables.checks import finite

HOURS = 48  # the last hours for which answers per hour are shown
LAST = pl.col("last").map_elements(datetime.isoformat, pl.String)


def status(
    connection: Connection, study: Study, *, now: float,
    run_of: Callable[[Connection, Study], Run | None] = catalogue.run_of,
) -> dict[str, Any]:  # fmt: skip
    """The whole status as plain values; NaN becomes None. `run_of` reads the runs of the study."""
    rows = records.rows(connection, study)
    answers = latest(rows)
    settings = study.settings
    kind, screen = settings.kind, settings.shape
    opinions = kind.opinions(answers, screen)

    def is_right(expected: str, response: Response) -> bool:
        return kind.is_right(expected, response, screen.tolerance)

    judges = quality.judges(rows, answers, opinions, is_right=is_right)
    draws = catalogue.draws_of(connection, study)
    order = records.given_out(connection, study) if draws.height else []
    run = run_of(connection, study) if kind.gives_opinions and answers.height else None
    shares = records.answered_shares(connection, study)
    found: dict[str, Any] = {
        "study": {"name": study.name, "title": settings.heading, "screen": settings.screen, "state": study.state},
        "at": _iso(now),
        "progress": _progress(connection, study, answers),
        "agreement": None,
        "raters": judges.rename({"source": "nickname"}).with_columns(LAST).to_dicts(),
        "uniformity": None,
        "verdict": None,
        "notes": _notes(connection, study),
        "invitations": _invitations(connection, study, answers, now),
        "submissions": _submissions(connection, study),
        "results_open": study.results_open,
        **kind.summary(screen, Answered(answers, draws, order, run, shares)),
    }
    if found["agreement"] is not None and (discord := quality.disagreement(judges)):
        agreed = found["agreement"]
        found["agreement"] = {**agreed, "note": "; ".join(part for part in (agreed["note"], discord) if part)}
    return finite(found)  # type: ignore[no-any-return]


def _progress(connection: Connection, study: Study, answers: pl.DataFrame) -> dict[str, Any]:
    judged = answers.filter(COUNTED)
    hours = (
        judged.group_by(pl.col("at").dt.truncate("1h").alias("hour"))
        .agg(pl.len().alias("answers"))
        .sort("hour")
        .tail(HOURS)
    )
    return {
        **records.progress(connection, study),
        "answers": judged.height,
        "undecided": judged.filter(UNDECIDED).height,
        "per_hour": [{"hour": hour.isoformat(), "answers": count} for hour, count in hours.iter_rows()],
    }


def _notes(connection: Connection, study: Study) -> list[str]:
    rows = connection.execute(
        sa.select(s.events.c.detail)
        .where(s.events.c.study_id == study.id, s.events.c.kind.in_(("made", "round planned")))
        .order_by(s.events.c.id)
    )
    return [str(line) for row in rows for line in row.detail.get("notes", [])]


def _invitations(connection: Connection, study: Study, answers: pl.DataFrame, now: float) -> list[dict[str, Any]]:
    counts = dict(answers.filter(COUNTED).group_by("source").len().iter_rows())
    return [
        {
            "id": one.id, "role": one.role, "nickname": one.nickname, "state": one.state(now),
            "expires": _iso(one.expires_at), "answers": counts.get(one.nickname, 0),
        }
        for one in people.invitations(connection, study)
    ]  # fmt: skip


def _submissions(connection: Connection, study: Study) -> list[dict[str, Any]]:
    d = s.documents.c
    rows = connection.execute(
        sa.select(d.id, d.name, d.detail, d.created_at, s.invitations.c.nickname)
        .outerjoin(s.invitations, s.invitations.c.id == d.invitation_id)
        .where(d.study_id == study.id, d.kind == "submission")
        .order_by(d.id)
    )
    return [
        {
            "id": row.id, "participant": row.nickname or "", "system": row.name, "at": _iso(row.created_at),
            "lines": row.detail.get("lines", 0), "warnings": len(row.detail.get("warnings", [])),
            "accepted": not row.detail.get("errors"),
        }
        for row in rows
    ]  # fmt: skip


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()
