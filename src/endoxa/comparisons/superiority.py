"""Which of two systems is better where relevance is a probability: exact statements, never a p-value.

The distribution of each system is known, not sampled. A test between two known distributions would depend on a
sample size that does not exist; the questions that can be answered are how probably one is better, and by how much.
That is doubt about the truth of these queries. What other queries or other people would say is sampling, and has
its own methods: the bootstrap, `compare`, and `subject_error`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.measures.distributions import (
    TINY,
    Distribution,
    count_difference,
    gathered,
    mixture,
    mixture_weights,
    nothing,
    precision_difference,
)
from endoxa.measures.lists import CELLS
from endoxa.statistics.bootstrap import moments
from endoxa.tables import Floats


@dataclass(frozen=True)
class Superiority:
    """How probably A is better than B, as good, or worse; NaN where it is undefined.

    index       Pr(A better) + ½ Pr(tie), also called A12: ½ says that neither is preferred
    difference  expected A - B; `sd` its standard deviation, [lo, hi] its central interval
    """

    p_better: float
    p_tie: float
    p_worse: float
    index: float
    difference: float
    sd: float
    lo: float
    hi: float


def order(difference: Distribution, *, confidence: float = 0.95) -> Superiority:
    """What a distribution of A - B says about the order of A and B, given that it is defined.

    Differences within 1e-12 of 0 are ties. For several readings of a query: mix the differences first
    (`measures.distributions.mixture`), which also gives the interval that `mix` cannot know.
    """
    lo, hi = difference.interval(confidence)
    if not difference.total > 0:
        return Superiority(*[math.nan] * 8)
    mass = difference.mass / difference.total
    better = float(mass[difference.values > TINY].sum())
    worse = float(mass[difference.values < -TINY].sum())
    tie = float(mass[np.abs(difference.values) <= TINY].sum())
    return Superiority(better, tie, worse, better + tie / 2, difference.mean, difference.sd, lo, hi)


def precision_order(common: Floats, a_only: Floats, b_only: Floats, *, confidence: float = 0.95) -> Superiority:
    """How probably A has the greater precision, both facing the same truth; see `precision_difference`.

    Treating the two as independent would be too timid: what they share cannot tell them apart.
    """
    return order(precision_difference(common, a_only, b_only), confidence=confidence)


def recall_order(a_only: Floats, b_only: Floats) -> Superiority:
    """How probably A has the greater recall, whatever the lengths of the lists.

    Formula: recalls of one query have the same denominator, so R_A > R_B where K_A' > K_B'. The size of the
    difference depends on that denominator and is NaN here. Where nothing is relevant neither has a recall; that
    counts as a tie.
    Source: docs/methods/comparisons.md, Superiority.
    """
    return sign(count_difference(a_only, b_only))


def sign(difference: Distribution) -> Superiority:
    """What the sign of A - B says where its size has no meaning: difference, sd, lo and hi are NaN."""
    return replace(order(difference), difference=math.nan, sd=math.nan, lo=math.nan, hi=math.nan)


def independent(a: Distribution, b: Distribution, *, confidence: float = 0.95) -> Superiority:
    """How probably a value of A exceeds an independent one of B, given that both are defined.

    Formula: A12 = Σ f_A(x) [F_B(x-) + ½ f_B(x)].
    Only for systems judged on different collections or by different people. On the same items they share the
    truth, and this is too timid: use `precision_order` or `recall_order`.
    """
    if not (a.total > 0 and b.total > 0):
        return order(nothing(), confidence=confidence)
    if len(a.values) * len(b.values) > CELLS:
        raise TableError(
            f"{len(a.values)} and {len(b.values)} values have too many differences to list",
            remedy=f"at most {CELLS:,}: take shorter lists, or draw worlds",
        )
    apart = np.subtract.outer(a.values, b.values).ravel()
    return order(gathered(apart, np.outer(a.mass / a.total, b.mass / b.total).ravel()), confidence=confidence)


def dominates(a: Distribution, b: Distribution) -> bool:
    """Whether A is at least as good as B by every standard: F_A ≤ F_B everywhere (equal ones too).

    Given that both are defined; False where either never is.
    """
    _, f_a, f_b = _cumulated(a, b)
    return bool(len(f_a) and (f_a <= f_b + TINY).all())


def ks_distance(a: Distribution, b: Distribution) -> float:
    """Kolmogorov-Smirnov distance max |F_A - F_B|: a description. There is no sample, so there is no test."""
    _, f_a, f_b = _cumulated(a, b)
    return float(np.abs(f_a - f_b).max()) if len(f_a) else math.nan


def wasserstein(a: Distribution, b: Distribution) -> float:
    """Wasserstein-1 distance ∫ |F_A - F_B| dx: how far the mass of one must be moved to make the other.

    Where one dominates it is the difference of the means.
    """
    values, f_a, f_b = _cumulated(a, b)
    return float(np.abs(f_a - f_b)[:-1] @ np.diff(values)) if len(f_a) else math.nan


def mix(superiorities: Sequence[Superiority], weights: Floats) -> Superiority:
    """One statement for several readings of a query: the mean of the probabilities and of the difference.

    Formula: sd² = Σ weight (sd² + difference²) - (Σ weight difference)². The interval of a mixture does not follow
    from the intervals of its parts: lo and hi are NaN; mix the distributions and call `order` for them.
    """
    share = mixture_weights(len(superiorities), weights)
    rows = np.array([(s.p_better, s.p_tie, s.p_worse, s.index, s.difference, s.sd) for s in superiorities])
    rows, share = rows[share > 0], share[share > 0]
    better, tie, worse, index, difference, _ = (share @ rows).tolist()
    spread = float(share @ (rows[:, 5] ** 2 + (rows[:, 4] - difference) ** 2))
    return Superiority(better, tie, worse, index, difference, math.sqrt(spread), math.nan, math.nan)


def subject_error(delta: Floats) -> tuple[float, float]:
    """Mean of one difference per subject, and its standard error over subjects; NaN subjects are left out.

    Formula: SE = sd(delta)/√S, sd with S - 1. For expected precision under one category it is exact, because that
    is linear in the subjects: delta_s is the precision of A minus that of B by the labels of subject s.
    NaN where there are fewer than two.
    """
    values = np.asarray(delta, dtype=np.float64)
    if values.ndim != 1:
        raise TableError(f"delta has {values.ndim} axes, expected 1: a difference for each subject")
    mean, sd, n = (float(part[0]) for part in moments(values[None, :]))
    return mean, sd / math.sqrt(n) if n > 1 else math.nan


def _cumulated(a: Distribution, b: Distribution) -> tuple[Floats, Floats, Floats]:
    """The union of the values, and Pr(A ≤ value), Pr(B ≤ value) given that they are defined; empty where not."""
    if not (a.total > 0 and b.total > 0):
        return np.empty(0), np.empty(0), np.empty(0)
    values = mixture([a, b], np.array([0.5, 0.5])).values
    return values, a.cdf(values + TINY), b.cdf(values + TINY)
