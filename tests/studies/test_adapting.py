"""Adaptive rounds: propensities by many draws and by enumeration, how even the scale is used, and what is refused."""

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import optimize

from endoxa.errors import JoinError, TextError
from endoxa.statistics.propensity import systematic
from endoxa.studies.adapting import adapt, cells, features, shares
from endoxa.studies.sampling import DRAWS, plan
from endoxa.studies.uniformity import deviation
from endoxa.tables import DRAW, Opinions, Run

SCALE = (1.0, 5.0, 5)


def rng(seed=1):
    return np.random.default_rng(seed)


def world(shift=0.0, seed=0, queries=30, items=60, skill=(0.8, 0.5, 0.0)):
    """A run of systems whose scores correlate with relevance, and the grade of every pair."""
    stream, n = rng(seed), queries * items
    relevance = stream.normal(size=n)
    pairs = pl.DataFrame(
        {
            "query": np.repeat([f"q{q:02}" for q in range(queries)], items),
            "item": np.tile([f"d{i:03}" for i in range(items)], queries),
        }
    )
    latent = relevance + 0.5 * np.repeat(stream.normal(size=queries), items) + shift
    grades = pairs.with_columns(pl.Series("grade", 1.0 + np.searchsorted([-1.5, -0.5, 0.5, 1.5], latent)))
    frames = [
        pairs.with_columns(
            pl.lit(f"s{at}").alias("system"),
            pl.Series("score", r * relevance + np.sqrt(1 - r * r) * stream.normal(size=n)),
        )
        for at, r in enumerate(skill)
    ]
    return Run.of(pl.concat(frames)), grades


def answers(tasks, grades):
    return Opinions.of(tasks.join(grades, on=["query", "item"]).select("query", "item", "grade"), source="anna")


def first_round(run, grades, seed=2, **settings):
    return answers(plan(run, rng=rng(seed), **settings).tasks, grades)


def dev(grade):
    return deviation(np.asarray(grade), [1, 2, 3, 4, 5]).dev


def test_systematic_chances_by_many_draws():
    pi = np.array([0.9, 0.05, 0.5, 0.25, 0.3, 0.8, 0.2])
    stream, times = rng(3), 20_000
    drawn = [systematic(pi, stream) for _ in range(times)]
    assert {len(one) for one in drawn} == {3}  # exactly Σ pi
    seen = np.bincount(np.concatenate(drawn), minlength=len(pi)) / times
    assert np.abs((seen - pi) / np.sqrt(pi * (1 - pi) / times)).max() < 4
    halves = [systematic(np.full(6, 0.5), stream) for _ in range(500)]
    assert 0.1 < np.mean([{0, 1} <= set(one) for one in halves]) < 0.3  # in random order no two are always apart
    broken = np.array([0.7, 0.9, 0.7])
    assert {len(systematic(broken, stream)) for _ in range(500)} == {2, 3}
    assert systematic(np.ones(4), stream).tolist() == [0, 1, 2, 3]


def test_cells_are_fine_at_both_ends():
    eta = rng().normal(size=1000)
    cell = cells(eta, 100)
    size = np.bincount(cell)
    assert size.tolist() == [8, 8, 16, 32, 64, 128, 244, 244, 128, 64, 32, 16, 8, 8]
    ends = [(eta[cell == k].min(), eta[cell == k].max()) for k in range(len(size))]
    assert all(low >= high for (low, _), (_, high) in itertools.pairwise(ends))
    assert np.bincount(cells(eta, 2000))[:3].tolist() == [50, 50, 100]
    for n in (1, 2, 7, 16, 17, 33):
        assert np.bincount(cells(eta[:n], 5)).min() > 0
        assert len(cells(eta[:n], 5)) == n


