"""The front door for what comes in: files, standard input, dicts, frames, rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any
from warnings import warn

import polars as pl

from endoxa.errors import FileError, TableError
from endoxa.evaluations.evaluation import Evaluation
from endoxa.io.evaluations import of_text
from endoxa.io.formats import Wanted, first_line, kinds_of, known, look
from endoxa.io.preference_files import read_preferences
from endoxa.io.qrels import read_qrels
from endoxa.io.run_files import read_run
from endoxa.io.sources import Source, Where, opened
from endoxa.io.table_files import OF, AnyTable, belief_of, metadata, read_paths, read_table, text_of
from endoxa.io.trec_text import Report, first_columns
from endoxa.policies import Ties
from endoxa.tables import Belief, Opinions, Run, Scores, rename_known


def read(
    source: Any,
    *,
    kind: Wanted = "auto",
    name: str | None = None,
    assessors: bool = False,
    ties: Ties = "trec",
    lenient: bool = False,
    report: Report | None = None,
) -> Any:
    """A table from whatever holds one.

    A path or `-` (standard input): TREC text, CSV, TSV, JSONL, Parquet; gzip and zstd. A list of paths of runs:
    one Run of all systems. A dict {query: {item: number}} (say kind='run', 'qrels' or 'belief') or
    {system: {query: {item: score}}}; a pandas, Polars or Arrow frame; rows with names, such as ir_measures'.
    What a table is, its columns say: score a run, grade judgments, p a belief, category labels, category and parent
    a taxonomy, rank and relevance answers. A text of paths (animals/birds/owls) is read with kind='taxonomy'.

    kind       what it is, where the content does not tell
    name       what to call the system; otherwise the tag says
    assessors  whether column 2 of qrels says who judged
    lenient    skip what cannot be read; `report` gets the record, or a warning is given
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
            return _read_runs(items, ties, lenient, report)
        return of_frame(_frame_of_rows(items), kind=kind, name=name, ties=ties)
    raise TableError(
        f"cannot read a {type(source).__name__}; give a path, a dict, a frame or rows with query, item and score"
    )


def run_of(source: Any) -> Run:
    """A Run from whatever holds one."""
    table = source if isinstance(source, Run) else read(source, kind="run")
    if not isinstance(table, Run):
        raise TableError(f"expected a run, got {type(table).__name__}")
    return table


def judgments_of(source: Any, assessors: str = "one", *, lenient: bool = False) -> Opinions:
    """Judgments from whatever holds them."""
    if isinstance(source, Opinions):
        return source
    table = read(source, kind="qrels", assessors=assessors == "mean", lenient=lenient)
    if not isinstance(table, Opinions):
        raise TableError(f"expected judgments, got {type(table).__name__}")
    return table


def _read_file(
    where: Where,
    *,
    kind: Wanted,
    name: str | None,
    assessors: bool,
    ties: Ties,
    lenient: bool,
    report: Report | None,
) -> AnyTable | Evaluation:
    with opened(where) as source:
        found = look(source, kind)
        if found.kind == "evaluation":
            return _evaluation(source, found.format)
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


def _evaluation(source: Source, form: str) -> Evaluation:
    """An evaluation that was written as JSON or Parquet."""
    if form == "json":
        return of_text(source, text_of(source).decode())
    words = metadata(source, "parquet")
    scores = read_table(source, "scores", "parquet") if "kind" in words else None
    return of_text(source, words["evaluation"], scores if isinstance(scores, Scores) else None)


def _read_runs(places: list[Where], ties: Ties, lenient: bool, report: Report | None) -> Run:
    """One Run of all files."""
    names = system_names(places)
    runs = [
        _read_file(place, kind="run", name=name, assessors=False, ties=ties, lenient=lenient, report=report)
        for place, name in zip(places, names, strict=True)
    ]
    return joined(runs, [label_of(place) for place in places])


def joined(runs: Iterable[Any], labels: list[str]) -> Run:
    """Several runs as one; no system may stand in two of them."""
    frames: list[pl.DataFrame] = []
    owner: dict[str, str] = {}
    ties: Ties = "trec"
    for run, label in zip(runs, labels, strict=True):
        if not isinstance(run, Run):
            raise FileError(label, "is not a run", "read judgments apart from runs")
        for system in run.systems:
            if system in owner:
                raise FileError(label, f"system {system!r} stands in {owner[system]} already", "rename one of them")
            owner[system] = label
        frames.append(run.frame)
        ties = run.ties
    return Run(pl.concat(frames), ties)


def label_of(where: Where) -> str:
    """What errors call it."""
    return where.label if isinstance(where, Source) else os.fspath(where)


def system_names(places: Iterable[Where]) -> list[str | None]:
    """What to call the system of each run file: None where the tags tell them apart, else the file's name.

    Two files with the same tag are usual (`Anserini`, `STANDARD`); then all go by their file names, with a
    warning that says so.
    """
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
        raise FileError(
            label_of(places[stems.index(twice)]),
            f"another file has the tag {shared!r} and the name {twice!r} too",
            "rename one of the files",
        )
    warn(f"several runs have the tag {shared!r}; systems are called after their files", stacklevel=3)
    return list(stems)


