"""Writes tables to files. The suffix decides the format; a file is written completely or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any, Literal

import polars as pl
from polars import selectors

from endoxa.errors import FileError, TableError
from endoxa.io.formats import FORMATS, SEPARATORS, Format
from endoxa.io.qrels import NO_METHOD
from endoxa.io.spreadsheets import escaped
from endoxa.io.table_files import METADATA, NOT_MISSING, PEOPLE, AnyTable, draws_beside
from endoxa.notes import plain
from endoxa.policies import Policy
from endoxa.tables import DRAW, Belief, Comparison, Draws, Opinions, Run, Scores

ELSEWHERE = {".md", ".tex", ".html", ".htm", ".json", ".xlsx"}  # suffixes of formats that a table is not written in
Compression = Literal["uncompressed", "gzip", "zstd"]
COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}
WORD = r"^[^ \t\r\n\x00]+$"  # a value that a column of TREC's text can hold


def write(
    table: AnyTable, path: str | os.PathLike[str], *, form: Format | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Write a table as `.csv`, `.tsv`, `.jsonl`, `.parquet`, or else TREC's text; texts also with `.gz` or `.zst`.

    All formats but TREC's text keep the whole table, and `read` gives it back unchanged. TREC's text of judgments keeps
    query, item and grade, and either the assessor (column 2) or the sampling of the pair (five columns). Only Parquet
    keeps the whole of a belief: text loses the resamples of people, `model`, `notes` and `unmentioned`.
    """
    target = Path(path)
    suffixes = [suffix.lower() for suffix in target.suffixes[-2:]]
    if form is None and suffixes and suffixes[-1] in ELSEWHERE:
        what = type(table).__name__
        raise FileError(str(path), f"{what} is not written as {suffixes[-1]}", "use .csv, .tsv, .jsonl or .parquet")
    compression = COMPRESSIONS.get(suffixes[-1] if suffixes else "", "uncompressed")
    inner = suffixes[-2:-1] if compression != "uncompressed" else suffixes[-1:]
    chosen = form or FORMATS.get(inner[0] if inner else "", "trec")
    if chosen == "parquet" and isinstance(table, Scores) and table.draws is not None:
        with replacing(draws_beside(target)) as part:
            _worlds(table.draws).write_parquet(part)
    with replacing(target) as part:
        if chosen == "parquet":
            table.frame.write_parquet(part, metadata=_metadata(table, metadata or {}))
        elif chosen == "jsonl":
            _for_json(table).write_ndjson(part, compression=compression, check_extension=False)
        elif chosen in SEPARATORS:
            escaped(_as_text(table)).write_csv(
                part, separator=SEPARATORS[chosen], compression=compression, check_extension=False
            )
        else:
            _trec(table, str(path)).write_csv(
                part, separator=" ", include_header=False, quote_style="never", compression=compression,
                check_extension=False,
            )  # fmt: skip


def _worlds(draws: Draws) -> pl.DataFrame:
    """Return the possible worlds as arrays, with one row per measure, system and query."""
    names = pl.DataFrame(
        list(product(draws.measures, draws.systems, draws.queries)), schema=["measure", "system", "query"], orient="row"
    )
    worlds = {"truth": draws.truth, "people": draws.people}
    return names.with_columns(
        pl.Series(name, values.reshape(names.height, -1), dtype=pl.Array(pl.Float64, values.shape[-1]))
        for name, values in worlds.items()
        if values is not None
    )


