"""Estimates from pairs that were chosen with known, unequal chances.

Where a pair is asked about with probability pi, its answer stands for 1/pi pairs. An estimate is always given; an
interval only where the effective sample size reaches 30, since a few great weights make any interval a pretence.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from endoxa.errors import TableError, TextError
from endoxa.frozen import dataclass
from endoxa.policies import refuse_outside
from endoxa.tables import Floats, Ints

LEAST = 30  # effective sample size below which no interval is given


@dataclass(frozen=True)
class Weighted:
    """A weighted estimate: value, standard error, interval, and effective sample size.

    effective   (Σw)²/Σw²: as many equally weighted pairs would say as much
    share       the largest weight's share of all weight
    n, clusters how many pairs, of how many queries
    refused     why there is no interval; empty where there is one
    """

    value: float
    se: float
    lo: float
    hi: float
    effective: float
    share: float
    n: int
    clusters: int
    refused: str = ""


def inclusion(q: npt.ArrayLike, draws: npt.ArrayLike = 1) -> Floats:
    """Chance that an item is drawn at least once: pi = 1 - Π_m (1 - q_m)^n_m.

    `q` is [system, item], `draws` the number n_m of independent draws of each system, with replacement. If queries
    were drawn too, multiply by their chance. Source: docs/methods/studies.md, Propensity.
    """
    q = np.asarray(q, dtype=np.float64)
    if not (good := (q >= 0) & (q <= 1)).all():
        raise TableError(
            f"q {q[~good].flat[0]:g} is not in [0, 1]", remedy="it is the chance with which a pair is drawn"
        )
    n = np.asarray(draws, dtype=np.float64)
    if (n < 0).any():
        raise TextError(f"a system draws 0 times or more, not {n.min():g}")
    if q.ndim != 2 or (n.ndim and n.shape != q.shape[:1]):
        raise TableError(
            f"q has one row per system and one column per item, draws one number per system; "
            f"their shapes are {q.shape} and {n.shape}"
        )
    n = np.broadcast_to(n, q.shape[:1])[:, None]
    # q = 1 is certain; elsewhere logarithms keep small chances exact
    sure = ((q == 1) & (n > 0)).any(axis=0)
    return np.where(sure, 1.0, -np.expm1((n * np.log1p(-np.where(q == 1, 0.0, q))).sum(axis=0)))


def systematic(pi: Floats, rng: np.random.Generator) -> Ints:
    """Draw distinct rows, each with exactly its chance pi ≤ 1; their number is Σ pi, or one of its neighbours.

    Rows are put in random order; i is taken where ⌊S_i + u⌋ > ⌊S_(i-1) + u⌋, S the cumulated pi and u one uniform
    number. Source: Madow 1949; docs/methods/studies.md, Adaptive rounds.
    """
    order = rng.permutation(len(pi))
    reached = np.floor(np.cumsum(pi[order]) + rng.random())
    return np.sort(order[np.diff(reached, prepend=0.0) > 0])


def effective(w: npt.ArrayLike) -> float:
    """Effective sample size (Σw)²/Σw², from 1 to n; 0 of nothing. Source: Kish 1965."""
    w = np.asarray(w, dtype=np.float64)
    squares = float((w**2).sum())
    return float(w.sum() ** 2 / squares) if squares > 0 else 0.0


def largest_share(w: npt.ArrayLike) -> float:
    """The largest weight's share of all weight; NaN of nothing."""
    w = np.asarray(w, dtype=np.float64)
    return float(w.max() / w.sum()) if w.size and w.sum() > 0 else math.nan


def mean(y: npt.ArrayLike, weights: npt.ArrayLike, clusters: npt.ArrayLike, *, confidence: float = 0.95) -> Weighted:
    """Hájek mean with its interval; queries are the clusters.

    z_q = Σ_{j in q} w (y - ybar) / Σw, variance Q/(Q-1) Σ (z_q - zbar)², t with Q - 1 degrees of freedom. `weights`
    are 1/pi, or those of several rounds. No interval below an effective sample size of 30 or with one query.
    Misleads: linearised, so short with few queries or a few great weights; look at effective and share.
    Source: Särndal, Swensson & Wretman 1992, ch. 5; docs/methods/studies.md, Propensity.
    """
    y, w, codes = _clustered(y, weights, clusters)
    total = float(w.sum())
    value = float((w * y).sum() / total) if total > 0 else math.nan
    parts = np.bincount(codes, w * (y - value) / total).astype(np.float64) if total > 0 else np.zeros(0)
    return _with_interval(value, parts, w, confidence)


def _with_interval(value: float, parts: Floats, w: Floats, confidence: float) -> Weighted:
    """The estimate with the spread of its clusters' parts."""
    refuse_outside("confidence", confidence)
    Q, size = len(parts), effective(w)
    se = math.sqrt(Q / (Q - 1) * float(((parts - parts.mean()) ** 2).sum())) if Q > 1 else math.nan
    refused = ""
    if size < LEAST:
        refused = f"no interval: the effective sample size is {size:.1f}, below {LEAST}; ask about more pairs"
    elif Q < 2:
        refused = "no interval: one query does not show how queries differ; ask about more queries"
    reach = math.nan
    if not refused:
        from scipy import stats

        reach = float(stats.t.ppf((1 + confidence) / 2, Q - 1)) * se
    return Weighted(value, se, value - reach, value + reach, size, largest_share(w), len(w), Q, refused)


def _clustered(y: npt.ArrayLike, weights: npt.ArrayLike, clusters: npt.ArrayLike) -> tuple[Floats, Floats, Ints]:
    """Answers, weights, and clusters numbered from 0."""
    y, w = np.asarray(y, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1].astype(np.int64)
    if not y.shape == w.shape == codes.shape or y.ndim != 1:
        raise TableError(
            f"{y.size:,} answers, {w.size:,} weights and {codes.size:,} queries", remedy="give one of each per pair"
        )
    if not ((w > 0) & np.isfinite(w)).all():
        raise TableError("every weight is a number above 0 (1/pi); a pair that could not be chosen has no weight")
    return y, w, codes
