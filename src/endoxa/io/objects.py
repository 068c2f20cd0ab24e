"""Tables from objects of Python: dicts, frames of any library, rows with names, and what other tools make.

{query: {item: number}}, {query: [item, …]}   see `layouts`
pandas, Polars, Arrow; a Dataset              by the names of their columns
Run and Qrels of ranx                         by their class
rows: named tuples, dicts, dataclasses        ir_measures' Qrel and ScoredDoc; RAGAS' samples (`list_rows`)
a list, or {system: …}, of any of these       several runs
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

from endoxa.errors import FileError, TableError
from endoxa.io.beir import graded
from endoxa.io.faults import first_line
from endoxa.io.formats import Wanted, kinds_of, known, lists_in
from endoxa.io.layouts import laid_out, looks_scored, sort_of_numbers
from endoxa.io.list_rows import Names, names_of_row, spread
from endoxa.io.sources import Source
from endoxa.later import pl
from endoxa.policies import Ties
from endoxa.tables import Comparison, Run, Scores, Table, rename_known

if TYPE_CHECKING:
    from endoxa.io.table_files import AnyTable

# The kinds that a dict of numbers may have.
NUMBERED = {"run": "run", "qrels": "opinions", "opinions": "opinions", "sampled": "opinions", "belief": "belief",
            "judge": "opinions"}  # fmt: skip
Sort = Literal["run", "reference", "both", "either", "scores", "grades", "unknown"]
ABSENT = {"NAType", "NaTType"}
SAMPLE = 200  # entries of a dict that are looked at
UNNAMED = "run"  # the name of a system that has none


def of_object(source: Any, *, kind: Wanted = "auto", name: str | None = None, ties: Ties = "trec") -> AnyTable:
    """Return the table in an object; `kind` is needed where the object does not tell."""
    if (ranx := ranx_kind(source)) is not None:
        if kind not in {"auto", ranx} and not (ranx == "qrels" and kind in {"opinions", "sampled"}):
            raise TableError(f"expected {kind}, got a {type(source).__name__} of ranx")
        label = name or getattr(source, "name", None)
        return of_dict(source.to_dict(), kind=ranx, name=label, ties=ties)
    if (listed := listed_rows(source)) is not None:
        return _of_lists(*listed, kind=kind, name=name, ties=ties)
    if isinstance(source, Mapping):
        return of_dict(source, kind=kind, name=name, ties=ties)
    frame = frame_of(source)
    if frame is not None:
        return of_frame(frame, kind=kind, name=name, ties=ties)
    if isinstance(source, Iterable) and not isinstance(source, str | bytes):
        return of_frame(frame_of_rows(list(source)), kind=kind, name=name, ties=ties)
    raise TableError(
        f"cannot read a {type(source).__name__}",
        remedy="give a path, a dict, a frame or rows with query, item and score",
    )


def ranx_kind(source: Any) -> Literal["run", "qrels"] | None:
    """What an object of ranx holds; None if it is none. Its class tells, so that ranx need not be imported."""
    if _package(source) != "ranx" or not hasattr(source, "to_dict"):
        return None
    return "run" if type(source).__name__ == "Run" else "qrels" if type(source).__name__ == "Qrels" else None


# ---- several systems ------------------------------------------------------------------------------------


def systems_in(source: Any) -> list[tuple[str | None, Any]] | None:
    """The parts of a list or a dict of several runs, with their names; None if it is one table."""
    if isinstance(source, Mapping):
        if _package(source) == "datasets":
            raise TableError("a DatasetDict holds several splits", remedy="give one of them, like data['test']")
        values = list(source.values())
        if values and all(_is_whole(value) for value in values):
            return [(str(name), value) for name, value in source.items()]
    elif isinstance(source, list | tuple) and source and not hasattr(source, "_asdict") and all(map(_is_part, source)):
        return [(getattr(part, "name", None) if ranx_kind(part) else None, part) for part in source]
    return None


def _is_whole(value: Any) -> bool:
    """Whether a value below the name of a system is the run of it: a path, a frame, a table, rows that have a query."""
    if isinstance(value, str | os.PathLike | Source | Table) or ranx_kind(value) is not None:
        return True
    if isinstance(value, list | tuple):
        return bool(value) and _has_query(value[0])
    return not isinstance(value, Mapping) and _is_frame(value)


def _is_part(part: Any) -> bool:
    """Whether an element of a list is the run of a system."""
    if isinstance(part, Mapping):
        return bool(part) and all(isinstance(value, Mapping | list | tuple) for value in part.values())
    if isinstance(part, list | tuple) and not hasattr(part, "_asdict"):
        return bool(part) and _has_query(part[0])
    return isinstance(part, Run) or ranx_kind(part) is not None or _is_frame(part)


def _is_frame(value: Any) -> bool:
    return isinstance(value, pl.DataFrame | pl.LazyFrame) or _package(value) in {"pandas", "pyarrow", "datasets"}


def _has_query(row: Any) -> bool:
    try:
        return "query" in known(map(str, named_fields(row)))
    except TableError:
        return False


def are_rows(source: Any) -> bool:
    """Whether a list holds the rows of one table, and not several tables."""
    return isinstance(source, list | tuple) and bool(source) and _has_query(source[0])


def joined(parts: Sequence[tuple[str | None, Any]]) -> Run:
    """Several runs as one. A run without a name is called run1, run2, … by its place."""
    frames, owner = [], dict[str, int]()
    for place, (label, table) in enumerate(parts, 1):
        if not isinstance(table, Run):
            raise TableError(f"part {place} is a table of {type(table).__name__}, not a run", remedy="give runs")
        frame = table.frame
        if label is None and table.systems == [UNNAMED]:
            frame = frame.with_columns(pl.lit(f"{UNNAMED}{place}").alias("system"))
        for system in frame["system"].unique(maintain_order=True):
            if owner.setdefault(system, place) != place:
                raise TableError(
                    f"parts {owner[system]} and {place} both hold system {system!r}", remedy="name them: {name: run}"
                )
        frames.append(frame)
    ties = {table.ties for _, table in parts}
    if len(ties) > 1:
        raise TableError("the runs were ranked by different rules for ties", remedy="read them with the same one")
    return Run(pl.concat(frames), ties.pop())


# ---- rows with lists ------------------------------------------------------------------------------------


def listed_rows(source: Any) -> tuple[list[dict[str, Any]], Names] | None:
    """Rows that hold the whole list of a query, in a frame or a list of dicts, and their columns; None if none do."""
    if _package(source) == "pandas" and hasattr(source, "columns"):
        rows = source.head(1).to_dict("records")
        names = names_of_row(_plain_row(rows[0])) if rows else None
        return None if names is None else ([_plain_row(row) for row in source.to_dict("records")], names)
    if isinstance(source, Mapping):
        return None
    if isinstance(source, list | tuple):
        if not source or isinstance(source[0], str | list | tuple | Table):
            return None
        try:
            row = named_fields(source[0])
        except TableError:
            return None
        names = names_of_row(row)
        return None if names is None else ([named_fields(row) for row in source], names)
    frame = frame_of(source)
    if frame is None or (names := lists_in(frame.schema)) is None:
        return None
    return frame.to_dicts(), names


def _plain_row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row of pandas, whose lists may be arrays of NumPy."""
    return {str(name): value.tolist() if hasattr(value, "tolist") else value for name, value in row.items()}


