"""Weighted displacement against every order that the lists leave open."""

from __future__ import annotations

from itertools import groupby, permutations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from endoxa.errors import JoinError, TableError, TextError
from endoxa.measures import displacement as module
from endoxa.measures.displacement import (
    answer_values,
    average_answers,
    chance_corrected,
    chance_displacement,
    compare_answers,
    displacement,
    exponential,
    greatest_displacement,
    rational,
)
from endoxa.statistics.crossed import crossed_bootstrap
from endoxa.tables import Answers, Run

RULES = ["uniform", "optimist", "printed", "tail", "worst"]
FIVE = [1, 0.8, 0.6, 0.4, 0.2]


# -- the slow and obvious definition


def cost(s, ranks):
    """w of one full order: equals stand in the order of their ranks."""
    total, place = 0.0, 1
    for value, group in groupby(zip(s, ranks, strict=True), key=lambda pair: pair[0]):
        for rank in sorted(rank for _, rank in group):
            total += value * abs(place - rank)
            place += 1
    return total


def every_order(first, length, returned, N):
    """The ranks of the subject's items in each order of the collection that the system's list leaves open."""
    inside: dict[int, list[int]] = {}
    for number, start in enumerate(first):
        if start:
            inside.setdefault(start, []).append(number)
    missing = [number for number, start in enumerate(first) if not start]
    groups = [(who, range(start, start + length[who[0]])) for start, who in inside.items()]
    groups.append((missing, range(returned + 1, N + 1)))
    for chosen in product(*(permutations(places, len(who)) for who, places in groups)):
        ranks = [0] * len(first)
        for (who, _), places in zip(groups, chosen, strict=True):
            for number, place in zip(who, places, strict=True):
                ranks[number] = place
        yield ranks


@st.composite
def situations(draw, ties=True, values=(0.0, 0.25, 0.5, 1.0), most=6):
    """An answer, a list with runs of equal scores, a collection."""
    N = draw(st.integers(1, most))
    m = draw(st.integers(1, N))
    s = sorted(draw(st.lists(st.sampled_from(values), min_size=m, max_size=m)), reverse=True)
    s[0] = s[0] or 1.0
    order = draw(st.permutations(range(N)))  # the item at each rank; items below m are the subject's
    returned = draw(st.integers(0, N))
    cuts = draw(st.lists(st.booleans() if ties else st.just(True), min_size=returned, max_size=returned))
    first, length, begin = [0] * m, [1] * m, 0
    for rank in range(1, returned + 1):
        if cuts[rank - 1] or rank == returned:
            for item in order[begin:rank]:
                if item < m:
                    first[item], length[item] = begin + 1, rank - begin
            begin = rank
    return s, first, length, returned, N


@settings(max_examples=250, deadline=None)
@given(situations())
def test_uniform_is_the_mean_over_every_open_order(situation):
    s, first, length, returned, N = situation
    expected = np.mean([cost(s, ranks) for ranks in every_order(first, length, returned, N)])
    assert displacement(s, first, length=length, returned=returned, N=N) == pytest.approx(expected)


@settings(max_examples=250, deadline=None)
@given(situations(ties=False))
def test_optimist_and_worst_are_the_least_and_the_most_of_any_placement(situation):
    s, ranks, length, returned, N = situation
    costs = [cost(s, order) for order in every_order(ranks, length, returned, N)]
    assert displacement(s, ranks, returned=returned, N=N, rule="optimist") == pytest.approx(min(costs))
    assert displacement(s, ranks, returned=returned, N=N, rule="worst") == pytest.approx(max(costs))
    for rule in ("tail", "uniform"):
        assert min(costs) - 1e-9 <= displacement(s, ranks, returned=returned, N=N, rule=rule) <= max(costs) + 1e-9
    if 0 in ranks:
        assert displacement(s, ranks, returned=returned, N=N, rule="printed") >= max(costs) - 1e-9


@settings(max_examples=120, deadline=None)
@given(situations())
def test_chance_and_worst_order_are_those_of_all_permutations(situation):
    s, _, _, _, N = situation
    costs = [cost(s, ranks) for ranks in permutations(range(1, N + 1), len(s))]
    assert chance_displacement(s, N) == pytest.approx(np.mean(costs))
    assert greatest_displacement(s, N) == pytest.approx(max(costs))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 25), st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_the_worst_order_is_the_dearest_assignment(m, more, seed):
    s = np.sort(np.random.default_rng(seed).random(m))[::-1]
    N = m + more
    matrix = s[:, None] * np.abs(np.arange(m)[:, None] - np.arange(N))
    rows, columns = linear_sum_assignment(matrix, maximize=True)
    assert greatest_displacement(s, N) == pytest.approx(matrix[rows, columns].sum())


