"""Where a study stands: what the dashboard shows and `endoxa study status` prints."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
import sqlalchemy as sa
from sqlalchemy import Connection

from endoxa.store import catalogue, people, records
from endoxa.store import schema as s
from endoxa.store.catalogue import Study
from endoxa.studies import agreement, quality, uniformity
from endoxa.studies.latest import latest, opinions
from endoxa.studies.verdict import Verdict, verdict
from endoxa.tables import COUNTED, Opinions

HOURS = 48  # of answers per hour that are shown
RESAMPLES = 200  # of the interval of agreement: the dashboard is live


def status(connection: Connection, study: Study, *, now: float) -> dict[str, Any]:
    """Everything there is to say now, as plain values; NaN becomes None."""
    rows = records.rows(connection, study)
    held = latest(rows)
    settings = study.settings
    given = opinions(held, settings.shape.scale_name) if settings.shape.kind == "rate" else None
    lo, hi = settings.shape.scale
    tolerance = 1.0 if hi - lo >= 4 else 0.0  # on a scale of five or more, the neighbour will do
    main = _judged(given)
    found = {
        "study": {"name": study.name, "title": settings.heading, "screen": settings.screen, "state": study.state},
        "at": _iso(now),
        "progress": _progress(connection, study, rows, held, now),
        "agreement": _agreement(main, held, settings.shape.kind),
        "raters": _raters(quality.judges(rows, held, given, tolerance=tolerance)),
        "uniformity": _uniformity(study, held) if settings.shape.kind == "rate" else None,
        "verdict": _verdict(connection, study, held),
        "notes": _notes(connection, study),
        "invitations": _invitations(connection, study, held, now),
        "submissions": _submissions(connection, study),
        "results_open": study.results_open,
    }
    return _plain(found)  # type: ignore[no-any-return]


def _judged(given: Opinions | None) -> Opinions | None:
    if given is None:
        return None
    kept = given.frame.filter(pl.col("role").is_in(["main", "common"]))
    return Opinions(kept) if kept.height else None


def _progress(
    connection: Connection, study: Study, rows: pl.DataFrame, held: pl.DataFrame, now: float
) -> dict[str, Any]:
    states = records.slots(connection, study)
    waiting = int(
        connection.scalar(
            sa.select(sa.func.count())
            .select_from(s.assignments)
            .where(
                s.assignments.c.study_id == study.id, s.assignments.c.role == "common",
                s.assignments.c.state == "waiting",
            )
        )
        or 0
    )  # fmt: skip
    judged = held.filter(pl.col("role").is_in(["main", "common"]))
    hours = (
        rows.filter(pl.col("kind") == "answer")
        .group_by(pl.col("at").dt.truncate("1h").alias("hour"))
        .agg(pl.col("key").n_unique().alias("answers"))
        .sort("hour")
        .tail(HOURS)
    )
    nothing = pl.all_horizontal(pl.col("grade", "category", "rank").is_null())
    return {
        "planned": sum(count for state, count in states.items() if state != "lapsed") + waiting,
        "done": states.get("answered", 0) + states.get("skipped", 0),
        "raters": records.raters(connection, study),
        "answers": judged.height,
        "undecided": judged.filter(nothing).height,
        "skipped": states.get("skipped", 0),
        "per_hour": [{"hour": hour.isoformat(), "answers": count} for hour, count in hours.iter_rows()],
    }


def _agreement(given: Opinions | None, held: pl.DataFrame, kind: str) -> dict[str, Any] | None:
    if kind == "file":
        return _filing(held)
    if given is None:
        return None
    found = agreement.agreement(given, level="interval", resamples=RESAMPLES, rng=np.random.default_rng(0))
    return {
        "alpha": found.alpha, "lo": found.lo, "hi": found.hi, "level": found.level, "units": found.units,
        "note": "; ".join(found.notes[:2]),
    }  # fmt: skip


def _filing(held: pl.DataFrame) -> dict[str, Any] | None:
    """Agreement about categories: they are names, so the level is nominal."""
    rows = held.filter(pl.col("category").is_not_null() & pl.col("role").is_in(["main", "common"]))
    if not rows.height:
        return None
    code = rows["category"].rank("dense").cast(pl.Float64)
    as_opinions = rows.select("source", pl.lit("filed").alias("query"), "item", code.alias("grade"))
    given = Opinions.of(as_opinions.unique(["source", "query", "item"], keep="last", maintain_order=True))
    found = agreement.agreement(given, level="nominal", resamples=RESAMPLES, rng=np.random.default_rng(0))
    return {
        "alpha": found.alpha, "lo": found.lo, "hi": found.hi, "level": "nominal", "units": found.units,
        "note": "; ".join(found.notes[:2]),
    }  # fmt: skip


def _raters(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return [
        {**{name: value for name, value in row.items() if name != "source"}, "nickname": row["source"]}
        for row in frame.iter_rows(named=True)
    ]


def _uniformity(study: Study, held: pl.DataFrame) -> dict[str, Any] | None:
    grades = study.settings.shape.grades
    values = [grade.value for grade in grades]
    rows = held.filter(pl.col("grade").is_not_null() & pl.col("role").is_in(["main", "common"]))
    if not rows.height:
        return None
    found = uniformity.deviation(rows["grade"].to_numpy(), values)
    counts = dict(rows["grade"].value_counts().iter_rows())
    by_round = []
    for (number,), part in rows.group_by("round", maintain_order=True):
        one = uniformity.deviation(part["grade"].to_numpy(), values)
        by_round.append({"round": number, "deviation": one.normalised, "answers": part.height})
    shares = [
        {"grade": grade.value, "label": grade.label, "share": share, "count": counts.get(grade.value, 0)}
        for grade, share in zip(grades, found.shares, strict=True)
    ]
    by_round.sort(key=lambda row: row["round"])
    return {"deviation": found.dev, "normalised": found.normalised, "shares": shares, "by_round": by_round}


def _verdict(connection: Connection, study: Study, held: pl.DataFrame) -> dict[str, Any] | None:
    """Which system is better so far, with intervals that hold whenever one looks."""
    if study.settings.shape.kind != "rate":
        return None
    draws = catalogue.draws_of(connection, study)
    first = held.filter(pl.col("role").is_in(["main", "common"])).unique(
        ["query", "item"], keep="first", maintain_order=True
    )
    if not draws.height or draws["system"].n_unique() < 2:
        return None
    order = records.given_out(connection, study)
    order = order.filter(pl.col("at").is_not_null() & pl.col("task").is_in(draws["task"].unique().implode()))
    found = verdict(
        draws, order["task"].to_list(), first.select("query", "item", "grade"), scale=study.settings.shape.scale
    )
    means = found.systems.with_columns(pl.lit(None).alias("lo"), pl.lit(None).alias("hi")).to_dicts()
    many = found.pairs.height  # the first sentences are about the pairs, in their order
    told = [{**row, "sentence": said} for row, said in zip(found.pairs.to_dicts(), found.notes[:many], strict=True)]
    return {
        "systems": means, "pairs": told, "notes": [*found.notes[many:], *_limits(found)],
        "scale": list(study.settings.shape.scale),
    }  # fmt: skip


def _limits(found: Verdict) -> list[str]:
    """What the verdict does not say."""
    return [
        f"This is about the {found.tasks:,} planned tasks and the first answer to each, {found.answered:,} so far. How "
        "other queries or judges would have it is another question; endoxa ratings and endoxa eval look at that.",
        "The differences hold at any time; the means are as far as it goes, and move where judges of different "
        "severity come one after another.",
    ]


def _notes(connection: Connection, study: Study) -> list[str]:
    rows = connection.execute(
        sa.select(s.events.c.detail)
        .where(s.events.c.study_id == study.id, s.events.c.kind.in_(("made", "round planned")))
        .order_by(s.events.c.id)
    )
    return [str(line) for row in rows for line in row.detail.get("notes", [])]


def _invitations(connection: Connection, study: Study, held: pl.DataFrame, now: float) -> list[dict[str, Any]]:
    counts = dict(held.filter(COUNTED).group_by("source").len().iter_rows())
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


def _plain(value: Any) -> Any:
    """Values that JSON can hold: not a number is null."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, datetime):
        return value.isoformat()
    return value
