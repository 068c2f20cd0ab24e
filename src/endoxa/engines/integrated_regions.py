"""Integrated region matching, the measure of SIMPLIcity: all regions of one picture against all of another."""

from __future__ import annotations

from typing import ClassVar

import numba
import numpy as np

from endoxa.engines import Index, Material, takes_no_words, unchanged
from endoxa.engines.block_regions import BlockRegions
from endoxa.engines.histogram_features import check_background
from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.tables import Bools, Floats, Ints


@dataclass(frozen=True)
class IntegratedRegions:
    """The engine: score = -d, d = Σ s(i, j) d(i, j) over pairs of a region of the query and a region of the item.

    s is the amount of matching of a pair; rows and columns of s sum to the significance of their region. "The most
    similar has the highest priority": pairs are taken in the order of their distance, each with as much significance
    as both regions have left. d(i, j) = Σ (f - f')² over the six features of colour and texture; if neither picture is
    textured, it is multiplied by g of the distance of their shapes: .5 below .2, .85 below .5, else 1.

    From the papers: all of that, and `significance`: area, or uniform (equal for all regions). Ours: every weight in
    these sums of squares is 1, the scale by which k-means formed the regions. SIMPLIcity compares textured pictures
    with textured ones only (`apart`: scores across the two classes are NaN). Without it every pair has a score, and
    shapes are ignored if either picture is textured.
    The papers were not available when this was written: check the steps of g against them before citing.
    Misleads: a greedy matching is not the cheapest one (compare the earth mover's distance), and it is not a metric:
    the triangle inequality may fail. Ties in distance go by query region, then item region, so that d(a, b) = d(b, a)
    holds only without ties.
    Source: Li, Wang and Wiederhold, IRM, ACM Multimedia 2000, 147-156; Wang, Li and Wiederhold, PAMI 23 (2001).
    """

    name: ClassVar[str] = "integrated-regions"
    takes_text: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("features", "area", "textured")
    build = unchanged
    score_words = takes_no_words

    significance: str = "area"
    apart: bool = False
    background: str = "white"

    def __post_init__(self) -> None:
        if self.significance not in {"area", "uniform"}:
            raise TextError(f"no significance is called {self.significance!r}", remedy="expected area or uniform")
        check_background(self.background)

    @property
    def descriptor(self) -> BlockRegions:
        """The regions, with the same background."""
        return BlockRegions(background=self.background)

    def score(self, index: Index, queries: Material) -> Floats:
        """The negative distance of each query from each item; 0 for identical pictures."""
        queries.require_regions(self.needs, self.name)
        sides = []
        for material in (queries, index.material):
            features = np.ascontiguousarray(material.columns["features"], dtype=np.float64)
            textured = np.asarray(material.columns["textured"], dtype=np.bool_)[material.offsets[:-1]]
            areas = np.ascontiguousarray(material.columns["area"], dtype=np.float64)
            if self.significance == "uniform":
                areas = np.repeat(1 / np.maximum(material.counts, 1), material.counts)
            sides.append((features, areas, textured, material.offsets))
        scores = -distances(*sides[0], *sides[1])
        if self.apart:
            scores[sides[0][2][:, None] != sides[1][2]] = np.nan
        # Avoid -0.0, which would be printed as such.
        return scores + 0.0


@numba.njit(cache=True)
def distances(
    query_features: Floats, query_significances: Floats, query_textured: Bools, query_offsets: Ints,
    item_features: Floats, item_significances: Floats, item_textured: Bools, item_offsets: Ints,
) -> Floats:  # fmt: skip
    """The integrated distance of every query from every item."""
    queries, items = len(query_offsets) - 1, len(item_offsets) - 1
    found = np.empty((queries, items))
    for q in range(queries):
        first, last = query_offsets[q], query_offsets[q + 1]
        for i in range(items):
            begin, end = item_offsets[i], item_offsets[i + 1]
            shaped = not (query_textured[q] or item_textured[i])
            pairs = region_distances(query_features[first:last], item_features[begin:end], shaped)
            left = query_significances[first:last].copy()
            right = item_significances[begin:end].copy()
            found[q, i] = matching(pairs, left, right)[0]
    return found


@numba.njit(cache=True)
def region_distances(ones: Floats, others: Floats, shaped: bool) -> Floats:
    """d(i, j): squared distance in colour and texture, reduced if the shapes are similar too."""
    pairs = np.empty((len(ones), len(others)))
    for i in range(len(ones)):
        for j in range(len(others)):
            total = 0.0
            for f in range(6):
                total += (ones[i, f] - others[j, f]) ** 2
            if shaped:
                shape = 0.0
                for f in range(6, 9):
                    shape += (ones[i, f] - others[j, f]) ** 2
                if shape < 0.2:
                    total *= 0.5
                elif shape < 0.5:
                    total *= 0.85
            pairs[i, j] = total
    return pairs


@numba.njit(cache=True)
def matching(pairs: Floats, left: Floats, right: Floats) -> tuple[float, Floats]:
    """Σ s d and s itself, the nearest pairs first, each for min(what is left of both); `left` and `right` are used up.

    Instead of sorting all pairs, each row remembers its nearest open column and how far that is.
    """
    m, n = pairs.shape
    amounts = np.zeros((m, n))
    nearest, reach = np.zeros(m, np.int64), np.empty(m)
    for i in range(m):
        reach[i] = _reach(pairs, i, right, nearest)
    total = 0.0
    while True:
        row, least = -1, np.inf
        for i in range(m):
            if reach[i] < least:
                row, least = i, reach[i]
        # Every row is used up, or no column is open: what is left then is rounding.
        if row < 0:
            return total, amounts
        column = nearest[row]
        amount = min(left[row], right[column])
        amounts[row, column] = amount
        total += amount * least
        left[row] -= amount
        right[column] -= amount
        if left[row] <= 0:
            reach[row] = np.inf
        if right[column] <= 0:
            for i in range(m):
                if nearest[i] == column and reach[i] < np.inf:
                    reach[i] = _reach(pairs, i, right, nearest)


@numba.njit(cache=True)
def _reach(pairs: Floats, row: int, right: Floats, nearest: Ints) -> float:
    """How far the row's nearest open column is (inf: none is open); which it is goes into `nearest`."""
    least = np.inf
    for j in range(pairs.shape[1]):
        if right[j] > 0 and pairs[row, j] < least:
            least = pairs[row, j]
            nearest[row] = j
    return least
