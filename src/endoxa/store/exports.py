"""Exports of a study: a file of answers, or a bundle with which others can score systems."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from sqlalchemy import Connection

from endoxa.errors import FileError, TableError, TextError
from endoxa.io import pictures
from endoxa.io.write import write, write_frame
from endoxa.store import catalogue, records
from endoxa.store import schema as s
from endoxa.store.catalogue import Study
from endoxa.studies import rater_calibration
from endoxa.studies.latest import as_answered, latest, once
from endoxa.tables import COUNTED, Answers, Bundle, Labels, Opinions

FORMS = ("csv", "jsonl", "parquet", "qrels")


def forms_of(study: Study) -> tuple[str, ...]:
    """The forms in which a study can be exported; only opinions can be written as qrels."""
    return FORMS if study.settings.kind.gives_opinions else tuple(form for form in FORMS if form != "qrels")


def export(connection: Connection, study: Study, target: Path, form: str, *, history: bool = False) -> int:
    """Write the current answers, one row per judge and item, or with `history` every row; returns the number of rows.

    csv, jsonl and parquet contain everything that was recorded, under the column names of `Opinions`, `Labels` and
    `Answers`, so that `endoxa` reads them back. Their propensity is the probability that a pair is planned and
    answered; in the history it is the stored one, that a pair is planned. qrels has the judge in column 2, and leaves
    out undecided answers and answers to practice, gold and attention tasks.
    """
    if not target.absolute().parent.is_dir():
        raise FileError(str(target), "cannot be written: there is no such directory", "create it first")
    if form not in FORMS:
        raise TextError(f"a study is exported as {', '.join(FORMS)}, not as {form!r}")
    rows = records.rows(connection, study)
    if form == "qrels":
        return _qrels(study, latest(rows), target)
    kept = rows if history else as_answered(once(latest(rows)), records.answered_shares(connection, study))
    write_frame(_table(study, kept, history=history), target)
    return kept.height


def _table(study: Study, rows: pl.DataFrame, *, history: bool) -> pl.DataFrame:
    act = [pl.col("kind").alias("act")] if history else []
    scale = pl.lit(study.settings.shape.scale_name).alias("scale")
    frame = rows.with_columns(*act, scale, pl.lit("person").alias("kind")).drop("number")
    drop = study.settings.kind.not_exported
    first = [name for name in ("source", "kind", "query", "item", "grade", "category", "rank") if name not in drop]
    return frame.drop(drop).select(*first, pl.exclude(first))


def _qrels(study: Study, answers: pl.DataFrame, target: Path) -> int:
    settings = study.settings
    if not settings.kind.gives_opinions:
        raise TableError(f"screen {settings.screen!r} gives no grades", remedy="export csv, jsonl or parquet")
    opinions = settings.kind.opinions(answers, settings.shape)
    if opinions is None:
        raise TableError("there is no answer yet")
    frame = opinions.frame.filter(pl.col("grade").is_not_null() & COUNTED)
    if not frame.height:
        raise TableError("every answer so far is undecided, practice or gold: there is no grade to write")
    frame = frame.with_columns(_one_word(frame["source"]), pl.lit(None, pl.Float64).alias("propensity"))
    write(Opinions.of(frame), target, form="trec")
    return frame.height


def _one_word(names: pl.Series) -> pl.Series:
    """Nicknames without spaces, still distinct, because a column of a TREC file is one word."""
    words: dict[str, str] = {}
    for name in names.unique(maintain_order=True):
        word = "_".join(name.replace("#", "_").split())
        while word in words.values():
            word += "_"
        words[name] = word
    return names.replace_strict(words)


def bundle(
    connection: Connection, study: Study, *, now: float, with_runs: bool = False, with_files: bool = False
) -> Bundle:
    """The study as a benchmark: every judge's answers, how pairs were chosen, calibration, licence.

    Items have the hash of the original file or, with `with_files`, of the picture as judges saw it.
    """
    settings = study.settings
    shares = records.answered_shares(connection, study)
    answers = as_answered(latest(records.rows(connection, study)), shares)
    table = settings.kind.tabulate(answers, settings.shape)
    if table is None:
        raise TableError(f"study {study.name!r} has no answer yet; there is nothing to bundle")
    fitted = None
    notes: tuple[str, ...] = tuple(
        f"round {number}: {share:.0%} of the planned tasks were answered; the propensities take this into account"
        for number, share in sorted(shares.items())
        if share < 1
    )
    if isinstance(table, Opinions) and len(table.sources) > 1:
        calibration = rater_calibration.calibrate(table)
        fitted, notes = calibration.frame, (*notes, *calibration.notes)
    draws = catalogue.draws_of(connection, study)
    return Bundle(
        name=study.name, title=settings.heading, task=settings.task, licence=settings.licence, screen=settings.screen,
        scale=settings.shape.scale, threshold=settings.relevant_above,
        items=_shown(catalogue.frame_of(connection, s.items, study, "item"), with_files),
        queries=_shown(catalogue.frame_of(connection, s.queries, study, "query"), with_files),
        opinions=table if isinstance(table, Opinions) else None, labels=table if isinstance(table, Labels) else None,
        answers=table if isinstance(table, Answers) else None, taxonomy=catalogue.taxonomy_of(connection, study),
        calibration=fitted, draws=draws if draws.height else None,
        runs=catalogue.run_of(connection, study) if with_runs else None, notes=notes,
        made=datetime.fromtimestamp(now, UTC).date().isoformat(),
    )  # fmt: skip


def _shown(frame: pl.DataFrame, with_files: bool) -> pl.DataFrame:
    """Items or queries with their text and the hash of their file."""
    kept = pl.when(pl.col("file").is_not_null()).then(pl.col("file") + ".jpg")
    hashed = pl.col("file" if with_files else "original").alias("sha256")
    return frame.with_columns(kept.alias("file"), hashed).drop("original")


def files_of(bundle: Bundle, folder: Path) -> dict[str, Path]:
    """The pictures of a bundle, by their name in it; a missing one is an error."""
    found: dict[str, Path] = {}
    for name in {name for frame in (bundle.items, bundle.queries) for name in frame["file"].drop_nulls()}:
        found[name] = pictures.place(folder, name.removesuffix(".jpg"))
        if not found[name].exists():
            raise FileError(str(found[name]), "has vanished", "import the items again, or bundle without --files")
    return found
