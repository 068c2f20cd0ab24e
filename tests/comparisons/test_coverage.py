"""Claims about chance, simulated: what 95 % intervals cover, and that tests at 5 % raise 5 % false alarms.

Each figure is printed (pytest -s) beside the bounds it must keep. Bootstraps: 4,000 problems of 50 queries each.
docs/intervals.md has the table over 10 to 100 queries, which `python -m benchmarks.coverage` makes.
"""

from functools import cache

import numpy as np
import pytest
from scipy import stats

from endoxa.comparisons.chosen_intervals import OF_DIFFERENCES, OF_MEANS, intervals_over_queries
from endoxa.statistics.bootstrap import mean_intervals
from endoxa.statistics.multiplicity import holm
from endoxa.statistics.randomisation import sign_flip, tukey

PROBLEMS, QUERIES = 4_000, 50

KINDS = {
    "bootstrap-t": {"method": "bootstrap-t"},
    "bootstrap-t, equal tails": {"method": "bootstrap-t", "tails": "equal"},
    "percentile": {"method": "percentile"},
}

# Reciprocal rank: 45 % of the queries fail, the others find their item at rank 1, 2, … 10, geometrically.
RANKS = np.arange(1, 11)
RR_VALUES = np.append(1 / RANKS, 0.0)
RR_SHARES = np.append(0.55 * 0.35 * 0.65 ** (RANKS - 1), 0.0)
RR_SHARES[-1] = 1 - RR_SHARES.sum()

# name: (draw, true mean, least and greatest coverage)
POPULATIONS = {
    "AP-like: Beta(1, 2.2)": (lambda rng, size: rng.beta(1, 2.2, size), 1 / 3.2, 0.93, 0.97),
    "AP-like, hard queries: Beta(0.6, 2)": (lambda rng, size: rng.beta(0.6, 2, size), 0.6 / 2.6, 0.93, 0.97),
    "nDCG-like: Beta(2.5, 2)": (lambda rng, size: rng.beta(2.5, 2, size), 2.5 / 4.5, 0.93, 0.97),
    "RR-like: 46 % zeros, 1, 1/2, 1/3, …": (
        lambda rng, size: rng.choice(RR_VALUES, p=RR_SHARES, size=size),
        float(RR_VALUES @ RR_SHARES),
        0.91,
        0.97,
    ),
    "hit-or-miss: 70 % zeros, 30 % Beta(1, 1)": (
        lambda rng, size: (rng.random(size) < 0.3) * rng.random(size),
        0.15,
        0.91,
        0.98,
    ),
}


def covered(draw, mean, settings, seed=20):
    made = mean_intervals(
        draw(np.random.default_rng(seed), (PROBLEMS, QUERIES)), rng=np.random.default_rng(seed + 1), **settings
    )
    return float(((made.lo <= mean) & (mean <= made.hi)).mean())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("population", POPULATIONS)
def test_bootstrap_intervals_over_50_queries(population, kind):
    draw, mean, least, most = POPULATIONS[population]
    share = covered(draw, mean, KINDS[kind])
    print(f"\n{population:40} {kind:25} covers {share:.4f} [{least}, {most}]")
    assert least <= share <= most


def test_symmetric_tails_are_safer_where_few_queries_differ():
    """Why symmetric is the default: of 50 paired differences four fifths are 0, the others N(.05, .2)."""

    def draw(rng, size):
        return (rng.random(size) < 0.2) * rng.normal(0.05, 0.2, size)

    shares = {kind: covered(draw, 0.01, settings) for kind, settings in KINDS.items()}
    print(f"\n{'sparse differences':40} {shares}")
    assert shares["bootstrap-t"] >= 0.94
    assert shares["bootstrap-t, equal tails"] < 0.92
    assert shares["percentile"] < 0.93


# Strongly skewed AP: a tenth of the queries is easy. 80 % zeros, the rest spread over [0, 1]. One in twenty succeeds.
FEW = {
    "skewed AP": lambda rng, size: np.where(rng.random(size) < 0.9, rng.beta(0.5, 12, size), rng.beta(1.5, 2, size)),
    "80 % zeros": lambda rng, size: (rng.random(size) < 0.2) * rng.random(size),
    "Success .05": lambda rng, size: (rng.random(size) < 0.05) * 1.0,
}
MEANS = {"skewed AP": 0.9 * 0.5 / 12.5 + 0.1 * 1.5 / 3.5, "80 % zeros": 0.1, "Success .05": 0.05}


