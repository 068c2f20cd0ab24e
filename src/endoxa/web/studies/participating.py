"""Pages for participants: submitting runs, and results once the organiser opens them."""

from __future__ import annotations

import gzip
import io
import math
import tempfile
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import sqlalchemy as sa
from fastapi import APIRouter, File, Form, Request, Response, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse

from endoxa.errors import EndoxaError, RefusedError
from endoxa.evaluations import bundled
from endoxa.evaluations.settings import Settings
from endoxa.io.apart import read_apart
from endoxa.io.formats import ZIP
from endoxa.io.read import read
from endoxa.io.sources import GZIP, PARQUET, ZSTD, Source
from endoxa.pools import lint
from endoxa.store import catalogue, exports
from endoxa.store import schema as s
from endoxa.store.catalogue import Study
from endoxa.store.people import Visitor
from endoxa.tables import Run
from endoxa.web.security import UPLOAD
from endoxa.web.studies.app import Studio
from endoxa.web.studies.bodies import Name

MOST = 50  # runs per participant
UNPACKED = 4 * UPLOAD  # bytes of a run after decompression
LONGEST = 100  # characters of the name of a file or a system


def router(studio: Studio) -> APIRouter:
    """The routes for participants."""
    here = APIRouter()

    @here.get("/submit/{study}", response_class=HTMLResponse, include_in_schema=False)
    def page(request: Request, study: Name) -> Response:
        found, visitor = studio.member(request, study, "participant")
        return _page(studio, request, found, visitor)

    @here.post("/submit/{study}", include_in_schema=False)
    def submit(
        request: Request, study: Name, run: Annotated[UploadFile, File()], csrf: Annotated[str, Form()] = ""
    ) -> Response:
        found, visitor = studio.member(request, study, "participant", csrf)
        if len(_mine(studio, found, visitor)) >= MOST:
            return _page(studio, request, found, visitor, error=f"you have submitted {MOST} runs, which is the maximum")
        content, file = run.file.read(), _file_name(run.filename or "")
        checked, detail = _checked(studio, found, content, file)
        name = checked.systems[0] if checked is not None else file
        with studio.writing() as connection:
            catalogue.add_document(
                connection, found, "submission", _words(name), content, now=studio.now(),
                invitation_id=visitor.invitation_id, file=file, **detail,
            )  # fmt: skip
        return RedirectResponse(f"/submit/{found.name}", 303)

    return here


def _words(text: str) -> str:
    return "".join(c for c in text if c.isprintable())[:LONGEST]


def _file_name(given: str) -> str:
    """The participant's name for the file, without directories and unprintable characters."""
    last = _words(given.replace("\\", "/").rpartition("/")[2]).strip()
    return last if last.strip(".") else "run"


def _page(studio: Studio, request: Request, study: Study, visitor: Visitor, *, error: str | None = None) -> Response:
    mine = _mine(studio, study, visitor)
    results, why = _results(studio, study, mine) if study.results_open else (None, None)
    shown = [
        {
            "system": row.name, "at": datetime.fromtimestamp(row.created_at, UTC).isoformat(timespec="minutes"),
            "lines": row.detail.get("lines", 0), "warnings": row.detail.get("warnings", []),
            "errors": row.detail.get("errors", []),
        }
        for row in mine
    ]  # fmt: skip
    return studio.site.page(
        "submit.html", request, 422 if error else 200, study={"name": study.name, "title": study.settings.heading},
        submissions=shown, results=results, error=error or why,
    )  # fmt: skip


def _mine(studio: Studio, study: Study, visitor: Visitor) -> list[Any]:
    d = s.documents.c
    wanted = sa.select(d.id, d.name, d.detail, d.created_at).where(
        d.study_id == study.id, d.kind == "submission", d.invitation_id == visitor.invitation_id
    )
    with studio.reading() as connection:
        return list(connection.execute(wanted.order_by(d.id)))


