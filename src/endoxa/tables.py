"""The tables that every verb takes and gives.

Each is a frozen value around one Polars frame with fixed column names. `of(frame)` checks once, on entry;
after it nobody checks again. Ranks are decided here and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from endoxa.errors import EndoxaError, InstallError, TableError, did_you_mean
from endoxa.policies import Policy, Ties

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.uint32]

OTHER_NAMES = {
    "query": ("query_id", "qid", "topic", "topic_id", "q_id"),
    "item": ("doc_id", "docno", "docid", "did", "document", "item_id"),
    "score": ("sim", "similarity"),
    "grade": ("relevance", "rel", "label", "judgment"),
    "source": ("assessor", "rater", "judge", "worker", "iteration"),
    "system": ("run", "run_id", "tag", "name"),
    "propensity": ("iprob", "inclusion_probability"),
}


class Table:
    """A frame that converts to what other tools take."""

    frame: pl.DataFrame

    def __len__(self) -> int:
        return self.frame.height

    def to_polars(self) -> pl.DataFrame:
        """The frame itself; Polars frames do not change."""
        return self.frame

    def to_pandas(self) -> Any:
        """A pandas frame with the same columns (needs pandas)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise InstallError("pandas is not installed; pip install 'endoxa[pandas]'") from error
        return pd.DataFrame(self.frame.to_dict(as_series=False))

    def to_arrow(self) -> Any:
        """An Arrow table with the same columns (needs pyarrow)."""
        try:
            return self.frame.to_arrow()
        except ModuleNotFoundError as error:
            raise InstallError("pyarrow is not installed; pip install 'endoxa[arrow]'") from error


def rename_known(frame: pl.DataFrame, wanted: tuple[str, ...]) -> pl.DataFrame:
    """Give columns that go by another tool's name (doc_id, docno, relevance, …) the name used here."""
    renames: dict[str, str] = {}
    for name in wanted:
        if name not in frame.columns:
            found = next((other for other in OTHER_NAMES.get(name, ()) if other in frame.columns), None)
            if found:
                renames[found] = name
    return frame.rename(renames) if renames else frame


def require(frame: pl.DataFrame, columns: tuple[str, ...], table: str) -> None:
    """Raise a TableError that names the first column that is missing, and what was there instead."""
    for name in columns:
        if name not in frame.columns:
            hint = did_you_mean(name, frame.columns)
            raise TableError(
                f"a {table} needs a column {name!r}; the columns are {', '.join(frame.columns) or '(none)'}{hint}"
            )


def cast(frame: pl.DataFrame, types: dict[str, Any], table: str) -> pl.DataFrame:
    """Cast the columns; the first value that does not fit is named with its row."""
    for name, dtype in types.items():
        before = frame[name]
        if before.dtype == dtype:
            continue
        try:
            after = _moments(before) if isinstance(dtype, pl.Datetime) else before.cast(dtype, strict=False)
        except pl.exceptions.PolarsError as error:
            raise TableError(f"column {name!r} of the {table} holds {before.dtype}, expected {dtype}") from error
        lost = (after.is_null() & before.is_not_null()).arg_true()
        if len(lost):
            row = int(lost[0])
            what = "a date and time" if isinstance(dtype, pl.Datetime) else "a number"
            raise TableError(f"row {row + 1} of the {table}: {name} {before[row]!r} is not {what}")
        frame = frame.with_columns(after.alias(name))
    return frame


def _moments(column: pl.Series) -> pl.Series:
    """Dates and times, or texts that say them, in UTC."""
    if column.dtype == pl.String:
        return column.str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
    return column.cast(pl.Datetime("us", "UTC"), strict=False)


def refuse_null(frame: pl.DataFrame, columns: tuple[str, ...], table: str) -> None:
    """Raise a TableError for the first null in these columns."""
    for name in columns:
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_true()[0])
            raise TableError(f"row {row + 1} of the {table}: {name} is missing")


