"""Confidence sequences: intervals for a mean that are valid at all times, so that one can stop early.

If the mean is m, bets against it have no expected gain, and the chance that the capital ever grows 1/alpha-fold is at
most alpha (Ville). The interval leaves out every m against which the capital has grown so much.
"""

from __future__ import annotations

import math

import numpy as np

from endoxa.errors import TableError, TextError
from endoxa.frozen import dataclass
from endoxa.policies import refuse_outside
from endoxa.statistics.bootstrap import blocks
from endoxa.tables import Floats, Ints

BLOCK = 1 << 18  # capitals held at once: 2 MB, which stays in the cache
CAP = 0.5  # no more than this share of the capital is ever lost in one bet
BOLDEST = 0.95  # the same where the variance of the next number is known in advance
TINY = 1e-9  # differences below it are rounding
NOTHING = 1e-300  # stands for a mean of 0 in a quotient


@dataclass(frozen=True, eq=False)
class Sequence:
    """An interval for the mean after each number: lo, hi and the mean so far, [t].

    With probability 1 - alpha all intervals hold the mean. `empty` is the first t (from 1) at which no mean was left
    (by chance alpha, or because the mean drifts), else None; from there on the last interval that was not empty stays.
    """

    lo: Floats
    hi: Floats
    mean: Floats
    alpha: float
    empty: int | None = None


def confidence_sequence(x: Floats, *, alpha: float = 0.05, pool: int | None = None, grid: int = 1000) -> Sequence:
    """Intervals for the mean of numbers in [0, 1], valid at all times together, by the hedged capital.

    K_t(m) = max(½ prod(1 + l⁺(x - m)), ½ prod(1 - l⁻(x - m))); the interval at t holds the m with K_s(m) < 1/alpha
    for all s <= t. The bet before number t is l = √(2 ln(2/alpha) / (v_{t-1} t ln(t + 1))), with v_t = (1/4 +
    Σ (x_i - mean_i)²)/(t + 1) and mean_t = (1/2 + Σ x_i)/(t + 1), capped at l⁺ <= ½/m and l⁻ <= ½/(1 - m).

    without `pool`  numbers drawn independently, or at least with the same mean given those before
    `pool` = N      numbers drawn without replacement, in random order, from N numbers of which the mean is sought:
                    m is replaced by (N m - S_{t-1})/(N - t + 1), the mean of what is left, and the interval is
                    intersected with [S_t/N, (S_t + N - t)/N]. At t = N it is the mean itself.

    m runs over 0, 1/grid, …, 1, so that the interval is wider by at most 1/grid.
    Misleads: at a t fixed beforehand a plain interval is shorter; numbers picked by what they would say (best first)
    have no common mean.
    Source: Waudby-Smith and Ramdas, J. R. Stat. Soc. B 86 (2024), sections 4 and 5;
    docs/methods/deciding.md, Confidence sequences.
    """
    x = _checked(x)
    refuse_outside("alpha", alpha, 0.05)
    if grid < 2:
        raise TextError(f"a grid has at least 2 steps, not {grid}", remedy="1000 is usual")
    if pool is not None and (pool < 1 or len(x) > pool):
        raise TableError(f"{len(x):,} numbers cannot be drawn without replacement from a pool of {pool:,}")
    t = np.arange(1, len(x) + 1)
    total = np.cumsum(x)
    below, above = _ends(x, total, _bets(x, total, alpha), math.log(2 / alpha), pool, grid)
    lo, hi = np.maximum.accumulate(below / grid), np.minimum.accumulate(above / grid)
    crossed = np.flatnonzero(lo > hi)
    if len(crossed):
        first = int(crossed[0])  # not 0: the two products never both grow on one number
        lo[first:], hi[first:] = lo[first - 1], hi[first - 1]
    empty = int(crossed[0]) + 1 if len(crossed) else None
    if pool is not None:
        least, most = total / pool, (total + (pool - t)) / pool
        apart = np.flatnonzero((lo > most) | (hi < least))
        if len(apart):  # what is certain stands; what was wagered has lost
            empty = min(int(apart[0]) + 1, empty or len(x))
        lo, hi = np.where(lo > most, least, np.maximum(lo, least)), np.where(hi < least, most, np.minimum(hi, most))
    return Sequence(lo, hi, total / t, alpha, empty)


