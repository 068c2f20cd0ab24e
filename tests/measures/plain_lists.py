"""Ranked lists as a person would write them down, for tests that must not share a line with the kernels.

A `Plain` holds the grade of every retrieved item in rank order (None: nobody pooled it; negative: pooled but not
judged) and the grades of the pooled items that were missed. `batch` turns several into the padded arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from endoxa.measures.grammar import REQUIRED, Measure, make
from endoxa.measures.lists import BEYOND, Lists
from endoxa.measures.registry import REGISTRY

Grade = float | None


@dataclass(frozen=True)
class Plain:
    """One list and what the judgments hold beside it."""

    ranking: tuple[Grade, ...]
    missed: tuple[float, ...] = ()

    @property
    def pool(self) -> list[float]:
        """Grades of everything pooled, retrieved or not."""
        return sorted([grade for grade in self.ranking if grade is not None] + list(self.missed), reverse=True)

    def swapped(self, at: int) -> Plain:
        """The same with the items at places `at` and `at + 1` exchanged."""
        ranking = list(self.ranking)
        ranking[at], ranking[at + 1] = ranking[at + 1], ranking[at]
        return Plain(tuple(ranking), self.missed)


# For every name of a setting: values that are tried. A setting that is not here makes the tests fail.
CHOICES: dict[str, tuple[Any, ...]] = {
    "k": (1, 2, 3, 5, 8, 30),
    "rel": (1, 2, 0.5, 3),
    "beta": (1, 2, 0.5),
    "relative": (False, True),
    "norm": ("R", "min"),
    "mult": (1, 0.2, 0.5, 1.4, 2),
    "recall": (0.0, 0.1, 0.25, 0.5, 0.7, 1.0),
    "recalls": ((0.25, 0.5, 0.75), (0.0,), (0.1, 1.0)),
    "compat": ("none", "trec_eval-9", "trec_eval-10"),
    "dcg": ("log2", "exp-log2"),
    "gains": ({1: 3.5, 2: 9}, {2: 0.25}, {0: 1, 3: 2}),
    "max_rel": (4, 5.5),
    "p": (0.8, 0.5, 0.95),
    "a": (1, 3),
    "b": (-1, -0.5),
    "c": (0, -2),
    "d": (0, 0.1),
    "N": (60, 1000),
}

GRADED = {"A", "B", "C", "D", "GradedP", "GradedR", "GradedF", "Fallout", "Generality"}  # take relevances in [0, 1]
NUMERIC = sorted(name for name, definition in REGISTRY.items() if not definition.text)


def some_settings(name: str, random: Random) -> dict[str, Any]:
    """Settings of a measure: what it needs, and each of the others in one case of three."""
    settings = {}
    for setting, default in REGISTRY[name].settings.items():
        if default is REQUIRED or random.random() < 1 / 3:
            settings[setting] = random.choice(CHOICES[setting])
    return settings


@st.composite
def measures(draw: st.DrawFn, name: str) -> Measure:
    """A measure of this name with settings out of CHOICES."""
    settings = {}
    for setting, default in REGISTRY[name].settings.items():
        if default is REQUIRED or draw(st.booleans()):
            settings[setting] = draw(st.sampled_from(CHOICES[setting]))
    return make(name, settings)


def grades_for(name: str, *, binary: bool = False) -> tuple[float, ...]:
    """Grades that a measure takes: Gimel'farb's only go from 0 to 1."""
    if binary:
        return (0, 1)
    return (0, 0.25, 0.5, 1) if name in GRADED else (0, 0, 1, 2, 3, 0.5)


def some_plain(random: Random, grades: tuple[float, ...] = (0, 0, 1, 2, 3, 0.5), longest: int = 12) -> Plain:
    """A list with judged, unjudged and pooled but unjudged items."""
    kinds: list[Grade] = [*grades, *grades, None, None, -1]
    ranking = tuple(random.choice(kinds) for _ in range(random.randrange(longest + 1)))
    missed = tuple(random.choice([*grades, -1]) for _ in range(random.randrange(6)))
    return Plain(ranking, missed)


def plains(
    grades: tuple[float, ...] = (0, 1, 2, 3), *, holes: bool = True, least: int = 0, longest: int = 8
) -> st.SearchStrategy[Plain]:
    """Lists for Hypothesis; `holes` are items without a judgment."""
    kinds: list[Grade] = [*grades, None, -1] if holes else [*grades]
    return st.builds(
        Plain,
        st.lists(st.sampled_from(kinds), min_size=least, max_size=longest).map(tuple),
        st.lists(st.sampled_from([grade for grade in kinds if grade is not None]), max_size=4).map(tuple),
    )


def batch(lists: list[Plain], *, top: float | None = None, padding: int = 0) -> Lists:
    """The lists as one padded batch. `padding` adds columns that hold nothing."""
    seen = [[(place + 1, grade) for place, grade in enumerate(one.ranking) if grade is not None] for one in lists]
    width = max((len(some) for some in seen), default=0) + padding
    depth = max((len(one.pool) for one in lists), default=0) + padding
    rank = np.full((len(lists), width), BEYOND, dtype=np.int64)
    grade = np.full((len(lists), width), np.nan)
    pool = np.full((len(lists), depth), np.nan)
    for row, (one, some) in enumerate(zip(lists, seen, strict=True)):
        for column, (place, value) in enumerate(some):
            rank[row, column], grade[row, column] = place, value
        pool[row, : len(one.pool)] = one.pool
    return Lists(
        rank=rank,
        grades=grade,
        retrieved=np.array([len(one.ranking) for one in lists], dtype=np.int64),
        pool=pool,
        top=full_mark(lists) if top is None else top,
    )


def full_mark(lists: list[Plain]) -> float:
    """The highest grade of all judgments, 0 where there is none."""
    return max([0.0, *(grade for one in lists for grade in one.pool)])


def with_strata(lists: list[Plain], strata: list[tuple[list[int], list[int]]], sizes: list[list[float]]) -> Lists:
    """A batch with sampling strata: per list, the strata of its pooled retrieved and of its missed items."""
    plain = batch(lists)
    stratum = np.full(plain.rank.shape, -1, dtype=np.int64)
    pool_stratum = np.full(plain.pool.shape, -1, dtype=np.int64)
    for row, (one, (found, missed)) in enumerate(zip(lists, strata, strict=True)):
        stratum[row, : len(found)] = found
        grades = [grade for grade in one.ranking if grade is not None] + list(one.missed)
        pairs = sorted(zip(grades, [*found, *missed], strict=True), key=lambda pair: -pair[0])
        pool_stratum[row, : len(pairs)] = [where for _, where in pairs]
    return Lists(
        plain.rank, plain.grade, plain.retrieved, plain.pool, plain.top,
        stratum=stratum, pool_stratum=pool_stratum, stratum_size=np.array(sizes, dtype=float),
    )  # fmt: skip
