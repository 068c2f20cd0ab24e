"""Chao's lower bound and what it says of recall."""

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.errors import JoinError, TableError, TextError
from endoxa.pools.unseen import chao, chao_interval, unseen
from endoxa.tables import Opinions, Run


def run_of(lists: dict[tuple[str, str], str]) -> Run:
    rows = [(s, q, item, -float(place)) for (s, q), items in lists.items() for place, item in enumerate(items)]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def qrels_of(relevant: dict[str, str], other: dict[str, str] | None = None) -> Opinions:
    rows = [(q, item, 1.0) for q, items in relevant.items() for item in items]
    rows += [(q, item, 0.0) for q, items in (other or {}).items() for item in items]
    return Opinions.of(pl.DataFrame(rows, schema=["query", "item", "grade"], orient="row"))


def test_worked_example() -> None:
    """docs/methods/beliefs.md, Unseen relevant items: D = 30, f1 = 12, f2 = 6."""
    assert chao(30, 12, 6, corrected=False) == 42
    assert chao(30, 12, 6) == pytest.approx(39.428571, abs=5e-7)


def test_without_doubles_the_corrected_form_is_taken() -> None:
    assert chao(10, 4, 0, corrected=False) == chao(10, 4, 0) == 10 + 4 * 3 / 2
    assert chao(10, 0, 0, corrected=False) == 10


def test_arrays_broadcast() -> None:
    assert chao(np.array([30, 10]), np.array([12, 4]), np.array([6, 0]), corrected=False).tolist() == [42, 16]


def test_interval_has_the_digits_of_estimate_s() -> None:
    """EstimateS, as quoted by the tests of scikit-bio: 9 species, 3 singletons, 3 doubletons, to two decimals."""
    assert [float(end) for end in chao_interval(9, 3, 3)] == pytest.approx([9.07, 17.45], abs=0.006)
    assert [float(end) for end in chao_interval(9, 3, 3, corrected=False)] == pytest.approx([9.17, 21.89], abs=0.006)


def test_interval_without_singles_has_no_upper_end() -> None:
    lo, hi = chao_interval(np.array([5, 5]), np.array([0, 1]), np.array([2, 0]))
    assert lo.tolist() == [5, 5]
    assert np.isnan(hi).all()


def test_interval_covers_where_all_items_are_alike() -> None:
    """200 items, 8 systems that find each with probability .15, independently."""
    rng = np.random.default_rng(1)
    times = rng.binomial(8, 0.15, (2000, 200))
    found, once, twice = ((times > 0).sum(1), (times == 1).sum(1), (times == 2).sum(1))
    lo, hi = chao_interval(found, once, twice)
    covered = float(((lo <= 200) & (hi >= 200)).mean())
    bound = float(chao(found, once, twice).mean())
    print(f"covered {covered:.3f}, mean estimate {bound:.1f} of 200")
    assert covered > 0.92
    assert bound == pytest.approx(200, rel=0.08)


def test_unequal_items_give_a_lower_bound_and_dependent_systems_a_lower_one() -> None:
    rng = np.random.default_rng(2)
    ease = rng.beta(0.6, 2, (500, 200))

    def mean(times: np.ndarray) -> float:
        return float(chao((times > 0).sum(1), (times == 1).sum(1), (times == 2).sum(1)).mean())

    apart = mean(rng.binomial(6, ease))
    alike = mean(2 * rng.binomial(3, ease))  # systems in pairs that return the same
    assert alike < apart < 200


@pytest.mark.parametrize("counts", [(3, 2, 2), (3, -1, 0), (3, 0, -1), (1, 2, 0)])
def test_impossible_counts(counts: tuple[int, int, int]) -> None:
    with pytest.raises(TableError, match="found once or twice is among what was found"):
        chao(*counts)


LISTS = st.dictionaries(
    st.tuples(st.sampled_from("ABCD"), st.sampled_from(["q1", "q2"])),
    st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1, max_size=6).map("".join),
    min_size=2,
)


@settings(max_examples=50, deadline=None)
@given(LISTS, st.sets(st.sampled_from("abcdefgh"), min_size=1), st.integers(1, 6))
def test_counts_are_those_of_plain_sets(lists: dict[tuple[str, str], str], relevant: set[str], depth: int) -> None:
    first = {key: items[:depth] for key, items in lists.items()}
    found_at_all = any(set(items) & relevant for items in first.values())
    if len({system for system, _ in lists}) < 2 or not found_at_all:
        return
    grades = {"q1": "".join(relevant), "q2": "".join(relevant)}
    table = unseen(run_of(lists), qrels_of(grades), depth)
    totals = Counter[str]()
    for row in table.filter(pl.col("query").is_not_null()).iter_rows(named=True):
        times = Counter(item for (_, q), items in first.items() if q == row["query"] for item in items)
        counts = {
            "known": len(relevant),
            "found": sum(times[item] > 0 for item in relevant),
            "once": sum(times[item] == 1 for item in relevant),
            "twice": sum(times[item] == 2 for item in relevant),
        }
        assert {name: row[name] for name in counts} == counts
        least = counts["found"] + counts["once"] * (counts["once"] - 1) / (2 * (counts["twice"] + 1))
        assert row["estimate"] == pytest.approx(max(least, counts["known"]))
        assert row["recall_at_most"] == pytest.approx(counts["found"] / max(least, counts["known"]))
        totals.update(counts)
    pooled = table.row(-1, named=True)
    assert pooled["query"] is None
    assert {name: pooled[name] for name in totals} == dict(totals)


def test_recall_at_most() -> None:
    lists = {("A", "q"): "abcx", ("B", "q"): "adey", ("C", "q"): "afgb"}
    row = unseen(run_of(lists), qrels_of({"q": "abcdefg"}, {"q": "xy"}), 4).row(0, named=True)
    assert (row["found"], row["once"], row["twice"]) == (7, 5, 1)
    assert row["estimate"] == 7 + 5 * 4 / 4
    assert row["recall_at_most"] == pytest.approx(7 / 12)


def test_a_query_without_relevant_items_is_nan() -> None:
    table = unseen(run_of({("A", "q"): "ab", ("B", "q"): "ac"}), qrels_of({"q": "a"}, {"r": "b"}), 2)
    row = table.filter(pl.col("query") == "r").row(0, named=True)
    assert (row["found"], row["estimate"]) == (0, 0)
    assert math.isnan(row["recall_at_most"])


def test_refusals() -> None:
    run = run_of({("A", "q"): "ab", ("B", "q"): "ac"})
    with pytest.raises(TextError, match="at least 1"):
        unseen(run, qrels_of({"q": "a"}), 0)
    with pytest.raises(JoinError, match="there is 1 system"):
        unseen(run_of({("A", "q"): "ab"}), qrels_of({"q": "a"}), 2)
    with pytest.raises(JoinError, match="none of the 1 relevant items"):
        unseen(run, qrels_of({"q": "z"}), 2)
    with pytest.raises(TextError, match="level"):
        chao_interval(3, 1, 1, level=1)
