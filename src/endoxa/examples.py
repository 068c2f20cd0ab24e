"""A small collection that anybody can make: six systems, three assessors, known by construction."""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.tables import Opinions, Run

QUERIES, ITEMS, DEPTH, POOL = 60, 400, 100, 20

# How strongly each system follows the latent relevance, and how coarse its scores are (0: not at all).
SYSTEMS = {
    "hybrid": (1.35, 0.0),
    "dense": (1.15, 0.0),
    "dense-distilled": (1.1, 0.0),
    "bm25": (0.85, 0.0),
    "tf-idf": (0.7, 0.02),
    "random": (0.0, 0.0),
}

# Each assessor's own thresholds for grades 1 to 3, and the noise of the hand.
ASSESSORS = {"ada": ((1.3, 1.9, 2.5), 0.35), "bob": ((1.0, 1.6, 2.4), 0.6), "cyd": ((1.6, 2.1, 2.6), 0.35)}


def collection(*, rng: np.random.Generator) -> tuple[Run, Opinions]:
    """Runs of six systems and the grades that three assessors gave to the pool of their first 20.

    The two dense systems share most of their errors, so that only a paired comparison can part them. One
    system rounds its scores, which makes ties.
    """
    relevance = rng.standard_normal((QUERIES, ITEMS)) + 0.3 * rng.standard_normal((QUERIES, 1))
    shared = rng.standard_normal((QUERIES, ITEMS))
    names = np.array([f"d{number:03d}" for number in range(ITEMS)])
    queries = np.array([f"q{number:02d}" for number in range(1, QUERIES + 1)])
    frames = []
    for system, (strength, step) in SYSTEMS.items():
        own = rng.standard_normal((QUERIES, ITEMS))
        error = 0.9 * shared + 0.436 * own if system.startswith("dense") else own
        score = np.round(strength * relevance + error, 6)
        if step:
            score = np.round(score / step) * step
        order = np.argsort(-score, axis=1, kind="stable")[:, :DEPTH]
        frames.append(
            pl.DataFrame(
                {
                    "system": [system] * order.size,
                    "query": np.repeat(queries, DEPTH),
                    "item": names[order.ravel()],
                    "score": np.take_along_axis(score, order, 1).ravel(),
                }
            )
        )
    run = Run.of(pl.concat(frames))
    pooled = run.frame.filter(pl.col("rank") <= POOL).select("query", "item").unique(maintain_order=True)
    place = {name: at for at, name in enumerate(queries)}, {name: at for at, name in enumerate(names)}
    rows = np.array([place[0][query] for query in pooled["query"]])
    columns = np.array([place[1][item] for item in pooled["item"]])
    judged = []
    for assessor, (limits, noise) in ASSESSORS.items():
        seen = relevance[rows, columns] + noise * rng.standard_normal(len(rows))
        grades = np.searchsorted(np.array(limits), seen, side="right").astype(float)
        judged.append(pooled.with_columns(pl.lit(assessor).alias("source"), pl.Series("grade", grades)))
    return run, Opinions.of(pl.concat(judged))
