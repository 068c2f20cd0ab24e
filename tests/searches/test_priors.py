"""What earlier searches taught: the worked numbers, and draws."""

from __future__ import annotations

import numpy as np
import pytest
from search_samples import clusters

from endoxa.errors import TableError
from endoxa.searches.priors import Counts


def test_the_worked_numbers() -> None:
    counts = Counts({("look", "cosine"): (2.55, 1.45), ("colours", "l1"): (2.0, 2.0)})
    start = counts.weights()
    assert start["look", "cosine"] / start["colours", "l1"] == pytest.approx(3.004166, abs=1e-6)
    later = counts.add({("look", "cosine"): 0.9, ("colours", "l1"): 0.6})
    later = later.add({("look", "cosine"): 0.8, ("colours", "l1"): 0.7})
    a, b = later.of["look", "cosine"]
    assert a / (a + b) == pytest.approx(0.708333, abs=1e-6)
    weights = later.weights()
    assert weights["look", "cosine"] / weights["colours", "l1"] == pytest.approx(3.549003, abs=1e-6)


def test_metrics_share_the_weight_of_their_group() -> None:
    features, _ = clusters(20)
    weights = Counts.start(features).weights()
    assert set(weights) == set(features.arms)
    assert sum(w for (group, _), w in weights.items() if group == "look") == pytest.approx(np.exp(8 * 2.55 / 4))


def test_a_draw_has_the_chance_that_it_says() -> None:
    counts = Counts({("look", "l1"): (8.0, 2.0), ("look", "l2"): (2.0, 8.0), ("layout", "l1"): (2.0, 2.0)})
    drawn = [counts.thompson(np.random.default_rng(seed)) for seed in range(200)]
    first = np.array([weights["look", "l1"] > weights["look", "l2"] for weights, _ in drawn])
    said = np.array([chances["look"] for _, chances in drawn])
    assert np.where(first, said, 1 - said).std() < 0.01  # the same chance, whichever was drawn
    assert first.mean() == pytest.approx(np.where(first, said, 1 - said).mean(), abs=0.02)
    assert all(chances["layout"] == 1 for _, chances in drawn)
    assert drawn[0][0] == counts.thompson(np.random.default_rng(0))[0]


def test_damaged_counts_are_refused() -> None:
    for a, b in ((0.0, 1.0), (np.nan, 1.0), (1.0, -2.0), (1.0, np.inf)):
        with pytest.raises(TableError, match="expected numbers above 0"):
            Counts({("look", "l1"): (a, b)})
