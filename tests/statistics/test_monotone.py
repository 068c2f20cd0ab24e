"""Bayesian monotone regression against enumeration, the prior, and simulated truth."""

import math
from itertools import combinations

import numpy as np
import pytest
from numba import njit
from scipy import stats

from endoxa.errors import TableError, TextError
from endoxa.statistics import monotone
from endoxa.statistics.monotone import Prior, effective, fit, sensitivity, split_rhat

Y = np.array([1, 2, 2, 3, 5, 4], dtype=float)
X = np.arange(6.0)
WORKED = Prior(lam=1, kmax=5, m0=3, v0=4, a0=2, b0=1, raw=True)
POSTERIOR = [0.039715, 0.591076, 0.318137, 0.047793, 0.003157, 0.000123]
MEAN = [1.797, 1.967, 2.133, 2.968, 4.073, 4.109]


def rng(seed=7):
    return np.random.default_rng(seed)


def log_marginal(x, y, changes):
    """log p(y | change points) by the sums of the module, under the worked prior."""
    a0, b0 = float(WORKED.a0), float(WORKED.b0)
    knots, *sums = monotone._pooled(x, y, WORKED.m0)
    ends = np.array([*changes, len(knots)], dtype=np.int64)
    value, _ = monotone._evidence(ends, len(changes), *sums, float(WORKED.v0), a0, b0)
    return value + a0 * math.log(b0) - math.lgamma(a0) - len(y) / 2 * math.log(2 * math.pi)


@njit
def seeded(seed):
    """Numba has a random state of its own."""
    np.random.seed(seed)


def log_density(y, segment, prior):
    """log p(y | segments), as a multivariate t: nothing in common with the sums of the module."""
    member = (segment[:, None] == segment[None, :]).astype(float)
    shape = prior.b0 / prior.a0 * (np.eye(len(y)) + prior.v0 * member)
    return stats.multivariate_t(np.full(len(y), prior.m0), shape, df=2 * prior.a0).logpdf(y)


def ordered(y, segment, prior, slices=120):
    """Pr(levels in order | y, segments) and E[level; in order]: quadrature over the noise, then level by level."""
    parts = [y[segment == j] for j in range(segment.max() + 1)]
    n, mean = np.array([len(p) for p in parts]), np.array([p.mean() for p in parts])
    b = prior.b0 + sum(((p - p.mean()) ** 2).sum() for p in parts) / 2
    b += (n / (1 + prior.v0 * n) * (mean - prior.m0) ** 2).sum() / 2
    s2 = stats.invgamma(prior.a0 + len(y) / 2, scale=b).ppf((np.arange(slices) + 0.5) / slices)[:, None]
    grid = np.linspace(-9, 15, 1201)
    step = grid[1] - grid[0]
    dense = [
        stats.norm.pdf(grid, (prior.m0 / prior.v0 + a * c) / (1 / prior.v0 + c), np.sqrt(s2 / (1 / prior.v0 + c)))
        for a, c in zip(mean, n, strict=True)
    ]
    below, above = [np.ones_like(dense[0])], [np.ones_like(dense[0])]
    for d in dense[:-1]:
        below.append((np.cumsum(d * below[-1], axis=1) - d * below[-1] / 2) * step)
    for d in dense[:0:-1]:
        flipped = (d * above[-1])[:, ::-1]
        above.append(((np.cumsum(flipped, axis=1) - flipped / 2) * step)[:, ::-1])
    joint = [d * lo * hi for d, lo, hi in zip(dense, below, above[::-1], strict=True)]
    chance = (joint[0].sum(axis=1) * step).mean()
    return chance, np.array([((grid * j).sum(axis=1) * step).mean() for j in joint])


