"""Plans: worked numbers, chances against enumeration and simulation, and what a plan must hold."""

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.errors import JoinError, TableError, TextError
from endoxa.statistics.propensity import inclusion
from endoxa.studies import sampling
from endoxa.studies.sampling import effective_size, pairs_plan, plan, pool_plan, proposal, warning
from endoxa.tables import DRAW, Run


def rng(seed=1):
    return np.random.default_rng(seed)


def run_of(lists):
    """{system: {query: items in rank order}} as a run."""
    rows = [
        (system, query, item, -float(place))
        for system, queries in lists.items()
        for query, items in queries.items()
        for place, item in enumerate(items)
    ]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def random_run(systems=4, queries=6, depth=8, items=20, seed=5):
    stream = rng(seed)
    return run_of(
        {
            f"s{m}": {f"q{i}": [f"d{j}" for j in stream.permutation(items)[:depth]] for i in range(queries)}
            for m in range(systems)
        }
    )


def test_golden_of_the_fifth_power():
    q = proposal(np.arange(1, 16001), gamma=5, floor=0, size=16000)
    assert q[:5] == pytest.approx([0.964387, 0.030137, 0.003969, 0.000942, 0.000309], abs=5e-7)
    assert q[:3].sum() == pytest.approx(0.998493, abs=5e-7)
    assert q[10:].sum() == pytest.approx(1.97e-5, rel=3e-3)
    assert 5000 * q[10:].sum() == pytest.approx(0.098, abs=5e-4)
    assert 1 / q[[0, 1, 9, 99]] == pytest.approx([1.037, 33.2, 1.04e5, 1.04e10], rel=5e-3)


@pytest.mark.parametrize(("gamma", "printed"), [(5, 1.8e-12), (2, 2.3), (1, 3899), (0.5, 15086)])
def test_golden_effective_size(gamma, printed):
    assert effective_size(gamma, 16000, 20000) == pytest.approx(printed, rel=0.03 if printed < 10 else 2e-4)


def test_golden_proposals():
    made = proposal([[1, 2, 3, 4, 5], [3, 1, 5, 2, 4]], gamma=1, floor=0, size=5)
    assert made[0] == pytest.approx([0.437956, 0.218978, 0.145985, 0.109489, 0.087591], abs=5e-7)
    assert made[1] == pytest.approx([0.145985, 0.437956, 0.087591, 0.218978, 0.109489], abs=5e-7)


@given(st.integers(1, 12), st.data())
def test_a_proposal_sums_to_one_and_keeps_its_floor(size, data):
    returned = data.draw(st.integers(0, size))
    ranks = np.zeros(size)
    ranks[:returned] = np.arange(1, returned + 1)
    gamma, floor = data.draw(st.floats(0, 3)), data.draw(st.floats(0, 1))
    q = proposal(ranks, gamma=gamma, floor=floor, size=size)
    assert q.sum() == pytest.approx(1)
    assert (q >= floor / size - 1e-12).all()
    assert (np.diff(q) <= 1e-12).all()
    # what was not returned is, on average over its possible ranks, where the formula puts it
    by_hand = np.arange(1.0, size + 1) ** -gamma
    by_hand[returned:] = by_hand[returned:].mean() if returned < size else 0
    assert q == pytest.approx((1 - floor) * by_hand / by_hand.sum() + floor / size)


def test_warnings_are_printed_sentences():
    assert warning(1, 0.1, size=16000, draws=20000) is None
    steep = warning(5, 0, size=16000, draws=20000)
    assert "20,000 draws have an effective sample size of 1.8e-12" in steep
    assert warning(1, 0.05, size=100, draws=10) is not None
    assert warning(1.5, 0.2, size=100, draws=10) is not None


def test_more_floor_is_worth_more():
    worth = [effective_size(5, 1000, 100, floor=floor) for floor in (0, 0.01, 0.1, 0.5, 1)]
    assert worth == sorted(worth)
    assert worth[-1] == pytest.approx(100)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.data())
