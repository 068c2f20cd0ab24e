"""A random system: the baseline that any other system must beat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from endoxa.engines import Index, Material
from endoxa.frozen import dataclass
from endoxa.tables import Floats

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Chance:
    """The engine: a number from 0 to 1 that depends on nothing but the seed and the names of query and item.

    score = mix(hash(seed, query) xor hash(item)) / 2^53, the 53 upper bits of a hash.
    """

    name: ClassVar[str] = "random"
    descriptor: ClassVar[None] = None  # it does not look at pictures
    takes_text: ClassVar[bool] = True  # it does not look at words either, but it answers

    def build(self, material: Material, *, train: Material | None = None, seed: int = 0) -> Index:
        """The seed, and a number for each item."""
        items = _hashed((b"item", item.encode()) for item in material.items)
        return Index(self, material, {"seed": np.array([seed], dtype=np.int64), "hashes": items})

    def score(self, index: Index, queries: Material) -> Floats:
        """A number for every pair."""
        return self._drawn(index, ((b"query", item.encode()) for item in queries.items))

    def score_words(self, index: Index, texts: Sequence[tuple[str, ...]]) -> Floats:
        """A number for every pair; the order of words does not matter."""
        return self._drawn(index, ((b"words", *(word.encode() for word in sorted(set(text)))) for text in texts))

    def _drawn(self, index: Index, queries: Iterable[tuple[bytes, ...]]) -> Floats:
        seed = str(int(index.arrays["seed"][0])).encode()
        asked = _hashed((seed, *query) for query in queries)
        upper = _mixed(asked[:, None] ^ index.arrays["hashes"]) >> np.uint64(11)
        return upper.astype(np.float64) * 2.0**-53


def _hashed(keys: Iterable[tuple[bytes, ...]]) -> Hashes:
    """64 bits for each key; its parts are separated by a byte that does not occur in UTF-8."""
    numbers = [int.from_bytes(blake2b(b"\xff".join(parts), digest_size=8).digest(), "little") for parts in keys]
    return np.array(numbers, dtype=np.uint64)


def _mixed(numbers: Hashes) -> Hashes:
    """The finaliser of SplitMix64: every input bit affects all output bits. Source: Steele et al. 2014."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
