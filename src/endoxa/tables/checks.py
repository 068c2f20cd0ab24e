"""Shared parts of the tables: conversion, column names, and the checks on entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING
from dataclasses import fields as fields_of
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Self

from endoxa.errors import InstallError, TableError
from endoxa.formatting import html_table, notebook_html, number, shortened
from endoxa.later import np, pl

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]
    Counts = npt.NDArray[np.uint32]
else:
    Ints = Floats = Bools = Counts = Any

OTHER_NAMES = {
    "query": ("query_id", "qid", "query-id", "queryid", "q_id", "topic_id", "topic", "question_id"),
    "item": (
        "doc_id", "docno", "docid", "corpus-id", "corpus_id", "did", "pid", "passage_id", "document_id", "document",
        "item_id",
    ),
    "score": ("sim", "similarity"),
    "grade": ("relevance", "rel", "label", "judgment", "judgement", "rating"),
    "source": ("assessor", "rater", "judge", "worker", "annotator", "iteration"),
    "system": ("run", "run_id", "tag", "name"),
    "propensity": ("iprob", "inclusion_probability"),
}  # fmt: skip
# All names of columns that some table has.
COLUMN_NAMES = {
    *OTHER_NAMES, *(other for others in OTHER_NAMES.values() for other in others), "kind", "scale", "confidence",
    "selected_by", "draw", "draw_after", "draw_depth", "role", "at", "rank", "block", "p", "reading", "weight",
    "category", "parent", "group", "subgroup", "level", "measure", "value", "sd", "lo", "hi", "undefined", "policy",
    "baseline", "difference",
}  # fmt: skip
# Beside one of these names, the column `query` or `item` holds a text: PyTerrier has `qid` and `query`.
IDS_OF_TEXTS = {
    "query": ("qid", "query_id", "query-id", "queryid", "q_id", "topic_id"),
    "item": ("docno", "doc_id", "docid", "corpus-id", "corpus_id", "item_id"),
}


SHOWN = 10  # rows that a notebook shows
WIDEST = 60  # letters of a cell in a notebook
ALIKE = 0.65  # how similar a known name is to an unknown one that it is suggested for


@cache
def _factories(cls: Any) -> dict[str, Callable[[], Any] | None]:
    """The fields of a dataclass, and what makes the default of each, if that is not a value."""
    return {one.name: None if one.default_factory is MISSING else one.default_factory for one in fields_of(cls)}


class Later:
    """A frozen dataclass of which some fields may be made when they are first read, as frames from arrays."""

    NATIVE: ClassVar[tuple[str, ...]] = ()  # fields that cannot leave the process: None in a copy elsewhere
    BESIDE: ClassVar[tuple[str, ...]] = ()  # what is kept beside the fields, and made from them otherwise

    @classmethod
    def later(cls, makers: Mapping[str, Callable[[], Any]], **fields: Any) -> Self:
        """An instance with these fields; the `makers` make others when they are asked for."""
        known = _factories(cls)  # type: ignore[arg-type]
        if unknown := {*makers, *fields} - known.keys():
            raise TypeError(f"{cls.__name__} has no field {unknown.pop()!r}")
        value = cls.__new__(cls)
        for name, factory in known.items():
            if factory is not None and name not in fields and name not in makers:
                fields[name] = factory()
        value.__dict__.update(fields, _makers=dict(makers))
        return value

    def changed(self, **fields: Any) -> Self:
        """The same but for these fields; what is not made yet is not made by this either."""
        known = {*_factories(type(self))}  # type: ignore[arg-type]
        if unknown := fields.keys() - known:
            raise TypeError(f"{type(self).__name__} has no field {unknown.pop()!r}")
        known |= {"_makers", *self.BESIDE}
        value = type(self).__new__(type(self))
        value.__dict__.update({name: one for name, one in self.__dict__.items() if name in known} | fields)
        return value

    def __getstate__(self) -> dict[str, Any]:
        """What is copied to other processes: everything made, and nothing that the native core holds."""
        for name in self.__dict__.get("_makers", {}):
            if name not in self.NATIVE:
                getattr(self, name)
        return {name: one for name, one in self.__dict__.items() if name != "_makers"} | dict.fromkeys(self.NATIVE)

    def __dir__(self) -> list[str]:
        """The attributes, also those that are not made yet: completion shows them."""
        return sorted({*super().__dir__(), *self.__dict__.get("_makers", {})} - {"_makers"})

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            makers = self.__dict__.get("_makers", {})
            if name not in makers:
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            value = self.__dict__[name] = makers[name]()
            return value


class Schema:
    """The types of the columns of a table, which need Polars and so are named when they are first asked for."""

    def __init__(self, types: Callable[[], dict[str, Any]]) -> None:
        self.types = types

    def __get__(self, instance: object, owner: type) -> Any:
        return self.types()


class Table(Later):
    """A frame with conversions for other tools."""

    frame: pl.DataFrame

    def __len__(self) -> int:
        return self.frame.height

    def __repr__(self) -> str:
        return f"{type(self).__name__}, {_rows(len(self))}\n{self.frame}"

    def to_polars(self) -> pl.DataFrame:
        """Return the frame itself; Polars frames are immutable."""
        return self.frame

    def to_pandas(self) -> Any:
        """Return a pandas frame with the same columns (needs pandas)."""
        return pandas_of(self.frame)

    def to_arrow(self) -> Any:
        """Return an Arrow table with the same columns (needs pyarrow)."""
        try:
            return self.frame.to_arrow()
        except ModuleNotFoundError as error:
            raise InstallError("pyarrow is not installed", remedy="pip install 'endoxa[arrow]'") from error

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the kind of table, its number of rows, and the first of them."""
        kept = self.frame.select(
            name
            for name, dtype in self.frame.schema.items()
            if not isinstance(dtype, pl.Array) and _holds(self.frame[name])
        )
        shown = [[_cell(value) for value in row] for row in kept.head(SHOWN).iter_rows()]
        right = [dtype.is_numeric() for dtype in kept.dtypes]
        more = f'<p class="note">… and {len(self) - SHOWN:,} more rows</p>' if len(self) > SHOWN else ""
        title = f'<p class="verdict"><b>{type(self).__name__}</b>, {_rows(len(self))}.</p>'
        return notebook_html(f"{title}{html_table(kept.columns, shown, right)}{more}")


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _holds(column: pl.Series) -> bool:
    """Whether a column has any value: empty ones only make a table wide."""
    return not len(column) or column.null_count() < len(column)


