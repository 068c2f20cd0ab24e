"""What to judge next: the formula, its sum, and that the draw keeps its promises."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from endoxa.errors import JoinError, TextError
from endoxa.pools.choosing import choose, filled, propensities
from endoxa.tables import Belief, Opinions, Run


def run_of(lists: dict[str, str], query: str = "q") -> Run:
    rows = [(s, query, item, -float(place)) for s, items in lists.items() for place, item in enumerate(items)]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def belief_of(p: dict[str, float], query: str = "q") -> Belief:
    return Belief.of(pl.DataFrame({"query": [query] * len(p), "item": list(p), "p": list(p.values())}))


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


RUN = run_of({"A": "abcd", "B": "acef"})
BELIEF = belief_of({"a": 0.5, "b": 0.9, "c": 0.5, "d": 0.2, "e": 0.7, "f": 1.0, "g": 0.5})


def test_influence_is_the_spread_of_the_weights() -> None:
    """Two systems: half the difference of 1/log2(rank + 1)."""
    table = propensities(RUN, BELIEF, 2)
    found = dict(table.select("item", "influence").iter_rows())
    weight = [1 / math.log2(rank + 1) for rank in (1, 2, 3, 4)]
    expected = {
        "a": 0.0,
        "b": weight[1] / 2,
        "c": (weight[1] - weight[2]) / 2,
        "d": weight[3] / 2,
        "e": weight[2] / 2,
        "f": weight[3] / 2,
    }
    assert found == pytest.approx(expected)  # g is in no list
    assert dict(table.select("item", "systems").iter_rows()) == {"a": 2, "b": 1, "c": 2, "d": 1, "e": 1, "f": 1}


def test_the_formula_by_hand() -> None:
    """METHODS F.2: π = (1 - ε) c √(p (1 - p)) · influence + ε · even, with the score part summing to (1 - ε) n."""
    table = propensities(RUN, BELIEF, 2, mixing=0.4)
    p, influence = table["p"].to_numpy(), table["influence"].to_numpy()
    score = np.sqrt(p * (1 - p)) * influence
    by_hand = 0.6 * 2 * score / score.sum() + 0.4 * 2 / 6
    assert by_hand.max() < 1
    assert table["propensity"].to_list() == pytest.approx(by_hand.tolist())


def test_what_all_rank_alike_or_is_certain_has_only_the_even_share() -> None:
    found = dict(propensities(RUN, BELIEF, 2, mixing=0.4).select("item", "propensity").iter_rows())
    assert found["a"] == found["f"] == 0.4 * 2 / 6
    assert min(found[item] for item in "bcde") > found["a"]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 0.001, 0.1, 0.3, 0.31, 0.5, 20.0]), min_size=1, max_size=40),
    st.integers(1, 45),
    st.floats(0.05, 1),
)
def test_chances_sum_to_the_count_and_follow_one_c(scores: list[float], count: int, mixing: float) -> None:
    score = np.array(scores)
    made = filled(score, count, mixing)
    n, even = len(score), mixing * count / len(score)
    assert made.sum() == pytest.approx(min(n, count))
    assert ((made > 0) & (made <= 1)).all()
    if n <= count:
        return

    def total(c: float) -> float:
        return float(np.minimum(1, c * score + even).sum()) - count

    if total(1e9) <= 0:  # too few have a score
        assert (made[score > 0] == 1).all()
        assert np.ptp(made[score == 0]) == 0
    else:
        c = brentq(total, 0, 1e9, xtol=1e-14, rtol=1e-14)
        assert made == pytest.approx(np.minimum(1, c * score + even), abs=1e-7)


def test_a_certain_belief_gives_even_chances() -> None:
    table = propensities(RUN, belief_of(dict.fromkeys("abcdef", 1.0)), 3)
    assert table["propensity"].to_list() == pytest.approx([0.5] * 6)


def test_depth_and_judged_pairs_bound_the_universe() -> None:
    assert propensities(RUN, BELIEF, 2, depth=2)["item"].to_list() == ["a", "b", "c"]
    judged = Opinions.of(pl.DataFrame({"query": ["q"] * 3, "item": ["a", "b", "c"], "grade": [1.0, None, -1.0]}))
    assert propensities(RUN, BELIEF, 2, judged=judged)["item"].to_list() == ["b", "c", "d", "e", "f"]  # only a has one


def test_readings_are_mixed() -> None:
    frame = pl.DataFrame(
        {
            "query": ["q"] * 3,
            "reading": ["x", "y", "y"],
            "weight": [3.0, 1.0, 1.0],
            "item": ["a", "a", "b"],
            "p": [1.0, 0.2, 1],
        }
    )
    found = dict(propensities(RUN, Belief.of(frame), 1).select("item", "p").iter_rows())
    assert found == pytest.approx({"a": 0.8, "b": 0.25})


def test_the_same_rng_gives_the_same_choice_in_random_order() -> None:
    first = choose(RUN, BELIEF, 4, rng=rng())
    assert first.equals(choose(RUN, BELIEF, 4, rng=rng()))
    assert first.columns == ["order", "query", "item", "p", "influence", "systems", "propensity"]
    assert first["order"].to_list() == list(range(1, first.height + 1))
    orders = {tuple(choose(RUN, BELIEF, 6, rng=rng(seed))["item"]) for seed in range(20)}
    assert len(orders) > 10  # six items, all chosen


COPIES = 200
QUERIES = [f"q{place:03}" for place in range(COPIES)]
MANY = Run.of(pl.concat(RUN.frame.with_columns(pl.lit(query).alias("query")) for query in QUERIES))
TRUTH = dict(zip("abcdef", (1.0, 1.0, 0.0, 0.0, 1.0, 0.0), strict=True))


def many(belief: Belief) -> Belief:
    return Belief.of(pl.concat(belief.frame.with_columns(pl.lit(query).alias("query")) for query in QUERIES))


def test_pairs_are_drawn_independently_with_their_propensity() -> None:
    """20 draws from 200 copies of a query: how often each, and each two, came; and the Horvitz–Thompson count."""
    belief = many(BELIEF)
    pi = propensities(MANY, belief, 3 * COPIES)["propensity"].to_numpy()[:6]
    assert pi == pytest.approx(propensities(RUN, BELIEF, 3)["propensity"].to_numpy())
    stream = rng()
    draws = [choose(MANY, belief, 3 * COPIES, rng=stream) for _ in range(20)]
    frame = pl.concat(part.with_columns(pl.lit(number).alias("draw")) for number, part in enumerate(draws))
    n = 20 * COPIES
    drawn = np.zeros((n, 6))
    row = frame["draw"].to_numpy() * COPIES + frame["query"].str.slice(1).cast(pl.Int64).to_numpy()
    drawn[row, frame["item"].replace_strict(list("abcdef"), list(range(6))).to_numpy()] = 1
    error = np.sqrt(pi * (1 - pi) / n)
    assert (np.abs(drawn.mean(0) - pi) < 4 * error + 1e-12).all()
    together = drawn.T @ drawn / n
    off = ~np.eye(6, dtype=bool)
    assert np.abs(together - np.outer(pi, pi))[off].max() < 4 * 0.5 / math.sqrt(n)
    totals = drawn / pi @ np.array(list(TRUTH.values()))
    assert totals.mean() == pytest.approx(3, abs=4 * totals.std() / math.sqrt(n))
    assert drawn.sum() / n == pytest.approx(3, abs=0.1)


def test_a_second_round_that_looks_at_the_first_stays_unbiased() -> None:
    """Known pairs count as known, the rest by its last propensity: the mean of the estimates is the truth."""
    stream, totals, belief = rng(3), [], many(BELIEF)
    grade = pl.col("item").replace_strict(TRUTH).alias("grade")
    for _ in range(40):
        first = choose(MANY, belief, 2 * COPIES, rng=stream).with_columns(grade)
        found = first.group_by("query").agg(pl.col("grade").sum().alias("found"))
        seen = belief.frame.join(found, on="query", how="left")
        better = seen.with_columns(pl.when(pl.col("found") > 1).then(0.95).otherwise(0.3).alias("p"))
        second = choose(MANY, Belief.of(better), 2 * COPIES, judged=Opinions.of(first), rng=stream).with_columns(grade)
        totals.append(first["grade"].sum() + (second["grade"] / second["propensity"]).sum())
    error = np.std(totals) / math.sqrt(len(totals))
    assert error < 0.01 * 3 * COPIES
    assert np.mean(totals) == pytest.approx(3 * COPIES, abs=4 * error)


def test_refusals() -> None:
    with pytest.raises(TextError, match="at least 1 pair"):
        choose(RUN, BELIEF, 0, rng=rng())
    for mixing in (0, 1.5):
        with pytest.raises(TextError, match="mixing must be above 0"):
            choose(RUN, BELIEF, 1, mixing=mixing, rng=rng())
    with pytest.raises(TextError, match="depth"):
        choose(RUN, BELIEF, 1, depth=0, rng=rng())
    with pytest.raises(JoinError, match="mentions no pair"):
        choose(RUN, belief_of({"z": 0.5}), 1, rng=rng())
    judged = Opinions.of(pl.DataFrame({"query": ["q"] * 6, "item": list("abcdef"), "grade": [0.0] * 6}))
    with pytest.raises(JoinError, match="all 6 pairs are judged"):
        choose(RUN, BELIEF, 1, judged=judged, rng=rng())
