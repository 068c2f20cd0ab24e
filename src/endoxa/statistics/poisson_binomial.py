"""How many of several independent events happen: the Poisson-binomial distribution, one row or thousands at once.

The last axis is the item, every axis before it is a batch; NaN is an item that is not there, so that rows of
different length share one array.
"""

from __future__ import annotations

import math

from endoxa.errors import TableError
from endoxa.later import np
from endoxa.statistics.bootstrap import blocks
from endoxa.tables import Floats, Ints

CACHED = 1 << 15  # masses that are worked on together: they stay in the cache
NARROW, SHORT, MIDDLE = 64, 32, 256  # rows; items: rows are halved until they are short, or many and of middle length
DIRECT = 1 << 22  # products that two masses are multiplied out with, one by one; beyond, Fourier transforms


def pmf(p: Floats) -> Floats:
    """Probability that exactly 0, 1, … n of n independent events happen: [..., n] to [..., n+1].

    Formula: Pr(K = k) is the coefficient of t^k in the product over items of (1 - p + p t).
    Items are multiplied in one by one; every term is positive, so that small masses are exact too. Beyond about 4,000
    items halves are joined by Fourier transforms: masses below 1e-16 are then noise, clipped at 0 and renormalised;
    those outside the support stay exactly 0.
    Misleads where events are not independent: the mean stays right, the spread does not.
    Source: Hong, Computational Statistics & Data Analysis 59 (2013).
    """
    p = probabilities(p)
    n = p.shape[-1]
    rows = np.where(np.isnan(p), 0.0, p).reshape(math.prod(p.shape[:-1]), n)
    mass = _multiplied(rows)
    mass /= mass.sum(1, keepdims=True)  # p and 1 - p sum to 1 but for rounding, which thousands of equal p add up
    return mass.reshape(*p.shape[:-1], n + 1)


def moments(p: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, variance and third central moment: Σp, Σp(1-p), Σp(1-p)(1-2p); NaN is left out."""
    p = probabilities(p)
    p = np.where(np.isnan(p), 0.0, p)
    spread = p * (1 - p)
    return np.asarray(p.sum(-1)), np.asarray(spread.sum(-1)), np.asarray((spread * (1 - 2 * p)).sum(-1))


def convolve(left: Floats, right: Floats) -> Floats:
    """Masses of the sum of two independent counts, from the masses of each; leading axes broadcast.

    Formula: Pr(X + Y = k) = Σ_j Pr(X = j) Pr(Y = k - j). Long masses are multiplied by Fourier transforms,
    clipped at 0 and brought back to the product of the sums.
    """
    shape = np.broadcast_shapes(left.shape[:-1], right.shape[:-1])
    size = left.shape[-1] + right.shape[-1] - 1
    count = math.prod(shape)
    left = np.broadcast_to(left, (*shape, left.shape[-1])).reshape(count, left.shape[-1])
    right = np.broadcast_to(right, (*shape, right.shape[-1])).reshape(count, right.shape[-1])
    result = np.empty((count, size))
    if left.shape[1] * right.shape[1] <= DIRECT:
        for row in range(count):
            result[row] = np.convolve(left[row], right[row])
    else:
        for block in blocks(count, 64 * CACHED // size):
            result[block] = _transformed(left[block], right[block], size)
    return result.reshape(*shape, size)


def probabilities(p: Floats, what: str = "p") -> Floats:
    """The array, once every number in it is known to be a probability, or NaN; the first that is not is named."""
    p = np.atleast_1d(np.asarray(p, dtype=np.float64))
    wrong = (p < 0) | (p > 1)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        at = place[0] if len(place) == 1 else place
        raise TableError(
            f"{what} holds {p[place]:g} at place {at}",
            remedy="a probability lies between 0 and 1: turn grades or scores into probabilities first",
        )
    return p


def _multiplied(rows: Floats) -> Floats:
    """Masses of each row of a matrix: item by item where rows are many or short, by halves where they are not."""
    count, n = rows.shape
    if n <= SHORT or (count >= NARROW and n <= MIDDLE):
        return _item_by_item(rows)
    halves = np.pad(rows, ((0, 0), (0, n % 2))).reshape(2 * count, (n + 1) // 2)
    masses = _multiplied(halves)
    return convolve(masses[0::2], masses[1::2])[:, : n + 1]


def _item_by_item(rows: Floats) -> Floats:
    """Masses of each row. An item moves part of every mass one place up; rows lie side by side, in cached blocks."""
    count, n = rows.shape
    result = np.empty((count, n + 1))
    for block in blocks(count, max(NARROW, CACHED // (n + 1))):
        p = np.ascontiguousarray(rows[block].T)
        rest = 1 - p
        mass = np.zeros((n + 1, p.shape[1]))
        mass[0] = 1
        moved = np.empty((n, p.shape[1]))
        for item in range(n):
            np.multiply(mass[: item + 1], p[item], out=moved[: item + 1])
            mass[: item + 1] *= rest[item]
            mass[1 : item + 2] += moved[: item + 1]
        result[block] = mass.T
    return result


def _transformed(left: Floats, right: Floats, size: int) -> Floats:
    """Masses of the sum of two counts by Fourier transforms; nothing outside the support, nothing negative."""
    from scipy import fft

    length = fft.next_fast_len(size, real=True)
    mass = fft.irfft(fft.rfft(left, length) * fft.rfft(right, length), length)[:, :size]
    (first, last), (also_first, also_last) = _support(left), _support(right)
    place = np.arange(size)
    inside = (place >= (first + also_first)[:, None]) & (place <= (last + also_last)[:, None])
    mass = np.where(inside, np.maximum(mass, 0.0), 0.0)
    total = left.sum(1) * right.sum(1)
    found = mass.sum(1)
    return np.asarray(mass * (total / np.where(found > 0, found, 1.0))[:, None])


def _support(mass: Floats) -> tuple[Ints, Ints]:
    """First and last place of each row that has mass."""
    possible = mass > 0
    return np.asarray(possible.argmax(1)), np.asarray(mass.shape[1] - 1 - possible[:, ::-1].argmax(1))
