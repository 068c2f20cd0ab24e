"""The tables that every verb takes and gives.

Each is a frozen value around one Polars frame with fixed column names. `of(frame)` checks once, on entry;
after it nobody checks again. Ranks are decided here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

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
    was chosen for judging. `confidence` is how sure the source is of the grade it gave. A pair without a row was
    not asked; but a system answers no to what it does not name. Rows of the roles practice, gold and attention try the
    judge, and count neither as judgments nor in a belief.
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
        kinds = [kind for kind in frame["kind"].drop_nulls().unique() if kind not in KINDS]
        if kinds:
            hint = did_you_mean(kinds[0], KINDS)
            raise TableError(f"an opinion is of a person, a system or a judge, not of kind {kinds[0]!r}{hint}")
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


KINDS = ("person", "system", "judge")
ASIDE = (
    "practice",
    "gold",
    "attention",
)  # roles that try the judge, not the item: no measure and no belief counts them
COUNTED = ~pl.col("role").is_in(ASIDE).fill_null(False)
Unmentioned = Literal["irrelevant", "unknown"] | float


@dataclass(frozen=True, eq=False)
class Belief(Table):
    """What is held to be relevant, and how surely: query, reading, weight, item, grade, p.

    A query has weighted readings; within a reading items are independent and each has a distribution over
    grades, whose missing mass is grade 0. `weight` belongs to (query, reading) and is the reading's share:
    shares of a query sum to 1. `unmentioned` says what an item without a row is: irrelevant, a probability of
    grade 1, or unknown (which gives bounds). `people` and `people_weight`, where present, are arrays of p and
    of weight as they would be had other people of the same kind been asked, one entry per resample.
    `model` and `notes` say how the belief came about and are printed with every result; `files` says what it was
    made of, each with size and SHA-256.
    """

    frame: pl.DataFrame
    unmentioned: Unmentioned = "irrelevant"
    model: str = "given"
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        frame: pl.DataFrame,
        *,
        unmentioned: Unmentioned = "irrelevant",
        model: str = "given",
        notes: Iterable[str] = (),
        files: Iterable[str] = (),
    ) -> Belief:
        """Check and sort the rows. Without `reading` a query has one; without `grade` it is 1."""
        if isinstance(unmentioned, str) and unmentioned not in {"irrelevant", "unknown"}:
            raise TableError(f"unmentioned is irrelevant, unknown, or a probability, not {unmentioned!r}")
        if not isinstance(unmentioned, str) and not 0 <= unmentioned <= 1:
            raise TableError(f"unmentioned is a probability between 0 and 1, not {unmentioned}")
        frame = rename_known(frame, ("query", "item", "grade"))
        require(frame, ("query", "item", "p"), "belief")
        defaults = {"reading": pl.lit(""), "weight": pl.lit(1.0), "grade": pl.lit(1.0)}
        frame = frame.with_columns(value.alias(name) for name, value in defaults.items() if name not in frame.columns)
        more = [name for name in ("people", "people_weight") if name in frame.columns]
        frame = frame.select("query", "reading", "weight", "item", "grade", "p", *more)
        text, number = (
            dict.fromkeys(("query", "reading", "item"), pl.String),
            dict.fromkeys(("weight", "grade", "p"), pl.Float64),
        )
        frame = cast(frame, text | number, "belief")
        refuse_null(frame, ("query", "reading", "weight", "item", "grade", "p"), "belief")
        _refuse_improper(frame)
        frame = frame.sort("query", "reading", "item", "grade", maintain_order=True)
        keys = frame.select("query", "reading", "item", "grade")
        if (twice := keys.filter(keys.is_duplicated())).height:
            query, reading, item, grade = twice.row(0)
            raise TableError(
                f"query {query!r}, reading {reading!r}: item {item!r} has grade {grade:g} twice; give it one p"
            )
        mass = frame.group_by("query", "reading", "item").agg(pl.col("p").sum()).filter(pl.col("p") > 1 + 1e-9)
        if mass.height:
            query, reading, item, p = mass.row(0)
            raise TableError(
                f"query {query!r}, reading {reading!r}: the probabilities of the grades of item {item!r} sum to {p:g}; "
                "they may sum to 1 at the most"
            )
        return cls(_with_shares(frame), unmentioned, model, tuple(notes), tuple(files))

    @property
    def queries(self) -> list[str]:
        """The queries, in byte order of their names."""
        return self.frame["query"].unique().sort().to_list()

    @cached_property
    def certain(self) -> bool:
        """Whether it holds one reading per query and no p strictly between 0 and 1."""
        p = self.frame["p"]
        one = self.frame.select(pl.struct("query", "reading").n_unique() == pl.col("query").n_unique()).item()
        return bool(one and ((p == 0) | (p == 1)).all() and isinstance(self.unmentioned, str))

    def expected(self) -> Opinions:
        """Expected grades, taken as grades: what plugin=True scores against. The mean over readings too."""
        frame = self.frame.group_by("query", "item", maintain_order=True).agg(
            (pl.col("weight") * pl.col("p") * pl.col("grade")).sum().alias("grade")
        )
        return Opinions.of(frame, source=self.model, kind="judge")

    def lines(self) -> list[str]:
        """What a result prints about it."""
        readings = self.frame.select(pl.struct("query", "reading").n_unique()).item() if len(self) else 0
        queries = len(self.queries)
        several = f", {readings / max(queries, 1):.3g} readings each" if readings > queries else ""
        items = self.frame.select(pl.struct("query", "item").n_unique()).item() if len(self) else 0
        rule = (
            self.unmentioned if isinstance(self.unmentioned, str) else f"relevant with probability {self.unmentioned:g}"
        )
        told = f"{queries:,} {'query' if queries == 1 else 'queries'}{several}, {items:,} pairs of query and item"
        return [
            f"belief={self.model}: {told}; what it does not mention is {rule}",
            *self.notes,
        ]


def _refuse_improper(frame: pl.DataFrame) -> None:
    """p between 0 and 1, weights not negative, one weight per reading, weights that sum to something."""
    for name, wrong, said in (
        ("p", ~pl.col("p").is_between(0, 1), "a probability lies between 0 and 1"),
        ("weight", ~((pl.col("weight") >= 0) & pl.col("weight").is_finite()), "a weight is a number, 0 or greater"),
        ("grade", ~pl.col("grade").is_finite(), "a grade is a number"),
    ):
        if (bad := frame.filter(wrong)).height:
            raise TableError(
                f"{name} of item {bad['item'][0]!r} in query {bad['query'][0]!r} is {bad[name][0]:g}; {said}"
            )
    readings = frame.select("query", "reading", "weight").unique()
    if (torn := readings.filter(readings.select("query", "reading").is_duplicated())).height:
        raise TableError(f"reading {torn['reading'][0]!r} of query {torn['query'][0]!r} has two weights; it has one")
    sums = readings.group_by("query").agg(pl.col("weight").sum()).filter(pl.col("weight") <= 0)
    if sums.height:
        raise TableError(f"the weights of query {sums['query'][0]!r} sum to 0; some reading must have a share")


def _with_shares(frame: pl.DataFrame) -> pl.DataFrame:
    """Weights as shares of their query."""
    sums = (
        frame.select("query", "reading", "weight").unique().group_by("query").agg(pl.col("weight").sum().alias("sum"))
    )
    if (sums["sum"] == 1).all():
        return frame
    return (
        frame.join(sums, on="query", how="left", maintain_order="left")
        .with_columns(weight=pl.col("weight") / pl.col("sum"))
        .drop("sum")
    )


@dataclass(frozen=True, eq=False)
class Taxonomy(Table):
    """A tree or acyclic graph of categories: category, parent. A root has a null parent.

    A category with several parents has several rows. Several roots stand under one that is added, `(all)`.
    """

    frame: pl.DataFrame

    ROOT: ClassVar[str] = "(all)"

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Taxonomy:
        """Check the edges: parents are categories too (a parent without a row becomes a root); no cycle."""
        require(frame, ("category", "parent"), "taxonomy")
        frame = cast(frame.select("category", "parent"), {"category": pl.String, "parent": pl.String}, "taxonomy")
        refuse_null(frame, ("category",), "taxonomy")
        frame = frame.with_columns(pl.col("parent").replace("", None)).unique(maintain_order=True)
        if not frame.height:
            raise TableError("the taxonomy is empty; expected rows of category and parent")
        inner = frame.filter(pl.col("parent").is_not_null())
        known = pl.concat([frame["category"], inner["parent"]]).unique(maintain_order=True)
        roots = known.filter(~known.is_in(inner["category"].implode()))
        if not len(roots):
            raise TableError(f"the taxonomy has no root: {_cycle(inner)}")
        if len(roots) > 1:
            if cls.ROOT in known:
                raise TableError(f"several categories have no parent, and {cls.ROOT!r} is one of the names; rename it")
            top = pl.DataFrame({"category": roots, "parent": [cls.ROOT] * len(roots)})
            inner, root = pl.concat([inner, top]), cls.ROOT
        else:
            root = roots[0]
        found = cls(pl.concat([pl.DataFrame({"category": [root], "parent": [None]}, schema=inner.schema), inner]))
        found.ancestors  # noqa: B018  refuses a cycle
        return found

    @classmethod
    def of_paths(cls, paths: Iterable[str]) -> Taxonomy:
        """The tree in paths like `animals/birds/owls`; a category is called by its whole path."""
        rows: dict[tuple[str, str | None], None] = {}
        for path in paths:
            parts = [part for part in path.split("/") if part]
            for depth in range(len(parts)):
                rows["/".join(parts[: depth + 1]), "/".join(parts[:depth]) or None] = None
        return cls.of(pl.DataFrame(list(rows), schema={"category": pl.String, "parent": pl.String}, orient="row"))

    @property
    def root(self) -> str:
        """The category that holds all others."""
        return str(self.frame["category"][0])

    @property
    def categories(self) -> list[str]:
        """Every category, the root first."""
        return self.frame["category"].unique(maintain_order=True).to_list()

    @cached_property
    def ancestors(self) -> dict[str, frozenset[str]]:
        """Each category with all that it lies under, itself among them."""
        parents: dict[str, list[str]] = {}
        for category, parent in self.frame.iter_rows():
            parents.setdefault(category, [])
            if parent is not None:
                parents[category].append(parent)
        found: dict[str, frozenset[str]] = {}
        waiting = dict(parents)
        while waiting:
            ready = [name for name, above in waiting.items() if all(parent in found for parent in above)]
            if not ready:
                edges = [(name, parent) for name, above in waiting.items() for parent in above if parent in waiting]
                left = pl.DataFrame(edges, schema=["category", "parent"], orient="row")
                raise TableError(f"the taxonomy is not acyclic: {_cycle(left)}")
            for name in ready:
                found[name] = frozenset({name}).union(*(found[parent] for parent in waiting.pop(name)))
        return found


def _cycle(edges: pl.DataFrame) -> str:
    """A cycle among the edges, as text."""
    parent: dict[str, str] = dict(edges.select("category", "parent").iter_rows())
    name, path = next(iter(parent)), list[str]()
    while name not in path:
        path.append(name)
        name = parent[name]
    return " lies under ".join([*path[path.index(name) :], name]) + "; remove one of these edges"


@dataclass(frozen=True, eq=False)
class Labels(Table):
    """Who filed which item where: source, item, category. A person may file an item in several categories."""

    frame: pl.DataFrame

    @classmethod
    def of(cls, frame: pl.DataFrame, *, source: str = "labels") -> Labels:
        """Check the rows; a frame without `source` is one labelling. An empty category is no answer and is left out."""
        frame = rename_known(frame, ("source", "item"))
        require(frame, ("item", "category"), "table of labels")
        if "source" not in frame.columns:
            frame = frame.with_columns(pl.lit(source).alias("source"))
        frame = cast(
            frame.select("source", "item", "category"),
            dict.fromkeys(("source", "item", "category"), pl.String),
            "table of labels",
        )
        refuse_null(frame, ("source", "item"), "table of labels")
        frame = frame.filter(pl.col("category").is_not_null() & (pl.col("category") != ""))
        if not frame.height:
            raise TableError("there is no label; expected rows of item and category, and who filed it")
        return cls(frame.unique(maintain_order=True))

    @property
    def sources(self) -> list[str]:
        """Who filed, in the order read."""
        return self.frame["source"].unique(maintain_order=True).to_list()


@dataclass(frozen=True, eq=False)
class Answers(Table):
    """Each subject's own ranked answer: source, query, item, rank, relevance.

    `relevance` lies in [0, 1] and falls with rank, evenly from 1 where it is not given. Rows of one answer stand
    together, in rank order, and ranks count 1, 2, 3 …: they are made from relevance (falling) where the frame
    has no `rank`, and closed up where it leaves gaps.
    """

    frame: pl.DataFrame

    @classmethod
    def of(cls, frame: pl.DataFrame, *, source: str = "subject") -> Answers:
        """Check and rank the rows; an item stands once, and items at one rank have one relevance."""
        frame = rename_known(frame, ("source", "query", "item"))
        if "relevance" not in frame.columns and "grade" in frame.columns:
            frame = frame.rename({"grade": "relevance"})
        require(frame, ("query", "item"), "table of answers")
        if "rank" not in frame.columns and "relevance" not in frame.columns:
            raise TableError(
                "an answer needs a column 'rank' or 'relevance' (or both): in which order do the items stand?"
            )
        given = [pl.lit(source).alias("source")] if "source" not in frame.columns else []
        frame = frame.with_columns(given)
        if "relevance" not in frame.columns:
            place = pl.col("rank").cast(pl.Float64, strict=False).rank("dense").over("source", "query")
            longest = place.max().over("source", "query")
            frame = frame.with_columns(((longest - place + 1) / longest).alias("relevance"))
        if "rank" not in frame.columns:
            frame = frame.with_columns(
                pl.col("relevance")
                .cast(pl.Float64, strict=False)
                .rank("ordinal", descending=True)
                .over("source", "query")
                .alias("rank")
            )
        types = dict.fromkeys(("source", "query", "item"), pl.String) | {"rank": pl.Float64, "relevance": pl.Float64}
        frame = cast(frame.select(list(types)), types, "table of answers")
        refuse_null(frame, tuple(types), "table of answers")
        if (bad := frame.filter(~pl.col("relevance").is_between(0, 1))).height:
            raise TableError(
                f"relevance of item {bad['item'][0]!r} is {bad['relevance'][0]:g}; it lies between 0 and 1 "
                "(five levels from -2 to 2 are rescaled by (g + 2)/4)"
            )
        who = ["source", "query"]
        if (twice := frame.filter(frame.select(*who, "item").is_duplicated())).height:
            row = twice.row(0, named=True)
            raise TableError(
                f"{row['source']!r} lists item {row['item']!r} of query {row['query']!r} twice; "
                "an answer ranks an item once"
            )
        frame = frame.sort(*who, "rank", maintain_order=True)
        rises = frame.filter(pl.col("relevance") > pl.col("relevance").shift(1).over(who))
        if rises.height:
            row = rises.row(0, named=True)
            raise TableError(
                f"{row['source']!r}, query {row['query']!r}: item {row['item']!r} has more relevance than the "
                "one ranked above it; relevance falls with rank"
            )
        torn = frame.filter(
            (pl.col("rank") == pl.col("rank").shift(1).over(who))
            & (pl.col("relevance") != pl.col("relevance").shift(1).over(who))
        )
        if torn.height:
            row = torn.row(0, named=True)
            raise TableError(
                f"{row['source']!r}, query {row['query']!r}: two items at rank {row['rank']:g} have different "
                "relevance; give equals the same, or ranks of their own"
            )
        return cls(frame.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(who).alias("rank")))

    @property
    def sources(self) -> list[str]:
        """The subjects, in byte order."""
        return self.frame["source"].unique().sort().to_list()


@dataclass(frozen=True, eq=False)
class Draws:
    """Values in possible worlds. World number d is the same for every system.

    truth   [measure, system, query, world]  worlds drawn from the belief as it is; NaN where undefined
    people  the same, each *pair* of neighbouring worlds (2b, 2b+1) drawn from the belief of one resample of the
            people asked; None where nobody can be resampled
    """

    measures: list[str]
    systems: list[str]
    queries: list[str]
    truth: Floats | None
    people: Floats | None = None
    lines: tuple[str, ...] = ()

    def frame(self) -> pl.DataFrame:
        """One row per system, query, measure, doubt and draw; NaN where undefined."""
        parts = []
        for doubt, values in (("truth", self.truth), ("people", self.people)):
            if values is None:
                continue
            at = np.indices(values.shape, dtype=np.uint32).reshape(4, -1)
            names = [pl.Series(part)[at[axis]] for axis, part in enumerate((self.measures, self.systems, self.queries))]
            columns = dict(zip(("measure", "system", "query"), names, strict=True))
            parts.append(
                pl.DataFrame(columns | {"draw": at[3], "value": values.ravel()}).with_columns(
                    pl.lit(doubt).alias("doubt")
                )
            )
        frame = pl.concat(parts)
        return frame.select("system", "query", "measure", "doubt", "draw", "value")


@dataclass(frozen=True, eq=False)
class Scores(Table):
    """One row per system, query and measure: value, sd, lo, hi, undefined; and the policy they were made under.

    `sd`, `lo` and `hi` are null where the value is certain. `undefined` is 1 where the measure is 0/0.
    `coverage` has one row per system: queries, missing, unknown, items, judged, tied. `texts` holds
    trec_eval's relstring, which is not a number; `absent` the (system, query) pairs that a run lacks.
    Where the truth is in doubt, `value` is the expectation given that the measure is defined, `undefined` the
    probability that it is not, and `draws` holds its values in possible worlds.
    """

    frame: pl.DataFrame
    policy: Policy
    coverage: pl.DataFrame
    texts: pl.DataFrame | None = None
    absent: pl.DataFrame | None = None
    draws: Draws | None = None

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

    Columns: measure, system, baseline, doubt, difference, lo, hi, p_better, p_tie, superiority, sd, p_value,
    p_adjusted, effect, test, queries. `difference` is system minus baseline; `doubt` says of what the interval
    and the probabilities are: truth, people, queries or all of them.
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
        "superiority": pl.Float64,
        "sd": pl.Float64,
        "p_value": pl.Float64,
        "p_adjusted": pl.Float64,
        "effect": pl.Float64,
        "test": pl.String,
        "queries": pl.Int64,
    }

    def to_dict(self) -> list[dict[str, Any]]:
        """One dict per row."""
        return self.frame.to_dicts()


@dataclass(frozen=True, eq=False)
class Costs(Table):
    """What a system's work cost: system, phase, items, seconds, bytes, median, p95.

    Phases: `describe` (the pictures, where that was done now), `build` (the index), `query`. `seconds` is the whole
    of a phase by the clock, `median` and `p95` are seconds per item of it: per picture, per query. `bytes` is what
    the phase left: the size of its result.
    """

    frame: pl.DataFrame

    SCHEMA: ClassVar[dict[str, Any]] = {
        "system": pl.String,
        "phase": pl.String,
        "items": pl.Int64,
        "seconds": pl.Float64,
        "bytes": pl.Int64,
        "median": pl.Float64,
        "p95": pl.Float64,
    }

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Costs:
        """Check the columns; a median may be missing, the rest not."""
        require(frame, tuple(cls.SCHEMA), "table of costs")
        frame = cast(frame.select(*cls.SCHEMA), cls.SCHEMA, "table of costs")
        refuse_null(frame, ("system", "phase", "seconds"), "table of costs")
        return cls(frame)
