"""The lists of a run, placed in the belief that they are scored under: looked up once, used by every measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl

from endoxa.beliefs.worlds import Readings, extended, readings_of
from endoxa.errors import JoinError
from endoxa.frozen import dataclass
from endoxa.measures.gather import Coverage, coverage_of, tied_items
from endoxa.measures.judgments import keys_of
from endoxa.measures.lists import BEYOND
from endoxa.policies import Policy
from endoxa.tables import Belief, Bools, Ints, Run


@dataclass(frozen=True, eq=False)
class Placed:
    """The lists of one query: rank and place (among the belief's items) of the items that the belief mentions.

    rank       [list, h]; padding is BEYOND
    at         [list, h]; padding is 0
    retrieved  [list]; 0 where a system has no list, or an empty one
    empty      [list] which lists are there and hold nothing; None where there are none
    """

    rank: Ints
    at: Ints
    retrieved: Ints
    empty: Bools | None = None

    @property
    def present(self) -> Bools:
        """Which systems have a list."""
        return self.retrieved > 0 if self.empty is None else (self.retrieved > 0) | self.empty

    @property
    def mentioned(self) -> Ints:
        """How many items of each list the belief mentions."""
        return np.asarray((self.rank < BEYOND).sum(1))

    def first(self, k: int) -> Placed:
        """Only the items of the first k ranks."""
        width = int((self.rank <= k).sum(1).max(initial=0))
        return replace(self, rank=self.rank[:, :width], at=self.at[:, :width])

    def some(self, rows: Ints) -> Placed:
        """The lists with these numbers, no wider than they need to be."""
        width = int((self.rank[rows] < BEYOND).sum(1).max(initial=0))
        empty = None if self.empty is None else self.empty[rows]
        return Placed(self.rank[rows, :width], self.at[rows, :width], self.retrieved[rows], empty)


@dataclass(frozen=True, eq=False)
class Placement:
    """Every list of a run, placed in a belief.

    systems   names of the systems: the rows of every `Placed`
    readings  the belief about each query, in byte order of the queries
    lists     the lists of each query
    coverage  of each system
    """

    systems: list[str]
    readings: list[Readings]
    lists: list[Placed]
    coverage: Coverage

    @cached_property
    def queries(self) -> list[str]:
        """Names of the queries."""
        return [one.query for one in self.readings]

    @cached_property
    def top(self) -> float:
        """The highest grade that the belief mentions."""
        return max((float(one.grades[0]) for one in self.readings), default=1.0)

    def some(self, systems: Sequence[str]) -> Placement:
        """The lists of some of the systems."""
        if list(systems) == self.systems:
            return self
        rows = np.array([self.systems.index(system) for system in systems], dtype=np.int64)
        coverage = {system: counts for system, counts in self.coverage.items() if system in systems}
        return replace(self, systems=list(systems), lists=[one.some(rows) for one in self.lists], coverage=coverage)


def place(run: Run, belief: Belief, policy: Policy | None = None) -> Placement:
    """Place the lists of a run, cut as the policy says, in a belief; every retrieved item that has a p is mentioned."""
    readings = list(readings_of(extended(belief, run)))
    frame = run.frame if policy is None or policy.cut is None else run.frame.filter(pl.col("rank") <= policy.cut)
    systems, rank = run.systems, frame["rank"].to_numpy()
    heads = np.flatnonzero(rank == 1)
    sizes = np.diff(np.append(heads, len(rank)))
    owners, queries = frame["system"][heads].to_list(), frame["query"][heads].to_list()
    number = {one.query: place_ for place_, one in enumerate(readings)}
    places = np.array([number.get(query, -1) for query in queries], dtype=np.int64)
    known = places >= 0
    if not known.any() and not run.empty:
        raise JoinError(
            f"the runs and the belief share no query; the runs have {', '.join(sorted(set(queries))[:3])} …, "
            f"the belief {', '.join(list(number)[:3])} …"
        )
    order = {system: row for row, system in enumerate(systems)}
    owner = np.array([order[system] for system in owners], dtype=np.int64)
    row, at = _matched(frame["item"], np.repeat(places, sizes), readings)
    lists = np.repeat(np.arange(len(heads)), sizes)[row]
    hits = np.bincount(lists, minlength=len(heads))
    coverage = coverage_of(owners, known, sizes, hits, tied_items(rank, frame["block"].to_numpy()))
    retrieved = np.zeros((len(readings), len(systems)), dtype=np.int64)
    retrieved[places[known], owner[known]] = sizes[known]
    empty = np.zeros(retrieved.shape, dtype=bool)
    for system, name in run.empty:
        if name in number:
            empty[number[name], order[system]] = True
    first = np.concatenate([[0], np.cumsum(hits)])
    placed = []
    for query in range(len(readings)):
        own = np.flatnonzero(places == query)
        shape = (len(systems), int(hits[own].max(initial=0)))
        ranks, columns = np.full(shape, BEYOND, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for one in own.tolist():
            part = slice(first[one], first[one + 1])
            ranks[owner[one], : hits[one]], columns[owner[one], : hits[one]] = rank[row[part]], at[part]
        placed.append(Placed(ranks, columns, retrieved[query], empty[query] if run.empty else None))
    return Placement(systems, readings, placed, coverage)


def _matched(items: pl.Series, places: Ints, readings: Sequence[Readings]) -> tuple[Ints, Ints]:
    """Rows whose item the belief mentions, ascending, and its place among the items of the query (found by hashes)."""
    counts = [len(one.items) for one in readings]
    names = pl.DataFrame(
        {
            "item": pl.concat([one.items for one in readings]),
            "place": np.repeat(np.arange(len(readings)), counts),
            "at": np.concatenate([np.arange(count) for count in counts]),
        }
    )
    names = names.with_columns(pl.Series("key", keys_of(names["item"], names["place"].to_numpy())))
    if names["key"].n_unique() == names.height:
        known = np.flatnonzero(places >= 0)
        rows = pl.DataFrame({"row": known, "key": keys_of(items[known], places[known])})
        found = rows.join(names.select("key", "at", "item"), on="key", how="inner", maintain_order="left")
        row, at = found["row"].to_numpy(), found["at"].to_numpy()
        same = (found["item"] == items[row]).to_numpy()
        return row[same], at[same]
    rows = pl.DataFrame({"item": items, "place": places}).with_row_index("row")
    found = rows.join(names.drop("key"), on=["place", "item"], how="inner", maintain_order="left")
    return found["row"].to_numpy().astype(np.int64), found["at"].to_numpy()
