"""How evenly the grades of a scale are used by pairs drawn in four ways, in simulated collections or in any other.

Every way plans the same number of draws; rank⁻⁵ repeats so many that about half of the pairs remain. Where the answers
so far choose the next pairs, half of all answers come from a first round that does not adapt, and count too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from endoxa.studies.adapting import adapt
from endoxa.studies.sampling import plan
from endoxa.studies.uniformity import deviation
from endoxa.tables import Floats, Opinions, Run

GRADES = (1.0, 2.0, 3.0, 4.0, 5.0)
CUTS = (-1.5, -0.5, 0.5, 1.5)  # of the latent relevance, between the grades
SHIFTS = {"very common": 1.0, "common": 0.0, "rarer": -1.5, "rare": -2.5}
SKILLS = (0.8, 0.5, 0.2, 0.0)  # correlation of a system's scores with relevance
WAYS = ("rank⁻⁵", "rank⁻¹", "adapted once", "adapted three times", "best possible")
PAIRS = ("pairs", "pairs of rank⁻⁵")
SEEDS = 5
Graded = Callable[[pl.DataFrame], pl.DataFrame]  # pairs to query, item, grade


def simulated(_: Path) -> dict[str, Any]:
    """The deviation by each way where relevance is common or rare, and the mean number of pairs."""
    found: dict[str, Any] = {}
    for name, shift in SHIFTS.items():
        each = [_once(shift, seed) for seed in range(SEEDS)]
        found[name] = {way: float(np.mean([one[way] for one in each])) for way in (*PAIRS, *WAYS)}
    return found


def deviations(run: Run, graded: Graded, *, floor: float, seed: int) -> dict[str, float]:
    """The deviation of all answers from an even use of five grades, by each way, and the number of pairs."""
    rng = np.random.default_rng(seed)
    steep = plan(run, tasks_per_query=2, gamma=5.0, floor=0.0, rng=rng)
    usual = plan(run, tasks_per_query=2, rng=rng)
    first = graded(plan(run, tasks_per_query=1, rng=rng).tasks)
    found = {PAIRS[0]: float(usual.tasks.height), PAIRS[1]: float(steep.tasks.height)}
    found |= {WAYS[0]: _deviation(graded(steep.tasks)), WAYS[1]: _deviation(graded(usual.tasks))}
    for way, rounds in ((WAYS[2], 1), (WAYS[3], 3)):
        rows = first
        for number in range(rounds):
            count = round((usual.tasks.height - rows.height) / (rounds - number))
            opinions = Opinions.of(rows, source="people")
            drawn = adapt(run, opinions, count, round=number + 2, scale=(1.0, 5.0, 5), floor=floor, rng=rng)
            rows = pl.concat([rows, graded(drawn.tasks)])
        found[way] = _deviation(rows)
    return found


def _once(shift: float, seed: int) -> dict[str, float]:
    """60 queries × 200 items, four systems, queries of different ease."""
    run, truth = world(shift, seed)
    keys = ["query", "item"]
    found = deviations(run, lambda tasks: tasks.select(keys).join(truth, on=keys), floor=0.1, seed=seed + 100)
    counts = truth.group_by("grade").len().sort("grade")["len"].to_numpy().astype(np.float64)
    return {**found, WAYS[4]: _best(np.pad(counts, (0, len(GRADES) - len(counts))), found[PAIRS[0]])}


def world(shift: float, seed: int, queries: int = 60, items: int = 200) -> tuple[Run, pl.DataFrame]:
    """A run of four systems, and the grade of every pair; relevance is normal, moved by `shift` and by the query."""
    rng, size = np.random.default_rng(seed), queries * items
    pairs = pl.DataFrame(
        {
            "query": np.repeat([f"q{number:02}" for number in range(queries)], items),
            "item": np.tile([f"d{number:03}" for number in range(items)], queries),
        }
    )
    relevance = rng.normal(size=size)
    latent = relevance + np.repeat(0.5 * rng.normal(size=queries), items) + shift
    lists = []
    for number, skill in enumerate(SKILLS):
        scores = skill * relevance + np.sqrt(1 - skill**2) * rng.normal(size=size)
        lists.append(pairs.with_columns(pl.lit(f"system {number}").alias("system"), pl.Series("score", scores)))
    grades = pl.Series("grade", 1.0 + np.searchsorted(CUTS, latent))
    return Run.of(pl.concat(lists)), pairs.with_columns(grades)


def _deviation(rows: pl.DataFrame) -> float:
    return deviation(rows["grade"].to_numpy(), GRADES).dev


def _best(counts: Floats, pairs: float) -> float:
    """The least deviation of `pairs` pairs out of all, if every grade were known."""
    taken = np.zeros(len(counts))
    while pairs - taken.sum() > 1e-9:
        is_left = taken < counts
        taken[is_left] += np.minimum((counts - taken)[is_left], (pairs - taken.sum()) / is_left.sum())
    return float(np.abs(taken / pairs - 1 / len(counts)).mean())
