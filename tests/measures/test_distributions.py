"""Whole distributions under probable relevance: worked examples, and every outcome listed."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_outcomes import (
    NAN,
    SEVEN,
    chances,
    listed_ap,
    outcomes,
    plain_ap,
    plain_f,
    plain_precision,
    plain_recall,
    plain_rr,
    plain_success,
)

from endoxa.errors import TableError, TextError
from endoxa.measures import distributions
from endoxa.measures.distributions import (
    Distribution,
    gathered,
    mixture,
    nothing,
    precision,
    reciprocal_rank,
    success,
    sum_over_queries,
)
from endoxa.measures.uncertain import expectation


def test_precision_of_the_worked_example():
    """docs/methods/distributions.md, Distributions."""
    made = precision(SEVEN[:4])
    np.testing.assert_array_equal(made.values, [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(made.mass, [0.0064, 0.0944, 0.3784, 0.4344, 0.0864], atol=1e-15)
    np.testing.assert_allclose(made.cdf(made.values), [0.0064, 0.1008, 0.4792, 0.9136, 1], atol=1e-15)
    assert (made.mean, made.sd**2, made.sd) == pytest.approx((0.625, 0.040625, 0.201556), abs=5e-7)
    printed = precision(SEVEN[:4], mode="as_printed")
    assert printed.total == pytest.approx(0.25)
    assert printed.mean == pytest.approx(0.625)


def test_precision_of_short_and_empty_lists():
    assert precision(np.array([0.5, 1.0]), n=10).mean == pytest.approx(0.15)
    assert precision(np.empty(0), n=10).values.tolist() == [0.0]
    assert precision(np.empty(0)).undefined == 1


def test_recall_of_the_worked_example():
    """docs/methods/distributions.md, Distributions."""
    made = distributions.recall(SEVEN[:4], np.array([0.5, 0.1, 0.3, 0]))
    expected = {
        "0": 0.004384, "1/4": 0.001416, "1/3": 0.017464, "2/5": 0.005676, "1/2": 0.122304, "4/7": 0.001296,
        "3/5": 0.080364, "2/3": 0.199508, "3/4": 0.210684, "4/5": 0.041904, "1": 0.312984,
    }  # fmt: skip
    assert made.values.tolist() == [float(Fraction(value)) for value in expected]
    np.testing.assert_allclose(made.mass, list(expected.values()), atol=5e-7)
    assert made.undefined == pytest.approx(0.002016, abs=5e-7)
    assert (made.mean_and, made.mean, made.sd**2) == pytest.approx((0.756082, 0.757610, 0.037110), abs=5e-7)
    fixed = distributions.recall(SEVEN[:4], np.array([0.5, 0.1, 0.3, 0]), size="expected")
    np.testing.assert_allclose(fixed.values, [0, 0.294118, 0.588235, 0.882353, 1.176471], atol=5e-7)
    assert fixed.mean == pytest.approx(0.735294, abs=5e-7)
    assert fixed.mass[fixed.values > 1].sum() == pytest.approx(0.0864)


def test_consensus_of_systems():
    """docs/methods/comparisons.md, Superiority: seven items of Lamiroy and Sun; S1 has four, S2 and S3 three."""
    s1, s2 = np.array([0.8, 0.8, 0.4, 0.4]), np.array([0.8, 0.8, 0.4])
    assert (precision(s1).mean, precision(s1).sd ** 2) == pytest.approx((0.6, 0.05))
    rest1, rest2 = np.array([0.4, 0.4, 0.2]), np.array([0.4, 0.4, 0.4, 0.2])
    assert distributions.recall(s1, rest1).mean == pytest.approx(0.727021, abs=5e-7)
    assert distributions.recall(s2, rest2).mean == pytest.approx(0.616719, abs=5e-7)
    assert distributions.recall(s1, rest1, size="expected").mean == pytest.approx(0.705882, abs=5e-7)
    assert distributions.recall(s2, rest2, size="expected").mean == pytest.approx(0.588235, abs=5e-7)


ABOVE = {  # docs/methods/beliefs.md, Categories: the tree, as each node with its ancestors
    "all": {"all"},
    "people": {"all", "people"},
    "crowd": {"all", "people", "crowd"},
    "portrait": {"all", "people", "portrait"},
    "outdoor": {"all", "outdoor"},
    "city": {"all", "outdoor", "city"},
    "landscape": {"all", "outdoor", "landscape"},
}
LABELS = {  # docs/methods/beliefs.md, Categories
    "q": ["people", "people", "crowd", "city", "city"],
    "r1": ["people", "portrait", "crowd", "city", "people"],
    "r2": ["city", "city", "crowd", "city", "landscape"],
    "r3": ["portrait", "people", "people", "people", "city"],
    "r4": ["landscape", "landscape", "landscape", "city", "landscape"],
}


def rolled_up(category, image):
    return sum(category in ABOVE[label] for label in LABELS[image]) / 5


def test_readings_of_a_query():
    """docs/methods/beliefs.md, Categories, from the votes."""
    by_category = {w: np.array([rolled_up(w, r) for r in ("r1", "r2", "r3")]) for w in ABOVE}
    direct = np.array([LABELS["q"].count(w) / 5 for w in ABOVE])
    rolled = np.array([rolled_up(w, "q") for w in ABOVE])
    assert rolled.sum() == pytest.approx(2.6)
    precisions = [precision(p) for p in by_category.values()]

    assigned = mixture(precisions, direct)
    np.testing.assert_allclose(assigned.mass, [0.2432, 0.3744, 0.3216, 0.0608], atol=5e-7)
    assert (assigned.total, assigned.mean, assigned.sd**2) == pytest.approx((1, 0.4, 0.085333), abs=5e-7)

    printed = mixture([precision(p, mode="as_printed") for p in by_category.values()], rolled, as_printed=True)
    np.testing.assert_allclose(printed.mass, [0.100267, 0.2192, 0.1808, 0.3664], atol=5e-7)
    assert (printed.total, printed.mean) == pytest.approx((0.866667, 0.646154), abs=5e-7)

    normalised = mixture(precisions, rolled / rolled.sum())
    np.testing.assert_allclose(normalised.mass, [0.115692, 0.252923, 0.208615, 0.422769], atol=5e-7)
    assert (normalised.mean, normalised.sd**2) == pytest.approx((0.646154, 0.126075), abs=5e-7)

    no_root = mixture(precisions[1:], rolled[1:] / rolled[1:].sum())
    np.testing.assert_allclose(no_root.mass, [0.188, 0.411, 0.339, 0.062], atol=5e-7)
    assert (no_root.mean, no_root.sd**2) == pytest.approx((0.425, 0.077708), abs=5e-7)

    other = mixture([precision(np.array([rolled_up(w, r) for r in ("r1", "r2", "r4")])) for w in ABOVE], direct)
    np.testing.assert_allclose(other.mass, [0.2944, 0.5408, 0.1552, 0.0096], atol=5e-7)
    assert other.mean == pytest.approx(0.293333, abs=5e-7)


@pytest.mark.parametrize(
    ("images", "mass", "mean", "variance"),
    [
        (("r1", "r2", "r3"), {1 / 3: 0.2, 2 / 3: 0.8}, 0.6, 0.017778),
        (("r1", "r2", "r4"), {0: 0.2, 1 / 3: 0.4, 2 / 3: 0.2, 1: 0.2}, 0.466667, 0.115556),
    ],
)
def test_readings_by_subject(images, mass, mean, variance):
    """docs/methods/beliefs.md, Categories: each subject judges by her own reading. The last variance is ours."""
    share = [sum(LABELS["q"][s] in ABOVE[LABELS[r][s]] for r in images) / 3 for s in range(5)]
    made = gathered(np.array(share), np.full(5, 0.2))
    assert dict(zip(made.values.tolist(), made.mass.tolist(), strict=True)) == pytest.approx(mass)
    assert (made.mean, made.sd**2) == pytest.approx((mean, variance), abs=5e-7)


def listed(value, pool):
    """Masses by value, from every outcome; values within rounding are one."""
    masses, undefined = {}, 0.0
    for z, chance in outcomes(pool):
        one = value(z)
        if math.isnan(one):
            undefined += chance
        else:
            masses[round(one, 11)] = masses.get(round(one, 11), 0.0) + chance
    return masses, undefined


def agrees(made, value, pool):
    masses, undefined = listed(value, pool)
    ours = {round(one, 11): mass for one, mass in zip(made.values.tolist(), made.mass.tolist(), strict=True)}
    for one in masses.keys() | ours.keys():
        assert ours.get(one, 0.0) == pytest.approx(masses.get(one, 0.0), abs=1e-13), one
    assert made.undefined == pytest.approx(undefined, abs=1e-13)


@settings(max_examples=60, deadline=None)
@given(st.lists(chances, max_size=5), st.lists(chances, max_size=4), st.sampled_from([0.0, 0.5, 1.0, 2.0, 0.3, 1.7]))
def test_distributions_agree_with_enumeration(p, rest, beta):
    found, pool = [(i + 1, i) for i in range(len(p))], [*p, *rest]
    p, rest = np.array(p), np.array(rest)
    n, k = len(p), 3
    agrees(precision(p), lambda z: plain_precision(z, found, n), pool)
    agrees(precision(p[:k], n=k), lambda z: plain_precision(z, found, n, k), pool)
    agrees(distributions.recall(p, rest), lambda z: plain_recall(z, found, n), pool)
    agrees(distributions.f(p, rest, beta), lambda z: plain_f(z, found, n, beta=beta), pool)
    agrees(distributions.f(p, rest, beta, n=n + 2), lambda z: plain_f(z, found, n + 2, beta=beta), pool)
    agrees(success(p), lambda z: plain_success(z, found, n), pool)
    agrees(listed_ap(p, rest, np.arange(1, n + 1)), lambda z: plain_ap(z, found, n), pool)


@settings(deadline=None)
@given(st.lists(st.tuples(chances, st.integers(1, 4)), max_size=6), st.one_of(st.none(), st.integers(1, 8)))
def test_reciprocal_ranks_agree_with_enumeration(items, k):
    pool = [p for p, _ in items]
    rank = np.cumsum([gap for _, gap in items], dtype=np.int64)
    found = list(zip(rank.tolist(), range(len(pool)), strict=True))
    agrees(reciprocal_rank(np.array(pool), rank, k), lambda z: plain_rr(z, found, 0, k), pool)
    first = [(i + 1, i) for i in range(len(pool))]
    agrees(reciprocal_rank(np.array(pool), k=k), lambda z: plain_rr(z, first, 0, k), pool)


@settings(deadline=None)
@given(st.lists(st.lists(chances, max_size=4), min_size=1, max_size=3))
def test_mean_over_queries_agrees_with_enumeration(queries):
    kept = [p[:2] for p in queries]
    pool = [one for p in kept for one in p]
    made = sum_over_queries([np.array(p) for p in queries], k=2)
    agrees(made, lambda z: sum(z) / 2 / len(queries), pool)


def test_mean_over_no_queries_is_undefined():
    assert sum_over_queries([], k=5).undefined == 1


def test_average_precision_counts_items_in_doubt_only():
    p = np.concatenate([np.full(20, 0.5), np.ones(30), np.zeros(30)])
    made = listed_ap(p, np.ones(5), np.arange(1, 81))
    assert made.total == pytest.approx(1)
    assert made.mean == pytest.approx(
        expectation("AP", np.arange(1, 81)[None], p[None], np.array([80]), np.append(p, np.ones(5))).mean[0]
    )


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.integers(-5, 5), st.floats(0, 1), min_size=1, max_size=7).filter(
        lambda m: sum(m.values()) > 0.1
    ),
    st.floats(0.05, 0.99),
)
def test_interval_is_the_smallest_with_its_tails(masses, level):
    values = sorted(masses)
    made = Distribution(np.array(values, float), np.array([masses[v] for v in values]), 0.3)
    total, share = sum(masses.values()), (1 - level) / 2
    lo, hi = made.interval(level)

    def below(x):
        return sum(m for v, m in masses.items() if v < x) / total

    def above(x):
        return sum(m for v, m in masses.items() if v > x) / total

    assert below(lo) <= share + 1e-9
    assert above(hi) <= share + 1e-9
    assert all(below(v) > share - 1e-9 for v in values if v > lo)
    assert all(above(v) > share - 1e-9 for v in values if v < hi)
    assert lo <= hi


def test_interval_on_a_lattice_holds_at_least_its_level():
    made = precision(np.full(4, 0.5))
    assert made.interval(0.95) == (0, 1)  # 1/16 lies at either end: more than 0.025
    assert made.interval(0.875) == (0.25, 0.75)  # exactly 1/16 beyond either end
    assert made.cdf(np.array([-1, 0.3, 2])).tolist() == [0, 0.3125, 1]


def test_nothing_defined_is_nan():
    assert all(math.isnan(x) for x in (nothing().mean, nothing().mean_and, nothing().sd, *nothing().interval()))
    assert np.isnan(nothing().cdf(np.array([0.5]))).all()
    never = distributions.recall(np.zeros(3), np.zeros(2))
    assert never.undefined == 1
    assert math.isnan(never.mean)
    assert distributions.recall(np.zeros(3), np.zeros(2), size="expected").undefined == 1


def test_mixture_lives_on_the_union_of_the_supports():
    made = mixture([precision(np.array([0.5])), precision(np.full(3, 0.5)), nothing()], np.array([0.4, 0.4, 0.2]))
    assert made.values.tolist() == [0, 1 / 3, 2 / 3, 1]
    np.testing.assert_allclose(made.mass, [0.25, 0.15, 0.15, 0.25])
    assert made.undefined == pytest.approx(0.2)


def test_bad_input_is_named():
    half = np.array([0.5, 0.5])
    with pytest.raises(TableError, match=r"p holds 1\.2 at place 1"):
        precision(np.array([0.5, 1.2]))
    with pytest.raises(TableError, match="p_rest is NaN at place 0"):
        distributions.recall(half, np.array([NAN]))
    with pytest.raises(TableError, match="2 axes"):
        success(half[None])
    with pytest.raises(TableError, match="n = 1 cannot hold 2 items"):
        precision(half, n=1)
    with pytest.raises(TextError, match="did you mean as_printed"):
        precision(half, mode="as_print")
    with pytest.raises(TextError, match="size must be one of random, expected"):
        distributions.recall(half, half, size="subject")
    with pytest.raises(TableError, match="ascending"):
        reciprocal_rank(half, np.array([2, 2]))
    with pytest.raises(TableError, match="too many outcomes"):
        distributions.recall(np.full(2_000, 0.5), np.full(2_000, 0.5))
    with pytest.raises(TextError, match="confidence must lie"):
        precision(half).interval(95)
    with pytest.raises(TextError, match="counts from 1"):
        sum_over_queries([half], k=0)
    with pytest.raises(TableError, match=r"sum to 2\.6, expected 1"):
        mixture([precision(half)], np.array([2.6]))
    with pytest.raises(TableError, match="1 readings, 2 weights"):
        mixture([precision(half)], half)
    with pytest.raises(TableError, match="negative or NaN"):
        mixture([precision(half)] * 2, np.array([1.5, -0.5]))
    with pytest.raises(TableError, match="ascend"):
        Distribution(np.array([1.0, 0.0]), half)
    with pytest.raises(TableError, match="one mass for each value"):
        Distribution(np.array([1.0]), half)
    with pytest.raises(TableError, match="negative or NaN"):
        Distribution(np.array([0.0, 1.0]), np.array([0.5, NAN]))
