"""Ordered grades from features: the proportional-odds model with a ridge penalty."""

from __future__ import annotations

import numpy as np

from endoxa.frozen import dataclass
from endoxa.tables import Floats, Ints

STEPS = 200  # of the optimiser, at most
THRESHOLD = (-30.0, 30.0)  # bounds of the first threshold, beyond which a probability is 0 in print
DIFFERENCE = (-30.0, 5.0)  # and of the logarithms of the differences that follow


@dataclass(frozen=True, eq=False)
class Ordinal:
    """A fitted model: the coefficients of the standardised features, and the thresholds between grades."""

    coefficients: Floats
    thresholds: Floats
    mean: Floats
    sd: Floats

    def predictor(self, x: Floats) -> Floats:
        """βᵀx of every row, with the features standardised as in the fit; greater means higher grades."""
        return np.asarray((x - self.mean) / self.sd @ self.coefficients)

    def probabilities(self, eta: Floats) -> Floats:
        """The probability of every grade, [row, grade], from values of the predictor."""
        below = 1 / (1 + np.exp(np.clip(eta[:, None] - self.thresholds, -700, 700)))
        return np.diff(below, axis=1, prepend=0.0, append=1.0)


def fit(x: Floats, grade: Ints, grades: int) -> Ordinal:
    """Fit P(grade ≤ c) = σ(a_c − βᵀx), a_1 < … < a_{C-1}, by penalised likelihood; grades are numbered from 0.

    x is [row, feature] and is standardised here; a constant feature gets 0. The penalty is ½‖β‖² and half a
    pseudo-answer per grade at βᵀx = 0, so that a grade without answers keeps a probability.
    Misleads: all grades share one β, so a feature that tells only the highest grades apart is not found.
    Source: McCullagh 1980; docs/methods/studies.md, Adaptive rounds.
    """
    from scipy.optimize import minimize

    mean, sd = x.mean(axis=0), x.std(axis=0)
    flat = sd <= 1e-9 * np.maximum(1.0, np.abs(mean))
    sd = np.where(flat, 1.0, sd)
    z = np.where(flat, 0.0, (x - mean) / sd)
    features = z.shape[1]
    rows = np.vstack([z, np.zeros((grades, features))])  # the pseudo-answers follow the answers
    at = np.concatenate([grade, np.arange(grades)])
    weight = np.concatenate([np.ones(len(grade)), np.full(grades, 0.5)])
    upper, lower = at < grades - 1, at > 0  # the rows whose grade has a threshold above, or below
    inner = upper & lower

    def loss(values: Floats) -> tuple[float, Floats]:
        beta, first, steps = values[:features], values[features], np.exp(values[features + 1 :])
        a = first + np.concatenate([[0.0], np.cumsum(steps)])
        eta = rows @ beta
        u, v = a[np.minimum(at, grades - 2)] - eta, a[np.maximum(at - 1, 0)] - eta
        step = np.concatenate([[1.0], steps])[np.where(inner, at, 0)]
        # P = σ(u) σ(-v) (1 - e^-step), with u - v = step: no digits are lost where both tails are tiny
        parts = np.where(upper, -np.logaddexp(0, -u), 0) + np.where(lower, -np.logaddexp(0, v), 0)
        parts += np.where(inner, np.log(-np.expm1(-step)), 0)
        du, dv = np.where(upper, weight * _sigma(-u), 0), np.where(lower, -weight * _sigma(v), 0)
        by_threshold = np.bincount(at[upper], du[upper], minlength=grades - 1)
        by_threshold += np.bincount(at[lower] - 1, dv[lower], minlength=grades - 1)
        by_step = np.bincount(at[inner], (weight * step / np.expm1(step))[inner], minlength=grades)[1 : grades - 1]
        after = by_threshold[::-1].cumsum()[::-1]  # a step moves every threshold after it
        slope = np.concatenate([-(du + dv) @ rows, after[:1], after[1:] * steps + by_step])
        ridge = np.concatenate([beta, np.zeros(grades - 1)])
        return 0.5 * float(beta @ beta) - float(weight @ parts), ridge - slope

    start = np.zeros(features + grades - 1)
    start[features] = -(grades - 2) / 2
    bounds = [(None, None)] * features + [THRESHOLD] + [DIFFERENCE] * (grades - 2)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS}).x
    thresholds = found[features] + np.concatenate([[0.0], np.cumsum(np.exp(found[features + 1 :]))])
    return Ordinal(np.where(flat, 0.0, found[:features]), thresholds, mean, sd)


def _sigma(x: Floats) -> Floats:
    """The logistic function."""
    return np.asarray(0.5 * (1 + np.tanh(x / 2)))
