"""Evaluation without judgments: the virtual system, own votes, depths, warnings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import endoxa as front_door
from endoxa.beliefs import consensus
from endoxa.comparisons import orders, shared
from endoxa.errors import JoinError, TextError
from endoxa.evaluations import believed
from endoxa.evaluations.consensus import EVERYTHING, belief, evaluate, with_everything
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.settings import Settings
from endoxa.measures.grammar import parse_all
from endoxa.measures.uncertain import expectations
from endoxa.notes import texts
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


def by_consensus(run: Run, measures: list[str], *, depths=(10, 30, 100, 1000), **settings) -> Evaluation:
    votes, labels = settings.pop("votes", None), settings.pop("labels", None)
    return evaluate(run, parse_all(measures), Settings(**settings), votes=votes, labels=labels, depths=depths)


FIELD = {"good": 0.3, "fair": 1.0, "weak": 2.0, "poor": 4.0, "noise": 50.0}


@pytest.fixture(scope="module")
def made():
    return by_consensus(some_run(FIELD), ["AP", "P@10"], seed=1, worlds=100, depth=10, depths=(5, 10, 20))


def rows(evaluation, measure="AP"):
    return {row["system"]: row for row in evaluation.summary.filter(pl.col("measure") == measure).iter_rows(named=True)}


def test_the_answer_needs_only_the_pairs_of_the_best_and_says_the_same(made) -> None:
    again = by_consensus(some_run(FIELD), ["AP", "P@10"], seed=1, worlds=100, depth=10, depths=(5, 10, 20))
    said = again.sentences
    assert "comparison" not in vars(again), "all pairs were compared"
    assert said == replace(made, deciding=None).sentences


def test_a_field_is_ordered_by_what_it_sees(made) -> None:
    table = rows(made)
    order = sorted(FIELD, key=lambda system: -table[system]["value"])
    assert order.index("good") < order.index("poor") < order.index("noise")
    assert sum(table[system]["p_best"] for system in FIELD) == pytest.approx(1)
    assert table[EVERYTHING]["p_best"] is None
    assert all(table[s]["lo"] <= table[s]["value"] <= table[s]["hi"] for s in FIELD)


def test_own_votes_flatter(made) -> None:
    table = rows(made, "P@10")
    assert all(table[system]["without_own_vote"] < table[system]["value"] for system in FIELD)
    assert table[EVERYTHING]["without_own_vote"] is None
    assert table["noise"]["unique"] > table["good"]["unique"]


def test_depths_and_doubts(made) -> None:
    assert made.tables["depths"]["depth"].to_list() == [5, 10, 20]
    assert made.tables["depths"].filter(pl.col("depth") == 10)["tau"].item() == pytest.approx(1)
    assert made.doubts.group_by("system").agg(pl.col("share").sum())["share"].to_list() == pytest.approx([1.0] * 6)
    assert set(made.comparison.frame["doubt"]) == {"truth", "people", "queries", "all"}


def test_it_is_the_same_every_time(made) -> None:
    again = by_consensus(some_run(FIELD), ["AP", "P@10"], seed=1, worlds=100, depth=10, depths=(5, 10, 20))
    assert again.summary.equals(made.summary)
    other = by_consensus(some_run(FIELD), ["AP", "P@10"], seed=2, worlds=100, depth=10, depths=(5, 10, 20))
    assert other.summary.select("system", "measure", "without_own_vote").equals(
        made.summary.select("system", "measure", "without_own_vote")
    )
    assert not other.summary["lo"].equals(made.summary["lo"])


def test_warnings() -> None:
    lists = some_run({"a": 0.5, "b": 0.5, "noise": 80.0})
    clone = lists.frame.filter(pl.col("system") == "a").with_columns(pl.lit("twin").alias("system"))
    run = Run(pl.concat([lists.frame, clone]))
    told = " | ".join(texts(by_consensus(run, ["P@10"], worlds=20, weights="equal", depth=5).warnings))
    assert "nearly the same lists: a and twin" in told
    assert "No other system returned half or more of what noise (" in told
    assert "nearly the same" not in " ".join(texts(by_consensus(run, ["P@10"], worlds=20, depth=5).warnings))
    few = " ".join(texts(by_consensus(lists, ["P@10"], worlds=20).warnings))
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
    assert "without_own_vote" not in made.summary.columns


def test_votes_on_named_items() -> None:
    said = {"S1": "1245", "S2": "123", "S3": "126"}
    frame = pl.DataFrame([(s, "q", d, float(d in items)) for s, items in said.items() for d in "1234567"],
                         schema=["source", "query", "item", "grade"], orient="row")  # fmt: skip
    opinions = Opinions.of(frame, kind="system")
    lists = frame.filter(pl.col("grade") > 0).select(
        pl.col("source").alias("system"), "query", "item", pl.lit(0.0).alias("score")
    )
    made = by_consensus(Run.of(lists), ["SetP", "SetR"], votes=opinions, worlds=20)
    assert "depths" not in made.tables
    assert rows(made, "SetP")["S1"]["value"] == pytest.approx(0.6)
    assert rows(made, "SetP")["S1"]["without_own_vote"] == pytest.approx(0.5)
    assert rows(made, "SetR")[EVERYTHING]["value"] == pytest.approx(1)


def test_a_virtual_system_takes_no_part_in_pairs(made) -> None:
    pairs = made.comparison.frame
    assert EVERYTHING not in {*pairs["system"], *pairs["baseline"]}
    assert made.virtual == EVERYTHING
    assert set(made.systems) == set(FIELD)


def test_the_library_and_the_evaluation_compare_alike(made) -> None:
    """Scores of the runs alone under the consensus give the pairs of the evaluation, which scores ⊤ too."""
    run, settings = some_run(FIELD), made.settings
    scores = believed.score(run, belief(run, settings), parse_all(["AP", "P@10"]), settings)
    names = ["measure", "system", "baseline", "doubt"]
    for compared in (believed.compare(scores, settings), believed.compare(made.scores, settings)):
        assert compared.frame.select(names).equals(made.comparison.frame.select(names))
        for column in ("difference", "lo", "hi", "p_better", "p_tie", "sd"):
            ours, theirs = compared.frame[column].to_numpy(), made.comparison.frame[column].to_numpy()
            assert ours == pytest.approx(theirs, abs=1e-12, nan_ok=True)
    assert str(texts(made.comparison.notes)[-1]) == "The doubt about the truth of P@10 is exact."


def test_one_draw_for_summary_and_pairs(made) -> None:
    doubts = shared.Doubts(made.scores, seed=1, aside=(EVERYTHING,))
    assert doubts.best("AP") == {system: row["p_best"] for system, row in rows(made).items() if system in FIELD}


@pytest.mark.parametrize("measure", ["AP", "nDCG@10", "SetP"])
@pytest.mark.parametrize("policy", [{}, {"missing": "skip"}, {"cut": 7}])
def test_order_by_depth_is_that_of_single_evaluations(measure: str, policy: dict) -> None:
    """Votes counted once and cut by rank give what every depth gives alone; the summary has the depth that counts."""
    run = some_run(FIELD, queries=5)
    run = Run(run.frame.filter((pl.col("system") != "poor") | (pl.col("query") != "q1")))
    settings = Settings(depth=10, worlds=20, **policy)
    first = parse_all(measure)
    made = evaluate(run, first, settings, depths=(5, 20))
    table = made.tables["depths"]
    shown = dict(made.summary.select("system", "value").iter_rows())
    means = {10: np.array([shown[system] for system in run.systems])} | {
        depth: expectations(run, consensus.believe(run, depth=depth, people=0), first, settings.policy)[0]
        for depth in (5, 20)
    }
    assert table["depth"].to_list() == [5, 10, 20]
    for depth, tau, leader in table.iter_rows():
        assert tau == pytest.approx(orders.tau(means[depth], means[10]))
        assert leader == run.systems[int(np.argmax(means[depth]))]


def test_votes_counted_from_ballots() -> None:
    run = some_run(FIELD, queries=3)
    ballots = consensus.Ballots.of(run)
    for depth in (1, 7, 20):
        one, other = (
            ballots.tally(depth, weights="redundancy"),
            consensus.tally(consensus.votes(run, depth), weights="redundancy"),
        )
        assert one.rows.equals(other.rows)
        assert one.p() == pytest.approx(other.p())


def test_an_unknown_baseline_is_refused() -> None:
    with pytest.raises(TextError, match="did you mean good"):
        by_consensus(some_run(FIELD, queries=2), ["P@10"], worlds=20, baseline="goods")


@pytest.mark.parametrize(("missing", "fate"), [("empty", "they count as empty lists"), ("skip", "they are left out")])
def test_queries_that_a_run_lacks_are_counted(missing, fate) -> None:
    frame = some_run(FIELD).frame
    lacking = Run(frame.filter((pl.col("system") != "good") | pl.col("query").is_in(["q0", "q1"])))
    found = texts(by_consensus(lacking, ["P@10"], worlds=20, missing=missing).warnings)
    assert f"Queries of other runs that a run lacks ({fate}): good 6." in found
    assert not any("lacks" in text for text in texts(by_consensus(some_run(FIELD), ["P@10"], worlds=20).warnings))


def test_a_run_of_other_queries_is_refused() -> None:
    frame = some_run(FIELD).frame
    own = pl.when(pl.col("system") == "good").then("z" + pl.col("query")).otherwise("query")
    with pytest.raises(JoinError, match="system 'good' shares no query with any other system"):
        by_consensus(Run(frame.with_columns(query=own)), ["P@10"], worlds=20)


NOES = {"S1": "abcd", "S2": "abe", "S3": "abf", "never": ""}  # on the items a to g, and half of them on a second query


def votes_of_sets() -> Opinions:
    rows = [
        (system, query, item, float(item in yes))
        for system, yes in NOES.items()
        for query, items in (("q1", "abcdefg"), ("q2", "abcg"))
        for item in items
        if not (system == "S3" and query == "q2")  # S3 does not answer q2; `never` does, with no
    ]
    frame = pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row")
    return Opinions.of(frame.with_columns(kind=pl.lit("system")))


@pytest.mark.parametrize("missing", ["empty", "skip"])
@pytest.mark.parametrize("plugin", [False, True])
def test_a_system_that_always_votes_no_is_a_row_with_recall_0_and_no_precision(plugin: bool, missing: str) -> None:
    """Lamiroy and Sun's ⊥: precision is 0/0, recall and F are 0 where anything may be relevant."""
    names = ("GradedP", "GradedR", "GradedF") if plugin else ("SetP", "SetR", "SetF")
    found = front_door.evaluate(None, votes_of_sets(), names, worlds=40, plugin=plugin, missing=missing)
    assert found.systems == list(NOES)
    precision, recall, f = (rows(found, name)["never"] for name in names)
    assert np.isnan(precision["value"]) and precision["queries"] == 0 and precision["undefined"] == 2
    assert np.isnan(precision["p_best"])
    assert recall["value"] == f["value"] == 0 and recall["queries"] == f["queries"] == 2
    if not plugin:
        assert recall["p_best"] < 0.05  # a tie where only what nobody returned is relevant
    assert f"; {names[0]} is undefined for never." in found.sentences[0]
    assert "never" not in found.sentences[0].split(f"; {names[0]} is undefined")[0]
    coverage = {row["system"]: row for row in found.scores.coverage.iter_rows(named=True)}
    assert coverage["never"]["queries"] == 2 and coverage["never"]["missing"] == 0
    assert coverage["S3"]["missing"] == 1
    if not plugin:
        assert rows(found, "SetR")["never"]["without_own_vote"] == 0
    scores = front_door.measure(None, votes_of_sets(), names, plugin=plugin, missing=missing, worlds=40)
    assert scores.frame.filter(pl.col("system") == "never").height == 6


def test_a_consensus_of_noes_has_no_leader() -> None:
    votes = votes_of_sets()
    noes = Opinions(votes.frame.with_columns(grade=pl.lit(0.0)))
    found = front_door.evaluate(None, noes, worlds=40)
    assert found.systems == list(NOES)
    assert "SetP is undefined for every system" in found.sentences[0]
    assert set(found.summary.filter(pl.col("system") != EVERYTHING, measure="SetR")["value"]) == {0.0}


def test_a_run_that_answers_one_query_of_two_has_its_interval_under_skip() -> None:
    """Over one query a draw is a world, over two a resample: their numbers differ."""
    run = some_run({"a": 0.3, "b": 1.0, "c": 2.0}, queries=2)
    part = Run(run.frame.filter((pl.col("system") != "c") | (pl.col("query") == "q0")))
    found = rows(by_consensus(part, ["P@10"], worlds=40, missing="skip"), "P@10")
    whole = rows(by_consensus(Run(run.frame.filter(pl.col("query") == "q0")), ["P@10"], worlds=40), "P@10")
    assert found["c"]["queries"] == 1 and found["a"]["queries"] == 2
    assert found["c"]["lo"] == whole["c"]["lo"] and found["c"]["hi"] == whole["c"]["hi"]