def test_large_runs_of_equals_agree_with_drawn_orders():
    s = np.repeat([1, 0.5, 0.2], [5, 30, 40])
    chance = np.random.default_rng(4)
    costs = [cost(s, 1 + chance.permutation(200)[:75]) for _ in range(3000)]
    assert chance_displacement(s, 200) == pytest.approx(np.mean(costs), abs=4 * np.std(costs) / np.sqrt(3000))


def test_equals_in_a_large_collection():
    # Equals at the head are never before their place: Σ k(N+1)/(m+1) - k, whatever N.
    assert chance_displacement(np.ones(10), 10**6) == pytest.approx(sum(k * (10**6 + 1) / 11 - k for k in range(1, 11)))
    s = np.repeat([1.0, 0.5], [5, 20])  # 20 equals behind five, among a million: all but surely far behind
    exact = sum(k * (10**6 + 1) / 6 - k for k in range(1, 6)) + 0.5 * sum(
        j * (10**6 + 1) / 21 - (5 + j) for j in range(1, 21)
    )
    assert chance_displacement(s, 10**6) == pytest.approx(exact, rel=1e-8)


def test_memory_is_bounded_by_blocks(monkeypatch):
    s = np.repeat([1, 0.5], [7, 30])
    whole = chance_displacement(s, 60)
    monkeypatch.setattr(module, "CELLS", 64)
    assert chance_displacement(s, 60) == pytest.approx(whole)


# -- worked numbers


def test_full_list():
    w = displacement(FIVE, [2, 1, 5, 3, 4], returned=5, N=5)
    assert w == pytest.approx(3.6)
    assert chance_displacement(FIVE, 5) == pytest.approx(4.8)
    assert greatest_displacement(FIVE, 5) == pytest.approx(8)
    assert chance_corrected(w, chance_displacement(FIVE, 5)) == pytest.approx(0.25)
    assert 1 - w / greatest_displacement(FIVE, 5) == pytest.approx(0.55)
    assert w / sum(FIVE) == pytest.approx(1.2)
    assert rational(w) == pytest.approx(0.217391, abs=5e-7)
    assert rational(w, 2) == pytest.approx(0.047259, abs=5e-7)
    assert exponential(w, 0.1) == pytest.approx(0.697676, abs=5e-7)


@pytest.mark.parametrize(
    ("rule", "total"), [("optimist", 6.1), ("printed", 103.4), ("tail", 99.1), ("worst", 99.5), ("uniform", 52.8)]
)
def test_partial_list(rule, total):
    # a b c d e against b x a y d, of a hundred
    w = displacement([1, 0.9, 0.7, 0.5, 0.3], [3, 1, 0, 5, 0], returned=5, N=100, rule=rule)
    assert w == pytest.approx(total)


def test_what_was_returned_costs_the_same_under_every_rule():
    for rule in [*RULES, "incremental"]:
        assert displacement([1, 0.9, 0.5], [3, 1, 5], returned=5, N=100, rule=rule) == pytest.approx(2 + 0.9 + 1.0)


def test_the_relevance_weighs_its_own_item():
    """Eq. 17 as printed weights the relevance of rank k by the displacement of another item."""
    pi, s = [2, 3, 1], [1, 0.5, 0]  # the ideal rank of the item at each system rank
    printed = sum(s[k] * abs(k + 1 - pi[k]) for k in range(3))
    assert printed == 1.5
    ranks = [pi.index(k) + 1 for k in (1, 2, 3)]
    assert displacement(s, ranks, returned=3, N=3) == pytest.approx(2.5)
    assert sum(abs(k + 1 - pi[k]) for k in range(3)) == pytest.approx(
        displacement([1, 1 - 1e-12, 1 - 2e-12], ranks, returned=3, N=3)  # all but unweighted: the two agree
    )


def test_printed_is_dearer_than_any_place():
    most = greatest_displacement([1.0], 10)
    assert most == 9
    assert displacement([1.0], [0], returned=0, N=10, rule="printed") == 10


