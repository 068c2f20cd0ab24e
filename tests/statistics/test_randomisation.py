"""Randomisation tests against enumeration and SciPy."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from endoxa.statistics import randomisation
from endoxa.statistics.randomisation import sign_flip, tukey, tukey_ranges


def rng(seed=7):
    return np.random.default_rng(seed)


def enumerated(differences):
    """Share of all sign assignments with |sum| ≥ |observed|, slowly."""
    observed = abs(sum(differences))
    sums = [
        sum(s * d for s, d in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(abs(one) >= observed - 1e-12 for one in sums) / len(sums)


def test_worked_example():
    """docs/methods/comparisons.md, Paired tests."""
    assert sign_flip(np.array([0.2, 0.1, -0.15, 0.15]), rng=rng()) == 0.5


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_exact_is_the_enumeration(drawn):
    differences = np.array(drawn) / 10
    assert sign_flip(differences, rng=rng()) == pytest.approx(enumerated(differences.tolist()))


def test_exact_is_scipys():
    values = rng(1).normal(0.3, 1, (5, 10))
    p = sign_flip(values, rng=rng())
    for row, mine in zip(values, p, strict=True):
        theirs = stats.permutation_test(
            (row,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", n_resamples=np.inf, vectorized=True
        )
        assert mine == pytest.approx(theirs.pvalue)


def test_sampled_is_near_exact():
    values = rng(1).normal(0.25, 1, (30, 14))
    exact = sign_flip(values, rng=rng())
    sampled = sign_flip(values, exact=0, resamples=20_000, rng=rng())
    assert (np.abs(sampled - exact) < 5 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4).all()


def test_sampled_p_is_never_zero():
    assert sign_flip(np.ones(40), resamples=999, rng=rng()) == 1 / 1000


def test_rounding_does_not_decide():
    assert 0.1 + 0.2 - 0.3 != 0
    assert sign_flip(np.array([0.1, 0.2, -0.3]), rng=rng()) == 1
    # Only the observed assignment and its mirror reach 0.6, in whatever order the sums are rounded.
    assert sign_flip(np.array([0.1, 0.2, 0.3]), rng=rng()) == 0.25


def test_zeros_and_missing_queries_count_for_nothing():
    told = rng(1).normal(0.3, 1, 12)
    padded = np.concatenate([[0, np.nan], told, [np.nan, 0, 0, 0, 0, 0]])
    assert sign_flip(padded, rng=rng()) == pytest.approx(float(sign_flip(told, rng=rng())))


def test_nothing_differs_and_nothing_known():
    p = sign_flip(np.array([[0, 0, np.nan], [np.nan] * 3, [0, 0.2, np.nan]]), rng=rng())
    np.testing.assert_equal(p, [1, np.nan, 1])


@pytest.mark.parametrize("exact", [0, 16])
def test_a_row_alone_is_a_row_in_a_batch(exact, monkeypatch):
    values = rng(1).normal(0.2, 1, (2, 4, 15))
    batch = sign_flip(values, resamples=500, exact=exact, rng=rng())
    assert batch.shape == (2, 4)
    assert batch[1, 2] == pytest.approx(float(sign_flip(values[1, 2], resamples=500, exact=exact, rng=rng())))
    if exact:
        monkeypatch.setattr(randomisation, "BLOCK", 1_000)
        np.testing.assert_allclose(sign_flip(values, rng=rng()), batch)


def every_range(values):
    """max - min of the means over every way to deal out the scores of each query, slowly."""
    dealt = [list(permutations(column)) for column in values.T]
    return [np.ptp(np.mean(one, axis=0)) for one in product(*dealt)]


def test_tukey_is_the_enumeration(monkeypatch):
    monkeypatch.setattr(randomisation, "BLOCK", 5_000)
    values = np.round(rng(1).random((3, 4)), 1)
    means = values.mean(axis=1)
    ranges = np.array(every_range(values))
    p = tukey(values, resamples=40_000, rng=rng())
    np.testing.assert_array_equal(p, p.T)
    np.testing.assert_array_equal(np.diag(p), 1)
    for one, two in ((0, 1), (0, 2), (1, 2)):
        exact = (ranges >= abs(means[one] - means[two]) - 1e-12).mean()
        assert p[one, two] == pytest.approx(exact, abs=5 * np.sqrt(0.25 / 40_000))


def test_tukey_p_is_never_zero():
    assert tukey(np.array([[1.0] * 40, [0.0] * 40]), resamples=999, rng=rng())[0, 1] == 1 / 1000


def test_tukey_of_two_systems_is_the_sign_flip():
    values = rng(1).random((2, 10))
    p = tukey(values, resamples=40_000, rng=rng())
    assert p[0, 1] == pytest.approx(float(sign_flip(values[0] - values[1], rng=rng())), abs=0.013)


def test_tukey_asks_more_of_a_pair_the_more_systems_there_are():
    values = rng(1).beta(2, 2, (12, 20))
    values[0] += 0.15
    few = tukey(values[:2], resamples=5_000, rng=rng())[0, 1]
    many = tukey(values, resamples=5_000, rng=rng())[0, 1]
    assert few < many


def test_tukey_deals_within_queries_only():
    values = np.tile(np.array([0.0, 1.0, 0.0, 1.0]), (3, 1))  # queries differ, systems do not
    assert (tukey_ranges(values, resamples=50, rng=rng()) == 0).all()
    assert (tukey(values, resamples=50, rng=rng()) == 1).all()
