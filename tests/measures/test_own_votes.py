"""What a system scores without its own vote: subtraction against a consensus made anew without it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from endoxa.beliefs import consensus
from endoxa.measures.own_votes import left_out
from endoxa.measures.uncertain import expectations
from endoxa.tables import Belief, Run


def some_run(seed: int = 0, systems: int = 5, queries: int = 6) -> Run:
    rng = np.random.default_rng(seed)
    rows = [
        (f"s{s}", f"q{q}", f"d{d}", -float(n))
        for s in range(systems)
        for q in range(queries)
        for n, d in enumerate(rng.permutation(15)[:8])
    ]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def without(run: Run, system: str, depth: int) -> Belief:
    """The consensus of the others, on the universe of all: made the slow way."""
    said = consensus.votes(run, depth)
    others = consensus.tally(type(said)(said.frame.filter(pl.col("source") != system)), weights="equal")
    p = dict(zip(zip(others.rows["query"], others.rows["item"], strict=True), others.p(), strict=True))
    prior = 1 / (2 + len(others.systems))  # nobody else has it
    universe = said.frame.select("query", "item").unique(maintain_order=True)
    return Belief.of(universe.with_columns(pl.Series("p", [p.get(pair, prior) for pair in universe.iter_rows()])))


def test_subtraction_is_the_consensus_of_the_others() -> None:
    run = some_run()
    counted = consensus.tally(consensus.votes(run, 5), weights="equal")
    made = left_out(run, counted, ["AP", "P@5", "nDCG@5"], worlds=64)
    for system in run.systems:
        own = Run(run.frame.filter(pl.col("system") == system))
        slow = expectations(own, without(run, system, 5), ["AP", "P@5", "nDCG@5"], worlds=64)[:, 0]
        assert made.filter(pl.col("system") == system)["value"].to_list() == pytest.approx(slow.tolist())


def test_families_leave_together() -> None:
    run = some_run()
    counted = consensus.tally(consensus.votes(run, 5), weights="equal")
    alone = left_out(run, counted, "P@5")
    together = left_out(run, counted, "P@5", families={"s0": "x", "s1": "x"})
    changed = dict(zip(alone["system"], alone["value"] - together["value"], strict=True))
    assert changed["s2"] == pytest.approx(0)
    assert changed["s0"] != pytest.approx(0)
    assert left_out(run, counted, "P@5", families=True)["value"].to_list() == pytest.approx(alone["value"].to_list())
