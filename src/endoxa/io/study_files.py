"""Readers for the organiser's files: a study file, folders or tables of items and queries, known answers."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl

from endoxa.errors import FileError, TextError, did_you_mean
from endoxa.frozen import dataclass
from endoxa.io.beir import texts_of
from endoxa.io.decoding import is_picture
from endoxa.io.formats import FORMATS
from endoxa.io.limits import TRUST, trusted
from endoxa.io.missing_files import unreadable
from endoxa.io.pictures import keep
from endoxa.io.read import is_there
from endoxa.io.sources import Where, source_of
from endoxa.io.table_files import rows_of
from endoxa.studies.design import Settings
from endoxa.tables import DRAW, OTHER_NAMES, rename_known

TEXTS = {".txt", ".md"}
SHOWN = {"text": pl.String, "file": pl.String, "original": pl.String}
EXPECTED = ("expected", "grade", "category", "relevance", "label")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Sources:
    """The paths of the parts of a study."""

    items: Path | None = None
    queries: Path | None = None
    runs: tuple[Where, ...] = ()
    pairs: Path | None = None
    taxonomy: Path | None = None
    practice: Path | None = None
    gold: Path | None = None
    attention: Path | None = None
    machine_judges: tuple[Where, ...] = ()


SEVERAL = {"runs", "machine_judges"}  # parts of which there may be several files


def read_study(path: Path) -> tuple[Settings, Sources]:
    """A study file (TOML): settings, and the paths of the parts, relative to the file."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise unreadable(str(path), error) from None
    except UnicodeDecodeError:
        raise FileError(str(path), "is not UTF-8 text", "save it as UTF-8") from None
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise FileError(str(path), f"is not TOML: {str(error)[:200]}", "correct the study file") from None
    names = {field.name for field in fields(Sources)}
    parts = {name: given.pop(name) for name in list(given) if name in names}
    known = names | {field.name for field in fields(Settings)}
    for name in given:
        if name not in known:
            raise FileError(str(path), f"a study has no setting {name!r}", remedy=did_you_mean(name, known))
    try:
        settings = Settings.of(given)
    except TextError as error:
        raise FileError.of(error, str(path)) from None
    return settings, sources_of(parts, path.parent, str(path))


def sources_of(parts: dict[str, Any], folder: Path, label: str) -> Sources:
    """The paths of the parts; runs may be patterns. A missing path is an error."""
    found: dict[str, Any] = {}
    for name, value in parts.items():
        wanted = [value] if isinstance(value, str) else value
        if not isinstance(wanted, list) or not all(isinstance(one, str) for one in wanted):
            raise FileError(label, f"{name} is a path{' or a list of paths' if name in SEVERAL else ''}, not {value!r}")
        paths = [path for one in wanted for path in _paths(folder, one, name, label)]
        if name not in SEVERAL and len(paths) != 1:
            raise FileError(label, f"{name} is one path, not {len(paths)}")
        found[name] = tuple(paths) if name in SEVERAL else paths[0]
    return Sources(**found)


def _paths(folder: Path, wanted: str, name: str, label: str) -> Iterable[Path]:
    path = folder / wanted
    if is_there(path):
        return [path]
    pattern = not Path(wanted).is_absolute() and any(c in wanted for c in "*?[")
    try:
        matching = sorted(folder.glob(wanted)) if pattern else []
    except (ValueError, OSError) as error:
        what = f"{name}: {wanted} is not a pattern ({error})"
        raise FileError(label, what, "use * within a name, or ** alone") from None
    if not matching:
        raise FileError(label, f"{name}: there is no {wanted}", "paths are relative to the study file")
    return matching


def read_shown(path: Path, name: str, folder: Path, progress: Progress | None = None) -> pl.DataFrame:
    """Items or queries: name, text, file (as stored in `folder`), original.

    The source is a folder of pictures and texts, named by their paths without suffix, or a table with the name and
    `text`, `file` (relative to the table) or both; or a collection of BEIR, whose titles stand above the texts. All
    pictures that cannot be decoded are reported together.
    """
    rows = rows_shown(path, name)
    found: list[tuple[str, str | None, str | None, str | None]] = []
    wrong: list[str] = []
    for at, (label, text, file) in enumerate(rows, start=1):
        kept = original = None
        if file is not None:
            try:
                kept, original = keep(file, folder)
            except FileError as error:
                wrong.append(str(error))
                continue
        found.append((label, text, kept, original))
        if progress is not None:
            progress(path.name, at, len(rows))
    if wrong:
        more = f"\n(and {len(wrong) - 10} more)" if len(wrong) > 10 else ""
        what = f"{len(wrong)} of {len(rows)} pictures cannot be shown:\n"
        raise FileError(str(path), what + "\n".join(wrong[:10]) + more)
    if not found:
        raise FileError(str(path), f"contains no {name}", "expected pictures, texts or a table")
    return pl.DataFrame(found, schema={name: pl.String} | SHOWN, orient="row")


Row = tuple[str, str | None, Path | None]


