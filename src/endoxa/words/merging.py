"""Merging neighbouring regions whose word posteriors agree, and at random to the same number of regions.

    BC(r, s) = Σ_w √(p(w|r) p(w|s))       the pair of neighbours with the greatest BC is merged while BC ≥ the threshold

Features and posteriors of a merged region are means weighted by area; areas are added.
Misleads: in trials it did not help: on photographs it lost .010 to .015 of the lift, more than merging at random.
Source: Barnard et al., section 3; docs/methods/words.md, Merging regions.
"""

from __future__ import annotations

import numpy as np

from endoxa.engines import Material
from endoxa.tables import Floats, Ints

SIZE, NEIGHBOURS = "size", "neighbours"  # columns: share of the frame; a bit for each region that it touches
MOST = 62  # regions of a picture, a bit each


def by_words(material: Material, posteriors: Floats, threshold: float, column: str, added: int | None) -> Material:
    """Merge while two neighbours agree; `posteriors` are regions × words, `added` the place of the area, if any."""
    parts, offsets = [], material.offsets
    for at in range(len(material)):
        rows = slice(offsets[at], offsets[at + 1])
        picture = _Picture.of(material, rows, column)
        picture.posteriors = posteriors[rows].copy()
        while pairs := picture.pairs():
            values = [_agreement(picture.posteriors, pair) for pair in pairs]
            best = int(np.argmax(values))
            if values[best] < threshold:
                break
            picture.merge(*pairs[best])
        parts.append(picture)
    return _joined(material, parts, column, added)


def at_random(
    material: Material, counts: Ints, column: str, added: int | None, *, rng: np.random.Generator
) -> Material:
    """Merge random neighbours until each picture has as many regions as `counts` says."""
    parts, offsets = [], material.offsets
    for at in range(len(material)):
        picture = _Picture.of(material, slice(offsets[at], offsets[at + 1]), column)
        while len(picture.alive) > counts[at] and (pairs := picture.pairs()):
            picture.merge(*pairs[int(rng.integers(len(pairs)))])
        parts.append(picture)
    return _joined(material, parts, column, added)


def _agreement(posteriors: Floats, pair: tuple[int, int]) -> float:
    one, other = posteriors[pair[0]], posteriors[pair[1]]
    return float(np.sqrt(one * other).sum())


class _Picture:
    """The regions of a picture while they are merged."""

    def __init__(self, rows: Floats, sizes: Floats, touching: list[set[int]]) -> None:
        self.rows, self.sizes, self.touching = rows, sizes, touching
        self.posteriors: Floats = np.zeros((len(rows), 0))
        self.alive = list(range(len(rows)))

    @classmethod
    def of(cls, material: Material, rows: slice, column: str) -> _Picture:
        """From the columns of its regions; neighbours that were left out are forgotten."""
        features = material.columns[column][rows].astype(np.float64)
        sizes = material.columns[SIZE][rows].astype(np.float64)
        n = len(features)
        bits = [int(one) for one in material.columns[NEIGHBOURS][rows]]
        return cls(features, sizes, [{other for other in range(n) if one >> other & 1} for one in bits])

    def pairs(self) -> list[tuple[int, int]]:
        """Neighbours, each pair once."""
        return [(one, other) for one in self.alive for other in sorted(self.touching[one]) if one < other]

    def merge(self, one: int, other: int) -> None:
        """The first takes in the second."""
        whole = self.sizes[one] + self.sizes[other]
        share = self.sizes[other] / whole if whole > 0 else 0.5
        for values in (self.rows, self.posteriors):
            values[one] += share * (values[other] - values[one])
        self.sizes[one] = whole
        for third in self.touching[other] - {one}:
            self.touching[third] = self.touching[third] - {other} | {one}
        self.touching[one] = (self.touching[one] | self.touching[other]) - {one, other}
        self.alive.remove(other)


def _joined(material: Material, parts: list[_Picture], column: str, added: int | None) -> Material:
    """The material of the regions that are left, the largest of each picture first."""
    rows, sizes, counts = [], [], []
    for part in parts:
        order = sorted(part.alive, key=lambda region: (-part.sizes[region], region))
        rows.append(part.rows[order])
        sizes.append(part.sizes[order])
        counts.append(len(order))
    features, areas = np.concatenate(rows), np.concatenate(sizes)
    if added is not None:
        features[:, added] = areas
    return Material(
        material.items, material.words, {column: features.astype(np.float32), SIZE: areas}, np.array(counts, np.int64)
    )
