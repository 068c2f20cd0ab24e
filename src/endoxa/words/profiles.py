"""How much the regions of a word's pictures differ from those of other pictures: excess, entropy, P(word|region).

    γ_ij = p(j|r_i)         the share of component j of a base mixture in region i
    m_j                     the mean of γ over the regions of the word's pictures; c_j: over all other regions
    excess = Σ_j max(m_j - c_j, 0)      the share of the word's regions beyond what other pictures have, 0 to 1
    E      = -Σ_j m_j log2 m_j          from 0 to log2 of the number of components
    P(X|j) = max(0, 1 - c_j/m_j),  P(X|r_i) = Σ_j γ_ij P(X|j)

All are means over several base mixtures. Misleads: both excess and E depend on how many pictures a word has, E so
much that it mostly orders words by that; compare them with a null (`word_nulls`).
Source: docs/methods/words.md, Excess of regions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from endoxa.frozen import dataclass
from endoxa.tables import Floats, Ints

Has = npt.NDArray[np.bool_]  # words × pictures


@dataclass(frozen=True, eq=False)
class Profiles:
    """The regions of pictures as base mixtures see them.

    sums    of each mixture, pictures × components: γ summed over the regions of the picture
    counts  the regions of each picture, which may be 0
    """

    sums: tuple[Floats, ...]
    counts: Ints

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def totals(self) -> tuple[Floats, ...]:
        """Of each mixture: γ summed over all regions."""
        return tuple(one.sum(axis=0) for one in self.sums)

    @property
    def regions(self) -> int:
        """The number of all regions."""
        return int(self.counts.sum())


@dataclass(frozen=True, eq=False)
class Contrast:
    """m and c of sets of pictures under one mixture: sets × components. NaN for a set without regions, or with all."""

    m: Floats
    c: Floats

    @classmethod
    def of(cls, inside: Floats, regions: npt.ArrayLike, total: Floats, whole: int) -> Contrast:
        """From the sums of γ inside the sets (sets × components), their regions, and the sums over all regions."""
        own = np.asarray(regions, dtype=np.float64)[..., None]
        with np.errstate(divide="ignore", invalid="ignore"):
            m, c = inside / own, (total - inside) / (whole - own)
        return cls(np.where(own > 0, m, np.nan), np.where(own < whole, c, np.nan))

    @property
    def excess(self) -> Floats:
        """Σ_j max(m_j - c_j, 0) of each set."""
        return np.asarray(np.maximum(self.m - self.c, 0).sum(axis=-1))

    @property
    def entropy(self) -> Floats:
        """-Σ_j m_j log2 m_j of each set, in bits."""
        return entropy_of(self.m)

    @property
    def chances(self) -> Floats:
        """P(X|j) = max(0, 1 - c_j/m_j); 0 where m_j is 0."""
        share = np.divide(self.c, self.m, out=np.ones_like(self.m), where=self.m > 0)
        return np.asarray(np.maximum(0.0, 1 - share))


def entropy_of(shares: Floats) -> Floats:
    """-Σ p log2 p over the last axis, in bits; 0 log 0 is 0."""
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(shares * logs).sum(axis=-1))


def contrasts(profiles: Profiles, has: Has) -> list[Contrast]:
    """m and c of every word, for each base mixture."""
    own = has.astype(np.float64)
    regions = own @ profiles.counts
    pairs = zip(profiles.sums, profiles.totals, strict=True)
    return [Contrast.of(own @ sums, regions, total, profiles.regions) for sums, total in pairs]


def mean_excess(found: Sequence[Contrast]) -> Floats:
    """The excess of each word, the mean over the base mixtures."""
    return np.asarray(np.mean([one.excess for one in found], axis=0))


def mean_entropy(found: Sequence[Contrast]) -> Floats:
    """The entropy of each word, the mean over the base mixtures."""
    return np.asarray(np.mean([one.entropy for one in found], axis=0))
