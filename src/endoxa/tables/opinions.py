"""Opinions: judgments by people, systems and automatic judges."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from endoxa.errors import TableError, did_you_mean
from endoxa.frozen import dataclass
from endoxa.later import np, on_demand, pl
from endoxa.tables.checks import Floats, Ints, Later, Table, cast, first_true, refuse_null, rename_known, require
from endoxa.tables.grade_words import numbered

KINDS = ("person", "system", "judge")
# roles that test the judge rather than rate the item; excluded from all measures
ASIDE = ("practice", "gold", "attention")
DRAW = ("draw", "draw_after", "draw_depth")
MOST = 2**53  # of a draw: whole numbers that a float holds
# What 0.1 wrote into selected_by: next@10 round 57 after 50, pool@10, adaptive@2
OLD = r"^(next|pool)@([0-9]{1,15})(?: round ([0-9]{1,15})(?: after ([0-9]{1,15}))?)?$|^(adaptive)@([0-9]{1,15})$"
if TYPE_CHECKING:
    COUNTED: pl.Expr
__getattr__ = on_demand(__name__, {"COUNTED": lambda: ~pl.col("role").is_in(ASIDE).fill_null(False)})


@dataclass(frozen=True, eq=False)
class Judged(Later):
    """Judgments of one unnamed source, without an item that is judged twice, by query and descending grade.

    queries  the names, in byte order
    offsets  rows of query q are offsets[q] : offsets[q + 1]
    grade    one per row
    table    the items, as the native core looks them up
    rows     (query, item, grade) of every judgment in the order read
    buffers  offsets and grade as bytes
    """

    queries: list[str]
    offsets: Ints
    grade: Floats
    table: Any
    rows: Callable[[], tuple[list[str], list[str], Floats]]
    buffers: tuple[bytes, bytes]

    @classmethod
    def of(cls, queries: list[str], offsets: bytes, grades: bytes, table: Any, rows: Callable[[], Any]) -> Judged:
        """From the buffers of the native core, without NumPy until the numbers are read."""
        makers = {"offsets": lambda: np.frombuffer(offsets, dtype=np.int64), "grade": lambda: np.frombuffer(grades)}
        return cls.later(makers, queries=queries, table=table, rows=rows, buffers=(offsets, grades))


@dataclass(frozen=True, eq=False, repr=False)
class Opinions(Table):
    """Opinions: source, kind, query, item, grade, scale, confidence, selected_by, draw…, propensity, role, at.

    `grade` is the number that was given (a float stays a float); null means undecided. A negative grade means pooled
    but not judged, as in TREC files. `propensity` is the probability that the pair was chosen for judging, and
    `selected_by` names who chose it: `next`, `adaptive`, `pool`, or systems joined by `+`. `draw` is the round in which
    it was drawn, `draw_depth` the number of first items of each run that it was drawn from. Where every pair is a draw
    of its own, `draw_after` is the number of labels that led to it. `confidence` is the source's own confidence in its
    grade. A pair without a row was not asked; a system, however, votes no on every item that it does not list. Rows
    with the roles practice, gold and attention test the judge rather than rate the item, and count neither as judgments
    nor in a belief.

    `judged` has the judgments of one unnamed source as the native core read them; the frame is then made from them
    when it is first read.
    """

    frame: pl.DataFrame
    judged: Judged | None = None

    NATIVE: ClassVar[tuple[str, ...]] = ("judged",)

    @classmethod
    def of(cls, frame: pl.DataFrame, *, source: str = "qrels", kind: str = "person") -> Opinions:
        """Check the rows. All columns except query, item and grade are optional."""
        frame = rename_known(frame, ("query", "item", "grade", "source", "propensity"))
        require(frame, ("query", "item", "grade"), "table of judgments")
        defaults: dict[str, tuple[Any, Any]] = {
            "source": (pl.String, source), "kind": (pl.String, kind), "query": (pl.String, None),
            "item": (pl.String, None), "grade": (pl.Float64, None), "scale": (pl.String, None),
            "confidence": (pl.Float64, None), "selected_by": (pl.String, None),
            **dict.fromkeys(DRAW, (pl.Int64, None)), "propensity": (pl.Float64, None), "role": (pl.String, "main"),
            "at": (pl.Datetime("us", "UTC"), None),
        }  # fmt: skip
        absent = [
            pl.lit(value, dtype=dtype).alias(name)
            for name, (dtype, value) in defaults.items()
            if name not in frame.columns
        ]
        frame = numbered(frame.with_columns(absent).select(list(defaults)), "table of judgments")
        types = {name: dtype for name, (dtype, _) in defaults.items() if name not in DRAW}
        frame = with_draws(cast(frame, types, "table of judgments"), "table of judgments")
        refuse_null(frame, ("source", "query", "item"), "table of judgments")
        kinds = [kind for kind in frame["kind"].drop_nulls().unique() if kind not in KINDS]
        if kinds:
            hint = did_you_mean(kinds[0], KINDS)
            raise TableError(f"kind of an opinion must be person, system or judge, not {kinds[0]!r}", remedy=hint)
        if (row := first_true(frame["grade"].is_nan() | frame["grade"].is_infinite())) is not None:
            nan = bool(frame["grade"].is_nan()[row])
            problem, remedy = ("NaN", "leave it empty for undecided") if nan else ("infinite", "give a number")
            raise TableError(f"grade is {problem}", remedy=remedy, row=row + 1, table="table of judgments")
        outside = frame.filter((pl.col("propensity") <= 0) | (pl.col("propensity") > 1))
        if outside.height:
            raise TableError(
                f"inclusion probability {outside['propensity'][0]} of item {outside['item'][0]!r} is not in (0, 1]",
                remedy="give the probability with which the pair was chosen",
            )
        twice = frame.filter(frame.select("source", "query", "item").is_duplicated())
        if twice.height:
            raise DuplicateJudgmentError(twice["source"][0], twice["query"][0], twice["item"][0])
        return cls(frame)

    @classmethod
    def of_judged(cls, judged: Judged) -> Opinions:
        """Judgments that were read natively."""

        def frame() -> pl.DataFrame:
            query, item, grade = judged.rows()
            return cls.of(pl.DataFrame({"query": query, "item": item, "grade": grade})).frame

        return cls.later({"frame": frame}, judged=judged)

    @property
    def sources(self) -> list[str]:
        """The sources of the opinions, in order of name."""
        return self.frame["source"].unique().sort().to_list()

    @property
    def by_machines(self) -> bool:
        """Whether machine judges gave them. People and machine judges in one table are refused: they weigh apart."""
        if self.judged is not None:  # the judgments of one unnamed source
            return False
        machines = self.frame["kind"] == "judge"
        if machines.any() and not machines.all():
            raise TableError(
                f"{machines.sum():,} of {len(machines):,} rows are of machine judges (kind judge), beside opinions of "
                "people",
                remedy="put the machine judges into a file of their own, and give it as --judge FILE (judges=)",
            )
        return bool(machines.any())

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Return {query: {item: grade}}; this needs a single source."""
        if len(self.sources) > 1:
            raise TableError("there are several assessors, and a dict has one grade per item", remedy="use to_polars()")
        result: dict[str, dict[str, float | None]] = {}
        for query, item, grade in self.frame.select("query", "item", "grade").iter_rows():
            result.setdefault(query, {})[item] = grade
        return result


