"""Verdicts: values by hand, the exact end, and coverage at all times together by simulation of the order."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.errors import JoinError, TableError, TextError
from endoxa.studies.sampling import plan, pool_plan
from endoxa.studies.verdict import course, verdict
from endoxa.tables import Run

SCALE = (1.0, 5.0)


def rng(seed=1):
    return np.random.default_rng(seed)


def draws_of(rows):
    return pl.DataFrame(rows, schema=["task", "query", "system", "item"], orient="row")


def grades_of(rows):
    return pl.DataFrame(rows, schema={"query": pl.String, "item": pl.String, "grade": pl.Float64}, orient="row")


DRAWS = draws_of(
    [
        (0, "1", "a", "x"),
        (0, "1", "b", "x"),
        (0, "1", "b", "y"),
        (1, "2", "a", "x"),
        (1, "2", "b", "z"),
        (2, "3", "a", "x"),
        (2, "3", "a", "x"),
        (2, "3", "b", "w"),
    ]
)
GRADES = grades_of(
    [("1", "x", 4.0), ("1", "y", 2.0), ("2", "x", 5.0), ("2", "z", 1.0), ("3", "x", 3.0), ("3", "w", 2.0)]
)


def study(queries=30, seed=0, gain=1.0):
    """A plan of two systems, and what every pair would be graded: b's finds are worth less by `gain`."""
    stream = rng(seed)
    items = [f"d{j:02}" for j in range(12)]
    rows = []
    for system in ("a", "b"):
        for q in range(queries):
            for place, item in enumerate(stream.permutation(items)[:8]):
                rows.append((system, f"q{q:02}", str(item), -float(place)))
    run = Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))
    made = plan(run, per_task=2, tasks_per_query=2, rng=stream)
    by_b = made.tasks["selected_by"].str.contains("b").to_numpy()
    grade = np.clip(np.round(stream.normal(3.5 - gain * by_b, 1)), 1, 5)
    return made, made.tasks.select("query", "item").with_columns(pl.Series("grade", grade))


def true_mean(draws, grades, system):
    mine = draws.filter(pl.col("system") == system).join(grades, on=["query", "item"])
    return mine["grade"].mean()


def test_when_all_is_answered_the_interval_is_the_value():
    made = verdict(DRAWS, [2, 0, 1], GRADES, scale=SCALE)
    assert made.systems.rows() == [
        ("a", 4, pytest.approx(15 / 4), pytest.approx(15 / 4), pytest.approx(15 / 4)),
        ("b", 4, pytest.approx(9 / 4), pytest.approx(9 / 4), pytest.approx(9 / 4)),
    ]
    assert made.pairs.rows() == [("a", "b", *[pytest.approx(6 / 4)] * 3, True)]
    assert [one.code for one in made.statements] == ["study.planned_done"]  # never "better": that is not its to say
    assert made.notes == ()
    assert (made.answered, made.tasks) == (3, 3)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_the_end_is_exact_in_any_order(seed, pooled):
    made, grades = study(queries=4, seed=seed)
    draws = made.draws
    if pooled:
        run = Run.of(draws.unique(["system", "query", "item"]).with_columns(pl.lit(1.0).alias("score")))
        draws = pool_plan(run, 3, rng=rng(seed)).draws
        grades = grades.join(draws, on=["query", "item"], how="semi")
    found = verdict(draws, rng(seed).permutation(draws["task"].unique().sort().to_numpy()), grades, scale=SCALE)
    a, b = true_mean(draws, grades, "a"), true_mean(draws, grades, "b")
    assert found.pairs.select("lo", "hi").row(0) == pytest.approx((a - b, a - b), abs=1e-9)
    assert found.systems["lo"].to_list() == pytest.approx([a, b])
    assert found.systems["hi"].to_list() == pytest.approx([a, b])


def test_before_any_answer_everything_is_possible():
    made = verdict(DRAWS, [], GRADES[:0], scale=SCALE, tasks=10)
    assert made.systems.select("n", "lo", "hi").rows() == [(0, 1, pytest.approx(5)), (0, 1, pytest.approx(5))]
    assert np.isnan(made.systems["mean"].to_list()).all()
    # both drew item x of query 1: there the two cannot differ by the whole scale
    assert made.pairs.select("lo", "hi", "decided").row(0) == (pytest.approx(-3), pytest.approx(3), False)
    assert made.statements[0].code == "study.planned"
    assert (made.statements[0].facts["answered"], made.statements[0].facts["tasks"]) == (0, 10)


