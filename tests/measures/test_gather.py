"""One way to join blocks: whatever the reference, cut into any blocks, made by any mapper."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import polars as pl
import pytest

from endoxa.errors import JoinError
from endoxa.measures.gather import gather
from endoxa.measures.grammar import parse_all
from endoxa.measures.placing import place
from endoxa.measures.uncertain import _covering, measure_belief, score_query
from endoxa.policies import Policy
from endoxa.tables import Belief, Run, Scores

NAMES = ["AP", "nDCG@3", "P@2", "SetP"]


def case(seed: int = 0, people: bool = True) -> tuple[Run, Belief]:
    """Three systems, four queries; the last system lacks one; two resamples of the people."""
    rng = np.random.default_rng(seed)
    items = [f"d{n}" for n in range(8)]
    rows = [
        (s, f"q{q}", items[n], float(rng.random()))
        for s in ("a", "b", "c")
        for q in range(4)
        for n in rng.permutation(8)[: rng.integers(2, 7)]
        if (s, q) != ("c", 2)
    ]
    run = Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))
    pairs = [(f"q{q}", item) for q in range(4) for item in items[:6]]
    frame = pl.DataFrame(pairs, schema=["query", "item"], orient="row").with_columns(p=pl.Series(rng.random(24)))
    if people:
        several = rng.random((24, 2)).astype(np.float32)
        frame = frame.with_columns(pl.Series("people", several, dtype=pl.Array(pl.Float32, 2)))
    return run, Belief.of(frame)


def same(one: Scores, other: Scores) -> None:
    assert one.frame.equals(other.frame, null_equal=True)
    assert one.coverage.equals(other.coverage)
    assert one.absent.equals(other.absent)
    assert np.array_equal(one.draws.truth, other.draws.truth, equal_nan=True)
    assert np.array_equal(one.draws.people, other.draws.people, equal_nan=True)


def test_a_mapper_and_a_placement_made_before_change_nothing() -> None:
    run, belief = case()
    plain = measure_belief(run, belief, NAMES, worlds=20)
    with ThreadPoolExecutor(2) as pool:
        same(plain, measure_belief(run, belief, NAMES, worlds=20, mapper=pool.map))
    same(plain, measure_belief(run, belief, NAMES, worlds=20, placement=place(run, belief)))


def test_blocks_of_whole_queries_under_a_belief_give_what_the_whole_gives() -> None:
    """What a cluster would do: score blocks of the run apart, then gather them."""
    run, belief = case()
    policy, wanted = Policy(missing="skip"), parse_all(NAMES)
    blocks = []
    for some in (["q0", "q3"], ["q1"], ["q2"]):
        part = Run(run.frame.filter(pl.col("query").is_in(some)), run.ties)
        placed = place(part, belief, policy)
        kernel = partial(score_query, placed.systems, wanted, policy, 20, 0.95, placed.top)
        queries = zip(range(len(placed.lists)), placed.readings, placed.lists, strict=True)
        blocks += [_covering(placed, wanted), *map(kernel, queries)]
    whole = measure_belief(run, belief, NAMES, policy, worlds=20)

    def refused(*_: object) -> None:
        raise AssertionError("missing=skip scores no empty lists")

    joined = gather(
        {"": place(run, belief)}, [iter(blocks)], wanted, policy, systems=run.systems, empty=refused,
        lines=whole.draws.lines,
    )  # fmt: skip
    same(joined, whole)


def test_missing_topics_and_undefined_values_follow_the_policy() -> None:
    run, belief = case()
    empty = measure_belief(run, belief, NAMES, worlds=20)
    missing = empty.frame.filter((pl.col("system") == "c") & (pl.col("query") == "q2"))
    assert missing["value"].to_list()[:3] == [0.0, 0.0, 0.0]
    assert np.isnan(missing["value"][3])  # SetP of an empty list
    assert missing["undefined"][3] == 1.0
    assert empty.absent.rows() == [("c", "q2")]
    assert empty.coverage.select("system", "queries", "missing").rows() == [("a", 4, 0), ("b", 4, 0), ("c", 4, 1)]
    skipped = measure_belief(run, belief, NAMES, Policy(missing="skip"), worlds=20)
    assert skipped.coverage.select("queries", "missing").rows() == [(4, 0), (4, 0), (3, 1)]
    assert np.isnan(skipped.draws.truth[:, 2, 2]).all()
    zero = measure_belief(run, belief, NAMES, Policy(undefined="zero"), worlds=20)
    assert not zero.frame["value"].is_nan().any()
    assert zero.draws.truth[3, 2, 2].tolist() == [0.0] * 20
    kept = measure_belief(run, belief, NAMES, Policy(undefined="skip"), worlds=20)
    assert kept.queries == kept.draws.queries == ["q0", "q1", "q3"]
    with pytest.raises(JoinError, match=r"run 'c' lacks query 'q2' of the belief \(1 in all\)"):
        measure_belief(run, belief, NAMES, Policy(missing="error"), worlds=20)


def test_a_system_without_any_query_is_refused() -> None:
    run, belief = case()
    lost = run.frame.filter(pl.col("system") == "c").with_columns(
        pl.lit("z").alias("system"), pl.lit("q9").alias("query")
    )
    both = Run(pl.concat([run.frame, lost]), run.ties)
    with pytest.raises(JoinError, match=r"run 'z' shares no query with the belief, which has 'q0' and others"):
        measure_belief(both, belief, NAMES, worlds=20)


def test_every_world_undefined_leaves_nothing_to_skip() -> None:
    run, _ = case()
    nothing = Belief.of(pl.DataFrame({"query": ["q0", "q1"], "item": ["d0", "d0"], "p": [0.0, 1e-12]}))
    with pytest.raises(JoinError, match="nothing is left under undefined=skip"):
        measure_belief(run, nothing, ["R@2"], Policy(undefined="skip"), worlds=4)