@pytest.fixture(scope="module")
def enumerated():
    """Over all 32 partitions: posterior of k without and with the order, Pr(order | y), posterior mean curve."""
    free, held, curve = np.zeros(6), np.zeros(6), np.zeros(6)
    for k in range(6):
        for cuts in combinations(range(1, 6), k):
            segment = np.searchsorted(cuts, np.arange(6), side="right")
            weight = math.exp(log_density(Y, segment, WORKED)) / math.factorial(k) / math.comb(5, k)
            chance, levels = ordered(Y, segment, WORKED)
            free[k] += weight
            held[k] += weight * chance
            curve += weight * levels[segment]
    return free / free.sum(), held / held.sum(), held.sum() / free.sum(), curve / held.sum()


def test_worked_marginals():
    """docs/methods/studies.md, Bayesian monotone regression, and the multivariate t."""
    assert log_marginal(X, Y, []) == pytest.approx(-13.242106, abs=5e-7)
    assert log_marginal(X, Y, [4]) == pytest.approx(-9.662176, abs=5e-7)
    for cuts in ([], [4], [1, 3], [1, 2, 3, 4, 5]):
        segment = np.searchsorted(cuts, np.arange(6), side="right")
        expected = log_density(Y, segment, WORKED)
        assert log_marginal(X, Y, cuts) == pytest.approx(expected)


def test_marginal_pools_ties():
    x, order = np.array([1, 0, 1, 2, 2, 2.0]), np.array([1, 0, 2, 3, 4, 5])
    segment = np.array([0, 0, 0, 1, 1, 1])
    expected = log_density(Y[order], segment, WORKED)
    assert log_marginal(x, Y, [2]) == pytest.approx(expected)


def test_enumeration_is_that_of_methods(enumerated):
    """The oracle itself, against worked figures and Student's t for two levels."""
    free, held, chance, curve = enumerated
    assert free == pytest.approx([0.033003, 0.493950, 0.344347, 0.105492, 0.020271, 0.002938], abs=1e-6)
    assert held == pytest.approx(POSTERIOR, abs=3e-4)
    assert chance == pytest.approx(0.830991, abs=3e-4)
    assert curve == pytest.approx(MEAN, abs=5e-3)
    two, _ = ordered(Y, np.array([0, 0, 0, 0, 1, 1]), WORKED, slices=4000)
    b = 1 + (((Y[:4] - 2) ** 2).sum() + 0.5 + 4 / 17 * (2 - 3) ** 2 + 2 / 9 * (4.5 - 3) ** 2) / 2
    gap, spread = (0.75 + 9) / 2.25 - (0.75 + 8) / 4.25, b / 5 * (1 / 4.25 + 1 / 2.25)
    assert stats.t.cdf(gap / math.sqrt(spread), 10) == pytest.approx(0.998293, abs=5e-7)
    assert two == pytest.approx(0.998293, abs=1e-5)


@pytest.mark.parametrize("gibbs", [False, True])
def test_chain_against_enumeration(enumerated, gibbs):
    """The jumps alone, and with the moves added for mixing: the same target."""
    # long enough to see .006 in k, which is what evidence gone stale after a shift of change points would cost
    made = fit(X, Y, prior=WORKED, iterations=400_000, gibbs=gibbs, rng=rng(gibbs))
    _, held, _, curve = enumerated
    assert (np.abs(made.k - held) < 4 * np.sqrt(held * (1 - held) / made.ess["k"]) + 1e-5).all()
    assert made.mean == pytest.approx(curve, abs=0.02)
    assert made.acceptance == pytest.approx(0.354, abs=0.01)
    assert made.settled
    assert (np.diff(made.levels) >= 0).all()
    assert (made.lo <= made.mean).all()
    assert (made.mean <= made.hi).all()


def test_chain_cut_off_at_kmax(enumerated):
    """The chances of moves at kmax are part of the ratio."""
    made = fit(X, Y, prior=Prior(lam=1, kmax=2, m0=3, v0=4, a0=2, b0=1, raw=True), iterations=60_000, rng=rng())
    held = enumerated[1][:3] / enumerated[1][:3].sum()
    assert (np.abs(made.k - held) < 4 * np.sqrt(held * (1 - held) / made.ess["k"])).all()