def with_draws(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """The frame with its draws as whole numbers. What 0.1 wrote into `selected_by` is split into these columns."""
    absent = [pl.lit(None, pl.Int64).alias(name) for name in DRAW if name not in frame.columns]
    frame = frame.with_columns(absent)
    for name in DRAW:
        if frame[name].null_count() == frame.height:
            frame = frame.with_columns(pl.col(name).cast(pl.Int64))
            continue
        frame = cast(frame, {name: pl.Float64}, table)  # other programs write 2.0 beside empty cells
        if (row := first_true(~frame[name].is_between(0, MOST) | (frame[name] % 1 != 0))) is not None:
            raise TableError(f"{name} {frame[name][row]:g} is not a whole number from 0", row=row + 1, table=table)
        frame = frame.with_columns(pl.col(name).cast(pl.Int64))
    if "selected_by" not in frame.columns or not frame["selected_by"].str.contains(OLD).any():
        return frame
    part = [pl.col("selected_by").str.extract(OLD, group) for group in range(7)]
    number = [text.cast(pl.Int64) for text in part]
    return frame.with_columns(
        pl.coalesce(part[1], part[5], "selected_by").alias("selected_by"),
        pl.coalesce(number[3], number[6], "draw").alias("draw"),
        pl.coalesce(number[4], "draw_after").alias("draw_after"),
        pl.coalesce(number[2], "draw_depth").alias("draw_depth"),
    )


class DuplicateJudgmentError(TableError):
    """A pair that one source judges twice. Readers turn it into a FileError with the line."""

    def __init__(self, source: str, query: str, item: str) -> None:
        super().__init__(
            f"item {item!r} of query {query!r} has two judgments",
            remedy="if several people judged, and column 2 names them, add --assessors mean; otherwise remove one line",
        )
        self.source, self.query, self.item = source, query, item
