"""The order of two systems under probable relevance: worked examples and every outcome listed."""

import math
from dataclasses import astuple
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from endoxa.comparisons.superiority import (
    Superiority,
    dominates,
    independent,
    ks_distance,
    mix,
    order,
    precision_difference,
    precision_order,
    recall_order,
    subject_error,
    wasserstein,
)
from endoxa.errors import TableError, TextError
from endoxa.measures import distributions
from endoxa.measures.distributions import Distribution, gathered, mixture, nothing, precision

NAN = math.nan
chances = st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1))
few = st.lists(chances, max_size=3)

# docs/methods/comparisons.md, Superiority: p(a..f); A = abcd, B = cdef
COMMON, A_ONLY, B_ONLY = np.array([0.8, 0.2]), np.array([0.9, 0.6]), np.array([0.5, 0.1])


def counts(*parts):
    """How many are relevant in each part, with the probability, over every outcome."""
    sizes = [len(part) for part in parts]
    p = [one for part in parts for one in part]
    for z in product((0, 1), repeat=len(p)):
        chance = math.prod(one if there else 1 - one for one, there in zip(p, z, strict=True))
        ends = np.cumsum([0, *sizes])
        yield [sum(z[start:end]) for start, end in pairwise(ends)], chance


def summed(differences):
    """Superiority's first six numbers from (difference, chance)."""
    better = sum(c for d, c in differences if d > 1e-9)
    tie = sum(c for d, c in differences if abs(d) <= 1e-9)
    worse = sum(c for d, c in differences if d < -1e-9)
    mean = sum(c * d for d, c in differences)
    return better, tie, worse, better + tie / 2, mean, math.sqrt(sum(c * (d - mean) ** 2 for d, c in differences))


def test_lists_of_one_length():
    """docs/methods/comparisons.md, Superiority."""
    made = precision_difference(COMMON, A_ONLY, B_ONLY)
    np.testing.assert_array_equal(made.values, [-0.5, -0.25, 0, 0.25, 0.5])
    np.testing.assert_allclose(made.mass, [0.002, 0.041, 0.255, 0.459, 0.243], atol=1e-12)
    says = precision_order(COMMON, A_ONLY, B_ONLY)
    assert (says.difference, says.sd**2) == pytest.approx((0.225, 0.041875))
    assert (says.p_better, says.p_tie, says.p_worse, says.index) == pytest.approx((0.702, 0.255, 0.043, 0.8295))
    assert (says.lo, says.hi) == (-0.25, 0.5)
    assert precision_order(COMMON, A_ONLY, B_ONLY, confidence=0.5).lo == 0


def test_lists_taken_as_independent_are_too_timid():
    """docs/methods/comparisons.md, Superiority."""
    a, b = precision(np.append(COMMON, A_ONLY)), precision(np.append(COMMON, B_ONLY))
    says = independent(a, b)
    assert says.sd**2 == pytest.approx(0.081875)
    assert (says.p_better, says.index) == pytest.approx((0.647216, 0.770236), abs=5e-7)
    assert ks_distance(a, b) == pytest.approx(0.3988)
    assert wasserstein(a, b) == pytest.approx(0.225)
    assert dominates(a, b)
    assert not dominates(b, a)


def test_lists_of_unequal_length():
    """docs/methods/comparisons.md, Superiority: A = abc, B = cdef."""
    common, a_only, b_only = np.array([0.8]), np.array([0.9, 0.6]), np.array([0.2, 0.5, 0.1])
    says = precision_order(common, a_only, b_only)
    assert (says.difference, says.sd**2) == pytest.approx((0.366667, 0.069028), abs=5e-7)
    assert (says.p_better, says.p_tie) == pytest.approx((0.90312, 0.0072))
    recalls = recall_order(a_only, b_only)
    assert (recalls.p_better, recalls.p_tie) == pytest.approx((0.6102, 0.2958))
    assert all(math.isnan(x) for x in (recalls.difference, recalls.sd, recalls.lo, recalls.hi))


