"""Bayesian regression by a nondecreasing step function with unknown change points (numba).

A state has k change points among the gaps between the distinct x, k + 1 ordered values of the steps, and a noise
variance. Reversible-jump sampling averages over all states, so that the mean curve is smooth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np
from numba import njit

from endoxa.errors import TableError, TextError
from endoxa.frozen import dataclass
from endoxa.policies import refuse_outside
from endoxa.statistics.bootstrap import TINY
from endoxa.statistics.isotonic import checked
from endoxa.tables import Floats, Ints

POINTS = 200  # x at which the band is kept
DRAWS = 1000  # draws of each chain that the band is computed from
PROBES = 3  # x at which convergence of the curve is checked

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile the function to machine code, which is cached on disk; its type stays the same."""
    return cast(F, njit(cache=True)(function))


@dataclass(frozen=True)
class Prior:
    """The prior of the curve.

    lam, kmax   number of change points: Poisson(lam), truncated at kmax and at the number of gaps; all sets of k gaps
                are equally likely. The order of the steps has prior probability 1/(k+1)!, so that the prior of k is in
                effect Poisson(k) / (k+1)!
    m0, v0      value of each step: Normal(m0, v0 s2), truncated to ordered values
    a0, b0      noise variance s2: inverse gamma
    raw         whether m0 and b0 are on the scale of y; otherwise y is standardised first
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
                raise TextError(f"{name} of the prior is {value}", remedy="expected a number above 0")
        if not math.isfinite(self.m0) or self.kmax < 0:
            raise TextError(
                f"m0 is {self.m0} and kmax {self.kmax}", remedy="expected a number, and a count of 0 or more"
            )


@dataclass(frozen=True, eq=False)
class Monotone:
    """The posterior of the curve.

    x, mean, lo, hi   at most 200 of the distinct x, the posterior mean there, and its pointwise band at `confidence`
    knots, levels     every distinct x, and the posterior mean there
    k                 posterior distribution of the number of change points, from 0
    s2, s2_lo, s2_hi  posterior mean of the noise variance, and its interval
    acceptance        share of accepted jumps
    ess, rhat         effective sample size and split R-hat of s2, of k and of the curve at its quartiles
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
        """The posterior mean at any x: linear between the knots, constant beyond them."""
        return np.asarray(np.interp(np.asarray(x, dtype=np.float64), self.knots, self.levels))

    @property
    def settled(self) -> bool:
        """Whether the chains converged: every R-hat is at most 1.05 and every effective size at least 100."""
        return max(self.rhat.values()) <= 1.05 and min(self.ess.values()) >= 100


