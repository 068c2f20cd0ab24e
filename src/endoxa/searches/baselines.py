"""Known ways to learn from marks, to compare the learner with. Each gives every picture a value; none knows its doubt.

A picture marked y counts u₊ = max(y, 0) for and u₋ = max(-y, 0) against; one that was seen and left unmarked counts a
tenth. The first picture of the evidence is taken for the query if it speaks for anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.searches.arms import Features, Group, Point
from endoxa.searches.kernels import points_of
from endoxa.searches.learner import BASE, Evidence, Learner, Model, Pins, learn
from endoxa.searches.projections import finite_rows, unit_rows
from endoxa.searches.signals import SURE
from endoxa.tables import Floats, Ints

ROCCHIO = (1.0, 0.75, 0.25)  # query, likes, dislikes
MOVED = (1.0, 0.75, 0.15)  # the same, where weights of features are learnt too
VOTES = {1.0: 3.0, 0.5: 1.0, 0.0: 0.0, -0.5: -1.0, -1.0: -3.0}
LINEAR_COST, RADIAL_COST = 1.0, 10.0
TEMPERATURE = 0.1  # of PicHunter: the distance over which a choice fades
OTHERS = 64  # pictures that each like of PicHunter was preferred to
ROUND = 20  # marks after which weights of features are taken to have been updated once more
ETA = 0.5


@dataclass(frozen=True, eq=False)
class Ranking:
    """What a baseline found: values from -1 to 1, and the weights of the groups where it has any."""

    mean: Floats
    weights: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)

    def deviation(self, places: Ints) -> Floats:
        """NaN: no baseline knows its doubt."""
        return np.full(len(places), np.nan)

    def why(self, place: int) -> None:
        """None: no baseline explains itself."""


@dataclass(frozen=True, eq=False)
class Marks:
    """The evidence as most baselines see it: how much each row speaks for and against."""

    rows: Ints
    outside: tuple[Point, ...]
    likes: Floats
    dislikes: Floats

    @classmethod
    def of(cls, evidence: Evidence) -> Marks:
        """u₊ and u₋ of each row."""
        counts = np.minimum(1.0, SURE / evidence.noise)
        y = evidence.y
        return cls(evidence.rows, evidence.outside, np.maximum(y, 0) * counts, np.maximum(-y, 0) * counts)

    def moved(self, points: Floats, parts: tuple[float, float, float]) -> Floats:
        """a · query + b · mean of the likes - c · mean of the dislikes."""
        query, up, down = parts
        asked = points[0] if self.likes[0] > 0 else np.zeros(points.shape[1])
        return query * asked + up * mean_of(points, self.likes) - down * mean_of(points, self.dislikes)


Score = Callable[[tuple[Group, ...], Marks], tuple[Floats, Mapping[str, float]]]


def learner_of(score: Score) -> Learner:
    """A learner from a function that gives every picture a value, and groups a weight, from the groups and marks.

    Groups without a weight share it evenly if none has one. Groups can be switched off; weights cannot be fixed.
    """

    def learner(
        features: Features, evidence: Evidence, *, hint: Floats | None = None, pins: Pins | None = None, **_: object
    ) -> Ranking:
        groups = tuple(one for one in features.groups if (pins or {}).get(one.name) != "off" and one.audible)
        if features.arms and not groups:
            raise TextError("every group of features is off", remedy="leave at least one on")
        values, weights = np.full(len(features), BASE), dict[str, float]()
        if len(evidence) and groups:
            scored, found = score(groups, Marks.of(evidence))
            values, weights = spread(scored), dict(found)
        shares = weights or dict.fromkeys((one.name for one in groups), 1 / max(len(groups), 1))
        metric = {one.name: one.audible[0] for one in groups if one.name in shares}
        return Ranking(values if hint is None else values + hint, shares, metric)

    learner.__doc__ = score.__doc__
    return learner


def none(features: Features, evidence: Evidence, **given: Any) -> Model | Ranking:
    """No feedback: the ranking by the query alone, with the weights of the prior; by chance if there is no query."""
    asked = 1 if len(evidence) and evidence.y[0] > 0 else 0
    if not asked and given.get("hint") is None:
        return Ranking(np.random.default_rng(0).uniform(-1, 1, len(features)))
    alone = replace(evidence, rows=evidence.rows[:asked], y=evidence.y[:asked], noise=evidence.noise[:asked])
    return learn(features, alone, **given, adapts=False)


def spread(values: Floats) -> Floats:
    """Values stretched to -1 … 1; what has none, and all if they are equal, are at -1."""
    known = values[np.isfinite(values)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    if not high > low:
        return np.full(len(values), BASE)
    return np.asarray(np.nan_to_num(2 * (values - low) / (high - low) - 1, nan=-1.0, posinf=1.0, neginf=-1.0))


def mean_of(points: Floats, counts: Floats) -> Floats:
    """The weighted mean of points; 0 if none counts."""
    total = counts.sum()
    return counts @ points / total if total > 0 else np.zeros(points.shape[1])


def units_of(groups: tuple[Group, ...], marks: Marks) -> tuple[Floats, Floats, dict[str, float]]:
    """The look of every picture (another group if there is no look) and of the marked ones at length 1; its weight."""
    group = next((one for one in groups if one.name == "look"), groups[0])
    return unit(group.values), unit(points_of(group, marks.rows, marks.outside)), {group.name: 1.0}


def unit(values: npt.NDArray[np.generic]) -> Floats:
    """Rows at length 1; rows that are zero or not finite become 0."""
    return np.asarray(np.nan_to_num(unit_rows(values)))


def _numbers(group: Group, marks: Marks) -> tuple[Floats, Floats]:
    """The numbers of every picture and of the marked ones; a row that is not finite becomes 0."""
    return finite_rows(group.values), finite_rows(points_of(group, marks.rows, marks.outside))


def together(groups: tuple[Group, ...], marks: Marks) -> tuple[Floats, Floats]:
    """All groups side by side, every group with the same share of a total variance of 1: pictures, marked ones."""
    everything, marked = [], []
    for group in groups:
        values, points = _numbers(group, marks)
        centre = values.mean(0)
        size = np.sqrt(values.var(0).sum() * len(groups)) or 1.0
        everything.append((values - centre) / size)
        marked.append((points - centre) / size)
    return np.hstack(everything), np.hstack(marked)


def scaled(group: Group, marks: Marks) -> tuple[Floats, Floats]:
    """Every number as (x - mean)/3σ, cut at ±1: pictures, marked ones."""
    values, points = _numbers(group, marks)
    centre, size = values.mean(0), 3 * values.std(0)
    size[size == 0] = np.inf
    return np.clip((values - centre) / size, -1, 1), np.clip((points - centre) / size, -1, 1)


def rocchio(groups: tuple[Group, ...], marks: Marks) -> tuple[Floats, Mapping[str, float]]:
    """The cosine of the look with query + .75 mean of the likes - .25 mean of the dislikes.

    Source: Rocchio, in Salton (ed.), The SMART Retrieval System, 1971.
    """
    everything, marked, alone = units_of(groups, marks)
    return everything @ marks.moved(marked, ROCCHIO), alone


def mars(groups: tuple[Group, ...], marks: Marks) -> tuple[Floats, Mapping[str, float]]:
    """Query point movement, numbers weighted by 1/σ of the likes, groups by votes.

    In each group the query is the mean of the likes, and numbers on which they agree count more. A group votes +3, +1,
    0, -1, -3 for each marked picture among those nearest to the query under that group alone; sums below 0 are 0.
    Source: Rui, Huang, Ortega and Mehrotra, IEEE Trans. Circuits and Systems for Video Technology 8 (1998).
    """
    far, votes = {}, {}
    y = marks.likes - marks.dislikes
    for group in groups:
        everything, marked = scaled(group, marks)
        centre = mean_of(marked, marks.likes)
        spreads = np.sqrt(mean_of((marked - centre) ** 2, marks.likes))
        weights = 1 / np.maximum(spreads, 0.03) if (marks.likes > 0).sum() > 1 else np.ones(len(centre))
        raw = np.abs(everything - centre) @ (weights / weights.sum())
        far[group.name] = np.clip((raw - raw.mean()) / (3 * raw.std() or 1.0), -1, 1)
        nearest = np.argsort(raw, kind="stable")[: max(ROUND, len(y))]
        inside = np.isin(marks.rows, nearest)
        votes[group.name] = max(0.0, sum(_vote(one) for one in y[inside]))
    if not any(votes.values()):
        votes = dict.fromkeys(votes, 1.0)
    shares = {name: vote / sum(votes.values()) for name, vote in votes.items()}
    sign = 1.0 if marks.likes.any() else -1.0  # nothing liked: the farther from the middle, the better
    return -sign * sum((share * far[name] for name, share in shares.items()), np.zeros(len(everything))), shares


def _vote(y: float) -> float:
    return VOTES[min(VOTES, key=lambda level: abs(level - y))]


def new_weights(
    x: Floats, likes: Floats, dislikes: Floats, w: Floats, *, reference: Floats | None = None, shrink: float = 1.0,
    epsilon: float = 0.0, eta: float = ETA,
) -> Floats:  # fmt: skip
    """Weights of features after marks: up where likes lie close together, down where dislikes lie among them.

    μ = Σ u₊ x / U, U = Σ u₊;  s² = (ν s_ref² + Σ u₊ (x - μ)²) / (ν + U), ν = `shrink`
    δ = share of the dislikes within [min, max] of the likes;  raw = (1 - δ) s_ref / (s + ε s_ref)
    new w = (1 - η) w + η raw / Σ raw
    `reference` is s_ref, the deviation of each feature; None: of x. The weights stay if fewer than two are liked, or if
    nothing is left of any feature; a feature without deviation has none.
    Source: docs/methods/search.md, Feature weighting.
    """
    reference = x.std(0, ddof=0) if reference is None else reference
    liked = likes > 0
    if liked.sum() < 2:
        return w
    total = likes.sum()
    squares = likes @ (x - likes @ x / total) ** 2
    spreads = np.sqrt((shrink * reference**2 + squares) / (shrink + total))
    within = (x >= x[liked].min(0)) & (x <= x[liked].max(0))
    among = dislikes @ within / dislikes.sum() if dislikes.sum() > 0 else np.zeros(x.shape[1])
    room = spreads + epsilon * reference
    raw = np.where(reference > 0, (1 - among) * reference / np.where(room > 0, room, 1.0), 0.0)
    return np.asarray((1 - eta) * w + eta * raw / raw.sum() if raw.sum() > 0 else w)


def reweighting(groups: tuple[Group, ...], marks: Marks) -> tuple[Floats, Mapping[str, float]]:
    """Weighted L1 on all numbers, with the weights of `new_weights` and a moved query (1, .75, .15).

    The weights are updated once for every 20 marks, each time from all of them.
    """
    pairs = [scaled(group, marks) for group in groups]
    everything, marked = (np.hstack(part) for part in zip(*pairs, strict=True))
    sizes = [values.shape[1] for values, _ in pairs]
    start = np.concatenate([np.full(size, 1 / (size * len(groups))) for size in sizes])
    steps = int(np.ceil(len(marks.rows) / ROUND))
    weights = new_weights(
        marked, marks.likes, marks.dislikes, start, reference=everything.std(0), eta=1 - (1 - ETA) ** steps
    )  # fmt: skip
    parts = np.split(weights, np.cumsum(sizes)[:-1])
    shares = {group.name: float(part.sum()) for group, part in zip(groups, parts, strict=True)}
    query = marks.moved(marked, MOVED) / _mass(marks, MOVED)
    return -(np.abs(everything - query) @ weights), shares


def _mass(marks: Marks, parts: tuple[float, float, float]) -> float:
    """The sum of the weights in a moved query, so that it lies among the pictures; 1 if there is none."""
    query, up, down = parts
    mass = query * (marks.likes[0] > 0) + up * bool(marks.likes.any()) - down * bool(marks.dislikes.any())
    return mass if mass > 0 else 1.0


def neighbours(groups: tuple[Group, ...], marks: Marks) -> tuple[Floats, Mapping[str, float]]:
    """d₋ / (d₊ + d₋), the distances to the nearest disliked and the nearest liked picture, all groups together.

    Source: Giacinto, ACM CIVR 2007.
    """
    everything, marked = together(groups, marks)
    far = np.sqrt(np.maximum(_squares(everything, marked), 0))
    near = [
        far[counts > 0].min(0) if counts.any() else np.full(len(everything), np.sqrt(2.0))
        for counts in (marks.likes, marks.dislikes)
    ]
    total = near[0] + near[1]
    return near[1] / np.where(total > 0, total, 1.0), {}


def best_score(groups: tuple[Group, ...], marks: Marks) -> tuple[Floats, Mapping[str, float]]:
    """σ(s₊) if the nearest liked picture is nearer than the nearest disliked one, else -σ(s₋); cosine of the look.

    σ(s) = s / (1 + |s|). Source: the strategy best_score of Qdrant.
    """
    everything, marked, alone = units_of(groups, marks)
    near = everything @ marked.T
    up = near[:, marks.likes > 0].max(1, initial=-1.0)
    down = near[:, marks.dislikes > 0].max(1, initial=-1.0)
    return np.where(up > down, up / (1 + np.abs(up)), -down / (1 + np.abs(down))), alone


def linear_svm(groups: tuple[Group, ...], marks: Marks) -> tuple[Floats, Mapping[str, float]]:
    """A linear support vector machine on the look, liked against disliked.

    Source: Khan et al., Exquisitor, ECIR 2020.
    """
    everything, marked, alone = units_of(groups, marks)
    return _separated(marks, everything @ marked.T, marked @ marked.T, LINEAR_COST), alone


def rbf_svm(groups: tuple[Group, ...], marks: Marks) -> tuple[Floats, Mapping[str, float]]:
    """A support vector machine with the kernel exp(-|x - z|²) on all groups together, liked against disliked."""
    everything, marked = together(groups, marks)
    near, within = np.exp(-_squares(everything, marked)).T, np.exp(-_squares(marked, marked))
    return _separated(marks, near, within, RADIAL_COST), {}


def pichunter(groups: tuple[Group, ...], marks: Marks) -> tuple[Floats, Mapping[str, float]]:
    """The logarithm of P(t) ∝ Π e^(-d(t, like)/.1) / (e^(-d(t, like)/.1) + Σ e^(-d(t, other)/.1)), d by the look.

    The others are the pictures that were shown and not liked, the last 64.
    Source: Cox et al., IEEE Trans. Image Processing 9 (2000); Kratochvíl et al., SOMHunter, ACM MM 2020.
    """
    everything, marked, alone = units_of(groups, marks)
    close = np.exp((everything @ marked.T - 1) / TEMPERATURE)
    liked = marks.likes > 0
    if not liked.any():
        return -close.sum(1), alone
    others = close[:, ~liked][:, -OTHERS:].sum(1, keepdims=True)
    return np.log(close[:, liked] / (close[:, liked] + others)).sum(1), alone


def _separated(marks: Marks, near: Floats, within: Floats, cost: float) -> Floats:
    """The decision of a support vector machine for every picture; without both sides, the mean similarity."""
    counts = marks.likes + marks.dislikes
    rows = counts > 0
    label = np.where(marks.likes > 0, 1.0, -1.0)[rows]
    if not rows.any() or (label == label[0]).all():
        return near @ (marks.likes - marks.dislikes)
    from sklearn.svm import SVC

    machine = SVC(kernel="precomputed", C=cost, tol=1e-6)
    machine.fit(within[np.ix_(rows, rows)], label, sample_weight=counts[rows])
    return np.asarray(machine.decision_function(near[:, rows]))


def _squares(everything: Floats, marked: Floats) -> Floats:
    """|x - z|², marked × pictures."""
    return np.asarray((marked**2).sum(1)[:, None] + (everything**2).sum(1)[None, :] - 2 * marked @ everything.T)
