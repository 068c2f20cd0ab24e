"""Deviation from an even use of the scale: goldens of docs/methods/studies.md, Uniformity."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.errors import TableError
from endoxa.studies.uniformity import deviation, of_counts

FIVE = [1, 2, 3, 4, 5]


def test_goldens():
    even = deviation(FIVE * 3, FIVE)
    assert (even.dev, even.normalised, even.total_variation) == pytest.approx((0, 0, 0))
    one = deviation([4] * 7, FIVE)
    assert (one.dev, one.normalised) == pytest.approx((0.32, 1))
    mixed = deviation([1] * 8 + [2] * 6 + [3] * 3 + [4] * 2 + [5], FIVE)
    assert mixed.shares == pytest.approx((0.4, 0.3, 0.15, 0.1, 0.05))
    assert (mixed.dev, mixed.normalised, mixed.total_variation) == pytest.approx((0.12, 0.375, 0.3))


def test_undecided_answers_are_left_out():
    assert deviation([1, None, 2, float("nan")], [1, 2]) == deviation([1, 2], [1, 2])
    assert deviation(np.array([1.0, np.nan]), [1, 2]).shares == (1, 0)


def test_without_answers_nothing_is_defined():
    for nothing in (deviation([], FIVE), deviation([None], FIVE)):
        assert np.isnan([nothing.dev, nothing.normalised, nothing.total_variation, *nothing.shares]).all()
        assert len(nothing.shares) == 5


def test_a_scale_of_one_grade():
    only = deviation([1, 1], [1])
    assert only.dev == 0
    assert np.isnan(only.normalised)


def test_shares_stand_in_the_order_of_the_classes():
    assert deviation([0.5, 0.5, 0.1, 1], [1, 0.5, 0.1]).shares == (0.25, 0.5, 0.25)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=6).filter(any))
def test_total_variation_is_the_largest_gap_over_sets_of_grades(counts):
    C, total = len(counts), sum(counts)
    gaps = [
        abs(sum(counts[c] / total - 1 / C for c in range(C) if kept >> c & 1)) for kept in range(1 << C)
    ]  # every set of grades
    made = of_counts(counts)
    assert made.total_variation == pytest.approx(max(gaps))
    assert 0 <= made.normalised <= 1 + 1e-12


def test_refusals():
    with pytest.raises(TableError, match=r"grade 3\.7 is not one of the classes 1, 2, 3, 4, 5"):
        deviation([3.7], FIVE)
    with pytest.raises(TableError, match="each once"):
        deviation([1], [1, 1])
    with pytest.raises(TableError, match="at least one"):
        deviation([1], [])
