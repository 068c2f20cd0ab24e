"""Pages and API for judges: joining by a link, getting tasks, answering."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse

from endoxa.errors import RefusedError, absent
from endoxa.io import pictures
from endoxa.store import catalogue, making, people, work
from endoxa.store import schema as s
from endoxa.store.catalogue import Study
from endoxa.studies import kinds
from endoxa.web.security import need_own_page
from endoxa.web.shapes import PROBLEMS, Token
from endoxa.web.studies import bodies as b
from endoxa.web.studies.app import Studio
from endoxa.web.studies.bodies import Name


def router(studio: Studio) -> APIRouter:
    """The routes for judges."""
    here = APIRouter()
    api = APIRouter(prefix="/api/studies/{study}", responses=PROBLEMS, tags=["judging"])

    @here.get("/join/{token}", response_class=HTMLResponse, include_in_schema=False)
    def invitation(request: Request, token: Token) -> Response:
        return _join_page(studio, request, token)

    @here.post("/join/{token}", include_in_schema=False)
    def join(request: Request, token: Token, nickname: Annotated[str, Form(max_length=200)] = "") -> Response:
        need_own_page(request)
        found = studio.invitation(request, token)
        if found.role == "organiser":
            raise absent("page")
        try:
            with studio.home.store.writing() as connection:
                secret = people.join(connection, found, nickname, key=studio.site.join_key(request), now=studio.now())
        except RefusedError as error:
            if error.status != 422:
                raise
            return _join_page(studio, request, token, error=str(error))
        study = _study_of(studio, found)
        path = "s" if found.role == "judge" else "submit"
        return studio.sign_in(RedirectResponse(f"/{path}/{study.name}", 303), secret)

    @here.get("/s/{study}", response_class=HTMLResponse, include_in_schema=False)
    def page(request: Request, study: Name) -> Response:
        found, _ = studio.judge(request, study)
        shown = {"name": found.name, "title": found.settings.heading, "question": found.settings.asked}
        return studio.site.page(
            "judge.html", request, study=shown, module=found.settings.kind.module,
            decides=found.settings.choose == "decide",
        )  # fmt: skip

    @api.get("/me", response_model=b.MeOut)
    def me(request: Request, study: Name) -> Any:
        """The study as this judge sees it, and the judge's progress."""
        found, rater = studio.judge(request, study)
        with studio.home.store.reading() as connection:
            progress = work.progress(connection, found, rater)
            tree = catalogue.taxonomy_of(connection, found)
        judge = {"nickname": studio.visitor(request).nickname}
        return {"study": _described(found, tree), "rater": judge, "progress": _progress(progress, found)}

    @api.get("/tasks", response_model=b.TasksOut)
    def tasks(request: Request, study: Name, count: Annotated[int, Query(ge=1, le=10)] = 3) -> Any:
        """The current task and the ones after it. The same tasks are returned until they are answered."""
        found, rater = studio.judge(request, study)
        if found.settings.choose == "decide":  # a judge must not run out of pairs before it is settled
            making.plan_if_due(studio.home, found.name, now=studio.now())
        with studio.home.store.writing(lasting=False) as connection:
            given, progress = work.tasks(connection, found, rater, count=count, now=studio.now())
        return {"tasks": [_task(studio, found, task) for task in given], "progress": _progress(progress, found)}

    saved = {"model": b.ReceivedOut, "description": "was saved before"}

    @api.post("/answers", status_code=201, response_model=b.ReceivedOut, responses={200: saved})
    def answers(request: Request, response: Response, study: Name, body: b.AnswerBody) -> Any:
        """Save an answer or a skip. It is on the disk when this returns; the same key again changes nothing."""
        found, rater = studio.judge(request, study)
        circumstances = work.Circumstances(
            body.comment if found.settings.comments else None, body.active_seconds, body.away_seconds, body.screen,
            body.method,
        )  # fmt: skip
        given = [kinds.Response(**response.model_dump()) for response in body.responses]
        key, now = str(body.key), studio.now()
        with studio.home.store.writing() as connection:
            if body.kind == "skip":
                received = work.skip(connection, found, rater, body.task, key, circumstances, now=now)
            else:
                received = work.answer(connection, found, rater, body.task, key, given, circumstances, now=now)
        if not received.new:
            response.status_code = 200
        labels = {f"{grade.value:g}": grade.label for grade in found.settings.shape.grades}
        feedback = received.feedback and [
            {**row, "expected_label": labels.get(row["expected"] or "", row["expected"])} for row in received.feedback
        ]
        return {"progress": _progress(received.progress, found), "feedback": feedback}

    @api.post("/undo", response_model=b.UndoneOut)
    def undo(request: Request, study: Name, body: b.UndoBody) -> Any:
        """Undo the last answer or skip."""
        found, rater = studio.judge(request, study)
        with studio.home.store.writing() as connection:
            task, progress = work.undo(connection, found, rater, str(body.key), now=studio.now())
        return {"task": _task(studio, found, task), "progress": _progress(progress, found)}

    @api.post("/events", status_code=204)
    def events(request: Request, study: Name, body: b.EventBody) -> None:
        """Record an event such as pause or resume."""
        found, rater = studio.judge(request, study)
        with studio.home.store.writing(lasting=False) as connection:
            catalogue.note(connection, found.id, body.kind, now=studio.now(), rater_id=rater)

    @api.post("/leave", status_code=204)
    def leave(request: Request, response: Response, study: Name) -> None:
        """End this browser's session; the link opens a new one."""
        studio.judge(request, study)
        with studio.home.store.writing() as connection:
            people.leave(connection, studio.site.secret(request), now=studio.now())
        studio.site.sign_out(response)

    @here.get("/files/{study}/{name}", include_in_schema=False)
    def file(request: Request, study: Name, name: str, size: str = "") -> Response:
        return _picture(studio, request, study, name, small=size == "small")

    here.include_router(api)
    return here