def misses(name, queries, low, interval, trials=2_000):
    """How often the mean lies above the interval, how often below it, and how many ends are infinite or coincide."""
    values = FEW[name](np.random.default_rng(40), (trials, queries))
    made = intervals_over_queries(
        values,
        low,
        1.0 if np.isfinite(low) else np.inf,
        interval=interval,
        confidence=0.95,
        resamples=1_999,
        rng=np.random.default_rng(41),
    )
    wrong = ~np.isfinite(made.hi - made.lo) | (made.hi <= made.lo)
    return int((made.hi < MEANS[name]).sum()), int((made.lo > MEANS[name]).sum()), int(wrong.sum())


@pytest.mark.parametrize("queries", [10, 25])
@pytest.mark.parametrize("population", FEW)
def test_intervals_of_means_cover_with_few_queries(population, queries):
    """Either end misses the mean in 2.5 % of the samples at the most; bootstrap-t misses more, or has no end."""
    most = bounds(0.025, 2_000)[1]
    above, below, wrong = misses(population, queries, 0.0, OF_MEANS)
    print(f"\n{population}, {queries} queries: above {above / 2_000:.4f}, below {below / 2_000:.4f}")
    assert above <= most
    assert below <= most
    assert wrong == 0
    above, _, wrong = misses(population, queries, -np.inf, "bootstrap-t")
    assert above > most or wrong > 0  # the interval that this one replaces


@pytest.mark.parametrize("queries", [10, 25])
@pytest.mark.parametrize("population", ["80 % zeros", "Success .05"])
def test_intervals_of_differences_cover_where_few_queries_differ(population, queries):
    above, below, wrong = misses(population, queries, -1.0, OF_DIFFERENCES)
    assert above + below <= bounds(0.05, 2_000)[1]
    assert wrong == 0


def bounds(level, trials):
    """Counts that a binomial with this chance keeps to in 99.9 % of all cases."""
    return stats.binom.ppf([0.0005, 0.9995], trials, level)


def exchangeable(shape, seed=30):
    """Scores of systems that differ by chance only, on queries of very different difficulty."""
    rng = np.random.default_rng(seed)
    difficulty = rng.beta(1, 2, (*shape[:-2], 1, shape[-1]))
    return rng.beta(1 + 6 * difficulty, 1 + 6 * (1 - difficulty), shape)


@cache
def p_values(queries):
    """Of pairs of systems that differ by chance only; the same for each alpha."""
    scores = exchangeable((PROBLEMS, 2, queries))
    return sign_flip(scores[:, 0] - scores[:, 1], resamples=19_999, rng=np.random.default_rng(31))


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("queries", [12, QUERIES])
def test_randomisation_raises_the_false_alarms_it_admits(alpha, queries):
    p = p_values(queries)
    alarms, (least, most) = (p <= alpha).sum(), bounds(alpha, PROBLEMS)
    how = "exact" if queries == 12 else "sampled"
    print(
        f"\nsign flip, {how:8} alpha {alpha}: {alarms / PROBLEMS:.4f} [{least / PROBLEMS:.4f}, {most / PROBLEMS:.4f}]"
    )
    assert least <= alarms <= most


def test_families_of_pairs_raise_no_more_alarms_than_one_test():
    families, systems, queries, alpha = 1_000, 5, 20, 0.05
    scores = exchangeable((families, systems, queries))
    rng = np.random.default_rng(32)
    by_tukey = sum((tukey(family, resamples=999, rng=rng) <= alpha).any() for family in scores)
    left, right = np.triu_indices(systems, 1)
    p = sign_flip(scores[:, left] - scores[:, right], resamples=4_999, rng=rng)
    by_holm = sum((holm(family) <= alpha).any() for family in p)
    uncorrected = (p <= alpha).any(axis=1).sum()
    least, most = bounds(alpha, families)
    print(
        f"\nany false alarm among {len(left)} pairs: Tukey {by_tukey / families:.4f}, Holm {by_holm / families:.4f}, "
        f"uncorrected {uncorrected / families:.4f} [{least / families:.4f}, {most / families:.4f}]"
    )
    assert least <= by_tukey <= most
    assert by_holm <= most
    assert uncorrected > most  # without correction the simulation does raise alarms
