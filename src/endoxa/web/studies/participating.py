"""Pages for participants: submitting runs, and results once the organiser opens them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

import sqlalchemy as sa
from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect

from endoxa.errors import RefusedError
from endoxa.store import schema as s
from endoxa.store.catalogue import Study
from endoxa.store.people import Visitor
from endoxa.web.studies import submissions
from endoxa.web.studies.app import Studio
from endoxa.web.studies.bodies import Name
from endoxa.web.workshop import Workshop

MOST = 50  # runs per participant


def router(studio: Studio) -> APIRouter:
    """The routes for participants."""
    here = APIRouter()
    workshop = Workshop()

    @here.get("/submit/{study}", response_class=HTMLResponse, include_in_schema=False)
    async def page(request: Request, study: Name) -> Response:
        found, visitor = await run_in_threadpool(studio.member, request, study, "participant")
        return await _page(studio, workshop, request, found, visitor)

    @here.post("/submit/{study}", include_in_schema=False)
    async def submit(request: Request, study: Name) -> Response:
        # Nobody else's upload is read.
        found, visitor = await run_in_threadpool(studio.member, request, study, "participant", acts=False)
        async with workshop.turn(visitor.invitation_id):
            if len(await run_in_threadpool(_mine, studio, found, visitor)) >= MOST:
                error = f"you have submitted {MOST} runs, which is the maximum"
                return await _page(studio, workshop, request, found, visitor, error=error)
            await _take(studio, workshop, request, found, visitor)
        return RedirectResponse(f"/submit/{found.name}", 303)

    return here


async def _take(studio: Studio, workshop: Workshop, request: Request, study: Study, visitor: Visitor) -> None:
    """Read the upload, which goes to a file, and have it checked, scored and stored."""
    try:
        async with request.form(max_files=1, max_fields=2) as form:
            studio.site.need_own_act(request, str(form.get("csrf", "")))
            run = form.get("run")
            if not isinstance(run, UploadFile):
                raise RefusedError("the form has no run file", 422, remedy="choose one")
            work = partial(
                submissions.submit, studio.home, study, run.file, _file_name(run.filename or ""),
                invitation=visitor.invitation_id, now=studio.now(),
            )  # fmt: skip
            await workshop.do(work)
    except ClientDisconnect:
        raise RefusedError("the upload was cut off", 400, remedy="send it again") from None


def _file_name(given: str) -> str:
    """The participant's name for the file, without directories and unprintable characters."""
    last = submissions.printable(given.replace("\\", "/").rpartition("/")[2]).strip()
    return last if last.strip(".") else "run"


async def _page(
    studio: Studio, workshop: Workshop, request: Request, study: Study, visitor: Visitor, *, error: str | None = None
) -> Response:
    mine = await run_in_threadpool(_mine, studio, study, visitor)
    shown = [
        {
            "system": row.name, "at": datetime.fromtimestamp(row.created_at, UTC).isoformat(timespec="minutes"),
            "lines": row.detail.get("lines", 0), "warnings": row.detail.get("warnings", []),
            "errors": row.detail.get("errors", []),
        }
        for row in mine
    ]  # fmt: skip
    results = await _results(studio, workshop, study, visitor, mine) if study.results_open else None
    rows = None if results is None else [row for one in results for row in one["rows"]]
    why = next((one["problem"] for one in results or () if one["problem"]), None)
    return studio.site.page(
        "submit.html", request, 422 if error else 200, study={"name": study.name, "title": study.settings.heading},
        submissions=shown, results=rows, error=error or why,
    )  # fmt: skip


async def _results(
    studio: Studio, workshop: Workshop, study: Study, visitor: Visitor, mine: list[Any]
) -> list[dict[str, Any]]:
    """The kept results of the accepted runs; requests that find none share one computation."""
    wanted = {row.name: row.id for row in mine if not row.detail.get("errors")}  # of two with one name, the later
    given = (studio.home, study, list(wanted.values()))
    work = partial(submissions.results, *given, now=studio.now())
    if await run_in_threadpool(submissions.are_kept, *given, now=studio.now()):
        return list(await run_in_threadpool(work))
    return list(await workshop.share((study.id, visitor.invitation_id), work))


def _mine(studio: Studio, study: Study, visitor: Visitor) -> list[Any]:
    d = s.documents.c
    wanted = sa.select(d.id, d.name, d.detail, d.created_at).where(
        d.study_id == study.id, d.kind == "submission", d.invitation_id == visitor.invitation_id
    )
    with studio.home.store.reading() as connection:
        return list(connection.execute(wanted.order_by(d.id)))
