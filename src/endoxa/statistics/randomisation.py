"""Randomisation tests: what the difference could have been had the labels been dealt out by chance.

The last axis is the query; NaN is a query without a value and is dropped. Two-sided throughout.
"""

from __future__ import annotations

import math

import numpy as np

from endoxa.statistics.bootstrap import BLOCK, RESAMPLES, TINY, blocks
from endoxa.tables import Floats

EXACT = 16  # up to this many nonzero differences every sign assignment is tried


def sign_flip(
    differences: Floats, *, resamples: int = RESAMPLES, exact: int = EXACT, rng: np.random.Generator
) -> Floats:
    """p-value of each row of paired differences, under random exchange of the two systems in each query.

    With k differences that are not zero and k ≤ `exact`: the share of the 2^k sign assignments with
    |mean| ≥ |observed mean|. Beyond: (count + 1) / (resamples + 1) over random assignments, which all rows share.
    Sums closer than 1e-12 of Σ|d| are equal. All differences zero: p = 1; no value: NaN.
    Misleads: it tests that the two systems are exchangeable, so that a difference in spread alone can also be detected.
    With fewer than 6 differing queries p cannot reach 0.05.
    Source: Fisher 1935; Smucker, Allan & Carterette, CIKM 2007.
    """
    values = np.asarray(differences, dtype=np.float64)
    rows = values.reshape(math.prod(values.shape[:-1]), values.shape[-1])
    p = np.where(np.isnan(rows).all(axis=1), np.nan, 1.0)
    rows = np.nan_to_num(rows, nan=0.0)
    k = (rows != 0).sum(axis=1)
    packed = np.take_along_axis(rows, (rows == 0).argsort(axis=1, kind="stable"), axis=1)
    for size in np.unique(k[(k > 0) & (k <= exact)]).tolist():
        alike = np.flatnonzero(k == size)
        p[alike] = _exact(packed[alike, :size])
    many = np.flatnonzero(k > exact)
    if len(many):
        p[many] = _sampled(rows[many], resamples, rng)
    return p.reshape(values.shape[:-1])


def _exact(rows: Floats) -> Floats:
    """Share of all sign assignments at least as extreme. The last sign is held: ±s are equally extreme."""
    size = rows.shape[1]
    signs = 1.0 - 2.0 * (np.arange(1 << (size - 1))[:, None] >> np.arange(size) & 1)
    least = _least(rows)
    share = np.empty(len(rows))
    for block in blocks(len(rows), BLOCK // len(signs)):
        share[block] = (np.abs(rows[block] @ signs.T) >= least[block, None]).mean(axis=1)
    return share


def _sampled(rows: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """(count + 1) / (resamples + 1) over random sign assignments that all rows share."""
    n = rows.shape[1]
    least = _least(rows)
    count = np.zeros(len(rows))
    for chunk in blocks(resamples, BLOCK // n):
        signs = rng.integers(2, size=(n, chunk.stop - chunk.start), dtype=np.int8) * 2.0 - 1.0
        for block in blocks(len(rows), BLOCK // signs.shape[1]):
            count[block] += (np.abs(rows[block] @ signs) >= least[block, None]).sum(axis=1)
    return (count + 1) / (resamples + 1)


def _least(rows: Floats) -> Floats:
    """The smallest |sum| that counts as at least as extreme as the observed one."""
    least: Floats = np.abs(rows.sum(axis=1)) - TINY * np.abs(rows).sum(axis=1)
    return least


def tukey_ranges(values: Floats, *, resamples: int = RESAMPLES, rng: np.random.Generator) -> Floats:
    """max - min of the system means after dealing out the scores of each query to the systems at random.

    `values` is [system, query] without NaN. One number per permutation.
    Source: Carterette, ACM TOIS 30 (2012); Sakai, Laboratory Experiments in IR, 2018, ch. 4.
    """
    by_query = np.ascontiguousarray(values.T)
    ranges = np.empty(resamples)
    for chunk in blocks(resamples, BLOCK // max(1, by_query.size)):
        dealt = np.repeat(by_query[None], chunk.stop - chunk.start, axis=0)
        rng.permuted(dealt, axis=2, out=dealt)
        ranges[chunk] = np.ptp(dealt.mean(axis=1), axis=1)
    return ranges


def tukey(values: Floats, *, resamples: int = RESAMPLES, rng: np.random.Generator) -> Floats:
    """Randomised Tukey HSD: p-values of all pairs of systems at once, [system, system].

    p = (permutations with range ≥ |observed difference of the means| + 1) / (resamples + 1). It is corrected for all
    pairs together. The price is power, and p of a pair depends on the other systems in the table.
    """
    ranges = np.sort(tukey_ranges(values, resamples=resamples, rng=rng))
    means = values.mean(axis=1)
    gap = np.abs(means[:, None] - means[None, :])
    below = np.searchsorted(ranges, gap - TINY * np.abs(values).max(initial=0), side="left")
    p: Floats = (len(ranges) - below + 1) / (len(ranges) + 1)
    return p
