"""Doubly robust means of a linearised measure: the learned belief, corrected by labels drawn with known propensities.

Where the value of a list is a sum over items, `prediction` gives valid intervals. Average precision is none; here it is
linearised at predictions that have not seen the labels of their topic:

    mean over topics of  M(p) + Σ over labelled a (y - p) / π,   a = ∂M/∂p

which is unbiased for the linearised target whatever the model, and noisy with few labels.
Source: Robins, Rotnitzky and Zhao 1994; docs/methods/deciding.md, Doubly robust estimates.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse
from scipy.special import stdtrit

from endoxa.beliefs.learned import Learned, cross_fitted
from endoxa.comparisons.posterior import levels_of, places_of
from endoxa.comparisons.prediction import FRAME, PAIRS, Estimates
from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.measures.grammar import Measure
from endoxa.statistics.propensity import effective
from endoxa.tables import Floats


@dataclass(frozen=True, eq=False)
class Robust:
    """Design-based means of every system on one measure.

    values      [system, topic] the corrected values
    truth       [system, system] covariance of the means that the draw of labels gives, for these topics as they are
    effective   Kish's effective number of labels
    """

    measure: str
    systems: list[str]
    values: Floats
    truth: Floats
    effective: float
    labels: int

    @property
    def mean(self) -> Floats:
        """[system] mean over topics."""
        return np.asarray(np.nanmean(self.values, axis=1))

    def estimates(self, confidence: float) -> Estimates:
        """Means and differences with intervals over topics as clusters (t quantile), as `prediction` tells them.

        The error for these topics as they are has no interval (lo and hi are NaN): the linearised target is a little
        off.
        """
        S, T = len(self.systems), int((~np.isnan(self.values[0])).sum())
        pairs = list(combinations(range(S), 2))
        apart, own, clusters = self.differences()
        spread = np.nanstd(self.values, axis=1, ddof=1) / math.sqrt(max(T, 1))
        far = float(stdtrit(max(T - 1, 1), 0.5 + confidence / 2))
        names = self.systems

        def columns(value: Floats, se: Floats, wide: Floats) -> dict[str, Any]:
            n = len(value)
            none = np.full(n, np.nan)
            return {
                "se": se, "lo": none, "hi": none, "se_queries": wide, "lo_queries": value - far * wide,
                "hi_queries": value + far * wide, "lam": np.ones(n), "labels": np.full(n, self.labels),
            }  # fmt: skip

        frame = {"system": names, "measure": [self.measure] * S, "estimate": self.mean}
        frame |= columns(self.mean, np.sqrt(np.diag(self.truth)), spread) | {"outside": np.zeros(S)}
        two = {
            "measure": [self.measure] * len(pairs), "system": [names[a] for a, _ in pairs],
            "baseline": [names[b] for _, b in pairs], "difference": apart,
        }  # fmt: skip
        return Estimates(
            pl.DataFrame(frame, schema=FRAME), pl.DataFrame(two | columns(apart, own, clusters), schema=PAIRS)
        )

    def differences(self) -> tuple[Floats, Floats, Floats]:
        """Of every pair of systems, in the order of combinations: difference, its error for these topics, for others.

        The error for topics like these is that of a mean over topics as clusters.
        """
        pairs = np.array(list(combinations(range(len(self.systems)), 2)), dtype=np.int64).reshape(-1, 2)
        left, right = pairs.T
        apart = self.values[left] - self.values[right]
        count = (~np.isnan(apart)).sum(1)
        variance = np.diag(self.truth)
        own = variance[left] + variance[right] - 2 * self.truth[left, right]
        clusters = np.nanstd(apart, axis=1, ddof=1) / np.sqrt(np.maximum(count, 1))
        return np.nanmean(apart, axis=1), np.sqrt(np.maximum(own, 0)), clusters


def robust(learned: Learned, measure: Measure, propensity: Floats, free: Floats | None = None) -> Robust:
    """The corrected means; `propensity` is that of every label, in the order of learned.judged.rows.

    `free` are cross-fitted predictions, where they are at hand.
    """
    linear = measure.linear
    if linear is None:
        raise TextError(f"{measure} has no linear form", remedy="use AP, P@k, R@k, DCG@k or nDCG@k")
    universe, judged = learned.universe, learned.judged
    levels, steps = levels_of(measure, learned)
    predicted = (cross_fitted(learned) if free is None else free)[levels]
    slopes = linear.slopes(places_of(learned), predicted, steps)
    seen = steps @ np.array([judged.at_least(learned.levels[level]) for level in levels])
    error = seen - (steps @ predicted)[judged.rows]
    entries = sparse.csr_matrix(
        (slopes.entry, (universe.row, universe.system)), shape=(universe.rows.height, len(universe.systems))
    )
    topic = universe.topic[judged.rows]
    a = entries[judged.rows].toarray() + slopes.shared.T[topic]  # [label, system]
    values = slopes.value.copy()
    np.add.at(values.T, topic, a * (error / propensity)[:, None])
    count = max(int((~np.isnan(values[0])).sum()), 1)
    weight = np.sqrt(1 - propensity) / propensity * error / count
    spread = np.nan_to_num(a * weight[:, None])
    return Robust(str(measure), universe.systems, values, spread.T @ spread, effective(1 / propensity), len(judged))


def shrunk(model: Floats, robust_: Floats, variance: Floats) -> Floats:
    """Differences between the model's and the robust ones, for the order: model + λ (robust - model).

    λ = τ²/(τ² + mean variance), τ² = max(0, mean square of the correction - mean variance).
    """
    correction = robust_ - model
    if not len(correction) or np.isnan(noise := float(np.nanmean(variance))):
        return model
    tau = max(0.0, float(np.nanmean(correction**2)) - noise)
    return model + (tau / (tau + noise) if tau + noise > 0 else 0.0) * correction
