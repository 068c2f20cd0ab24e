"""What to judge next: influence by a dense computation, chances of a fixed sum, samples of a fixed size."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from endoxa.beliefs.learned import Judged, Learned, Universe, learn
from endoxa.comparisons.posterior import posterior
from endoxa.comparisons.rounds import rounds_of
from endoxa.errors import JoinError, TextError
from endoxa.measures.grammar import Measure, parse_all
from endoxa.pools.choosing import about_of, choose, default_chances, inclusion, influences, propensities, systematic
from endoxa.tables import Opinions, Run

SYSTEMS = ("s0", "s1", "s2", "s3")


def one(name: str) -> Measure:
    return parse_all([name])[0]


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def field(topics: int = 4, items: int = 16, length: int = 8, seed: int = 0) -> tuple[Run, dict[tuple[str, str], float]]:
    stream = rng(seed)
    rows, truth = [], {}
    for q in range(topics):
        worth = stream.normal(size=items)
        truth |= {(f"q{q:03}", f"d{d:02}"): float(worth[d] > 0.5) for d in range(items)}
        for s, name in enumerate(SYSTEMS):
            best = np.argsort(-(worth + stream.normal(0, 0.5 + s, items)))[:length]
            rows += [(name, f"q{q:03}", f"d{d:02}", -float(n)) for n, d in enumerate(best)]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")), truth


def labels_of(grades: Mapping[tuple[str, str], float]) -> Opinions:
    rows = [(*pair, grade) for pair, grade in grades.items()]
    return Opinions.of(
        pl.DataFrame(rows, schema={"query": pl.String, "item": pl.String, "grade": pl.Float64}, orient="row")
    )


def taught(run: Run, grades: Mapping[tuple[str, str], float] | None = None, depth: int = 8) -> Learned:
    universe = Universe.of(run, depth)
    return learn(universe, Judged.of(universe, None if grades is None else labels_of(grades)))


RUN, TRUTH = field()
NOTHING = taught(RUN)
SOME = taught(RUN, {pair: TRUTH[pair] for pair in NOTHING.universe.rows.rows()[::5]})


# ---- influence ----------------------------------------------------------------------------------------


def value(learned: Learned, name: str, p: np.ndarray) -> np.ndarray:
    """[system, topic] AP or DCG@5 at expected relevance, by its definition."""
    u = learned.universe
    found = np.zeros((len(u.systems), len(u.queries)))
    for s in range(len(u.systems)):
        for t in range(len(u.queries)):
            mine = (u.system == s) & (u.topic[u.row] == t)
            chance, rank = p[u.row[mine]], u.rank[mine]
            if name == "DCG@5":
                found[s, t] = (chance / np.log2(rank + 1))[rank <= 5].sum()
            else:
                before = np.concatenate([[0], np.cumsum(chance)[:-1]])
                found[s, t] = (chance * (1 + before) / rank).sum() / p[u.topic == t].sum()
    return found


def dense(learned: Learned, name: str, p: np.ndarray) -> np.ndarray:
    """[system, row] derivative of the value of the row's topic, by small differences."""
    found = np.zeros((len(SYSTEMS), len(p)))
    for row in range(len(p)):
        sides = []
        for step in (1e-6, -1e-6):
            moved = p.copy()
            moved[row] += step
            sides.append(value(learned, name, moved).sum(1))
        found[:, row] = (sides[0] - sides[1]) / 2e-6
    return found


@pytest.mark.parametrize("name", ["AP", "DCG@5"])
@pytest.mark.parametrize("learned", [NOTHING, SOME], ids=["nothing", "some"])
def test_influence_is_the_spread_of_the_derivatives(name: str, learned: Learned) -> None:
    p = rng().uniform(0.1, 0.9, learned.universe.rows.height)
    a = dense(learned, name, p)
    assert influences(learned, one(name), p) == pytest.approx(a.std(0), abs=1e-8)


@pytest.mark.parametrize("name", ["AP", "DCG@5"])
def test_influence_about_the_best_weighs_by_p_best(name: str) -> None:
    p = rng().uniform(0.1, 0.9, SOME.universe.rows.height)
    a = dense(SOME, name, p)
    weight = posterior(SOME, one(name)).best + 0.02
    weight /= weight.sum()
    spread = np.sqrt(weight @ (a - weight @ a) ** 2)
    assert influences(SOME, one(name), p, "best") == pytest.approx(spread, abs=1e-8)
    assert np.ptp(weight) > 0.1  # they are not all alike


