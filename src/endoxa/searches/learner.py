"""The learner: Gaussian-process regression on five grades, with a weighted sum of kernels, one per group of features.

The same numbers say which features and which metrics matter: relevant pictures that lie together and apart from
irrelevant ones under a metric give it weight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from threading import Lock
from typing import Any, Literal, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from threadpoolctl import ThreadpoolController

from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.searches.arms import Arm, Features, Point, Values
from endoxa.searches.distances import blocks_of, distances, in_threads
from endoxa.searches.kernels import Rows, add_picked, kernel, points_of, summed
from endoxa.searches.session import expected_mark
from endoxa.tables import Bools, Floats, Ints

BASE = -1.0  # the mean before any evidence: nothing speaks for a picture until something does
SHARPNESS = 16.0  # how fast concordance turns into weight
DOUBT = 10.0  # the number of effective rows at which half of the concordance counts
NUDGES = (0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # added to the diagonal until it is positive definite
PULLS = 3  # examples of each direction that explain a picture
BLOCK = 2048  # pictures whose deviation is computed at a time

Pins = Mapping[str, float | Literal["off"]]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a person said about pictures.

    rows     places in the collection; -1, -2, … are the pictures of `outside`
    y        from -1 (highly irrelevant) to 1 (highly relevant)
    noise    the variance of y: small for a mark, large for a picture that was seen and not marked
    """

    rows: Ints
    y: Floats
    noise: Floats
    outside: tuple[Point, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Why:
    """Why a picture has its expected mark. In units of y: base + Σ groups + hint = mean, and expected = 2·clip(mean).

    hint      what a sketch or words add
    examples  (row of the evidence, what it adds), strongest first; together they are mean - base - own hint. A search
              gives the name of the item for the row, None for the picture from outside
    """

    base: float
    groups: Mapping[str, float]
    hint: float
    examples: tuple[tuple[Any, float], ...]

    @property
    def mean(self) -> float:
        """The expected value."""
        return self.base + sum(self.groups.values()) + self.hint

    @property
    def expected(self) -> float:
        """The expected mark, from -2 to 2."""
        return expected_mark(self.mean)

    @property
    def pulls(self) -> tuple[tuple[Any, float], ...]:
        """The three examples that pull most upwards, and the three that pull most downwards."""
        up = [one for one in self.examples if one[1] > 0][:PULLS]
        return (*up, *[one for one in self.examples if one[1] < 0][:PULLS])


class Fitted(Protocol):
    """What a learner found. Every learner has a mean; only some know more."""

    @property
    def mean(self) -> Floats:
        """The expected value of each picture, from about -1 to 1; -inf: not looked at."""

    @property
    def weights(self) -> Mapping[str, float]:
        """The weight of each group, Σ = 1."""

    @property
    def metrics(self) -> Mapping[str, str]:
        """The metric of each group."""

    def deviation(self, places: Ints) -> Floats:
        """The standard deviation of the expected value; NaN if the learner knows none."""

    def why(self, place: int) -> Why | None:
        """What contributed to the expected value; None if the learner does not say."""


class Learner(Protocol):
    """A function from evidence to expected values."""

    def __call__(
        self, features: Features, evidence: Evidence, *, prior: Mapping[Arm, float] | None = None,
        hint: Floats | None = None, pins: Pins | None = None, metrics: Mapping[str, str] | None = None,
        rows: Rows | None = None,
    ) -> Fitted:  # fmt: skip
        """Learn from evidence; see `learn`."""


@dataclass(frozen=True, eq=False)
class Model:
    """The fitted model: weights and metrics of the groups, and the influence α of each row of the evidence.

    concordance  of each arm: how well it orders the marks that it has not seen, ½ if nothing can be said
    """

    features: Features
    evidence: Evidence
    weights: Mapping[str, float]
    metrics: Mapping[str, str]
    concordance: Mapping[Arm, float]
    alpha: Floats
    factor: Floats  # lower Cholesky factor of K + S
    rows: Rows
    hint: Floats | None = None
    shown: Floats = field(default_factory=lambda: np.zeros(0))  # the hint of each row of the evidence

    @cached_property
    def heard(self) -> dict[str, float]:
        """The groups that count, with their weights."""
        return {name: weight for name, weight in self.weights.items() if weight > 0}

    @cached_property
    def mean(self) -> Floats:
        """The expected value of each picture; -inf outside the pictures that are looked at."""
        found = np.full(len(self.rows), BASE)
        for name, weight in self.heard.items() if len(self.evidence) else ():
            found += weight * summed(*self._taken(name), self.alpha)
        if self.hint is not None:
            hint = self.hint if self.rows.among is None else self.hint[self.rows.among]
            found += hint * (1 + self.alpha @ self.shown)
        if self.rows.among is None:
            return found
        everywhere = np.full(len(self.features), -np.inf)
        everywhere[self.rows.among] = found
        return everywhere

    def deviation(self, places: Ints) -> Floats:
        """√(k(x,x) - k(x)ᵀ (K+S)⁻¹ k(x)) of these places."""
        return np.asarray(np.sqrt(np.maximum(self.own(places) - (self.reduced(places) ** 2).sum(0), 0.0)))

    def own(self, places: Ints) -> Floats:
        """k(x, x): the variance before any evidence."""
        found = np.zeros(len(places))
        for name, weight in self.heard.items():
            found += weight * self.features.group(name).speaks[places]
        return found if self.hint is None else found + self.hint[places] ** 2

    def reduced(self, places: Ints) -> Floats:
        """L⁻¹ k(x), rows of the evidence × places: products of its columns are what the evidence explains."""
        found = np.zeros((len(self.evidence), len(places)))
        if not len(self.evidence):
            return found
        for name in self.heard if self.rows.among is None else ():
            self._taken(name)  # the rows that are needed are computed before threads share them

        def one(block: slice) -> None:
            near = np.zeros((len(self.evidence), block.stop - block.start))
            for name, weight in self.heard.items():
                self._add_near(near, name, weight, places[block])
            if self.hint is not None:
                near += self.shown[:, None] * self.hint[places[block]]
            found[:, block] = solve_triangular(self.factor, near, lower=True, check_finite=False, overwrite_b=True)

        with ONE_THREAD:
            in_threads(one, blocks_of(len(places), BLOCK), work=len(places) * len(self.evidence) ** 2)
        return found

    def similar(self, places: Ints) -> Callable[[int], Floats]:
        """A function of the number of one of these places: k(x, z) with all of them."""
        numbers = {name: np.ascontiguousarray(self.features.group(name).values[places]) for name in self.heard}
        hint = None if self.hint is None else self.hint[places]

        def of(at: int) -> Floats:
            found = np.zeros(len(places))
            for name, values in numbers.items():
                metric, tau = self.metrics[name], self.features.group(name).taus[self.metrics[name]]
                found += self.weights[name] * kernel(distances(metric, values, values[[at]])[0], tau)
            return found if hint is None else found + hint[at] * hint

        return of

    def why(self, place: int) -> Why:
        """What each group, the hint and each example contributed."""
        at = np.array([place])
        groups, total = {}, np.zeros(len(self.evidence))
        for name, weight in self.weights.items():
            near = np.zeros((len(total), 1))
            self._add_near(near, name, weight, at)
            groups[name] = float(near[:, 0] @ self.alpha)
            total += near[:, 0] * self.alpha
        own = 0.0
        if self.hint is not None:
            own = float(self.hint[place])
            total += own * self.shown * self.alpha
        hint = own * (1 + float(self.alpha @ self.shown)) if self.hint is not None else 0.0
        order = np.argsort(-np.abs(total), kind="stable")
        return Why(BASE, groups, hint, tuple((int(j), float(total[j])) for j in order))

    def _taken(self, name: str) -> tuple[Values, Ints]:
        group, metric = self.features.group(name), self.metrics[name]
        return self.rows.take(group, metric, self.evidence.rows, self.evidence.outside)

    def _add_near(self, found: Floats, name: str, weight: float, places: Ints) -> None:
        """Add the similarities under one group, rows of the evidence × places."""
        if self.rows.among is None:
            add_picked(*self._taken(name), places, weight, found)
        else:  # not every place is among the kept rows
            group, metric = self.features.group(name), self.metrics[name]
            points = points_of(group, self.evidence.rows, self.evidence.outside)
            found += weight * kernel(distances(metric, group.values[places], points), group.taus[metric])


def learn(
    features: Features, evidence: Evidence, *, prior: Mapping[Arm, float] | None = None, hint: Floats | None = None,
    pins: Pins | None = None, metrics: Mapping[str, str] | None = None, rows: Rows | None = None,
    adapts: bool = True,
) -> Model:  # fmt: skip
    """Learn from marks which pictures are wanted, and by which features and metrics that can be told.

    prior    π of each arm; equal if not given
    hint     relevance from a sketch or words, 0 to 1, of each picture. It raises the mean, and joins the kernel, so
             that marks can trust or refuse it
    pins     the weight of a group, fixed by the person, or "off"
    metrics  the last choice of each group, which stays where another is only as good
    rows     kernels kept from earlier rounds
    adapts   False: weights and metrics stay as the prior has them
    Source: docs/methods/search.md, Learner.
    """
    chances = dict.fromkeys(features.arms, 1.0) if prior is None else prior
    mine = np.zeros(len(evidence))
    if hint is not None:
        mine = np.where(evidence.rows >= 0, hint[np.maximum(evidence.rows, 0)], 0.0)
    left = evidence.y - (BASE + mine)
    near = _between(features, evidence, pins or {})
    with ONE_THREAD:
        concordance = {arm: _concordance(evidence, left, within) if adapts else 0.5 for arm, within in near.items()}
    trust = SHARPNESS * _trust(evidence.y)
    score = {arm: np.log(max(chances.get(arm, 1.0), 1e-300)) + trust * (r - 0.5) for arm, r in concordance.items()}
    chosen = _chosen(features, score, metrics or {})
    weights = _weights(chosen, score, pins or {})
    whole = np.outer(mine, mine)
    for name, weight in weights.items():
        whole += weight * near[name, chosen[name]]
    kept = Rows(features) if rows is None else rows
    kept.prepare(evidence.rows[evidence.y > 0], evidence.outside, hint)
    kept.forget(chosen)
    with ONE_THREAD:
        factor = _factor(whole, evidence.noise)
        alpha = cho_solve((factor, True), left, check_finite=False) if len(evidence) else np.zeros(0)
    return Model(features, evidence, weights, chosen, concordance, alpha, factor, kept, hint, mine)


class _OneThread:
    """Small matrices are solved by one thread of BLAS: several would wait for each other longer than they compute.

    The limit holds for the whole process. Searches of several people overlap: the first to come sets it, and the last
    to leave restores it, so that all compute alike.
    """

    def __init__(self) -> None:
        self.lock, self.inside = Lock(), 0
        self.controls: ThreadpoolController | None = None
        self.limit: Any = None

    def __enter__(self) -> None:
        with self.lock:
            if not self.inside:
                self.controls = self.controls or ThreadpoolController()
                self.limit = self.controls.limit(limits=1, user_api="blas")
            self.inside += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self.limit.restore_original_limits()


ONE_THREAD = _OneThread()


def _between(features: Features, evidence: Evidence, pins: Pins) -> dict[Arm, Floats]:
    """The kernel between the rows of the evidence, per arm that may have a say."""
    found = {}
    for group in features.groups:
        if pins.get(group.name) == "off" or not group.audible:
            continue
        points = points_of(group, evidence.rows, evidence.outside)
        for metric in group.audible:
            found[group.name, metric] = kernel(distances(metric, points, points).astype(np.float64), group.taus[metric])
    if features.arms and not found:
        raise TextError("every group of features is off", remedy="leave at least one on")
    return found


def _concordance(evidence: Evidence, left: Floats, within: Floats) -> float:
    """How well an arm predicts each row from the others: the share of pairs in the right order, weighted by |Δy|."""
    if len(evidence) <= 2:
        return 0.5
    inverse = np.linalg.inv(within + np.diag(evidence.noise))
    predicted = evidence.y - inverse @ left / np.diag(inverse)
    return concordance(predicted, evidence.y)


def concordance(predicted: Floats, y: Floats) -> float:
    """The share of pairs that `predicted` orders as `y` does, weighted by |Δy|; ties count ½. ½ without a pair."""
    apart = np.sign(np.round(np.subtract.outer(predicted, predicted), 12))
    really = np.subtract.outer(y, y)
    weight = np.triu(np.abs(really), 1)
    total = weight.sum()
    return float((weight * (1 + apart * np.sign(really)) / 2).sum() / total) if total > 0 else 0.5


def _trust(y: Floats) -> float:
    """λ = n/(n + 10), n = 2 n₊ n₋ / (n₊ + n₋): rows above the median, and the others."""
    above: Bools = y > np.median(y) if len(y) else np.zeros(0, np.bool_)
    many = int(above.sum())
    effective = 2 * many * (len(y) - many) / len(y) if len(y) else 0.0
    return effective / (effective + DOUBT)


def _chosen(features: Features, score: Mapping[Arm, float], last: Mapping[str, str]) -> dict[str, str]:
    """The metric of each group: the best one; of equally good ones the last choice, else the first."""
    chosen = {}
    for group in features.groups:
        mine = {metric: score[group.name, metric] for metric in group.metrics if (group.name, metric) in score}
        if mine:
            best = [metric for metric, value in mine.items() if value >= max(mine.values()) - 1e-12]
            chosen[group.name] = last[group.name] if last.get(group.name) in best else best[0]
    return chosen


def _weights(chosen: Mapping[str, str], score: Mapping[Arm, float], pins: Pins) -> dict[str, float]:
    """The weights of the groups, Σ = 1: those that a person fixed first, the others by their scores."""
    fixed = {name: float(pins[name]) for name in chosen if name in pins and pins[name] != "off"}
    free = {name: score[name, chosen[name]] for name in chosen if name not in fixed}
    given = sum(fixed.values())
    if not free and given <= 0:
        return dict.fromkeys(chosen, 1 / len(chosen)) if chosen else {}
    if given > 1 or (not free and given):
        fixed = {name: weight / given for name, weight in fixed.items()}
        given = 1.0
    top = max(free.values(), default=0.0)
    shares = {name: float(np.exp(value - top)) for name, value in free.items()}
    total = sum(shares.values())
    return {
        name: fixed[name] if name in fixed else (1 - given) * shares[name] / total for name in chosen
    }  # fmt: skip


def _factor(whole: Floats, noise: Floats) -> Floats:
    """The lower Cholesky factor of K + S, with as little added to the diagonal as it needs."""
    if not len(noise):
        return np.zeros((0, 0))
    for nudge in NUDGES:
        try:
            return np.asarray(np.tril(cho_factor(whole + np.diag(noise + nudge), lower=True)[0]))
        except LinAlgError:
            continue
    raise TextError("the marks cannot be reconciled: the model has no solution", remedy="undo the last marks")