def test_what_is_left_bounds_the_interval():
    made = verdict(DRAWS, [1], GRADES, scale=SCALE)
    mean = made.systems.filter(pl.col("system") == "a").row(0, named=True)
    # one of a's four draws has 5, the others lie between 1 and 5
    assert mean["n"] == 1
    assert mean["mean"] == 5
    assert (5 + 3) / 4 - 1e-9 <= mean["lo"] <= mean["hi"] <= 5 + 1e-9


def extremes(tasks=100, seed=0):
    """As much spread as a scale allows: one pair per task, graded 1 or 5."""
    stream = rng(seed)
    systems = stream.permutation(["a"] * (tasks // 2) + ["b"] * (tasks - tasks // 2))
    draws = draws_of([(t, str(t), str(systems[t]), "x") for t in range(tasks)])
    return draws, grades_of([(str(t), "x", 1 + 4.0 * (stream.random() < 0.3)) for t in range(tasks)])


@pytest.mark.parametrize("pairs", ["planned", "extreme"])
def test_coverage_at_all_times_together(pairs):
    """The order is drawn anew 120 times; the 80 % sequence may miss, at any time, in no more than a fifth."""
    if pairs == "planned":
        made, grades = study()
        draws = made.draws
    else:
        draws, grades = extremes()
    number = draws["task"].n_unique()
    difference = true_mean(draws, grades, "a") - true_mean(draws, grades, "b")
    alone = true_mean(draws, grades, "b")
    missed = np.zeros(2)
    stream = rng(4)
    for _ in range(120):
        order = stream.permutation(number)
        both = course(draws, order, grades, scale=SCALE, system="a", baseline="b", alpha=0.2)
        one = course(draws, order, grades, scale=SCALE, system="b", alpha=0.2)
        for at, (found, truth) in enumerate([(both, difference), (one, alone)]):
            missed[at] += ((found["lo"] > truth + 1e-9) | (found["hi"] < truth - 1e-9)).any()
    assert (missed / 120 <= 0.2 + 2 * np.sqrt(0.2 * 0.8 / 120)).all()
    if pairs == "extreme":
        assert missed.sum() > 0  # not so wide that it could never be wrong


def test_an_order_chosen_by_the_answers_breaks_the_promise():
    draws, grades = extremes()
    best_first = draws.join(grades, on=["query", "item"]).sort("grade", descending=True)["task"].to_list()
    found = course(draws, best_first, grades, scale=SCALE, system="a")
    assert (found["lo"] > true_mean(draws, grades, "a") + 0.1).any()


def test_a_clear_difference_is_decided_before_the_end():
    made, grades = study(queries=60, gain=2.5)
    number = made.draws["task"].n_unique()
    order = rng(3).permutation(number)
    widths = []
    for count in (10, 40, 80, number):
        found = verdict(made.draws, order[:count], grades, scale=SCALE)
        lo, hi = found.pairs.select("lo", "hi").row(0)
        widths.append(hi - lo)
    assert widths == sorted(widths, reverse=True)
    early = verdict(made.draws, order[:80], grades, scale=SCALE)
    assert early.pairs["decided"].to_list() == [True]
    assert early.statements[0].code == "study.planned" and early.statements[0].facts["lo"] > 0
    assert early.pairs["lo"][0] <= true_mean(made.draws, grades, "a") - true_mean(made.draws, grades, "b")
    turned = made.draws.with_columns(pl.col("system").replace({"a": "b", "b": "a"}))
    assert verdict(turned, order[:80], grades, scale=SCALE).statements[0].facts["hi"] < 0


def test_answers_after_the_order_do_not_count():
    found = verdict(DRAWS, [0], GRADES, scale=SCALE)
    assert found.answered == 1
    assert found.systems["n"].to_list() == [1, 2]
    assert found.systems["mean"].to_list() == [4, 3]


def test_tasks_without_all_answers_wait():
    found = verdict(DRAWS, [0, 1], GRADES[1:], scale=SCALE)
    assert found.answered == 1
    assert [(one.code, one.facts) for one in found.notes] == [("study.unfinished", {"tasks": 1})]


def test_undecided_pairs_are_as_if_not_drawn():
    grades = GRADES.with_columns(pl.when(pl.col("item") == "y").then(None).otherwise(pl.col("grade")).alias("grade"))
    found = verdict(DRAWS, [0, 1, 2], grades, scale=SCALE)
    without = verdict(DRAWS.filter(pl.col("item") != "y"), [0, 1, 2], GRADES, scale=SCALE)
    assert found.systems.equals(without.systems)
    assert found.pairs.equals(without.pairs)
    assert [(one.code, one.facts) for one in found.notes] == [("study.undecided", {"pairs": 1})]
    silent = GRADES.with_columns(pl.when(pl.col("item") == "x").then(None).otherwise(pl.col("grade")).alias("grade"))
    nothing = verdict(DRAWS, [0, 1, 2], silent, scale=SCALE)
    assert np.isnan(nothing.systems.row(0)[2:]).all()
    assert not nothing.pairs["decided"][0]
    assert nothing.statements[0].code == "study.planned_none"


def test_equal_systems_are_called_equal():
    draws = draws_of([(t, str(t), s, "x") for t in range(3) for s in ("a", "b")])
    grades = grades_of([(str(t), "x", 3.0) for t in range(3)])
    found = verdict(draws, [0], grades, scale=SCALE)
    assert found.pairs.select("lo", "hi", "decided").row(0) == (0, 0, False)
    assert (found.statements[0].facts["lo"], found.statements[0].facts["hi"]) == (0, 0)
    crossed = draws_of([(0, "1", "a", "x"), (1, "2", "b", "x"), (2, "3", "a", "y"), (3, "4", "b", "y")])
    alike = grades_of([("1", "x", 1.7), ("2", "x", 1.2), ("3", "y", 2.9), ("4", "y", 3.4)])
    assert not verdict(crossed, [0, 1, 2, 3], alike, scale=SCALE).pairs["decided"][0]


def test_several_systems_share_alpha():
    draws = draws_of([(t, str(t), s, s) for t in range(200) for s in "abc"])
    stream = rng(2)
    grades = grades_of([(str(t), s, float(stream.integers(1, 6))) for t in range(200) for s in "abc"])
    shared = verdict(draws, range(80), grades, scale=SCALE)
    apart = verdict(draws, range(80), grades, scale=SCALE, simultaneous=False)
    assert shared.pairs.select("system", "baseline").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert ((shared.pairs["hi"] - shared.pairs["lo"]) > (apart.pairs["hi"] - apart.pairs["lo"])).all()
    third = verdict(draws, range(80), grades, scale=SCALE, alpha=0.05 / 3, simultaneous=False)
    assert third.pairs["lo"].to_list() == pytest.approx(shared.pairs["lo"].to_list())
    assert third.systems["hi"].to_list() == pytest.approx(shared.systems["hi"].to_list())
    one = verdict(draws.filter(pl.col("system") == "a"), range(80), grades, scale=SCALE)
    assert one.pairs.is_empty()
    assert one.systems.height == 1


def test_refusals():
    with pytest.raises(TextError, match="the lowest grade of a scale is below"):
        verdict(DRAWS, [0], GRADES, scale=(5, 1))
    with pytest.raises(TextError, match="alpha must lie"):
        verdict(DRAWS, [0], GRADES, scale=SCALE, alpha=5)
    with pytest.raises(TableError, match=r"grade 5 of item 'x' is not on the scale from 1 to 4"):
        verdict(DRAWS, [0], GRADES, scale=(1, 4))
    with pytest.raises(TableError, match="task 9 which is not in the plan"):
        verdict(DRAWS, [0, 9], GRADES, scale=SCALE)
    with pytest.raises(TableError, match="task 0 twice"):
        verdict(DRAWS, [0, 0], GRADES, scale=SCALE)
    with pytest.raises(TableError, match="keep the first answer"):
        verdict(DRAWS, [0], pl.concat([GRADES, GRADES[:1]]), scale=SCALE)
    with pytest.raises(TableError, match="no draws by systems"):
        verdict(DRAWS[:0], [], GRADES, scale=SCALE)
    with pytest.raises(TableError, match="needs a column 'system'"):
        verdict(DRAWS.drop("system"), [], GRADES, scale=SCALE)
    with pytest.raises(TableError, match="is in several tasks"):
        verdict(pl.concat([DRAWS, draws_of([(1, "1", "a", "x")])]), [], GRADES, scale=SCALE)
    with pytest.raises(TableError, match="3 tasks, more than the 2"):
        verdict(DRAWS, [0], GRADES, scale=SCALE, tasks=2)
    with pytest.raises(JoinError, match="system 'c' has no draws"):
        course(DRAWS, [0], GRADES, scale=SCALE, system="a", baseline="c")
