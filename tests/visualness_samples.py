"""A result of visualness for tests of figures and pages."""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.words.norm_ranks import correlations
from endoxa.words.visualness import SCHEMA, Typical, Visualness

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYPgPAAEDAQAIicLsAAAAAElFTkSuQmCC"
)


def found(words: int = 45, *, visual: int = 12, norms: bool = True, selected: bool = False) -> Visualness:
    """Words from the most to the least visual, the first ones with q ≤ .05; one is in a single topic."""
    rng = np.random.default_rng(0)
    above = np.sort(rng.normal(0.02, 0.08, words))[::-1]
    q = np.where(np.arange(words) < visual, 0.01, 0.4)
    half = np.full(words, 0.06)
    half[min(1, words - 1)] = np.nan
    columns = {
        "word": [f"word{at:02d}" for at in range(words)], "n": rng.integers(20, 200, words),
        "topics": rng.integers(1, 9, words), "excess": 0.2 + above, "null": np.full(words, 0.2), "above": above,
        "lo": above - half, "hi": above + half, "z": above / 0.03, "p": q / 2, "q": q, "E": rng.uniform(3, 5, words),
        "E_z": rng.normal(size=words), "hessel": rng.uniform(0.5, 9, words),
        "norm": rng.uniform(1, 5, words) if norms else np.full(words, np.nan),
    }  # fmt: skip
    empty = {
        name: rng.uniform(1, 3, words) if selected else np.full(words, np.nan) for name in SCHEMA if name not in columns
    }
    frame = pl.DataFrame(columns | empty, schema_overrides=SCHEMA).select(list(SCHEMA))
    table = None
    if norms:
        methods = {"excess": frame["z"].to_numpy(), "hessel": frame["hessel"].to_numpy()}
        table = correlations(methods, frame["norm"].to_numpy(), resamples=100, rng=rng)
    typical = {word: (Typical("p1", 0, 0.9), Typical("p2", 3, 0.7)) for word in frame["word"]}
    return Visualness(frame, "topics", typical, 500, 4000, 26, 9, ("3 words are left out, on fewer …",), table)