def test_consensus_of_systems():
    """By hand: S1 has two items of P = .8 and two of .4, S2 the first two and another of .4."""
    says = precision_order(np.array([0.8, 0.8]), np.array([0.4, 0.4]), np.array([0.4]))
    assert (says.p_better, says.p_tie, says.p_worse) == pytest.approx((0.40704, 0.0496, 0.54336))
    assert (says.difference, says.sd**2) == pytest.approx((-0.066667, 0.058889), abs=5e-7)


def test_error_over_subjects():
    """By hand: only r3, labelled people or portrait by subjects 1-4, and r4, by none, differ."""
    delta = np.array([1, 1, 1, 1, 0]) / 3
    assert subject_error(delta) == pytest.approx((0.266667, 0.066667), abs=5e-7)
    assert subject_error(np.append(delta, NAN)) == subject_error(delta)
    mean, error = subject_error(np.array([0.25]))
    assert mean == 0.25
    assert math.isnan(error)
    assert all(math.isnan(x) for x in subject_error(np.empty(0)))


@settings(max_examples=80, deadline=None)
@given(few, few, few)
def test_orders_agree_with_enumeration(common, a_only, b_only):
    arrays = np.array(common), np.array(a_only), np.array(b_only)
    n_a, n_b = len(common) + len(a_only), len(common) + len(b_only)
    listed = list(counts(common, a_only, b_only))
    recalls = recall_order(*arrays[1:])
    expected = summed([(a - b, chance) for (_, a, b), chance in listed])
    assert astuple(recalls)[:4] == pytest.approx(expected[:4], abs=1e-12)
    says = precision_order(*arrays)
    if n_a == 0 or n_b == 0:
        assert all(math.isnan(x) for x in astuple(says))
        return
    differences = [((c + a) / n_a - (c + b) / n_b, chance) for (c, a, b), chance in listed]
    assert astuple(says)[:6] == pytest.approx(summed(differences), abs=1e-7)  # sd: a root of rounding
    assert says.sd**2 == pytest.approx(summed(differences)[5] ** 2, abs=1e-13)
    made = precision_difference(*arrays)
    for value, mass in zip(made.values, made.mass, strict=True):
        assert mass == pytest.approx(sum(c for d, c in differences if abs(d - value) < 1e-9), abs=1e-13)
    assert made.total == pytest.approx(1)


@settings(deadline=None)
@given(few, few, few)
def test_the_other_way_round(common, a_only, b_only):
    there = precision_order(np.array(common), np.array(a_only), np.array(b_only))
    back = precision_order(np.array(common), np.array(b_only), np.array(a_only))
    turned = (back.p_worse, back.p_tie, back.p_better, 1 - back.index, -back.difference, back.sd, -back.hi, -back.lo)
    assert astuple(there) == pytest.approx(turned, abs=1e-9, nan_ok=True)


def test_long_lists_of_unequal_length(monkeypatch):
    rng = np.random.default_rng(3)
    common, a_only, b_only = rng.random(40), rng.random(30), rng.random(23)
    made = precision_order(common, a_only, b_only)
    n_a, n_b = 70, 63
    drawn = [(rng.random((200_000, len(p))) < p).sum(1) for p in (common, a_only, b_only)]
    difference = (drawn[0] + drawn[1]) * n_b - (drawn[0] + drawn[2]) * n_a
    assert made.p_better == pytest.approx((difference > 0).mean(), abs=0.005)
    assert made.p_tie == pytest.approx((difference == 0).mean(), abs=0.002)
    p, q, r = (part * (1 - part) for part in (common, a_only, b_only))
    variance = p.sum() * (1 / n_a - 1 / n_b) ** 2 + q.sum() / n_a**2 + r.sum() / n_b**2
    assert made.sd == pytest.approx(math.sqrt(variance))
    assert made.difference == pytest.approx((common.sum() + a_only.sum()) / n_a - (common.sum() + b_only.sum()) / n_b)
    monkeypatch.setattr(distributions, "DIRECT", 0)
    assert astuple(precision_order(common, a_only, b_only)) == pytest.approx(astuple(made), abs=1e-12)


def test_equal_lists_tie():
    both = precision_order(np.array([0.3, 0.9]), np.empty(0), np.empty(0))
    assert astuple(both) == (0, 1, 0, 0.5, 0, 0, 0, 0)


masses = st.dictionaries(st.integers(0, 6), st.floats(0.01, 1), min_size=1, max_size=5)


