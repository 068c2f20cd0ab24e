"""Groups of features: their scales, their order, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from endoxa.errors import TableError
from endoxa.searches.arms import Features, Group, group_of, scale


def test_the_scale_is_a_small_quantile_of_random_pairs() -> None:
    values = np.arange(1, 101, dtype=np.float32)[:, None]
    apart = np.abs(np.subtract.outer(np.arange(100), np.arange(100)))[np.triu_indices(100, 1)]
    assert scale(values, "l1") == np.quantile(apart, 0.05)
    many = np.random.default_rng(0).random((3000, 4)).astype(np.float32)
    assert scale(many, "l2") == pytest.approx(scale(many[:600], "l2"), rel=0.1)


def test_a_scale_of_0_takes_the_next_quantile_and_equal_pictures_are_silent() -> None:
    values = np.ones((20, 1), np.float32)
    assert scale(values, "l1") == 0
    assert group_of("layout", values).audible == ()
    values[:10] = 3  # 100 of 190 pairs differ
    assert scale(values, "l1") == 2
    assert scale(values[:1], "l1") == 0


def test_ties_go_by_item_descending() -> None:
    features = Features(("b", "a", "ä", "c"), ())
    assert [features.items[at] for at in np.argsort(features.order)] == ["ä", "c", "b", "a"]
    assert features.place["c"] == 3


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(TableError, match="expected 3 rows"):
        Features(("a", "b", "c"), (group_of("layout", np.ones((2, 4))),))
    with pytest.raises(TableError, match="no scale for l2"):
        Group("layout", np.ones((2, 4)), ("l1", "l2"), {"l1": 1.0})
