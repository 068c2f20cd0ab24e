"""The comparison of systems by people's ratings: by hand, in every state, and over simulated studies."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.studies import USUAL, World, planned_tasks, record, three_doubts

from endoxa.errors import JoinError, TableError, TextError
from endoxa.notes import Note
from endoxa.statistics.anytime import crossed_reach
from endoxa.studies.comparison import SYSTEMS, Comparison, agreed, attempted, comparison
from endoxa.tables import Opinions, Run

SCALE = (1.0, 5.0)


def run_of(lists: dict[str, dict[str, list[str]]]) -> Run:
    rows = [
        (system, query, item, -float(place))
        for system, queries in lists.items()
        for query, items in queries.items()
        for place, item in enumerate(items)
    ]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def opinions_of(rows: list[tuple[str, str, str, float, float]], **more: Any) -> Opinions:
    frame = pl.DataFrame(rows, schema=["source", "query", "item", "grade", "propensity"], orient="row")
    return Opinions.of(frame.with_columns(pl.lit(value).alias(name) for name, value in more.items()))


RUN = run_of({"a": {"1": ["x", "y"], "2": ["x", "z"]}, "b": {"1": ["y", "z"], "2": ["z", "w"]}})
GIVEN = [
    ("ana", "1", "x", 5.0, 0.5), ("ben", "1", "x", 4.0, 0.5), ("ana", "1", "y", 3.0, 1.0), ("ben", "1", "z", 1.0, 0.25),
    ("ana", "2", "x", 4.0, 0.5), ("ben", "2", "z", 2.0, 1.0), ("ana", "2", "w", 1.0, 0.5),
]  # fmt: skip


def plenty(
    queries: int = 30, judges: int = 6, *, gap: float = 2.0, noise: float = 0.5, seed: int = 1
) -> tuple[Run, Opinions]:
    """Every judge rates the one result of each of two systems on every query."""
    chance = np.random.default_rng(seed)
    names = [f"q{number:02}" for number in range(queries)]
    run = run_of({"good": {q: ["x"] for q in names}, "poor": {q: ["y"] for q in names}})
    rows = [
        (f"judge {judge}", query, item, float(np.clip(round(base + noise * chance.normal()), 1, 5)), 1.0)
        for judge in range(judges)
        for query in names
        for item, base in (("x", 3 + gap / 2), ("y", 3 - gap / 2))
    ]
    return run, opinions_of(rows)


def of(run: Run, opinions: Opinions, **how: Any) -> Comparison:
    return comparison(run, opinions, scale=SCALE, **how)


def test_means_are_weighted_by_propensity_and_the_interval_is_that_of_the_parts() -> None:
    found = of(RUN, opinions_of(GIVEN))
    # weights 1/pi; of the two ratings of x in query 1 the mean counts
    a = (2 * 4.5 + 1 * 3 + 2 * 4 + 1 * 2) / (2 + 1 + 2 + 1)
    b = (1 * 3 + 4 * 1 + 1 * 2 + 2 * 1) / (1 + 4 + 1 + 2)
    assert found.systems["mean"].to_list() == pytest.approx([a, b])
    assert found.systems["pairs"].to_list() == [4, 4]
    assert found.systems["reached"].to_list() == pytest.approx([6 / 4, 8 / 4])
    assert (found.first, found.judges, found.queries) == (2, 2, 2)
    row = found.pairs.row(0, named=True)
    assert (row["system"], row["baseline"]) == ("a", "b")
    assert row["difference"] == pytest.approx(a - b)
    parts = [
        1 * (5 - a) / 6, 1 * (4 - a) / 6, 1 * (3 - a) / 6 - 1 * (3 - b) / 8, -4 * (1 - b) / 8,
        2 * (4 - a) / 6, 1 * (2 - a) / 6 - 1 * (2 - b) / 8, -2 * (1 - b) / 8,
    ]  # fmt: skip
    assert sum(parts) == pytest.approx(0)
    reach = crossed_reach(parts, [row[0] for row in GIVEN], [row[1] for row in GIVEN], spread=2.0, typical=0.5).reach
    assert (row["lo"], row["hi"]) == pytest.approx((max(a - b - reach, -4), min(a - b + reach, 4)))


def test_the_order_of_rows_and_of_systems_changes_nothing() -> None:
    run, opinions = plenty(noise=1.0)
    first = of(run, opinions)
    mixed = Opinions.of(opinions.frame.sample(fraction=1.0, shuffle=True, seed=4))
    turned = Run.of(run.frame.with_columns(pl.col("system").replace({"good": "z", "poor": "y"})))
    assert of(run, mixed).pairs.equals(first.pairs)
    renamed = of(turned, mixed).pairs
    assert renamed.select("difference", "lo", "hi").equals(first.pairs.select("difference", "lo", "hi"))
    assert renamed.row(0)[:2] == ("z", "y")


def test_only_many_judges_and_queries_make_a_better_one() -> None:
    run, opinions = plenty()
    row = of(run, opinions).pairs.row(0, named=True)
    assert (row["state"], row["decided"], row["system"]) == ("better", True, "good")
    assert 0 < row["lo"] < row["difference"] < row["hi"]
    few = of(*plenty(judges=2, queries=4)).pairs.row(0, named=True)
    assert few["state"] == "open" and few["lo"] < 0 < few["hi"]


def test_one_judge_says_nothing_of_others() -> None:
    found = of(*plenty(judges=1))
    row = found.pairs.row(0, named=True)
    assert (row["state"], row["decided"]) == ("one judge", False)
    assert row["lo"] < row["difference"] < row["hi"]
    assert found.statements()[0].code == "study.one_judge"
    assert found.doubts.facts["judges"] == 1


def test_one_query_has_no_interval() -> None:
    row = of(*plenty(queries=1)).pairs.row(0, named=True)
    assert (row["state"], row["decided"]) == ("one query", False)
    assert math.isnan(row["lo"]) and math.isnan(row["hi"])


def test_all_answers_alike_leave_a_doubt() -> None:
    run, opinions = plenty(gap=0.0, noise=0.0)
    row = of(run, opinions).pairs.row(0, named=True)
    assert (row["state"], row["difference"]) == ("open", 0)
    assert row["hi"] - row["lo"] > 0.2
    sure = of(*plenty(gap=2.0, noise=0.0)).pairs.row(0, named=True)  # 180 times 4 and 180 times 2
    assert sure["state"] == "better" and sure["hi"] - sure["lo"] > 0.2


def test_systems_with_the_same_results_are_equal() -> None:
    run, opinions = plenty()
    twins = Run.of(pl.concat([run.frame, run.frame.filter(system="good").with_columns(pl.lit("twin").alias("system"))]))
    pairs = of(twins, opinions).pairs
    row = pairs.filter(pl.col("system").is_in(["good", "twin"]) & pl.col("baseline").is_in(["good", "twin"]))
    assert row.select("state", "difference", "decided").row(0) == ("same", 0, False)
    assert math.isnan(row["lo"][0])
    assert pairs.filter(baseline="poor")["state"].to_list() == ["better", "better"]


def test_unrated_and_hardly_reached_systems_are_not_compared() -> None:
    run, opinions = plenty()
    queries = run.frame["query"].unique().to_list()
    far = run_of({"far": {q: ["z"] for q in queries}})
    found = of(Run.of(pl.concat([run.frame, far.frame])), opinions)
    assert found.systems["system"].to_list() == ["good", "poor", "far"]
    assert math.isnan(found.systems["mean"][2])
    assert found.pairs.filter(baseline="far")["state"].to_list() == ["unrated", "unrated"]
    deep = {q: ["x", *(f"new{n}" for n in range(4))] for q in queries}
    newer = of(Run.of(pl.concat([run_of({"new": deep}).frame, run.frame])), opinions, first=5)
    assert newer.systems.filter(system="new")["reached"][0] == pytest.approx(0.2)
    assert newer.pairs.filter((pl.col("system") == "new") & (pl.col("baseline") == "poor"))["state"][0] == "unreached"


def test_the_first_results_are_ten_or_as_many_as_were_asked() -> None:
    items = [f"d{n:02}" for n in range(20)]
    run = run_of({"a": {"1": items, "2": items}, "b": {"1": items[::-1], "2": items[::-1]}})
    deep = [("ana", q, item, 3.0, 1.0) for q in "12" for item in items]
    assert of(run, opinions_of(deep)).first == 10
    pool = [row for row in deep if row[2] in {*items[:3], *items[-3:]}]
    assert of(run, opinions_of(pool)).first == 3
    assert of(run, opinions_of(pool), first=2).first == 2


def test_several_pairs_share_the_doubt() -> None:
    run, opinions = plenty()
    third = run_of({"third": {q: ["y"] for q in run.frame["query"].unique()}})
    two, three = of(run, opinions), of(Run.of(pl.concat([run.frame, third.frame])), opinions)
    pair = (pl.col("system") == "good") & (pl.col("baseline") == "poor")
    assert three.pairs.filter(pair)["lo"][0] < two.pairs.filter(pair)["lo"][0]


def test_the_verdict_leads_with_judges_who_do_not_agree() -> None:
    chance = np.random.default_rng(2)
    run, opinions = plenty()
    noise = Opinions.of(opinions.frame.with_columns(pl.Series("grade", chance.integers(1, 6, len(opinions)) * 1.0)))
    found = of(run, noise, agreement=agreed(noise))
    assert found.agreement is not None and found.agreement.alpha < 0.1
    assert [one.code for one in found.headline()] == [
        "study.no_agreement", "study.no_agreement_follows", "study.open",
    ]  # fmt: skip
    assert [one.code for one in of(run, opinions, agreement=agreed(opinions)).headline()] == ["study.better"]
    assert found.agreement is not None
    unsure = replace(found, agreement=replace(found.agreement, alpha=0.3, lo=-0.1, hi=0.6))
    assert unsure.leads[0].code == "study.agreement_unsure"
    unknown = replace(found, agreement=replace(found.agreement, alpha=math.nan, lo=math.nan, hi=math.nan))
    assert unknown.leads == ()


def test_another_figure_with_another_sign_is_explained() -> None:
    found = of(*plenty())
    assert found.against("P@10", {"good": 0.8, "poor": 0.5}) is None
    assert found.against("P@10", {"good": 0.5, "poor": 0.5}) is None
    assert found.against("P@10", {"good": math.nan, "poor": 0.5}) is None
    assert found.against("P@10", {"stranger": 0.9, "poor": 0.5}) is None
    why = found.against("r", {"poor": 0.5, "good": 0.4})
    assert why is not None
    assert why.facts == {"figure": "r", "leader": "poor", "other": "good", "settled": True}


def test_every_state_has_a_sentence_that_names_both_systems() -> None:
    found = of(*plenty())
    for state in ("better", "open", "one judge", "one query", "unreached", "same", "unrated"):
        one = replace(found, pairs=found.pairs.with_columns(pl.lit(state).alias("state")))
        sentence = str(one.statements()[0])
        assert "good" in sentence and "poor" in sentence
        assert (" is better than " in sentence) == (state == "better")
    assert "«good»" in str(found.statements(lambda name: f"«{name}»")[0])


def test_where_nothing_can_be_compared() -> None:
    run, opinions = plenty()
    assert attempted(None, opinions, scale=SCALE) is None
    assert attempted(run, None, scale=SCALE) is None
    alone = Run.of(run.frame.filter(system="good"))
    assert attempted(alone, opinions, scale=SCALE) is None
    silent = Opinions.of(opinions.frame.with_columns(pl.lit(None, pl.Float64).alias("grade")))
    assert attempted(run, silent, scale=SCALE) is None
    bare = Opinions.of(opinions.frame.with_columns(pl.lit(None, pl.Float64).alias("propensity")))
    refused = attempted(run, bare, scale=SCALE)
    assert isinstance(refused, Note) and refused.code == "study.no_comparison"
    drawn = {"draw": 1, "draw_after": 0, "draw_depth": 10, "selected_by": "next"}
    one_by_one = Opinions.of(opinions.frame.with_columns(pl.lit(value).alias(name) for name, value in drawn.items()))
    settled = attempted(run, one_by_one, scale=SCALE)
    assert isinstance(settled, Note) and settled.code == "study.one_by_one"
    with pytest.raises(TableError, match="all ratings are 3"):
        comparison(run, opinions, scale=(3, 3))
    with pytest.raises(TextError, match="at least 1, not 0"):
        of(run, opinions, first=0)
    with pytest.raises(JoinError, match="no rated pair"):
        of(run_of({"a": {"q00": ["m"]}, "b": {"q00": ["n"]}}), opinions)
    assert found_columns(of(run, opinions)) == list(SYSTEMS)


def found_columns(found: Comparison) -> list[str]:
    return found.systems.columns


# Simulated studies: `python -m benchmarks.studies` has 500 of each kind

LOOKS = (0.3, 0.6, 1.0)


@pytest.mark.parametrize(
    ("world", "studies"),
    [(USUAL, 100), (replace(USUAL, judges=3, taste=1.0), 60), (replace(USUAL, judges=2), 40)],
    ids=["four judges", "strong tastes", "two judges"],
)
def test_equal_systems_are_hardly_ever_called_better(world: World, studies: int) -> None:
    """An interval of 95 % may miss at any look in a twentieth of the studies."""
    found = record(world, three_doubts, studies=studies, looks=LOOKS)
    allowed = 0.05 + 2 * math.sqrt(0.05 * 0.95 / studies)
    assert found.wrong <= allowed
    assert found.missed <= allowed
    assert found.zero == 0


def test_what_forgets_judges_and_queries_is_nearly_always_wrong() -> None:
    found = record(USUAL, planned_tasks, studies=10, looks=(1.0,))
    assert found.wrong > 0.8 and found.zero > 0.8


def test_a_clear_difference_is_found() -> None:
    world = replace(USUAL, gain=0.95, judges=12, queries=150, quality=2.0, noise=0.4, lean=0.0, taste=0.0, depth=40)
    found = record(world, three_doubts, studies=6, looks=(1.0,))
    assert found.wrong == 0
    assert found.right > 0.5