def test_chance_of_being_missed_against_every_set_of_systems(systems, data):
    places = data.draw(st.integers(1, systems))
    q = np.array(
        data.draw(st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=2), min_size=systems, max_size=systems))
    )
    expected = np.mean([np.prod(1 - q[list(some)], axis=0) for some in combinations(range(systems), places)], axis=0)
    assert sampling._missed(q, places) == pytest.approx(expected, abs=1e-12)


def test_a_product_over_all_systems_is_not_the_chance_of_some():
    """Two systems, one place, both certain of the item: it is drawn for sure; 1 - (1 - q/2)² would say 3/4."""
    q = np.ones((2, 1))
    assert sampling._missed(q, 1)[0] == 0
    assert inclusion(q / 2)[0] == 0.75


def test_with_a_place_for_every_system_the_chance_is_that_of_independent_draws():
    run = random_run(systems=3, queries=1)
    made = plan(run, per_task=3, tasks_per_query=2, rng=rng())
    pool = sorted(run.frame["item"].unique())
    ranks = np.zeros((3, len(pool)))
    for row, system in enumerate(run.systems):
        for item, rank in run.frame.filter(pl.col("system") == system).select("item", "rank").iter_rows():
            ranks[row, pool.index(item)] = rank
    pi = dict(zip(pool, inclusion(proposal(ranks, size=len(pool)), 2), strict=True))
    for item, chance in made.tasks.select("item", "propensity").iter_rows():
        assert chance == pytest.approx(pi[item])


def copies(run, times):
    """The one query of a run, under as many names: one plan then draws it as many times."""
    names = pl.DataFrame({"query": [f"q{i}" for i in range(times)]})
    return Run.of(run.frame.select("system", "item", "score").join(names, how="cross"))


@pytest.mark.parametrize(("systems", "depth", "whole"), [(3, None, False), (5, 3, False), (3, None, True)])
def test_propensities_are_how_often_a_pair_is_asked(systems, depth, whole):
    times = 3000
    run = copies(random_run(systems=systems, queries=1, depth=5, items=9), times)
    collection = [f"d{j}" for j in range(12)] if whole else None
    made = plan(run, query_share=0.8, per_task=3, tasks_per_query=2, depth=depth, collection=collection, rng=rng(2))
    found = made.tasks.group_by("item").agg(pl.len(), pl.col("propensity").min(), pl.col("propensity").max().alias("x"))
    assert found["propensity"].to_numpy() == pytest.approx(found["x"].to_numpy())
    pi, share = found["propensity"].to_numpy(), found["len"].to_numpy() / times
    assert np.abs((share - pi) / np.sqrt(pi * (1 - pi) / times)).max() < 4
    if whole:
        assert found.height == 12


def test_horvitz_thompson_of_plans_is_unbiased():
    one = random_run(systems=5, queries=1, depth=4, items=10)
    worth = {item: int(item[1:]) ** 2 % 7 / 6 for item in one.frame["item"].unique()}
    run = copies(one, 3000)
    made = plan(run, query_share=0.5, per_task=3, rng=rng(3)).tasks
    values = made["item"].replace_strict(worth, return_dtype=pl.Float64) / made["propensity"]
    totals = made.with_columns(values.alias("y")).group_by("query").agg(pl.col("y").sum())["y"].to_numpy()
    totals = np.append(totals, np.zeros(3000 - len(totals)))
    error = np.std(totals, ddof=1) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - sum(worth.values())) < 3 * error
    assert error < 0.05 * sum(worth.values())


