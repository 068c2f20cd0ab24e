"""Measures linearised: the value at expected relevance, and how it moves with the relevance of every item.

Where relevance is a probability p, the value of a list is taken at the expected number of relevant items (a ratio of
expectations), and its derivatives with respect to p say which label would move it. The variance of a mean, and what to
judge next, follow from the derivatives at a small part of the cost of possible worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from endoxa.frozen import dataclass
from endoxa.later import np
from endoxa.tables import Floats, Ints


@dataclass(frozen=True, eq=False)
class Places:
    """Where systems rank the items of a universe: entries in order of system, topic and rank.

    system, row, rank  [entry]
    topic              [row] the topic of every item
    """

    system: Ints
    row: Ints
    rank: Ints
    topic: Ints
    systems: int
    topics: int

    @cached_property
    def cell(self) -> Ints:
        """[entry] the number of the entry's list: system · topics + topic."""
        return self.system * self.topics + self.topic[self.row]

    @cached_property
    def first(self) -> Ints:
        """[entry] the place at which the entry's list begins."""
        return np.searchsorted(self.cell, self.cell)

    def summed(self, values: Floats) -> Floats:
        """Sum of a value of every entry over each list: [system, topic]."""
        total = np.bincount(self.cell, weights=values, minlength=self.systems * self.topics)
        return np.asarray(total.reshape(self.systems, self.topics), dtype=np.float64)

    def before(self, values: Floats) -> Floats:
        """[entry] sum of the values of the entries that precede it in its list."""
        running = np.concatenate([[0.0], np.cumsum(values)])
        return np.asarray(running[:-1] - running[self.first])

    def in_topic(self, values: Floats) -> Floats:
        """Sum of a value of every item over each topic: [topic]."""
        return np.asarray(np.bincount(self.topic, weights=values, minlength=self.topics), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Slopes:
    """A measure at expected relevance.

    value   [system, topic]; NaN where nothing can be relevant
    entry   [entry] derivative with respect to the relevance of the entry's item, without `shared`
    shared  [system, topic] derivative with respect to any item of the topic, listed or not
    """

    value: Floats
    entry: Floats
    shared: Floats


@dataclass(frozen=True)
class LinearForm:
    """How a measure is linearised.

    slopes  (places, tails [level, row], steps [level]) -> Slopes; the relevance of an item is Σ step · tail
    gain    what a grade is worth; None where a relevant item counts 1
    k       only the first k items of a list count; None for all
    ratio   the value is a ratio of expectations; else it is the expectation itself
    compressed  differences under a belief are smaller than the true ones (by a factor of 1.1 to 2): .01 is not .01
    """

    slopes: Callable[[Places, Floats, Floats], Slopes]
    gain: Callable[[Floats], Floats] | None = None
    k: int | None = None
    ratio: bool = False
    compressed: bool = False

    def steps(self, levels: Sequence[float]) -> Floats:
        """What passing each level adds to the worth of an item."""
        if self.gain is None:
            return np.ones(len(levels))
        return np.diff(self.gain(np.array([0.0, *levels])))


def precision_linear(*, k: int | None = None, relative: bool = False) -> LinearForm | None:
    """P@k: every relevant item in the first k adds 1/k."""
    if relative or k is None:
        return None
    return LinearForm(_additive(lambda rank: np.where(rank <= k, 1 / k, 0.0)), k=k)


def _additive(weight: Callable[[Ints], Floats]) -> Callable[[Places, Floats, Floats], Slopes]:
    """A sum over the list of the weight of a rank times the worth of the item there: P@k, DCG@k, RBP."""

    def slopes(places: Places, tails: Floats, steps: Floats) -> Slopes:
        entry = weight(places.rank)
        value = places.summed(entry * (steps @ tails)[places.row])
        return Slopes(value, entry, np.zeros_like(value))

    return slopes


def recall_linear(*, k: int | None = None) -> LinearForm:
    """R@k: hits in the first k by all that is relevant."""

    def slopes(places: Places, tails: Floats, steps: Floats) -> Slopes:
        p = steps @ tails
        inside = np.ones(len(places.rank)) if k is None else (places.rank <= k).astype(np.float64)
        total = _positive(places.in_topic(p))
        value = places.summed(inside * p[places.row]) / total
        return Slopes(value, inside / total[places.topic[places.row]], -value / total)

    return LinearForm(slopes, k=k, ratio=True)


def average_precision_linear(*, k: int | None = None, norm: str = "R") -> LinearForm | None:
    """AP: Σ p_i (1 + Σ_{j<i} p_j) / i, divided by Σ p of the topic."""
    if norm != "R":
        return None

    def slopes(places: Places, tails: Floats, steps: Floats) -> Slopes:
        p = steps @ tails
        own = p[places.row] if k is None else np.where(places.rank <= k, p[places.row], 0.0)
        inside = 1.0 if k is None else places.rank <= k
        reached = (1 + places.before(own)) / places.rank * inside
        behind = own / places.rank
        later = places.summed(behind).ravel()[places.cell] - places.before(behind) - behind
        total = _positive(places.in_topic(p))
        value = places.summed(own * reached) / total
        return Slopes(value, (reached + later * inside) / total[places.topic[places.row]], -value / total)

    return LinearForm(slopes, k=k, ratio=True, compressed=True)


def discounted(weight: Callable[[Ints], Floats], gain: Callable[[Floats], Floats], k: int | None) -> LinearForm:
    """DCG: worth times the discount of the rank."""
    return LinearForm(_additive(weight), gain, k)


def normalised(discount: Callable[[Ints], Floats], gain: Callable[[Floats], Floats], k: int | None) -> LinearForm:
    """nDCG: discounted gain divided by the expected gain of the best possible list.

    The best list has, at rank i, the step of a level wherever at least i items reach the level. Their number has the
    mean Σ tail and the variance Σ tail (1 - tail) and is taken as normal.
    """

    def slopes(places: Places, tails: Floats, steps: Floats) -> Slopes:
        from scipy.special import ndtr

        longest = int(np.bincount(places.topic, minlength=1).max())
        rank = np.arange(1, (longest if k is None else min(k, longest)) + 1)
        weight = discount(rank)
        best, tilt = np.zeros(places.topics), np.zeros((len(steps), places.topics))
        for place, (tail, step) in enumerate(zip(tails, steps, strict=True)):
            mean = places.in_topic(tail)[:, None]
            sd = np.sqrt(np.maximum(places.in_topic(tail * (1 - tail)), 1e-12))[:, None]
            z = (mean - rank + 0.5) / sd
            best += step * (ndtr(z) @ weight)
            tilt[place] = step * ((np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) / sd) @ weight)
        best = _positive(best)
        entry = discount(places.rank) * (1.0 if k is None else places.rank <= k)
        value = places.summed(entry * (steps @ tails)[places.row]) / best
        # one more unit of worth lifts the best list by the mean of the tilts of its levels
        lift = tilt.sum(0) / max(float(steps.sum()), 1e-300)
        return Slopes(value, entry / best[places.topic[places.row]], -value * lift / best)

    return LinearForm(slopes, gain, k, ratio=True)


def _positive(total: Floats) -> Floats:
    return np.where(total > 0, total, np.nan)
