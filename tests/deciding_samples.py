"""A field of systems whose order is known, for tests of the loop of labels."""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.beliefs.learned import Fit, Universe
from endoxa.tables import Floats, Ints, Run


def field(
    noise: tuple[float, ...] = (0.4, 1.0, 1.6, 2.5), topics: int = 8, items: int = 60, listed: int = 30, seed: int = 0
) -> tuple[Run, dict[tuple[str, str], float]]:
    """Systems that score the truth with noise (the first with the least), and the truth: 1 or 0 of every pair."""
    rng = np.random.default_rng(seed)
    rows, truth = [], {}
    for t in range(topics):
        relevant = rng.random(items) < 0.3
        truth |= {(f"q{t}", f"q{t}d{d}"): float(relevant[d]) for d in range(items)}
        for number, spread in enumerate(noise):
            score = relevant + spread * rng.normal(size=items)
            rows += [(f"s{number}", f"q{t}", f"q{t}d{d}", float(score[d])) for d in np.argsort(-score)[:listed]]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")), truth


def grades(universe: Universe, truth: dict[tuple[str, str], float]) -> Floats:
    """The truth of every row of a universe."""
    return np.array([truth[pair] for pair in universe.rows.iter_rows()])


def design(universe: Universe, rows: Ints | None = None) -> Floats:
    """[row, coefficient] the dense matrix of the linear predictor: 1, consensus, topic, systems. By its definition."""
    rows = np.arange(universe.rows.height) if rows is None else rows
    topics = np.arange(len(universe.queries)) == universe.topic[rows][:, None]
    return np.column_stack(
        [np.ones(len(rows)), universe.offset[rows], topics, universe.features.toarray()[rows]]
    ).astype(np.float64)


def precision(universe: Universe, rows: Ints, b: Floats) -> Floats:
    """[coefficient, coefficient] minus the second derivative of the log posterior at b: prior + Xᵀ diag(p(1-p)) X."""
    X = design(universe, rows)
    p = 1 / (1 + np.exp(-X @ b))
    prior = np.diag([0.3, 1.0] + [1 / 1.5**2] * (len(universe.queries) + len(universe.systems)))
    return np.asarray(prior + X.T @ ((p * (1 - p))[:, None] * X))


def dense(fit: Fit, universe: Universe) -> Floats:
    """[coefficient, coefficient] the covariance that a fit stands for, from its root of the identity."""
    half = fit.half(np.eye(universe.size))
    return np.asarray(half @ half.T)
