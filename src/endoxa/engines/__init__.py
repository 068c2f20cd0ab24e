"""The retrieval systems to be judged. One interface: build an index of a corpus, score its items for queries.

An engine is a frozen dataclass of settings; the same settings and seed give the same index (to the digits that count:
with another number of threads sums are made in another order). What it needs of each
picture is computed beforehand by its descriptor, so that work on pictures is done once, in parallel, and kept
(`endoxa.io.descriptions`); engines see arrays only, and `endoxa.io.indexes` saves them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from endoxa.errors import TableError
from endoxa.images import Picture
from endoxa.tables import Floats, Ints

Columns = Mapping[str, npt.NDArray[Any]]


class Descriptor(Protocol):
    """How one picture becomes numbers: a frozen dataclass whose fields are its settings.

    `name`, `version` and the settings are the key under which results are kept: raise the version when numbers change.
    """

    name: ClassVar[str]
    version: ClassVar[int]

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """Named arrays, all with the same number of rows: one for the whole picture, or one per region (never none)."""
        ...


@dataclass(frozen=True, eq=False)
class Material:
    """What is known of some items: their words, and the rows that a descriptor gave, those of an item together.

    Item i has counts[i] rows in every column, from counts[:i].sum() on. Without a descriptor there are no columns.
    """

    items: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    columns: Columns = field(default_factory=dict)
    counts: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def offsets(self) -> Ints:
        """Where each item's rows begin, and one more: where the last one's end."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts, dtype=np.int64)])

    def take(self, positions: Sequence[int] | Ints) -> Material:
        """Some of the items, in the order given."""
        at = np.asarray(positions)
        if at.dtype == np.bool_ or (at.size and at.min() < 0):
            raise TableError("items are taken by their places, whole numbers from 0 on")
        at = at.astype(np.int64)
        names, words = tuple(self.items[i] for i in at), tuple(self.words[i] for i in at)
        if not self.columns:
            return Material(names, words)
        counts = self.counts[at]
        first = np.repeat(self.offsets[at], counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = first + within
        return Material(names, words, {name: column[rows] for name, column in self.columns.items()}, counts)


@dataclass(frozen=True, eq=False)
class Index:
    """What an engine keeps to answer: the material of the items, and arrays that it learnt or laid out from them."""

    engine: Engine
    material: Material
    arrays: Columns = field(default_factory=dict)

    @property
    def items(self) -> tuple[str, ...]:
        """The items that can be returned."""
        return self.material.items


class Engine(Protocol):
    """A retrieval system: a frozen dataclass whose fields are its settings, numbers, texts and truth values only."""

    @property
    def name(self) -> str:
        """What the system is called in runs and on the command line."""
        ...

    @property
    def descriptor(self) -> Descriptor | None:
        """What it needs of pictures; None if words are enough."""
        ...

    @property
    def takes_text(self) -> bool:
        """Whether a query may be words."""
        ...

    def build(self, material: Material, *, train: Material | None = None, seed: int = 0) -> Index:
        """An index of these items. What is learnt (weights, models) is learnt from `train`; without it from them."""
        ...

    def score(self, index: Index, queries: Material) -> Floats:
        """How alike: queries × items, greater is more alike; NaN: nothing can be said, -inf: no answer."""
        ...

    def score_words(self, index: Index, texts: Sequence[tuple[str, ...]]) -> Floats:
        """How well items fit words: texts × items. A TextError if the engine takes none."""
        ...
