"""Possible worlds: a reading is drawn for each query, then a grade for each item. All systems share the worlds.

The worlds of a query depend only on the seed and on its name. One uniform random number decides the grade of an item in
a world, so that a varied belief (a vote is left out, other people are asked) changes as little as possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl

from endoxa.frozen import dataclass
from endoxa.tables import Belief, Floats, Ints, Run

READING, ITEMS = 0, 1  # numbers of the random streams


@dataclass(frozen=True)
class Readings:
    """The belief about one query, as arrays.

    items    the items that any reading mentions, in byte order
    weights  [reading] shares that sum to 1
    grades   [grade] the grades that occur, in descending order; the remaining probability belongs to grade 0
    mass     [reading, item, grade] probability of that grade or a higher one
    people, people_weights  mass and weights under each resample of the people: [resample, …]; None if there are no
             people to resample
    """

    query: str
    items: pl.Series
    weights: Floats
    grades: Floats
    mass: Floats
    people: Floats | None = None
    people_weights: Floats | None = None

    def reaches(self, rel: float) -> Floats:
        """P(grade ≥ rel) of each item in each reading: [reading, item]."""
        if rel <= 0:  # the remaining mass is grade 0
            below = int((self.grades >= 0).sum())
            negative = self.mass[..., -1] - (self.mass[..., below - 1] if below else 0.0)
            return np.asarray(1 - negative)
        reached = int((self.grades >= rel).sum())
        return self.mass[..., reached - 1] if reached else np.zeros(self.mass.shape[:2])


def readings_of(belief: Belief) -> Iterator[Readings]:
    """Every query's belief in turn, in byte order of the queries."""
    frame = belief.frame
    if not frame.height:
        return
    names = frame.select("query", "item")
    if not _distinct(frame):
        names = names.unique().sort("query", "item")
    names = names.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over("query").alias("at"))
    places = names
    if names.height < frame.height:
        places = frame.select("query", "item").join(names, on=["query", "item"], how="left", maintain_order="left")
    at, p, weight, grade = places["at"].to_numpy(), *(frame[c].to_numpy() for c in ("p", "weight", "grade"))
    people = frame["people"].to_numpy() if "people" in frame.columns else None
    people_weight = frame["people_weight"].to_numpy() if "people_weight" in frame.columns else None
    new_reading = frame.select(pl.struct("query", "reading").rle_id()).to_series().to_numpy()
    starts = _starts(frame["query"])
    item_starts = _starts(names["query"])
    for number, (begin, end) in enumerate(pairwise(starts)):
        rows = slice(begin, end)
        reading = new_reading[rows] - new_reading[begin]
        first = np.flatnonzero(np.diff(reading, prepend=-1))
        grades, level = np.unique(-grade[rows], return_inverse=True)
        shape = (int(reading[-1]) + 1, int(item_starts[number + 1] - item_starts[number]), len(grades))
        cell = (reading, at[rows], level)
        several, several_weights = None, None
        if people is not None:
            several = np.zeros((people.shape[1], *shape), dtype=np.float32)
            several[:, *cell] = people[rows].T
            several = several if len(grades) == 1 else several.cumsum(-1)
            several_weights = np.broadcast_to(weight[rows][first], (people.shape[1], shape[0]))
        if people_weight is not None:
            several_weights = people_weight[rows][first].T
        mass = np.zeros(shape)
        mass[cell] = p[rows]
        yield Readings(
            query=str(frame["query"][int(begin)]),
            items=names["item"][int(item_starts[number]) : int(item_starts[number + 1])],
            weights=weight[rows][first],
            grades=-grades,
            mass=np.minimum(mass.cumsum(-1), 1.0),
            people=several,
            people_weights=several_weights,
        )


def _distinct(frame: pl.DataFrame) -> bool:
    """Whether no item of a query has two rows: one reading, one grade. Rows are sorted, so neighbours tell."""
    if frame["reading"].n_unique() > 1:
        return False
    same = (frame["item"] == frame["item"].shift(1)) & (frame["query"] == frame["query"].shift(1))
    return not same.any()


def _starts(names: pl.Series) -> Ints:
    """Where each run of equal names begins, and the end."""
    changes = np.flatnonzero(names.ne_missing(names.shift(1)).to_numpy())
    changes = changes if len(changes) and changes[0] == 0 else np.concatenate([[0], changes])
    return np.append(changes, len(names)).astype(np.int64)