def _of_lists(
    rows: list[dict[str, Any]], names: Names, *, kind: Wanted, name: str | None, ties: Ties
) -> AnyTable:  # fmt: skip
    held = names.held if kind == "auto" else NUMBERED.get(kind)
    if held == "both":
        raise TableError("the rows hold a run and judgments", remedy="pass kind='run' or kind='qrels'")
    if held not in {"run", "qrels", "opinions"}:
        raise TableError(f"rows with lists are runs or judgments, not {kind}")
    try:
        frame, _ = spread(((None, row) for row in rows), names, "run" if held == "run" else "opinions", "the rows")
    except FileError as error:
        raise TableError(error.problem, remedy=error.remedy) from None
    return of_frame(frame, kind="run" if held == "run" else "qrels", name=name, ties=ties)


# ---- dicts ----------------------------------------------------------------------------------------------


def of_dict(
    values: Mapping[Any, Any], *, kind: Wanted = "auto", name: str | None = None, ties: Ties = "trec"
) -> AnyTable:  # fmt: skip
    """Return the table in {query: {item: number}}, {query: [item, …]} or {system: {query: {item: score}}}."""
    layout = laid_out(values)
    deep = "system" in layout.frame.columns
    if deep and kind not in {"auto", "run"}:
        raise TableError(f"a dict of {{system: {{query: {{item: score}}}}}} is a run, not {kind}")
    chosen = "run" if deep or (kind == "auto" and layout.listed) else NUMBERED.get(kind)
    if chosen is None:
        raise TableError(
            "a dict of {query: {item: number}} may be a run or judgments", remedy="pass kind='run' or kind='qrels'"
        )
    return of_frame(layout.rows(chosen), kind="run" if chosen == "run" else kind, name=name, ties=ties)


