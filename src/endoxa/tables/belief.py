"""Beliefs: probabilities of relevance."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Literal

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.later import pl
from endoxa.notes import Note, note, noted
from endoxa.tables.checks import Table, cast, first_true, refuse_null, rename_known, require, rows_with
from endoxa.tables.opinions import Opinions

ROUNDING = 1e-6  # of resamples, which are stored in single precision
Unmentioned = Literal["irrelevant", "unknown"] | float


@dataclass(frozen=True, eq=False, repr=False)
class Belief(Table):
    """Probabilities of the grades of items: query, reading, weight, item, grade, p.

    A query has weighted readings. Within a reading items are independent, and each has a distribution over grades; the
    rest of its probability belongs to grade 0. `weight` is the share of a reading in its query; the shares of a query
    sum to 1. `unmentioned` is the rule for items without a row: irrelevant, a probability of grade 1, or unknown (which
    gives bounds). `people` and `people_weight` are optional arrays of p and of weight for resamples of the people
    asked, one entry per resample. `model` and `notes` describe how the belief was made and are printed with every
    result; `files` lists the files it was made from, each with size and SHA-256.
    """

    frame: pl.DataFrame
    unmentioned: Unmentioned = "irrelevant"
    model: str = "given"
    notes: tuple[Note, ...] = ()
    files: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, frame: pl.DataFrame, *, unmentioned: Unmentioned = "irrelevant", model: str = "given",
        notes: Iterable[Note | str] = (), files: Iterable[str] = (),
    ) -> Belief:  # fmt: skip
        """Check and sort the rows. Without `reading` a query has one reading; without `grade` the grade is 1."""
        if isinstance(unmentioned, str) and unmentioned not in {"irrelevant", "unknown"}:
            raise TableError(f"unmentioned must be irrelevant, unknown or a probability, not {unmentioned!r}")
        if not isinstance(unmentioned, str) and not 0 <= unmentioned <= 1:
            raise TableError(f"unmentioned must be a probability between 0 and 1, not {unmentioned}")
        frame = rename_known(frame, ("query", "item", "grade"))
        require(frame, ("query", "item", "p"), "belief")
        defaults = {"reading": pl.lit(""), "weight": pl.lit(1.0), "grade": pl.lit(1.0)}
        frame = frame.with_columns(value.alias(name) for name, value in defaults.items() if name not in frame.columns)
        more = [name for name in ("people", "people_weight") if name in frame.columns]
        frame = frame.select("query", "reading", "weight", "item", "grade", "p", *more)
        types = dict.fromkeys(("query", "reading", "item"), pl.String) | dict.fromkeys(
            ("weight", "grade", "p"), pl.Float64
        )
        frame = cast(frame, types, "belief")
        refuse_null(frame, ("query", "reading", "weight", "item", "grade", "p"), "belief")
        _refuse_improper(frame)
        _refuse_improper_people(frame, more)
        keys = frame.select("query", "reading", "item", "grade")
        if (twice := keys.filter(keys.is_duplicated())).height:
            query, reading, item, grade = twice.sort(pl.all()).row(0)
            raise TableError(
                f"query {query!r}, reading {reading!r}: item {item!r} has grade {grade:g} twice",
                remedy="give it one p", row=rows_with(frame, query=query, reading=reading, item=item, grade=grade)[-1],
            )  # fmt: skip
        mass = frame.group_by("query", "reading", "item").agg(pl.col("p").sum()).filter(pl.col("p") > 1 + 1e-9)
        if mass.height:
            query, reading, item, p = mass.row(0)
            raise TableError(
                f"query {query!r}, reading {reading!r}: the probabilities of the grades of item {item!r} sum to {p:g}",
                remedy="they must sum to at most 1", row=rows_with(frame, query=query, reading=reading, item=item)[-1],
            )  # fmt: skip
        frame = frame.sort("query", "reading", "item", "grade", maintain_order=True)
        return cls(_with_shares(frame), unmentioned, model, tuple(map(noted, notes)), tuple(files))

    @property
    def queries(self) -> list[str]:
        """The queries, in byte order of their names."""
        return self.frame["query"].unique().sort().to_list()

    @cached_property
    def certain(self) -> bool:
        """Whether every query has one reading and no p is strictly between 0 and 1."""
        p = self.frame["p"]
        one = self.frame.select(pl.struct("query", "reading").n_unique() == pl.col("query").n_unique()).item()
        return bool(one and ((p == 0) | (p == 1)).all() and isinstance(self.unmentioned, str))

    def expected(self) -> Opinions:
        """Return the expected grades, averaged over readings, as judgments; plugin=True scores against them."""
        frame = self.frame.group_by("query", "item", maintain_order=True).agg(
            (pl.col("weight") * pl.col("p") * pl.col("grade")).sum().alias("grade")
        )
        return Opinions.of(frame, source=self.model, kind="judge")

    def lines(self) -> list[Note]:
        """Return what a result says about the belief: its size, and its notes."""
        readings = self.frame.select(pl.struct("query", "reading").n_unique()).item() if len(self) else 0
        pairs = self.frame.select(pl.struct("query", "item").n_unique()).item() if len(self) else 0
        sizes = {"queries": len(self.queries), "readings": readings, "pairs": pairs}
        return [note("belief.size", model=self.model, **sizes, unmentioned=self.unmentioned), *self.notes]


def _refuse_improper(frame: pl.DataFrame) -> None:
    """Refuse a p outside 0 to 1, a negative weight, two weights of one reading, and weights that sum to 0."""
    p, weight, grade = (pl.col(name) for name in ("p", "weight", "grade"))
    for name, valid, rule in (
        ("p", p.is_between(0, 1), "a probability must be between 0 and 1"),
        ("weight", (weight >= 0) & weight.is_finite(), "a weight must be a number of at least 0"),
        ("grade", grade.is_finite(), "a grade must be a finite number"),
    ):
        if (row := first_true(frame.select(~valid).to_series())) is not None:
            one = frame.row(row, named=True)
            raise TableError(
                f"{name} of item {one['item']!r} in query {one['query']!r} is {one[name]:g}", remedy=rule, row=row + 1
            )
    readings = frame.select("query", "reading", "weight").unique()
    if (torn := readings.filter(readings.select("query", "reading").is_duplicated())).height:
        raise TableError(
            f"reading {torn['reading'][0]!r} of query {torn['query'][0]!r} has two weights", remedy="give it one"
        )
    sums = readings.group_by("query").agg(pl.col("weight").sum()).filter(pl.col("weight") <= 0)
    if sums.height:
        raise TableError(
            f"the weights of query {sums['query'][0]!r} sum to 0",
            remedy="at least one reading must have a positive weight",
        )


def _refuse_improper_people(frame: pl.DataFrame, names: Iterable[str]) -> None:
    """Refuse resamples that are not arrays of probabilities (people) or of weights, of the same length."""
    for name in names:
        dtype = frame.schema[name]
        if not isinstance(dtype, pl.Array) or not dtype.inner.is_numeric():
            raise TableError(
                f"column {name!r} of the belief holds {dtype}, expected an array of numbers", remedy="remove it"
            )
        most = 1 + ROUNDING if name == "people" else float("inf")
        proper = frame[name].explode().cast(pl.Float64).is_between(0, most, closed="left").fill_null(False)
        if (place := first_true(~proper)) is not None:
            row = place // max(dtype.size, 1)
            rule = "probabilities between 0 and 1" if name == "people" else "weights of at least 0"
            raise TableError(
                f"{name} of item {frame['item'][row]!r} in query {frame['query'][row]!r} are not all {rule}",
                remedy="make the belief again", row=row + 1,
            )  # fmt: skip
    if len({len(frame[name][0]) for name in names if frame.height}) > 1:
        raise TableError("people and people_weight have different numbers of resamples", remedy="make the belief again")


def _with_shares(frame: pl.DataFrame) -> pl.DataFrame:
    """Scale the weights of each query to sum to 1."""
    readings = frame.select("query", "reading", "weight").unique(maintain_order=True)
    sums = readings.group_by("query").agg(pl.col("weight").sum().alias("sum"))
    if (sums["sum"] == 1).all():
        return frame
    return (
        frame.join(sums, on="query", how="left", maintain_order="left")
        .with_columns(weight=pl.col("weight") / pl.col("sum"))
        .drop("sum")
    )