def write_frame(frame: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write any frame, such as a summary, as .csv, .tsv, .jsonl or .parquet."""
    target = Path(path)
    chosen = FORMATS.get(target.suffix.lower())
    if chosen is None:
        raise FileError(str(path), f"a frame is not written as {target.suffix!r}", "use .csv, .tsv, .jsonl or .parquet")
    with replacing(target) as part:
        if chosen == "parquet":
            frame.write_parquet(part)
        elif chosen == "jsonl":
            frame.write_ndjson(part)
        else:
            escaped(frame).write_csv(part, separator=SEPARATORS[chosen])


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces the target once it is complete, and is removed after an error."""
    if not target.name or target.is_dir():
        raise FileError(str(target), "cannot be written: the path is a folder", "give the name of a file")
    _refuse_name(target)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(target)
    except (OSError, pl.exceptions.ComputeError) as error:
        raise unwritten(target, error) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces the target once it is complete, and is removed after an error.

    The older target is removed last, and put back if it cannot be replaced. Callers refuse a target that is not theirs.
    """
    _refuse_name(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise unwritten(target, error) from None
    try:
        yield part
        older = target.with_name(f".{target.name}.{os.getpid()}.old")
        if target.exists():
            target.rename(older)
        try:
            part.rename(target)
        except BaseException:
            if older.exists():
                older.rename(target)
            raise
        shutil.rmtree(older, ignore_errors=True)
    except (OSError, pl.exceptions.ComputeError) as error:
        raise unwritten(target, error) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def making_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes the target, unless another process has made it meanwhile."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        yield part
        if not target.is_dir():
            part.rename(target)
    except OSError as error:
        raise unwritten(target, error) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_whole(target: Path, content: str | bytes) -> None:
    """Write a text or bytes, completely or not at all."""
    with replacing(target) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


def write_page(text: str, target: Path) -> None:
    """Write a page, completely or not at all; its folder is made if there is none."""
    _refuse_name(target)
    folder_at(target.parent)
    write_whole(target, text)


def folder_at(place: Path) -> Path:
    """The folder at this place, which is made if there is none."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritten(place, error) from None
    return place


def _refuse_name(target: Path) -> None:
    """Refuse a name that no file can have: with a NUL, or with half of a surrogate pair."""
    try:
        possible = b"\0" not in os.fsencode(target)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise FileError(str(target), "cannot be written: no file can have this name", "give another name")


def unwritten(target: Path, error: Exception) -> FileError:
    """Return the error for a file or folder that cannot be written."""
    why = getattr(error, "strerror", None) or str(error)
    remedy = "check that the folder exists, is writable and has free space"
    return FileError(str(target), f"cannot be written: {why}", remedy)


def _trec(table: AnyTable, label: str) -> pl.DataFrame:
    """Return the columns of TREC's text."""
    if isinstance(table, Run):
        frame = table.frame.select("query", pl.lit("Q0").alias("Q0"), "item", "rank", "score", "system")
        return _refuse_blanks(frame, ("query", "item", "system"))
    if isinstance(table, Opinions):
        return _qrels(table)
    what = f"{type(table).__name__} cannot be written as TREC text"
    raise FileError(label, what, "use the suffix .csv, .tsv, .jsonl or .parquet")


def _qrels(table: Opinions) -> pl.DataFrame:
    frame = table.frame
    elsewhere = "use .csv, .jsonl or .parquet"
    if frame["grade"].null_count():
        item = frame.filter(pl.col("grade").is_null())["item"][0]
        raise TableError(f"item {item!r} has no grade", remedy=elsewhere)
    # as people write grades: 2 instead of 2.0, and fractions in full
    grade = pl.Series("grade", [repr(value).removesuffix(".0") for value in frame["grade"]], dtype=pl.String)
    if frame["propensity"].null_count() == frame.height:
        assessor = pl.lit("0").alias("source") if table.sources == ["qrels"] else pl.col("source")
        return _refuse_blanks(frame.select("query", assessor, "item", grade), ("query", "source", "item"))
    if frame["propensity"].null_count() or len(table.sources) > 1:
        raise TableError("sampled qrels need one source and a probability for every pair", remedy=elsewhere)
    if frame.select(pl.any_horizontal(pl.col(DRAW).is_not_null().any())).item():
        raise TableError("TREC text has no columns for how labels were drawn (draw, draw_depth)", remedy=elsewhere)
    frame = frame.select("query", "item", grade, pl.col("selected_by").fill_null(NO_METHOD), "propensity")
    return _refuse_blanks(frame, ("query", "item", "selected_by"))


def _refuse_blanks(frame: pl.DataFrame, names: tuple[str, ...]) -> pl.DataFrame:
    """Refuse names with blanks, which TREC's text cannot hold, and queries that begin with a byte-order mark."""
    for name in names:
        unfit = ~pl.col(name).str.contains(WORD)
        if name == "query":
            unfit |= pl.col(name).str.starts_with("\ufeff")
        found = frame.filter(unfit)
        if found.height:
            raise TableError(
                f"{name} {found[name][0]!r} cannot be written as TREC text (blank, line break, or a byte-order mark "
                "at its start)",
                remedy="use .csv, .jsonl or .parquet",
            )
    return frame


def _for_json(table: AnyTable) -> pl.DataFrame:
    """Prepare a frame for JSON, which has no NaN: NaN becomes null in columns without nulls, or else text."""
    frame = _as_text(table)
    kind = {Scores: "scores", Comparison: "comparison"}.get(type(table), "")
    frame = frame.with_columns(pl.col(name).fill_nan(None) for name in NOT_MISSING.get(kind, ()))
    numbers = frame.select(selectors.float())
    return frame.with_columns(
        column.cast(pl.String) for column in numbers if not column.is_finite().fill_null(True).all()
    )


def _as_text(table: AnyTable) -> pl.DataFrame:
    """Return the frame that a text keeps. Scores get a column with their policy; arrays of people are left out."""
    if isinstance(table, Belief):
        return table.frame.drop(PEOPLE, strict=False)
    if not isinstance(table, Scores):
        return table.frame
    return table.frame.with_columns(pl.lit(policy_words(table.policy)).alias("policy"))


def policy_words(policy: Policy) -> str:
    """Return `ties=trec missing=empty …`, with every setting that differs from its default."""
    words = str(policy).split()
    named = {word.partition("=")[0] for word in words}
    words += [
        f"{field.name}={getattr(policy, field.name)}"
        for field in fields(policy)
        if field.name not in named and getattr(policy, field.name) != field.default
    ]
    return " ".join(words)


def _metadata(table: AnyTable, more: Mapping[str, str]) -> dict[str, str]:
    """Return the metadata of a Parquet file."""
    words: dict[str, Any] = {"kind": type(table).__name__, **more}
    if isinstance(table, Scores):
        if table.draws is not None:
            words["draws"] = json.dumps(plain(table.draws.lines))
        words |= {"policy": policy_words(table.policy), "coverage": table.coverage.write_ndjson()}
        if table.texts is not None:
            words["texts"] = table.texts.write_ndjson()
    if isinstance(table, Comparison):
        words["notes"] = json.dumps(plain(table.notes))
    if isinstance(table, Belief):
        words |= {"unmentioned": json.dumps(table.unmentioned), "model": json.dumps(table.model)}
        words |= {"notes": json.dumps(plain(table.notes)), "files": json.dumps(list(table.files))}
    return {METADATA + key: value for key, value in words.items()}