def rows_shown(path: Path, name: str, only: Collection[str] | None = None) -> list[Row]:
    """Items or queries as (name, text, picture): those named in `only`, or all. Each has a text, a picture or both."""
    if path.is_dir() and (texts := texts_of(path, name)) is not None:
        path = texts
    rows = _in_folder(path) if path.is_dir() else _in_table(path, name)
    if only is not None:
        rows = [row for row in rows if row[0] in only]
    seen: set[str] = set()
    for label, text, file in rows:
        if label in seen:
            raise FileError(str(path), f"{name} {label!r} occurs twice", "rename one of them")
        seen.add(label)
        if "\0" in label or "\0" in (text or ""):
            raise FileError(str(path), f"{name} {label!r} contains a NUL, which cannot be stored", "remove it")
        if file is None and (text is None or not text.strip()):
            raise FileError(str(path), f"{name} {label!r} has neither text nor a picture", "give it one of them")
    return rows


def _in_folder(folder: Path) -> list[Row]:
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    shown = {path.with_suffix("") for path in files if is_picture(path)}
    rows: list[Row] = []
    for path in files:
        name = path.relative_to(folder).with_suffix("").as_posix()
        if is_picture(path):
            caption = path.with_suffix(".txt")
            rows.append((name, _words(caption) if caption.exists() else None, path))
        elif path.suffix.lower() in TEXTS and path.with_suffix("") not in shown:
            rows.append((name, _words(path), None))
    return rows


def _words(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError:
        raise FileError(str(path), "is not UTF-8 text", "save it as UTF-8") from None


def _in_table(path: Path, name: str) -> list[Row]:
    """Return name, text and picture of each row of a table."""
    frame = read_any(path)
    named = next((one for one in (name, *OTHER_NAMES.get(name, ()), "_id", "id", "name") if one in frame.columns), None)
    if named is None or not {"text", "file"} & set(frame.columns):
        what = f"has the columns {', '.join(frame.columns)}"
        raise FileError(str(path), what, f"expected {name}, and text or file or both")
    rows: list[Row] = []
    for at, row in enumerate(frame.iter_rows(named=True), start=1):
        if row[named] is None:
            raise FileError(str(path), f"row {at} has no {name}")
        file, text, title = row.get("file"), row.get("text"), row.get("title")
        if named == "_id" and title:
            text = f"{title}\n{text or ''}".strip()
        place = _below(path, str(file)) if file else None
        rows.append((str(row[named]), None if text is None else str(text), place))
    return rows


def _below(table: Path, file: str) -> Path:
    """The file that a table names. A table of somebody else must not show files from elsewhere on this machine."""
    place = table.parent / file
    if "\0" in file:
        raise FileError(str(table), f"names {file!r:.60}, which cannot be a path", "remove the NUL")
    if not trusted() and not place.resolve().is_relative_to(table.parent.resolve()):
        what = f"names {file!r}, which is not below the folder of the table"
        raise FileError(str(table), what, f"move the files there, or set {TRUST}=1 if the table is yours")
    return place


def read_any(path: Path) -> pl.DataFrame:
    """Any small table; columns of CSV and TSV stay texts, because numbers may be names."""
    form = FORMATS.get(path.suffix.lower())
    if form is None:
        raise FileError(str(path), "is not a table of a known form", "use .csv, .tsv, .jsonl or .parquet, or a folder")
    source = source_of(path)
    return rows_of(source, form)[0]


def read_known(path: Path, *, has_query: bool) -> pl.DataFrame:
    """Known answers: query, item, expected (also called grade or category)."""
    frame = read_any(path)
    expected = next((name for name in EXPECTED if name in frame.columns), None)
    wanted = ["query", "item"] if has_query else ["item"]
    frame = rename_known(frame, tuple(wanted))
    missing = [name for name in wanted if name not in frame.columns]
    if missing or expected is None:
        columns = f"has the columns {', '.join(frame.columns)}"
        raise FileError(str(path), columns, f"expected {', '.join(wanted)} and expected (the known answer)")
    query = pl.col("query").cast(pl.String) if has_query else pl.lit(None, pl.String).alias("query")
    rows = frame.select(query, pl.col("item").cast(pl.String), pl.col(expected).cast(pl.String).alias("expected"))
    for name in (*wanted, "expected"):
        if len(empty := rows[name].is_null().arg_true()):
            raise FileError(str(path), f"row {empty[0] + 1} has no {name}", "fill it in, or remove the row")
    if len(twice := rows.select(wanted).is_duplicated().arg_true()):
        raise FileError(str(path), f"row {twice[-1] + 1}: {rows['item'][twice[-1]]!r} occurs twice", "ask it once")
    return rows


def read_pairs(path: Path) -> pl.DataFrame:
    """Pairs to ask: query, item, and if present propensity, selected_by and the draw."""
    return pairs_in(read_any(path), str(path))


def pairs_in(frame: pl.DataFrame, label: str) -> pl.DataFrame:
    """The pairs of a table; `label` names it in errors."""
    frame = rename_known(frame, ("query", "item", "propensity"))
    if not {"query", "item"} <= set(frame.columns):
        raise FileError(label, f"has the columns {', '.join(frame.columns)}", "expected query and item")
    names = [name for name in ("query", "item", "propensity", "selected_by", *DRAW) if name in frame.columns]
    types = {name: pl.Float64 if name == "propensity" else pl.String for name in names if name not in DRAW}
    try:
        return frame.select(names).cast(types)  # type: ignore[arg-type]
    except pl.exceptions.PolarsError:
        raise FileError(label, "propensity is not a number in every row") from None
