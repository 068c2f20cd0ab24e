"""Rank correlations of measures of visualness with ratings by people, and bootstrap intervals over words."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import polars as pl

from endoxa.errors import JoinError
from endoxa.tables import Floats

FEW = 5  # words with a rating below which no correlation is given
RESAMPLES = 2000
SCHEMA = {
    "method": pl.String, "words": pl.Int64, "rho": pl.Float64, "lo": pl.Float64, "hi": pl.Float64,
    "difference": pl.Float64, "difference_lo": pl.Float64, "difference_hi": pl.Float64,
}  # fmt: skip


def correlations(
    methods: Mapping[str, Floats], ratings: Floats, *, confidence: float = 0.95, resamples: int = RESAMPLES,
    rng: np.random.Generator,
) -> pl.DataFrame:  # fmt: skip
    """Spearman's rho of each method with the ratings, and its difference from the first method, with intervals.

    Words without a rating, or that any method leaves undefined, are left out, so that all methods are compared on the
    same words. Words are resampled (percentile intervals), the same for every method.
    Misleads: ratings describe what a word means, not how it is used in this corpus.
    """
    values = np.stack([np.asarray(one, dtype=np.float64) for one in methods.values()])
    keep = np.isfinite(values).all(axis=0) & np.isfinite(ratings)
    values, ratings = values[:, keep], ratings[keep]
    n = len(ratings)
    if n < FEW:
        what = f"{n} of the words {'has' if n == 1 else 'have'} a rating and a value by every method"
        raise JoinError(
            what, remedy=f"a rank correlation needs at least {FEW}: give norms with more words of the corpus"
        )
    rho = spearman(values, ratings)
    drawn = rng.integers(0, n, (resamples, n))
    again = spearman(values[:, drawn], ratings[drawn])
    rows = []
    for at, name in enumerate(methods):
        apart = (rho[at] - rho[0], *_ends(again[at] - again[0], confidence)) if at else (math.nan,) * 3
        rows.append((name, n, rho[at], *_ends(again[at], confidence), *apart))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _ends(drawn: Floats, confidence: float) -> tuple[float, float]:
    """The middle share of the resamples; one in which all values are tied says nothing."""
    known = drawn[np.isfinite(drawn)]
    if not len(known):
        return math.nan, math.nan
    lo, hi = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(lo), float(hi)


def spearman(values: Floats, ratings: Floats) -> Floats:
    """Spearman's rho of values and ratings over the last axis: the correlation of midranks; NaN if all are tied."""
    from scipy.stats import rankdata

    x, y = (rankdata(one, axis=-1) - (one.shape[-1] + 1) / 2 for one in (values, ratings))
    scale = np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1))
    return np.asarray(np.divide((x * y).sum(axis=-1), scale, out=np.full(scale.shape, np.nan), where=scale > 0))
