"""Pages and API for the organiser: the dashboard, invitations, exports."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as InPath
from fastapi.responses import HTMLResponse, RedirectResponse
from sqlalchemy import Connection

from endoxa.errors import RefusedError, absent
from endoxa.frozen import dataclass
from endoxa.store import catalogue, exports, people, records, status
from endoxa.store.catalogue import Study
from endoxa.tables import Run
from endoxa.web.security import need_own_page
from endoxa.web.shapes import MOST, PROBLEMS, Token
from endoxa.web.studies import bodies as b
from endoxa.web.studies.app import Studio
from endoxa.web.studies.bodies import Name

Form = Literal["csv", "jsonl", "parquet", "qrels"]
MEDIA = {
    "csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet",
    "qrels": "text/plain; charset=utf-8",
}  # fmt: skip
Number = Annotated[int, InPath(ge=0, le=MOST)]


@dataclass
class Latest:
    """The last status of each study, computed again after a few seconds or when the organiser changes something."""

    kept: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)
    runs: dict[int, Run | None] = field(default_factory=dict)  # by study; they never change
    lock: Lock = field(default_factory=Lock)
    seconds: float = 2.0

    def of(self, studio: Studio, study: Study) -> dict[str, Any]:
        """The current status, at most `seconds` old."""
        now = studio.now()
        with self.lock:  # one at a time, because it is the most expensive request
            before = self.kept.get(study.name)
            if before is not None and 0 <= now - before[0] < self.seconds:
                return before[1]
            with studio.home.store.reading() as connection:
                found = status.status(connection, study, now=now, run_of=self._run_of)
            self.kept[study.name] = (now, found)
            return found

    def _run_of(self, connection: Connection, study: Study) -> Run | None:
        if study.id not in self.runs:
            self.runs[study.id] = catalogue.run_of(connection, study)
        return self.runs[study.id]


def router(studio: Studio) -> APIRouter:
    """The routes for the organiser."""
    here = APIRouter()
    api = APIRouter(prefix="/api/studies/{study}", responses=PROBLEMS, tags=["organising"])
    latest = Latest()

    def owned(request: Request, name: str) -> Study:
        studio.organiser(request)
        return studio.study(name)

    @contextmanager
    def changing(request: Request, name: str) -> Iterator[tuple[Connection, Study]]:
        found = owned(request, name)
        with studio.home.store.writing() as connection:
            yield connection, found
        latest.kept.clear()

    @here.get("/organise/{token}", response_class=HTMLResponse, include_in_schema=False)
    def invitation(request: Request, token: Token) -> Response:
        found = studio.invitation(request, token)
        studio.need_open(request, found)
        if found.role != "organiser":
            raise absent("page")
        page = studio.site.page("organiser.html", request, action=f"/organise/{token}")
        return studio.site.expect_join(request, page)

    @here.post("/organise/{token}", include_in_schema=False)
    def enter(request: Request, token: Token) -> Response:
        need_own_page(request)
        found = studio.invitation(request, token)
        if found.role != "organiser":
            raise absent("page")
        with studio.home.store.writing() as connection:
            secret = people.join(connection, found, "", key=studio.site.join_key(request), now=studio.now())
        return studio.sign_in(RedirectResponse("/dashboard", 303), secret)

    @here.get("/dashboard", response_class=HTMLResponse, include_in_schema=False)
    def overview(request: Request) -> Response:
        studio.organiser(request)
        with studio.home.store.reading() as connection:
            rows = [
                {"name": study.name, "title": study.settings.heading, "screen": study.settings.screen,
                 "state": study.state, **records.progress(connection, study)}
                for study in catalogue.listed(connection)
            ]  # fmt: skip
        return studio.site.page("studies.html", request, studies=rows)

    @here.get("/dashboard/{study}", response_class=HTMLResponse, include_in_schema=False)
    def dashboard(request: Request, study: Name) -> Response:
        found = owned(request, study)
        settings = found.settings
        shown = {
            "name": found.name, "title": settings.heading, "screen": settings.screen, "state": found.state,
            "question": settings.asked, "instructions": settings.instructions, "own_title": settings.title,
        }  # fmt: skip
        return studio.site.page("dashboard.html", request, study=shown, forms=exports.forms_of(found))

    @api.get("/status")
    def now(request: Request, study: Name) -> dict[str, Any]:
        """Progress, agreement, judges, uniformity, the verdict on the systems, invitations, submissions."""
        return latest.of(studio, owned(request, study))

    @api.post("/invitations", status_code=201, response_model=b.InvitedOut)
    def invite(request: Request, study: Name, body: b.InviteBody) -> Any:
        """Make a link; it is shown only once."""
        with changing(request, study) as (connection, found):
            number, token = people.invite(
                connection, studio.home.key, found, body.role, nickname=body.nickname or None, days=body.days,
                now=studio.now(),
            )  # fmt: skip
        return {"id": number, "url": f"{studio.url}/join/{token}"}

    @api.post("/invitations/{number}/withdraw", status_code=204)
    def withdraw(request: Request, study: Name, number: Number) -> None:
        """Withdraw a link and end its sessions; answers are kept."""
        with changing(request, study) as (connection, found):
            people.withdraw(connection, found, number, now=studio.now())

    @api.post("/state", status_code=204)
    def state(request: Request, study: Name, body: b.StateBody) -> None:
        """Open or close the study."""
        with changing(request, study) as (connection, found):
            catalogue.set_state(connection, found, body.state, now=studio.now())

    @api.post("/edit", status_code=204)
    def edit(request: Request, study: Name, body: b.EditBody) -> None:
        """Change the title, the question or the instructions. The old words are recorded."""
        with changing(request, study) as (connection, found):
            changes = {name: text.strip() for name, text in body.model_dump().items() if text is not None}
            catalogue.edit(connection, found, changes, now=studio.now())

    @api.post("/delete", status_code=204)
    def delete(request: Request, study: Name, body: b.DeleteBody) -> None:
        """Hide the study for good; its answers stay in the database."""
        with changing(request, study) as (connection, found):
            if body.name != found.name:
                raise RefusedError(f"that is not the name of this study, {found.name!r}; nothing was deleted", 422)
            catalogue.delete(connection, found, now=studio.now())

    @api.post("/results", status_code=204)
    def results(request: Request, study: Name, body: b.ResultsBody) -> None:
        """Let participants see the results, or not."""
        with changing(request, study) as (connection, found):
            catalogue.open_results(connection, found, body.open, now=studio.now())

    content_types: dict[str, Any] = {"content": {media.partition(";")[0]: {} for media in MEDIA.values()}}

    @api.get("/export", response_class=Response, responses={200: content_types})
    def export(
        request: Request, study: Name, form: Annotated[Form, Query()] = "csv", history: bool = False
    ) -> Response:
        """All answers as a file."""
        found = owned(request, study)
        with tempfile.TemporaryDirectory() as folder, studio.home.store.reading() as connection:
            target = Path(folder) / f"answers.{form}"
            exports.export(connection, found, target, form, history=history)
            content = target.read_bytes()
        name = quote(f"{found.name}.{form}", safe="")
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
        return Response(content, media_type=MEDIA[form], headers=headers)

    here.include_router(api)
    return here
