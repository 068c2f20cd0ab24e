"""Scores of different systems made comparable: each function sees all lists of a run at once.

A list is a stretch of the scores that begins at one of `starts`. Source: the names and formulas are those of ranx.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from endoxa.errors import TextError
from endoxa.tables import Floats, Ints

Norm = Callable[[Floats, Ints, Ints], Floats]  # scores, starts and sizes of the lists
LEAST = 1e-9  # of a divisor: a list of equal scores gets 0


def _min_max(scores: Floats, starts: Ints, sizes: Ints) -> Floats:
    """(score - least) / (greatest - least). Misleads: the last of a list gets 0, as if it were not listed."""
    least: Floats = np.minimum.reduceat(scores, starts)
    width: Floats = np.maximum(np.maximum.reduceat(scores, starts) - least, LEAST)
    return (scores - np.repeat(least, sizes)) / np.repeat(width, sizes)


def _max(scores: Floats, starts: Ints, sizes: Ints) -> Floats:
    """score / greatest, which must be above 0."""
    most: Floats = np.maximum.reduceat(scores, starts)
    if (most <= 0).any():
        raise TextError(
            "the norm max divides by the greatest score of a list, and one is not above 0", remedy="use min-max"
        )
    return scores / np.repeat(most, sizes)


def _sum(scores: Floats, starts: Ints, sizes: Ints) -> Floats:
    """(score - least) / sum of these differences."""
    least: Floats = np.minimum.reduceat(scores, starts)
    above = scores - np.repeat(least, sizes)
    whole: Floats = np.maximum(np.add.reduceat(above, starts), LEAST)
    return above / np.repeat(whole, sizes)


def _zmuv(scores: Floats, starts: Ints, sizes: Ints) -> Floats:
    """(score - mean) / standard deviation."""
    mean: Floats = np.add.reduceat(scores, starts) / sizes
    apart = scores - np.repeat(mean, sizes)
    spread: Floats = np.maximum(np.sqrt(np.add.reduceat(apart**2, starts) / sizes), LEAST)
    return apart / np.repeat(spread, sizes)


def _rank(scores: Floats, starts: Ints, sizes: Ints) -> Floats:
    """1 - (rank - 1) / length of the list."""
    place = np.arange(len(scores)) - np.repeat(starts, sizes)
    return 1 - place / np.repeat(sizes, sizes)


NORMS: dict[str, Norm] = {
    "min-max": _min_max, "max": _max, "sum": _sum, "zmuv": _zmuv, "rank": _rank,
    "none": lambda scores, starts, sizes: scores,
}  # fmt: skip
