"""Blocks of scores joined into one table. Missing topics and undefined values are treated as the policy says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from endoxa.errors import JoinError
from endoxa.frozen import dataclass
from endoxa.later import np, pl
from endoxa.measures.grammar import Measure
from endoxa.notes import Note
from endoxa.policies import Policy
from endoxa.tables import Bools, Draws, Floats, Ints, Scored, Scores

COVERED = ("unknown", "items", "judged", "tied")
Coverage = Mapping[str, tuple[int, ...]]  # {system: unknown, items, judged, tied}, in the order of the systems
NOT_COVERED: Coverage = {}  # the coverage of no list


class Topics(Protocol):
    """What lists are scored against, as far as it matters here: the queries, in byte order of their names."""

    @property
    def queries(self) -> list[str]:
        """The names."""


@dataclass(frozen=True)
class Block:
    """Scores of a block of whole queries, one entry per list.

    systems    the system of each list
    places     the number of its query
    values     [measure, list]; NaN where undefined
    spread     [3, measure, list]: sd, lo, hi; None where every value is certain
    texts      one text per list for every measure that is a text
    coverage   of each system
    undefined  [measure, list]: probability that the value is undefined; None where NaN says it
    truth      [measure, list, world]: values in possible worlds; None without doubt about the truth
    people     the same in worlds under resamples of the people
    """

    systems: list[str]
    places: Ints
    values: Floats
    spread: Floats | None
    texts: list[list[str]]
    coverage: Coverage
    undefined: Floats | None = None
    truth: Floats | None = None
    people: Floats | None = None

    def renamed(self, names: Mapping[str, str]) -> Block:
        """The same scores under other names of the systems."""
        coverage = {names[system]: counts for system, counts in self.coverage.items()}
        return replace(self, systems=[names[system] for system in self.systems], coverage=coverage)


Empty = Callable[[Any, Ints, Sequence[Measure], Policy], Block]  # scores of empty lists for these queries


def coverage_of(systems: Sequence[str], known: Bools, sizes: Ints, judged: Ints, tied: Ints) -> Coverage:
    """Sums per system over its lists: unknown queries; retrieved, judged and tied items of known queries."""
    names = list(dict.fromkeys(systems))
    number = {name: place for place, name in enumerate(names)}
    owner = np.array([number[system] for system in systems], dtype=np.int64)
    counts = (~known, known * sizes, known * judged, known * tied)
    summed = [np.bincount(owner, count, len(names)).astype(np.int64).tolist() for count in counts]
    return dict(zip(names, zip(*summed, strict=True), strict=True))


def tied_items(rank: Any, block: Any) -> Ints:
    """How many items of each list share their score with a neighbour, from the rows of whole lists."""
    if not len(rank):
        return np.zeros(0, dtype=np.int64)
    same = np.zeros(len(rank) + 1, dtype=bool)
    same[1:-1] = (block[1:] == block[:-1]) & (rank[1:] != 1)
    return np.add.reduceat(same[:-1] | same[1:], np.flatnonzero(rank == 1), dtype=np.int64)


def gather(
    panel: Mapping[str, Topics], blocks: Iterable[Iterable[Block]], measures: Sequence[Measure], policy: Policy, *,
    systems: Sequence[str], empty: Empty, noun: str = "set of judgments", lines: tuple[Note, ...] = (),
) -> Scores:  # fmt: skip
    """Join the blocks of every assessor into one table.

    panel   what the lists were scored against, by assessor; a single entry unless assessors are scored apart
    blocks  for each of them its blocks, which may be made while they are joined
    empty   scores of empty lists, for topics that a run lacks
    noun    what the lists are scored against, for messages; `lines` are those of the belief, for the draws
    """
    parts = [
        _Joined.of(reference, some, measures, policy, empty, _Columns(measures, systems, len(reference.queries), noun))
        for reference, some in zip(panel.values(), blocks, strict=True)
    ]
    first, draws = parts[0], parts[0].draws
    draws = None if draws is None else replace(draws, lines=lines)
    if policy.assessors != "mean" and policy.undefined != "skip":
        return Scores.of_arrays(first.scored, policy, first.texts, draws)
    frame = first.scored.frame()
    if policy.assessors == "mean":
        frame = _averaged([part.scored.frame() for part in parts], systems, measures)
    if policy.undefined == "skip":
        bad = frame.filter(pl.col("undefined") > 1 - 1e-9)["query"].unique()  # undefined in every world
        if frame.height and len(bad) == frame["query"].n_unique():
            raise JoinError("every query has a score that is 0/0; nothing is left under undefined=skip")
        frame = frame.filter(~pl.col("query").is_in(bad.implode()))
        draws = None if draws is None else _without(draws, set(bad))
    absent = pl.concat([part.scored.absent_frame() for part in parts]).unique(maintain_order=True)
    coverage = _mean_coverage([part.scored.coverage_frame() for part in parts])
    return Scores(frame, policy, coverage, first.texts, absent, draws)


def _averaged(frames: list[pl.DataFrame], systems: Sequence[str], measures: Sequence[Measure]) -> pl.DataFrame:
    """Mean over the assessors, with the standard deviation between them."""
    order = {str(m): place for place, m in enumerate(measures)}
    return (
        pl.concat(frames)
        .group_by("system", "query", "measure", maintain_order=True)
        .agg(
            pl.col("value").drop_nans().mean().fill_null(float("nan")), pl.col("value").drop_nans().std().alias("sd"),
            pl.col("lo", "hi").mean(), pl.col("undefined").min(),
        )
        .sort(
            pl.col("system").replace_strict(list(systems), list(range(len(systems)))),
            "query",
            pl.col("measure").replace_strict(order),
        )
    )  # fmt: skip


def _without(draws: Draws, queries: set[str]) -> Draws:
    kept = [place for place, query in enumerate(draws.queries) if query not in queries]
    return replace(
        draws,
        queries=[draws.queries[place] for place in kept],
        truth=None if draws.truth is None else draws.truth[:, :, kept],
        people=None if draws.people is None else draws.people[:, :, kept],
    )


def _mean_coverage(coverages: list[pl.DataFrame]) -> pl.DataFrame:
    """One row per system over all assessors: the mean of what they saw, because scores are means too."""
    return (
        pl.concat(coverages)
        .group_by("system", maintain_order=True)
        .agg(
            pl.col("queries", "missing", "unknown").max(),
            pl.col("items", "judged", "tied").mean().round().cast(pl.Int64),
        )
    )


@dataclass(frozen=True)
class _Joined:
    """The blocks of one assessor as arrays, with the draws beside them."""

    scored: Scored
    texts: pl.DataFrame | None
    draws: Draws | None

    @classmethod
    def of(
        cls, reference: Topics, blocks: Iterable[Block], measures: Sequence[Measure], policy: Policy, empty: Empty,
        columns: _Columns,
    ) -> _Joined:  # fmt: skip
        systems = columns.systems
        covered, texts = np.zeros((len(systems), len(COVERED)), dtype=np.int64), []
        wanted = [str(m) for m in measures if m.definition.text]
        for block in blocks:
            columns.add(block, np.array([columns.number[system] for system in block.systems], dtype=np.int64))
            for system, counts in block.coverage.items():
                covered[columns.number[system]] += np.array(counts, dtype=np.int64)
            texts += [
                (system, reference.queries[place], name, block.texts[row][at])
                for row, name in enumerate(wanted)
                for at, (system, place) in enumerate(zip(block.systems, block.places, strict=True))
            ]
        absent = columns.absent(reference, covered[:, 0], policy)
        if len(absent) and policy.missing == "empty":
            columns.add(empty(reference, absent[:, 1], measures, policy), absent[:, 0])
        lists: dict[str, Ints] = {
            "queries": np.bincount(columns.joined("owner"), minlength=len(systems)),
            "missing": np.bincount(absent[:, 0], minlength=len(systems)),
        }
        return cls(
            columns.scored(reference.queries, policy, lists | dict(zip(COVERED, covered.T, strict=True)), absent),
            pl.DataFrame(texts, schema=["system", "query", "measure", "text"], orient="row") if wanted else None,
            columns.draws(reference.queries),
        )


class _Columns:
    """Arrays of one assessor, filled block by block. Draws go to their place at once, so that they exist only once."""

    def __init__(self, measures: Sequence[Measure], systems: Sequence[str], queries: int, noun: str) -> None:
        numeric = [str(m) for m in measures if not m.definition.text]
        self.names = list(dict.fromkeys(numeric))
        self.rows = [numeric.index(name) for name in self.names]
        self.systems, self.noun = systems, noun
        self.number = {system: place for place, system in enumerate(systems)}
        self.seen = np.zeros((len(systems), queries), dtype=bool)
        self.parts: dict[str, list[Any]] = {name: [] for name in ("owner", "place", "value", "undefined", "spread")}
        self.worlds: dict[str, Floats] = {}

    def add(self, block: Block, owner: Ints) -> None:
        """Take the scores of a block in; its lists belong to these systems."""
        values = block.values[self.rows]
        self.seen[owner, block.places] = True
        spread = None if block.spread is None else block.spread[:, self.rows]
        undefined = np.isnan(values) if block.undefined is None else block.undefined[self.rows]
        for name, part in zip(self.parts, (owner, block.places, values, undefined, spread), strict=True):
            self.parts[name].append(part)
        for name, drawn in (("truth", block.truth), ("people", block.people)):
            if drawn is not None:
                if name not in self.worlds:
                    self.worlds[name] = np.full((len(self.rows), *self.seen.shape, drawn.shape[-1]), np.nan)
                self.worlds[name][:, owner, block.places] = drawn[self.rows]

    def joined(self, name: str) -> Any:
        parts = self.parts[name]
        return np.concatenate(parts, axis=-1) if parts else np.zeros(0, dtype=np.int64)

    def spread(self) -> Floats | None:
        """sd, lo and hi of every list, [3, measure, list]; NaN where the value is certain; None where all are."""
        if all(part is None for part in self.parts["spread"]):
            return None
        both = zip(self.parts["spread"], self.parts["value"], strict=True)
        return np.concatenate([np.full((3, *v.shape), np.nan) if part is None else part for part, v in both], axis=-1)

    def absent(self, reference: Topics, unknown: Ints, policy: Policy) -> Ints:
        """Pairs of system and query without a list, in order; refused where the policy or good sense says so.

        `unknown` is the number of queries of each system that the reference does not have.
        """
        if not self.seen.any(1).all():
            barren = int(np.flatnonzero(~self.seen.any(1))[0])
            others = f"{unknown[barren]:,} other quer{'y' if unknown[barren] == 1 else 'ies'}"
            raise JoinError(
                f"run {self.systems[barren]!r} shares no query with the {self.noun}, which has "
                f"{reference.queries[0]!r} and others",
                remedy=f"the run has {others}: do the two belong together?",
            )
        if not self.seen.any():
            raise JoinError("the run is empty: there is nothing to measure")
        absent = np.argwhere(~self.seen)
        if len(absent) and policy.missing == "error":
            system, query = self.systems[absent[0][0]], reference.queries[absent[0][1]]
            raise JoinError(
                f"run {system!r} lacks query {query!r} of the {self.noun} ({len(absent)} in all)",
                remedy="allow it with missing=empty (counts as an empty list) or missing=skip",
            )
        return absent

    def scored(self, queries: list[str], policy: Policy, coverage: dict[str, Ints], absent: Ints) -> Scored:
        """All lists by system, then by query."""
        owner, place = self.joined("owner"), self.joined("place")
        order = np.lexsort((place, owner))
        value, undefined, spread = self.joined("value")[:, order], self.joined("undefined")[:, order], self.spread()
        if policy.undefined == "zero":
            if policy.ties == "range" and spread is not None:  # undefined in one order of ties means undefined in all
                spread[1:, np.isnan(self.joined("value"))] = 0.0
            value = np.where(np.isnan(value), 0.0, value)
        return Scored(
            list(self.systems), queries, self.names, owner[order], place[order], value, undefined,
            None if spread is None else spread[:, :, order], coverage, absent,
        )  # fmt: skip

    def draws(self, queries: list[str]) -> Draws | None:
        if not self.worlds:
            return None
        return Draws(self.names, list(self.systems), list(queries), self.worlds["truth"], self.worlds.get("people"))
