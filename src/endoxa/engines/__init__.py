"""The retrieval systems to be judged. All have one interface: build an index of a corpus, score its items for queries.

An engine is a frozen dataclass of settings. The same settings and seed give the same index, up to the order of sums in
threads. Its descriptor computes beforehand, once and in parallel, what the engine needs to know about each picture.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from endoxa.errors import TableError, TextError
from endoxa.frozen import dataclass
from endoxa.images import Picture
from endoxa.tables import Floats, Ints

Columns = Mapping[str, npt.NDArray[Any]]
PICTURES, SYMBOLS = "pictures", "symbols"  # what engines and collections suit


class Descriptor(Protocol):
    """What turns one picture into numbers: a frozen dataclass whose fields are its settings.

    Results are kept under the name, the version and the settings. Raise the version when the numbers change.
    """

    name: ClassVar[str]
    version: ClassVar[int]

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """Named arrays with the same number of rows, at least one: a row for the picture, or one per region."""


@dataclass(frozen=True, eq=False)
class Material:
    """What is known about items: their words, and the rows that a descriptor computed, grouped by item.

    Item i has counts[i] rows in every column, starting at counts[:i].sum(). Without a descriptor there are no columns.
    """

    items: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    columns: Columns = field(default_factory=dict)
    counts: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def offsets(self) -> Ints:
        """The first row of each item, followed by the total number of rows."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts, dtype=np.int64)])

    def take(self, positions: Sequence[int] | Ints) -> Material:
        """The items at these positions, in this order."""
        at = np.asarray(positions)
        if at.dtype == np.bool_ or (at.size and at.min() < 0):
            raise TableError("items are taken by their positions, whole numbers from 0")
        at = at.astype(np.int64)
        names, words = tuple(self.items[i] for i in at), tuple(self.words[i] for i in at)
        if not self.columns:
            return Material(names, words)
        counts = self.counts[at]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = np.repeat(self.offsets[at], counts) + within
        return Material(names, words, {name: column[rows] for name, column in self.columns.items()}, counts)

    def only(self, items: Collection[str]) -> Material:
        """Those of the items that are among these, in their order."""
        keep = [at for at, item in enumerate(self.items) if item in items]
        return self if len(keep) == len(self) else self.take(keep)

    def require(self, columns: Iterable[str], engine: str) -> None:
        """Refuse material without these columns."""
        for column in columns:
            if column not in self.columns:
                what = f"the material for {engine} has no column {column!r}"
                raise TableError(what, remedy="describe the pictures with its descriptor first")

    def require_regions(self, columns: Sequence[str], engine: str) -> None:
        """Refuse material without these columns, or with bad regions in the first of them."""
        self.require(columns, engine)
        self.refuse_bad_regions(self.columns[columns[0]])

    def refuse_bad_regions(self, features: Floats) -> None:
        """Refuse an item without a region, and a region with a feature (regions × features) that is not finite."""
        if len(self) and self.counts.min() < 1:
            item = self.items[int(self.counts.argmin())]
            raise TableError(f"item {item!r} has no region", remedy="every picture has at least one, describe it again")
        if not (finite := np.isfinite(features).all(axis=1)).all():
            item = self.items[int(np.searchsorted(self.offsets, np.argmin(finite), side="right")) - 1]
            raise TableError(f"a region of item {item!r} has a feature that is not finite", remedy="describe it again")


@dataclass(frozen=True, eq=False)
class Index:
    """What an engine needs to answer queries: the material of the items, and arrays that it computed from it."""

    engine: Engine
    material: Material
    arrays: Columns = field(default_factory=dict)

    @property
    def items(self) -> tuple[str, ...]:
        """The items that can be returned."""
        return self.material.items


@dataclass(frozen=True, eq=False)
class Saved:
    """An index, the digests of its pictures, and facts: `train` and `skipped` name pictures that are not searched."""

    index: Index
    digests: Mapping[str, str]
    facts: Mapping[str, Any]

    @property
    def train(self) -> frozenset[str]:
        """The pictures that models learnt from and that are therefore not searched."""
        return frozenset(self.facts.get("train", ()))


class Engine(Protocol):
    """A retrieval system: a frozen dataclass whose settings are numbers, texts and truth values only."""

    @property
    def name(self) -> str:
        """The name of the system in runs and on the command line."""

    @property
    def descriptor(self) -> Descriptor | None:
        """What the engine needs to know about pictures; None if words are enough."""

    @property
    def takes_text(self) -> bool:
        """Whether a query may be words."""

    def build(self, material: Material, *, train: Material | None = None, seed: int = 0) -> Index:
        """An index of these items. Weights and models are learnt from `train`, or from the items if it is None."""

    def score(self, index: Index, queries: Material) -> Floats:
        """Similarity, queries × items; greater is more similar. NaN means undefined, -inf means not returned."""

    def score_words(self, index: Index, texts: Sequence[tuple[str, ...]]) -> Floats:
        """How well items match words, texts × items. An engine that takes no words raises a TextError."""


def unchanged(engine: Any, material: Material, *, train: Material | None = None, seed: int = 0) -> Index:
    """The `build` of an engine that learns nothing and draws nothing: the material, if it has what `needs` names."""
    material.require_regions(engine.needs, engine.name)
    return Index(engine, material)


def takes_no_words(engine: Engine, index: Index, texts: Sequence[tuple[str, ...]]) -> Floats:
    """The `score_words` of an engine that sees pictures only."""
    raise TextError(f"{engine.name} takes no words", remedy="give pictures, or ask an engine that takes text")