def draw(readings: Readings, worlds: int, seed: int) -> Floats:
    """The grade of every item in this many worlds: [world, item]; small whole numbers as bytes."""
    which, chance = _chance(readings, worlds, seed)
    which = _choose(readings.weights[None], which[None])[0]
    return graded(readings, readings.mass, which, chance)


def draw_people(readings: Readings, seed: int) -> Floats:
    """Two worlds under each resample of the people, from the random numbers of `draw`: [2 · resamples, item]."""
    assert readings.people is not None
    assert readings.people_weights is not None
    resamples = len(readings.people)
    which, chance = _chance(readings, 2 * resamples, seed)
    which = _choose(readings.people_weights, which.reshape(resamples, 2))
    chance = chance.reshape(resamples, 2, -1)
    mass = readings.people[np.arange(resamples)[:, None], which]  # [resample, 2, item, level]
    return _levels(readings, mass, chance).reshape(2 * resamples, -1)


def graded(readings: Readings, mass: Floats, which: Ints, chance: Any) -> Floats:
    """Grades from random numbers: for each world its reading, and a uniform number per item."""
    if len(mass) == 1:
        return _levels(readings, mass, chance)
    worth = np.empty(chance.shape)
    for reading in range(len(mass)):
        here = which == reading
        worth[here] = _levels(readings, mass[reading][None], chance[here])
    return worth


def _levels(readings: Readings, mass: Floats, chance: Any) -> Floats:
    """The first grade whose mass exceeds the number, else 0. The last axis of `mass` is the grade."""
    worth: Any = np.append(readings.grades, 0.0)
    if (np.abs(worth) < 128).all() and (worth == np.round(worth)).all():
        worth = worth.astype(np.int8)
    if len(readings.grades) == 1:
        return np.asarray(np.where(chance < single(mass[..., 0]), worth[0], worth[1]))
    level = np.zeros(np.broadcast_shapes(chance.shape, mass.shape[:-1]), dtype=np.int16)
    for number in range(len(readings.grades)):
        level += chance >= mass[..., number]
    return np.asarray(worth[level])


def single(mass: Floats) -> Any:
    """The least number of single precision that is not below: a random number falls below both or neither."""
    near = mass.astype(np.float32, copy=False)
    return near if near is mass else np.where(near < mass, np.nextafter(near, np.float32(2)), near)


def _choose(weights: Floats, chance: Floats) -> Ints:
    """The reading that each number falls on: [row, draw]."""
    bounds = np.cumsum(weights, -1)
    return np.asarray((chance[..., None] >= bounds[:, None, :-1]).sum(-1))


def _chance(readings: Readings, worlds: int, seed: int) -> tuple[Any, Any]:
    """For each world, a number that decides its reading and one for every item; more worlds begin with the same."""
    which = _stream(seed, readings.query, READING).random(worlds)
    return which, _stream(seed, readings.query, ITEMS).random((worlds, len(readings.items)), dtype=np.float32)


def uniform(readings: Readings, worlds: int, seed: int) -> Any:
    """The random number of every item in as many worlds: [world, item]; an item's grade follows from it."""
    return _chance(readings, worlds, seed)[1]


def _stream(seed: int, query: str, which: int) -> np.random.Generator:
    return np.random.default_rng((seed, crc32(query.encode()), which))


def extended(belief: Belief, run: Run) -> Belief:
    """The belief with every retrieved item mentioned, if it gives unmentioned items a probability; else unchanged."""
    if isinstance(belief.unmentioned, str):
        return belief
    p, columns = float(belief.unmentioned), belief.frame.columns
    readings = belief.frame.unique(["query", "reading"], maintain_order=True).drop("item", "grade", "p")
    fresh = (
        run.frame.select("query", "item")
        .unique(maintain_order=True)
        .join(belief.frame, on=["query", "item"], how="anti")
        .join(readings, on="query", how="inner")
        .with_columns(pl.lit(1.0).alias("grade"), pl.lit(p).alias("p"))
    )
    if "people" in columns:
        dtype: Any = belief.frame.schema["people"]
        same = np.full((fresh.height, dtype.shape[0]), p, dtype=np.float32)
        fresh = fresh.with_columns(pl.Series("people", same, dtype=dtype))
    frame = pl.concat([belief.frame, fresh.select(columns)])
    return Belief.of(frame, unmentioned="irrelevant", model=belief.model, notes=belief.notes)
