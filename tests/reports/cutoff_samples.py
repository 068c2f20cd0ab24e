"""Cut-offs of invented systems, for tests of pages and figures."""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.evaluations.cutoffs import Cutoffs, cutoffs
from endoxa.images.corpus import Corpus
from endoxa.tables import Run


def missed_by_consensus() -> Cutoffs:
    """`lone` returns what shares the folder of the query, and nobody else does; the others share two wrong items."""
    lists = {"a": ["x", "y", "z1"], "b": ["x", "y", "z2"], "lone": ["m1", "m2", "m3"]}
    queries = [f"q{place:02}" for place in range(40)]
    folders = {"f": [*queries, "m1", "m2", "m3"], "g": ["x", "y", "z1", "z2"]}
    rows = [(f"{item}.png", folder) for folder, items in folders.items() for item in items]
    corpus = Corpus.of(pl.DataFrame(rows, schema=["path", "category"], orient="row"), ".")
    run = pl.DataFrame(
        [(s, q, item, -float(at)) for s, items in lists.items() for q in queries for at, item in enumerate(items)],
        schema=["system", "query", "item", "score"],
        orient="row",
    )
    found = cutoffs(Run.of(run), corpus, queries, deepest=3, seed=0)
    assert found is not None
    return found


def curves(names: list[str], deepest: int = 4) -> pl.DataFrame:
    """Falling curves of systems with these names, by both ways."""
    rng = np.random.default_rng(0)
    rows = []
    for way in ("folders", "consensus"):
        for measure in ("precision", "recall"):
            for name in names:
                for k in range(1, deepest + 1):
                    value = float(rng.uniform(0.2, 0.8) / k)
                    rows.append((way, measure, k, name, value, value - 0.05, value + 0.05))
    return pl.DataFrame(rows, schema=["way", "measure", "k", "system", "value", "lo", "hi"], orient="row")