def _cell(value: Any) -> str:
    """A value in a notebook: four decimals, a dash for null and NaN, long texts and lists shortened."""
    if value is None or isinstance(value, float):
        return number(value)
    from html import escape

    return escape(shortened([str(value)], WIDEST)[0])


def pandas_of(frame: pl.DataFrame) -> Any:
    """Return a pandas frame with the same columns (needs pandas)."""
    try:
        import pandas as pd
    except ImportError as error:
        raise InstallError("pandas is not installed", remedy="pip install 'endoxa[pandas]'") from error
    return pd.DataFrame(frame.to_dict(as_series=False))


def finite(value: Any) -> Any:
    """Convert a value for JSON: NaN and infinity become None, sequences become lists, unknown types become text."""
    if isinstance(value, Mapping):
        return {str(key): finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [finite(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def rename_known(frame: pl.DataFrame, wanted: tuple[str, ...]) -> pl.DataFrame:
    """Rename columns with another tool's name (doc_id, docno, relevance, …) to the name that Endoxa uses."""
    renames: dict[str, str] = {}
    for name in wanted:
        others = IDS_OF_TEXTS.get(name, ()) if name in frame.columns else OTHER_NAMES.get(name, ())
        found = next((other for other in others if other in frame.columns), None)
        if found:
            renames[found] = name
    return frame.drop(set(renames.values()), strict=False).rename(renames) if renames else frame


def unknown_columns(columns: Iterable[str]) -> str:
    """Return ` (doc is unknown: did you mean docno, docid or doc_id for doc?)`, or nothing if all are known."""
    unknown = [name for name in columns if name not in COLUMN_NAMES]
    verb = "is" if len(unknown) == 1 else "are"
    return f" ({', '.join(unknown):.200} {verb} unknown{nearest_columns(unknown)})" if unknown else ""


def nearest_columns(unknown: Iterable[str]) -> str:
    """Return `: did you mean docno, docid or doc_id for doc?`, or nothing if no known column has a similar name."""
    from difflib import get_close_matches

    known, shown = sorted(COLUMN_NAMES), []
    for name in islice(unknown, SHOWN):
        near = get_close_matches(name.lower()[:WIDEST], known, n=3, cutoff=ALIKE)
        if near:
            shown.append(f"{' or '.join(filter(None, (', '.join(near[:-1]), near[-1])))} for {name:.60}")
    return f": did you mean {'; '.join(shown)}?" if shown else ""


def require(frame: pl.DataFrame, columns: tuple[str, ...], table: str) -> None:
    """Raise a TableError that names the first missing column and the columns that exist."""
    for name in columns:
        if name not in frame.columns:
            names = ", ".join(frame.columns) or "(none)"
            raise TableError(
                f"a {table} needs a column {name!r}", remedy=f"the columns are {names}{unknown_columns(frame.columns)}"
            )


def cast(frame: pl.DataFrame, types: dict[str, Any], table: str) -> pl.DataFrame:
    """Cast the columns; the error names the first value that cannot be converted, with its row."""
    for name, dtype in types.items():
        before = frame[name]
        if before.dtype == dtype:
            continue
        try:
            after = _moments(before) if isinstance(dtype, pl.Datetime) else before.cast(dtype, strict=False)
        except pl.exceptions.PolarsError as error:
            raise TableError(f"column {name!r} of the {table} holds {before.dtype}, expected {dtype}") from error
        if (row := first_true(after.is_null() & before.is_not_null())) is not None:
            what = "a date and time" if isinstance(dtype, pl.Datetime) else "a number"
            raise TableError(f"{name} {before[row]!r} is not {what}", row=row + 1, table=table)
        frame = frame.with_columns(after.alias(name))
    return frame


def _moments(column: pl.Series) -> pl.Series:
    """Convert dates and times, or texts of them, to UTC."""
    if column.dtype == pl.String:
        return column.str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
    return column.cast(pl.Datetime("us", "UTC"), strict=False)


def places(column: pl.Series, names: pl.Series | Sequence[str]) -> Ints:
    """The position of each entry of the column among the names."""
    numbers = pl.int_range(len(names), dtype=pl.Int64, eager=True)
    return column.replace_strict(pl.Series(names), numbers, return_dtype=pl.Int64).to_numpy()


def coded(column: pl.Series) -> tuple[pl.Series, Ints]:
    """The distinct names of a column in byte order, and the position of each entry among them."""
    names = column.unique().sort()
    return names, places(column, names)


def first_true(column: pl.Series) -> int | None:
    """The place of the first true value, counted from 0; None if there is none."""
    return column.arg_max() if column.any() else None


def rows_with(frame: pl.DataFrame, **values: Any) -> list[int]:
    """The rows that have these values in their columns, counted from 1."""
    same = frame.select(pl.all_horizontal(pl.col(name) == value for name, value in values.items())).to_series()
    return [int(row) + 1 for row in same.arg_true()]


def refuse_null(frame: pl.DataFrame, columns: tuple[str, ...], table: str) -> None:
    """Raise a TableError for the first null in these columns."""
    for name in columns:
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_true()[0])
            raise TableError(f"{name} is missing", row=row + 1, table=table)
