"""Reads tables from files, standard input, dicts, frames and rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from warnings import warn

import polars as pl

from endoxa.errors import EndoxaError, FileError, TableError
from endoxa.evaluations.evaluation import Evaluation
from endoxa.io.evaluations import of_text
from endoxa.io.faults import first_line
from endoxa.io.formats import Wanted, kinds_of, known, look, sniff
from endoxa.io.qrels import read_preferences, read_qrels
from endoxa.io.run_files import read_run
from endoxa.io.sources import Source, Where, opened
from endoxa.io.table_files import OF, AnyTable, metadata, read_paths, read_table, text_of
from endoxa.io.trec_text import Report, first_columns
from endoxa.policies import Ties
from endoxa.tables import Run, Scores, rename_known

# The column of the numbers of a dict.
NUMBERS: dict[str, str] = {"run": "score", "qrels": "grade", "opinions": "grade", "belief": "p"}


def read(
    source: Any, *, kind: Wanted = "auto", name: str | None = None, assessors: bool = False, ties: Ties = "trec",
    lenient: bool = False, report: Report | None = None,
) -> Any:  # fmt: skip
    """Return the table that `source` holds.

    A source is a path or `-` (standard input) of TREC text, CSV, TSV, JSONL or Parquet, also with gzip or zstd; a list
    of paths of runs, which become one Run; a dict {query: {item: number}} (with kind='run', 'qrels' or 'belief') or
    {system: {query: {item: score}}}; a pandas, Polars or Arrow frame; or rows with named fields, such as ir_measures'.
    The columns decide the kind of a table: `score` makes a run, `grade` judgments, `p` a belief, `category` labels,
    `category` and `parent` a taxonomy, `rank` and `relevance` answers. A text of paths (animals/birds/owls) is read
    with kind='taxonomy'.

    kind       kind of the table, needed where the content is ambiguous
    name       name of the system; the default is the tag in the file
    assessors  whether column 2 of qrels names the assessor
    lenient    skip lines that cannot be read; `report` gets the record of them, otherwise a warning is given
    """
    if isinstance(source, str | os.PathLike | Source):
        return _read_file(source, kind=kind, name=name, assessors=assessors, ties=ties, lenient=lenient, report=report)
    if isinstance(source, Mapping):
        return of_dict(source, kind=kind, name=name, ties=ties)
    frame = _frame(source)
    if frame is not None:
        return of_frame(frame, kind=kind, name=name, ties=ties)
    if isinstance(source, Iterable):
        items = list(source)
        if items and all(isinstance(item, str | os.PathLike | Source) for item in items):
            return read_runs(items, ties, lenient, report)
        return of_frame(_frame_of_rows(items), kind=kind, name=name, ties=ties)
    raise TableError(
        f"cannot read a {type(source).__name__}; give a path, a dict, a frame or rows with query, item and score"
    )


def is_there(path: str | os.PathLike[str]) -> bool:
    """Whether there is such a file or folder; a text that cannot be a path, such as a long one, is none."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def kind_of(path: str, *, strict: bool = False) -> str:
    """What a file holds; a pipe, or what cannot be told, is taken for judgments: their reader gives the line."""
    if path == "-" or not is_there(path):
        return "qrels"
    try:
        return sniff(path)
    except EndoxaError:
        if strict:
            raise
        return "qrels"


def _read_file(
    where: Where, *, kind: Wanted, name: str | None, assessors: bool, ties: Ties, lenient: bool, report: Report | None
) -> AnyTable | Evaluation:
    with opened(where) as source:
        found = look(source, kind)
        if found.kind == "evaluation":
            if found.format == "json":
                return of_text(source, text_of(source).decode())
            words = metadata(source, "parquet")
            scores = read_table(source, "scores", "parquet") if "kind" in words else None
            return of_text(source, words["evaluation"], scores if isinstance(scores, Scores) else None)
        if found.format != "trec":
            return read_table(source, found.kind, found.format, name=name, ties=ties, lenient=lenient, report=report)
        if found.kind == "run":
            return read_run(source, name=name, ties=ties, lenient=lenient, report=report)
        if found.kind == "taxonomy":
            return read_paths(source)
        if found.kind == "preferences":
            return read_preferences(source, lenient=lenient, report=report)
        sampled = found.kind == "sampled"
        return read_qrels(source, assessors=assessors, sampled=sampled, lenient=lenient, report=report)


def read_runs(
    places: Sequence[Where], ties: Ties, lenient: bool, report: Report | None, names: list[str] | None = None
) -> Run:
    """Read all files into one Run; a system may occur in only one of them. Without names, the tags are the names."""
    frames: list[pl.DataFrame] = []
    owner: dict[str, str] = {}
    for place, name in zip(places, names or system_names(places), strict=True):
        run = _read_file(place, kind="run", name=name, assessors=False, ties=ties, lenient=lenient, report=report)
        label = label_of(place)
        if not isinstance(run, Run):
            raise FileError(label, "the file is not a run", "read judgments separately from runs")
        for system in run.systems:
            if system in owner:
                raise FileError(label, f"system {system!r} is already in {owner[system]}", "rename one of them")
            owner[system] = label
        frames.append(run.frame)
    return Run(pl.concat(frames), ties)


def label_of(where: Where) -> str:
    """Return the name that error messages give the file."""
    return where.label if isinstance(where, Source) else os.fspath(where)


