"""Support vector machines on a given kernel: small ones, of some hundred examples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from endoxa.tables import Floats

STEPS = 100_000  # after which the best solution so far is taken
GAP = 1e-7  # the violation of the conditions of optimality that is accepted
_NJIT: Callable[[Any], Any] = numba.njit(nogil=True, cache=True)


def train(kernel: Floats, label: Floats, cost: Floats) -> tuple[Floats, float]:
    """The coefficients a and the bias b of f(x) = Σ a_j k(x, j) + b.

    Maximises Σ α - ½ Σ α_i α_j l_i l_j K_ij under 0 ≤ α ≤ cost and Σ α l = 0, with a = α l. Each step moves the pair
    of examples that violates the conditions of optimality most (SMO), until the violation is negligible.
    Source: Keerthi et al., Neural Computation 13 (2001); Fan, Chen and Lin, JMLR 6 (2005).
    """
    alpha, slope = np.zeros(len(label)), np.full(len(label), -1.0)
    bias = _solve(kernel, label, cost, alpha, slope)
    return alpha * label, bias


@_NJIT
def _solve(kernel: Floats, label: Floats, cost: Floats, alpha: Floats, slope: Floats) -> float:
    """Fill α; `slope` is the gradient of the dual. The bias is the middle between the two most violating examples."""
    high, low = 0.0, 0.0
    for _ in range(STEPS):
        i, j, high, low = -1, -1, -math.inf, math.inf
        for t in range(len(label)):
            value = -label[t] * slope[t]
            if (alpha[t] < cost[t] if label[t] > 0 else alpha[t] > 0) and value > high:
                i, high = t, value
            if (alpha[t] > 0 if label[t] > 0 else alpha[t] < cost[t]) and value < low:
                j, low = t, value
        if i < 0 or j < 0 or high - low < GAP:
            break
        curve = max(kernel[i, i] + kernel[j, j] - 2 * kernel[i, j], 1e-12)
        step = (high - low) / curve
        step = min(step, cost[i] - alpha[i] if label[i] > 0 else alpha[i])
        step = min(step, alpha[j] if label[j] > 0 else cost[j] - alpha[j])
        alpha[i] += label[i] * step
        alpha[j] -= label[j] * step
        for t in range(len(label)):
            slope[t] += label[t] * step * (kernel[t, i] - kernel[t, j])
    return (high + low) / 2 if math.isfinite(high) and math.isfinite(low) else 0.0
