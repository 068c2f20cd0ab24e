"""Swap rates, discriminative power and sample sizes against worked numbers and enumeration."""

import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from endoxa.comparisons import power
from endoxa.comparisons.paired import compare
from endoxa.comparisons.power import discriminative_power, queries_needed, swap_rates
from endoxa.errors import JoinError, TextError
from endoxa.policies import Policy
from endoxa.statistics.randomisation import tukey, tukey_ranges
from endoxa.tables import Scores


def rng(seed=7):
    return np.random.default_rng(seed)


def scores(values):
    """Scores of s0, s1, … on AP from a matrix [system, query]."""
    rows = [(f"s{s}", f"q{q:03}", "AP", float(v)) for (s, q), v in np.ndenumerate(values)]
    frame = pl.DataFrame(rows, schema=["system", "query", "measure", "value"], orient="row")
    return Scores(frame, Policy(), pl.DataFrame({"system": [f"s{s}" for s in range(len(values))]}))


def every_split(values, size):
    """Swap rate over all disjoint pairs of query sets of this size, slowly."""
    queries, rates = range(values.shape[1]), []
    for first in combinations(queries, size):
        for second in combinations([q for q in queries if q not in first], size):
            for a, b in combinations(values, 2):
                one, two = (round((a[list(part)] - b[list(part)]).sum(), 9) for part in (first, second))
                rates.append(0.5 if one * two == 0 else float(one * two < 0))
    return np.mean(rates)


def test_worked_example():
    """By hand: d = (.2, .1, -.15, .15) in halves of two; the three splits give ½, 0 and 1."""
    d = np.array([0.2, 0.1, -0.15, 0.15])
    table = scores(np.array([0.5 + d, np.full(4, 0.5)]))
    assert every_split(np.array([0.5 + d, np.full(4, 0.5)]), 2) == pytest.approx(0.5)
    made = swap_rates(table, "AP", sizes=[2], splits=20_000, rng=rng())
    assert made.by_size["rate"][0] == pytest.approx(0.5, abs=5 * math.sqrt(1 / 6 / 20_000))
    assert made.by_size["comparisons"][0] == 20_000


def test_swap_rate_is_the_enumeration():
    values = np.round(rng(1).random((4, 6)), 1)
    made = swap_rates(scores(values), "AP", sizes=[1, 2, 3], splits=8_000, rng=rng())
    for size, rate in made.by_size.select("size", "rate").rows():
        assert rate == pytest.approx(every_split(values, size), abs=0.02)


def test_bins_hold_the_difference_of_the_first_half():
    # Half of the queries say +.1, half say -.1: with one query a side, every comparison has |d| = .1.
    values = np.array([[0.6, 0.4] * 4, [0.5] * 8])
    made = swap_rates(scores(values), "AP", sizes=[1], edges=(0, 0.05, 0.1, 0.2), splits=4_000, rng=rng())
    rows = made.by_difference.rows()
    assert [row[:3] for row in rows] == [(1, 0.0, 0.05), (1, 0.05, 0.1), (1, 0.1, 0.2)]
    assert [row[4] for row in rows] == [0, 0, 4_000]
    assert math.isnan(rows[0][3])
    assert rows[2][3] == pytest.approx(4 / 7, abs=0.04)  # the other query is one of the four that disagree


def test_swaps_fall_with_size_and_difference():
    values = rng(1).beta(1, 2, (6, 60)) + np.linspace(0, 0.2, 6)[:, None]
    made = swap_rates(scores(values), "AP", sizes=[5, 30], edges=(0, 0.05, 0.15, math.inf), splits=500, rng=rng())
    small, large = made.by_size["rate"].to_list()
    assert large < small < 0.5
    rates = made.by_difference.filter(size=30)["rate"].to_list()
    assert rates == sorted(rates, reverse=True)
    assert made.by_difference.filter(size=5)["comparisons"].sum() == 500 * 15


def test_equal_systems_swap_half_the_time(monkeypatch):
    monkeypatch.setattr(power, "BLOCK", 100)
    values = np.tile(rng(1).random(10), (3, 1))
    assert swap_rates(scores(values), "AP", sizes=[5], splits=50, rng=rng()).by_size["rate"][0] == 0.5


def test_queries_that_a_system_lacks_are_left_out():
    values = rng(1).random((3, 10))
    holes = np.concatenate([values, np.full((3, 4), np.nan)], axis=1)
    holes[1:, 10:] = 0.5
    one, two = (swap_rates(scores(v), "AP", sizes=[5], splits=100, rng=rng()) for v in (values, holes))
    assert one.by_size.equals(two.by_size)
    assert discriminative_power(scores(holes), "AP", resamples=99, rng=rng()).queries == 10


def test_discriminative_power_is_tukeys_share():
    values = rng(1).beta(1, 2, (6, 40)) + np.linspace(0, 0.3, 6)[:, None]
    table = scores(values)
    made = discriminative_power(table, "AP", resamples=4_000, rng=rng())
    frame = compare(table, test="tukey", resamples=4_000, rng=rng(3)).frame
    assert made.pairs == 15
    assert 0 < made.significant < 15
    assert made.share == made.significant / 15
    assert made.share == pytest.approx((frame["p_value"] <= 0.05).mean(), abs=1.01 / 15)
    sure = frame.filter((pl.col("p_value") - 0.05).abs() > 0.015)  # beyond the noise of either draw
    assert ((sure["p_value"] < 0.05) == (sure["difference"].abs() > made.needed)).all()


