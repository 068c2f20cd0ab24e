"""Evaluation without judgments: the virtual system, own votes, depths, warnings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import endoxa as front_door
from endoxa.beliefs import consensus
from endoxa.comparisons import orders
from endoxa.errors import CallError, JoinError, TextError
from endoxa.evaluations.consensus import EVERYTHING, between, evaluate, of_votes, with_everything, with_labels
from endoxa.evaluations.decided import universe_of
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.settings import Settings
from endoxa.measures.grammar import parse_all
from endoxa.measures.uncertain import expectations
from endoxa.notes import texts
from endoxa.pools.deciding import Deciding, Question
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
    return evaluate(run, parse_all(measures), Settings(**settings), depths=depths)


FIELD = {"good": 0.3, "fair": 1.0, "weak": 2.0, "poor": 4.0, "noise": 50.0}


@pytest.fixture(scope="module")
def made():
    return by_consensus(some_run(FIELD), ["AP", "P@10"], seed=1, worlds=100, depth=10, depths=(5, 10, 20))


def rows(evaluation, measure="AP"):
    return {row["system"]: row for row in evaluation.summary.filter(pl.col("measure") == measure).iter_rows(named=True)}


def test_the_answer_needs_only_the_pairs_of_the_best_and_says_the_same() -> None:
    found, again = (front_door.evaluate(None, votes_of_sets(), ("SetR",), worlds=40) for _ in range(2))
    said = again.sentences
    assert "comparison" not in vars(again), "all pairs were compared"
    assert said == replace(found, deciding=None).sentences


def test_a_field_is_ordered_by_what_it_sees(made) -> None:
    table = rows(made)
    order = sorted(FIELD, key=lambda system: -table[system]["value"])
    assert order.index("good") < order.index("poor") < order.index("noise")
    assert sum(table[system]["p_best"] for system in FIELD) == pytest.approx(1)
    assert table[EVERYTHING]["p_best"] is None
    for name in ("lo", "hi"):  # a consensus says nothing about the size of a value
        assert all(table[system][name] is None or np.isnan(table[system][name]) for system in FIELD)


def test_own_votes_flatter(made) -> None:
    table = rows(made, "P@10")
    assert all(table[system]["without_own_vote"] < table[system]["consensus"] for system in FIELD)
    assert table[EVERYTHING]["without_own_vote"] is None
    assert table["noise"]["unique"] > table["good"]["unique"]


def test_depths_and_the_consensus(made) -> None:
    assert made.tables["depths"]["depth"].to_list() == [5, 10, 20]
    assert made.tables["depths"].filter(pl.col("depth") == 10)["tau"].item() == pytest.approx(1)
    assert made.doubts is None  # nothing is drawn
    run, first = some_run(FIELD), parse_all(["P@10"])
    expected = expectations(run, consensus.believe(run, depth=10, people=0), first, made.settings.policy)[0]
    table = rows(made, "P@10")
    assert [table[system]["consensus"] for system in run.systems] == pytest.approx(expected)


@pytest.mark.parametrize("measure", ["AP", "P@10", "nDCG@10"])
def test_it_is_the_posterior_before_the_first_label(measure: str) -> None:
    """Values, P(better) and P(best) are those of the loop of labels with no label, to the digit."""
    run = some_run(FIELD)
    found = front_door.evaluate(run, None, [measure], worlds=20)
    universe = universe_of(run, found.settings)
    look = Deciding.of(universe, Question(parse_all(measure)[0])).verdict
    table = rows(found, measure)
    assert [table[system]["value"] for system in universe.systems] == look.found.mean.tolist()
    assert [table[system]["p_best"] for system in universe.systems] == look.best.tolist()
    pairs = found.comparison.frame
    assert pairs.height == 10
    for row in pairs.iter_rows(named=True):
        i, j = (universe.systems.index(row[side]) for side in ("system", "baseline"))
        assert (row["p_better"], row["p_tie"]) == (look.found.better[i, j], float(look.found.tie[i, j]))
    scores = front_door.measure(run, None, [measure], worlds=20)
    means = dict(scores.frame.group_by("system").agg(pl.col("value").mean()).iter_rows())
    assert [means[system] for system in universe.systems] == pytest.approx(look.found.mean.tolist())


@pytest.mark.parametrize("seed", range(4))
def test_without_labels_nothing_is_certain(seed: int) -> None:
    """On simulated fields of near and of far systems no P(better) and no P(best) passes .95, and nothing is settled."""
    far, near = FIELD, {f"s{place}": 1 + place / 10 for place in range(8)}
    for systems in (far, near):
        run = some_run(systems, queries=20, seed=seed)
        found = front_door.evaluate(run, None, ["AP", "nDCG@10", "P@10"], worlds=20)
        pairs = found.comparison.frame
        assert pairs.select(pl.max_horizontal("p_better", 1 - pl.col("p_better")).max()).item() < 0.95
        assert found.summary["p_best"].drop_nulls().max() < 0.95
        assert "Best guess without judgments: " in found.sentences[0]
        assert "Nothing is settled" in found.sentences[0]


def test_p_best_depends_neither_on_order_nor_on_names() -> None:
    run = some_run(FIELD)
    before = {system: row["p_best"] for system, row in rows(front_door.evaluate(run, None, ["AP"], worlds=20)).items()}
    turned = Run.of(pl.concat([run.frame.filter(pl.col("system") == name) for name in reversed(run.systems)])
                    .select("system", "query", "item", "score"))  # fmt: skip
    after = {
        system: row["p_best"] for system, row in rows(front_door.evaluate(turned, None, ["AP"], worlds=20)).items()
    }
    assert after == before
    names = dict(zip(FIELD, "zebra", strict=True))
    other = Run.of(run.frame.select(pl.col("system").replace_strict(names), "query", "item", "score"))
    renamed = rows(front_door.evaluate(other, None, ["AP"], worlds=20))
    assert {system: renamed[names[system]]["p_best"] for system in FIELD} == {
        system: before[system] for system in FIELD
    }


def test_it_is_the_same_every_time(made) -> None:
    again = by_consensus(some_run(FIELD), ["AP", "P@10"], seed=1, worlds=100, depth=10, depths=(5, 10, 20))
    assert again.summary.equals(made.summary)
    other = by_consensus(some_run(FIELD), ["AP", "P@10"], seed=2, worlds=100, depth=10, depths=(5, 10, 20))
    own = pl.col("system") != EVERYTHING
    assert other.summary.filter(own).equals(made.summary.filter(own))  # the seed draws the order of ⊤ alone
    assert not other.summary.equals(made.summary)


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
    made = with_labels(run, parse_all(["P@10"]), Settings(worlds=20, depth=10), labels)
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
    made = of_votes(Run.of(lists), parse_all(["SetP", "SetR"]), Settings(worlds=20), opinions)
    assert "depths" not in made.tables
    assert rows(made, "SetP")["S1"]["value"] == pytest.approx(0.6)
    assert rows(made, "SetP")["S1"]["without_own_vote"] == pytest.approx(0.5)
    assert rows(made, "SetR")[EVERYTHING]["value"] == pytest.approx(1)


def test_a_virtual_system_takes_no_part_in_pairs(made) -> None:
    pairs = made.comparison.frame
    assert EVERYTHING not in {*pairs["system"], *pairs["baseline"]}
    assert made.virtual == EVERYTHING
    assert set(made.systems) == set(FIELD)


@pytest.mark.parametrize("measure", ["AP", "nDCG@10", "SetP"])
@pytest.mark.parametrize("policy", [{}, {"cut": 7}])
def test_order_by_depth_is_that_of_single_evaluations(measure: str, policy: dict) -> None:
    """Votes counted once and cut by rank give what every depth gives alone; the summary has the depth that counts."""
    run = some_run(FIELD, queries=5)
    run = Run(run.frame.filter((pl.col("system") != "poor") | (pl.col("query") != "q1")))
    settings = Settings(depth=10, worlds=20, **policy)
    first = parse_all(measure)
    made = evaluate(run, first, settings, depths=(5, 20))
    table = made.tables["depths"]
    shown = dict(made.summary.select("system", "consensus").iter_rows())
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


def test_queries_that_a_run_lacks_are_counted() -> None:
    frame = some_run(FIELD).frame
    lacking = Run(frame.filter((pl.col("system") != "good") | pl.col("query").is_in(["q0", "q1"])))
    found = texts(by_consensus(lacking, ["P@10"], worlds=20).warnings)
    assert "Queries of other runs that a run lacks (they count as empty lists): good 6." in found
    assert not any("lacks" in text for text in texts(by_consensus(some_run(FIELD), ["P@10"], worlds=20).warnings))
    with pytest.raises(CallError, match="missing"):
        front_door.evaluate(lacking, None, ["P@10"], missing="skip")


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


def test_two_systems_under_the_votes_of_the_others() -> None:
    """The values rest on the others' votes alone; P(better) is that of the posterior, far from certain."""
    run = some_run(FIELD)
    found = between(run, ("good", "poor"), parse_all("P@5"), Settings(depth=5, weights="equal"))
    assert found.systems == ["good", "poor"] and found.scores.systems == ["good", "poor"]
    others = Run(run.frame.filter(~pl.col("system").is_in(["good", "poor"])))
    held = consensus.believe(others, depth=5, weights="equal", people=0).frame
    known = {(query, item): p for query, item, p in held.select("query", "item", "p").iter_rows()}
    for system in ("good", "poor"):
        firsts = run.frame.filter((pl.col("system") == system) & (pl.col("rank") <= 5))
        expected = np.mean([known.get(pair, 1 / 5) for pair in firsts.select("query", "item").iter_rows()])
        assert rows(found, "P@5")[system]["value"] == pytest.approx(expected)
    pair = found.comparison.frame.row(0, named=True)
    assert (pair["system"], pair["baseline"]) == ("good", "poor") and 0.5 < pair["p_better"] < 0.95
    assert np.isnan(pair["lo"]) and found.baseline is None
    won = rows(found, "P@5")
    assert won["good"]["p_best"] == pytest.approx(pair["p_better"])
    assert won["poor"]["p_best"] == pytest.approx(1 - pair["p_better"])


@pytest.mark.parametrize(
    ("names", "error", "words"),
    [(("good", "x"), TextError, "no system is called 'x'"), (("good", "good"), TextError, "with itself")],
)
def test_which_two(names, error, words) -> None:
    with pytest.raises(error, match=words):
        between(some_run(FIELD, queries=2), names, parse_all("AP"), Settings())


def test_too_few_are_left_to_vote() -> None:
    run = some_run({"a": 0.3, "b": 1.0, "c": 2.0}, queries=2)
    with pytest.raises(JoinError, match="fewer than two systems"):
        between(run, ("a", "b"), parse_all("AP"), Settings())
