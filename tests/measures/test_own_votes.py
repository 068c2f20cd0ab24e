"""What a system scores without its own vote: subtraction against a consensus made anew without it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from endoxa.beliefs import consensus
from endoxa.errors import JoinError, TextError
from endoxa.measures.own_votes import between, left_out
from endoxa.measures.uncertain import expectations
from endoxa.policies import Policy
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


def test_two_systems_under_the_votes_of_the_others() -> None:
    run = some_run()
    counted = consensus.tally(consensus.votes(run, 5), weights="equal")
    scores = between(run, counted, "s0", "s3", ["P@5"], Policy())
    assert scores.systems == ["s0", "s3"]
    rest = Run(run.frame.filter(~pl.col("system").is_in(["s0", "s3"])))
    held = consensus.believe(rest, depth=5, weights="equal", people=0).frame
    known = {(query, item): p for query, item, p in held.select("query", "item", "p").iter_rows()}
    firsts = run.frame.filter((pl.col("system") == "s0") & (pl.col("rank") <= 5))
    expected = np.mean([known.get(pair, 1 / 5) for pair in firsts.select("query", "item").iter_rows()])
    assert scores.frame.filter(pl.col("system") == "s0")["value"].mean() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("names", "error", "words"),
    [(("s0", "x"), TextError, "no system is called 'x'"), (("s0", "s0"), TextError, "with itself")],
)
def test_which_two(names, error, words) -> None:
    run = some_run()
    with pytest.raises(error, match=words):
        between(run, consensus.tally(consensus.votes(run, 5)), *names, ["AP"], Policy())


def test_too_few_are_left() -> None:
    run = some_run(systems=3)
    with pytest.raises(JoinError, match="fewer than two systems"):
        between(run, consensus.tally(consensus.votes(run, 5)), "s0", "s1", ["AP"], Policy())
