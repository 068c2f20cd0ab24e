"""Adjusted p-values for many tests at once. NaN stays NaN and is not counted as a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from endoxa.tables import Floats

Correction = Literal["holm", "bh", "none"]


def holm(p: Floats) -> Floats:
    """Holm's step-down: the chance of any false alarm among the tests stays below the level.

    With p(1) ≤ … ≤ p(m): adjusted p(i) = max over j ≤ i of min(1, (m-j+1)·p(j)). Valid under any dependence;
    strict when the tests are many and a few false alarms could be borne.
    Source: Holm, Scandinavian Journal of Statistics 6 (1979).
    """
    return _stepwise(p, lambda ordered, m: np.maximum.accumulate(ordered * np.arange(m, 0, -1)))


def benjamini_hochberg(p: Floats) -> Floats:
    """Benjamini–Hochberg: the expected share of false alarms among the findings stays below the level.

    With p(1) ≤ … ≤ p(m): adjusted p(i) = min over j ≥ i of min(1, m·p(j)/j). Proven for independent or
    positively dependent tests; pairs that share a system are neither in general.
    Source: Benjamini & Hochberg, JRSS B 57 (1995).
    """
    return _stepwise(p, lambda ordered, m: np.minimum.accumulate((ordered * m / np.arange(1, m + 1))[::-1])[::-1])


def uncorrected(p: Floats) -> Floats:
    """The p-values as they are: among twenty true nulls one is expected below 0.05."""
    return np.array(p, dtype=np.float64)


CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {"holm": holm, "bh": benjamini_hochberg, "none": uncorrected}


def _stepwise(p: Floats, rule: Callable[[Floats, int], Floats]) -> Floats:
    adjusted = np.array(p, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(adjusted))
    order = tested[np.argsort(adjusted[tested], kind="stable")]
    adjusted[order] = np.minimum(rule(adjusted[order], len(order)), 1)
    return adjusted
