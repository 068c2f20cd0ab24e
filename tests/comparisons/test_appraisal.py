"""All there is to say without judgments: the baseline, levels, depths, warnings."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from endoxa.beliefs import consensus
from endoxa.comparisons.appraisal import EVERYTHING, by_consensus, with_everything
from endoxa.policies import Policy
from endoxa.tables import Opinions, Run


def some_run(systems: dict[str, float], queries: int = 8, depth: int = 20, seed: int = 0) -> Run:
    """Lists of 60 items; a system sees an item's worth through noise of its own."""
    rng = np.random.default_rng(seed)
    rows = []
    for q in range(queries):
        worth = rng.gumbel(size=60)
        for name, noise in systems.items():
            best = np.argsort(-(worth + rng.normal(0, noise, 60)))[:depth]
            rows += [(name, f"q{q}", f"d{d}", -float(n)) for n, d in enumerate(best)]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


FIELD = {"good": 0.3, "fair": 1.0, "weak": 2.0, "poor": 4.0, "noise": 50.0}


@pytest.fixture(scope="module")
def made():
    return by_consensus(some_run(FIELD), ["AP", "P@10"], Policy(seed=1), worlds=100, depth=10, depths=(5, 10, 20))


def rows(appraisal, measure="AP"):
    return {row["system"]: row for row in appraisal.summary.filter(pl.col("measure") == measure).iter_rows(named=True)}


def test_a_field_is_ordered_by_what_it_sees(made) -> None:
    table = rows(made)
    order = sorted(FIELD, key=lambda system: -table[system]["value"])
    assert order.index("good") < order.index("poor") < order.index("noise")
    assert sum(table[system]["p_best"] for system in FIELD) == pytest.approx(1)
    assert table[EVERYTHING]["p_best"] is None
    assert all(table[s]["lo"] <= table[s]["value"] <= table[s]["hi"] for s in FIELD)


def test_own_votes_flatter(made) -> None:
    table = rows(made, "P@10")
    assert all(table[system]["alone"] < table[system]["value"] for system in FIELD)
    assert table[EVERYTHING]["alone"] is None
    assert table["noise"]["unique"] > table["good"]["unique"]


def test_depths_and_doubts(made) -> None:
    assert made.depths["depth"].to_list() == [5, 10, 20]
    assert made.depths.filter(pl.col("depth") == 10)["tau"].item() == pytest.approx(1)
    assert made.doubts.group_by("system").agg(pl.col("share").sum())["share"].to_list() == pytest.approx([1.0] * 6)
    assert set(made.comparison.frame["doubt"]) == {"truth", "people", "queries", "all"}


def test_it_is_the_same_every_time(made) -> None:
    again = by_consensus(some_run(FIELD), ["AP", "P@10"], Policy(seed=1), worlds=100, depth=10, depths=(5, 10, 20))
    assert again.summary.equals(made.summary)
    other = by_consensus(some_run(FIELD), ["AP", "P@10"], Policy(seed=2), worlds=100, depth=10, depths=(5, 10, 20))
    assert other.summary.select("system", "measure", "alone").equals(made.summary.select("system", "measure", "alone"))
    assert not other.summary["lo"].equals(made.summary["lo"])


def test_warnings() -> None:
    lists = some_run({"a": 0.5, "b": 0.5, "noise": 80.0})
    clone = lists.frame.filter(pl.col("system") == "a").with_columns(pl.lit("twin").alias("system"))
    run = Run(pl.concat([lists.frame, clone]))
    told = " | ".join(by_consensus(run, ["P@10"], worlds=20, weights="equal", depth=5).warnings)
    assert "nearly the same lists: a and twin" in told
    assert "nobody else returned half or more of what noise (" in told
    assert "nearly the same" not in " ".join(by_consensus(run, ["P@10"], worlds=20, depth=5).warnings)
    few = " ".join(by_consensus(lists, ["P@10"], worlds=20).warnings)
    assert "3 systems are few voters" in few


def test_everything_in_random_order() -> None:
    run = some_run(FIELD)
    counted = consensus.tally(consensus.votes(run, 10))
    whole = with_everything(run, counted, seed=0)
    top = whole.frame.filter(pl.col("system") == EVERYTHING)
    assert top.height == counted.rows.height
    assert (
        top.group_by("query")
        .agg(pl.col("rank").max(), pl.len())
        .select(pl.col("rank") == pl.col("len"))
        .to_series()
        .all()
    )
    assert not with_everything(run, counted, seed=1).frame.equals(whole.frame)


def test_labels_are_held_certain() -> None:
    run = some_run(FIELD)
    universe = consensus.votes(run, 10).frame.select("query", "item").unique()
    labels = Opinions.of(universe.with_columns(pl.lit(1.0).alias("grade")))
    made = by_consensus(run, ["P@10"], worlds=20, depth=10, labels=labels)
    assert rows(made, "P@10")["good"]["value"] == pytest.approx(1)
    assert "alone" not in made.summary.columns


def test_votes_on_named_items() -> None:
    said = {"S1": "1245", "S2": "123", "S3": "126"}
    frame = pl.DataFrame([(s, "q", d, float(d in items)) for s, items in said.items() for d in "1234567"],
                         schema=["source", "query", "item", "grade"], orient="row")  # fmt: skip
    opinions = Opinions.of(frame, kind="system")
    lists = frame.filter(pl.col("grade") > 0).select(
        pl.col("source").alias("system"), "query", "item", pl.lit(0.0).alias("score")
    )
    made = by_consensus(Run.of(lists), ["SetP", "SetR"], votes=opinions, worlds=20)
    assert made.depths is None
    assert rows(made, "SetP")["S1"]["value"] == pytest.approx(0.6)
    assert rows(made, "SetP")["S1"]["alone"] == pytest.approx(0.5)
    assert rows(made, "SetR")[EVERYTHING]["value"] == pytest.approx(1)