def test_shares_are_the_best_by_another_optimiser():
    """Against a search over a grid of all allowed shares of three cells."""
    p = np.array([[0.1, 0.2, 0.7], [0.3, 0.4, 0.3], [0.9, 0.1, 0.0]])
    size, target, count, floor = np.array([20, 50, 400]), np.array([0.2, 0.3, 0.5]), 30, 0.2
    found = shares(p, size, target, count, floor)
    least, most = floor * size / size.sum(), 0.8 * size / count
    grid = [
        (a, b, 1 - a - b)
        for a in np.linspace(least[0], most[0], 300)
        for b in np.linspace(least[1], 1, 300)
        if least[2] <= 1 - a - b
    ]
    best = min(np.abs(np.array(one) @ p - target).sum() for one in grid)
    assert np.abs(found @ p - target).sum() == pytest.approx(best, abs=0.01)
    assert np.abs(found @ p - target).sum() <= best + 1e-9
    assert (found >= least - 1e-12).all()
    assert (found <= most + 1e-12).all()
    assert found.sum() == pytest.approx(1)
    # no cell is emptied: 30 of 20 pairs cannot come from the first cell, though it is wanted
    wanted = shares(p, size, np.array([0.0, 0.0, 1.0]), count, floor)
    assert wanted[0] * count / 20 == pytest.approx(0.8)
    assert shares(p, size, target, 400, floor) == pytest.approx(size / 470)  # more than .8 of all: evenly
    assert shares(p, size, target, count, 1.0) == pytest.approx(size / 470)


def test_features_of_returned_and_other_pairs():
    rows = [("s", "1", item, score) for item, score in zip("abcd", (9.0, 5, 4, 2), strict=True)]
    rows += [("s", "2", "a", 3.0), ("s", "2", "b", 3.0), ("t", "1", "b", float("-inf")), ("t", "1", "c", 7.0)]
    run = Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))
    pairs = pl.DataFrame({"query": ["1", "1", "2", "2"], "item": ["a", "b", "b", "z"]})
    z = (np.array([9.0, 5, 4, 2]) - 5) / np.std([9, 5, 4, 2])
    assert features(run, pairs)[:, :2] == pytest.approx(
        np.array([[0, z[0]], [-np.log(2), z[1]], [0, 0], [-np.log(5), z[3]]])
    )
    assert features(run, pairs)[:, 2:] == pytest.approx(
        np.array([[-np.log(3), 0], [-np.log(2), 0]] + 2 * [[-np.log(3), 0]])
    )


@pytest.mark.parametrize(("shift", "one_round", "rest"), [(0.0, 0.03, 0.06), (-1.5, 0.09, 0.11)])
def test_answers_use_the_scale_more_evenly(shift, one_round, rest):
    """All answers together count, the first half of them not adapted."""
    evenly, proposed = [], []
    for seed in range(6):
        run, grades = world(shift, seed, items=150)
        first = first_round(run, grades, seed, tasks_per_query=2, per_task=3)
        made = adapt(run, first, 160, round=2, scale=SCALE, rng=rng(seed))
        more = answers(plan(run, tasks_per_query=4, per_task=3, rng=rng(seed)).tasks, grades)
        evenly.append(dev([*first.frame["grade"], *answers(made.tasks, grades).frame["grade"]]))
        proposed.append(dev(more.frame["grade"]))
    assert np.mean(evenly) < one_round
    assert np.mean(proposed) > rest
    assert np.mean(evenly) < 0.7 * np.mean(proposed)


def test_further_rounds_fill_what_is_lacking():
    run, grades = world(-1.5, 4, items=150)
    rows = first_round(run, grades, tasks_per_query=2, per_task=3).frame.select("query", "item", "grade")
    stated = []
    for number in (2, 3, 4):
        made = adapt(run, Opinions.of(rows, source="anna"), 50, round=number, scale=SCALE, rng=rng(number))
        evenness = next(one for one in made.notes if one.code == "round.evenness").facts
        stated.append(evenness)
        assert evenness["before"] == pytest.approx(deviation(rows["grade"].to_numpy(), [1, 2, 3, 4, 5]).normalised)
        assert evenness["after"] < evenness["before"]
        new = made.tasks.join(grades, on=["query", "item"]).select("query", "item", "grade")
        assert new.height == 50
        rows = pl.concat([rows, new])
        assert not rows.select("query", "item").is_duplicated().any()
    # the prediction comes true, roughly
    assert stated[1]["before"] == pytest.approx(stated[0]["after"], abs=0.12)
    assert stated[2]["before"] < stated[0]["before"] - 0.05


