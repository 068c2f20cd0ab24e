"""Intervals for a mean of values in [low, high], from the literature, at 95 %: rows in, two ends per row out.

Those of Endoxa are called as they are; the others are written here only to be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from endoxa.comparisons.chosen_intervals import OF_DIFFERENCES, OF_MEANS, Interval, intervals_over_queries
from endoxa.statistics.bootstrap import Method, Tails, mean_intervals
from endoxa.statistics.bounded import bounded_intervals
from endoxa.tables import Floats

Ends = tuple[Floats, Floats]
Tried = Callable[[Floats, float, float], Ends]

CONFIDENCE, RESAMPLES, SEED, STEPS = 0.95, 1_999, 1, 24


def _chosen(interval: Interval) -> Tried:
    def ends(x: Floats, low: float, high: float) -> Ends:
        found = intervals_over_queries(
            x, low, high, interval=interval, confidence=CONFIDENCE, resamples=RESAMPLES, rng=np.random.default_rng(SEED)
        )
        return found.lo, found.hi

    return ends


def _bootstrap(method: Method, tails: Tails) -> Tried:
    def ends(x: Floats, low: float, high: float) -> Ends:
        found = mean_intervals(x, method=method, tails=tails, resamples=RESAMPLES, rng=np.random.default_rng(SEED))
        return found.lo, found.hi

    return ends


def bounded(x: Floats, low: float, high: float) -> Ends:
    """Gaffke's: the Bayesian bootstrap with one more value at the far end of the range."""
    found = bounded_intervals(x, low, high, resamples=RESAMPLES, rng=np.random.default_rng(SEED))
    return found.lo, found.hi


def half_at_either_end(x: Floats, low: float, high: float) -> Ends:
    """The Bayesian bootstrap with half a value at either end of the range: Jeffreys' interval for hits and misses."""
    rng = np.random.default_rng(SEED)
    parts = np.vstack([rng.standard_exponential((x.shape[1], RESAMPLES)), rng.gamma(0.5, size=(2, RESAMPLES))])
    rows = np.column_stack([x, np.full(len(x), low), np.full(len(x), high)])
    lo, hi = np.quantile(rows @ (parts / parts.sum(axis=0)), [0.025, 0.975], axis=1)
    return lo, hi


def student(x: Floats, low: float, high: float) -> Ends:
    """m ± t · se."""
    m, s, _, t = _moments(x)
    return m - t * s, m + t * s


def johnson(x: Floats, low: float, high: float) -> Ends:
    """Student's t, shifted by the skewness (Johnson 1978)."""
    m, s, skew, t = _moments(x)
    shift = skew * s * (1 + 2 * t**2) / (6 * math.sqrt(x.shape[1]))
    return m + shift - t * s, m + shift + t * s


def hall(x: Floats, low: float, high: float) -> Ends:
    """Student's t after Hall's cubic transformation, which removes the skewness (Hall 1992)."""
    m, s, skew, t = _moments(x)
    n = x.shape[1]
    g = np.where(np.abs(skew) > 1e-6, skew, 1e-6)

    def back(q: float) -> Floats:
        return np.asarray(3 * (np.cbrt(1 + g * (q / math.sqrt(n) - g / (6 * n))) - 1) / g * s * math.sqrt(n))

    return m - back(t), m - back(-t)


def logit(x: Floats, low: float, high: float) -> Ends:
    """Student's t on the log-odds of the mean, smoothed by half a hit and half a miss."""
    m, s, _, t = _moments(x)
    n, span = x.shape[1], high - low
    p = ((m - low) / span * n + 0.5) / (n + 1)
    middle, reach = np.log(p / (1 - p)), t * np.maximum(s, 1e-12) / span / (p * (1 - p))
    return low + span / (1 + np.exp(reach - middle)), low + span / (1 + np.exp(-reach - middle))


def _likelihood(*, adjusted: bool = False, with_ends: bool = False) -> Tried:
    """Empirical likelihood (Owen 1988) with F's quantile; adjusted by one more value (Chen 2008), or with the ends."""

    def ends(x: Floats, low: float, high: float) -> Ends:
        n = x.shape[1]
        most = float(stats.f.ppf(CONFIDENCE, 1, n - 1)) * (1 if with_ends else n / (n - 1))
        found = []
        for end in (low, high):
            inner, outer = x.mean(axis=1), np.full(len(x), end)
            for _ in range(STEPS):
                middle = (inner + outer) / 2
                y = x - middle[:, None]
                if adjusted:
                    y = np.column_stack([y, -max(1.0, math.log(n) / 2) * y.mean(axis=1)])
                if with_ends:
                    y = np.column_stack([y, end - middle])
                inside = _log_ratio(y) < most
                inner, outer = np.where(inside, middle, inner), np.where(inside, outer, middle)
            found.append((inner + outer) / 2)
        return found[0], found[1]

    return ends


