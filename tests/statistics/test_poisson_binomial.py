"""Counts of independent events against enumeration, SciPy and the binomial distribution."""

from functools import reduce
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from endoxa.errors import TableError
from endoxa.statistics import poisson_binomial
from endoxa.statistics.poisson_binomial import convolve, moments, pmf

NAN = np.nan
chances = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 1e-12, 1 - 1e-12]), st.floats(0, 1))


def enumerated(p):
    """Masses from every one of the 2^n outcomes."""
    mass = [0.0] * (len(p) + 1)
    for outcome in product((0, 1), repeat=len(p)):
        chance = 1.0
        for one, happened in zip(p, outcome, strict=True):
            chance *= one if happened else 1 - one
        mass[sum(outcome)] += chance
    return mass


def some(n, seed=1):
    return np.random.default_rng(seed).beta(0.5, 1.0, n)


def test_worked_example():
    """docs/methods/distributions.md, Distributions."""
    p = np.array([0.9, 0.6, 0.8, 0.2])
    np.testing.assert_allclose(pmf(p), [0.0064, 0.0944, 0.3784, 0.4344, 0.0864], atol=1e-15)
    np.testing.assert_allclose(np.cumsum(pmf(p)), [0.0064, 0.1008, 0.4792, 0.9136, 1], atol=1e-15)
    mean, variance, _ = moments(p)
    assert mean / 4 == pytest.approx(0.625)
    assert variance / 16 == pytest.approx(0.040625)


def test_size_of_a_category():
    """docs/methods/beliefs.md, Categories."""
    mean, variance, _ = moments(np.array([0.9, 0.6, 0.8, 0.2, 0.5, 0.1, 0.3, 0]))
    assert mean == pytest.approx(3.4)
    assert variance == pytest.approx(1.2)


@settings(deadline=None)
@given(st.lists(chances, max_size=9))
def test_agrees_with_enumeration(p):
    np.testing.assert_allclose(pmf(np.array(p)), enumerated(p), rtol=1e-12, atol=1e-300)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.one_of(chances, st.just(NAN)), min_size=5, max_size=5), min_size=1, max_size=4))
def test_padding_is_an_item_that_is_not_there(rows):
    made = pmf(np.array(rows))
    for row, mass in zip(rows, made, strict=True):
        there = [one for one in row if not np.isnan(one)]
        np.testing.assert_allclose(mass[: len(there) + 1], enumerated(there), rtol=1e-12, atol=1e-300)
        assert (mass[len(there) + 1 :] == 0).all()


# Short and long rows, few and many, odd lengths: every way through the code.
@pytest.mark.parametrize("shape", [(1, 33), (3, 101), (70, 45), (70, 300), (2, 1500)])
def test_agrees_with_scipy(shape):
    p = some(shape)
    made = pmf(p)
    assert made.shape == (shape[0], shape[1] + 1)
    for row in {0, shape[0] // 2, shape[0] - 1}:
        theirs = stats.poisson_binom.pmf(np.arange(shape[1] + 1), p[row])
        np.testing.assert_allclose(made[row], theirs, rtol=1e-10, atol=1e-300)


def test_small_masses_keep_their_digits():
    p = some(400, seed=3)
    made = pmf(p)
    assert 0 < made[0] < 1e-50
    assert made[0] == pytest.approx(np.prod(1 - p), rel=1e-11)
    assert made[-1] == pytest.approx(np.prod(p), rel=1e-11)


def test_many_items_agree_with_the_binomial():
    n = 20_001
    made = pmf(np.full((2, n), 0.3))
    np.testing.assert_allclose(made[1], stats.binom.pmf(np.arange(n + 1), n, 0.3), atol=1e-15)
    np.testing.assert_allclose(made.sum(-1), 1, rtol=1e-14)
    assert (made >= 0).all()


def test_what_is_certain_is_exact_among_many_items():
    p = some(10_000)
    p[:3_000], p[5_000:6_500], p[-500:] = 1, 0, NAN
    made = pmf(p)
    assert (made[:3_000] == 0).all()
    assert (made[-2_000:] == 0).all()
    doubtful = pmf(p[(p > 0) & (p < 1)])
    np.testing.assert_allclose(made[3_000:8_001], doubtful, atol=1e-15)
    sure = pmf(np.repeat([1.0, 0.0], [4_321, 5_000]))
    assert sure[4_321] == 1
    assert np.count_nonzero(sure) == 1


def test_axes_before_the_last_are_a_batch():
    p = some((2, 3, 7))
    made = pmf(p)
    assert made.shape == (2, 3, 8)
    np.testing.assert_allclose(made[1, 2], pmf(p[1, 2]), rtol=1e-13)


def test_no_items_at_all():
    np.testing.assert_array_equal(pmf(np.empty(0)), [1.0])
    np.testing.assert_array_equal(pmf(np.empty((3, 0))), np.ones((3, 1)))
    assert pmf(np.empty((0, 4))).shape == (0, 5)


@settings(deadline=None)
@given(st.lists(chances, max_size=8))
def test_moments_are_those_of_the_masses(p):
    k, mass = np.arange(len(p) + 1), np.array(enumerated(p))
    centre = k @ mass
    mean, variance, third = moments(np.array(p))
    assert mean == pytest.approx(centre, abs=1e-12)
    assert variance == pytest.approx((k - centre) ** 2 @ mass, abs=1e-11)
    assert third == pytest.approx((k - centre) ** 3 @ mass, abs=1e-10)


@settings(deadline=None)
@given(st.lists(st.lists(chances, max_size=3), min_size=1, max_size=3))
def test_convolving_parts_gives_the_whole(parts):
    made = reduce(convolve, [pmf(np.array(part)) for part in parts])
    np.testing.assert_allclose(made, enumerated([one for part in parts for one in part]), rtol=1e-12, atol=1e-300)


def test_convolving_broadcasts_and_keeps_sums(monkeypatch):
    left, right = pmf(some((4, 1, 30))) / 2, pmf(some((3, 20), seed=2))
    direct = convolve(left, right)
    assert direct.shape == (4, 3, 51)
    np.testing.assert_allclose(direct[2, 1], np.convolve(left[2, 0], right[1]), rtol=1e-13)
    monkeypatch.setattr(poisson_binomial, "DIRECT", 0)
    transformed = convolve(left, right)
    np.testing.assert_allclose(transformed, direct, atol=1e-16)
    np.testing.assert_allclose(transformed.sum(-1), 0.5, rtol=1e-14)


@pytest.mark.parametrize("wrong", [-0.1, 1.5, np.inf])
def test_what_is_no_probability_is_refused(wrong):
    with pytest.raises(TableError, match=r"at place \(0, 1\).*between 0 and 1"):
        pmf(np.array([[0.5, wrong]]))
    with pytest.raises(TableError, match="at place 1"):
        moments(np.array([0.5, wrong]))


def test_moments_of_several_rows_are_those_of_each():
    rows = np.array([[0.9, 0.6, 0.1], [0.2, 0.5, 1.0]])
    for place, row in enumerate(rows):
        assert [part[place] for part in moments(rows)] == pytest.approx([float(part) for part in moments(row)])
    assert [part.shape for part in moments(rows)] == [(2,)] * 3