def _join_page(studio: Studio, request: Request, token: str, *, error: str | None = None) -> Response:
    found = studio.invitation(request, token)
    studio.need_open(request, found)
    if found.role == "organiser":
        page = studio.site.page("organiser.html", request, action=f"/organise/{token}")
        return studio.site.expect_join(request, page)
    study = _study_of(studio, found)
    page = studio.site.page(
        "join.html", request, 422 if error else 200, action=f"/join/{token}", error=error, role=found.role,
        nickname=found.nickname or "",  # the page makes an existing nickname read-only
        study={
            "name": study.name, "title": study.settings.heading, "question": study.settings.asked,
            "instructions": study.settings.paragraphs,
        },
    )  # fmt: skip
    return studio.site.expect_join(request, page)


def _study_of(studio: Studio, invitation: people.Invitation) -> Study:
    with studio.home.store.reading() as connection:
        return next(study for study in catalogue.listed(connection) if study.id == invitation.study_id)


def _described(study: Study, tree: Any) -> dict[str, Any]:
    settings = study.settings
    return {
        "name": study.name, "title": settings.heading, "state": study.state, "comments": settings.comments,
        "question": settings.asked, "instructions": settings.paragraphs, "skip": settings.skip,
        "screen": {
            "name": settings.screen, "kind": settings.shape.kind, "per_task": settings.items_per_task,
            "grades": settings.shape.grades,
        },
        "categories": _categories(tree, settings.hide_tree) if settings.kind.needs_taxonomy and tree else None,
    }  # fmt: skip


def _categories(tree: Any, hidden: bool) -> list[dict[str, Any]]:
    """The categories in the order of the tree; with a hidden tree, by name and without depth."""
    children: dict[str, list[str]] = {}
    for category, parent in tree.frame.iter_rows():
        if parent is not None:
            children.setdefault(parent, []).append(category)
    found: list[dict[str, Any]] = []

    def walk(category: str, depth: int) -> None:
        if not (category == tree.ROOT and depth == 0) and category not in {one["name"] for one in found}:
            label = category.rsplit("/", 1)[-1]
            found.append({"name": category, "label": label, "depth": depth, "leaf": category not in children})
        for child in sorted(children.get(category, [])):
            walk(child, depth + (0 if category == tree.ROOT else 1))

    walk(tree.root, 0)
    labels = [one["label"] for one in found]
    for one in found:
        if labels.count(one["label"]) > 1:  # two categories with the same label: show the whole path
            one["label"] = one["name"]
    if not hidden:
        return found
    return sorted(({**one, "depth": 0, "leaf": True} for one in found), key=lambda one: str(one["label"]).casefold())


def _progress(progress: work.Progress, study: Study) -> dict[str, Any]:
    return {**vars(progress), "finished": progress.finished or study.state != "open"}


def _task(studio: Studio, study: Study, task: work.Task) -> dict[str, Any]:
    query = None if task.query is None else _shown(studio, study, task.query, "query")
    items = [{"id": item["id"], **_shown(studio, study, item, f"result {at}")} for at, item in enumerate(task.items, 1)]
    return {"id": task.id, "practice": task.practice, "query": query, "items": items, "previous": task.previous}


def _shown(studio: Studio, study: Study, row: dict[str, Any], alt: str) -> dict[str, Any]:
    """Text and picture, or a mark that it is missing. Names are not shown, because they may reveal the answer."""
    file = row["file"]
    there = file is not None and pictures.place(studio.home.files, file).exists()
    return {
        "text": row["text"], "image": f"/files/{study.name}/{file}" if there else None,
        "alt": row["text"] or alt, "missing": file is not None and not there,
    }  # fmt: skip


def _picture(studio: Studio, request: Request, name: str, sha: str, *, small: bool) -> Response:
    """A picture of the visitor's own study; a name is looked up in the database before it reaches the disk."""
    visitor = studio.visitor(request)
    study = studio.study(name)
    is_mine = visitor.role == "organiser" or visitor.study_id == study.id
    if not is_mine or not re.fullmatch("[0-9a-f]{64}", sha):
        raise absent("picture")
    with studio.home.store.reading() as connection:
        known = any(
            catalogue.count_rows(connection, table, table.c.study_id == study.id, table.c.file == sha)
            for table in (s.items, s.queries)
        )
    path = pictures.place(studio.home.files, sha, small=small)
    if not known or not path.exists():
        raise absent("picture")
    return FileResponse(path, media_type="image/jpeg", headers={"Cache-Control": "private, max-age=86400, immutable"})