def _tag(source: Source) -> str:
    """The tag in the first line of a run; the file's name if it has none to show."""
    if look(source, "run").format == "trec":
        words = first_columns(source.head()) or []
        if len(words) >= 6:
            return words[5]
    return source.stem


# ---- Python objects -----------------------------------------------------------------------------------


def of_dict(
    values: Mapping[Any, Any], *, kind: Wanted = "auto", name: str | None = None, ties: Ties = "trec"
) -> Run | Opinions | Belief:
    """A table from {query: {item: number}} or {system: {query: {item: score}}}."""
    columns = _flattened(values)
    if len(columns) == 4:
        if kind not in {"auto", "run"}:
            raise TableError(f"a dict of {{system: {{query: {{item: score}}}}}} is a run, not {kind}")
        frame = _columns(("system", "query", "item", "score"), columns)
        return Run.of(frame if name is None else frame.drop("system"), system=name, ties=ties)
    if kind == "run":
        return Run.of(_columns(("query", "item", "score"), columns), system=name, ties=ties)
    if kind in {"qrels", "opinions"}:
        return Opinions.of(_columns(("query", "item", "grade"), columns))
    if kind == "belief":
        return belief_of(_columns(("query", "item", "p"), columns))
    raise TableError("a dict of {query: {item: number}} may be a run or judgments; say kind='run' or kind='qrels'")


def _flattened(values: Mapping[Any, Any]) -> list[list[Any]]:
    """The keys at each depth and the values at the end, as columns. Empty dicts leave no row."""
    rows: list[tuple[Any, ...]] = []
    for outer, inner in values.items():
        if not isinstance(inner, Mapping):
            raise TableError(f"{outer!r}: {inner!r} is not a dict; expected {{query: {{item: number}}}}")
        for middle, end in inner.items():
            if isinstance(end, Mapping):
                rows += [(str(outer), str(middle), str(item), value) for item, value in end.items()]
            else:
                rows.append((str(outer), str(middle), end))
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise TableError("the dict is nested two deep in one place and three deep in another")
    if not rows:
        raise TableError("the dict is empty; expected {query: {item: number}}")
    return [list(column) for column in zip(*rows, strict=True)]


def _columns(names: tuple[str, ...], columns: list[list[Any]]) -> pl.DataFrame:
    *keys, values = columns
    return pl.DataFrame(dict(zip(names, [*keys, _floats(values)], strict=True)))


def _floats(values: list[Any]) -> pl.Series:
    numbers: list[float | None] = []
    for value in values:
        try:
            numbers.append(None if value is None else float(value))
        except (TypeError, ValueError):
            raise TableError(f"{value!r} is not a number") from None
    return pl.Series(numbers, dtype=pl.Float64)


def of_frame(frame: pl.DataFrame, *, kind: Wanted = "auto", name: str | None = None, ties: Ties = "trec") -> AnyTable:
    """The table in a frame, told by the columns; all but what measuring makes (scores, a comparison)."""
    try:
        return _of_frame(frame, kind, name, ties)
    except pl.exceptions.PolarsError as error:  # a column of lists, say
        raise TableError(f"the columns do not make a table ({first_line(error)})") from None


def _of_frame(frame: pl.DataFrame, kind: Wanted, name: str | None, ties: Ties) -> AnyTable:
    asked = "opinions" if kind in {"qrels", "sampled"} else kind
    if asked == "auto":
        kinds = [which for which in kinds_of(frame.columns) if which == "run" or which in OF]
        if len(kinds) != 1:
            none = "no score, grade or p, no category, no rank with a relevance"
            what = f"may be {' or '.join(kinds)}" if kinds else none
            raise TableError(
                f"the columns are {', '.join(frame.columns) or '(none)'}: {what}; say kind='run' or kind='qrels'"
            )
        asked = kinds[0]
    if asked == "run":
        if name is not None and "system" in known(frame.columns):
            frame = rename_known(frame, ("system",)).drop("system")
        return Run.of(frame, system=name, ties=ties)
    if asked in OF:
        return OF[asked](frame)
    raise TableError(f"a frame of {asked} is made by measuring; read it from a file")


def _frame(source: Any) -> pl.DataFrame | None:
    """A Polars frame of whatever frame this is; None if it is not one."""
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    package = type(source).__module__.partition(".")[0]
    if package == "pandas":
        columns = {str(name): source[name].tolist() for name in source.columns}
        return pl.DataFrame({name: _column(name, values) for name, values in columns.items()})
    if package == "pyarrow" or hasattr(source, "__arrow_c_stream__"):
        frame = pl.from_arrow(source)
        return frame if isinstance(frame, pl.DataFrame) else None
    return None


def _column(name: str, values: list[Any]) -> pl.Series:
    """Numbers stay numbers, all else becomes text; what pandas holds for missing becomes null."""
    values = [None if value is None or value != value else value for value in values]  # noqa: PLR0124
    if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        return pl.Series(name, values, strict=False)
    return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)


def _frame_of_rows(rows: list[Any]) -> pl.DataFrame:
    """Rows that name their fields: named tuples (ir_measures' Qrel, ScoredDoc), dicts, dataclasses."""
    if not rows:
        raise TableError("no rows; expected rows with query, item and score or grade")
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
        f"row {row!r:.60} does not name its fields; give named tuples or dicts with query, item and score or grade"
    )
