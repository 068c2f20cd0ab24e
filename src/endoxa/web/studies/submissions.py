"""Runs of participants: checked and scored in a process of their own, once; the results are kept in the folder.

The server calls `submit` and `results`. The process works with `check` and `score`, and reads the database itself.
"""

from __future__ import annotations

import gzip
import json
import math
import shutil
import tempfile
import zlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import polars as pl
import sqlalchemy as sa
from sqlalchemy import Connection

from endoxa.errors import EndoxaError, FileError
from endoxa.io.apart import answer, run_apart
from endoxa.io.read import read
from endoxa.io.sources import GZIP, PARQUET, ZIP, ZSTD, source_of
from endoxa.io.write import replacing
from endoxa.pools import lint
from endoxa.store import catalogue, exports
from endoxa.store import schema as s
from endoxa.store.catalogue import Study
from endoxa.store.database import open_store
from endoxa.store.home import Home
from endoxa.tables import Bundle, Run

UNPACKED = 256 << 20  # bytes of a run after decompression
BLOCK = 1 << 20  # bytes that are read at once
LONGEST = 100  # characters of the name of a file or a system
FRESH = 60.0  # seconds for which results are shown although there are newer answers
REMEDY = "submit fewer results"
NO_ANSWERS = "the results are open, but there are no answers to score runs with yet"


# ---- in the server ------------------------------------------------------------------------------------


def submit(home: Home, study: Study, file: IO[bytes], label: str, *, invitation: int, now: float) -> None:
    """Check and score an uploaded run, and store it as it was sent, with what was found."""
    with tempfile.TemporaryDirectory() as folder:
        # The participant's file name never becomes a path; its stem names a system without a tag.
        path = Path(folder) / "upload"
        with path.open("wb") as copy:
            shutil.copyfileobj(file, copy, BLOCK)
        try:
            found = _apart(home, study, "check", label, path=str(path), most=UNPACKED)
        except EndoxaError as error:
            found = {"name": label, "detail": {"lines": 0, "warnings": [], "errors": [str(error)]}}
        with home.store.writing() as connection:
            number = catalogue.add_document(
                connection, study, "submission", found["name"], path.read_bytes(), now=now, invitation_id=invitation,
                file=label, **found["detail"],
            )  # fmt: skip
    if "scored" in found:
        _keep(home, number, found["scored"], now)


def results(home: Home, study: Study, wanted: Sequence[int], *, now: float) -> list[dict[str, Any]]:
    """The results of these submissions: `rows`, `problem`. They are scored if they never were, or not lately."""
    with home.store.reading() as connection:
        stamp = stamp_of(connection, study)
    kept = {number: _kept(home, number) for number in wanted}
    due = [number for number, one in kept.items() if not _is_good(one, stamp, now)]
    if due:
        try:
            scored = _apart(home, study, "score", "the runs", times=len(due), submissions=due)
        except EndoxaError as error:
            scored = [{"stamp": stamp, "rows": [], "problem": str(error)} for _ in due]
        for number, one in zip(due, scored, strict=True):
            kept[number] = _keep(home, number, one, now)
    return [one for one in kept.values() if one is not None]


def are_kept(home: Home, study: Study, wanted: Sequence[int], *, now: float) -> bool:
    """Whether `results` only has to read."""
    with home.store.reading() as connection:
        stamp = stamp_of(connection, study)
    return all(_is_good(_kept(home, number), stamp, now) for number in wanted)


def stamp_of(connection: Connection, study: Study) -> str:
    """What results depend on: they stay the same while this does."""
    a = s.answers.c
    answers = connection.execute(sa.select(sa.func.count(), sa.func.max(a.id)).where(a.study_id == study.id)).one()
    others = (
        connection.scalar(sa.select(sa.func.max(table.c.id)).where(table.c.study_id == study.id))
        for table in (s.tasks, s.items, s.queries)
    )
    return " ".join(map(str, (version("endoxa"), *answers, *others)))


def _apart(home: Home, study: Study, job: str, label: str, *, times: int = 1, **given: Any) -> Any:
    url = home.store.engine.url.render_as_string(hide_password=False)
    given = {"job": job, "url": url, "study": study.name, "label": label, **given}
    return run_apart("endoxa.web.studies.submissions", given, label, remedy=REMEDY, times=times)


def _is_good(kept: dict[str, Any] | None, stamp: str, now: float) -> bool:
    return kept is not None and (kept["stamp"] == stamp or 0 <= now - kept["at"] < FRESH)


def _place(home: Home, number: int) -> Path:
    return home.folder / "results" / f"{number}.json"


def _kept(home: Home, number: int) -> dict[str, Any] | None:
    try:
        found = json.loads(_place(home, number).read_bytes())
    except (OSError, ValueError):  # there are none, or they are damaged: they are made again
        return None
    return found if isinstance(found, dict) and {"stamp", "at", "rows", "problem"} <= set(found) else None


def _keep(home: Home, number: int, scored: dict[str, Any], now: float) -> dict[str, Any]:
    found = {**scored, "at": now}
    place = _place(home, number)
    place.parent.mkdir(mode=0o700, exist_ok=True)
    with replacing(place) as part:
        part.write_text(json.dumps(found), encoding="utf-8")
    return found


# ---- in a process of its own --------------------------------------------------------------------------


