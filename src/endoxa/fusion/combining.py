"""The ways to combine what several systems say of an item, and `fuse`, which applies one to a run.

A method sees a block of whole queries: a matrix of pairs (query, item) × systems. What it adds up is added in the order
of size, so that the result does not depend on the order of the systems, and equal items tie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import polars as pl

from endoxa.errors import TableError, TextError, did_you_mean
from endoxa.frozen import dataclass
from endoxa.fusion.normalising import NORMS
from endoxa.policies import refuse_choice
from endoxa.tables import Bools, Floats, Ints, Run

ROWS = 2**20  # lines of the run that are combined together
COMPARED = 2**22  # entries of a table of pairs against pairs
HASHED = 22  # bits of a hash that give way to the number of the query


@dataclass(frozen=True, eq=False)
class Block:
    """What the systems say of the pairs of some queries; pairs × systems.

    scores   normalised; NaN where a system does not list the pair
    ranks    0 where a system does not list the pair
    query    the number of the query of each pair, not descending
    sizes    the lengths of the lists: queries × systems
    """

    scores: Floats
    ranks: Ints
    query: Ints
    sizes: Ints

    @property
    def listed(self) -> Bools:
        """Which system lists which pair."""
        return self.ranks > 0

    @property
    def voices(self) -> Ints:
        """How many systems list each pair."""
        return np.asarray(self.listed.sum(axis=1))

    @property
    def candidates(self) -> Ints:
        """How many pairs each query has."""
        return np.bincount(self.query, minlength=len(self.sizes))


def total(values: Floats) -> Floats:
    """The sum over systems, whatever their order; NaN adds nothing."""
    return np.asarray(np.nansum(np.sort(values, axis=1), axis=1))


def rrf(block: Block, *, k: float = 60.0) -> Floats:
    """Reciprocal ranks: Σ 1 / (k + rank). Source: Cormack, Clarke and Büttcher 2009."""
    return total(np.where(block.listed, 1 / (k + block.ranks), 0.0))


def comb_med(block: Block) -> Floats:
    """CombMED: the median score of the systems that list the item."""
    ordered, counts = np.sort(block.scores, axis=1), block.voices  # NaN is last
    rows = np.arange(len(counts))
    return np.asarray((ordered[rows, (counts - 1) // 2] + ordered[rows, counts // 2]) / 2)


def borda(block: Block) -> Floats:
    """Borda: of n candidates the first gets n points, the next n - 1; those not listed share what is left.

    Source: Aslam and Montague 2001.
    """
    count = block.candidates[block.query, None]
    left = (count - block.sizes[block.query] + 1) / 2
    return total(np.where(block.listed, count - block.ranks + 1.0, left))


def condorcet(block: Block) -> Floats:
    """Condorcet: how many others an item beats in the majority of the systems; a draw counts half.

    An item that is listed beats one that is not. Where majorities are transitive this is their order; in a cycle
    (a beats b, b beats c, c beats a) items tie, and Borda's points decide. Source: Copeland 1951; Montague and Aslam
    2002 sort by the same majorities, so that their order within a cycle depends on the sorting.
    """
    wins, ends = np.empty(len(block.query)), np.cumsum(block.candidates)
    for first, last in zip(np.append(0, ends[:-1]), ends, strict=True):
        ranks = np.where(block.listed[first:last], block.ranks[first:last], np.iinfo(np.int32).max).astype(np.int32)
        step = max(1, COMPARED // max(1, last - first))
        for at in range(0, last - first, step):
            some = ranks[at : at + step]
            lead = np.zeros((len(some), last - first), dtype=np.int32)
            for system in range(ranks.shape[1]):
                one, other = some[:, system, None], ranks[None, :, system]
                lead += (one < other).astype(np.int8) - (one > other).astype(np.int8)
            wins[first + at : first + at + len(some)] = (lead > 0).sum(axis=1) + ((lead == 0).sum(axis=1) - 1) / 2
    most: Floats = block.candidates[block.query] * (block.ranks.shape[1] + 1.0)
    return wins + borda(block) / (2 * most)  # less than half a win


# CombSUM … CombMED. A system that does not list an item gives 0 to a sum, and nothing to the others.
# Source: Fox and Shaw 1993.
METHODS: dict[str, Callable[..., Floats]] = {
    "rrf": rrf,
    "sum": lambda block: total(block.scores),
    "mnz": lambda block: total(block.scores) * block.voices,
    "anz": lambda block: total(block.scores) / block.voices,
    "max": lambda block: np.nanmax(block.scores, axis=1),
    "min": lambda block: np.nanmin(block.scores, axis=1),
    "med": comb_med,
    "borda": borda,
    "condorcet": condorcet,
}
NORMALISED = ("sum", "mnz", "anz", "max", "min", "med")  # the methods that look at scores


def fuse(
    run: Run,
    method: str = "rrf",
    *,
    norm: str = "min-max",
    weights: Mapping[str, float] | None = None,
    k: float = 60.0,
    depth: int | None = None,
    name: str | None = None,
) -> Run:
    """One list per query out of those of all systems.

    A system that has no list for a query says nothing about it. `weights` go with the method `sum`.
    """
    refuse_choice("method", method, METHODS)
    refuse_choice("norm", norm, NORMS)
    if depth is not None and depth < 1:
        raise TextError(f"depth is {depth}", remedy="expected at least 1")
    if not k > -1:
        raise TextError(f"k is {k}", remedy="expected a number above -1, so that no rank divides by 0")
    factors = _factors(run, method, weights)
    own = {"k": k} if method == "rrf" else {}
    parts = []
    for block, frame in blocks(run, norm if method in NORMALISED else "none"):
        weighed = block if factors is None else Block(block.scores * factors, block.ranks, block.query, block.sizes)
        parts.append(frame.with_columns(pl.Series("score", METHODS[method](weighed, **own))))
    columns = {"query": pl.String, "item": pl.String, "score": pl.Float64}
    fused = Run.of(pl.concat(parts) if parts else pl.DataFrame(schema=columns), system=name or method)
    return fused if depth is None else Run(fused.frame.filter(pl.col("rank") <= depth), fused.ties)


def _factors(run: Run, method: str, weights: Mapping[str, float] | None) -> Floats | None:
    """The weight of every system, in the order of the run."""
    if weights is None:
        return None
    if method != "sum":
        raise TextError(f"weights go with the method sum, not with {method}")
    systems = run.systems
    for system, weight in weights.items():
        if system not in systems:
            near = did_you_mean(system, systems)
            raise TextError(f"a weight is given for {system!r}, which is not among the systems", remedy=near)
        if not 0 <= weight < np.inf:
            raise TextError(f"the weight of {system} is {weight}", remedy="expected a number of 0 or more")
    if missing := [system for system in systems if system not in weights]:
        raise TextError(f"{missing[0]} has no weight", remedy="give every system one (0 leaves it out)")
    return np.array([weights[system] for system in systems])


def blocks(run: Run, norm: str) -> Iterator[tuple[Block, pl.DataFrame]]:
    """The run in blocks of whole queries, and the query and item of each pair; queries in the order of the run."""
    frame = run.frame
    if not frame.height:
        return
    starts = np.flatnonzero((frame["rank"] == 1).to_numpy())
    sizes = np.diff(np.append(starts, frame.height))
    scores = frame["score"].to_numpy()
    if norm != "none" and not np.isfinite(scores).all():
        row = frame.row(int(np.flatnonzero(~np.isfinite(scores))[0]), named=True)
        raise TableError(
            f"query {row['query']!r} of {row['system']!r} scores item {row['item']!r} {row['score']}",
            remedy="an infinite score cannot be normalised: use a method of ranks (rrf, borda, condorcet)",
        )
    scores = NORMS[norm](scores, starts, sizes)
    heads = frame[starts]
    query = heads["query"].rank("dense").to_numpy().astype(np.int64) - 1
    system = heads["system"].replace_strict(run.systems, range(len(run.systems)), return_dtype=pl.Int64).to_numpy()
    order = np.lexsort((system, query))
    ends = np.cumsum(sizes[order])
    cut = 0
    while cut < len(order):
        reach = max(cut + 1, int(np.searchsorted(ends, (ends[cut - 1] if cut else 0) + ROWS, side="right")))
        reach = int(np.searchsorted(query[order], query[order[reach - 1]], side="right"))  # whole queries
        yield _block(run, scores, order[cut:reach], starts, sizes, query, system)
        cut = reach


def _block(
    run: Run, scores: Floats, lists: Ints, starts: Ints, sizes: Ints, query: Ints, system: Ints
) -> tuple[Block, pl.DataFrame]:
    """The block of these lists, which are in the order of their queries."""
    counts = sizes[lists]
    rows = np.repeat(starts[lists] - np.append(0, np.cumsum(counts)[:-1]), counts) + np.arange(counts.sum())
    number = np.unique(query[lists], return_inverse=True)[1]
    own, who = np.repeat(number, counts), np.repeat(system[lists], counts)
    items = run.frame["item"][rows]
    pair, first = _numbered(own, items)
    table = np.full((len(first), len(run.systems)), np.nan)
    ranks = np.zeros(table.shape, dtype=np.int64)
    table[pair, who] = scores[rows]
    ranks[pair, who] = run.frame["rank"].to_numpy()[rows]
    lengths = np.zeros((int(number[-1]) + 1, len(run.systems)), dtype=np.int64)
    lengths[number, system[lists]] = counts
    return Block(table, ranks, own[first], lengths), run.frame.select("query", "item")[rows[first]]


def _numbered(query: Ints, items: pl.Series) -> tuple[Ints, Ints]:
    """The number of the pair of each row, in the order of the queries, and the first row of each pair.

    Pairs are told apart by a hash, which sorts faster than names; names are compared, and decide if two hashes meet.
    """
    hashed = (items.hash().to_numpy() >> np.uint64(HASHED)).astype(np.int64)
    _, first, pair = np.unique((query << (64 - HASHED)) | hashed, return_index=True, return_inverse=True)
    if not (items[first][pair] == items).all():
        names = items.rank("dense").to_numpy().astype(np.int64)
        _, first, pair = np.unique(query * (len(items) + 1) + names, return_index=True, return_inverse=True)
    return pair, first