def test_needed_is_the_edge_of_significance():
    values = rng(1).beta(1, 2, (6, 40)) + np.linspace(0, 0.3, 6)[:, None]
    made = discriminative_power(scores(values), "AP", resamples=99, rng=rng())
    ranges = tukey_ranges(values, resamples=99, rng=rng())
    assert ((ranges > made.needed).sum() + 1) / 100 <= 0.05 < ((ranges >= made.needed).sum() + 1) / 100
    p = tukey(values, resamples=99, rng=rng())
    assert made.significant == (p[np.triu_indices(6, 1)] <= 0.05).sum()


def test_a_stricter_alpha_needs_a_larger_difference():
    table = scores(rng(1).beta(1, 2, (5, 30)))
    needed = [discriminative_power(table, "AP", alpha=a, resamples=2_000, rng=rng()).needed for a in (0.2, 0.05, 0.01)]
    assert needed == sorted(needed)
    assert len(set(needed)) == 3


@pytest.mark.parametrize(
    ("delta", "sd", "n"), [(0.05, 0.15, 73), (0.05, 0.20, 128), (0.10, 0.20, 34), (0.02, 0.15, 444)]
)
def test_worked_sample_sizes(delta, sd, n):
    """docs/methods/comparisons.md, Power."""
    assert queries_needed(delta, sd) == queries_needed(-delta, sd) == n


@pytest.mark.parametrize(
    ("delta", "sd", "alpha", "target"), [(0.3, 0.2, 0.05, 0.8), (1.0, 0.9, 0.01, 0.95), (0.1, 0.4, 0.1, 0.5)]
)
def test_sample_size_is_the_first_with_enough_power(delta, sd, alpha, target):
    def attained(n):
        t = stats.t.ppf(1 - alpha / 2, n - 1)
        law = stats.nct(n - 1, delta / sd * math.sqrt(n))
        return law.sf(t) + law.cdf(-t)

    n = queries_needed(delta, sd, alpha=alpha, power=target)
    assert attained(n) >= target > attained(n - 1)


def test_power_is_attained_in_simulation():
    n = queries_needed(0.1, 0.2)
    d = rng(1).normal(0.1, 0.2, (20_000, n))
    found = (stats.ttest_1samp(d, 0, axis=1).pvalue <= 0.05).mean()
    low, high = stats.binom.ppf([0.0005, 0.9995], 20_000, 0.808) / 20_000  # power at a whole n, a little above 0.8
    assert low <= found <= high


def test_extremes_of_sample_size():
    assert queries_needed(0.1, 0) == 2
    assert queries_needed(50, 0.1) == 2
    normal = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2 / 0.001**2
    assert queries_needed(0.001, 1) == pytest.approx(normal, rel=1e-4)


def test_says_what_is_wrong():
    table = scores(rng(1).random((3, 10)))
    with pytest.raises(TextError, match="choose sizes from 1 to 5"):
        swap_rates(table, "AP", sizes=[6], rng=rng())
    with pytest.raises(TextError, match="must rise"):
        swap_rates(table, "AP", sizes=[5], edges=(0, 0.1, 0.1), rng=rng())
    with pytest.raises(TextError, match="out of reach"):
        discriminative_power(table, "AP", alpha=0.01, resamples=50, rng=rng())
    with pytest.raises(TextError, match="delta must differ from 0"):
        queries_needed(0, 0.1)
    with pytest.raises(TextError, match="alpha < power"):
        queries_needed(0.1, 0.1, power=0.01)
    with pytest.raises(JoinError, match="1 systems share 10 queries"):
        swap_rates(scores(rng(1).random((1, 10))), "AP", sizes=[2], rng=rng())


@pytest.mark.parametrize("alpha", [-0.5, 0.0, 1.0, 1.5])
def test_an_alpha_that_is_no_probability_is_refused(alpha):
    with pytest.raises(TextError, match="alpha"):
        discriminative_power(scores(rng().random((3, 8))), "AP", alpha=alpha, resamples=99, rng=rng())


def test_the_smallest_alpha_within_reach_allows_no_greater_range():
    values = rng(2).random((3, 8))
    found = discriminative_power(scores(values), "AP", alpha=0.05, resamples=19, rng=rng())
    assert found.needed == tukey_ranges(values, resamples=19, rng=rng()).max()
    with pytest.raises(TextError, match="out of reach; take 20 or more"):
        discriminative_power(scores(values), "AP", alpha=0.05, resamples=18, rng=rng())


def test_two_systems_on_two_queries_are_enough():
    values = np.array([[0.1, 0.4], [0.3, 0.2]])
    assert power._complete(scores(values), "AP").tolist() == values.tolist()
    with pytest.raises(JoinError, match="2 systems share 1 queries"):
        power._complete(scores(values[:, :1]), "AP")


def test_queries_needed_rest_on_the_sample_deviation_of_differences():
    values = rng(3).random((3, 6))
    spreads = [stats.tstd(one - other) for one, other in combinations(values, 2)]
    (row,) = power.of_scores(scores(values)).rows(named=True)
    assert row["queries to see 0.05"] == queries_needed(0.05, float(np.median(spreads)))
    assert row["at queries"] == 3
    assert power.of_scores(scores(values[:, :3])) is None
