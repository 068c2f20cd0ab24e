"""Systems against each subject's own ranked answer: no truth is asked for, only this person's, in this context.

Every (subject, query) gives a number first; averages are taken of numbers. Source: Santini, section 5; METHODS A.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from endoxa.measures.displacement import answer_values, average_answers, compare_answers
from endoxa.statistics.bootstrap import Means, mean_intervals
from endoxa.statistics.crossed import crossed_bootstrap
from endoxa.tables import Answers, Floats, Run


@dataclass(frozen=True)
class Individual:
    """Displacement of every system against the subjects' answers.

    frame   system, score (chance-corrected: 1 as the subjects, 0 as chance), lo, hi, per_item (mean displacement in
            ranks), quality (g of it), returned, queries, undefined
    pairs   system, baseline, difference (of score), lo, hi: over the same subjects and queries
    single  one row per system, subject and query
    """

    frame: pl.DataFrame
    pairs: pl.DataFrame
    single: pl.DataFrame
    notes: tuple[str, ...]


def individual(
    run: Run, answers: Answers, *, N: int | None = None, level: float = 0.95, rng: np.random.Generator, **how: Any
) -> Individual:
    """Compare, average after conversion, and give intervals over subjects and queries together."""
    single = compare_answers(run, answers, N=N, **how)
    systems, subjects, queries, values = answer_values(single, "score")
    means = average_answers(single)
    seed = int(rng.integers(1 << 62))
    made = _interval(values, level, np.random.default_rng(seed))
    frame = pl.DataFrame({"system": systems, "score": made.mean, "lo": made.lo, "hi": np.minimum(made.hi, 1.0)}).join(
        means.select("system", "per_item", "quality", "returned", "queries", "undefined"),
        on="system",
        how="left",
        maintain_order="left",
    )
    left, right = np.array(list(combinations(range(len(systems)), 2)), dtype=np.int64).reshape(-1, 2).T
    between = _interval(values[left] - values[right], level, np.random.default_rng(seed))
    pairs = pl.DataFrame(
        {
            "system": [systems[a] for a in left],
            "baseline": [systems[b] for b in right],
            "difference": between.mean,
            "lo": between.lo,
            "hi": between.hi,
        },
        schema_overrides={"system": pl.String, "baseline": pl.String},
    )
    return Individual(
        frame.sort("score", descending=True, nulls_last=True), pairs, single, _notes(how, N, subjects, queries, level)
    )


def _interval(values: Floats, level: float, rng: np.random.Generator) -> Means:
    """Over subjects and queries; over queries alone where there is one subject."""
    if values.shape[-2] > 1:
        return crossed_bootstrap(values, level=level, rng=rng)
    return mean_intervals(values[..., 0, :], level=level, rng=rng)


def _notes(
    how: dict[str, Any], N: int | None, subjects: list[str], queries: list[str], level: float
) -> tuple[str, ...]:
    rule = how.get("rule", "uniform")
    size = (
        f"a collection of {N:,} items"
        if N is not None
        else "a collection of all that was returned or named (-N not given)"
    )
    over = (
        "subjects and queries, resampled together"
        if len(subjects) > 1
        else "queries; one subject says nothing of others"
    )
    return (
        f"{len(subjects):,} subjects, {len(queries):,} queries; score = 1 − w/E0: 1 is the subject's order, 0 chance",
        f"rule={rule}: where the subject's items that a system did not return are taken to stand, in {size}",
        f"interval: {100 * level:g} % over {over}",
    )