def test_the_plan_is_whole():
    run, grades = world()
    opinions = first_round(run, grades)
    made = adapt(run, opinions, 60, round=2, scale=SCALE, rng=rng())
    assert made.tasks.select("selected_by", *DRAW).unique().rows() == [("adaptive", 2, None, None)]
    assert made.tasks["round"].unique().to_list() == [2]
    assert made.draws.schema == DRAWS
    assert made.tasks.height == 60
    assert (
        made.tasks.group_by("task")
        .agg(pl.col("query").n_unique(), pl.len())
        .filter((pl.col("query") > 1) | (pl.col("len") > 4))
        .is_empty()
    )
    assert made.tasks.join(opinions.frame, on=["query", "item"], how="semi").is_empty()
    n = run.frame.select("query", "item").n_unique() - opinions.frame.height
    assert made.tasks["propensity"].min() >= 0.2 * 60 / n
    assert made.tasks["propensity"].max() <= 0.8 + 1e-12
    again = adapt(run, opinions, 60, round=2, scale=SCALE, rng=rng())
    assert made.tasks.equals(again.tasks)
    assert [one.code for one in made.notes] == ["round.drawn", "round.evenness", "plan.worth"]
    worth = 1 / made.tasks["propensity"].to_numpy()
    assert made.notes[-1].facts["effective"] == pytest.approx(worth.sum() ** 2 / (worth**2).sum())


@pytest.mark.parametrize("same", [False, True])
def test_propensities_are_how_often_a_pair_is_asked(same):
    """300 draws of one round, by the model or (`same`: one grade) by rank; the mean |z| of a normal is .798."""
    run, grades = world(queries=12, items=30, skill=(0.8, 0.3))
    if same:
        grades = grades.with_columns(grade=pl.lit(3.0))
    opinions = first_round(run, grades, tasks_per_query=3, per_task=2)
    waiting = run.frame.join(opinions.frame, on=["query", "item"], how="anti").select("query", "item").unique().sort(
        "query", "item"
    )[:3]  # fmt: skip
    stream, times, seen, stated, totals = rng(6), 300, {}, {}, []
    for _ in range(times):
        made = adapt(run, opinions, 30, round=3, scale=SCALE, asked=waiting, rng=stream)
        assert made.tasks.height == 30
        for query, item, chance in made.tasks.select("query", "item", "propensity").iter_rows():
            seen[query, item] = seen.get((query, item), 0) + 1
            assert stated.setdefault((query, item), chance) == chance
        rated = made.tasks.join(world(queries=12, items=30, skill=(0.8, 0.3))[1], on=["query", "item"])
        totals.append((rated["grade"] / rated["propensity"]).sum())
    pi, share = np.array(list(stated.values())), np.array([seen[pair] / times for pair in stated])
    z = (share - pi) / np.sqrt(pi * (1 - pi) / times)
    assert np.abs(z).max() < 4.5
    assert np.abs(z).mean() == pytest.approx(0.798, abs=0.12)
    assert not set(waiting.iter_rows()) & set(stated)
    left = grades.join(pl.concat([opinions.frame.select("query", "item"), waiting]), on=["query", "item"], how="anti")
    assert sum(stated.values()) == pytest.approx(30, rel=0.02)  # all but pairs that were never drawn
    truth = (
        left.drop("grade").join(world(queries=12, items=30, skill=(0.8, 0.3))[1], on=["query", "item"])["grade"].sum()
    )
    assert abs(np.mean(totals) - truth) < 3.5 * np.std(totals) / np.sqrt(times)


def test_all_that_is_left_is_asked_with_certainty():
    run, grades = world(queries=6, items=10)
    opinions = answers(grades[:50], grades)
    made = adapt(run, opinions, 1000, round=2, scale=SCALE, rng=rng())
    assert made.tasks.height == 10
    assert made.tasks["propensity"].unique().to_list() == [1.0]
    most = adapt(run, opinions, 9, round=2, scale=SCALE, rng=rng())  # more than .8 of the 10 that are left
    assert most.tasks["propensity"].to_list() == pytest.approx([0.9] * 9)
    assert most.tasks.height == 9
    with pytest.raises(JoinError, match="all 60 pooled pairs were asked already"):
        adapt(run, answers(grades, grades), 5, round=2, scale=SCALE, rng=rng())