def work(job: str, url: str, study: str, label: str, **given: Any) -> Any:
    """Check a run, or score runs that were accepted."""
    store = open_store(url)
    try:
        with store.reading() as connection:
            found = catalogue.find(connection, study)
            if job == "check":
                return check(connection, found, Path(given["path"]), label, given["most"])
            return score(connection, found, given["submissions"])
    finally:
        store.close()


def check(connection: Connection, study: Study, path: Path, label: str, most: int) -> dict[str, Any]:
    """The name of a submitted run, what its check found, and its results; a run with errors gets no results."""
    lines = 0
    try:
        text, lines = _unpacked(path, label, most)
        run: Run = read(source_of(text, label), kind="run")  # messages use the participant's name for the file
    except EndoxaError as error:
        return {"name": label, "detail": {"lines": lines, "warnings": [], "errors": [str(error)]}}
    errors = [] if len(run.systems) == 1 else [f"{label} holds {len(run.systems)} systems; submit one system per file"]
    warnings = [one.text for one in lint.run(run, label, None) if one.state == "warning"]
    items = set(catalogue.ids(connection, s.items, study))
    queries = set(catalogue.ids(connection, s.queries, study)) if study.settings.shape.asks_query else items
    tree = catalogue.taxonomy_of(connection, study)
    asked = set(run.frame["query"].unique())
    if not asked & queries:
        errors.append(f"none of its {len(asked):,} queries is one of this study")
    elif missing := queries - asked:
        warnings.append(f"{len(missing):,} of {len(queries):,} queries have no results")
    known = items.union(tree.categories if tree is not None else ())  # a classifier's results are categories
    strange = run.frame.filter(~pl.col("item").is_in(list(known))).height
    if strange:
        warnings.append(f"{strange:,} of {run.frame.height:,} results are not among the study's items")
    name = printable(run.systems[0])
    found = {"name": name, "detail": {"lines": lines, "warnings": warnings, "errors": errors}}
    if errors:
        return found
    return {**found, "scored": _scored(run, _bundle(connection, study), stamp_of(connection, study), name)}


def score(connection: Connection, study: Study, submissions: list[int]) -> list[dict[str, Any]]:
    """The results of accepted runs under the answers so far."""
    d = s.documents.c
    stamp, bundle = stamp_of(connection, study), _bundle(connection, study)
    found = []
    for number in submissions:
        row = connection.execute(sa.select(d.name, d.content, d.detail).where(d.id == number)).one()
        label = row.detail.get("file", "run")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "upload"
            path.write_bytes(row.content)
            try:
                text, _ = _unpacked(path, label, UNPACKED)
                found.append(_scored(read(source_of(text, label), kind="run"), bundle, stamp, row.name))
            except EndoxaError as error:  # the other runs still get results
                found.append({"stamp": stamp, "rows": [], "problem": f"{row.name}: {error}"})
    return found


def _bundle(connection: Connection, study: Study) -> Bundle | None:
    try:
        return exports.bundle(connection, study, now=0.0)
    except EndoxaError:  # there are no answers, or none that counts
        return None


def _scored(run: Run, bundle: Bundle | None, stamp: str, name: str) -> dict[str, Any]:
    if bundle is None:
        return {"stamp": stamp, "rows": [], "problem": NO_ANSWERS}
    from endoxa.evaluations import bundled  # half a second, which a run with errors does not need
    from endoxa.evaluations.settings import Settings

    try:
        found = bundled.evaluate(run, bundle, None, Settings())
    except EndoxaError as error:
        return {"stamp": stamp, "rows": [], "problem": f"{name}: {error}"}
    covered = dict(found.tables["coverage"].select("system", "first_10").iter_rows())
    rows = [
        {**{part: _number(one.get(part)) for part in ("value", "lo", "hi")}, "system": one["system"],
         "measure": one["measure"], "covered": _number(covered.get(one["system"]))}
        for one in found.summary.iter_rows(named=True)
    ]  # fmt: skip
    return {"stamp": stamp, "rows": rows, "problem": None}


def _number(value: float | None) -> float | None:
    """The value, or None where it is undefined; the page shows a dash."""
    return value if value is not None and math.isfinite(value) else None


def _unpacked(path: Path, label: str, most: int) -> tuple[Path, int]:
    """The submitted text, decompressed up to a limit, and the number of its lines; never more than a block at once."""
    with path.open("rb") as raw:
        if raw.read(len(GZIP)) != GZIP:
            raw.seek(0)
            return path, _copied(raw, None, label, most)
    text = path.with_name("text")
    try:
        with gzip.open(path) as packed, text.open("wb") as target:
            return text, _copied(packed, target, label, most)
    except (OSError, EOFError, zlib.error):
        raise FileError(label, "damaged gzip data", "copy or compress the file again") from None


def _copied(source: Any, target: IO[bytes] | None, label: str, most: int) -> int:
    """Copy a text up to a limit, in blocks; the number of its lines."""
    lines = size = 0
    last = b"\n"
    while block := source.read(BLOCK):
        if not size and block.startswith((GZIP, ZSTD, PARQUET, ZIP)):
            raise FileError(label, "is not text", "submit runs as text, plain or compressed once with gzip")
        size += len(block)
        if size > most:
            raise FileError(label, f"is longer than {most >> 20} MB when decompressed", REMEDY)
        lines += block.count(b"\n")
        last = block[-1:]
        if target is not None:
            target.write(block)
    return lines + (last != b"\n")


def printable(text: str) -> str:
    """The name of a file or a system as it is stored and shown."""
    return "".join(c for c in text if c.isprintable())[:LONGEST]


if __name__ == "__main__":
    answer(work)
