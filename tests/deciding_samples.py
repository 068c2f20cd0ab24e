"""A field of systems whose order is known, for tests of the loop of labels."""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.beliefs.learned import Universe
from endoxa.tables import Floats, Run


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