def test_a_plan_is_whole():
    made = plan(random_run(), tasks_per_query=3, rng=rng())
    tasks, draws = made.tasks, made.draws
    assert tasks.schema == sampling.TASKS
    assert draws.schema == sampling.DRAWS
    assert draws.height == 6 * 3 * 4
    assert not tasks.select("query", "item").is_duplicated().any()
    assert sorted(tasks["task"].unique()) == list(range(tasks["task"].n_unique()))
    for (_,), rows in tasks.group_by("task"):
        assert rows["query"].n_unique() == 1
        assert sorted(rows["place"]) == list(range(rows.height))
        assert rows.height <= 4
    joined = draws.join(tasks, on=["task", "query", "item"], how="inner")
    assert joined.height == draws.height
    drawn_by = draws.group_by("query", "item").agg(pl.col("system").unique().sort())
    for by, names in tasks.join(drawn_by, on=["query", "item"]).select("selected_by", "system").iter_rows():
        assert by == "+".join(names)
    assert tasks["round"].unique().to_list() == [1]
    said = f"6 of 6 queries, {tasks['task'].n_unique()} tasks, {tasks.height} pairs from 72 draws"
    assert any(said in str(note) for note in made.notes)


def test_with_more_systems_than_places_a_task_shows_some():
    made = plan(random_run(systems=7, queries=40), per_task=3, rng=rng())
    assert made.draws.group_by("query").len()["len"].unique().to_list() == [3]
    assert made.draws.group_by("query").agg(pl.col("system").n_unique())["system"].unique().to_list() == [3]
    assert made.draws["system"].n_unique() == 7


def test_order_and_places_are_random():
    made = plan(copies(random_run(systems=3, queries=1), 2000), per_task=3, rng=rng(4)).tasks
    numbers = made.unique("task").sort("query")["task"].to_numpy()
    assert abs(np.corrcoef(np.arange(2000), numbers)[0, 1]) < 3 / np.sqrt(2000)
    three = made.filter(pl.len().over("task") == 3)  # then every pair was drawn by one system
    for (_,), rows in three.group_by("selected_by"):
        counts = np.bincount(rows["place"].to_numpy(), minlength=3)
        assert np.abs(counts / rows.height - 1 / 3).max() < 4 * np.sqrt(2 / 9 / rows.height)


def test_the_share_and_choice_of_queries():
    run = random_run(queries=10)
    made = plan(run, query_share=0.3, rng=rng())
    assert made.tasks["query"].n_unique() == 3
    assert made.tasks["propensity"].max() <= 0.3
    chosen = plan(run, queries=["q7", "q2"], rng=rng())
    assert sorted(chosen.tasks["query"].unique()) == ["q2", "q7"]
    assert plan(run, query_share=1e-9, rng=rng()).tasks["query"].n_unique() == 1


def test_a_system_without_a_list_for_a_query_does_not_draw():
    made = plan(run_of({"a": {"1": ["x", "y"], "2": ["z"]}, "b": {"1": ["y", "w"]}}), tasks_per_query=50, rng=rng())
    assert set(made.draws.select("query", "system").iter_rows()) == {("1", "a"), ("1", "b"), ("2", "a")}
    assert made.tasks.filter(pl.col("query") == "2").select("item", "propensity").row(0) == ("z", 1.0)


def test_depth_cuts_the_universe_not_the_ranks_of_others():
    run = run_of({"a": {"1": ["x", "y", "z"]}, "b": {"1": ["w", "v", "x"]}})
    made = plan(run, depth=1, gamma=1, floor=0, per_task=2, tasks_per_query=200, rng=rng())
    assert set(made.tasks["item"]) == {"x", "w"}
    assert set(made.draws.select("system", "item").iter_rows()) == set(product("ab", "xw"))


def test_the_same_seed_gives_the_same_plan():
    run = random_run()
    one, two = plan(run, rng=rng(9)), plan(run, rng=rng(9))
    assert one.tasks.equals(two.tasks)
    assert one.draws.equals(two.draws)
    assert not one.tasks.equals(plan(run, rng=rng(10)).tasks)


def test_a_steep_plan_warns():
    assert plan(random_run(), gamma=5, floor=0, rng=rng()).notes[0].facts["text"].startswith("gamma 5 and floor 0")
    assert not any("gamma" in str(note) for note in plan(random_run(), rng=rng()).notes)


