"""Relevant items that no system found: a lower bound from how often the found ones were found."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import polars as pl

from endoxa.errors import JoinError, TableError, TextError
from endoxa.policies import refuse_outside
from endoxa.tables import Floats, Opinions, Run

Count = npt.ArrayLike


def chao(found: Count, once: Count, twice: Count, corrected: bool = True) -> Floats:
    """Chao's lower bound on how many there are, of `found` ones of which `once` were found by one system only.

    corrected    found + once (once - 1) / (2 (twice + 1))
    otherwise    found + once² / (2 twice); where twice = 0 the corrected form
    Arrays broadcast. The bound holds in expectation, for systems that find independently of one another, also
    where some items are easier to find than others. Systems that find the same items (positive dependence: shared
    components, shared training data) bias it down: the true number may be far greater. Few systems do too.
    Source: Chao, Scandinavian Journal of Statistics 11 (1984); docs/methods/beliefs.md, Unseen relevant items.
    """
    d, one, two = _counted(found, once, twice)
    plain = one**2 / (2 * np.maximum(two, 1))
    mended = one * (one - 1) / (2 * (two + 1))
    return np.asarray(d + np.where(two > 0, mended if corrected else plain, mended))


def chao_interval(
    found: Count, once: Count, twice: Count, corrected: bool = True, *, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Log-normal interval of Chao's estimate: found + T/C and found + T·C, never below what was found.

    T = estimate - found, C = exp(z √(log(1 + V/T²))), with r = once/twice
        V = twice (r²/2 + r³ + r⁴/4)                            plain form
        V = a (a-1)/(2 (b+1)) + a (2a-1)²/(4 (b+1)²) + a² b (a-1)²/(4 (b+1)⁴)     corrected, a = once, b = twice
    (for twice = 0 the second without the subtraction that some programs make, which is the wider interval).
    It is an interval for the lower bound, not for the number itself. Where T = 0 the counts tell nothing of their
    own spread: the lower end is `found`, the upper NaN.
    Source: Chao, Biometrics 43 (1987), p. 787; the variances as in Colwell's EstimateS, equations 5, 6 and 13.
    """
    from scipy import stats

    refuse_outside("level", level)
    d, a, b = _counted(found, once, twice)
    r = a / np.maximum(b, 1)
    plain = b * (r**2 / 2 + r**3 + r**4 / 4)
    mended = (
        a * (a - 1) / (2 * (b + 1))
        + a * (2 * a - 1) ** 2 / (4 * (b + 1) ** 2)
        + a**2 * b * (a - 1) ** 2 / (4 * (b + 1) ** 4)
    )
    variance = mended if corrected else np.where(b > 0, plain, mended)
    beyond = chao(d, a, b, corrected) - d
    some = beyond > 0
    spread = np.log1p(variance / np.where(some, beyond, 1.0) ** 2)
    C = np.exp(float(stats.norm.ppf((1 + level) / 2)) * np.sqrt(spread))
    return np.asarray(d + np.where(some, beyond / C, 0.0)), np.asarray(np.where(some, d + beyond * C, np.nan))


def _counted(found: Count, once: Count, twice: Count) -> tuple[Floats, Floats, Floats]:
    """The three counts as numbers; refused where they cannot be counts of the same items."""
    d, one, two = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in (found, once, twice)))
    if not ((one >= 0) & (two >= 0) & (one + two <= d)).all():
        raise TableError("found, once and twice are counts, and what was found once or twice is among what was found")
    return d, one, two


def unseen(
    run: Run, opinions: Opinions, depth: int = 100, rel: float = 1, *, corrected: bool = True, level: float = 0.95
) -> pl.DataFrame:
    """How many relevant items there are at least, and what recall the systems together have at most, per query.

    Columns: query, known (judged relevant), found (those that some system has in its first `depth`), once, twice (by
    exactly one, two systems), estimate, lo, hi, recall_at_most = found / estimate. The estimate is Chao's, or
    the number known where that is greater. The last row, with a null query, is the pool of all queries: counts are
    summed first, which is steadier than summing estimates. A query without a relevant item has recall NaN. A pair is
    relevant if any assessor gave it at least `rel`.
    Misleads: a lower bound on the number, so an upper bound on recall; systems that resemble one another make the
    pool look complete. Judgments of another pool lack what only these systems found, and so do judgments of a
    sample of the pool: both lower the estimate.
    """
    if depth < 1:
        raise TextError(f"the depth of a pool is at least 1, not {depth}")
    if len(run.systems) < 2:
        raise JoinError(
            f"there is {len(run.systems)} system", remedy="to see what others missed takes two or more: add a run"
        )
    relevant = opinions.frame.filter(pl.col("grade") >= rel).select("query", "item").unique()
    finders = (
        run.frame.filter(pl.col("rank") <= depth)
        .join(relevant, on=["query", "item"], how="semi")
        .group_by("query", "item")
        .agg(pl.col("system").n_unique().alias("systems"))
    )
    known = relevant.join(finders, on=["query", "item"], how="left").with_columns(pl.col("systems").fill_null(0))
    by = pl.col("systems")
    counts = {"known": by >= 0, "found": by > 0, "once": by == 1, "twice": by == 2}
    counted = known.group_by("query").agg(truth.cast(pl.Int64).sum().alias(name) for name, truth in counts.items())
    rows = (
        opinions.frame.select("query")
        .unique()
        .sort("query")
        .join(counted, on="query", how="left", maintain_order="left")
        .with_columns(pl.col(list(counts)).fill_null(0))
    )
    if not rows["found"].sum():
        raise JoinError(
            f"none of the {relevant.height:,} relevant items is in the first {depth} of any system",
            remedy="do run and judgments belong together?",
        )
    pooled = rows.select(pl.lit(None, dtype=pl.String).alias("query"), *(pl.col(name).sum() for name in counts))
    rows = pl.concat([rows, pooled])
    certain, found, once, twice = (rows[name].to_numpy() for name in counts)
    estimate = np.maximum(chao(found, once, twice, corrected), certain)
    lo, hi = (np.maximum(end, certain) for end in chao_interval(found, once, twice, corrected, level=level))
    recall = np.divide(found, estimate, out=np.full(len(estimate), math.nan), where=estimate > 0)
    ends = {"estimate": estimate, "lo": lo, "hi": hi, "recall_at_most": recall}
    return rows.with_columns(pl.Series(name, values) for name, values in ends.items())
