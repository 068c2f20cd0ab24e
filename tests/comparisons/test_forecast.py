"""How many more labels a question needs: the formula written out draw by draw, and the worked numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from endoxa.comparisons.forecast import Forecast, forecast
from endoxa.comparisons.posterior import Posterior
from endoxa.tables import Floats


def of_means(means: list[float], covariance: Floats, same: list[int] | None = None, lower: bool = False) -> Posterior:
    names = [chr(ord("A") + place) for place in range(len(means))]
    firsts = np.arange(len(means)) if same is None else np.array(same)
    return Posterior(
        "P@10", names, np.array(means)[:, None], np.zeros((len(means), 1)), covariance, firsts, lower=lower
    )


def by_hand(found: Posterior, labels: int, until: float, margin: float, rate: float, kept: list[int]) -> list[float]:
    """Further labels in every draw, one after the other."""
    further = []
    for worth in found.drawn:
        leader = max(kept, key=lambda place: worth[place])
        factor = 1.0
        for other in kept:
            if other != leader:
                V = found.covariance
                sd = 1.25 * math.sqrt(V[leader, leader] + V[other, other] - 2 * V[leader, other])
                factor = max(factor, norm.ppf(until) * sd / (worth[leader] - worth[other] + margin))
        further.append((labels + 40) * factor ** (1 / rate) - 40 + 25 - labels)
    return further


def test_the_worked_example() -> None:
    """Two systems, 100 labels, Δ = .02, sd = .015: 26 more (25 to 165); P(within 100 more) .665, within 300 .853."""
    found = forecast(of_means([0.52, 0.5], np.eye(2) * 0.015**2 / 2), 100, until=0.95)
    assert found.median == pytest.approx(26, abs=0.5)
    assert found.low == pytest.approx(25)
    assert found.high == pytest.approx(165, rel=0.01)
    assert found.soon == found.within(100) == pytest.approx(0.665, abs=0.002)
    assert found.later == found.within(300) == pytest.approx(0.853, abs=0.002)


@pytest.mark.parametrize(("margin", "rate"), [(0.01, 0.6), (0.0, 0.7)])
@pytest.mark.parametrize("until", [0.9, 0.95])
def test_every_draw_by_its_definition(margin: float, rate: float, until: float) -> None:
    root = np.random.default_rng(2).normal(0, 0.01, (5, 5))
    found = of_means([0.5, 0.49, 0.485, 0.45, 0.3], root @ root.T)
    for lower in (False, True):
        turned = of_means([0.5, 0.49, 0.485, 0.45, 0.3], root @ root.T, lower=lower)
        expected = by_hand(turned, 60, until, margin, rate, [0, 1, 2, 3, 4])
        assert forecast(turned, 60, until=until, margin=margin).draws == pytest.approx(expected)
    pair = forecast(found, 60, until=until, margin=margin, systems=[0, 3])
    expected = by_hand(found, 60, until, margin, rate, [0, 3])
    assert pair.draws == pytest.approx(expected)
    low, median, high = np.quantile(expected, [0.25, 0.5, 0.75])
    assert (pair.low, pair.median, pair.high) == pytest.approx((low, median, high))


def test_a_copy_of_the_leader_needs_no_label_of_its_own() -> None:
    """A and C return the same: their difference of 0 is no reason to ask, and the forecast is that without C."""
    V = np.array([[1e-4, 2e-5], [2e-5, 2e-4]])
    alone = forecast(of_means([0.52, 0.5], V), 50, until=0.95)
    both = of_means([0.52, 0.5, 0.52], V[np.ix_([0, 1, 0], [0, 1, 0])], same=[0, 1, 0])
    again = forecast(both, 50, until=0.95)
    assert (again.median, again.low, again.high) == (alone.median, alone.low, alone.high)


def test_systems_without_a_value_need_no_label() -> None:
    V = np.eye(3) * 1e-4
    with_gap, without = of_means([0.52, math.nan, 0.5], V), of_means([0.52, 0.5], V[:2, :2])
    assert forecast(with_gap, 50, until=0.95).median == forecast(without, 50, until=0.95).median


def test_what_a_file_does_not_have_is_unknown() -> None:
    found = forecast(of_means([0.52, 0.5], np.eye(2) * 1e-4), 100, until=0.95)
    again = Forecast(**found.facts())
    assert again.facts() == found.facts()
    assert math.isnan(again.within(100))