@pytest.mark.parametrize("gibbs", [False, True])
def test_prior_is_recovered(gibbs):
    """Without data: k ∝ lam^k / (k! (k+1)!), s2 inverse gamma, and the mean curve that of ordered normals."""
    none, gaps, lam = np.zeros(9), 7, 3.0
    numbers, grid = np.array([lam, 2, 3, 0.5]), np.arange(gaps + 1)
    trace, rises, _, _ = monotone._chain(
        11, none, none, none, numbers, gaps, grid, np.array([0, 4]), 1000, 1_000_000, 100, gibbs
    )
    expected = np.array([lam**k / math.factorial(k) / math.factorial(k + 1) for k in range(gaps + 1)])
    expected /= expected.sum()
    for k in range(4):
        there = (trace[None, :, 0] == k).astype(float)
        assert abs(there.mean() - expected[k]) < 4 * math.sqrt(expected[k] * (1 - expected[k]) / effective(there))
    spaced = trace[:: math.ceil(len(trace) / effective(trace[None, :, 1])), 1]
    assert stats.kstest(spaced, stats.invgamma(3, scale=0.5).cdf).pvalue > 1e-3
    curve = np.cumsum(rises) / len(trace)
    assert curve == pytest.approx(-curve[::-1], abs=0.02)  # no data: as likely up as down


