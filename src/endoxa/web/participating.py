"""For participants: sending runs in, blind until the organiser opens the results."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import sqlalchemy as sa
from fastapi import APIRouter, File, Form, Request, Response, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse

from endoxa.benchmark import score
from endoxa.errors import EndoxaError
from endoxa.io.read import read
from endoxa.pools import lint
from endoxa.store import exports, studies
from endoxa.store import schema as s
from endoxa.store.people import Visitor
from endoxa.store.refusals import RefusedError
from endoxa.store.studies import Study
from endoxa.tables import Run
from endoxa.web.app import Site
from endoxa.web.judging import Name
from endoxa.web.security import need_own_page, need_token

MOST = 50  # runs that one participant may send in


def router(site: Site) -> APIRouter:
    """The addresses."""
    here = APIRouter()

    @here.get("/submit/{study}", response_class=HTMLResponse, include_in_schema=False)
    def page(request: Request, study: Name) -> Response:
        found, visitor = site.participant(request, study)
        return _page(site, request, found, visitor)

    @here.post("/submit/{study}", include_in_schema=False)
    def submit(
        request: Request, study: Name, run: Annotated[UploadFile, File()], csrf: Annotated[str, Form()] = ""
    ) -> Response:
        need_own_page(request)
        need_token(site.home.key, site.secret(request), csrf)
        found, visitor = site.participant(request, study, form=True)
        content = run.file.read()
        if len(_mine(site, found, visitor)) >= MOST:
            return _page(site, request, found, visitor, error=f"{MOST} runs were sent in already; that is the most")
        checked, detail = _checked(site, found, content, run.filename or "run")
        name = checked.systems[0] if checked is not None else (run.filename or "run")[:200]
        with site.writing() as connection:
            studies.add_document(
                connection, found, "submission", _words(name), content, now=site.now(),
                invitation_id=visitor.invitation_id, **detail,
            )  # fmt: skip
        return RedirectResponse(f"/submit/{found.name}", 303)

    return here


def _words(text: str) -> str:
    return "".join(c for c in text if c.isprintable())


def _page(site: Site, request: Request, study: Study, visitor: Visitor, *, error: str | None = None) -> Response:
    mine = _mine(site, study, visitor)
    results = _results(site, study, mine) if study.results_open else None
    shown = [
        {
            "system": row.name, "at": datetime.fromtimestamp(row.created_at, UTC).isoformat(timespec="minutes"),
            "lines": row.detail.get("lines", 0), "warnings": row.detail.get("warnings", []),
            "errors": row.detail.get("errors", []),
        }
        for row in mine
    ]  # fmt: skip
    return site.page(
        "submit.html", request, 422 if error else 200, study={"name": study.name, "title": study.settings.heading},
        submissions=shown, results=results, error=error,
    )  # fmt: skip


def _mine(site: Site, study: Study, visitor: Visitor) -> list[Any]:
    d = s.documents.c
    wanted = sa.select(d.id, d.name, d.content, d.detail, d.created_at).where(
        d.study_id == study.id, d.kind == "submission", d.invitation_id == visitor.invitation_id
    )
    with site.reading() as connection:
        return list(connection.execute(wanted.order_by(d.id)))


def _checked(site: Site, study: Study, content: bytes, name: str) -> tuple[Run | None, dict[str, Any]]:
    """The run that was sent in, and what a check finds in it: errors keep it out of the results."""
    lines = content.count(b"\n")
    try:
        run = _read(content, name)
    except EndoxaError as error:
        return None, {"lines": lines, "warnings": [], "errors": [str(error)]}
    errors = [] if len(run.systems) == 1 else [f"{name} holds {len(run.systems)} systems; send one system per file"]
    with site.reading() as connection:
        queries = set(studies.ids(connection, s.queries, study))
        items = set(studies.ids(connection, s.items, study))
    warnings = [one.text for one in lint.run(run, name, None) if one.state == "warning"]
    asked = set(run.frame["query"].unique())
    if not asked & queries:
        errors.append(f"none of its {len(asked):,} queries is one of this study")
    elif missing := queries - asked:
        warnings.append(f"{len(missing):,} of {len(queries):,} queries have no results")
    strange = run.frame.filter(~pl.col("item").is_in(list(items))).height
    if strange:
        warnings.append(f"{strange:,} of {run.frame.height:,} results are not among the study's items")
    return run, {"lines": lines, "warnings": warnings, "errors": errors}


def _read(content: bytes, name: str) -> Run:
    """A run from bytes; messages name the file as the participant calls it."""
    suffixes = "".join(Path(name).suffixes[-2:])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"run{suffixes if suffixes.isascii() and '/' not in suffixes else ''}"
        path.write_bytes(content)
        try:
            run = read(str(path), kind="run")
        except EndoxaError as error:
            raise RefusedError(str(error).replace(str(path), name), 422) from None
    assert isinstance(run, Run)
    return run


def _results(site: Site, study: Study, mine: list[Any]) -> list[dict[str, Any]]:
    """How the runs that were accepted fare under the answers so far."""
    runs = [_read(row.content, row.name) for row in mine if not row.detail.get("errors")]
    if not runs:
        return []
    with site.reading() as connection:
        bundle = exports.bundle(connection, study, now=site.now())
    last = {run.systems[0]: run for run in runs}  # of two of one name the later counts
    found = score(bundle, Run.of(pl.concat([run.frame for run in last.values()])), rng=np.random.default_rng(0))
    covered = dict(found.coverage.select("system", "first_10").iter_rows())
    return [
        {
            **{name: row.get(name) for name in ("system", "measure", "value", "lo", "hi")},
            "covered": covered.get(row["system"]),
        }
        for row in found.frame.iter_rows(named=True)
    ]