def test_influence_about_two_systems_is_their_difference() -> None:
    p = rng().uniform(0.1, 0.9, NOTHING.universe.rows.height)
    a = dense(NOTHING, "AP", p)
    assert influences(NOTHING, one("AP"), p, ("s0", "s3")) == pytest.approx(np.abs(a[0] - a[3]), abs=1e-8)
    assert influences(NOTHING, one("AP"), p, ("s1", "s1")) == pytest.approx(np.zeros(len(p)), abs=1e-12)


# ---- chances ------------------------------------------------------------------------------------------


def test_the_formula_by_hand() -> None:
    """share = .9 score/Σ score + .1/n within the topic, score = (√(p (1 - p)) · influence)^2.5; π = min(1, c share)."""
    u = NOTHING.universe
    table = propensities(NOTHING, one("AP"), 9)
    p = u.consensus
    assert table["p"].to_numpy() == pytest.approx(p)
    assert table.select("query", "item").equals(u.rows)
    score = (np.sqrt(p * (1 - p)) * dense(NOTHING, "AP", p).std(0)) ** 2.5
    share = np.zeros(len(p))
    for t in range(4):
        mine = u.topic == t
        share[mine] = 0.9 * score[mine] / score[mine].sum() + 0.1 / mine.sum()
    c = brentq(lambda c: np.minimum(1, c * share).sum() - 9, 0, 1e6)
    assert table["propensity"].to_numpy() == pytest.approx(np.minimum(1, c * share), abs=1e-6)
    assert table["propensity"].sum() == pytest.approx(9)
    votes = RUN.frame.group_by("query", "item").len()
    both = table.join(votes, on=["query", "item"])
    assert both.height == table.height
    assert (both["systems"] == both["len"]).all()


def test_once_there_are_labels_the_belief_is_half_learned() -> None:
    expected = (SOME.free[0] + SOME.universe.consensus) / 2
    assert default_chances(SOME, one("AP")) == pytest.approx(expected)
    table = propensities(SOME, one("AP"), 5)
    assert table["p"].to_numpy() == pytest.approx(expected[SOME.unjudged])
    assert default_chances(NOTHING, one("AP")) == pytest.approx(NOTHING.universe.consensus)


def test_graded_labels_are_mixed_at_the_level_of_the_measure() -> None:
    grades = {pair: 2 * TRUTH[pair] + (n % 2) for n, pair in enumerate(NOTHING.universe.rows.rows()[::4])}
    learned = taught(RUN, grades)
    assert learned.levels == (1, 2, 3)
    expected = (learned.free[1] + learned.universe.consensus) / 2
    assert default_chances(learned, one("AP(rel=2)")) == pytest.approx(expected)


def test_judged_pairs_are_never_asked_again() -> None:
    judged = set(NOTHING.universe.rows.rows()[::5])
    table = propensities(SOME, one("AP"), 5)
    assert set(table.select("query", "item").rows()) == set(NOTHING.universe.rows.rows()) - judged
    for seed in range(10):
        drawn = choose(SOME, one("AP"), 12, rng=rng(seed))
        assert not judged & set(drawn.select("query", "item").rows())
    undecided = taught(RUN, {("q000", "d00"): -1.0})
    assert propensities(undecided, one("AP"), 5).height == NOTHING.universe.rows.height


def test_a_measure_that_looks_at_five_draws_from_five() -> None:
    tops = RUN.frame.filter(pl.col("rank") <= 5).select("query", "item").unique().sort("query", "item")
    assert propensities(NOTHING, one("P@5"), 5).select("query", "item").equals(tops)
    assert propensities(NOTHING, one("AP"), 5, depth=5).select("query", "item").equals(tops)
    assert propensities(NOTHING, one("P@5"), 5, depth=8).height == NOTHING.universe.rows.height
    three = propensities(NOTHING, one("P@5"), 5)
    votes = RUN.frame.filter(pl.col("rank") <= 5).group_by("query", "item").len()
    both = three.join(votes, on=["query", "item"])
    assert (both["systems"] == both["len"]).all()


