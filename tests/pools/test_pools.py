import polars as pl
import pytest

from endoxa.measures.grammar import parse_all
from endoxa.policies import Policy
from endoxa.pools import leave_out_uniques, pool, states, uniques
from endoxa.tables import Opinions, Run

LISTS = {"S1": "abcd", "S2": "aebf", "S3": "aghi"}


def run_of(lists: dict[str, str]) -> Run:
    rows = [(s, "q", item, -float(place)) for s, items in lists.items() for place, item in enumerate(items)]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def qrels_of(relevant: str, other: str = "", unjudged: str = "") -> Opinions:
    grades = dict.fromkeys(relevant, 1.0) | dict.fromkeys(other, 0.0) | dict.fromkeys(unjudged, -1.0)
    return Opinions.of(
        pl.DataFrame({"query": ["q"] * len(grades), "item": list(grades), "grade": list(grades.values())})
    )


def test_pool_is_the_union_of_the_tops() -> None:
    found = pool(run_of(LISTS), 3)
    assert found["item"].to_list() == [*"abceg", "h"]
    assert found.filter(pl.col("item") == "a")["systems"].item() == 3
    assert found.filter(pl.col("item") == "b")["by"].item().to_list() == ["S1", "S2"]
    assert found.filter(pl.col("item") == "b")["best"].item() == 2


def test_worked_example_of_leave_out_uniques() -> None:
    """By hand: AP of S1 .4 -> .4, S2 .6 -> .416667 (unique e), S3 .6 -> .333333 (uniques g, h)."""
    result = leave_out_uniques(run_of(LISTS), qrels_of("abegh"), "AP", depth=3)
    by = {row["system"]: row for row in result.frame.to_dicts()}
    assert by["S1"]["value"] == pytest.approx(0.4)
    assert by["S1"]["value_without"] == pytest.approx(0.4)
    assert by["S2"]["value"] == pytest.approx(0.6)
    assert by["S2"]["value_without"] == pytest.approx(0.416667, abs=1e-6)
    assert by["S3"]["value"] == pytest.approx(0.6)
    assert by["S3"]["value_without"] == pytest.approx(0.333333, abs=1e-6)
    assert by["S3"]["relevant_uniques"] == 2
    assert (by["S3"]["place"], by["S3"]["place_without"]) == (1, 3)
    assert result.largest == pytest.approx(0.6 - 1 / 3)


def test_a_team_loses_what_only_the_team_found() -> None:
    lists = {"S1": "ab", "S2": "ac", "S3": "ad"}
    alone = leave_out_uniques(run_of(lists), qrels_of("abc"), "AP", depth=2)
    teamed = leave_out_uniques(run_of(lists), qrels_of("abc"), "AP", depth=2, groups={"S1": "T", "S2": "T"})
    assert alone.frame.filter(pl.col("system") == "S1")["uniques"].item() == 1
    assert teamed.frame.filter(pl.col("system") == "S1")["uniques"].item() == 2  # b and c
    assert teamed.frame.filter(pl.col("system") == "S1")["value_without"].item() == pytest.approx(1.0)  # only a is left


def test_states_add_up_to_all_pairs() -> None:
    found = states(run_of(LISTS), qrels_of("ab", "c", "d"), 3)
    by = {(row["system"], row["state"]): row["pairs"] for row in found.to_dicts()}
    assert by[("S1", "judged")] == 3
    assert by[("S1", "pooled-unjudged")] == 1  # d carries a negative grade
    assert by[("S1", "unpooled")] == 0
    assert by[("S3", "judged")] == 1
    assert by[("S3", "pooled-unjudged")] == 2
    assert by[("S3", "unpooled")] == 1
    assert found.group_by("system").agg(pl.col("share").sum())["share"].to_list() == [pytest.approx(1.0)] * 3


def test_a_query_without_a_value_does_not_count_in_the_mean() -> None:
    run = Run.of(
        pl.DataFrame({"system": "A", "query": ["q", "q", "r"], "item": ["a", "b", "a"], "score": [2.0, 1.0, 1.0]})
    )
    qrels = Opinions.of(pl.DataFrame({"query": ["q", "q", "r"], "item": ["a", "b", "a"], "grade": [0.0, 1.0, 0.0]}))
    assert uniques._means(run, qrels, parse_all("AP")[0], Policy()) == {"A": 0.5}
