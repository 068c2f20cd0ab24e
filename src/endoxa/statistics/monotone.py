"""Bayesian regression by a nondecreasing step function whose change points are not known (numba).

A state is a set of k change points among the gaps between the distinct x, k + 1 levels in order, and a noise
variance. Reversible-jump sampling averages over all of them; the average of steps is smooth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import numpy as np
from numba import njit

from endoxa.errors import TableError, TextError
from endoxa.policies import refuse_outside
from endoxa.statistics.bootstrap import TINY
from endoxa.statistics.isotonic import checked
from endoxa.tables import Floats, Ints

POINTS = 200  # x at which the band is kept
DRAWS = 1000  # draws of each chain that the band is made of
PROBES = 3  # x at which convergence of the fit is watched

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Machine code, kept on disk between runs; typed as the function it is made of."""
    return cast(F, njit(cache=True)(function))


@dataclass(frozen=True)
class Prior:
    """The prior on the curve before any data.

    lam, kmax   number of change points: Poisson(lam) cut off at kmax (and at the number of gaps); given k every set
                of k gaps is as likely as any other. Levels in order have prior chance 1/(k+1)!, so that the prior of
                k is in effect Poisson(k) / (k+1)!
    m0, v0      each level: Normal(m0, v0 s2), all together cut down to those in order
    a0, b0      noise variance s2: inverse gamma
    raw         m0 and b0 are on the scale of y; else y is brought to mean 0 and variance 1 first
    """

    lam: float = 3.0
    kmax: int = 50
    m0: float = 0.0
    v0: float = 2.0
    a0: float = 2.0
    b0: float = 0.5
    raw: bool = False

    def __post_init__(self) -> None:
        for name in ("lam", "v0", "a0", "b0"):
            if not (value := getattr(self, name)) > 0 or not math.isfinite(value):
                raise TextError(f"{name} of the prior is {value}; expected a number above 0")
        if not math.isfinite(self.m0) or self.kmax < 0:
            raise TextError(f"m0 is {self.m0} and kmax {self.kmax}; expected a number, and a count of 0 or more")


@dataclass(frozen=True, eq=False)
class Monotone:
    """What the data leave of the curve.

    x, mean, lo, hi   at most 200 of the distinct x, the posterior mean there and the pointwise band at `confidence`
    knots, levels     every distinct x and the posterior mean there, from all draws
    k                 posterior of the number of change points, from 0
    s2, s2_lo, s2_hi  posterior mean of the noise variance, and its interval, on the scale of y
    acceptance        share of the jumps that were taken
    ess, rhat         effective draws and split R-hat of s2, of k and of the curve at its quartiles
    """

    x: Floats
    mean: Floats
    lo: Floats
    hi: Floats
    knots: Floats
    levels: Floats
    k: Floats
    s2: float
    s2_lo: float
    s2_hi: float
    acceptance: float
    ess: dict[str, float]
    rhat: dict[str, float]
    confidence: float

    def predict(self, x: Floats) -> Floats:
        """The posterior mean at any x: linear between the x seen, flat beyond them."""
        return np.asarray(np.interp(np.asarray(x, dtype=np.float64), self.knots, self.levels))

    @property
    def settled(self) -> bool:
        """Whether the chains agree: every R-hat at most 1.05 and every effective size at least 100."""
        return max(self.rhat.values()) <= 1.05 and min(self.ess.values()) >= 100


