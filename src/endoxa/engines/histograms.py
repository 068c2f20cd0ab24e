"""Colour and texture of the whole picture and of blocks, scored as in the GNU Image-Finding Tool (GIFT, Viper)."""

from __future__ import annotations

from typing import ClassVar

import numba
import numpy as np
import numpy.typing as npt

from endoxa.engines import Index, Material, takes_no_words
from endoxa.engines.histogram_features import BANDS, COLOURS, Codes, HistogramFeatures, check_background
from endoxa.errors import refuse_unknown
from endoxa.frozen import dataclass
from endoxa.tables import Floats

GROUPS = {
    "all": ("colour_blocks", "colour_histogram", "texture_blocks", "texture_histogram"),
    "colour": ("colour_blocks", "colour_histogram"),
    "texture": ("texture_blocks", "texture_histogram"),
}
KINDS = {"colour_blocks": COLOURS, "texture_blocks": BANDS}
CHUNK = 64  # items that stay in the second cache while queries pass over them
TOGETHER = 64  # queries


@dataclass(frozen=True)
class Histograms:
    """The engine: four groups of features, each scored and normalised separately, then averaged with equal weights.

    A block feature is "this block has this colour" (or this band of this filter). A picture that shares it with the
    query gains log(df)², where df is the share of the collection's pictures that have it; a histogram feature gains
    the smaller of the two shares, unweighted. Each group's sum is divided by the query's score against itself, so that
    every group lies in [0, 1]. A picture scores 1 against itself, or less if a group has no information about it (no
    texture, a collection of one picture): such a group counts 0.

    From GIFT's sources: the squared logarithm, for blocks only (CWFClassicalIDF.cc), intersection
    (CWeightingFunction.cc), the division by the query's own score (CQInvertedFile.cc), the mean of normalised groups
    (CQMultiple.cc), texture blocks of the lowest band are no features (Makefile.am: NO_FLAT_FEATURES), a feature that
    the collection lacks weighs 0 (CAcIFFileSystem.cc). Ours: all features are used, where GIFT by default stops after
    the 70 % with most weight; a group in which the query has no weight counts 0, where GIFT may divide 0 by 0.
    `features` is all, colour (GIFT-color) or texture (GIFT-texture).
    Misleads: document frequencies depend on the collection, so that scores of different collections are not comparable.
    Source: Squire, Müller, Müller and Pun, Pattern Recognition Letters 21 (2000) 1193-1198; gnu_gift 0.1.15.
    """

    takes_text: ClassVar[bool] = False
    score_words = takes_no_words

    features: str = "all"
    background: str = "white"

    def __post_init__(self) -> None:
        refuse_unknown("group of features", self.features, GROUPS, listed=True)
        check_background(self.background)

    @property
    def name(self) -> str:
        """`histograms`, `histograms-colour` or `histograms-texture`."""
        return "histograms" if self.features == "all" else f"histograms-{self.features}"

    @property
    def descriptor(self) -> HistogramFeatures:
        """The features, with the same background."""
        return HistogramFeatures(self.background)

    def build(self, material: Material, *, train: Material | None = None, seed: int = 0) -> Index:
        """Weight every block feature by its frequency in the collection, or in `train`; nothing is random."""
        learnt = material if train is None else train
        for one in (material, learnt):
            one.require(GROUPS["all"], self.name)
        arrays = {
            group: inverse_frequencies(learnt.columns[group], KINDS[group])
            for group in GROUPS[self.features]
            if group in KINDS
        }
        # A block without texture is not a feature, even if it is rare.
        if "texture_blocks" in arrays:
            arrays["texture_blocks"][:, 0] = 0
        return Index(self, material, arrays)

    def score(self, index: Index, queries: Material) -> Floats:
        """The mean of the groups' scores, in [0, 1]."""
        queries.require(GROUPS["all"], self.name)
        groups = GROUPS[self.features]
        total = np.zeros((len(queries), len(index.material)))
        # Blocks of queries: the weights of their features need much more memory than the features.
        for first in range(0, len(queries), TOGETHER):
            block = slice(first, first + TOGETHER)
            for group in groups:
                items, asked = index.material.columns[group], queries.columns[group][block]
                if group in KINDS:
                    worth = worths(index.arrays[group], asked)
                    found, own = matched(items, asked, worth), worth.sum(-1)
                else:
                    found, own = intersected(items, asked), asked.sum(-1, dtype=np.float64)
                total[block] += np.divide(found, own[:, None], out=np.zeros_like(found), where=own[:, None] > 0)
        return total / len(groups)


def inverse_frequencies(codes: Codes, kinds: int) -> Floats:
    """log(df)² for each block and each code it can have: blocks × kinds; 0 where no picture has it.

    df is the share of the pictures whose block has that code. Codes of `kinds` and above are not features.
    """
    counts = occurrences(codes, kinds)
    return np.square(np.log(counts / max(len(codes), 1), out=np.zeros_like(counts), where=counts > 0))


def worths(weights: Floats, codes: Codes) -> Floats:
    """The weight of each picture's own code in each block, pictures × blocks; 0 for codes that are not features."""
    known = codes < weights.shape[1]
    return np.where(known, weights[np.arange(len(weights)), np.where(known, codes, 0)], 0.0)


@numba.njit(cache=True)
def occurrences(codes: Codes, kinds: int) -> Floats:
    """The number of pictures with each code in each block, blocks × kinds. A loop avoids copying the collection."""
    counts = np.zeros((codes.shape[1], kinds))
    for picture in range(codes.shape[0]):
        for block in range(codes.shape[1]):
            if codes[picture, block] < kinds:
                counts[block, codes[picture, block]] += 1
    return counts


@numba.njit(cache=True, fastmath=True)
def matched(items: Codes, queries: Codes, worth: Floats) -> Floats:
    """Σ over blocks of the query's weight where item and query have the same code: queries × items."""
    scores = np.zeros((queries.shape[0], items.shape[0]))
    blocks = items.shape[1]
    for first in range(0, items.shape[0], CHUNK):
        for query in range(queries.shape[0]):
            for item in range(first, min(first + CHUNK, items.shape[0])):
                total = 0.0
                for block in range(blocks):
                    total += worth[query, block] if items[item, block] == queries[query, block] else 0.0
                scores[query, item] = total
    return scores


@numba.njit(cache=True)
def intersected(items: npt.NDArray[np.uint8], queries: npt.NDArray[np.uint8]) -> Floats:
    """Σ over bins of the smaller share, in 255ths: queries × items. Integers, so that it is exact."""
    scores = np.zeros((queries.shape[0], items.shape[0]))
    for query in range(queries.shape[0]):
        for item in range(items.shape[0]):
            total = 0
            for at in range(items.shape[1]):
                total += min(items[item, at], queries[query, at])
            scores[query, item] = total
    return scores