def test_uniform_where_the_system_returns_less_than_the_subject():
    """Σ s ((m'+1+N)/2 - β) would ignore that places before β cost too; it is too small, even negative (errata)."""
    s, N = [1, 0.5, 0.25], 3
    formula = sum(value * ((0 + 1 + N) / 2 - beta) for value, beta in zip(s, (1, 2, 3), strict=True))
    expected = np.mean([cost(s, ranks) for ranks in permutations((1, 2, 3))])
    assert formula == pytest.approx(0.75)
    assert expected == pytest.approx(1 + 0.5 * 2 / 3 + 0.25)
    assert displacement(s, [0, 0, 0], returned=0, N=N) == pytest.approx(expected)


def test_worst_where_the_collection_is_small():
    """The most relevant item last is not always the worst order: in a small collection another costs more (errata)."""
    s, N = FIVE, 5
    formula = sum(value * ((N - i + 1) - i) for i, value in enumerate(s, 1))
    assert formula == pytest.approx(4.0)
    assert sum(value * abs((N - i + 1) - i) for i, value in enumerate(s, 1)) == pytest.approx(7.2)
    assert displacement(s, [0] * 5, returned=0, N=N, rule="worst") == pytest.approx(8)


def test_chance_where_relevances_are_equal():
    """E0 must follow the rule for ties: otherwise a random order would not score 0 (errata)."""
    s, N = [1, 1, 0.5], 4
    e = [(k * (k - 1) + (N - k) * (N - k + 1)) / (2 * N) for k in (1, 2, 3)]
    formula = sum(value * one for value, one in zip(s, e, strict=True))
    costs = [cost(s, ranks) for ranks in permutations(range(1, N + 1), 3)]
    assert formula == pytest.approx(3.0)
    assert np.mean(costs) == pytest.approx(2.5)
    assert chance_displacement(s, N) == pytest.approx(2.5)


def test_a_system_without_an_order_scores_zero():
    s = [1, 1, 0.5, 0.5, 0.1]
    tied = displacement(s, [1] * 5, length=8, returned=8, N=8)
    nothing = displacement(s, [0] * 5, returned=0, N=8)
    assert chance_corrected(np.array([tied, nothing]), chance_displacement(s, 8)) == pytest.approx(0)


def test_ties_of_the_subject_do_not_depend_on_the_order_given():
    one = displacement([1, 0.5, 0.5, 0.5], [4, 2, 3, 1], returned=4, N=4)
    other = displacement([1, 0.5, 0.5, 0.5], [4, 1, 2, 3], returned=4, N=4)
    assert one == other == pytest.approx(3 + 0.5 * 3)


def test_leading_axes_broadcast():
    s = np.array([[1, 0.5, np.nan], [1, 0.9, 0.2]])
    first = np.array([[2, 1, 0], [0, 1, 3]])
    w = displacement(s, first, returned=np.array([2, 3]), N=9)
    assert w.shape == (2,)
    assert w[0] == displacement([1, 0.5], [2, 1], returned=2, N=9)
    assert w[1] == displacement([1, 0.9, 0.2], [0, 1, 3], returned=3, N=9)
    sizes = displacement(s[1], first[1], returned=3, N=np.array([[5], [9]]))
    assert sizes.shape == (2, 1)
    assert sizes[1, 0] == w[1]


def test_padding_is_not_missing():
    for rule in RULES:
        padded = displacement([1, 0.5, np.nan, np.nan], [0, 1, 0, 0], returned=2, N=9, rule=rule)
        assert padded == displacement([1, 0.5], [0, 1], returned=2, N=9, rule=rule)
    displacement([1, np.nan], [1, 0], returned=1, N=1, rule="incremental")


# -- where nothing is defined


def test_no_relevance_is_undefined():
    assert np.isnan(displacement([0, 0], [1, 2], returned=2, N=5))
    assert np.isnan(chance_displacement([0, 0], 5))
    assert np.isnan(greatest_displacement([0, 0], 5))
    assert np.isnan(displacement(np.empty((2, 0)), np.empty((2, 0), int), returned=0, N=5)).all()


def test_chance_that_costs_nothing_is_undefined():
    assert chance_displacement([1], 1) == 0
    assert np.isnan(chance_corrected(displacement([1], [1], returned=1, N=1), chance_displacement([1], 1)))
    assert chance_displacement([1, 1, 1], 3) == 0  # of equals any order is as good as any other


# -- quality