def fit(
    x: Floats, y: Floats, *, prior: Prior = Prior(), confidence: float = 0.95, chains: int = 4, burn: int = 2_000,
    iterations: int = 10_000, gibbs: bool = True, rng: np.random.Generator,
) -> Monotone:  # fmt: skip
    """Sample the posterior of a nondecreasing step function with unknown change points.

    An iteration proposes to add, remove or move a change point and draws noise and steps from their conjugate posterior
    without the order. If the steps are in order, it accepts with probability min(1, A), A = p(y|t')/p(y|t) · p(k')/p(k)
    · ratio of move probabilities, where
        log p(y|t) = -½ Σ_j log(1 + v0 n_j) + a0 log b0 - a_n log b_n + lgamma(a_n) - lgamma(a0) - (n/2) log 2π,
        a_n = a0 + n/2, b_n = b0 + ½ Σ_j [SS_j + n_j/(1 + v0 n_j) (mean_j - m0)²].
    The density of the steps cancels, so that the target is exactly the posterior of ordered steps. With `gibbs`, each
    iteration also shifts change points and redraws noise and steps within the order, which raised the effective sample
    size 13 to 50 times in a trial on 800 pairs.
    Misleads: noise is normal with one variance and pairs are independent. Ratings of one query are correlated, so that
    the band is too narrow for new queries. The prior favours few steps: see `sensitivity`.
    Source: after Holmes and Heard, Statistics in Medicine 22 (2003);
    docs/methods/studies.md, Bayesian monotone regression.
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
    x: Floats, y: Floats, *, confidence: float = 0.95, iterations: int = 10_000, rng: np.random.Generator
) -> dict[str, Monotone]:
    """Fit with the default prior (`given`), with wider steps (`v0 x 4`) and with more steps (`lam x 3`).

    If the three curves differ much, the result depends on the prior.
    Source: docs/methods/studies.md, Bayesian monotone regression.
    """
    prior = Prior()
    priors = {"given": prior, "v0 x 4": replace(prior, v0=4 * prior.v0), "lam x 3": replace(prior, lam=3 * prior.lam)}
    return {
        name: fit(x, y, prior=other, confidence=confidence, iterations=iterations, rng=rng)
        for name, other in priors.items()
    }


def split_rhat(traces: Floats) -> float:
    """R-hat of chains [chain, draw], each split in halves; 1 if they agree, NaN if they never move.

    R² = ((n-1) W + B) / (n W), with W the mean variance within the halves and B = n · variance of their means.
    Source: Gelman et al., Bayesian Data Analysis, 3rd ed., 11.4.
    """
    half = traces.shape[1] // 2
    parts = np.concatenate([traces[:, :half], traces[:, -half:]])
    within, between = float(parts.var(axis=1, ddof=1).mean()), half * float(parts.mean(axis=1).var(ddof=1))
    return math.sqrt((half - 1) / half + between / (half * within)) if within > 0 else math.nan


def effective(traces: Floats) -> float:
    """Effective sample size of chains [chain, draw]; NaN if they never move.

    m n / (1 + 2 Σ ρ_t), at most m n log10(m n). The autocorrelations ρ are from within and between the halves of the
    chains; their pairs are summed while they are positive, and are not allowed to rise.
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
    """The mean and the standard deviation by which y is standardised; 0 and 1 if the prior is raw."""
    if prior.raw:
        return 0.0, 1.0
    centre, scale = float(y.mean()), float(y.std())
    if scale <= TINY * np.abs(y).max():
        raise TableError(f"every y is {y[0]:g}; there is no curve to fit, and no scale to set the prior by (raw=True)")
    return centre, scale


def _pooled(x: Floats, y: Floats, m0: float) -> tuple[Floats, Floats, Floats, Floats]:
    """The distinct x, and cumulative count, sum and sum of squares of y - m0 up to each of them."""
    knots, at = np.unique(x, return_inverse=True)
    d = y - m0
    sums = (np.bincount(at, weights=w, minlength=len(knots)) for w in (np.ones_like(d), d, d * d))
    count, total, square = (np.concatenate([[0.0], np.cumsum(part)]) for part in sums)
    return knots, count, total, square


@compiled
def _evidence(
    ends: Ints, k: int, count: Floats, total: Floats, square: Floats, v0: float, a0: float, b0: float
) -> tuple[float, float]:
    """The part of log p(y|t) that depends on the k change points ends[:k] (ends[k] is the end), and b_n."""
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
    """Draw from a standard normal truncated to [low, high], by rejection (Robert, Statistics and Computing 5, 1995)."""
    if low > 0.0 or high < 0.0:
        flip = high < 0.0
        near, far = (-high, -low) if flip else (low, high)
        rate = 0.5 * (near + math.sqrt(near * near + 4.0))
        while True:
            if rate * (far - near) < 1.0:  # short: uniform proposals
                z = near + (far - near) * np.random.random()
                keep = math.exp(0.5 * (near * near - z * z))
            else:  # long: exponential proposals
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
    """Write the change points after a birth (0), death (1) or move (2) into `other`, and return their number."""
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
    """Draw the values of the steps without the order, and return whether they are in order."""
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
    """Redraw the noise given the steps, then each step given its neighbours and the noise; return the noise."""
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
    """Propose to shift each change point by up to `reach` gaps either way, with the same steps and noise."""
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
    """Run one chain on cumulative sums of y - m0; the steps `mu` are also less m0.

    Returns the trace (k, s2, the curve at the probes), the summed rises of the curve at every x, the curve on the grid
    in every `every`-th iteration, and the share of accepted jumps.
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