@dataclass(frozen=True, eq=False)
class Run(Table):
    """What the systems returned: system, query, item, rank, block, score.

    Rows of one list stand together, in rank order. `rank` counts from 1: score descending, then item id
    descending by bytes (as trec_eval), or the order read under `ties="input"`. `block` is the first rank of
    the run of equal scores that the item stands in.
    """

    frame: pl.DataFrame
    ties: Ties = "trec"

    @classmethod
    def of(cls, frame: pl.DataFrame, *, system: str | None = None, ties: Ties = "trec") -> Run:
        """Check, group and rank the rows. `system` names them where the frame has no such column."""
        Policy(ties=ties)  # refuses what is not a rule for ties
        wanted = ("query", "item", "score") if system is not None else ("system", "query", "item", "score")
        frame = rename_known(frame, wanted)
        require(frame, ("query", "item", "score"), "run")
        if system is None and "system" not in frame.columns:
            system = "run"
        if system is not None:
            frame = frame.with_columns(pl.lit(system).alias("system"))
        frame = frame.select("system", "query", "item", "score")
        frame = cast(frame, {"system": pl.String, "query": pl.String, "item": pl.String, "score": pl.Float64}, "run")
        refuse_null(frame, ("system", "query", "item", "score"), "run")
        if frame["score"].is_nan().any():
            row = int(frame["score"].is_nan().arg_true()[0])
            raise TableError(f"row {row + 1} of the run: score is NaN; an item without a score has no rank")
        frame, first = _grouped(frame)
        _refuse_duplicates(frame, first)
        order, rank, block = _ranked(first, frame["score"].to_numpy(), frame["item"], ties)
        items, scores = frame["item"], frame["score"]
        if order is not None:  # a list keeps its rows, so only these two columns move
            items, scores = items[order], scores[order]
        columns = [frame["system"], frame["query"], items, pl.Series("rank", rank), pl.Series("block", block), scores]
        return cls(pl.DataFrame(columns), ties)

    @property
    def systems(self) -> list[str]:
        """Names of the systems, in the order read."""
        return self.frame["system"].unique(maintain_order=True).to_list()

    def to_dict(self) -> dict[str, dict[str, dict[str, float]]]:
        """{system: {query: {item: score}}}."""
        result: dict[str, dict[str, dict[str, float]]] = {}
        for (system, query), rows in self.frame.group_by("system", "query", maintain_order=True):
            lists = result.setdefault(str(system), {})
            lists[str(query)] = dict(zip(rows["item"].to_list(), rows["score"].to_list(), strict=True))
        return result


def _grouped(frame: pl.DataFrame) -> tuple[pl.DataFrame, Bools]:
    """Rows of one (system, query) side by side, and which of them begin a list."""
    first = _changes(frame)
    heads = first.arg_true()
    pairs = list(zip(frame["system"][heads], frame["query"][heads], strict=True))
    if len(set(pairs)) < len(pairs):
        systems = frame["system"].unique(maintain_order=True).to_list()
        place = frame["system"].replace_strict(systems, list(range(len(systems))), return_dtype=pl.Int64)
        frame = frame.sort(place, "query", maintain_order=True)
        first = _changes(frame)
    return frame, first.to_numpy()


def _changes(frame: pl.DataFrame) -> pl.Series:
    """True where the system or the query is another than in the row before, and in the first row."""
    query, system = frame["query"], frame["system"]
    changes = query.ne_missing(query.shift(1))
    if frame.height and not (system == system[0]).all():
        changes |= system.ne_missing(system.shift(1))
    return changes


