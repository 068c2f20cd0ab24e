"""Exact comparison of two systems: docs/methods/comparisons.md, Superiority, and enumeration of all truths."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.comparisons import exact, shared
from endoxa.comparisons.exact import compare_two, settled
from endoxa.errors import TextError
from endoxa.measures.uncertain import measure_belief
from endoxa.notes import texts
from endoxa.tables import Belief, Run


def run_of(given: dict[str, dict[str, str]]) -> Run:
    rows = [
        (s, q, d, -float(n)) for s, lists in given.items() for q, items in lists.items() for n, d in enumerate(items)
    ]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def belief_of(p: dict[str, float]) -> Belief:
    return Belief.of(pl.DataFrame({"query": "q", "item": list(p), "p": list(p.values())}))


A6 = {"a": 0.9, "b": 0.6, "c": 0.8, "d": 0.2, "e": 0.5, "f": 0.1}


def test_the_worked_example() -> None:
    belief = belief_of(A6)
    equal = compare_two(run_of({"A": {"q": "abcd"}, "B": {"q": "cdef"}}), belief, "A", "B", "SetP", "q")
    assert (equal.p_better, equal.p_tie, equal.p_worse, equal.index) == pytest.approx((0.702, 0.255, 0.043, 0.8295))
    assert (equal.difference, equal.sd**2) == pytest.approx((0.225, 0.041875))
    assert compare_two(run_of({"A": {"q": "abcd"}, "B": {"q": "cdef"}}), belief, "A", "B", "P@4") == equal
    run = run_of({"A": {"q": "abc"}, "B": {"q": "cdef"}})
    other = compare_two(run, belief, "A", "B", "SetP", "q")
    assert (other.difference, other.sd**2, other.p_better, other.p_tie) == pytest.approx(
        (0.366667, 0.069028, 0.90312, 0.0072), abs=5e-7
    )
    recall = compare_two(run, belief, "A", "B", "SetR", "q")
    assert (recall.p_better, recall.p_tie) == pytest.approx((0.6102, 0.2958))


def test_b3() -> None:
    p = dict(zip("1234567", (0.8, 0.8, 0.4, 0.4, 0.4, 0.4, 0.2), strict=True))
    made = compare_two(run_of({"S1": {"q": "1245"}, "S2": {"q": "123"}}), belief_of(p), "S1", "S2", "SetP", "q")
    assert (made.p_better, made.p_tie, made.p_worse) == pytest.approx((0.40704, 0.0496, 0.54336), abs=5e-7)


chances = st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0])


@st.composite
def problems(draw):
    """Two queries, the first with two readings, four items each; lists that mention some of them and strangers."""
    rows = [("q", "r", 0.25), ("q", "s", 0.75), ("p", "", 1.0)]
    table = [(q, r, w, d, draw(chances)) for q, r, w in rows for d in "abcd"]
    frame = pl.DataFrame(table, schema=["query", "reading", "weight", "item", "p"], orient="row")
    lists = {
        s: {q: "".join(draw(st.permutations("abcdxy"))[: draw(st.integers(1, 5))]) for q in "qp"} for s in ("A", "B")
    }
    return Belief.of(frame), run_of(lists), lists


@settings(max_examples=30, deadline=None)
@given(problems(), st.integers(1, 4))
def test_enumeration_of_all_truths(problem, k) -> None:
    belief, run, lists = problem
    frame = belief.frame
    worlds = {}  # query: [(chance, relevant items)]
    for query in "qp":
        worlds[query] = []
        for reading, weight in frame.filter(pl.col("query") == query).select("reading", "weight").unique().iter_rows():
            own = frame.filter((pl.col("query") == query) & (pl.col("reading") == reading))
            p = dict(own.select("item", "p").iter_rows())
            for hits in itertools.product([0, 1], repeat=4):
                chance = weight * np.prod([p[d] if hit else 1 - p[d] for d, hit in zip("abcd", hits, strict=True)])
                worlds[query].append((chance, {d for d, hit in zip("abcd", hits, strict=True) if hit}))
    better = tie = mean = 0.0
    for (one, relevant), (two, other) in itertools.product(worlds["q"], worlds["p"]):
        hits = [
            sum(d in relevant for d in lists[s]["q"][:k]) + sum(d in other for d in lists[s]["p"][:k]) for s in "AB"
        ]
        better += one * two * (hits[0] > hits[1])
        tie += one * two * (hits[0] == hits[1])
        mean += one * two * (hits[0] - hits[1]) / (2 * k)
    made = compare_two(run, belief, "A", "B", f"P@{k}")
    assert (made.p_better, made.p_tie, made.difference) == pytest.approx((better, tie, mean), abs=1e-9)
    recall_better = sum(
        chance for chance, relevant in worlds["q"]
        if sum(d in relevant for d in lists["A"]["q"][:k]) > sum(d in relevant for d in lists["B"]["q"][:k])
    )  # fmt: skip
    assert compare_two(run, belief, "A", "B", f"R@{k}", "q").p_better == pytest.approx(recall_better, abs=1e-9)


def test_rows_of_a_comparison_become_exact() -> None:
    run = run_of({"A": {"q": "abcd"}, "B": {"q": "cdef"}, "C": {"q": "fedc"}})
    belief = belief_of(A6)
    scores = measure_belief(run, belief, ["P@4", "AP"], worlds=50)
    drawn = shared.compare(replace(scores, draws=replace(scores.draws, origin=None)))
    made = settled(drawn, scores)
    assert shared.compare(scores).frame.equals(made.frame)
    row = made.frame.filter((pl.col("measure") == "P@4") & (pl.col("doubt") == "truth")).row(0, named=True)
    assert (row["p_better"], row["p_tie"], row["superiority"]) == pytest.approx((0.702, 0.255, 0.8295))
    rest = (pl.col("measure") == "AP") | (pl.col("doubt") != "truth")
    assert made.frame.filter(rest).equals(drawn.frame.filter(rest))
    assert texts(made.notes)[-1] == "The doubt about the truth of P@4 is exact."


@pytest.mark.parametrize(
    ("words", "said"),
    [(("A", "x", "P@4"), "no system is called 'x'"), (("A", "B", "AP"), "no exact comparison"),
     (("A", "B", "SetR"), "on one query"), (("A", "B", "P@4", "z"), "no query 'z'")],
)  # fmt: skip
def test_what_has_no_exact_answer(words, said) -> None:
    with pytest.raises(TextError, match=said):
        compare_two(run_of({"A": {"q": "abcd"}, "B": {"q": "cdef"}}), belief_of(A6), *words)


def test_each_measure_may_have_as_many_exact_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    run, belief = run_of({"A": {"q": "abcd"}, "B": {"q": "cdef"}}), belief_of(A6)
    scores = measure_belief(run, belief, ["P@4", "P@2"], worlds=50)
    drawn = shared.compare(replace(scores, draws=replace(scores.draws, origin=None)))
    monkeypatch.setattr(exact, "MOST", 1)
    assert texts(settled(drawn, scores).notes)[-1] == "The doubt about the truth of P@4, P@2 is exact."
    monkeypatch.setattr(exact, "MOST", 0.5)
    assert settled(drawn, scores) is drawn


def test_where_everything_is_relevant_lists_of_one_length_tie() -> None:
    run = run_of({"A": {"q": "abcd"}, "B": {"q": "cdef"}})
    made = compare_two(run, belief_of(A6), "A", "B", "P(rel=0)@4")
    assert (made.p_better, made.p_tie, made.difference) == (0, 1, 0)


def test_items_of_three_queries_are_told_apart() -> None:
    chances = {"p": {"a": 0.9, "b": 0.1}, "q": {"a": 0.3, "b": 0.6}, "r": {"a": 0.2, "b": 0.7}}
    rows = [(query, item, p) for query, items in chances.items() for item, p in items.items()]
    belief = Belief.of(pl.DataFrame(rows, schema=["query", "item", "p"], orient="row"))
    run = run_of({"A": {"p": "ab", "q": "ab", "r": "ba"}, "B": {"p": "ba", "q": "ba", "r": "ab"}})
    better = tie = 0.0
    for hits in itertools.product([0, 1], repeat=6):
        chance = np.prod([p if hit else 1 - p for (_, _, p), hit in zip(rows, hits, strict=True)])
        gained = hits[0] - hits[1] + hits[2] - hits[3] - hits[4] + hits[5]
        better, tie = better + chance * (gained > 0), tie + chance * (gained == 0)
    made = compare_two(run, belief, "A", "B", "P@1")
    assert (made.p_better, made.p_tie) == pytest.approx((better, tie), abs=1e-12)