def test_one_grade_only_is_drawn_by_rank():
    run, grades = world(queries=10, items=20, skill=(0.5,))  # one system
    grades = grades.with_columns(grade=pl.lit(2.0))
    made = adapt(run, answers(grades[:40], grades), 40, round=2, scale=SCALE, floor=0.3, rng=rng())
    said = next(one for one in made.notes if one.code == "round.one_grade")
    assert (said.kind, dict(said.facts)) == ("warning", {"grade": 2.0, "pairs": 40})
    best = made.tasks.join(run.frame.select("query", "item", "rank"), on=["query", "item"])
    first, last = (best.filter(pl.col("rank") == rank)["propensity"] for rank in (1, 20))
    everything = run.frame.filter(~pl.col("query").is_in(["q00", "q01"]))["rank"].to_numpy()
    q = 0.7 / everything / (1 / everything).sum() + 0.3 / len(everything)
    # the cap of .8 takes from the first ranks, and the rest keeps its proportions
    assert first.to_list() == pytest.approx([0.8] * len(first))
    kept = everything > 1
    scale = (40 - 0.8 * (~kept).sum()) / q[kept].sum()
    assert (40 * q[~kept]).min() > 0.8
    assert last.to_list() == pytest.approx([scale * q[everything == 20][0]] * len(last))


def test_rare_grades_are_said():
    run, grades = world(-2.5, 1)
    made = adapt(run, first_round(run, grades, tasks_per_query=2, per_task=3), 150, round=2, scale=SCALE, rng=rng())
    rare = dict(next(one for one in made.notes if one.code == "round.rare").facts["grades"])
    assert {4.0, 5.0} <= set(rare)
    left = grades["grade"].value_counts().sort("grade")
    assert rare[5.0] < 20
    assert left.filter(pl.col("grade") == 5.0)["count"].sum() < 20


def test_one_system_and_two_grades():
    run, grades = world(skill=(0.7,))
    two = grades.with_columns(pl.when(pl.col("grade") > 3).then(1.0).otherwise(0.0).alias("grade"))
    first = first_round(run, two, per_task=1, tasks_per_query=3)
    made = adapt(run, first, 60, round=2, scale=(0.0, 1.0, 2), rng=rng())
    shares_ = np.mean([*first.frame["grade"], *made.tasks.join(two, on=["query", "item"])["grade"]])
    assert abs(shares_ - 0.5) < 0.12


def test_two_systems_that_agree_count_more_than_their_mean():
    """The model is joint: where both systems put a pair first it is expected higher than where one does."""
    run, grades = world(skill=(0.6, 0.6), seed=8)
    rows = features(run, grades.select("query", "item"))
    both = (rows[:, 1] > 1) & (rows[:, 3] > 1)
    from endoxa.statistics import ordinal

    model = ordinal.fit(rows, grades["grade"].to_numpy().astype(np.int64) - 1, 5)
    eta = model.predictor(rows)
    mean = optimize.minimize(lambda b: ((grades["grade"].to_numpy() - b[0] - b[1] * rows[:, 1]) ** 2).sum(), [0, 0]).x
    assert eta[both].mean() > eta[rows[:, 1] > 1].mean() + 0.5
    assert mean[1] > 0


def test_refusals():
    run, grades = world(queries=12, items=10)
    enough = answers(grades[:30], grades)
    for said, settings in [
        ("number 2 or more", {"round": 1}),
        ("floor is above 0", {"floor": 0}),
        ("the scale is", {"scale": (5, 1, 5)}),
        ("the scale is", {"scale": (1, 5, 1)}),
        ("at least 1 result", {"per_task": 0}),
    ]:
        with pytest.raises(TextError, match=said):
            adapt(run, enough, 5, **({"round": 2, "scale": SCALE} | settings), rng=rng())
    pair = {"query": ["1"], "item": ["a"]}
    silent = Opinions.of(pl.DataFrame(pair | {"grade": [None]}, schema_overrides={"grade": pl.Float64}), source="x")
    with pytest.raises(JoinError, match="has answers yet"):
        adapt(run, silent, 5, round=2, scale=SCALE, rng=rng())
    with pytest.raises(JoinError, match=r"29 pairs have answers.+needs 30; collect 1 more first"):
        adapt(run, answers(grades[:29], grades), 5, round=2, scale=SCALE, rng=rng())
