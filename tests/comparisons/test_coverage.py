"""Claims about chance, simulated: 95 % intervals cover 95 %, tests at 5 % raise 5 % false alarms.

Each figure is printed (pytest -s) beside the bounds it must keep. 4,000 problems of 50 queries each.
"""

import numpy as np
import pytest
from scipy import stats

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
def test_intervals_cover_what_they_claim(population, kind):
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


def bounds(level, trials):
    """Counts that a binomial with this chance keeps to in 99.9 % of all cases."""
    return stats.binom.ppf([0.0005, 0.9995], trials, level)


def exchangeable(shape, seed=30):
    """Scores of systems that differ by chance only, on queries of very different difficulty."""
    rng = np.random.default_rng(seed)
    difficulty = rng.beta(1, 2, (*shape[:-2], 1, shape[-1]))
    return rng.beta(1 + 6 * difficulty, 1 + 6 * (1 - difficulty), shape)


@pytest.mark.parametrize("queries", [12, QUERIES])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
def test_randomisation_raises_the_false_alarms_it_admits(alpha, queries):
    scores = exchangeable((PROBLEMS, 2, queries))
    p = sign_flip(scores[:, 0] - scores[:, 1], resamples=19_999, rng=np.random.default_rng(31))
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