def test_a_belief_that_is_given_says_p_and_what_can_be_drawn() -> None:
    p = rng().uniform(0.1, 0.9, NOTHING.universe.rows.height)
    p[::3] = np.nan
    table = propensities(NOTHING, one("AP"), 6, p=p)
    known = ~np.isnan(p)
    assert table.select("query", "item").equals(NOTHING.universe.rows.filter(pl.Series(known)))
    assert table["p"].to_numpy() == pytest.approx(p[known])
    assert table["influence"].to_numpy() == pytest.approx(influences(NOTHING, one("AP"), np.nan_to_num(p))[known])
    assert np.isfinite(table["propensity"].to_numpy()).all()
    assert table["propensity"].sum() == pytest.approx(6)


def test_a_certain_belief_gives_even_chances_within_a_topic() -> None:
    p = (rng().random(NOTHING.universe.rows.height) < 0.5).astype(float)
    table = propensities(NOTHING, one("AP"), 8, p=p)
    for _, part in table.group_by("query"):
        assert part["propensity"].to_numpy() == pytest.approx(np.full(part.height, 2 / part.height))


def test_mixing_spreads_the_chances() -> None:
    u = NOTHING.universe
    even = propensities(NOTHING, one("AP"), 4, mixing=1)
    sizes = np.bincount(u.topic)[u.topic]
    assert even["propensity"].to_numpy() == pytest.approx(1 / sizes)
    least = [propensities(NOTHING, one("AP"), 4, mixing=m)["propensity"].min() for m in (0.05, 0.1, 0.5, 1)]
    assert least == sorted(least)
    assert least[0] > 0


shares = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=60)


@settings(max_examples=200, deadline=None)
@given(shares, st.integers(1, 70))
def test_chances_sum_to_the_count_and_follow_one_c(values: list[float], count: int) -> None:
    share = np.array(values)
    made = inclusion(share, count)
    assert made.sum() == pytest.approx(min(len(share), count))
    assert ((made > 0) & (made <= 1)).all()
    below = made < 1 - 1e-9
    if below.any():
        c = (made / share)[below]
        assert c == pytest.approx(np.full(len(c), c[0]))
        assert (c[0] * share[~below] >= 1 - 1e-6).all()


@settings(max_examples=200, deadline=None)
@given(shares, st.integers(1, 70), st.integers(1, 8), st.integers(0, 2**32))
def test_exactly_the_count_is_drawn(values: list[float], count: int, topics: int, seed: int) -> None:
    made = inclusion(np.array(values), count)
    topic = np.sort(np.arange(len(values)) % topics)
    drawn = systematic(made, topic, rng(seed))
    assert drawn.sum() == min(count, len(values))
    assert drawn[made == 1].all()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.floats(0.01, 1), st.sampled_from(["order", "best", ("s0", "s2")]), st.integers(0, 999))
def test_exactly_the_count_is_chosen(count: int, mixing: float, about, seed: int) -> None:
    drawn = choose(SOME, one("AP"), count, about=about, mixing=mixing, rng=rng(seed))
    assert drawn.height == min(count, int(SOME.unjudged.sum()))
    assert drawn.select("query", "item").is_duplicated().sum() == 0


def test_every_topic_gets_its_share_to_within_one_pair() -> None:
    table = propensities(NOTHING, one("AP"), 13)
    expected = dict(table.group_by("query").agg(pl.col("propensity").sum()).iter_rows())
    for seed in range(50):
        found = dict(choose(NOTHING, one("AP"), 13, rng=rng(seed)).group_by("query").len().iter_rows())
        for query, chance in expected.items():
            assert math.floor(chance - 1e-9) <= found.get(query, 0) <= math.ceil(chance + 1e-9)


# ---- draws --------------------------------------------------------------------------------------------


def test_pairs_come_as_often_as_their_propensity() -> None:
    table = propensities(NOTHING, one("AP"), 9)
    pi, topic = table["propensity"].to_numpy(), table["query"].rle_id().to_numpy()
    stream, n = rng(1), 6_000
    drawn = np.array([systematic(pi, topic, stream) for _ in range(n)])
    error = np.sqrt(pi * (1 - pi) / n)
    assert (np.abs(drawn.mean(0) - pi) < 4.5 * error + 1e-12).all()
    together = drawn.T.astype(float) @ drawn / n
    assert (together[np.triu_indices(len(pi), 1)] > 0).mean() > 0.9  # nearly every two may come together


