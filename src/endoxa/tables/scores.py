"""Scores: values of measures, their draws in possible worlds, and comparisons of systems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from endoxa.errors import EndoxaError, did_you_mean
from endoxa.policies import Policy
from endoxa.tables.belief import Belief
from endoxa.tables.checks import Floats, Table, coded, places
from endoxa.tables.run import Run

DRAWN: dict[str, Any] = dict.fromkeys(("system", "query", "measure", "doubt"), pl.String) | {
    "draw": pl.UInt32, "value": pl.Float64,
}  # fmt: skip


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
    lines: tuple[str, ...] = ()
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
            return pl.DataFrame(schema=DRAWN)
        return pl.concat(parts).select("system", "query", "measure", "doubt", "draw", "value")


@dataclass(frozen=True, eq=False)
class Scores(Table):
    """One row per system, query and measure: value, sd, lo, hi, undefined; with the policy that was applied.

    `sd`, `lo` and `hi` are null if the value is certain. `undefined` is 1 where the measure is 0/0. `coverage` has one
    row per system: queries, missing, unknown, items, judged, tied. `texts` has trec_eval's relstring, which is not a
    number, and `absent` the (system, query) pairs that a run lacks. If the reference is a belief, `value` is the
    expectation given that the measure is defined, `undefined` is the probability that it is not, and `draws` has the
    values in possible worlds.
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
        """Names of the measures, in the order requested."""
        return self.frame["measure"].unique(maintain_order=True).to_list()

    @property
    def queries(self) -> list[str]:
        """The queries that were scored, in byte order of their names."""
        return self.frame["query"].unique().sort().to_list()

    def matrix(self, measure: str) -> tuple[list[str], list[str], Floats]:
        """Return (systems, queries, values [system, query]); NaN where a pair was not scored or is undefined."""
        if measure not in self.measures:
            have, hint = ", ".join(self.measures), did_you_mean(measure, self.measures)
            raise EndoxaError(f"no score is called {measure!r}{hint} (there are: {have})")
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
        for system, query, measure, value in self.frame.select("system", "query", "measure", "value").iter_rows():
            result.setdefault(system, {}).setdefault(query, {})[measure] = value
        return result


@dataclass(frozen=True, eq=False)
class Comparison(Table):
    """One row per measure and pair of systems, with intervals and tests, and notes on the methods.

    Columns: measure, system, baseline, doubt, difference, lo, hi, p_better, p_tie, superiority, sd, p_value,
    p_adjusted, effect, test, queries. `difference` is system minus baseline. `doubt` names the doubt that the interval
    and the probabilities include: truth, people, queries or all.
    """

    frame: pl.DataFrame
    notes: tuple[str, ...] = field(default=())

    SCHEMA: ClassVar[dict[str, Any]] = {
        "measure": pl.String, "system": pl.String, "baseline": pl.String, "doubt": pl.String, "difference": pl.Float64,
        "lo": pl.Float64, "hi": pl.Float64, "p_better": pl.Float64, "p_tie": pl.Float64, "superiority": pl.Float64,
        "sd": pl.Float64, "p_value": pl.Float64, "p_adjusted": pl.Float64, "effect": pl.Float64, "test": pl.String,
        "queries": pl.Int64,
    }  # fmt: skip

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one dict per row."""
        return self.frame.to_dicts()