def test_pool_plan_asks_everything_once():
    run = random_run(systems=3, queries=4)
    made = pool_plan(run, 5, 4, rng=rng())
    expected = run.frame.filter(pl.col("rank") <= 5)
    assert set(made.tasks.select("query", "item").iter_rows()) == set(expected.select("query", "item").iter_rows())
    assert made.tasks.height == expected.select("query", "item").n_unique()
    assert made.tasks["propensity"].unique().to_list() == [1.0]
    assert sorted(made.draws.select("system", "query", "item").iter_rows()) == sorted(
        expected.select("system", "query", "item").iter_rows()
    )
    assert made.tasks.schema == sampling.TASKS
    assert made.draws.schema == sampling.DRAWS
    sizes = made.tasks.group_by("task").agg(pl.len(), pl.col("query").n_unique())
    assert sizes["len"].max() == 4
    assert sizes["query"].max() == 1
    per_query = made.tasks.group_by("query").agg(pl.len(), pl.col("task").n_unique())
    assert all(tasks == -(-pairs // 4) for _, pairs, tasks in per_query.iter_rows())


def test_pairs_plan_takes_pairs_as_given():
    frame = pl.DataFrame({"query": ["1", "1", "2"], "item": ["a", "b", "a"], "propensity": [0.5, None, 1.0]})
    made = pairs_plan(frame, 1, rng=rng())
    assert set(made.tasks.select("query", "item", "propensity").iter_rows()) == set(frame.iter_rows())
    assert made.tasks["task"].n_unique() == 3
    assert made.tasks["selected_by"].unique().to_list() == ["pairs"]
    assert "1 pairs have no propensity" in str(made.notes[1])
    assert made.draws.is_empty()


def test_pairs_keep_how_they_were_drawn():
    """Also those of a file of 0.1, which says it in a text."""
    old = pl.DataFrame({"query": "q", "item": ["a", "b"], "selected_by": ["next@20 round 2", "by hand"]})
    tasks = sampling.pairs_plan(old, rng=rng()).tasks.sort("item")
    assert tasks.select("selected_by", *DRAW).rows() == [("next", 2, None, 20), ("by hand", None, None, None)]
    new = tasks.select("query", "item", "selected_by", *DRAW)
    assert sampling.pairs_plan(new, rng=rng()).tasks.sort("item").select(new.columns).equals(new)


def test_refusals():
    run = random_run()
    cases = [
        (TextError, "at least 1 result", {"per_task": 0}),
        (TextError, "at least 1 task", {"tasks_per_query": 0}),
        (TextError, "share of queries", {"query_share": 0}),
        (TextError, "depth of a pool", {"depth": 0}),
        (TextError, "gamma is at least 0", {"gamma": -1}),
        (TextError, "floor lies between", {"floor": 2}),
        (JoinError, "no system has a list for query 'q99'", {"queries": ["q99"]}),
        (JoinError, "is not in the collection of 1", {"collection": ["d0"]}),
    ]
    for kind, said, settings_ in cases:
        with pytest.raises(kind, match=said):
            plan(run, **settings_, rng=rng())
    with pytest.raises(JoinError, match="no list to draw from"):
        plan(run, queries=[], rng=rng())
    with pytest.raises(TableError, match="ranks lie between"):
        proposal([1, 2, 3], size=2)
    with pytest.raises(TextError, match="at least 1 item"):
        proposal([], size=0)
    pair = {"query": ["1"], "item": ["a"]}
    with pytest.raises(TableError, match="needs a column 'item'"):
        pairs_plan(pl.DataFrame({"query": ["1"]}), rng=rng())
    with pytest.raises(TableError, match="occurs twice"):
        pairs_plan(pl.DataFrame({"query": ["1", "1"], "item": ["a", "a"]}), rng=rng())
    with pytest.raises(TableError, match="propensity 0 of item"):
        pairs_plan(pl.DataFrame(pair | {"propensity": [0.0]}), rng=rng())
    with pytest.raises(TableError, match="is empty"):
        pairs_plan(pl.DataFrame(pair)[:0], rng=rng())
