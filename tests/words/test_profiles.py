"""Excess, entropy and P(word|region): a worked example (docs/methods/words.md, Visualness), and laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from region_samples import GAMMA, drawn_profiles, golden

from endoxa.words.profiles import Contrast, Profiles, contrasts, entropy_of, mean_entropy, mean_excess


def test_the_worked_example() -> None:
    has = np.array([[True, True, False, False, False]])
    (one,) = contrasts(golden(), has)
    assert one.m[0] == pytest.approx([0.55, 0.15, 0.3], abs=1e-12)
    assert one.c[0] == pytest.approx([0.183333, 0.65, 0.166667], abs=5e-7)
    assert one.excess[0] == pytest.approx(0.5, abs=1e-12)
    assert one.entropy[0] == pytest.approx(1.406008, abs=5e-7)
    assert one.chances[0] == pytest.approx([0.666667, 0, 0.444444], abs=5e-7)
    regions = GAMMA[:2].reshape(4, 3) @ one.chances[0]
    assert regions == pytest.approx([0.6, 0.466667, 0.577778, 0.355556], abs=5e-7)


@given(st.integers(0, 10_000), st.integers(2, 8))
def test_excess_is_half_the_distance_of_the_two_means(seed: int, components: int) -> None:
    rng = np.random.default_rng(seed)
    profiles = drawn_profiles(np.repeat([0, 1, 2], 5), components, seed=seed)
    has = np.zeros((4, 15), np.bool_)
    for row in has:
        row[rng.permutation(15)[: rng.integers(1, 14)]] = True
    found = contrasts(profiles, has)
    for one in found:
        assert one.m.sum(axis=1) == pytest.approx(np.ones(4)) and one.c.sum(axis=1) == pytest.approx(np.ones(4))
        assert one.excess == pytest.approx(np.abs(one.m - one.c).sum(axis=1) / 2)
        assert ((one.chances >= 0) & (one.chances <= 1)).all()
        # The mean of P(X|r) over the regions of X is the excess: Σ m_j max(0, 1 - c_j/m_j).
        assert (one.m * one.chances).sum(axis=1) == pytest.approx(one.excess)
    assert mean_excess(found) == pytest.approx((found[0].excess + found[1].excess) / 2)
    assert (mean_entropy(found) >= 0).all() and (mean_entropy(found) <= np.log2(components) + 1e-12).all()
    # A word and the word of all other pictures differ in the same way.
    assert mean_excess(contrasts(profiles, ~has)) == pytest.approx(mean_excess(found))


def test_components_that_a_word_lacks_and_sets_without_a_contrast() -> None:
    one = Contrast(np.array([[0.0, 1.0]]), np.array([[0.5, 0.5]]))
    assert one.chances.tolist() == [[0.0, 0.5]] and one.entropy.tolist() == [0.0]
    assert entropy_of(np.array([0.25] * 4)) == pytest.approx(2.0)
    profiles = Profiles((np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 0.0]]),), np.array([2, 2, 0]))
    found = contrasts(profiles, np.array([[False, False, True], [True, True, False]]))
    assert np.isnan(mean_excess(found)).all(), "no regions, or all of them: there is nothing to compare"
