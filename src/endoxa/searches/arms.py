"""What a search knows about each picture: a few groups of numbers, each with the metrics that may compare them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from endoxa.errors import TableError, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.images.corpus import Skipped
from endoxa.images.spoken_words import spoken
from endoxa.searches.distances import NAMES, distances
from endoxa.searches.projections import Basis
from endoxa.tables import Bools, Floats, Ints

Values = npt.NDArray[Any]
Point = Mapping[str, Values]  # a picture from outside: its row of numbers in each group
Arm = tuple[str, str]  # a group and a metric

# The groups and the metrics that a search chooses among; the first is the default.
METRICS: dict[str, tuple[str, ...]] = {
    "look": ("cosine", "l1", "l2"),
    "colours": ("l1", "chi2", "l2", "cosine"),
    "texture": ("l1", "chi2", "l2"),
    "layout": ("l1", "l2"),
}
BLOCK = 65_536  # pictures that are looked at at a time
PAIRS = 200_000  # random pairs whose distances give the scale of an arm
QUANTILES = (0.05, 0.10, 0.25, 0.50)  # the first of these quantiles that is not 0


@dataclass(frozen=True, eq=False)
class Group:
    """One group of features.

    values   items × numbers, float32 or bytes; may be mapped from a file
    metrics  by which it may be compared, the default first
    taus     the scale of each metric: a small quantile of the distance of random pairs; 0 means that the arm is silent
    """

    name: str
    values: Values
    metrics: tuple[str, ...]
    taus: Mapping[str, float]

    def __post_init__(self) -> None:
        for metric in self.metrics:
            refuse_unknown("metric", metric, NAMES, listed=True)
        if missing := [metric for metric in self.metrics if metric not in self.taus]:
            raise TableError(f"group {self.name!r} has no scale for {', '.join(missing)}")

    @cached_property
    def speaks(self) -> Bools:
        """Whether each picture has numbers here: finite, and not all 0."""
        blocks = (np.asarray(self.values[at : at + BLOCK]) for at in range(0, len(self.values), BLOCK))
        found = [np.isfinite(block).all(1) & block.any(1) for block in blocks]
        return np.concatenate([np.zeros(0, np.bool_), *found])

    @property
    def audible(self) -> tuple[str, ...]:
        """The metrics that tell pictures apart."""
        return tuple(metric for metric in self.metrics if self.taus[metric] > 0)


class Nearest(Protocol):
    """What finds the nearest pictures of a very large collection: a scan, or an approximate index."""

    def __call__(self, group: Group, points: Values, count: int) -> list[Ints]:
        """The places nearest to each point by the default metric of the group, in any order."""


@dataclass(frozen=True, eq=False)
class Features:
    """A collection as a search sees it: items, groups of features, words, and stacks of near-duplicates.

    digest  changes with any number, item or word in it
    stacks  items with the same number are near-duplicates, and shown as one; the first item of a stack stands for it
    basis   how the vector of a picture from outside becomes its look; None if there is no look
    skipped pictures of the collection that are left out, and why
    nearest what proposes neighbours in a very large collection; without it they are found by a scan
    """

    items: tuple[str, ...]
    groups: tuple[Group, ...]
    words: tuple[tuple[str, ...], ...] = ()
    digest: str = ""
    stacks: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    basis: Basis | None = None
    skipped: tuple[Skipped, ...] = ()
    nearest: Nearest | None = None

    def __post_init__(self) -> None:
        for group in self.groups:
            if group.values.ndim != 2 or len(group.values) != len(self.items):
                shape = " × ".join(map(str, group.values.shape))
                raise TableError(f"group {group.name!r} has the shape {shape}, expected {len(self.items):,} rows")

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each item."""
        return {item: at for at, item in enumerate(self.items)}

    @cached_property
    def spoken(self) -> tuple[tuple[str, ...], ...]:
        """The words of each picture, with those of its name: by them a person asks for it."""
        return spoken(self.items, self.words)

    @cached_property
    def order(self) -> Ints:
        """The rank of each item among all by id, descending: which of two with equal scores comes first."""
        order = np.empty(len(self.items), np.int64)
        order[sorted(range(len(self.items)), key=lambda at: self.items[at].encode(), reverse=True)] = np.arange(
            len(self.items)
        )
        return order

    @cached_property
    def leaders(self) -> Ints:
        """The place of the picture that stands for each one: the first of its stack of near-duplicates."""
        if len(self.stacks) != len(self.items):
            return np.arange(len(self.items))
        _, first, stack = np.unique(self.stacks, return_index=True, return_inverse=True)
        return np.asarray(first[stack], dtype=np.int64)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Every group with each of its metrics that tells pictures apart."""
        return tuple((group.name, metric) for group in self.groups for metric in group.audible)

    def group(self, name: str) -> Group:
        """The group of that name."""
        refuse_unknown("group of features", name, [group.name for group in self.groups], listed=True)
        return next(group for group in self.groups if group.name == name)


def group_of(name: str, values: Values, *, metrics: tuple[str, ...] | None = None, seed: int = 0) -> Group:
    """A group with its scales, from random pairs of pictures."""
    chosen = metrics or METRICS[name]
    return Group(name, values, chosen, {metric: scale(values, metric, seed) for metric in chosen})


def scale(values: Values, metric: str, seed: int = 0) -> float:
    """The 5 % quantile of the distance of random distinct pairs; the 10, 25, 50 % quantile if that is 0; else 0."""
    return scale_between(len(values), lambda left, right: distances(metric, values[right], values[left]), seed)


def scale_between(n: int, between: Callable[[Ints, Ints], Values], seed: int = 0) -> float:
    """The same for any distance: `between` gives those of the pictures at the places `left` to those at `right`."""
    found = _pair_distances(n, between, np.random.default_rng(seed))
    found = found[np.isfinite(found)]
    if not len(found):
        return 0.0
    return float(next((at for at in np.quantile(found, QUANTILES) if at > 0), 0.0))


def _pair_distances(n: int, between: Callable[[Ints, Ints], Values], rng: np.random.Generator) -> Floats:
    """Distances of all pairs, or of up to 200,000 random ones: some hundred pictures against as many others each."""
    if n * (n - 1) // 2 <= PAIRS:
        every = np.arange(n)
        return np.asarray(between(every, every)[np.triu_indices(n, 1)], dtype=np.float64)
    left = np.sort(rng.choice(n, size=min(n, 500), replace=False))
    right = np.sort(rng.choice(n, size=PAIRS // len(left), replace=False))
    return np.asarray(between(left, right)[left[:, None] != right[None, :]], dtype=np.float64)
