"""The order of systems under a learned belief: expected means, their covariance, P(better) and P(best).

The covariance is linearised: G H⁻¹ Gᵀ for the doubt about the model (H the precision of its coefficients, G the
derivative of the means), plus Σ a aᵀ Var for the doubt about single items, a the derivative with respect to an item.
Source: docs/methods/deciding.md, Posterior of the order.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtr

from endoxa.beliefs.learned import Learned, Universe
from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.measures.grammar import Measure
from endoxa.measures.linear import Places, Slopes
from endoxa.measures.uncertain import mean_over_queries
from endoxa.tables import Floats

DRAWS = 4_000  # of the means, behind P(best)
SHRINK, FADE = 0.63, 0.75  # the stated sd is c times the linearised one, c = 1 - .63 exp(-.75 labels per topic)


@dataclass(frozen=True, eq=False)
class Posterior:
    """What a learned belief says about the systems on one measure.

    values      [system, topic] at expected relevance; NaN where nothing can be relevant
    model       [system, coefficient] a root of the covariance that the doubt about the model gives the means
    truth       [system, system] covariance that the doubt about single items adds
    scale       c, by which the linearised standard deviation is multiplied for P(better)
    lower       smaller values are better
    """

    measure: str
    systems: list[str]
    values: Floats
    model: Floats
    truth: Floats
    scale: float
    lower: bool = False

    @cached_property
    def mean(self) -> Floats:
        """[system] mean over the topics on which the measure is defined."""
        every = ~np.isnan(self.values)
        known = every[0]
        if not (every == known).all():  # a set measure has no value where a system returned nothing
            return mean_over_queries(self.values)
        return self.values[:, known].mean(1) if known.any() else np.full(len(self.systems), np.nan)

    @cached_property
    def covariance(self) -> Floats:
        """[system, system] of the means, before it is scaled."""
        return np.asarray(self.model @ self.model.T + self.truth)

    @cached_property
    def sd(self) -> Floats:
        """[system, system] standard deviation of the difference of two means, before it is scaled."""
        variance = np.diag(self.covariance)
        return np.asarray(np.sqrt(np.maximum(variance[:, None] + variance - 2 * self.covariance, 0)))

    @cached_property
    def better(self) -> Floats:
        """[system, system] P(the first is better than the second); a half where nothing tells them apart."""
        apart = (self.mean[:, None] - self.mean) * (-1 if self.lower else 1)
        sd = self.scale * self.sd
        tiny = 1e-12 * max(float(np.nanmax(np.abs(self.mean), initial=0)), 1e-300)
        sure = np.where(np.abs(apart) <= tiny, 0.5, (apart > 0).astype(np.float64))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(sd > tiny, ndtr(apart / sd), sure)

    def best(self, seed: int = 0) -> Floats:
        """[system] P(best): share of draws of the means in which the system has the highest; ties are shared.

        NaN for a system without a mean.
        """
        if len(self.systems) == 1:
            return np.ones(1)
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0))
        noise = np.random.default_rng(seed).standard_normal((DRAWS, len(self.systems)))
        drawn = (self.mean + self.scale * noise @ root.T) * (-1 if self.lower else 1)
        able, chances = ~np.isnan(self.mean), np.full(len(self.systems), np.nan)
        if able.any():
            drawn = drawn[:, able]
            top = drawn >= drawn.max(1, keepdims=True) - 1e-12
            chances[able] = (top / top.sum(1, keepdims=True)).mean(0)
        return chances


def places_of(learned: Learned) -> Places:
    """The lists of the universe, as measures take them."""
    return _places(learned.universe)


@lru_cache(maxsize=4)  # what is computed from the lists once serves every refit
def _places(universe: Universe) -> Places:
    u = universe
    return Places(u.system, u.row, u.rank, u.topic, len(u.systems), len(u.queries))


def levels_of(measure: Measure, learned: Learned) -> tuple[list[int], Floats]:
    """The learned levels that count for a measure, and what passing each of them is worth."""
    linear = measure.linear
    if linear is None:
        raise TextError(f"{measure} has no linear form", remedy="use AP, P@k, R@k, DCG@k or nDCG@k")
    if linear.gain is None:
        return [learned.levels.index(float(measure.rel or 1))], np.ones(1)
    levels = [place for place, level in enumerate(learned.levels) if level in learned.judged.levels]
    return levels, linear.steps([learned.levels[place] for place in levels])


def slopes_of(measure: Measure, learned: Learned) -> Slopes:
    """The measure at the learned relevance, with its derivatives."""
    levels, steps = levels_of(measure, learned)
    assert measure.linear is not None
    return measure.linear.slopes(places_of(learned), learned.tails[levels], steps)


def posterior(learned: Learned, measure: Measure) -> Posterior:
    """Means, covariance and scale of every system on a measure that has a linear form."""
    universe = learned.universe
    slopes, (levels, steps) = slopes_of(measure, learned), levels_of(measure, learned)
    known = ~np.isnan(slopes.value[0])
    count = max(int(known.sum()), 1)
    entry = np.where(known[universe.topic[universe.row]], slopes.entry, 0.0) / count
    shared = np.where(known, slopes.shared, 0.0) / count
    tails, rows = learned.tails[levels], universe.rows.height
    listed = sparse.csr_matrix((entry, (universe.row, universe.system)), shape=(rows, len(universe.systems)))
    model = np.zeros((len(universe.systems), universe.size))
    for place, level in enumerate(levels):
        moved = steps[place] * tails[place] * (1 - tails[place]) * learned.unjudged
        model += _moved(learned, listed, shared, moved) @ learned.fits[level].root
    worth = np.cumsum(steps)
    squares = np.diff(worth**2, prepend=0.0)
    variance = np.maximum(squares @ tails - (steps @ tails) ** 2, 0.0)
    return Posterior(
        str(measure), universe.systems, slopes.value, model, _spread(learned, listed, shared, variance),
        scale_of(learned),
    )  # fmt: skip


def scale_of(learned: Learned) -> float:
    """c = 1 - .63 exp(-.75 labels per topic): with few labels the linearised deviation is too large."""
    return 1 - SHRINK * math.exp(-FADE * len(learned.judged) / len(learned.universe.queries))


def _moved(learned: Learned, listed: Any, shared: Floats, moved: Floats) -> Floats:
    """[system, coefficient] derivative of the means, `moved` being that of every item's worth by its predictor."""
    universe = learned.universe
    T = len(universe.queries)
    topics = sparse.csr_matrix((np.ones(len(moved)), (np.arange(len(moved)), universe.topic)), shape=(len(moved), T))
    weighted = sparse.diags(moved) @ listed
    by_topic = (topics.T @ weighted).toarray().T + shared * (topics.T @ moved)
    by_offset = weighted.T @ universe.offset + shared @ (topics.T @ (moved * universe.offset))
    by_system = (weighted.T @ universe.features).toarray() + shared @ (
        topics.T @ (sparse.diags(moved) @ universe.features)
    ).toarray()
    return np.column_stack([by_topic.sum(1), by_offset, by_topic, by_system])


def _spread(learned: Learned, listed: Any, shared: Floats, variance: Floats) -> Floats:
    """[system, system] Σ over items of a aᵀ · variance, a = listed + shared."""
    universe = learned.universe
    T = len(universe.queries)
    topics = sparse.csr_matrix(
        (np.ones(len(variance)), (np.arange(len(variance)), universe.topic)), shape=(len(variance), T)
    )
    weighted = sparse.diags(variance) @ listed
    crossed = shared @ (topics.T @ weighted).toarray()
    total = topics.T @ variance
    return np.asarray((listed.T @ weighted).toarray() + crossed + crossed.T + (shared * total) @ shared.T)
