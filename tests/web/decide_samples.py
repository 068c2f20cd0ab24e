"""A field of runs whose order is known, with items whose text says whether they are relevant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl


def write_field(
    folder: Path, noise: dict[str, float], *, queries: int, items: int, listed: int, relevant: float, seed: int
) -> None:
    """Write NAME.run of every system, which scores the truth with noise, and items.csv: `Page 7: fits` or `other`."""
    rng = np.random.default_rng(seed)
    truth = rng.random((queries, items)) < relevant
    for system, spread in noise.items():
        lines = []
        for t in range(queries):
            score = truth[t] + spread * rng.normal(size=items)
            first = np.argsort(-score)[:listed]
            lines += [f"q{t} Q0 q{t}d{d} {n + 1} {score[d]:.6f} {system}" for n, d in enumerate(first)]
        (folder / f"{system}.run").write_text("\n".join(lines) + "\n")
    rows = [
        (f"q{t}d{d}", f"Page {d}: {'fits' if truth[t, d] else 'other'}") for t in range(queries) for d in range(items)
    ]
    pl.DataFrame(rows, schema=["item", "text"], orient="row").write_csv(folder / "items.csv")
