"""The order of systems under a learned belief: expected means, their covariance, P(better) and P(best).

The covariance is linearised: G H⁻¹ Gᵀ for the doubt about the model (H the precision of its coefficients, G the
derivative of the means), plus Σ a aᵀ Var for the doubt about single items, a the derivative with respect to an item.
All probabilities take the standard deviation times `SCALE`, without labels, with few and with many.
Source: docs/methods/deciding.md, Posterior of the order.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky
from scipy.special import ndtr, ndtri

from endoxa.beliefs.learned import Learned, Universe
from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.measures.grammar import Measure
from endoxa.measures.linear import Places, Slopes
from endoxa.measures.uncertain import mean_over_queries
from endoxa.policies import TAUGHT
from endoxa.tables import Bools, Floats, Ints

SCALE = 1.25  # c: a stated standard deviation is c times the linearised one
POWER = 12  # P(best) rests on 2^12 points
NEARLY, SURE = 0.01, 0.95  # practically the same: within .01 with P >= .95, from `TAUGHT` labels a topic on
EQUAL, CERTAIN = 1e-9, 1e-6  # a difference that is rounding, and an sd that is, as a share of the largest of a mean
JITTER = 1e-10  # added to the variances, as a share of the largest, so that a singular covariance has a root


@dataclass(frozen=True, eq=False)
class Posterior:
    """What a learned belief says about the systems on one measure.

    values      [system, topic] at expected relevance; NaN where nothing can be relevant
    model       [system, column] a root of the covariance that the doubt about the model gives the means
    truth       [system, system] covariance that the doubt about single items adds
    same        [system] the first system with the same lists, as deep as the measure looks
    labels      labels per topic
    lower       smaller values are better
    """

    measure: str
    systems: list[str]
    values: Floats
    model: Floats
    truth: Floats
    same: Ints
    labels: float = 0.0
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
    def worth(self) -> Floats:
        """[system] the mean, turned where smaller values are better."""
        return -self.mean if self.lower else self.mean

    @cached_property
    def covariance(self) -> Floats:
        """[system, system] of the means, before it is scaled."""
        return np.asarray(self.model @ self.model.T + self.truth)

    @cached_property
    def sd(self) -> Floats:
        """[system, system] standard deviation of the difference of two means: `SCALE` times the linearised one."""
        variance = np.diag(self.covariance)
        return np.asarray(SCALE * np.sqrt(np.maximum(variance[:, None] + variance - 2 * self.covariance, 0)))

    @cached_property
    def tie(self) -> Bools:
        """[system, system] the two are equal whatever the labels: they return the same, or nothing is left to judge."""
        certain = (self.sd <= self._tiny) & (np.abs(self._apart) <= EQUAL)
        return np.asarray((self.same[:, None] == self.same) | certain)

    @cached_property
    def better(self) -> Floats:
        """[system, system] P(the first is better than the second) = Φ(Δ/(c sd)); 0 where the two are equal."""
        apart, sd = self._apart, self.sd
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = np.where(sd > self._tiny, ndtr(apart / sd), apart > 0)
        return np.where(self.tie, 0.0, np.where(np.isnan(apart), np.nan, chance))

    @cached_property
    def superiority(self) -> Floats:
        """[system, system] P(better) + P(equal)/2."""
        return self.better + self.tie / 2

    @cached_property
    def practically_same(self) -> Bools:
        """[system, system] the difference is at most .01 with a probability of .95: said from 5 labels a topic on."""
        if self.labels < TAUGHT:
            return self.tie
        with np.errstate(divide="ignore", invalid="ignore"):
            within = ndtr((NEARLY - self._apart) / self.sd) - ndtr((-NEARLY - self._apart) / self.sd)
        return np.asarray(self.tie | (within >= SURE))

    @cached_property
    def drawn(self) -> Floats:
        """[draw, system] worths drawn from the posterior at 4,096 scrambled Sobol points; systems without one are NaN.

        Systems that are the same are drawn as one. The others take their dimension by their mean, so that neither the
        order nor the names of systems change a draw.
        """
        able = ~np.isnan(self.worth)
        first = np.flatnonzero(able & (self.same == np.arange(len(self.systems))))
        variance = np.diag(self.covariance)
        order = sorted(
            first.tolist(),
            key=lambda place: (
                -round(float(self.worth[place]), 12),
                -round(float(variance[place]), 15),
                self.systems[place],
            ),
        )
        draws = np.full((2**POWER, len(self.systems)), np.nan)
        if order:
            root = SCALE * _root(self.covariance[np.ix_(order, order)])
            draws[:, order] = self.worth[order] + _normal(len(order)) @ root.T
        draws[:, able] = draws[:, self.same[able]]
        return draws

    def _won(self, margin: float) -> Floats:
        """[draw, system] whether the system is at most `margin` below the best."""
        return np.asarray(self.drawn >= np.nanmax(self.drawn, axis=1, keepdims=True) - margin)

    @cached_property
    def best(self) -> Floats:
        """[system] P(best): share of draws in which no system is better. Systems that are the same share their draws.

        NaN for a system without a mean.
        """
        able, chances = ~np.isnan(self.worth), np.full(len(self.systems), np.nan)
        if able.any():
            won = self._won(1e-12)[:, able]
            copies = np.bincount(self.same[able], minlength=len(self.systems))[self.same[able]]
            chances[able] = (won / (won / copies).sum(1, keepdims=True)).mean(0)
        return chances

    @cached_property
    def nearly_best(self) -> Floats:
        """[system] P(the best, or within .01 of it); NaN for a system without a mean."""
        able = ~np.isnan(self.worth)
        return np.where(able, self._won(NEARLY).mean(0), np.nan) if able.any() else np.full(len(able), np.nan)

    @cached_property
    def _apart(self) -> Floats:
        return np.asarray(self.worth[:, None] - self.worth)

    @cached_property
    def _tiny(self) -> float:
        return CERTAIN * float(np.sqrt(np.diag(self.covariance).max(initial=0.0)))


def _root(covariance: Floats) -> Floats:
    """A lower root of a covariance that may be singular."""
    jitter = JITTER * float(np.diag(covariance).max(initial=0.0))
    if jitter <= 0:
        return np.zeros_like(covariance)
    while True:
        try:
            return np.asarray(cholesky(covariance + jitter * np.eye(len(covariance)), lower=True))
        except LinAlgError:
            jitter *= 10


@lru_cache(maxsize=8)
def _normal(size: int) -> Floats:
    """[point, dimension] scrambled Sobol points, as standard normal numbers: always the same."""
    from scipy.stats.qmc import Sobol

    points = Sobol(size, scramble=True, rng=np.random.default_rng(0)).random_base2(POWER)
    return np.asarray(ndtri(np.clip(points, 2**-32, 1 - 2**-32)))


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
        model += learned.fits[level].half(_moved(learned, listed, shared, moved))
    worth = np.cumsum(steps)
    squares = np.diff(worth**2, prepend=0.0)
    variance = np.maximum(squares @ tails - (steps @ tails) ** 2, 0.0)
    same = universe.same(measure.linear.k if measure.linear else None)
    spread = _spread(learned, listed, shared, variance)
    return Posterior(  # systems that are the same have the same numbers to the last bit
        str(measure), universe.systems, slopes.value[same], model[same], spread[np.ix_(same, same)], same,
        per_topic(learned),
    )  # fmt: skip


def per_topic(learned: Learned) -> float:
    """The number of labels per topic."""
    return len(learned.judged) / len(learned.universe.queries)


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