def test_the_same_generator_gives_the_same_choice_in_random_order() -> None:
    first = choose(NOTHING, one("AP"), 10, rng=rng())
    assert first.equals(choose(NOTHING, one("AP"), 10, rng=rng()))
    assert first.columns == ["order", "query", "item", "p", "influence", "systems", "propensity"]
    assert first["order"].to_list() == list(range(1, 11))
    everything = [choose(NOTHING, one("AP"), 999, rng=rng(seed))["item"].to_list() for seed in range(5)]
    assert len({tuple(items) for items in everything}) == 5
    assert len({tuple(sorted(items)) for items in everything}) == 1
    table = propensities(NOTHING, one("AP"), 10)
    own = first.drop("order").sort("query", "item")
    assert own.equals(table.join(own.select("query", "item"), on=["query", "item"], how="semi"))


def graded(pairs: pl.DataFrame, truth: Mapping[tuple[str, str], float], number: int) -> Opinions:
    grades = [truth[pair] for pair in pairs.select("query", "item").iter_rows()]
    return Opinions.of(
        pairs.select("query", "item", "propensity", pl.Series("grade", grades), pl.lit(number).alias("draw"))
    )


def test_a_second_round_that_looks_at_the_first_stays_unbiased() -> None:
    """The number of relevant pairs, by the weights of `rounds_of`, whatever the second choice makes of the first."""
    run, truth = field(topics=40, items=40, length=12, seed=3)
    nothing = taught(run, depth=12)
    real = sum(truth[pair] for pair in nothing.universe.rows.rows())
    table, topic = propensities(nothing, one("AP"), 80, mixing=0.6), nothing.universe.topic
    assert table["propensity"].max() < 0.5
    stream, totals, alone, highest = rng(3), [], [], 0.0
    for _ in range(60):
        drawn = table.filter(pl.Series(systematic(table["propensity"].to_numpy(), topic, stream)))
        first = graded(drawn, truth, 1)
        learned = learn(nothing.universe, Judged.of(nothing.universe, first), start=nothing)
        second = choose(learned, one("AP"), 80, mixing=0.6, rng=stream)
        highest = max(highest, float(second["propensity"].max()))
        both = rounds_of([graded(second, truth, 2), first]).frame
        totals.append((both["grade"] / both["propensity"]).sum())
        alone.append((first.frame["grade"] / first.frame["propensity"]).sum())
    assert highest < 0.5  # above it the weight of a label would fall below 1
    error = np.std(totals) / math.sqrt(len(totals))
    assert error < 0.02 * real
    assert np.mean(totals) == pytest.approx(real, abs=4 * error)
    assert np.std(totals) < np.std(alone)


# ---- refusals -----------------------------------------------------------------------------------------


def test_refusals() -> None:
    with pytest.raises(TextError, match="at least 1 pair"):
        choose(NOTHING, one("AP"), 0, rng=rng())
    for mixing in (0, 1.5):
        with pytest.raises(TextError, match="mixing must be above 0"):
            choose(NOTHING, one("AP"), 1, mixing=mixing, rng=rng())
    with pytest.raises(JoinError, match="mentions no pair"):
        choose(NOTHING, one("AP"), 1, p=np.full(NOTHING.universe.rows.height, np.nan), rng=rng())
    everything = taught(RUN, {pair: TRUTH[pair] for pair in NOTHING.universe.rows.rows()})
    with pytest.raises(JoinError, match=f"all {NOTHING.universe.rows.height} pairs are judged"):
        choose(everything, one("AP"), 1, rng=rng())
    with pytest.raises(TextError, match="RR does not say what to judge next"):
        choose(NOTHING, one("RR"), 1, rng=rng())
    with pytest.raises(TextError, match="no system is called 's9'"):
        choose(NOTHING, one("AP"), 1, about=("s0", "s9"), rng=rng())
    with pytest.raises(TextError, match="about the order, the best, or two systems"):
        choose(NOTHING, one("AP"), 1, about="worst", rng=rng())  # type: ignore[arg-type]


def test_what_is_to_be_settled_is_read_in_one_place() -> None:
    assert [about_of(text) for text in ("best", "order", "a, b")] == ["best", "order", ("a", "b")]
    for text in ("", "a", "a,b,c", "a,", "a,a"):
        with pytest.raises(TextError, match="about is best, order, or two systems A,B"):
            about_of(text)