def fit(
    x: Floats, y: Floats, *, prior: Prior = Prior(), confidence: float = 0.95, chains: int = 4, burn: int = 2_000,
    iterations: int = 10_000, gibbs: bool = True, rng: np.random.Generator,
) -> Monotone:  # fmt: skip
    """Sample the posterior of a nondecreasing step function with unknown change points.

    One iteration proposes to add, remove or move a change point, draws noise and levels afresh from their
    conjugate posterior *without* the order, and takes the jump with chance min(1, A) if the levels are in order;
    A = p(y|t')/p(y|t) · p(k')/p(k) · the ratio of move chances. The levels' own density cancels, so there is no
    Jacobian and the target is the posterior cut down to ordered levels, exactly. With `gibbs`, change points are then
    offered gaps near by, and noise and levels redrawn one by one within the order: the target stays, and in a
    trial on 800 pairs the curve's effective draws grew 13 to 50 times.
    Equal x are pooled (count, sum and sum of squares), so that thousands of tied scores cost little.
    Misleads: noise is taken as normal with one variance, and pairs as independent; ratings of one query are
    correlated, so that the band is too narrow for new queries. The curve is pulled towards few steps: see sensitivity.
    Source: after Holmes and Heard, Statistics in Medicine 22 (2003); METHODS D.6 (c).
    """
    x, y, _ = checked(x, y)
    refuse_outside("confidence", confidence)
    if chains < 1 or burn < 0 or iterations < 4:
        raise TextError(f"{chains} chains, burn-in {burn}, {iterations} iterations: expected at least 1, 0 and 4")
    centre, scale = _scaling(y, prior)
    knots, count, total, square = _pooled(x, (y - centre) / scale, prior.m0)
    gaps = len(knots) - 1
    kmax = min(gaps, prior.kmax)
    numbers = np.array([prior.lam, prior.v0, prior.a0, prior.b0], dtype=np.float64)  # one type: compiled once
    grid = np.unique(np.linspace(0, gaps, min(POINTS, gaps + 1)).round().astype(np.int64))
    probes = np.linspace(0, gaps, PROBES + 2).round().astype(np.int64)[1:-1]
    every = max(1, iterations // DRAWS)
    parts = [
        _chain(int(seed), count, total, square, numbers, kmax, grid, probes, burn, iterations, every, gibbs)
        for seed in rng.integers(1 << 32, size=chains)
    ]
    traces, sums, draws, accepted = (np.stack(part) for part in zip(*parts, strict=True))
    rise = sums.sum(axis=0) / (chains * iterations)
    levels = centre + scale * (prior.m0 + np.cumsum(rise))
    ends = np.quantile(draws.reshape(-1, len(grid)), [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    lo, hi = centre + scale * (prior.m0 + ends)
    noise = traces[:, :, 1] * scale**2
    s2_lo, s2_hi = np.quantile(noise, [(1 - confidence) / 2, (1 + confidence) / 2])
    names = ["k", "s2", *(f"f({knots[at]:g})" for at in probes)]
    watched = {name: traces[:, :, column] for column, name in enumerate(names)}
    return Monotone(
        x=knots[grid],
        mean=levels[grid],
        lo=lo,
        hi=hi,
        knots=knots,
        levels=levels,
        k=np.bincount(traces[:, :, 0].astype(np.int64).ravel(), minlength=kmax + 1) / (chains * iterations),
        s2=float(noise.mean()),
        s2_lo=float(s2_lo),
        s2_hi=float(s2_hi),
        acceptance=float(accepted.mean()),
        ess={name: effective(values) for name, values in watched.items()},
        rhat={name: split_rhat(values) for name, values in watched.items()},
        confidence=confidence,
    )


def sensitivity(
    x: Floats, y: Floats, *, prior: Prior = Prior(), confidence: float = 0.95, chains: int = 4, burn: int = 2_000,
    iterations: int = 10_000, rng: np.random.Generator,
) -> dict[str, Monotone]:  # fmt: skip
    """The fit under the prior `given`, with levels spread wider (`v0 x 4`), and with more steps (`lam x 3`).

    Where the three curves differ by more than matters, the prior decides and not the data.
    Source: METHODS D.6 (c).
    """
    priors = {"given": prior, "v0 x 4": replace(prior, v0=4 * prior.v0), "lam x 3": replace(prior, lam=3 * prior.lam)}
    return {
        name: fit(x, y, prior=other, confidence=confidence, chains=chains, burn=burn, iterations=iterations, rng=rng)
        for name, other in priors.items()
    }


def split_rhat(traces: Floats) -> float:
    """Gelman and Rubin's R-hat of chains [chain, draw], each cut in halves; 1 where they agree, NaN without spread.

    R² = ((n-1) W + B) / (n W) with W the mean variance within the halves and B = n · variance of their means.
    Source: Gelman et al., Bayesian Data Analysis, 3rd ed., 11.4.
    """
    half = traces.shape[1] // 2
    parts = np.concatenate([traces[:, :half], traces[:, -half:]])
    within, between = float(parts.var(axis=1, ddof=1).mean()), half * float(parts.mean(axis=1).var(ddof=1))
    return math.sqrt((half - 1) / half + between / (half * within)) if within > 0 else math.nan


def effective(traces: Floats) -> float:
    """Effective sample size of the chains [chain, draw]; NaN where they never move.

    m n / (1 + 2 Σ ρ_t), autocorrelations ρ from within and between the halves of the chains, summed in pairs as long
    as a pair is positive and held from rising. At most m n log10(m n): chains that alternate can beat chance.
    Source: Geyer 1992; Vehtari et al., Bayesian Analysis 16 (2021), without ranks.
    """
    half = traces.shape[1] // 2
    parts = np.concatenate([traces[:, :half], traces[:, -half:]])
    means, centred = parts.mean(axis=1), parts - parts.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * half, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, axis=1)[:, :half].mean(axis=0) / half
    within = float(covariance[0]) * half / (half - 1)
    total = within * (half - 1) / half + float(means.var(ddof=1))
    if within <= 0:
        return math.nan
    rho = 1 - (within - covariance) / total
    rho[0] = 1
    pairs = rho[: half // 2 * 2].reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
    time = -1 + 2 * float(np.minimum.accumulate(pairs[:stop]).sum())
    return parts.size / max(time, 1 / math.log10(parts.size))


def _scaling(y: Floats, prior: Prior) -> tuple[float, float]:
    """What is taken from y and what it is divided by."""
    if prior.raw:
        return 0.0, 1.0
    centre, scale = float(y.mean()), float(y.std())
    if scale <= TINY * np.abs(y).max():
        raise TableError(f"every y is {y[0]:g}; there is no curve to fit, and no scale to set the prior by (raw=True)")
    return centre, scale


def _pooled(x: Floats, y: Floats, m0: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Distinct x; and of the y - m0 before and at each: count, sum and sum of squares, summed from the left."""
    knots, at = np.unique(x, return_inverse=True)
    d = y - m0
    sums = (np.bincount(at, weights=w, minlength=len(knots)) for w in (np.ones_like(d), d, d * d))
    count, total, square = (np.concatenate([[0.0], np.cumsum(part)]) for part in sums)
    return knots, count, total, square


@compiled
def _evidence(
    ends: Ints, k: int, count: Floats, total: Floats, square: Floats, v0: float, a0: float, b0: float
) -> tuple[float, float]:
    """The part of log p(y|t) that depends on the k change points ends[:k] (ends[k] closes the last), and b_n."""
    b, logs, start = b0, 0.0, 0
    for j in range(k + 1):
        end = ends[j]
        n = count[end] - count[start]
        s = total[end] - total[start]
        b += 0.5 * (square[end] - square[start] - v0 * s * s / (1.0 + v0 * n))  # SS + n/(1+v0 n) mean², levels less m0
        logs += math.log(1.0 + v0 * n)
        start = end
    b = max(b, 1e-12 * b0)  # rounding only: the true value is at least b0
    a = a0 + 0.5 * count[ends[k]]
    return math.lgamma(a) - a * math.log(b) - 0.5 * logs, b


@compiled
def _truncated(low: float, high: float) -> float:
    """A standard normal within [low, high], by rejection (Robert, Statistics and Computing 5, 1995)."""
    if low > 0.0 or high < 0.0:
        flip = high < 0.0
        near, far = (-high, -low) if flip else (low, high)
        rate = 0.5 * (near + math.sqrt(near * near + 4.0))
        while True:
            if rate * (far - near) < 1.0:  # short: even
                z = near + (far - near) * np.random.random()
                keep = math.exp(0.5 * (near * near - z * z))
            else:  # long: exponential
                z = near - math.log(1.0 - np.random.random()) / rate
                keep = math.exp(-0.5 * (z - rate) ** 2) if z <= far else 0.0
            if np.random.random() < keep:
                return -z if flip else z
    while True:
        if high - low < 2.5:
            z = low + (high - low) * np.random.random()
            if np.random.random() < math.exp(-0.5 * z * z):
                return z
        else:
            z = np.random.normal()
            if low <= z <= high:
                return z


@compiled
def _proposal(kind: int, k: int, ends: Ints, other: Ints, gaps: int) -> int:
    """Write into `other` the change points after a birth (0), death (1) or move (2); returns how many there are."""
    new = 0
    gone = np.random.randint(k) if kind > 0 else -1
    for j in range(k):
        if j != gone:
            other[new] = ends[j]
            new += 1
    if kind != 1:
        if k < gaps:  # the free gap number `at` from the left; the one a move leaves is not free
            at = 1 + np.random.randint(gaps - k)
            for j in range(k):
                at += ends[j] <= at
        else:
            at = ends[gone]
        place = new
        while place > 0 and other[place - 1] > at:
            other[place] = other[place - 1]
            place -= 1
        other[place] = at
        new += 1
    other[new] = ends[k]
    return new


@compiled
def _levels(ends: Ints, k: int, s2: float, count: Floats, total: Floats, v0: float, mu: Floats) -> bool:
    """Draw the levels without asking for order; whether they are in order."""
    start = 0
    for j in range(k + 1):
        weight = 1.0 / v0 + count[ends[j]] - count[start]
        mu[j] = (total[ends[j]] - total[start]) / weight + math.sqrt(s2 / weight) * np.random.normal()
        if j > 0 and mu[j] < mu[j - 1]:
            return False
        start = ends[j]
    return True


@compiled
def _sweep(
    ends: Ints, k: int, count: Floats, total: Floats, square: Floats, v0: float, a0: float, b0: float, mu: Floats
) -> float:
    """Redraw the noise given the levels, then each level given its neighbours and the noise; the noise is returned."""
    rest, start = 2.0 * b0, 0
    for j in range(k + 1):
        end = ends[j]
        n, s = count[end] - count[start], total[end] - total[start]
        rest += square[end] - square[start] - 2.0 * mu[j] * s + (n + 1.0 / v0) * mu[j] ** 2
        start = end
    s2: float = 0.5 * rest / np.random.gamma(a0 + 0.5 * (count[ends[k]] + k + 1))
    start = 0
    for j in range(k + 1):
        weight = 1.0 / v0 + count[ends[j]] - count[start]
        mean, sd = (total[ends[j]] - total[start]) / weight, math.sqrt(s2 / weight)
        low = (mu[j - 1] - mean) / sd if j > 0 else -np.inf
        high = (mu[j + 1] - mean) / sd if j < k else np.inf
        mu[j] = mean + sd * _truncated(low, high)
        start = ends[j]
    return s2


@compiled
def _shift(ends: Ints, k: int, s2: float, count: Floats, total: Floats, reach: int, mu: Floats) -> None:
    """Offer each change point another gap up to `reach` away, levels and noise as they are.

    A symmetric step, so that the ratio is that of the likelihoods of the y that change their level.
    """
    for j in range(k):
        at = ends[j] + (1 + np.random.randint(reach)) * (1 - 2 * np.random.randint(2))
        if (j == 0 or at > ends[j - 1]) and at > 0 and at < ends[j + 1]:
            n, s = count[at] - count[ends[j]], total[at] - total[ends[j]]  # negative where it goes left
            gain = (mu[j] - mu[j + 1]) * (s - 0.5 * n * (mu[j] + mu[j + 1])) / s2
            if math.log(1.0 - np.random.random()) < gain:
                ends[j] = at


@compiled
def _chain(
    seed: int, count: Floats, total: Floats, square: Floats, numbers: Floats, kmax: int, grid: Ints, probes: Ints,
    burn: int, iterations: int, every: int, gibbs: bool,
) -> tuple[Floats, Floats, Floats, float]:  # fmt: skip
    """One chain. `count`, `total`, `square` are sums from the left, y less m0; levels are kept less m0.

    Returns the trace (k, s2, the curve at the probes), the summed rises of the curve at every x, the curve on the
    grid at every so many draws, and the share of jumps taken.
    """
    np.random.seed(seed)
    lam, v0, a0, b0 = numbers
    knots = len(count) - 1
    shape = a0 + 0.5 * count[knots]
    ends, other = np.empty(kmax + 2, np.int64), np.empty(kmax + 2, np.int64)
    mu, drawn = np.zeros(kmax + 2), np.zeros(kmax + 2)
    trace = np.empty((iterations, 2 + len(probes)))
    rises = np.zeros(knots)
    draws = np.empty(((iterations + every - 1) // every, len(grid)))
    k, ends[0], taken = 0, knots, 0
    reaches = (1, 1 + knots // 100, 1 + knots // 10)
    worth, b = _evidence(ends, k, count, total, square, v0, a0, b0)
    s2 = b / np.random.gamma(shape)
    _levels(ends, k, s2, count, total, v0, mu)
    for step in range(burn + iterations):
        if kmax > 0:
            # chances of birth, death, move are 1/3 each; at k = 0 birth only, at kmax death or move by halves
            if k == 0:
                kind = 0
            elif k == kmax:
                kind = 1 + np.random.randint(2)
            else:
                kind = np.random.randint(3)
            new = _proposal(kind, k, ends, other, knots - 1)
            fresh, b = _evidence(other, new, count, total, square, v0, a0, b0)
            ratio = fresh - worth
            if kind < 2:
                low = min(k, new)
                up = 1.0 if low == 0 else 1.0 / 3.0
                down = 0.5 if low + 1 == kmax else 1.0 / 3.0
                birth = math.log(lam / (low + 1) * down / up)
                ratio += birth if kind == 0 else -birth
            if math.log(1.0 - np.random.random()) < ratio:
                noise = b / np.random.gamma(shape)
                if _levels(other, new, noise, count, total, v0, drawn):
                    taken += step >= burn
                    k, worth, s2 = new, fresh, noise
                    ends, other, mu, drawn = other, ends, drawn, mu
        if gibbs or kmax == 0:
            _shift(ends, k, s2, count, total, reaches[step % len(reaches)], mu)
            s2 = _sweep(ends, k, count, total, square, v0, a0, b0, mu)
            worth, _ = _evidence(ends, k, count, total, square, v0, a0, b0)
        row = step - burn
        if row < 0:
            continue
        trace[row, 0], trace[row, 1] = k, s2
        rises[0] += mu[0]
        for j in range(k):
            rises[ends[j]] += mu[j + 1] - mu[j]
        j = 0
        for place in range(len(probes)):
            while ends[j] <= probes[place]:
                j += 1
            trace[row, 2 + place] = mu[j]
        if row % every == 0:
            j = 0
            for place in range(len(grid)):
                while ends[j] <= grid[place]:
                    j += 1
                draws[row // every, place] = mu[j]
    return trace, rises, draws, taken / iterations