def of_frame(frame: pl.DataFrame, *, kind: Wanted = "auto", name: str | None = None, ties: Ties = "trec") -> AnyTable:
    """Return the table in a frame, recognised by its columns. Scores and comparisons are read from files only."""
    from endoxa.io.table_files import OF

    asked = "opinions" if kind in {"qrels", "sampled"} else kind
    if asked in {"auto", "opinions"}:
        frame = _without_iteration(graded(frame))
    if asked == "auto":
        kinds = [which for which in kinds_of(frame.columns) if which == "run" or which in OF]
        if len(kinds) != 1:
            none = "there is no score, grade, p or category, and no rank with a relevance"
            problem = f"the table may be {' or '.join(kinds)}" if kinds else none
            raise TableError(
                f"the columns are {', '.join(frame.columns) or '(none)'}: {problem}",
                remedy="pass kind='run' or kind='qrels'",
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
    raise TableError(f"{asked} cannot be made from a frame", remedy="read them from a file")


def _without_iteration(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave TREC's iteration out where it names nobody, as in files."""
    named = "iteration" in frame.columns and "source" not in frame.columns
    unnamed = named and (frame["iteration"].cast(pl.String).fill_null("0") == "0").all()
    return frame.drop("iteration") if unnamed else frame


def frame_of(source: Any) -> pl.DataFrame | None:
    """Convert any kind of frame to Polars; return None if `source` is not a frame."""
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    package = _package(source)
    if package == "pandas" and hasattr(source, "columns"):
        columns = {str(name): source[name].tolist() for name in source.columns}
        return pl.DataFrame({name: _column(name, values) for name, values in columns.items()})
    if package == "datasets" and hasattr(source, "to_polars"):
        source = source.to_polars()
    if isinstance(source, pl.DataFrame):
        return source
    if _package(source) == "pyspark" and hasattr(source, "toArrow"):
        source = source.toArrow()
    if _package(source) == "pyarrow" or hasattr(source, "__arrow_c_stream__"):
        frame = pl.from_arrow(source)
        return frame if isinstance(frame, pl.DataFrame) else None
    return None


def _package(source: Any) -> str:
    return type(source).__module__.partition(".")[0]


def _column(name: str, values: list[Any]) -> pl.Series:
    """Keep numbers as numbers and turn everything else into text; missing values of pandas become null."""
    values = [None if _is_missing(value) else value for value in values]
    if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        return pl.Series(name, values, strict=False)
    return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)


def _is_missing(value: Any) -> bool:
    """Whether it is None, NaN, or NA or NaT of pandas."""
    return value is None or (isinstance(value, float) and isnan(value)) or type(value).__name__ in ABSENT


def frame_of_rows(rows: list[Any]) -> pl.DataFrame:
    """Return a frame of rows with named fields: named tuples (ir_measures' Qrel, ScoredDoc), dicts, dataclasses."""
    if not rows:
        raise TableError("there are no rows", remedy="expected rows with query, item and score or grade")
    dicts = [named_fields(row) for row in rows]
    names = list(dict.fromkeys(name for row in dicts for name in row))
    return pl.DataFrame([_column(name, [row.get(name) for row in dicts]) for name in names])


def named_fields(row: Any) -> dict[str, Any]:
    """The fields of a row by name: a dict, a named tuple, a dataclass, a model of Pydantic such as RAGAS' samples."""
    if isinstance(row, Mapping):
        return dict(row)
    if hasattr(row, "_asdict"):
        return dict(row._asdict())
    if hasattr(row, "__dataclass_fields__"):
        return {name: getattr(row, name) for name in row.__dataclass_fields__}
    if hasattr(row, "model_dump"):
        return dict(row.model_dump())
    raise TableError(
        f"row {row!r:.60} has no field names", remedy="give named tuples or dicts with query, item and score or grade"
    )


# ---- run or reference -----------------------------------------------------------------------------------


def sort_of(source: Any) -> Sort:
    """Whether an object holds a run or what runs are scored against, as far as it shows.

    run, reference    its class, its columns or its depth tell
    both              rows with what was retrieved and what is relevant
    scores, grades    a dict whose numbers look like scores, or like grades
    either            a dict that may be both
    unknown           anything else, also what cannot be read
    """
    if isinstance(source, Run):
        return "run"
    if _package(source) == "pyspark" and hasattr(source, "limit"):
        source = source.limit(0)  # its columns tell; its rows may be billions
    if isinstance(source, Table):
        return "unknown" if isinstance(source, Scores | Comparison) else "reference"
    if (ranx := ranx_kind(source)) is not None:
        return "run" if ranx == "run" else "reference"
    if (parts := systems_in(source)) is not None:  # a list of tables of labels is no run
        judged = all(sort_of(part) in {"reference", "grades"} for _, part in parts[:SAMPLE])
        return "unknown" if judged else "run"
    if (listed := listed_rows(source)) is not None:
        return SORTS[listed[1].held]
    try:
        if isinstance(source, Mapping):
            if looks_scored(source):
                return "scores"
            sample = _sampled(source)
            if (sort := sort_of_numbers(sample)) is not None:
                return OF_NUMBERS[sort]
            layout = laid_out(sample)
            deep = "system" in layout.frame.columns
            return "run" if deep else OF_NUMBERS[layout.sort]
        frame = frame_of(source)
        if frame is None and isinstance(source, list | tuple):
            frame = frame_of_rows(list(source[:1]))
    except TableError:
        return "unknown"
    kinds = [] if frame is None else kinds_of(frame.columns)
    return "unknown" if len(kinds) != 1 else "run" if kinds == ["run"] else "reference"


def is_flat(source: Any) -> bool:
    """Whether it is a plain dict {query: {item: number}}, as its first number shows."""
    inner = next(iter(source.values()), None) if type(source) is dict else None
    return type(inner) is dict and bool(inner) and type(next(iter(inner.values()))) in {int, float}


def _sampled(values: Mapping[Any, Any], depth: int = 2) -> dict[Any, Any]:
    """The first entries of a dict, and of those in it: enough to tell what it holds."""
    first = islice(values.items(), SAMPLE)
    return {key: _sampled(one, depth - 1) if depth and isinstance(one, Mapping) else one for key, one in first}


OF_NUMBERS: dict[str, Sort] = {"run": "scores", "qrels": "grades", "either": "either"}
SORTS: dict[str, Sort] = {"run": "run", "qrels": "reference", "both": "both"}