def system_names(places: Iterable[Where]) -> list[str | None]:
    """Return the name of the system of each file: None if the tags differ, else the file's name, with a warning."""
    places = list(places)
    tags: list[str] = []
    stems: list[str] = []
    for place in places:
        with opened(place) as source:
            stems.append(source.stem)
            tags.append(_tag(source))
    shared = next((tag for tag in tags if tags.count(tag) > 1), None)
    if shared is None:
        return [None] * len(places)
    twice = next((stem for stem in stems if stems.count(stem) > 1), None)
    if twice is not None:
        what = f"another file also has the tag {shared!r} and the name {twice!r}"
        raise FileError(label_of(places[stems.index(twice)]), what, "rename one of the files")
    warn(f"several runs have the tag {shared!r}; the systems are named after their files", stacklevel=3)
    return list(stems)


def _tag(source: Source) -> str:
    """Return the tag in the first line of a run, or the file's name if there is no tag."""
    if look(source, "run").format == "trec":
        words = first_columns(source.head()) or []
        if len(words) >= 6:
            return words[5]
    return source.stem


# ---- Python objects -----------------------------------------------------------------------------------


def of_dict(
    values: Mapping[Any, Any], *, kind: Wanted = "auto", name: str | None = None, ties: Ties = "trec"
) -> AnyTable:
    """Return the table in {query: {item: number}} or {system: {query: {item: score}}}. Empty dicts give no row."""
    rows: list[tuple[Any, ...]] = []
    for outer, inner in values.items():
        if not isinstance(inner, Mapping):
            raise TableError(f"{outer!r}: {inner!r} is not a dict; expected {{query: {{item: number}}}}")
        for middle, end in inner.items():
            if isinstance(end, Mapping):
                rows += [(str(outer), str(middle), str(item), _float(value)) for item, value in end.items()]
            else:
                rows.append((str(outer), str(middle), _float(end)))
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise TableError(
            "the dict mixes {query: {item: number}} with {system: {query: {item: score}}}; use one form throughout"
        )
    if not rows:
        raise TableError("the dict is empty; expected {query: {item: number}}")
    if widths == {4}:
        if kind not in {"auto", "run"}:
            raise TableError(f"a dict of {{system: {{query: {{item: score}}}}}} is a run, not {kind}")
        kind, names = "run", ["system", "query", "item", "score"]
    elif kind in NUMBERS:
        names = ["query", "item", NUMBERS[kind]]
    else:
        raise TableError("a dict of {query: {item: number}} may be a run or judgments; pass kind='run' or kind='qrels'")
    schema = {column: pl.Float64 if column == names[-1] else pl.String for column in names}
    return of_frame(pl.DataFrame(rows, schema=schema, orient="row"), kind=kind, name=name, ties=ties)


def _float(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        raise TableError(f"{value!r} is not a number") from None


def of_frame(frame: pl.DataFrame, *, kind: Wanted = "auto", name: str | None = None, ties: Ties = "trec") -> AnyTable:
    """Return the table in a frame, recognised by its columns. Scores and comparisons are read from files only."""
    asked = "opinions" if kind in {"qrels", "sampled"} else kind
    if asked == "auto":
        kinds = [which for which in kinds_of(frame.columns) if which == "run" or which in OF]
        if len(kinds) != 1:
            none = "there is no score, grade, p or category, and no rank with a relevance"
            problem = f"the table may be {' or '.join(kinds)}" if kinds else none
            raise TableError(
                f"the columns are {', '.join(frame.columns) or '(none)'}: {problem}; pass kind='run' or kind='qrels'"
            )
        asked = kinds[0]
    try:
        if asked == "run":
            if name is not None and "system" in known(frame.columns):
                frame = rename_known(frame, ("system",)).drop("system")
            return Run.of(frame, system=name, ties=ties)
        if asked in OF:
            return OF[asked](frame)
    except pl.exceptions.PolarsError as error:  # for example a column of lists
        raise TableError(f"the columns do not form a table ({first_line(error)})") from None
    raise TableError(f"{asked} cannot be made from a frame; read them from a file")


def _frame(source: Any) -> pl.DataFrame | None:
    """Convert any kind of frame to Polars; return None if `source` is not a frame."""
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    package = type(source).__module__.partition(".")[0]
    if package == "pandas":
        columns = {str(name): source[name].tolist() for name in source.columns}
        return pl.DataFrame({name: _column(name, values) for name, values in columns.items()})
    if package == "pyspark" and hasattr(source, "toArrow"):
        source, package = source.toArrow(), "pyarrow"
    if package == "pyarrow" or hasattr(source, "__arrow_c_stream__"):
        frame = pl.from_arrow(source)
        return frame if isinstance(frame, pl.DataFrame) else None
    return None


def _column(name: str, values: list[Any]) -> pl.Series:
    """Keep numbers as numbers and turn everything else into text; missing values of pandas become null."""
    values = [None if value is None or value != value else value for value in values]  # noqa: PLR0124
    if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        return pl.Series(name, values, strict=False)
    return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)


def _frame_of_rows(rows: list[Any]) -> pl.DataFrame:
    """Return a frame of rows with named fields: named tuples (ir_measures' Qrel, ScoredDoc), dicts, dataclasses."""
    if not rows:
        raise TableError("there are no rows; expected rows with query, item and score or grade")
    dicts = [_named_fields(row) for row in rows]
    names = list(dict.fromkeys(name for row in dicts for name in row))
    return pl.DataFrame([_column(name, [row.get(name) for row in dicts]) for name in names])


def _named_fields(row: Any) -> dict[str, Any]:
    if isinstance(row, Mapping):
        return dict(row)
    if hasattr(row, "_asdict"):
        return dict(row._asdict())
    if hasattr(row, "__dataclass_fields__"):
        return {name: getattr(row, name) for name in row.__dataclass_fields__}
    raise TableError(
        f"row {row!r:.60} has no field names; give named tuples or dicts with query, item and score or grade"
    )
