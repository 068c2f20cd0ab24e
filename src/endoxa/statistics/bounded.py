"""Intervals for a mean of values within a known range: short samples, skewed values, values that are all alike.

The last axis is the query, the others broadcast; NaN is a query without a value. The draws of a row depend on `rng` and
on its number of values, so that a row has the same interval alone and in a batch, and in any order of its queries.
"""

from __future__ import annotations

import math

from endoxa.later import np
from endoxa.statistics.bootstrap import BLOCK, RESAMPLES, Means, beyond, blocks, moments, packed
from endoxa.tables import Floats


def bounded_intervals(
    values: Floats, low: Floats | float, high: Floats | float, *, confidence: float = 0.95, resamples: int = RESAMPLES,
    rng: np.random.Generator,
) -> Means:  # fmt: skip
    """Interval for the mean of every row, whose values lie in [low, high]; the range of a row broadcasts.

    The Bayesian bootstrap with one more query at the far end of the range: with w ~ Dirichlet(1, …, 1) of n + 1 parts,
        hi = the 1 - α/2 quantile of Σ w_i x_i + w_{n+1} high
        lo = the α/2 quantile of     Σ w_i x_i + w_{n+1} low,     α = 1 - confidence
    With values low and high only, this is Clopper and Pearson's interval. Either end is finite and within the range,
    from a single value on and where all values are equal. An end of the range that is infinite gives an infinite end.

    That each end misses the mean with a chance of at most α/2, whatever the distribution, is proved for values at two
    points, and a conjecture beyond which no simulation has contradicted; those in docs/intervals.md do not.
    Misleads: where the range is much wider than the values can be (differences of similar systems), it is too long.
    Source: Gaffke 2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
    variable"; Learned-Miller and Thomas 2019 (arXiv 1905.06208); Phan, Thomas and Learned-Miller, ICML 2021.
    """
    values = np.asarray(values, dtype=np.float64)
    shape = values.shape[:-1]
    k = beyond(confidence, resamples, halved=True)
    rows = values.reshape(math.prod(shape), values.shape[-1])
    mean, sd, n = moments(rows)
    known = packed(rows)
    low, high = (np.broadcast_to(np.float64(end), shape).reshape(-1) for end in (low, high))
    lo, hi = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    seed = int(rng.integers(1 << 62))
    for size in np.unique(n[n > 0]).tolist():
        alike = np.flatnonzero(n == size)
        for block in blocks(len(alike), BLOCK // (2 * resamples)):
            at = alike[block]
            ordered = np.sort(known[at, :size], axis=1)
            both = np.concatenate([ordered, -ordered[:, ::-1]])  # the lower end is the upper one, seen in a mirror
            ends = _drawn(both, np.concatenate([high[at], -low[at]]), k, resamples, (seed, size))
            above, below = ends[: len(at)], -ends[len(at) :]
            lo[at] = np.minimum(np.maximum(below, low[at]), mean[at])
            hi[at] = np.maximum(np.minimum(above, high[at]), mean[at])
    se = sd / np.sqrt(np.maximum(n, 1))
    return Means(mean.reshape(shape), se.reshape(shape), lo.reshape(shape), hi.reshape(shape), n.reshape(shape))


def _drawn(ordered: Floats, far: Floats, k: int, resamples: int, seed: tuple[int, int]) -> Floats:
    """The k-th largest of the drawn means of each row with one more value at `far`; infinite where `far` is."""
    finite = np.isfinite(far)
    if not finite.any():
        return far
    rows = np.column_stack([ordered[finite], np.maximum(far[finite], ordered[finite, -1])])
    stream = np.random.default_rng(seed)
    means = np.empty((len(rows), resamples))
    for block in blocks(resamples, BLOCK // rows.shape[1]):
        parts = stream.standard_exponential((block.stop - block.start, rows.shape[1]))
        means[:, block] = rows @ parts.T / parts.sum(axis=1)
    ends = far.copy()
    ends[finite] = np.partition(means, -k, axis=1)[:, -k]
    return ends