def _bets(x: Floats, total: Floats, alpha: float) -> Floats:
    """The bet before each number, from the numbers before it."""
    t = np.arange(1, len(x) + 1)
    squares = np.cumsum((x - (0.5 + total) / (t + 1)) ** 2)
    variance = (0.25 + np.concatenate([[0.0], squares[:-1]])) / t
    return np.asarray(np.sqrt(2 * math.log(2 / alpha) / (variance * t * np.log(t + 1))))


def _ends(x: Floats, total: Floats, bets: Floats, enough: float, pool: int | None, grid: int) -> tuple[Ints, Ints]:
    """Numbers of the last grid point left out from below and of the first from above, at each t, in blocks of t."""
    m = np.arange(grid + 1) / grid
    high, low = np.zeros(grid + 1), np.zeros(grid + 1)
    below, above = np.zeros(len(x), dtype=np.int64), np.full(len(x), grid)
    for block in blocks(len(x), BLOCK // (grid + 1)):
        now, bet = x[block, None], bets[block, None]
        left = m[None, :]
        if pool is not None:
            t = np.arange(block.start + 1, block.stop + 1)[:, None]
            left = (pool * m - (total[block] - x[block])[:, None]) / (pool - t + 1)
        # a mean of what is left outside [0, 1] is impossible; both products stay positive and monotone there
        up = np.minimum(bet, CAP / np.maximum(left, NOTHING))
        down = np.minimum(bet, CAP / np.maximum(1 - left, NOTHING))
        rising = high + np.cumsum(np.log1p(up * (now - left)), axis=0)
        falling = low + np.cumsum(np.log1p(-down * (now - left)), axis=0)
        high, low = rising[-1], falling[-1]
        below[block] = np.maximum((rising < enough).argmax(axis=1) - 1, 0)
        above[block] = np.minimum(grid + 1 - (falling < enough)[:, ::-1].argmax(axis=1), grid)
    return below, above


def stake(mean: Floats, variance: Floats, loss: Floats) -> Floats:
    """How much to bet that a number is above 0 on average: mean/(variance + mean²), at most .95/loss.

    `mean` and `variance` are what is expected of the number before it is seen; a wrong guess only makes the capital
    grow more slowly. `loss` is how far below 0 it can fall; where it cannot, the stake is infinite.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(mean > TINY, mean / (np.maximum(variance, 0.0) + mean**2), 0.0)
        return np.where((loss < -TINY) & (mean > TINY), np.inf, np.minimum(wanted, BOLDEST / np.maximum(loss, TINY)))


def growth(stakes: Floats, number: Floats) -> Floats:
    """ln(1 + stake · number): a bet multiplies the capital by 1 + stake · number.

    Where E[number | past] <= 0, and the stake depends on the past only, the capital ever reaches 1/alpha with a chance
    of at most alpha.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(np.log1p(np.where(stakes > 0, stakes * number, 0.0)))


def _checked(x: Floats) -> Floats:
    """The numbers as a vector of floats in [0, 1]."""
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 1:
        raise TableError(f"the numbers must stand in one row, in the order drawn; their shape is {x.shape}")
    wrong = np.flatnonzero(~((x >= 0) & (x <= 1)))  # also NaN
    if len(wrong):
        raise TableError(
            f"number {int(wrong[0]) + 1} is {x[wrong[0]]:g}, not in [0, 1]",
            remedy="bets need known bounds: rescale by the ends of the scale, not by those of the sample",
        )
    return x
