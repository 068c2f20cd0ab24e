"""Scores: values of measures, their draws in possible worlds, and comparisons of systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from endoxa.errors import EndoxaError, unknown
from endoxa.frozen import dataclass
from endoxa.later import np, pl
from endoxa.notes import Note
from endoxa.policies import NORMAL, Policy
from endoxa.tables.checks import Floats, Ints, Later, Schema, Table, coded, places

if TYPE_CHECKING:
    from endoxa.tables.belief import Belief
    from endoxa.tables.run import Run

SCORES, DRAWN = ("system", "query", "measure"), ("system", "query", "measure", "doubt")
VALUES = ("value", "sd", "lo", "hi", "undefined")
COVERED = ("queries", "missing", "unknown", "items", "judged", "tied")


@dataclass(frozen=True, eq=False)
class Draws:
    """Values in possible worlds. World number d is the same for every system.

    truth   [measure, system, query, world]  worlds that are drawn from the belief itself; NaN where undefined
    people  the same axes; each *pair* of neighbouring worlds (2b, 2b+1) is drawn from the belief of one resample of the
            people asked; None if nobody can be resampled
    origin  the runs and the belief that were measured, for results that need no draws; not written to files
    """

    measures: list[str]
    systems: list[str]
    queries: list[str]
    truth: Floats | None
    people: Floats | None = None
    lines: tuple[Note, ...] = ()
    origin: tuple[Run, Belief] | None = None

    def frame(self) -> pl.DataFrame:
        """Return one row per system, query, measure, doubt and draw; NaN where undefined."""
        parts = []
        for doubt, values in (("truth", self.truth), ("people", self.people)):
            if values is None:
                continue
            at = np.indices(values.shape, dtype=np.uint32).reshape(4, -1)
            names = [pl.Series(part)[at[axis]] for axis, part in enumerate((self.measures, self.systems, self.queries))]
            columns = dict(zip(("measure", "system", "query"), names, strict=True))
            part = pl.DataFrame(columns | {"draw": at[3], "value": values.ravel()})
            parts.append(part.with_columns(pl.lit(doubt).alias("doubt")))
        if not parts:
            schema: dict[str, Any] = dict.fromkeys(DRAWN, pl.String) | {"draw": pl.UInt32, "value": pl.Float64}
            return pl.DataFrame(schema=schema)
        return pl.concat(parts).select("system", "query", "measure", "doubt", "draw", "value")


@dataclass(frozen=True, eq=False)
class Scored(Later):
    """Scores as arrays. The lists are sorted by system, then by query; every list has a value of every measure.

    systems, queries, measures  the names; queries in byte order
    owner, place       [list] number of its system and of its query
    value, undefined   [measure, list]
    spread             [3, measure, list]: sd, lo, hi, NaN where the value is certain; None where all are
    coverage           one array per column, an entry per system
    absent             [n, 2] system and query of the lists that a run lacks
    flat               `value` as bytes where every system has every query: what needs no NumPy
    """

    systems: list[str]
    queries: list[str]
    measures: list[str]
    owner: Ints
    place: Ints
    value: Floats
    undefined: Floats
    spread: Floats | None
    coverage: dict[str, Ints]
    absent: Ints
    flat: bytes | None = None

    @classmethod
    def of_buffers(
        cls, systems: list[str], queries: list[str], measures: list[str], value: bytes, present: bytes, coverage: bytes
    ) -> Scored:
        """From what the native core counted, as in native/kernels.hpp, for every system and query; without NumPy."""

        def there() -> Any:
            return np.frombuffer(present, dtype=np.uint8).reshape(len(systems), len(queries))

        def matrix() -> Floats:
            return np.frombuffer(value).reshape(len(measures), -1)

        def covered() -> dict[str, Ints]:
            rows = np.frombuffer(coverage, dtype=np.int64).reshape(len(systems), -1).T
            missing = len(queries) - there().sum(1, dtype=np.int64)
            return dict(zip(COVERED, (np.full(len(systems), len(queries)), missing, *rows), strict=True))

        makers: dict[str, Callable[[], Any]] = {
            "owner": lambda: np.repeat(np.arange(len(systems)), len(queries)),
            "place": lambda: np.tile(np.arange(len(queries)), len(systems)),
            "value": matrix, "undefined": lambda: np.isnan(matrix()), "coverage": covered,
            "absent": lambda: np.argwhere(there() == 0),
        }  # fmt: skip
        return cls.later(makers, systems=systems, queries=queries, measures=measures, spread=None, flat=value)

    @cached_property
    def places(self) -> Ints:
        """The queries that were scored, by number."""
        return np.flatnonzero(np.bincount(self.place, minlength=len(self.queries)))

    def lists(self) -> Iterator[tuple[str, str, Sequence[float]]]:
        """System, query and the values of all measures."""
        if self.flat is not None:
            numbers, count = memoryview(self.flat).cast("d"), len(self.systems) * len(self.queries)
            columns = [numbers[begin : begin + count].tolist() for begin in range(0, len(numbers), count)]
            rows = zip(*columns, strict=True)
            for system in self.systems:
                for query, values in zip(self.queries, rows, strict=False):  # the rows go on with the next system
                    yield system, query, values
            return
        rows = zip(self.owner.tolist(), self.place.tolist(), self.value.T.tolist(), strict=True)
        yield from ((self.systems[owner], self.queries[place], values) for owner, place, values in rows)

    def frame(self) -> pl.DataFrame:
        """One row per system, query and measure."""
        count = len(self.measures)
        columns: dict[str, Any] = {
            "system": pl.Series(self.systems)[np.repeat(self.owner, count)],
            "query": pl.Series(self.queries)[np.repeat(self.place, count)],
            "measure": pl.Series(self.measures * len(self.owner), dtype=pl.String),
            "value": self.value.T.ravel(),
        }
        for row, name in enumerate(("sd", "lo", "hi")):
            if self.spread is None:
                columns[name] = pl.Series(name, [None], dtype=pl.Float64).new_from_index(0, self.value.size)
            else:
                columns[name] = pl.Series(name, self.spread[row].T.ravel()).fill_nan(None)
        return pl.DataFrame(columns | {"undefined": self.undefined.T.ravel().astype(float)})

    def coverage_frame(self) -> pl.DataFrame:
        """One row per system."""
        columns = {name: pl.Series(name, self.coverage[name], dtype=pl.Int64) for name in COVERED}
        return pl.DataFrame({"system": pl.Series(self.systems, dtype=pl.String)} | columns)

    def absent_frame(self) -> pl.DataFrame:
        """system, query."""
        lacking = [(self.systems[system], self.queries[query]) for system, query in self.absent]
        return pl.DataFrame(lacking, schema={"system": pl.String, "query": pl.String}, orient="row")


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Table):
    """One row per system, query and measure: value, sd, lo, hi, undefined; with the policy that was applied.

    `sd`, `lo` and `hi` are null if the value is certain. `undefined` is 1 where the measure is 0/0. `coverage` has one
    row per system: queries, missing, unknown, items, judged, tied. `texts` has trec_eval's relstring, which is not a
    number, and `absent` the (system, query) pairs that a run lacks. If the reference is a belief, `value` is the
    expectation given that the measure is defined, `undefined` is the probability that it is not, and `draws` has the
    values in possible worlds. `scored` has the same as arrays, where the frames are made when they are first read.
    """

    frame: pl.DataFrame
    policy: Policy
    coverage: pl.DataFrame
    texts: pl.DataFrame | None = None
    absent: pl.DataFrame | None = field(default_factory=lambda: None)
    draws: Draws | None = None
    scored: Scored | None = None

    SCHEMA = Schema(lambda: dict.fromkeys(SCORES, pl.String) | dict.fromkeys(VALUES, pl.Float64))

    @classmethod
    def of_arrays(cls, scored: Scored, policy: Policy, texts: pl.DataFrame | None, draws: Draws | None) -> Scores:
        """Scores whose frames are made when they are first read."""
        makers = {"frame": scored.frame, "coverage": scored.coverage_frame, "absent": scored.absent_frame}
        return cls.later(makers, policy=policy, texts=texts, draws=draws, scored=scored)

    @property
    def systems(self) -> list[str]:
        """Names of the systems, in the order given."""
        return self.coverage["system"].to_list() if self.scored is None else list(self.scored.systems)

    @property
    def measures(self) -> list[str]:
        """Names of the measures, in the order requested."""
        if self.scored is not None:
            return list(self.scored.measures)
        return self.frame["measure"].unique(maintain_order=True).to_list()

    @property
    def queries(self) -> list[str]:
        """The queries that were scored, in byte order of their names."""
        if self.scored is not None:
            return [self.scored.queries[place] for place in self.scored.places.tolist()]
        return self.frame["query"].unique().sort().to_list()

    @property
    def covered(self) -> list[dict[str, Any]]:
        """The coverage, one dict per system."""
        if self.scored is None:
            return self.coverage.to_dicts()
        columns = {name: self.scored.coverage[name].tolist() for name in COVERED}
        rows = zip(self.scored.systems, *columns.values(), strict=True)
        return [dict(zip(("system", *columns), row, strict=True)) for row in rows]

    def without_value(self) -> dict[tuple[str, str], int]:
        """On how many queries each (system, measure) has no value."""
        if self.scored is None:
            missing = (pl.col("value").is_null() | pl.col("value").is_nan()).sum()
            rows = self.frame.group_by("system", "measure").agg(missing).iter_rows()
            return {(system, measure): count for system, measure, count in rows}
        holes = np.isnan(self.scored.value).astype(np.int64)
        owner, count = self.scored.owner, len(self.scored.systems)
        counts = [np.bincount(owner, row, count).astype(int).tolist() for row in holes]
        pairs = zip(self.scored.measures, counts, strict=True)
        return {(self.scored.systems[at], name): n for name, row in pairs for at, n in enumerate(row)}

    def undefined_lists(self) -> list[tuple[str, int, int]]:
        """Each measure, the number of lists on which it may be undefined, and the number of all lists."""
        if self.scored is None:
            counts = self.frame.group_by("measure", maintain_order=True).agg((pl.col("undefined") > 0).sum(), pl.len())
            return list(counts.iter_rows())
        found = (self.scored.undefined > 0).sum(axis=1).tolist()
        return [(name, n, len(self.scored.owner)) for name, n in zip(self.scored.measures, found, strict=True)]

    def sampled_lists(self) -> list[tuple[str, int, int, float]]:
        """Each measure that was sampled under ties=average, the number of these lists, and the number of all lists.

        The last number is the standard error of a system's mean over queries, the greatest of all systems.
        """
        if self.policy.ties != "average":
            return []
        error = (pl.col("hi") - pl.col("lo")).fill_null(0.0) / (2 * NORMAL)
        defined = pl.col("value").is_not_nan()
        found = (
            self.frame.group_by("system", "measure", maintain_order=True)
            .agg(
                pl.col("lo").is_not_null().sum().alias("sampled"), pl.len().alias("lists"),
                ((error**2).sum().sqrt() / defined.sum()).alias("error"),
            )
            .group_by("measure", maintain_order=True)
            .agg(pl.col("sampled").sum(), pl.col("lists").sum(), pl.col("error").max())
            .filter(pl.col("sampled") > 0)
        )  # fmt: skip
        return list(found.iter_rows())

    def matrix(self, measure: str) -> tuple[list[str], list[str], Floats]:
        """Return (systems, queries, values [system, query]); NaN where a pair was not scored or is undefined."""
        if measure not in self.measures:
            there = f"there are: {', '.join(self.measures)}"
            raise unknown(EndoxaError, f"no score is called {measure!r}", measure, self.measures, listed=there)
        if self.scored is not None:
            known = self.scored.places
            values = np.full((len(self.scored.systems), len(known)), np.nan)
            values[self.scored.owner, np.searchsorted(known, self.scored.place)] = self.scored.value[
                self.scored.measures.index(measure)
            ]
            return self.systems, self.queries, values
        rows = self.frame.filter(pl.col("measure") == measure)
        systems, (queries, query) = self.systems, coded(rows["query"])
        values = np.full((len(systems), len(queries)), np.nan)
        values[places(rows["system"], systems), query] = rows["value"].to_numpy()
        return systems, queries.to_list(), values

    def mean(self) -> pl.DataFrame:
        """Return a row per system and a column per measure: the mean over the queries where it is defined.

        `endoxa.summarise` adds intervals, and sums what counts things, as trec_eval does.
        """
        defined = pl.col("value").filter(pl.col("value").is_not_nan())
        means = self.frame.group_by("system", "measure", maintain_order=True).agg(defined.mean())
        wide = means.with_columns(pl.col("value").fill_null(float("nan"))).pivot(
            "measure", index="system", values="value", maintain_order=True
        )
        return pl.DataFrame({"system": self.systems}).join(wide, on="system", how="left", maintain_order="left")

    def to_dict(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return {system: {query: {measure: value}}}, as pytrec_eval does for one system."""
        result: dict[str, dict[str, dict[str, float]]] = {}
        if self.scored is not None:
            for system, query, values in self.scored.lists():
                result.setdefault(system, {})[query] = dict(zip(self.scored.measures, values, strict=True))
            return result
        for system, query, measure, value in self.frame.select("system", "query", "measure", "value").iter_rows():
            result.setdefault(system, {}).setdefault(query, {})[measure] = value
        return result


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Table):
    """One row per measure and pair of systems, with intervals and tests, and notes on the methods.

    Columns: measure, system, baseline, doubt, difference, lo, hi, p_better, p_tie, superiority, sd, p_value,
    p_adjusted, effect, test, queries. `difference` is system minus baseline. `doubt` names the doubt that the interval
    and the probabilities include: truth, people, queries or all.
    """

    frame: pl.DataFrame
    notes: tuple[Note, ...] = field(default=())

    SCHEMA = Schema(
        lambda: (
            dict.fromkeys(("measure", "system", "baseline", "doubt"), pl.String)
            | dict.fromkeys(("difference", "lo", "hi", "p_better", "p_tie", "superiority", "sd"), pl.Float64)
            | dict.fromkeys(("p_value", "p_adjusted", "effect"), pl.Float64)
            | {"test": pl.String, "queries": pl.Int64}
        )
    )

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one dict per row."""
        return self.frame.to_dicts()
