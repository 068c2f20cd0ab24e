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
    """Words by V: first visual ones, then one by its company; the last two are too rare and of one topic."""
    rng = np.random.default_rng(0)
    v = np.sort(rng.normal(0.1, 0.15, words))[::-1]
    called = ["visual"] * min(visual, words) + ["not visual"] * max(0, words - visual)
    if words > visual + 3:
        called[visual], called[-2], called[-1] = "visual by its company", "too rare to say", "one topic only"
    n = rng.integers(20, 200, words)
    columns = {
        "word": [f"word{at:02d}" for at in range(words)], "n": n, "topics": rng.integers(3, 9, words), "V": v,
        "half": 1.64 * 0.55 / np.sqrt(n), "A": 0.5 + v, "B": 0.5 + v / 2, "D": 0.5 + v / 3, "own": v / 2,
        "call": called,
        "company": ["word00, word01" if call == "visual by its company" else "" for call in called],
        "left_out": ["picture" if call == "one topic only" else "topic" for call in called], "z": v / 0.05,
        "p": np.full(words, 0.2), "q": np.full(words, 0.4), "excess": 0.2 + v, "excess_z": rng.normal(size=words),
        "E": rng.uniform(3, 5, words), "E_z": rng.normal(size=words), "hessel": rng.uniform(0.5, 9, words),
        "norm": rng.uniform(1, 5, words) if norms else np.full(words, np.nan),
    }  # fmt: skip
    empty = {
        name: rng.uniform(1, 3, words) if selected else np.full(words, np.nan) for name in SCHEMA if name not in columns
    }
    frame = pl.DataFrame(columns | empty, schema_overrides=SCHEMA).select(list(SCHEMA))
    table = None
    if norms:
        methods = {"V": frame["V"].to_numpy(), "hessel": frame["hessel"].to_numpy()}
        table = correlations(methods, frame["norm"].to_numpy(), resamples=100, rng=rng)
    typical = {word: (Typical("p1", 0, 0.9), Typical("p2", 3, 0.7)) for word in frame["word"]}
    return Visualness(
        frame, "vectors", "topics", typical, 500, 4000, 26, 9, ("3 words are left out, on fewer …",), table
    )
