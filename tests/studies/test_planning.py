"""From runs and pairs to tasks: whose propensities, which common, which known."""

import numpy as np
import polars as pl
import pytest

from endoxa.errors import EndoxaError, JoinError, TableError
from endoxa.studies import planning
from endoxa.studies.design import Settings
from endoxa.studies.kinds import rate
from endoxa.tables import Opinions, Run


def rng(seed=0):
    return np.random.default_rng(seed)


def run_of(systems=2, queries=3, size=12):
    """Each system has an order of its own."""
    generator = rng(5)
    rows = [
        (f"s{system}", f"q{query}", f"d{item}", float(size - rank))
        for system in range(systems)
        for query in range(queries)
        for rank, item in enumerate(generator.permutation(size))
    ]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def settings_of(**given):
    return Settings.of({"name": "x", "screen": "four-results", **given})


def prepared(seed=0, **given):
    run = given.pop("run", run_of())
    items, pairs = given.pop("items", []), given.pop("pairs", None)
    return planning.prepare(settings_of(**given), planning.Material(run, tuple(items), pairs), rng=rng(seed))


def check(work, per_task):
    """What holds for all work: numbered without gaps, one query per task, places 0, 1, 2 …, no pair twice."""
    tasks = work.tasks
    assert dict(tasks.schema) == planning.TASKS
    assert tasks["task"].unique().sort().to_list() == list(range(tasks["task"].n_unique()))
    for _, rows in tasks.group_by("task"):
        assert rows["query"].n_unique() == rows["role"].n_unique() == rows["round"].n_unique() == 1
        assert sorted(rows["place"]) == list(range(rows.height))
        assert rows.height <= per_task
    assert not tasks.select("query", "item").is_duplicated().any()


@pytest.mark.parametrize("choose", ["proposal", "pool"])
def test_tasks_from_runs(choose):
    work = prepared(choose=choose, common=2, depth=8)
    check(work, 4)
    assert work.tasks["propensity"].is_between(0, 1, closed="right").all()
    by_task = work.tasks.unique("task")
    assert by_task.filter(pl.col("role") == "common").height == 2
    drawn = work.draws.join(work.tasks, on=["task", "query", "item"], how="anti")
    assert drawn.height == 0, "what a system drew is asked"
    assert work.tasks.join(work.draws, on=["task", "query", "item"], how="anti").height == 0


def test_the_pool_is_asked_whole():
    work = prepared(choose="pool", depth=3, common=0)
    wanted = set(run_of().frame.filter(pl.col("rank") <= 3).select("query", "item").rows())
    assert set(work.tasks.select("query", "item").rows()) == wanted
    assert set(work.tasks["propensity"]) == {1.0}


def test_the_common_part_is_drawn_at_random_and_no_larger_than_all():
    sets = {tuple(prepared(seed, common=2).tasks.filter(pl.col("role") == "common")["item"]) for seed in range(5)}
    assert len(sets) > 1
    work = prepared(common=1000)
    assert set(work.tasks["role"]) == {"common"}
    assert any("all" in note and "common" in note for note in work.notes)
    assert set(prepared(common=0).tasks["role"]) == {"main"}


def test_gamma_five_is_warned_of():
    assert any("effective" in note for note in prepared(gamma=5.0, floor=0.0).notes)
    assert len(prepared(gamma=5.0, floor=0.0).notes) > len(prepared(gamma=1.0).notes)


def test_pairs_as_given():
    pairs = pl.DataFrame({"query": ["a"] * 5 + ["b"], "item": [*list("vwxyz"), "v"], "propensity": [0.5] * 6})
    work = prepared(run=None, pairs=pairs, common=0)
    check(work, 4)
    assert sorted(work.tasks.select("query", "item").rows()) == sorted(pairs.select("query", "item").rows())
    assert work.tasks["task"].n_unique() == 3  # five and one on pages of four
    assert work.draws.height == 0


def test_filing_asks_every_item_once_in_random_order():
    items = [f"d{n}" for n in range(20)]
    work = planning.prepare(settings_of(screen="file-it", common=3), planning.Material(items=tuple(items)), rng=rng())
    check(work, 1)
    assert sorted(work.tasks["item"]) == sorted(items) and work.tasks["item"].to_list() != items
    assert work.tasks["query"].null_count() == 20
    assert work.tasks.filter(pl.col("role") == "common").height == 3


def test_ranking_takes_the_best_of_each_query():
    work = prepared(screen="rank-it", per_task=5, common=0)
    check(work, 5)
    best = run_of().frame.group_by("query", "item").agg(pl.col("rank").min())
    for (query,), rows in work.tasks.group_by("query"):
        assert rows.height == 5
        ranks = best.filter(pl.col("query") == query).sort("rank")
        chosen = ranks.join(rows, on=["query", "item"], how="semi")["rank"].max()
        left = ranks.join(rows, on=["query", "item"], how="anti")["rank"].min()
        assert chosen <= left


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"run": None}, "nothing to ask"),
        ({"run": None, "choose": "pairs"}, "needs a file of pairs"),
        ({"choose": "pairs"}, "needs a file of pairs"),
        ({"run": None, "pairs": pl.DataFrame(schema={"query": pl.String, "item": pl.String})}, "empty"),
        ({"screen": "file-it", "run": None}, "there is no task"),
    ],
)
def test_nothing_to_ask(given, message):
    with pytest.raises(EndoxaError, match=message):
        prepared(**given)


def test_known_answers_stand_on_pages_in_the_order_of_the_file():
    frame = pl.DataFrame(
        {"query": ["z", "z", "a", "z", "z"], "item": list("12345"), "expected": list("54321")}
    )  # fmt: skip
    work = planning.known(frame, "practice", 3)
    check(work, 3)
    pages = [
        rows.select("query", "item", "expected").rows() for _, rows in work.tasks.group_by("task", maintain_order=True)
    ]
    assert pages == [
        [("z", "1", "5"), ("z", "2", "4"), ("z", "4", "2")], [("a", "3", "3")], [("z", "5", "1")],
    ]  # fmt: skip
    assert set(work.tasks["role"]) == {"practice"} and work.tasks["propensity"].null_count() == 5


def test_known_answers_without_queries():
    frame = pl.DataFrame(
        {"query": [None, None], "item": ["b", "a"], "expected": ["x", "y"]}, schema_overrides={"query": pl.String}
    )
    work = planning.known(frame, "gold", 1)
    assert work.tasks.select("task", "item", "place").rows() == [(0, "b", 0), (1, "a", 0)]


def test_known_answers_have_a_role():
    with pytest.raises(TableError, match="'main' is none of"):
        planning.known(pl.DataFrame(schema=dict.fromkeys(("query", "item", "expected"), pl.String)), "main", 1)


def test_a_further_round_asks_what_was_not_asked():
    run = run_of()
    asked = run.frame.select("query", "item").unique(maintain_order=True).head(30)
    generator = rng(1)
    held = Opinions.of(asked.with_columns(pl.Series("grade", generator.integers(1, 6, asked.height).astype(float))))
    work = rate.next_round(settings_of(count=10), run, held, 2, asked, rng())
    check(work, 4)
    assert set(work.tasks["round"]) == {2} and 0 < work.tasks.height <= 10
    assert work.tasks.join(asked, on=["query", "item"], how="semi").height == 0
    everything = run.frame.select("query", "item").unique()
    with pytest.raises(JoinError, match="nothing left"):
        rate.next_round(settings_of(count=10), run, held, 2, everything, rng())