def test_quality_falls_from_one():
    for g in (rational, exponential):
        values = g(np.array([0, 0.5, 2, 50]), 0.7)
        assert values[0] == 1
        assert (np.diff(values) < 0).all()
        assert values[-1] > 0
        assert np.isnan(g(np.array([np.nan]), 1.0)).all()
        for wrong in (0, -1, np.nan, np.inf):
            with pytest.raises(TextError, match="power must be greater than 0"):
                g(np.zeros(1), wrong)


# -- bad input


@pytest.mark.parametrize(
    ("s", "first", "returned", "N", "said"),
    [
        ([1, 1.5], [1, 2], 2, 5, "1.5 does not lie between 0 and 1"),
        ([-0.5], [1], 2, 5, "-0.5 does not lie"),
        ([0.5, 1], [1, 2], 2, 5, "rises"),
        ([1, np.nan, 0.5], [1, 0, 2], 2, 5, "padding, at the end only"),
        ([1, 0.5], [1, 3], 2, 5, "outside the system's list"),
        ([1, 0.5], [1, -3], 2, 5, "outside the system's list"),
        ([1, 0.5], [1, 1], 2, 5, "a list ranks an item once"),
        ([1, 0.5], [1, 0], 5, 5, "N=5 is too small: the two lists together name 6 items"),
    ],
)
def test_bad_lists(s, first, returned, N, said):
    with pytest.raises(TableError, match=said):
        displacement(s, first, returned=returned, N=N)


def test_overlapping_runs():
    with pytest.raises(TableError, match="a list ranks an item once"):
        displacement([1, 0.5], [1, 2], length=np.array([3, 2]), returned=5, N=5)


def test_a_number_is_no_answer():
    with pytest.raises(TableError, match="last axis is the subject's rank"):
        displacement(1.0, 1, returned=1, N=1)


def test_bad_rule():
    with pytest.raises(TextError, match="did you mean optimist"):
        displacement([1], [1], returned=1, N=1, rule="optimistic")


def test_incremental_asks_for_more():
    with pytest.raises(JoinError, match=r"rank 2 of the subject.*ask the system for more items"):
        displacement([1, 0.5, 0.2], [2, 0, 1], returned=2, N=9, rule="incremental")


# -- tables


def run_of(*rows, ties="trec"):
    frame = pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")
    return Run.of(frame.cast({"score": pl.Float64}), ties=ties)


def lists(**systems):
    """run(a={"q": "bxayd"}): items in falling score; brackets hold equals."""
    rows = []
    for system, queries in systems.items():
        for query, items in queries.items():
            score, inside = 100, False
            for item in items:
                if item in "()":
                    inside = item == "("
                    score -= 1
                    continue
                rows.append((system, query, item, score))
                score -= not inside
    return rows


def answers_of(**people):
    """answers_of(ann={"q": [("a", 1), …]})."""
    rows = [
        (source, query, item, float(s))
        for source, of_query in people.items()
        for query, pairs in of_query.items()
        for item, s in pairs
    ]
    return Answers.of(pl.DataFrame(rows, schema=["source", "query", "item", "relevance"], orient="row"))


ANN = list(zip("abcde", [1, 0.9, 0.7, 0.5, 0.3], strict=True))


@pytest.mark.parametrize(
    ("rule", "total"), [("optimist", 6.1), ("printed", 103.4), ("tail", 99.1), ("worst", 99.5), ("uniform", 52.8)]
)
def test_compare_gives_the_worked_numbers(rule, total):
    run, answers = run_of(*lists(one={"q": "bxayd"})), answers_of(ann={"q": ANN})
    made = compare_answers(run, answers, N=100, rule=rule)
    assert made.columns == [
        "system", "source", "query", "w_A", "w_B", "displacement", "per_item", "quality", "score", "returned",
        "undefined",
    ]  # fmt: skip
    row = made.row(0, named=True)
    assert row["w_A"] == pytest.approx(3.4)
    assert row["w_B"] == pytest.approx(total - 3.4)
    assert row["displacement"] == pytest.approx(total)
    assert row["per_item"] == pytest.approx(total / 3.4)
    assert row["quality"] == pytest.approx(1 / (1 + total / 3.4))
    e = [(k * (k - 1) + (100 - k) * (101 - k)) / 200 for k in range(1, 6)]
    chance = sum(s * one for (_, s), one in zip(ANN, e, strict=True))
    assert row["score"] == pytest.approx(1 - total / chance)
    assert row["returned"] == pytest.approx(0.6)
    assert row["undefined"] is False


