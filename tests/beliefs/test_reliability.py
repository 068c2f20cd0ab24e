"""Belief against labels: Brier, Spiegelhalter, slope, reliability, gaps, and isotonic recalibration."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from endoxa.beliefs import reliability
from endoxa.beliefs.reliability import brier, calibrate, chances, decided, recalibrated, spiegelhalter, wilson
from endoxa.errors import JoinError, TableError, TextError
from endoxa.notes import texts
from endoxa.tables import Belief, Opinions, Run

P, Z = np.array([0.9, 0.6, 0.8, 0.2]), np.array([1.0, 0.0, 1.0, 0.0])


def belief_of(p, query=None, **settings):
    items = [f"d{place:04}" for place in range(len(p))]
    queries = ["q"] * len(p) if query is None else query
    return Belief.of(pl.DataFrame({"query": queries, "item": items, "p": np.asarray(p, dtype=float)}), **settings)


def labels_of(z, query=None, propensity=None, places=None):
    at = list(range(len(z))) if places is None else places
    frame = {
        "query": ["q"] * len(z) if query is None else query,
        "item": [f"d{place:04}" for place in at],
        "grade": np.asarray(z, dtype=float),
        "propensity": [None] * len(z) if propensity is None else propensity,
    }
    return Opinions.of(pl.DataFrame(frame, schema_overrides={"propensity": pl.Float64}))


def test_worked_example() -> None:
    """docs/methods/beliefs.md, Reliability: Brier .112500, z = -.468293."""
    assert brier(P, Z) == pytest.approx(0.1125)
    z, p_value = spiegelhalter(P, Z)
    assert z == pytest.approx(-0.468293, abs=5e-7)
    assert p_value == pytest.approx(2 * stats.norm.sf(0.468293), abs=1e-6)
    found = calibrate(belief_of(P), labels_of(Z))
    assert (found.brier, found.z, found.labels) == (pytest.approx(0.1125), pytest.approx(z), 4)


def test_what_tests_nothing_is_nan() -> None:
    assert all(math.isnan(value) for value in spiegelhalter(np.array([0.5, 0.5, 1.0]), np.array([1.0, 0.0, 1.0])))
    assert math.isnan(brier(np.array([]), np.array([])))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=8))
def test_spiegelhalter_has_mean_0_and_variance_1_over_all_worlds(stated: list[float]) -> None:
    p = np.array(stated)
    worlds = np.array(list(np.ndindex(*(2,) * len(p))), dtype=float)
    chance = np.prod(np.where(worlds == 1, p, 1 - p), axis=1)
    values = np.array([spiegelhalter(p, world)[0] for world in worlds])
    if np.isnan(values).any():
        assert (p == 0.5).all()
        return
    assert chance @ values == pytest.approx(0, abs=1e-6)
    assert chance @ values**2 == pytest.approx(1, rel=1e-6)


def test_false_alarms_of_the_test_are_what_it_admits() -> None:
    rng = np.random.default_rng(1)
    p = rng.beta(1, 2, (2000, 150))
    found = [spiegelhalter(row, (rng.random(150) < row).astype(float))[1] for row in p]
    alarms = int((np.array(found) < 0.05).sum())
    low, high = stats.binom.ppf([0.0005, 0.9995], 2000, 0.05)
    assert low <= alarms <= high


def logistic(p, z, w):
    """Intercept and slope by a general optimiser."""
    x = np.log(p / (1 - p))

    def loss(at):
        eta = at[0] + at[1] * x
        return (w * (np.logaddexp(0, eta) - z * eta)).sum()

    return optimize.minimize(loss, [0.0, 1.0], method="BFGS", options={"gtol": 1e-9}).x


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("twist", [1.0, 0.4, -0.5, 3.0])
def test_slope_and_intercept_are_the_greatest_likelihood(twist, weighted) -> None:
    rng = np.random.default_rng(5)
    p = rng.uniform(0.02, 0.98, 200)
    true = 1 / (1 + np.exp(-(0.3 + twist * np.log(p / (1 - p)))))
    z = (rng.random(200) < true).astype(float)
    pi = rng.uniform(0.2, 1, 200) if weighted else np.ones(200)
    found = calibrate(belief_of(p), labels_of(z, propensity=pi if weighted else None))
    assert (found.intercept, found.slope) == pytest.approx(tuple(logistic(p, z, 1 / pi)), abs=1e-4)
    assert found.brier == pytest.approx(((z - p) ** 2 / pi).sum() / (1 / pi).sum())


def test_slope_is_nan_where_no_finite_one_fits() -> None:
    for p, z in (
        ([0.2, 0.3, 0.7], [0, 0, 1]),  # separated
        ([0.2, 0.3, 0.7], [1, 1, 1]),
        ([0.5, 0.5, 0.5], [0, 1, 1]),  # one p
        ([0.0, 1.0, 0.0], [0, 1, 1]),  # certain
    ):
        found = calibrate(belief_of(p), labels_of(z))
        assert math.isnan(found.slope)
        assert math.isnan(found.intercept)
        assert not math.isnan(found.brier)
    assert "3 labels meet a belief that is certain (p 0 or 1), 1 of them against it" in " ".join(texts(found.notes))


def test_interval_of_the_slope_covers() -> None:
    """30 queries of 10 items, each query with its own shift: clustering matters. True slope found on 8,000 queries."""
    rng = np.random.default_rng(6)

    def sample(queries):
        shift = np.repeat(rng.normal(0, 0.8, queries), 10)
        p = rng.uniform(0.05, 0.95, queries * 10)
        true = 1 / (1 + np.exp(-(shift + 0.6 * np.log(p / (1 - p)))))
        return p, (rng.random(queries * 10) < true).astype(float)

    p, z = sample(8_000)
    slope = logistic(p, z, np.ones(len(p)))[1]
    query = [f"q{place // 10:02}" for place in range(300)]
    hits = 0
    for _ in range(200):
        p, z = sample(30)
        found = calibrate(belief_of(p, query), labels_of(z, query))
        hits += found.slope_lo <= slope <= found.slope_hi
    assert hits / 200 >= 0.91


def test_reliability_table() -> None:
    p = [0.05, 0.1, 0.15, 0.55, 0.58, 1.0]
    z = [0, 0, 1, 1, 0, 1]
    table = calibrate(belief_of(p), labels_of(z)).reliability
    assert table.columns == ["lowest", "highest", "stated", "observed", "lo", "hi", "count"]
    assert table["count"].to_list() == [1, 2, 0, 0, 0, 2, 0, 0, 0, 1]
    row = table.row(1, named=True)
    assert (row["stated"], row["observed"]) == (pytest.approx(0.125), 0.5)
    exact = stats.binomtest(1, 2).proportion_ci(method="wilson")
    assert (row["lo"], row["hi"]) == pytest.approx((exact.low, exact.high))
    assert all(math.isnan(table[name][2]) for name in ("stated", "observed", "lo", "hi"))


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (3, 9), (9, 9)])
def test_wilson_is_scipys(hits, n) -> None:
    exact = stats.binomtest(hits, n).proportion_ci(0.9, method="wilson")
    lo, hi = wilson(np.array(hits / n), np.array(n), 0.9)
    assert (float(lo), float(hi)) == pytest.approx((exact.low, exact.high), abs=1e-12)


def lists(systems):
    rows = [
        (s, q, item, -float(k))
        for s, found in systems.items()
        for q, items in found.items()
        for k, item in enumerate(items)
    ]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def test_gap_of_a_system_by_hand() -> None:
    query = ["a"] * 3 + ["b"] * 3
    p, z = np.array([0.9, 0.5, 0.1, 0.8, 0.4, 0.2]), np.array([1.0, 0, 0, 0, 1, 0])
    pi = [0.5, 1.0, 0.25, 0.5, 1.0, 1.0]
    run = lists(
        {"S": {"a": ["d0000", "d0002"], "b": ["d0003", "x", "d0005"]}, "T": {"a": ["x"]}, "U": {"a": ["d0001"]}}
    )
    table = calibrate(belief_of(p, query), labels_of(z, query, pi), run, depth=2).systems
    assert table is not None
    assert table["system"].to_list() == ["S", "T", "U"]
    row = table.row(0, named=True)
    at, w = [0, 2, 3], np.array([2.0, 4.0, 2.0])  # d0005 is at rank 3, x is not judged
    error = (z - p)[at]
    gap = (w * error).sum() / 8
    r_a, r_b = (w * (error - gap))[:2].sum() / 8, (w * (error - gap))[2:].sum() / 8
    se = math.sqrt(2 / 1 * (r_a**2 + r_b**2))
    assert row["gap"] == pytest.approx(gap)
    assert row["se"] == pytest.approx(se)
    assert row["hi"] - row["gap"] == pytest.approx(stats.t.ppf(0.975, 1) * se)
    assert (row["judged"], row["queries"]) == (3, 2)
    nothing = table.row(1, named=True)
    assert nothing["judged"] == 0
    assert all(math.isnan(nothing[name]) for name in ("gap", "se", "lo", "hi"))
    one = table.row(2, named=True)
    assert one["gap"] == pytest.approx(-0.5)
    assert math.isnan(one["lo"])


def test_a_belief_right_on_average_may_wrong_a_system() -> None:
    """Over all p is right; system S finds the items it is too low for, T the others. And the interval covers."""
    rng = np.random.default_rng(8)
    query = [f"q{place // 20:02}" for place in range(600)]
    good = np.tile([True] * 10 + [False] * 10, 30)
    items = np.array([f"d{place:04}" for place in range(600)])
    found = {
        name: {f"q{q:02}": items[np.flatnonzero(mine & (np.arange(600) // 20 == q))].tolist() for q in range(30)}
        for name, mine in (("S", good), ("T", ~good))
    }
    run, covered = lists(found), 0
    for _ in range(150):
        z = (rng.random(600) < np.where(good, 0.7, 0.3)).astype(float)
        chosen = np.flatnonzero(rng.random(600) < 0.5)
        labels = labels_of(z[chosen], [query[at] for at in chosen], [0.5] * len(chosen), chosen)
        result = calibrate(belief_of(np.full(600, 0.5), query), labels, run)
        gaps = result.systems
        assert gaps is not None
        covered += int((gaps["lo"][0] <= 0.2 <= gaps["hi"][0]) + (gaps["lo"][1] <= -0.2 <= gaps["hi"][1]))
    assert gaps["lo"][0] > 0 > gaps["hi"][1]
    assert covered / 300 >= 0.92


def test_unmentioned_items_have_the_p_the_belief_gives_them() -> None:
    labels = labels_of([1, 0, 1])
    silent = belief_of([0.5, 0.5])
    assert calibrate(silent, labels).brier == pytest.approx((0.25 + 0.25 + 1) / 3)
    assert calibrate(belief_of([0.5, 0.5], unmentioned=0.4), labels).brier == pytest.approx((0.5 + 0.36) / 3)
    unknown = calibrate(belief_of([0.5, 0.5], unmentioned="unknown"), labels)
    assert (unknown.labels, unknown.brier) == (2, pytest.approx(0.25))
    assert any("does not mention; they are left out" in note for note in texts(unknown.notes))


def test_chances_mix_readings_and_grades() -> None:
    frame = pl.DataFrame(
        {
            "query": ["q"] * 4,
            "reading": ["x", "x", "y", "y"],
            "weight": [1.0, 1.0, 3.0, 3.0],
            "item": ["a", "a", "a", "b"],
            "grade": [1.0, 2.0, 2.0, 0.5],
            "p": [0.4, 0.6, 0.2, 1.0],
        }
    )
    belief = Belief.of(frame)
    assert chances(belief).rows() == [("q", "a", pytest.approx(0.25 * 1 + 0.75 * 0.2)), ("q", "b", 0.0)]
    assert chances(belief, 2)["p"].to_list() == [pytest.approx(0.25 * 0.6 + 0.75 * 0.2), 0.0]


def pooled_adjacent(p, z, w):
    """Isotonic regression by the min-max formula, for every p."""
    order = np.argsort(p, kind="stable")
    p, z, w = p[order], z[order], w[order]
    values = np.unique(p)
    level = [(w[p == v] @ z[p == v], w[p == v].sum()) for v in values]
    fitted = []
    for k in range(len(values)):
        fitted.append(
            max(
                min(
                    sum(s for s, _ in level[i : j + 1]) / sum(n for _, n in level[i : j + 1])
                    for j in range(k, len(values))
                )
                for i in range(k + 1)
            )
        )
    return dict(zip(values.tolist(), fitted, strict=True))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.8, 1.0]), st.booleans(), st.sampled_from([0.25, 0.5, 1.0])),
        min_size=2,
        max_size=10,
    )
)
def test_recalibration_is_the_isotonic_fit(rows) -> None:
    p, z, pi = (np.array(part, dtype=float) for part in zip(*rows, strict=True))
    made = recalibrated(belief_of(p), labels_of(z, propensity=pi))
    wanted = pooled_adjacent(p, z, 1 / pi)
    found = chances(made)["p"].to_numpy()
    assert found == pytest.approx(np.array([wanted[value] for value in p.tolist()]), abs=1e-9)


def test_recalibration_moves_every_p_and_says_so() -> None:
    """Stated .2 and .8, observed .4 and .6: what lies between is moved in proportion, what lies beyond as the ends."""
    p = np.array([0.2] * 5 + [0.8] * 5 + [0.5, 0.05, 0.95])
    z = [1, 1, 0, 0, 0, 1, 1, 1, 0, 0]
    made = recalibrated(belief_of(p, unmentioned=0.8), labels_of(z))
    assert chances(made)["p"].to_list()[10:] == pytest.approx([0.5, 0.4, 0.6])
    assert made.unmentioned == pytest.approx(0.6)
    assert texts(made.notes) == ("recalibrated: isotonic regression on 10 labels, 2 distinct p",)


def test_recalibration_keeps_the_shares_of_the_grades() -> None:
    frame = pl.DataFrame(
        {
            "query": ["q"] * 4,
            "item": ["a", "a", "a", "b"],
            "grade": [0.5, 1.0, 2.0, 1.0],
            "p": [0.3, 0.1, 0.4, 0.0],
            "people": pl.Series([[0.3], [0.1], [0.4], [0.0]], dtype=pl.Array(pl.Float64, 1)),
        }
    )
    labels = Opinions.of(pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "grade": [0.0, 1.0]}))
    made = recalibrated(Belief.of(frame), labels)  # both become 1/2
    found = {(item, grade): p for item, grade, p in made.frame.select("item", "grade", "p").iter_rows()}
    assert found == pytest.approx({("a", 0.5): 0.3, ("a", 1.0): 0.1, ("a", 2.0): 0.4, ("b", 1.0): 0.5})
    assert any("resamples of the people" in note for note in texts(made.notes))


def test_recalibration_mixes_readings() -> None:
    frame = pl.DataFrame(
        {"query": ["q"] * 2, "reading": ["x", "y"], "weight": [1.0, 1.0], "item": ["a", "a"], "p": [1.0, 0.5]}
    )
    label = Opinions.of(pl.DataFrame({"query": ["q"], "item": ["a"], "grade": [1.0]}))
    made = recalibrated(Belief.of(frame), label)
    assert made.frame.select("item", "p").rows() == [("a", 1.0)]
    assert "recalibrated: readings are mixed into one" in texts(made.notes)


def test_recalibration_improves_a_twisted_belief() -> None:
    rng = np.random.default_rng(9)
    true = rng.uniform(0, 1, 2000)
    z = (rng.random(2000) < true).astype(float)
    stated = true**3
    learned = labels_of(z[:500])
    rest = labels_of(z[500:], places=list(range(500, 2000)))
    before = calibrate(belief_of(stated), rest)
    after = calibrate(recalibrated(belief_of(stated), learned), rest)
    assert after.brier < before.brier - 0.02
    assert abs(after.slope - 1) < abs(before.slope - 1)


def test_undecided_and_doubled_labels() -> None:
    frame = pl.DataFrame({"query": ["q"] * 3, "item": ["a", "b", "c"], "grade": [1.0, None, -1.0]})
    assert decided(Opinions.of(frame))["item"].to_list() == ["a"]
    twice = pl.concat([frame.with_columns(pl.lit(who).alias("source")) for who in ("x", "y")])
    with pytest.raises(TableError, match=r"1 pairs have several labels .*item 'a' of query 'q'"):
        decided(Opinions.of(twice))


def test_notes_on_propensities() -> None:
    mixed = calibrate(belief_of(P), labels_of(Z, propensity=[0.5, None, None, 1.0]))
    assert "2 labels have no propensity; each stands for itself only" in texts(mixed.notes)
    assert any("chosen as these were" in note for note in texts(calibrate(belief_of(P), labels_of(Z)).notes))
    assert texts(calibrate(belief_of(P), labels_of(Z, propensity=[0.5] * 4)).notes) == ()


def test_refusals() -> None:
    with pytest.raises(JoinError, match="none of the 4 labels is of a query that the belief knows"):
        calibrate(belief_of(P), labels_of(Z, ["other"] * 4))
    with pytest.raises(JoinError, match="nothing to recalibrate"):
        recalibrated(belief_of(P), labels_of([1], places=[99]))
    with pytest.raises(JoinError, match="none of the 1 labelled pairs"):
        calibrate(belief_of(P, unmentioned="unknown"), labels_of([1], places=[99]))
    with pytest.raises(TextError, match="confidence"):
        calibrate(belief_of(P), labels_of(Z), confidence=95)
    with pytest.raises(TextError, match="at least 1 bin"):
        calibrate(belief_of(P), labels_of(Z), bins=0)
    with pytest.raises(TextError, match="depth"):
        calibrate(belief_of(P), labels_of(Z), depth=0)


@pytest.mark.parametrize(
    ("p", "z", "separated"),
    [
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], True), ([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0], True),
        ([0.1, 0.8, 0.2, 0.9], [0, 0, 1, 1], False), ([0.1, 0.5, 0.5, 0.9], [0, 0, 1, 1], True),
        ([0.1, 0.2], [1, 1], True), ([0.1, 0.2], [0, 0], True), ([0.3, 0.3, 0.3], [0, 1, 1], True),
    ],
)  # fmt: skip
def test_which_labels_a_threshold_parts(p: list[float], z: list[float], separated: bool) -> None:
    assert reliability._separated(np.array(p), np.array(z, dtype=float)) is separated


def test_wilsons_interval_of_nothing_and_of_everything_stays_inside_0_and_1() -> None:
    n = np.arange(1, 2001, dtype=float)
    low, _ = wilson(np.zeros(2000), n, 0.95)
    _, high = wilson(np.ones(2000), n, 0.95)
    assert low.min() == 0 and low.max() < 1e-15
    assert high.max() == 1 and high.min() > 1 - 1e-15


def test_standard_error_of_the_slope_is_the_sandwich_by_queries() -> None:
    rng = np.random.default_rng(4)
    p, query, w = rng.uniform(0.1, 0.9, 60), np.repeat(np.arange(12), 5), rng.uniform(0.5, 2, 60)
    z = (rng.random(60) < p).astype(float)
    intercept, slope, se, clusters = reliability._logistic(p, z, w, query)
    assert clusters == 12
    design = np.column_stack([np.ones(60), np.log(p / (1 - p))])
    weights = w / w.mean()
    fitted = 1 / (1 + np.exp(-design @ [intercept, slope]))
    assert design.T @ (weights * (z - fitted)) == pytest.approx([0, 0], abs=1e-8)  # the greatest likelihood
    bread = np.linalg.inv(
        sum(v * f * (1 - f) * np.outer(x, x) for v, f, x in zip(weights, fitted, design, strict=True))
    )
    sums = [sum(weights[i] * (z[i] - fitted[i]) * design[i] for i in np.flatnonzero(query == q)) for q in range(12)]
    variance = bread @ sum(np.outer(one, one) for one in sums) @ bread * 12 / 11
    assert se == pytest.approx(math.sqrt(variance[1, 1]), rel=1e-9)


def test_chances_that_differ_by_rounding_only_have_no_slope() -> None:
    p = 0.5 + np.array([0.0, 1e-13, 0.0, 1e-13])
    found = reliability._logistic(p, np.array([0.0, 1.0, 1.0, 0.0]), np.ones(4), np.arange(4))
    assert all(math.isnan(number) for number in found[:3])