def _refuse_duplicates(frame: pl.DataFrame, first: Bools) -> None:
    """An item may stand in a list once. Hashes first; names are compared only where hashes collide."""
    starts, sizes = _lists(first)
    lists = np.arange(len(starts), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    keys = frame["item"].hash().to_numpy() ^ np.repeat(lists, sizes)
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    suspects = frame.filter(pl.Series(keys).is_duplicated())
    twice = suspects.filter(suspects.select("system", "query", "item").is_duplicated())
    if twice.height:
        raise DuplicateItemError(*twice.row(0, named=False)[:3])


def _lists(first: Bools) -> tuple[Ints, Ints]:
    """Where each list begins, and how many rows it has."""
    starts = np.flatnonzero(first)
    return starts, np.diff(np.append(starts, len(first)))


class DuplicateItemError(TableError):
    """An item that stands twice in one list. Readers turn it into a FileError with the line."""

    def __init__(self, system: str, query: str, item: str) -> None:
        self.system, self.query, self.item = system, query, item
        super().__init__(
            f"query {query!r} of {system!r} lists item {item!r} twice; a list ranks an item once: remove one of the two"
        )


def _ranked(first: Bools, score: Floats, item: pl.Series, ties: Ties) -> tuple[Ints | None, Counts, Counts]:
    """Order of the rows (None: as they stand), rank and block of each row in that order.

    `first` marks the rows that begin a list. Most files come in score order, so rank is position; only runs
    of equal scores are sorted by id.
    """
    starts, sizes = _lists(first)
    order: Ints | None = None
    if not (first[1:] | (score[1:] <= score[:-1])).all():
        order = np.lexsort((-score, np.repeat(np.arange(len(starts)), sizes)))
        score = score[order]
    rank = np.arange(1, len(score) + 1, dtype=np.uint32) - np.repeat(starts.astype(np.uint32), sizes)
    equal = np.zeros(len(score), dtype=bool)  # as the row before
    equal[1:] = (score[1:] == score[:-1]) & ~first[1:]
    if not equal.any():
        return order, rank, rank
    tied = equal.copy()
    tied[:-1] |= equal[1:]
    rows = np.flatnonzero(tied)
    run = np.cumsum(~equal[rows]) - 1
    block = rank.copy()
    block[rows] = rank[rows[~equal[rows]]][run]
    if ties != "input":
        order = np.arange(len(score)) if order is None else order
        names = pl.DataFrame({"run": run, "item": item[order[rows]], "row": order[rows]})
        order[rows] = names.sort("run", "item", descending=[False, True])["row"].to_numpy()
    return order, rank, block


@dataclass(frozen=True, eq=False)
class Opinions(Table):
    """Who said what: source, kind, query, item, grade, scale, confidence, selected_by, propensity, role, at.

    `grade` is kept as the number that was given (a float stays a float); null means undecided. A negative
    grade means pooled but not judged, as in TREC files. `propensity` is the probability with which the pair
    was chosen for judging. A pair without a row was not asked.
    """

    frame: pl.DataFrame

    @classmethod
    def of(cls, frame: pl.DataFrame, *, source: str = "qrels", kind: str = "person") -> Opinions:
        """Check the rows. Columns beside query, item and grade may be left out."""
        frame = rename_known(frame, ("query", "item", "grade", "source", "propensity"))
        require(frame, ("query", "item", "grade"), "table of judgments")
        defaults: dict[str, tuple[Any, Any]] = {
            "source": (pl.String, source),
            "kind": (pl.String, kind),
            "query": (pl.String, None),
            "item": (pl.String, None),
            "grade": (pl.Float64, None),
            "scale": (pl.String, None),
            "confidence": (pl.Float64, None),
            "selected_by": (pl.String, None),
            "propensity": (pl.Float64, None),
            "role": (pl.String, "main"),
            "at": (pl.Datetime("us", "UTC"), None),
        }
        absent = [
            pl.lit(value, dtype=dtype).alias(name)
            for name, (dtype, value) in defaults.items()
            if name not in frame.columns
        ]
        frame = frame.with_columns(absent).select(list(defaults))
        frame = cast(frame, {name: dtype for name, (dtype, _) in defaults.items()}, "table of judgments")
        refuse_null(frame, ("source", "query", "item"), "table of judgments")
        wrong = (frame["grade"].is_nan() | frame["grade"].is_infinite()).arg_true()
        if len(wrong):
            row = int(wrong[0])
            said = "NaN; leave it empty for undecided" if frame["grade"].is_nan()[row] else "infinite; give a number"
            raise TableError(f"row {row + 1} of the table of judgments: grade is {said}")
        outside = frame.filter((pl.col("propensity") <= 0) | (pl.col("propensity") > 1))
        if outside.height:
            raise TableError(
                f"inclusion probability {outside['propensity'][0]} of item {outside['item'][0]!r} "
                "is not in (0, 1]; a pair that could not be chosen has no weight"
            )
        twice = frame.filter(frame.select("source", "query", "item").is_duplicated())
        if twice.height:
            raise DuplicateJudgmentError(twice["source"][0], twice["query"][0], twice["item"][0])
        return cls(frame)

    @property
    def sources(self) -> list[str]:
        """Who gave opinions, in order of name."""
        return self.frame["source"].unique().sort().to_list()

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """{query: {item: grade}}; only where one source speaks."""
        if len(self.sources) > 1:
            raise TableError("several assessors: a dict holds one grade per item; use to_polars()")
        result: dict[str, dict[str, float | None]] = {}
        for query, item, grade in self.frame.select("query", "item", "grade").iter_rows():
            result.setdefault(query, {})[item] = grade
        return result


class DuplicateJudgmentError(TableError):
    """A pair judged twice by one source. Readers turn it into a FileError with the line."""

    def __init__(self, source: str, query: str, item: str) -> None:
        self.source, self.query, self.item = source, query, item
        super().__init__(
            f"query {query!r} judges item {item!r} twice; remove one line, "
            "or read column 2 as the assessor (--assessors mean) if several people judged"
        )


@dataclass(frozen=True, eq=False)
class Scores(Table):
    """One row per system, query and measure: value, sd, lo, hi, undefined; and the policy they were made under.

    `sd`, `lo` and `hi` are null where the value is certain. `undefined` is 1 where the measure is 0/0.
    `coverage` has one row per system: queries, missing, unknown, items, judged, tied. `texts` holds
    trec_eval's relstring, which is not a number; `absent` the (system, query) pairs that a run lacks.
    """

    frame: pl.DataFrame
    policy: Policy
    coverage: pl.DataFrame
    texts: pl.DataFrame | None = None
    absent: pl.DataFrame | None = None

    SCHEMA: ClassVar[dict[str, Any]] = dict.fromkeys(("system", "query", "measure"), pl.String) | dict.fromkeys(
        ("value", "sd", "lo", "hi", "undefined"), pl.Float64
    )

    @property
    def systems(self) -> list[str]:
        """Names of the systems, in the order given."""
        return self.coverage["system"].to_list()

    @property
    def measures(self) -> list[str]:
        """Names of the measures, in the order asked for."""
        return self.frame["measure"].unique(maintain_order=True).to_list()

    @property
    def queries(self) -> list[str]:
        """The queries that were scored, in byte order of their names."""
        return self.frame["query"].unique().sort().to_list()

    def matrix(self, measure: str) -> tuple[list[str], list[str], Floats]:
        """(systems, queries, values [system, query]); NaN where a pair was not scored or is undefined."""
        if measure not in self.measures:
            have, hint = ", ".join(self.measures), did_you_mean(measure, self.measures)
            raise EndoxaError(f"no score is called {measure!r}{hint} (there are: {have})")
        rows = self.frame.filter(pl.col("measure") == measure)
        systems, queries = self.systems, rows["query"].unique().sort().to_list()
        values = np.full((len(systems), len(queries)), np.nan)
        at = rows.select(
            pl.col("system").replace_strict(systems, list(range(len(systems))), return_dtype=pl.Int64),
            pl.col("query").replace_strict(queries, list(range(len(queries))), return_dtype=pl.Int64),
        )
        values[at["system"].to_numpy(), at["query"].to_numpy()] = rows["value"].to_numpy()
        return systems, queries, values

    def to_dict(self) -> dict[str, dict[str, dict[str, float]]]:
        """{system: {query: {measure: value}}}, as pytrec_eval with the system in front."""
        result: dict[str, dict[str, dict[str, float]]] = {}
        for system, query, measure, value in self.frame.select("system", "query", "measure", "value").iter_rows():
            result.setdefault(system, {}).setdefault(query, {})[measure] = value
        return result


@dataclass(frozen=True, eq=False)
class Comparison(Table):
    """One row per measure and pair of systems, with intervals and tests, and how they were made.

    Columns: measure, system, baseline, doubt, difference, lo, hi, p_better, p_tie, p_value, p_adjusted,
    effect, test, queries. `difference` is system minus baseline.
    """

    frame: pl.DataFrame
    notes: tuple[str, ...] = field(default=())

    SCHEMA: ClassVar[dict[str, Any]] = {
        "measure": pl.String,
        "system": pl.String,
        "baseline": pl.String,
        "doubt": pl.String,
        "difference": pl.Float64,
        "lo": pl.Float64,
        "hi": pl.Float64,
        "p_better": pl.Float64,
        "p_tie": pl.Float64,
        "p_value": pl.Float64,
        "p_adjusted": pl.Float64,
        "effect": pl.Float64,
        "test": pl.String,
        "queries": pl.Int64,
    }

    def to_dict(self) -> list[dict[str, Any]]:
        """One dict per row."""
        return self.frame.to_dicts()
