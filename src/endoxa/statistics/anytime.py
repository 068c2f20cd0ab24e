"""An interval for a linear estimate over judges and queries, which may be looked at after every answer.

An estimate is linear if it is a sum of parts, one for each answer: a weighted mean, or the difference of two of them.
The parts of one query rise and fall together, and so do those of one judge. Both are random, and they cross.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from endoxa.errors import TableError, TextError
from endoxa.frozen import dataclass
from endoxa.policies import refuse_outside
from endoxa.tables import Floats, Ints


@dataclass(frozen=True)
class Reach:
    """How far an interval reaches on either side of the estimate.

    reach     half the width; NaN with fewer than two queries
    se        the standard error, of queries and judges
    freedom   the degrees of freedom of the standard error
    judges    how many judges the parts are of; with one, the reach covers other queries but no other judges
    queries   how many queries
    """

    reach: float
    se: float
    freedom: float
    judges: int
    queries: int


def crossed_reach(
    parts: npt.ArrayLike, judges: npt.ArrayLike, queries: npt.ArrayLike, *, alpha: float = 0.05, spread: float,
    typical: float,
) -> Reach:  # fmt: skip
    """How far the interval of a sum of parts reaches, whenever one looks.

    With z_q the sums over a query and z_j those over a judge, both about their mean of 0, Q queries and J judges:
        V_q = Q/(Q - 1) (Σ z_q² + (spread/Q)²),   V_j = J/(J - 1) Σ z_j²,   se² = V_q + V_j
        f = se⁴ / (V_q²/(Q - 1) + V_j²/(J - 1))
    (spread/Q)² stands for one more query that lies `spread` away: the interval has a width even if all answers are
    alike. The sum counts the noise of single answers twice, and is on the safe side by up to √2. The multiple of se is
        c = √((1 + 1/r)(ln(1 + r) + 2 ln(1/alpha))),   r = (typical/se)²
    of a mixture of bets on effects of `typical` size: with normal parts and known se all the intervals hold the truth
    with probability 1 - alpha, however often one looks. As se is estimated, c is carried over to Student's t with f
    degrees of freedom: the point beyond which lies as much of it as of the normal beyond c.
    With one judge V_j is unknown, and the reach is that of the queries alone.
    Misleads: it rests on many queries, or on little skew; tests/studies/test_comparison.py simulates whole studies.
    Source: Owen, Annals of Applied Statistics 1 (2007), for the crossed sum; Robbins, Annals of Mathematical Statistics
    41 (1970), for the mixture; Waudby-Smith et al., Annals of Statistics 52 (2024), for its use with estimated errors.
    """
    refuse_outside("alpha", alpha, 0.05)
    if not (spread > 0 and typical > 0):
        raise TextError(f"spread and typical are above 0, not {spread:g} and {typical:g}")
    parts = np.asarray(parts, dtype=np.float64)
    judge, query = (
        np.unique(np.asarray(names), return_inverse=True)[1].astype(np.int64) for names in (judges, queries)
    )
    if not parts.shape == judge.shape == query.shape or parts.ndim != 1:
        raise TableError(f"{parts.size:,} parts, {judge.size:,} judges, {query.size:,} queries: one of each per answer")
    J, Q = (len(np.unique(names)) for names in (judge, query))
    if Q < 2:
        return Reach(math.nan, math.nan, math.nan, J, Q)
    of_queries = Q / (Q - 1) * (_squares(parts, query) + (spread / Q) ** 2)
    of_judges = J / (J - 1) * _squares(parts, judge) if J > 1 else 0.0
    variance = of_queries + of_judges
    freedom = variance**2 / (of_queries**2 / (Q - 1) + of_judges**2 / max(J - 1, 1))
    se = math.sqrt(variance)
    return Reach(se * multiple(se, alpha=alpha, typical=typical, freedom=freedom), se, freedom, J, Q)


def multiple(se: float, *, alpha: float, typical: float, freedom: float = math.inf) -> float:
    """By how many standard errors an interval reaches that may be looked at at any time; see `crossed_reach`."""
    from scipy import special

    r = (typical / se) ** 2
    c = math.sqrt((1 + 1 / r) * (math.log1p(r) - 2 * math.log(alpha)))
    if math.isinf(freedom):
        return c
    return -float(special.stdtrit(freedom, max(float(special.ndtr(-c)), np.finfo(np.float64).tiny)))


def _squares(parts: Floats, names: Ints) -> float:
    return float((np.bincount(names, weights=parts) ** 2).sum())