def _checked(studio: Studio, study: Study, content: bytes, name: str) -> tuple[Run | None, dict[str, Any]]:
    """The submitted run and the findings of its check; a run with errors gets no results."""
    lines = 0
    try:
        text = _unpacked(content, name)
        lines = len(text.splitlines())
        run = _read(text, name, read_apart)
    except RefusedError as error:
        return None, {"lines": lines, "warnings": [], "errors": [str(error)]}
    errors = [] if len(run.systems) == 1 else [f"{name} holds {len(run.systems)} systems; submit one system per file"]
    with studio.reading() as connection:
        items = set(catalogue.ids(connection, s.items, study))
        queries = set(catalogue.ids(connection, s.queries, study)) if study.settings.shape.asks_query else items
        tree = catalogue.taxonomy_of(connection, study)
    warnings = [one.text for one in lint.run(run, name, None) if one.state == "warning"]
    asked = set(run.frame["query"].unique())
    if not asked & queries:
        errors.append(f"none of its {len(asked):,} queries is one of this study")
    elif missing := queries - asked:
        warnings.append(f"{len(missing):,} of {len(queries):,} queries have no results")
    known = items.union(tree.categories if tree is not None else ())  # a classifier's results are categories
    strange = run.frame.filter(~pl.col("item").is_in(list(known))).height
    if strange:
        warnings.append(f"{strange:,} of {run.frame.height:,} results are not among the study's items")
    return run, {"lines": lines, "warnings": warnings, "errors": errors}


def _unpacked(content: bytes, name: str) -> bytes:
    """The submitted text, decompressed up to a limit."""
    text = content
    if content.startswith(GZIP):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
                text = packed.read(UNPACKED + 1)
        except (OSError, EOFError, zlib.error):
            raise RefusedError(f"{name}: damaged gzip data; copy or compress the file again", 422) from None
    if text.startswith((GZIP, ZSTD, PARQUET, ZIP)):
        raise RefusedError(f"{name}: is not text; submit runs as text, plain or compressed once with gzip", 422)
    if len(text) > UNPACKED:
        raise RefusedError(f"{name}: is longer than {UNPACKED >> 20} MB when decompressed; submit fewer results", 422)
    return text


def _read(text: bytes, name: str, reader: Callable[[Path, str], Run]) -> Run:
    """A run from bytes; error messages use the participant's name for the file."""
    with tempfile.TemporaryDirectory() as folder:
        # The participant's file name never becomes a path; its stem names a system without a tag.
        path = Path(folder) / "run"
        path.write_bytes(text)
        try:
            return reader(path, name)
        except EndoxaError as error:
            raise RefusedError(str(error).replace(str(path), name), 422) from None


def _read_again(path: Path, name: str) -> Run:
    """A run that was read in time when it was submitted."""
    run: Run = read(Source(path, name), kind="run")
    return run


def _results(studio: Studio, study: Study, mine: list[Any]) -> tuple[list[dict[str, Any]], str | None]:
    """Scores of the accepted runs under the answers so far, and why some are missing."""
    wanted = {row.name: row for row in mine if not row.detail.get("errors")}  # of two with one name, the later
    if not wanted:
        return [], None
    try:
        with studio.reading() as connection:
            bundle = exports.bundle(connection, study, now=studio.now())
    except EndoxaError:
        return [], "the results are open, but there are no answers to score runs with yet"
    rows: list[dict[str, Any]] = []
    why = None
    for name, row in wanted.items():
        with studio.reading() as connection:
            content = connection.scalar(sa.select(s.documents.c.content).where(s.documents.c.id == row.id)) or b""
        file = row.detail.get("file", "run")
        try:
            found = bundled.evaluate(_read(_unpacked(content, file), file, _read_again), bundle, None, Settings())
        except EndoxaError as error:  # the other runs still get results
            why = f"{name}: {error}"
            continue
        covered = dict(found.tables["coverage"].select("system", "first_10").iter_rows())
        rows += [
            {**{part: _number(one.get(part)) for part in ("value", "lo", "hi")}, "system": one["system"],
             "measure": one["measure"], "covered": _number(covered.get(one["system"]))}
            for one in found.summary.iter_rows(named=True)
        ]  # fmt: skip
    return rows, why


def _number(value: float | None) -> float | None:
    """The value, or None where it is undefined; the page shows a dash."""
    return value if value is not None and math.isfinite(value) else None