def _log_ratio(y: Floats) -> Floats:
    """-2 log of the likelihood ratio of mean 0; infinite where 0 is not inside the values."""
    most, least = y.max(axis=1), y.min(axis=1)
    inside = (most > 0) & (least < 0)
    lo, hi = (
        np.where(inside, -1 / np.where(inside, most, 1), -1.0),
        np.where(inside, -1 / np.where(inside, least, 1), 1),
    )
    weight = np.zeros(len(y))
    with np.errstate(all="ignore"):
        for _ in range(45):
            weight = (lo + hi) / 2
            rising = (y / (1 + weight[:, None] * y)).sum(axis=1) > 0
            lo, hi = np.where(rising, weight, lo), np.where(rising, hi, weight)
        ratio = 2 * np.log1p(weight[:, None] * y).sum(axis=1)
    return np.where(inside, ratio, np.inf)


def betting(x: Floats, low: float, high: float, grid: int = 400) -> Ends:
    """Hedged capital for a fixed number of values (Waudby-Smith and Ramdas 2024, section 4.2)."""
    z, n = (x - low) / (high - low), x.shape[1]
    t, alpha = np.arange(1, n + 1), 1 - CONFIDENCE
    means = (0.5 + np.cumsum(z, axis=1)) / (t + 1)
    variance = (0.25 + np.cumsum((z - means) ** 2, axis=1)) / (t + 1)
    before = np.column_stack([np.full(len(z), 0.25), variance[:, :-1]])
    bets = np.sqrt(2 * math.log(2 / alpha) / (n * before))
    m = (np.arange(grid) + 0.5) / grid
    rising, falling = np.zeros((len(z), grid)), np.zeros((len(z), grid))
    most = np.full((len(z), grid), -np.inf)
    for place in range(n):
        bet, gap = bets[:, place, None], z[:, place, None] - m
        rising += np.log1p(np.minimum(bet, 0.5 / m) * gap)
        falling += np.log1p(-np.minimum(bet, 0.5 / (1 - m)) * gap)
        most = np.maximum(most, np.maximum(rising, falling))
    inside = most < math.log(2 / alpha)
    return low + (high - low) * inside.argmax(axis=1) / grid, high - (high - low) * inside[:, ::-1].argmax(
        axis=1
    ) / grid


def anderson(x: Floats, low: float, high: float) -> Ends:
    """The mean of the extreme distributions within a band around the empirical one (Anderson 1969)."""
    n = x.shape[1]
    ordered, width = np.sort(x, axis=1), min(1.0, math.sqrt(math.log(2 / (1 - CONFIDENCE)) / (2 * n)))
    weights = np.diff(np.minimum(np.arange(n + 1) / n + width, 1))
    return low * width + ordered @ weights, high * width + ordered @ weights[::-1]


def _moments(x: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Mean, standard error, skewness, and Student's quantile."""
    n = x.shape[1]
    mean, sd = x.mean(axis=1), x.std(axis=1, ddof=1)
    skew = ((x - mean[:, None]) ** 3).mean(axis=1) / np.where(sd > 1e-12, sd, 1) ** 3
    return mean, sd / math.sqrt(n), skew, float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1))


CHOSEN: dict[str, Tried] = {"means": _chosen(OF_MEANS), "differences": _chosen(OF_DIFFERENCES)}

TRIED: dict[str, Tried] = {
    "bootstrap-t": _bootstrap("bootstrap-t", "symmetric"),
    "bootstrap-t, equal tails": _bootstrap("bootstrap-t", "equal"),
    "percentile": _bootstrap("percentile", "equal"),
    "Student's t": student,
    "Johnson's t": johnson,
    "Hall's t": hall,
    "t of log-odds": logit,
    "empirical likelihood": _likelihood(),
    "adjusted likelihood": _likelihood(adjusted=True),
    "likelihood with an end": _likelihood(with_ends=True),
    "half a value at either end": half_at_either_end,
    "bounded (Gaffke)": bounded,
    "betting": betting,
    "Anderson": anderson,
}