def test_the_three_scales():
    run, answers = run_of(*lists(one={"q": "badec"})), answers_of(ann={"q": list(zip("abcde", FIVE, strict=True))})
    w = displacement(FIVE, [2, 1, 5, 3, 4], returned=5, N=5)
    for scale, x in (("mean", w / 3), ("chance", w / 4.8), ("raw", w)):
        for g, of in (("rational", rational), ("exponential", exponential)):
            made = compare_answers(run, answers, N=5, g=g, power=2, scale=scale)
            assert made["quality"][0] == pytest.approx(of(x, 2))
    assert made["displacement"][0] == pytest.approx(3.6)
    assert made["score"][0] == pytest.approx(0.25)


def plain_compare(run, answers, N):
    """(system, source, query) -> w under the uniform rule, by enumeration."""
    found = {}
    for system in run.systems:
        mine = run.frame.filter(pl.col("system") == system)
        for (source, query), rows in answers.frame.group_by("source", "query", maintain_order=True):
            place = {row["item"]: row for row in mine.filter(pl.col("query") == query).iter_rows(named=True)}
            size = N
            if size is None:
                both = (
                    run.frame.filter(pl.col("query") == query)["item"].to_list()
                    + answers.frame.filter(pl.col("query") == query)["item"].to_list()
                )
                size = len(set(both))
            items, s = rows["item"].to_list(), rows["relevance"].to_list()
            blocks = [other["block"] for other in place.values()]
            first = [place[item]["block"] if item in place else 0 for item in items]
            length = [blocks.count(start) or 1 for start in first]
            orders = every_order(first, length, len(place), size)
            found[system, source, query] = np.mean([cost(s, ranks) for ranks in orders]) if sum(s) else np.nan
    return found


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_tables_agree_with_enumeration(data):
    scores = st.sampled_from([1.0, 2.0, 3.0])
    names = st.sampled_from("abcd")
    rows = data.draw(
        st.lists(
            st.tuples(st.sampled_from(["s2", "s1"]), st.sampled_from(["q1", "q2"]), names, scores),
            unique_by=lambda row: row[:3],
            min_size=1,
            max_size=10,
        )
    )
    given_answers = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(["bob", "ann"]),
                st.sampled_from(["q1", "q2", "q3"]),
                names,
                st.sampled_from([0.0, 0.5, 0.9, 1.0]),
            ),
            unique_by=lambda row: row[:3],
            min_size=1,
            max_size=10,
        )
    )
    run = run_of(*rows)
    answers = Answers.of(pl.DataFrame(given_answers, schema=["source", "query", "item", "relevance"], orient="row"))
    if not {row[1] for row in rows} & {row[1] for row in given_answers}:
        with pytest.raises(JoinError, match="no query has both a list and an answer"):
            compare_answers(run, answers)
        return
    for N in (None, 8) if len(rows) + len(given_answers) < 8 else (None,):
        made = compare_answers(run, answers, N=N)
        expected = plain_compare(run, answers, N)
        assert made.select("system", "source", "query").rows() == [
            (system, source, query)
            for system in run.systems
            for source in answers.sources
            for query in sorted({key[2] for key in expected if key[1] == source})
        ]
        for row in made.iter_rows(named=True):
            w = expected[row["system"], row["source"], row["query"]]
            assert row["displacement"] == pytest.approx(w, nan_ok=True)
            assert row["undefined"] == np.isnan(w)


def test_many_batches_are_one(monkeypatch):
    people = {f"p{n}": {"q": list(zip("abcdefgh"[:n], np.linspace(1, 0.3, n), strict=True))} for n in range(1, 9)}
    run, answers = run_of(*lists(one={"q": "ha(bc)d"}, two={"q": "gx"})), answers_of(**people)
    whole = compare_answers(run, answers, N=20)
    monkeypatch.setattr(module, "CELLS", 8)
    assert compare_answers(run, answers, N=20).equals(whole)


def test_ties_of_the_system():
    answers = answers_of(ann={"q": [("a", 1.0), ("b", 0.5)]})
    rows = lists(one={"q": "(xab)"})
    expected = np.mean([1 * abs(1 - order.index("a")) + 0.5 * abs(2 - order.index("b")) for order in _orders("xab")])
    assert compare_answers(run_of(*rows), answers)["displacement"][0] == pytest.approx(expected)
    as_read = compare_answers(run_of(*rows, ties="input"), answers)["displacement"][0]
    assert as_read == pytest.approx(1 * 1 + 0.5 * 1)


