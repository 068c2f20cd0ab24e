"""Intervals of linear estimates over judges and queries: by hand, by a slow definition, and looked at all the time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from endoxa.errors import TableError, TextError
from endoxa.statistics.anytime import crossed_reach, multiple

HOW = {"spread": 2.0, "typical": 0.5}


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def slow(parts, judges, queries, *, alpha, spread, typical):
    """The definition, with dictionaries."""

    def squares(names):
        sums: dict[int, float] = {}
        for part, name in zip(parts, names, strict=True):
            sums[name] = sums.get(name, 0.0) + part
        return sum(value**2 for value in sums.values()), len(sums)

    of_queries, Q = squares(queries)
    of_judges, J = squares(judges)
    of_queries = Q / (Q - 1) * (of_queries + (spread / Q) ** 2)
    of_judges = J / (J - 1) * of_judges if J > 1 else 0.0
    variance = of_queries + of_judges
    freedom = variance**2 / (of_queries**2 / (Q - 1) + (of_judges**2 / (J - 1) if J > 1 else 0.0))
    r = typical**2 / variance
    c = math.sqrt((1 + 1 / r) * (math.log(1 + r) + 2 * math.log(1 / alpha)))
    return math.sqrt(variance) * stats.t.isf(stats.norm.sf(c), freedom)


@pytest.mark.parametrize("judges", [1, 2, 5])
def test_it_is_the_slow_definition(judges: int) -> None:
    chance = rng(judges)
    judge, query = chance.integers(judges, size=60), chance.integers(7, size=60)
    parts = chance.normal(size=60) / 60
    found = crossed_reach(parts, judge, query, alpha=0.02, **HOW)
    assert found.reach == pytest.approx(slow(parts, judge, query, alpha=0.02, **HOW), rel=1e-9)
    assert (found.judges, found.queries) == (judges, 7)


def test_four_answers_by_hand() -> None:
    found = crossed_reach([0.5, -0.5, 0.25, -0.25], ["a", "b", "a", "b"], ["x", "x", "y", "y"], **HOW)
    of_queries, of_judges = 2 * (0 + 1.0**2), 2 * (0.75**2 + 0.75**2)  # the parts of either query cancel
    assert found.se == pytest.approx(math.sqrt(of_queries + of_judges))
    assert found.freedom == pytest.approx((of_queries + of_judges) ** 2 / (of_queries**2 + of_judges**2))


def test_an_interval_always_has_a_width() -> None:
    alike = crossed_reach(np.zeros(40), np.repeat([0, 1], 20), np.tile(np.arange(20), 2), **HOW)
    assert alike.reach > 0.1
    assert crossed_reach(np.zeros(400), np.arange(400) % 2, np.arange(400) % 200, **HOW).reach > 0.01
    lonely = crossed_reach([0.0, 0.0], ["a", "b"], ["x", "x"], **HOW)
    assert math.isnan(lonely.reach) and lonely.queries == 1


def test_more_judges_more_queries_or_a_lower_confidence_make_it_shorter() -> None:
    def reach(judges: int, queries: int, alpha: float = 0.05) -> float:
        chance = rng(1)
        shape = (judges, queries)
        cells = 0.3 * chance.normal(size=(judges, 1)) + chance.normal(size=(1, queries)) + chance.normal(size=shape)
        who, where = np.indices(shape)
        parts = (cells - cells.mean()).ravel() / cells.size
        return crossed_reach(parts, who.ravel(), where.ravel(), alpha=alpha, **HOW).reach

    assert reach(12, 50) < reach(3, 50)
    assert reach(12, 200) < reach(12, 20)
    assert reach(6, 50, alpha=0.2) < reach(6, 50) < reach(6, 50, alpha=0.001)


def test_the_multiple_holds_however_often_one_looks() -> None:
    """Means of up to 3,000 normal numbers, looked at after each: few courses ever leave the interval."""
    many = 400
    chance = rng(5)
    n = np.arange(1, 3001)
    means = np.cumsum(chance.normal(size=(many, len(n))), axis=1) / n
    se = 1 / np.sqrt(n)
    wide = np.array([multiple(float(one), alpha=0.1, typical=0.25) for one in se]) * se
    plain = stats.norm.isf(0.05) * se
    ever = (np.abs(means) > wide).any(axis=1).mean()
    assert 0.01 < ever <= 0.1 + 2 * math.sqrt(0.1 * 0.9 / many)
    assert (np.abs(means) > plain).any(axis=1).mean() > 0.4  # what looking does to a plain interval


def test_few_degrees_of_freedom_reach_further() -> None:
    known = multiple(0.2, alpha=0.05, typical=0.5)
    reaches = [multiple(0.2, alpha=0.05, typical=0.5, freedom=f) for f in (1.0, 3.0, 10.0, 1e6)]
    assert reaches == sorted(reaches, reverse=True)
    assert reaches[-1] == pytest.approx(known, rel=1e-4)
    assert math.isfinite(multiple(1e-12, alpha=1e-9, typical=0.5, freedom=1.0))


def test_refusals() -> None:
    with pytest.raises(TableError, match="one of each per answer"):
        crossed_reach([1.0, 2.0], ["a"], ["x", "y"], **HOW)
    with pytest.raises(TextError, match="spread and typical are above 0"):
        crossed_reach([1.0], ["a"], ["x"], spread=0.0, typical=1.0)
    with pytest.raises(TextError, match="alpha must lie"):
        crossed_reach([1.0], ["a"], ["x"], alpha=2, **HOW)
