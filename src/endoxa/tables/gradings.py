"""Gradings: what machine judges said of items, once or several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.later import pl
from endoxa.notes import Note
from endoxa.tables import opinions as people
from endoxa.tables.checks import Schema, Table, cast, first_true, refuse_null, rename_known, require
from endoxa.tables.opinions import Opinions

WHAT = "table of machine judges"
NAME = "machine judge"  # of a judge that has no other
SCALE = r"^(-?[0-9.]+) ?[-–] ?(-?[0-9.]+)$"  # 0-3


@dataclass(frozen=True, eq=False, repr=False)
class Gradings(Table):
    """Grades by machine judges: judge, query, item, repeat, grade, least, most.

    A judge may grade a pair several times: `repeat` counts from 1. `least` and `most` are the ends of the judge's
    scale, the same in all of its rows: as stated, else 0 and the highest grade that it gave, but at least 1, so that a
    probability of relevance is itself. A pair without a row was not graded. `skipped` says how many rows held no grade,
    by reason.
    """

    frame: pl.DataFrame
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    SCHEMA = Schema(lambda: {
        "judge": pl.String, "query": pl.String, "item": pl.String, "repeat": pl.Int64, "grade": pl.Float64,
        "least": pl.Float64, "most": pl.Float64,
    })  # fmt: skip

    @classmethod
    def of(
        cls, frame: pl.DataFrame, *, judge: str = NAME, skipped: Mapping[str, int] | None = None,
        notes: Sequence[Note] = (),
    ) -> Gradings:  # fmt: skip
        """Check the rows. Needed are query, item and grade; `judge` names the judge where no column does.

        The scale is stated by the columns `least` and `most`, or `scale` (0-3); a grade outside it is refused. Empty
        grades, and negative ones where no scale is stated, are skipped and counted. Rows of one judge, query and item
        are repeats, in their order.
        """
        frame = rename_known(frame, ("query", "item", "grade"))
        require(frame, ("query", "item", "grade"), WHAT)
        absent = [
            pl.lit(value, dtype).alias(name)
            for name, dtype, value in (("judge", pl.String, judge), ("scale", pl.String, None),
                                       ("least", pl.Float64, None), ("most", pl.Float64, None))
            if name not in frame.columns
        ]  # fmt: skip
        frame = frame.with_columns(absent).select("judge", "query", "item", "grade", "scale", "least", "most")
        frame = cast(
            frame,
            dict(zip(frame.columns, [pl.String] * 3 + [pl.Float64, pl.String] + [pl.Float64] * 2, strict=True)),
            WHAT,
        )
        refuse_null(frame, ("judge", "query", "item"), WHAT)
        if (row := first_true(frame["grade"].is_nan() | frame["grade"].is_infinite())) is not None:
            remedy = "leave it empty where there is none"
            raise TableError("grade is not a number", remedy=remedy, row=row + 1, table=WHAT)
        ends = [pl.col("scale").str.extract(SCALE, group).cast(pl.Float64, strict=False) for group in (1, 2)]
        frame = frame.with_columns(
            *(
                pl.coalesce(name, end).first(ignore_nulls=True).over("judge")
                for name, end in zip(("least", "most"), ends, strict=True)
            )
        )
        no_grade = pl.col("grade").is_null()
        negative = ~no_grade & (pl.col("grade") < 0) & pl.col("least").is_null()
        counted = frame.select(empty=no_grade.sum(), negative=negative.sum()).row(0, named=True)
        frame = frame.filter(~no_grade & ~negative)
        outside = (pl.col("grade") < pl.col("least")) | (pl.col("grade") > pl.col("most"))
        if (beyond := frame.filter(outside)).height:
            judge, query, item, grade, _, least, most = beyond.row(0)
            raise TableError(
                f"{judge!r} gave {item!r:.60} of query {query!r:.60} the grade {grade:g}, outside its scale of "
                f"{least:g} to {most:g}",
                remedy="correct the grade, or the scale",
            )
        frame = frame.with_columns(
            repeat=pl.int_range(1, pl.len() + 1).over("judge", "query", "item"),
            least=pl.col("least").fill_null(0.0),
            most=pl.coalesce("most", pl.max_horizontal(pl.col("grade").max().over("judge"), 1.0)),
        )
        without = {**(skipped or {}), **{reason: count for reason, count in counted.items() if count}}
        return cls(frame.select(*cls.SCHEMA).cast(cls.SCHEMA), without, tuple(notes))

    @classmethod
    def of_opinions(cls, opinions: Opinions) -> Gradings:
        """The opinions of one or several judges; each source is a judge."""
        rows = opinions.frame.filter(people.COUNTED)
        return cls.of(rows.select(pl.col("source").alias("judge"), "query", "item", "grade", "scale"))

    @classmethod
    def joined(cls, parts: Sequence[Gradings]) -> Gradings | None:
        """Several tables as one; None of none. A judge that two of them name is refused: which is meant is unclear."""
        if not parts:
            return None
        known: set[str] = set()
        for part in parts:
            if twice := known & set(part.judges):
                raise TableError(
                    f"two tables hold a machine judge called {min(twice)!r}",
                    remedy="rename one of them (column judge), or put the rows of one judge into one file",
                )
            known |= set(part.judges)
        skipped: dict[str, int] = {}
        for part in parts:
            for reason, count in part.skipped.items():
                skipped[reason] = skipped.get(reason, 0) + count
        notes = tuple(one for part in parts for one in part.notes)
        return cls(pl.concat([part.frame for part in parts]), skipped, notes)

    @property
    def judges(self) -> list[str]:
        """The judges, in order of name."""
        return self.frame["judge"].unique().sort().to_list()

    @property
    def opinions(self) -> Opinions:
        """One opinion of kind `judge` per judge and pair: the mean over repeats."""
        scale = pl.format("{}-{}", *(pl.col(end).cast(pl.Int64) for end in ("least", "most")))
        whole = (pl.col("least") % 1 == 0) & (pl.col("most") % 1 == 0)
        rows = self.frame.group_by("judge", "query", "item", maintain_order=True).agg(
            pl.col("grade").mean(), pl.col("least", "most").first()
        )
        rows = rows.with_columns(pl.when(whole).then(scale).alias("scale")).rename({"judge": "source"})
        return Opinions.of(rows.drop("least", "most"), kind="judge")