def _orders(items):
    return [["", *order] for order in permutations(items)]


def test_a_query_without_a_list_is_an_empty_list():
    run = run_of(*lists(one={"q": "ab", "r": "ab"}, two={"q": "ba"}))
    made = compare_answers(run, answers_of(ann={"q": [("a", 1), ("b", 0.5)], "r": [("a", 1), ("b", 0.5)]}), N=10)
    row = made.filter((pl.col("system") == "two") & (pl.col("query") == "r")).row(0, named=True)
    assert row["returned"] == 0
    assert row["score"] == pytest.approx(0)


def test_undefined_answers_are_told():
    run = run_of(*lists(one={"q": "ab", "r": "a"}))
    made = compare_answers(run, answers_of(ann={"q": [("a", 0), ("b", 0)], "r": [("a", 1)]}))
    assert made["undefined"].to_list() == [True, False]
    assert made.select("displacement", "per_item", "quality", "score").row(0) == pytest.approx(
        [np.nan] * 4, nan_ok=True
    )
    assert made["per_item"][1] == 0
    assert np.isnan(made["score"][1])  # a collection of one item has one order
    averaged = average_answers(made).row(0, named=True)
    assert averaged["per_item"] == 0
    assert np.isnan(averaged["score"])
    assert averaged["undefined"] == 2


def test_small_n_names_the_place():
    run, answers = run_of(*lists(one={"q": "bxayd"})), answers_of(ann={"q": ANN})
    with pytest.raises(TableError, match="N=6 is too small: 'one' and 'ann' together name 7 items for query 'q'"):
        compare_answers(run, answers, N=6)


def test_incremental_names_the_item():
    run, answers = run_of(*lists(one={"q": "bxayd"})), answers_of(ann={"q": ANN})
    with pytest.raises(JoinError, match=r"'one' did not return item 'c' of 'ann', query 'q'.*ask the system for more"):
        compare_answers(run, answers, N=100, rule="incremental")
    more = compare_answers(run_of(*lists(one={"q": "bxaydzce"})), answers, N=100, rule="incremental")
    assert more["displacement"][0] == pytest.approx(3.4 + 0.7 * 4 + 0.3 * 3)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"rule": "pessimist"}, "rule must be one of uniform, optimist"),
        ({"g": "rationale"}, "did you mean rational"),
        ({"scale": "means"}, "did you mean mean"),
        ({"power": 0}, "power must be greater than 0, not 0"),
    ],
)
def test_bad_settings(setting, said):
    with pytest.raises(TextError, match=said):
        compare_answers(run_of(*lists(one={"q": "a"})), answers_of(ann={"q": [("a", 1)]}), **setting)


def test_means_are_over_subjects_then_over_queries():
    run = run_of(*lists(one={"q": "abc", "r": "cba"}))
    answers = answers_of(
        ann={"q": [("a", 1), ("b", 0.5)], "r": [("a", 1), ("b", 0.5)]}, bob={"q": [("b", 1), ("c", 0.5)]}
    )
    made = compare_answers(run, answers, N=3)
    quality = {row[:2]: row[2] for row in made.select("source", "query", "quality").iter_rows()}
    averaged = average_answers(made).row(0, named=True)
    expected = ((quality["ann", "q"] + quality["bob", "q"]) / 2 + quality["ann", "r"]) / 2
    assert averaged["quality"] == pytest.approx(expected)
    assert (averaged["queries"], averaged["pairs"], averaged["undefined"]) == (2, 3, 0)
    assert averaged["quality"] > rational(averaged["per_item"])  # g is convex: converted first, then averaged
    systems, subjects, queries, values = answer_values(made, "quality")
    assert (systems, subjects, queries) == (["one"], ["ann", "bob"], ["q", "r"])
    whole = [[quality["ann", "q"], quality["ann", "r"]], [quality["bob", "q"], np.nan]]
    np.testing.assert_allclose(values[0], whole)
    interval = crossed_bootstrap(values, resamples=200, rng=np.random.default_rng(1))
    assert interval.mean[0] == pytest.approx(expected)
    with pytest.raises(TextError, match="did you mean quality"):
        answer_values(made, "qualty")