def distribution(by_value, undefined=0.0):
    values = sorted(by_value)
    mass = np.array([by_value[value] for value in values])
    return Distribution(np.array(values) / 6, (1 - undefined) * mass / mass.sum(), undefined)


@settings(deadline=None)
@given(masses, masses, st.sampled_from([0.0, 0.4]))
def test_two_distributions_agree_with_their_definitions(left, right, undefined):
    a, b = distribution(left, undefined), distribution(right)
    p, q = a.mass / a.total, b.mass
    pairs = [(x - y, p[i] * q[j]) for i, x in enumerate(a.values) for j, y in enumerate(b.values)]
    assert astuple(independent(a, b))[:6] == pytest.approx(summed(pairs), abs=1e-7)
    grid = np.arange(7) / 6
    f_a = np.array([p[a.values <= x].sum() for x in grid])
    f_b = np.array([q[b.values <= x].sum() for x in grid])
    assert ks_distance(a, b) == pytest.approx(np.abs(f_a - f_b).max(), abs=1e-12)
    assert wasserstein(a, b) == pytest.approx(stats.wasserstein_distance(a.values, b.values, p, q), abs=1e-12)
    assert dominates(a, b) == bool((f_a <= f_b + 1e-10).all())


def test_dominance_needs_every_standard():
    safe, risky = distribution({3: 1.0}), distribution({0: 0.5, 6: 0.5})
    assert not dominates(safe, risky)
    assert not dominates(risky, safe)
    assert dominates(safe, safe)
    assert independent(safe, risky).index == 0.5


def test_nothing_defined_is_nan():
    one = distribution({3: 1.0})
    for says in (order(nothing()), independent(one, nothing()), precision_order(np.empty(0), np.empty(0), A_ONLY)):
        assert all(math.isnan(x) for x in astuple(says))
    assert math.isnan(ks_distance(nothing(), one))
    assert math.isnan(wasserstein(one, nothing()))
    assert not dominates(one, nothing())


def test_mixed_readings_are_the_order_of_the_mixed_differences():
    rng = np.random.default_rng(2)
    parts = [(rng.random(3), rng.random(2), rng.random(4)) for _ in range(3)]
    weights = np.array([0.5, 0.2, 0.3])
    mixed = mix([precision_order(*part) for part in parts], weights)
    whole = order(mixture([precision_difference(*part) for part in parts], weights))
    assert astuple(mixed)[:6] == pytest.approx(astuple(whole)[:6])
    assert math.isnan(mixed.lo)
    assert math.isnan(mixed.hi)
    assert math.isfinite(whole.lo)


def test_a_reading_without_weight_says_nothing():
    known, unknown = precision_order(COMMON, A_ONLY, B_ONLY), Superiority(*[NAN] * 8)
    assert mix([known, unknown], np.array([1.0, 0.0])).index == pytest.approx(0.8295)
    assert math.isnan(mix([known, unknown], np.array([0.5, 0.5])).index)
    recalls = mix([recall_order(A_ONLY, B_ONLY)], np.ones(1))
    assert recalls.p_better == pytest.approx(0.702)
    assert math.isnan(recalls.sd)


def test_bad_input_is_named():
    with pytest.raises(TableError, match="a_only holds 2 at place 0"):
        precision_order(COMMON, np.array([2.0]), B_ONLY)
    with pytest.raises(TableError, match="b_only is NaN"):
        recall_order(A_ONLY, np.array([NAN]))
    with pytest.raises(TextError, match="must lie between 0 and 1"):
        precision_order(COMMON, A_ONLY, B_ONLY, confidence=1)
    with pytest.raises(TextError, match="must lie between 0 and 1"):
        order(nothing(), confidence=0)
    with pytest.raises(TableError, match=r"sum to 0\.9, expected 1"):
        mix([recall_order(A_ONLY, B_ONLY)], np.array([0.9]))
    with pytest.raises(TableError, match="expected 1: a difference for each subject"):
        subject_error(np.zeros((2, 2)))
    many = gathered(np.arange(2_000.0), np.full(2_000, 1 / 2_000))
    with pytest.raises(TableError, match="too many differences"):
        independent(many, many)
