"""Intervals and variances for a mean over people and queries, where every person meets every query.

The last two axes are the subject and the query, the others broadcast; NaN is a cell without a value. The mean is that
of the queries' means over subjects. To compare two systems, pass the differences of their cells.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from endoxa.errors import TableError, TextError
from endoxa.frozen import dataclass
from endoxa.policies import refuse_outside
from endoxa.statistics.bootstrap import BLOCK, RESAMPLES, TINY, Means, blocks
from endoxa.tables import Bools, Floats


@dataclass(frozen=True)
class Components:
    """Variances between queries, between subjects, and of single cells.

    mean and se are those of the mean over subjects, then over queries; freedom has the degrees of freedom of se.
    """

    query: Floats
    subject: Floats
    error: Floats
    mean: Floats
    se: Floats
    freedom: Floats


def variance_components(values: Floats) -> Components:
    """Variance between queries, between subjects and of single cells, and the standard error of the mean.

    value = mean + query effect + subject effect + error, all independent. The sums of squares within subjects,
    within queries and in all are set equal to their expectations:
        SS within subjects  = (σq² + σe²)(n - S)
        SS within queries   = (σs² + σe²)(n - Q)
        SS in all           = σs²(n - Σ ns²/n) + σq²(n - Σ nq²/n) + σe²(n - 1)
    with ns, nq the numbers of cells of a subject and of a query. On a full table this is the analysis of variance,
    and se² = σq²/Q + σs²/S + σe²/(QS); with holes each cell weighs 1/(Q·nq). An estimate below 0 is given as 0. NaN
    with fewer than two subjects or queries, or if holes leave the three inseparable.
    Misleads: with few subjects σs² is all but unknown.
    Source: Searle, Casella & McCulloch, Variance Components, 1992, ch. 5 (Henderson's method I).
    """
    values, rows, seen = _rows(values)
    filled = np.where(seen, rows, 0.0)
    n, by_subject, by_query = seen.sum((1, 2)), seen.sum(2), seen.sum(1)
    subjects, queries = (by_subject > 0).sum(1), (by_query > 0).sum(1)
    known = np.maximum(n, 1)
    # Centred first: sums of squares of raw values would lose digits where the mean is great beside the spread.
    centred = np.where(seen, rows - (filled.sum((1, 2)) / known)[:, None, None], 0.0)
    in_all = (centred**2).sum((1, 2))
    within_subjects = in_all - (centred.sum(2) ** 2 / np.maximum(by_subject, 1)).sum(1)
    within_queries = in_all - (centred.sum(1) ** 2 / np.maximum(by_query, 1)).sum(1)
    zero = np.zeros(len(rows))
    equations = [
        [n - subjects, zero, n - subjects],
        [zero, n - queries, n - queries],
        [n - (by_query**2).sum(1) / known, n - (by_subject**2).sum(1) / known, n - 1.0],
    ]
    system = np.moveaxis(np.array(equations), 2, 0)
    solvable = (subjects > 1) & (queries > 1) & (np.abs(np.linalg.det(system)) > TINY * known.astype(float) ** 3)
    found = np.full((len(rows), 3), np.nan)
    sums = np.stack([within_subjects, within_queries, in_all], -1)[solvable]
    found[solvable] = np.linalg.solve(system[solvable], sums[..., None])[..., 0]
    rounding = TINY * in_all / known + (TINY * np.abs(filled).max((1, 2), initial=0.0)) ** 2
    found[np.abs(found) <= rounding[:, None]] = 0.0
    query, subject, error = np.maximum(found, 0.0).T
    weight = np.where(seen, 1 / np.maximum(by_query * queries[:, None], 1)[:, None, :], 0.0)
    parts = np.stack(
        [query * (weight.sum(1) ** 2).sum(1), subject * (weight.sum(2) ** 2).sum(1), error * (weight**2).sum((1, 2))]
    )
    of = np.stack([queries - 1, subjects - 1, (queries - 1) * (subjects - 1)])
    total, spread = parts.sum(0), (parts**2 / np.maximum(of, 1)).sum(0)
    freedom = np.where(spread > 0, total**2 / np.where(spread > 0, spread, 1.0), np.nan)
    means = filled.sum(1) / np.maximum(by_query, 1)  # over subjects, then over the queries that anybody answered
    mean = np.where(queries > 0, means.sum(1) / np.maximum(queries, 1), np.nan)
    result = (query, subject, error, mean, np.sqrt(total), freedom)
    return Components(*(part.reshape(values.shape[:-2]) for part in result))


def crossed_bootstrap(
    values: Floats, *, confidence: float = 0.95, resamples: int = RESAMPLES, rng: np.random.Generator
) -> Means:
    """Interval for a mean over subjects and queries: both are resampled, independently and with replacement.

    A cell counts as often as its subject was drawn times as often as its query was (pigeonhole bootstrap). The same
    draws serve every row. The ends are the middle `confidence` of the resampled means, stretched about the mean by
    t / z · √((f + 1)/f), with t and z the quantiles of Student's t with f degrees of freedom and of the normal, f from
    `variance_components`. With 5 subjects that differ much a 95 % interval covers 94 % (unstretched: 84 %), with 20
    subjects and 40 queries 94 to 96 % (tests/statistics/test_crossed.py).
    `se` is the deviation of the resampled means, `n` the number of cells. NaN with fewer than two subjects or queries;
    for an interval about queries only, take `mean_intervals` of the means over subjects.
    Misleads: too wide by up to √3 if neither people nor queries differ.
    Source: Owen, Annals of Applied Statistics 1 (2007); the stretch as Hesterberg, American Statistician 69 (2015).
    """
    refuse_outside("confidence", confidence)
    if (1 - confidence) / 2 * (resamples + 1) < 1:
        least = math.ceil(2 / (1 - confidence))
        raise TextError(
            f"{resamples} resamples are too few for confidence {confidence}", remedy=f"take at least {least}"
        )
    parts = variance_components(values)
    values, rows, seen = _rows(values)
    filled, counted = np.where(seen, rows, 0.0), seen.astype(np.float64)
    subjects, queries = rows.shape[1:]
    stream = np.random.default_rng(int(rng.integers(1 << 62)))
    drawn = np.full((len(rows), resamples), np.nan)
    for block in blocks(resamples if rows.size else 0, BLOCK // max(subjects + 3 * queries, 1)):
        size = block.stop - block.start
        of_subject = stream.multinomial(subjects, np.full(subjects, 1 / subjects), size).astype(np.float64)
        of_query = stream.multinomial(queries, np.full(queries, 1 / queries), size).astype(np.float64)
        for row in range(len(rows)):
            answered = of_subject @ counted[row]
            means = (of_subject @ filled[row]) / np.maximum(answered, 1)
            weight = of_query * (answered > 0)
            total = weight.sum(1)
            drawn[row, block] = np.where(total > 0, (weight * means).sum(1) / np.maximum(total, 1), np.nan)
    mean, freedom = parts.mean.ravel(), parts.freedom.ravel()
    usable = np.isfinite(parts.se.ravel())
    flat = usable & (parts.se.ravel() == 0)
    lo, hi, se = np.where(flat, mean, np.nan), np.where(flat, mean, np.nan), np.where(flat, 0.0, np.nan)
    at = np.flatnonzero(usable & ~flat)
    if len(at):
        ends = np.nanquantile(drawn[at], [(1 - confidence) / 2, (1 + confidence) / 2], axis=1)
        f = freedom[at]
        stretch = special.stdtrit(f, (1 + confidence) / 2) / special.ndtri((1 + confidence) / 2) * np.sqrt((f + 1) / f)
        lo[at], hi[at] = mean[at] + stretch * (ends - mean[at])
        se[at] = np.nanstd(drawn[at], axis=1, ddof=1)
    shape, n = values.shape[:-2], seen.sum((1, 2))
    return Means(mean.reshape(shape), se.reshape(shape), lo.reshape(shape), hi.reshape(shape), n.reshape(shape))


def _rows(values: Floats) -> tuple[Floats, Floats, Bools]:
    """The values, the same as [row, subject, query], and which cells have one."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim < 2:
        raise TableError(
            f"crossed values have two axes at the end, subject and query; these have the shape {values.shape}"
        )
    rows = values.reshape(math.prod(values.shape[:-2]), *values.shape[-2:])
    if np.isinf(rows).any():
        raise TableError("a crossed value is infinite", remedy="leave NaN where there is none")
    return values, rows, ~np.isnan(rows)