@pytest.mark.parametrize("gibbs", [False, True])
def test_truth_drawn_from_the_prior_has_even_ranks(gibbs):
    """Simulation-based calibration: curves drawn from the prior rank evenly among draws from their posterior."""
    stream, n, lam, v0, a0, b0 = rng(5), 10, 3.0, 2.0, 3.0, 1.0
    gaps, thin, kept, times = n - 1, 12, 99, 400
    weight = np.array([lam**k / math.factorial(k) / math.factorial(k + 1) for k in range(gaps + 1)])
    ranks = np.empty((times, 4))
    for row in range(times):
        k = stream.choice(gaps + 1, p=weight / weight.sum())
        cuts = np.sort(stream.choice(np.arange(1, n), size=k, replace=False))
        s2 = stats.invgamma(a0, scale=b0).ppf(stream.random())
        curve = np.sort(stream.normal(0, math.sqrt(v0 * s2), k + 1))[np.searchsorted(cuts, np.arange(n), side="right")]
        y = curve + stream.normal(0, math.sqrt(s2), n)
        count, total, square = (np.concatenate([[0.0], np.cumsum(part)]) for part in (np.ones(n), y, y * y))
        numbers, at = np.array([lam, v0, a0, b0]), np.array([1, 7])
        trace, _, _, _ = monotone._chain(row, count, total, square, numbers, gaps, at, at, 300, kept * thin, 100, gibbs)
        truth = np.array([k, s2, *curve[at]])
        draws = trace[::thin]
        ranks[row] = (draws < truth).sum(axis=0) + stream.integers((draws == truth).sum(axis=0) + 1)
    for column in ranks.T:
        assert stats.chisquare(np.bincount((column // 10).astype(int), minlength=10)).pvalue > 1e-3


@pytest.mark.parametrize(
    ("low", "high"), [(-np.inf, np.inf), (-0.5, 0.3), (-4, 0.1), (0.5, 0.7), (3, np.inf), (-9, -6)]
)
def test_truncated_normal(low, high):
    seeded(4)
    draws = [monotone._truncated(float(low), float(high)) for _ in range(4000)]
    assert stats.kstest(draws, stats.truncnorm(low, high).cdf).pvalue > 1e-4


def test_same_seed_same_chain():
    one, two, three = (fit(X, Y, iterations=500, rng=rng(seed)) for seed in (1, 1, 2))
    assert (one.mean == two.mean).all()
    assert one.s2 == two.s2
    assert one.s2 != three.s2


def test_scale_and_order_of_rows_do_not_matter():
    """y is brought to mean 0 and variance 1 inside: the curve of 10 + 3y is 10 + 3 times the curve."""
    stream = rng()
    x = stream.integers(0, 12, 60).astype(float)
    y = x / 3 + stream.normal(size=60)
    shuffled = stream.permutation(60)
    one, two = fit(x, y, iterations=1000, rng=rng()), fit(x[shuffled], 10 + 3 * y[shuffled], iterations=1000, rng=rng())
    assert two.mean == pytest.approx(10 + 3 * one.mean)
    assert two.s2 == pytest.approx(9 * one.s2)


def test_finds_a_smooth_curve():
    """300 values about a curve: the band holds it nearly everywhere, prediction is linear between and flat beyond."""
    stream = rng(2)
    x = stream.random(300)
    y = 4 * x**2 + stream.normal(0, 0.5, 300)
    made = fit(x, y, rng=rng())
    assert len(made.x) == 200
    assert ((made.lo <= 4 * made.x**2) & (4 * made.x**2 <= made.hi)).mean() > 0.85
    assert made.s2_lo < 0.25 < made.s2_hi
    assert made.predict(np.array([-1.0, 2.0])).tolist() == [made.levels[0], made.levels[-1]]
    assert made.predict((made.knots[:-1] + made.knots[1:]) / 2) == pytest.approx(
        (made.levels[:-1] + made.levels[1:]) / 2
    )


def test_one_x_has_one_level():
    made = fit(np.zeros(50), np.arange(50.0), rng=rng())
    assert made.k.tolist() == [1]
    assert made.mean == pytest.approx([24.5], abs=0.2)


def test_sensitivity():
    made = sensitivity(X, Y, iterations=2000, rng=rng())
    assert list(made) == ["given", "v0 x 4", "lam x 3"]
    steps = {name: float(one.k @ np.arange(len(one.k))) for name, one in made.items()}
    assert steps["lam x 3"] > steps["given"] + 0.5
    stream = rng()
    for name, prior in (("given", Prior()), ("v0 x 4", Prior(v0=8)), ("lam x 3", Prior(lam=9))):
        assert (fit(X, Y, prior=prior, iterations=2000, rng=stream).mean == made[name].mean).all()


def test_convergence_of_known_chains():
    """An AR(1) chain is worth n (1 - φ)/(1 + φ) draws; chains with different means do not agree."""
    stream, phi, n = rng(3), 0.8, 20_000
    noise = stream.normal(size=(4, n))
    traces = np.empty_like(noise)
    traces[:, 0] = noise[:, 0]
    for t in range(1, n):
        traces[:, t] = phi * traces[:, t - 1] + math.sqrt(1 - phi**2) * noise[:, t]
    assert effective(traces) == pytest.approx(4 * n * 0.2 / 1.8, rel=0.1)
    assert effective(noise) == pytest.approx(4 * n, rel=0.05)
    assert split_rhat(traces) == pytest.approx(1, abs=0.002)
    # means 0 and 1 in two chains of variance 1: (n - 1)/n + variance of the four halves' means, 1/3
    assert split_rhat(np.stack([noise[0], noise[1] + 1])) == pytest.approx(math.sqrt(1 + 1 / 3), abs=0.01)
    assert effective(np.stack([noise[0], noise[1] + 1])) < 20
    assert math.isnan(split_rhat(np.ones((2, 10))))
    assert math.isnan(effective(np.ones((2, 10))))


def test_bad_input():
    with pytest.raises(TableError, match="every y is 2"):
        fit(X, np.full(6, 2.0), rng=rng())
    with pytest.raises(TextError, match="v0 of the prior is 0"):
        Prior(v0=0)
    with pytest.raises(TextError, match="kmax -1"):
        Prior(kmax=-1)
    with pytest.raises(TextError, match="confidence must lie"):
        fit(X, Y, confidence=1, rng=rng())
    with pytest.raises(TextError, match="0 chains"):
        fit(X, Y, chains=0, rng=rng())


def test_convergence_is_watched_inside_the_range():
    x = np.arange(5.0)
    found = monotone.fit(x, x, chains=1, burn=5, iterations=20, rng=np.random.default_rng(0))
    assert list(found.rhat) == ["k", "s2", "f(1)", "f(2)", "f(3)"]
