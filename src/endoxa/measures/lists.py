"""Ranked lists seen through judgments: the input of every measure's kernel.

A list is the ranks and grades of its judged (or pooled) items; of the others only the number matters. A batch of lists
is a padded array whose last axis is rank order; the other axes (queries, worlds) broadcast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import field, fields, replace
from functools import cached_property
from typing import Any

from endoxa.frozen import dataclass
from endoxa.later import np
from endoxa.native import core
from endoxa.tables import Bools, Floats, Ints

BEYOND = 2**31 - 1  # the rank of padding: behind every cut-off
PADDING = -128  # the grade of padding where grades are bytes
STEP = 16  # items of a list whose counts are kept in possible worlds
CELLS = 2_000_000  # the greatest padded array that is made at once: memory stays bounded


@dataclass(frozen=True, eq=False)
class Drawn:
    """The grades of lists in possible worlds, gathered only as far as a kernel asks for them.

    table  [item, world]  the grade of every item in every world; the last row, NaN or -128, stands for padding
    at     [h, list]      the row of each item of each list

    Arrays are [world, list, h] with worlds adjacent in memory, so that padding changes no digit of a sum along a list.
    """

    table: Floats
    at: Ints
    _reached: dict[float, Bools] = field(default_factory=dict, repr=False)

    def narrow(self, width: int) -> Drawn:
        """Only the first `width` items of every list."""
        return Drawn(self.table, self.at[:width], self._reached)

    def reached(self, rel: float) -> Bools:
        """[item, world]: which grades are at least `rel`."""
        if rel not in self._reached:
            self._reached[rel] = self.table >= (rel if self.table.dtype == float else math.ceil(rel))
        return self._reached[rel]

    def grade(self) -> Floats:
        """[world, list, h]."""
        found = self.table[self.at].transpose(2, 1, 0)
        return found if found.dtype == float else np.where(found == PADDING, np.nan, found)

    def relevant(self, rel: float) -> Bools:
        """[world, list, h]: which grades are at least `rel`."""
        return self.reached(rel)[self.at].transpose(2, 1, 0)


@dataclass(frozen=True)
class Lists:
    """A batch of lists.

    rank       [..., h]  ranks of the pooled items that were retrieved, ascending; padding is BEYOND
    grades     [..., h]  their grades; negative = pooled but not judged; padding is NaN; or Drawn, in possible worlds
    retrieved  [...]     lengths of the lists
    pool       [..., m]  grades of all pooled items of the query, descending; padding is NaN
    top        the highest grade in the whole collection of judgments (the full mark)
    block, length  [..., h]  first rank and size of the run of equal scores around each item; given only when
               the value is to be the expectation over all orders of equal scores
    stratum, pool_stratum  [..., h], [..., m]  number of the sampling stratum, -1 for none (xinfAP)
    stratum_size  [..., s]  how many items each stratum holds, sampled or not
    """

    rank: Ints
    grades: Floats | Drawn
    retrieved: Ints
    pool: Floats
    top: float = 1.0
    block: Ints | None = None
    length: Ints | None = None
    stratum: Ints | None = None
    pool_stratum: Ints | None = None
    stratum_size: Floats | None = None

    @cached_property
    def grade(self) -> Floats:
        """The grades as an array."""
        return self.grades.grade() if isinstance(self.grades, Drawn) else self.grades

    @cached_property
    def judged(self) -> Bools:
        """Which of the retrieved pooled items have a judgment."""
        return self.grade >= 0

    @cached_property
    def _relevant(self) -> dict[float, Bools]:
        return {}

    def relevant(self, rel: float) -> Bools:
        """Which of the retrieved items have at least grade `rel`."""
        if rel not in self._relevant:
            drawn = isinstance(self.grades, Drawn)
            self._relevant[rel] = self.grades.relevant(rel) if drawn else self.grade >= rel  # type: ignore[union-attr]
        return self._relevant[rel]

    def running(self, rel: float) -> Ints:
        """How many items are relevant up to each item, itself included."""
        relevant = self.relevant(rel)
        if not isinstance(self.grades, Drawn):
            return np.asarray(np.cumsum(relevant, -1))
        counts: Any = relevant.transpose(2, 1, 0).astype(np.int16 if relevant.shape[-1] < 1 << 15 else np.int64)
        for row in range(1, len(counts)):  # five times as fast as a cumulative sum across the rows
            counts[row] += counts[row - 1]
        return np.asarray(counts.transpose(2, 1, 0))

    def hits_at_relevant(self, rel: float) -> Ints:
        """How many items are relevant up to each relevant item; 0 at the others."""
        counts = self.running(rel)
        return np.multiply(counts, self.relevant(rel), out=counts)

    def precisions(self, rel: float, k: int | None = None) -> Floats:
        """Σ hits / rank over the relevant items of each list, or of its first k."""
        weight = (self.rank <= (BEYOND - 1 if k is None else k)) / self.rank
        if not isinstance(self.grades, Drawn):
            return np.asarray((self.hits_at_relevant(rel) * weight).sum(-1))
        table, at = self.grades.reached(rel), self.grades.at
        total = np.zeros((at.shape[1], table.shape[1]))  # [list, world]
        if (native := core()) is not None:
            arrays = (np.ascontiguousarray(one) for one in (table, at.astype(np.int64, copy=False), weight))
            native.precisions(*arrays, total, len(table), *at.shape, table.shape[1])
            return total.T
        # Sixteen items at a time stay in the cache; they are summed one by one, whatever the other lists are.
        part, room = np.empty((STEP, *total.shape)), np.empty((STEP, *total.shape), dtype=bool)
        counts: Any = np.zeros((STEP + 1, *total.shape), dtype=np.int16 if len(at) < 1 << 15 else np.int64)
        for begin in range(0, len(at), STEP):
            size = min(STEP, len(at) - begin)
            relevant = table.take(at[begin : begin + size], 0, out=room[:size], mode="clip")
            counts[0], counts[1 : size + 1] = counts[STEP], relevant
            for row in range(size):  # five times as fast as a cumulative sum across the rows
                counts[row + 1] += counts[row]
            np.multiply(counts[1 : size + 1], relevant, out=part[:size])
            part[:size] *= weight.T[begin : begin + size, :, None]
            for row in range(size):
                total += part[row]
        return total.T

    def first_relevant(self, rel: float) -> Floats:
        """Rank of the first relevant item; infinite where there is none."""
        if not isinstance(self.grades, Drawn):
            return np.asarray(np.where(self.relevant(rel), self.rank, np.inf).min(-1, initial=np.inf))
        table, at, rank = self.grades.reached(rel), self.grades.at, self.rank.T.astype(np.int32)[..., None]
        first = np.full((at.shape[1], table.shape[1]), BEYOND, dtype=np.int32)
        lists, begin, end = np.arange(len(first)), 0, STEP
        while begin < len(at) and len(lists):  # most lists have a relevant item early: look further in the others
            found = np.where(table[at[begin:end, lists]], rank[begin:end, lists], BEYOND).min(0)
            first[lists] = np.minimum(first[lists], found)
            lists = lists[(first[lists] == BEYOND).any(1)]
            begin, end = end, 2 * end
        return np.where(first < BEYOND, first, np.inf).T

    def total(self, rel: float) -> Ints:
        """How many relevant items are known, retrieved or not."""
        if not isinstance(self.grades, Drawn):
            return np.asarray((self.pool >= rel).sum(-1))
        step, found = 1 << self.pool.shape[-1].bit_length(), np.zeros(self.pool.shape[:-1], dtype=np.int64)
        while step := step // 2:  # the pool is in order: look for the last relevant item by halves
            last = np.minimum(found + step, self.pool.shape[-1])
            reached = np.take_along_axis(self.pool, last[..., None] - 1, -1)[..., 0] >= rel
            found = np.where(reached, last, found)
        return found

    def weigh(self, weight: Callable[[Ints], Floats | Bools]) -> Floats:
        """weight(rank) of each item, or its mean over the ranks of its group of equal scores (ties="average")."""
        if self.block is None or self.length is None:
            return np.asarray(weight(self.rank), dtype=float)
        real = self.rank < BEYOND
        last = int((self.block + self.length)[real].max(initial=1))
        sums = np.concatenate([[0.0], np.cumsum(np.asarray(weight(np.arange(1, last + 1)), dtype=float))])
        block, length = np.where(real, self.block, 1), np.where(real, self.length, 1)
        mean = (sums[np.minimum(block + length - 1, last)] - sums[block - 1]) / length
        return np.where(real, mean, 0.0)

    def within(self, k: int | Ints | None) -> Floats:
        """1 for items in the first k, 0 for the others; a share where equal scores straddle the cut-off.

        k may be an array that broadcasts against the ranks.
        """
        k = BEYOND - 1 if k is None else k
        if self.block is None or self.length is None:
            return np.asarray(self.rank <= k, dtype=float)
        inside = np.clip(k - self.block + 1, 0, self.length) / self.length
        return np.where(self.rank < BEYOND, inside, 0.0)

    def by_place(self, worth: Floats, size: int) -> Floats:
        """The gain at each of the first `size` ranks, from that of each item; equal scores share theirs."""
        places = np.zeros((*worth.shape[:-1], size + 1))
        if self.block is None or self.length is None:
            np.put_along_axis(places, np.broadcast_to(np.minimum(self.rank, size + 1) - 1, worth.shape), worth, -1)
            return places[..., :size]
        share, row = worth / self.length, np.arange(len(worth))[:, None]
        np.add.at(places, (row, np.minimum(self.block, size + 1) - 1), share)
        np.add.at(places, (row, np.minimum(self.block + self.length, size + 1) - 1), -share)
        return np.asarray(np.cumsum(places, -1)[..., :size])

    def hits(self, rel: float, k: int | None = None) -> Floats:
        """How many of the first k are relevant."""
        return np.asarray((self.relevant(rel) * self.within(k)).sum(-1))

    def length_at(self, k: int | None) -> Ints:
        """How many items stand in the first k: k, or fewer where the list is shorter."""
        return self.retrieved if k is None else np.minimum(self.retrieved, k)

    def some(self, rows: Ints) -> Lists:
        """The lists with these numbers, of a batch with one leading axis."""
        parts: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "top"}
        chosen: dict[str, Any] = {name: part if part is None else part[rows] for name, part in parts.items()}
        return Lists(top=self.top, **chosen)

    def condensed(self) -> Lists:
        """The lists with every item without a judgment taken out, also of the runs of equal scores."""
        keep = self.judged
        order = np.argsort(~keep, axis=-1, kind="stable")
        count = keep.sum(-1)
        place = np.arange(1, keep.shape[-1] + 1)
        real = place <= count[..., None]
        taken = np.take_along_axis(self.grade, order, -1)
        stratum = None if self.stratum is None else np.take_along_axis(self.stratum, order, -1)
        block = length = None
        if self.block is not None:
            group = np.where(real, np.take_along_axis(self.block, order, -1), BEYOND)
            front, back = place_in_group(group), np.flip(place_in_group(np.flip(group, -1)), -1)
            block, length = np.where(real, place - front, BEYOND), np.where(real, front + back + 1, 1)
        return replace(
            self, rank=np.where(real, place, BEYOND), grades=np.where(real, taken, np.nan), retrieved=np.asarray(count),
            stratum=stratum, block=block, length=length,
        )  # fmt: skip


def place_in_group(group: Ints) -> Ints:
    """0, 1, 2 … within each run of equal values on the last axis."""
    if not group.shape[-1]:
        return group
    at = np.broadcast_to(np.arange(group.shape[-1]), group.shape)
    first = np.ones(group.shape, dtype=bool)
    first[..., 1:] = group[..., 1:] != group[..., :-1]
    return np.asarray(at - np.maximum.accumulate(np.where(first, at, 0), axis=-1))


def alike(lengths: Ints, spread: float = 1.5) -> Iterator[Ints]:
    """Numbers of lists of about the same length: one long list must not widen the arrays of all."""
    order = np.argsort(lengths, kind="stable")
    begin = 0
    while begin < len(order):
        end = int(np.searchsorted(lengths[order], spread * lengths[order[begin]] + 16, side="right"))
        yield order[begin:end]
        begin = end


def ratio(numerator: Floats | Ints, denominator: Floats | Ints) -> Floats:
    """numerator / denominator; 0/0 is NaN."""
    numerator, denominator = np.broadcast_arrays(
        np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)
    )
    undefined: Floats = np.full(numerator.shape, np.nan)
    return np.asarray(np.divide(numerator, denominator, out=undefined, where=denominator != 0))
