"""A verdict that holds whatever the model: pairs drawn one by one with known chances, and a bet against every system.

For every system B that may be the best a game is played with a capital of 1. Before each draw the system A that leads
stakes a part of the capital on A being better than B. The pair d is drawn with chance q, its label is y, and

    X = θ(p) + w (y - p)/q,   θ(p) the difference A - B at the predictions p,   w its derivative by the relevance of d

has the true difference θ as its mean, whatever p is: the capital is multiplied by 1 + stake · X. If B is the best, then
θ <= 0 for every A, every game is unfavourable, and the capital reaches 1/α at any time with probability at most α.
So B is ruled out there, and the question is settled when one system is left. The wrong one is left with probability at
most α = 1 - until, however often one looks: only the game against the true best can go wrong, so that m systems need no
correction. Of an order every pair has its own game, with α divided by the number of pairs.

Assumptions: every pair was drawn by this module, alone, from all that were left, with the chance that is recorded; the
label of a pair does not depend on when it was drawn; no label is above the highest grade. P@k and DCG@k are sums over
items, and the guarantee is exact. AP, nDCG@k and R@k are linearised at the predictions: there it holds for the
linearised difference. What is drawn, p and the stake depend on labels before the draw only; if the model is wrong, more
labels are needed, and nothing else happens. A pair that a judge leaves undecided counts at its worst.
Source: Waudby-Smith and Ramdas, arXiv:2010.09686 (bets); Waudby-Smith et al., arXiv:2210.10768 (known propensities and
predictable means); Shekhar et al., arXiv:2305.06884 (drawing without replacement, with weights);
docs/methods/deciding.md, Guarantee.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from endoxa.beliefs.learned import Judged, Learned, Universe, learn
from endoxa.comparisons.posterior import levels_of, places_of
from endoxa.frozen import dataclass
from endoxa.measures.grammar import Measure
from endoxa.pools.choosing import askable
from endoxa.statistics.betting import TINY, growth, stake
from endoxa.tables import COUNTED, Bools, Floats, Ints, Opinions

EDGE = 0.02  # predictions are kept this far from certain
HEDGE = 0.05  # added to p (1 - p) in the choice, as the model may be wrong where it is sure
SAME = 1e-6  # relative difference below which a recorded chance is the one that the labels before it give


@dataclass(frozen=True, eq=False)
class Draws:
    """Pairs in the order in which they were drawn, each alone from all that were left.

    rows     [draw] rows of the universe
    chance   [draw] the chance with which the row was drawn
    after    [draw] how many of the first draws had a label that the choice took into account
    """

    rows: Ints
    chance: Floats
    after: Ints

    @classmethod
    def of(cls, universe: Universe, labels: Opinions | None) -> Draws:
        """The draws that labels name, up to the first one that is missing."""
        if labels is None:
            return cls.none()
        alone = labels.frame.filter(COUNTED).drop_nulls(["draw", "draw_after", "propensity"])
        found = alone.join(universe.rows.with_row_index("row"), on=["query", "item"], how="inner")
        found = found.unique(["draw", "row"], keep="first", maintain_order=True).sort("draw")
        place, after = np.arange(found.height), found["draw_after"].to_numpy()
        gaps = np.flatnonzero((found["draw"].to_numpy() != place + 1) | (after > place))
        found = found.head(int(gaps[0]) if len(gaps) else found.height)
        rows = found["row"].to_numpy().astype(np.int64)
        return cls(rows, found["propensity"].to_numpy(), after[: found.height])

    @classmethod
    def none(cls) -> Draws:
        """No draw yet."""
        return cls(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))

    def __add__(self, more: Draws) -> Draws:
        rows, chance, after = zip(self.parts, more.parts, strict=True)
        return Draws(np.concatenate(rows), np.concatenate(chance), np.concatenate(after))

    def first(self, count: int) -> Draws:
        """The first draws."""
        return Draws(self.rows[:count], self.chance[:count], self.after[:count])

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def parts(self) -> tuple[Ints, Floats, Ints]:
        """Rows, chances, and how many labels had led to them."""
        return self.rows, self.chance, self.after


@dataclass(frozen=True)
class Game:
    """What is to be settled, as games: the measure, the systems that take part, and whether their order is sought."""

    measure: Measure
    systems: tuple[int, ...]
    ordered: bool
    alpha: float
    mixing: float

    def threshold(self) -> float:
        """ln of the capital at which a game is won."""
        m = len(self.systems)
        return math.log((m * (m - 1) / 2 if self.ordered else 1) / self.alpha)

    def won(self, capital: Floats) -> Bools:
        """[slot] the games that are won; `capital` is the highest so far, as ln."""
        return np.asarray(capital >= self.threshold())

    def left(self, capital: Floats) -> list[int]:
        """The systems that may still be the best; of an order, those in a pair that is not decided."""
        won = self.won(capital)
        if not self.ordered:
            return [system for system in self.systems if not won[system]]
        size = math.isqrt(len(won))
        open_ = {pair for pair in combinations(self.systems, 2) if not _decided(won, pair, size)}
        return sorted({system for pair in open_ for system in pair})


def _decided(won: Bools, pair: tuple[int, int], size: int) -> bool:
    first, second = pair
    return bool(won[first * size + second] or won[second * size + first])


@dataclass(frozen=True, eq=False)
class Plan:
    """What the labels of the first draws lead to: chances and bets of the draws that follow.

    slot     [bet] the game that a bet belongs to
    base     [bet] the difference at the predictions
    w        [row, bet] its derivative by the relevance of a row
    p        [row] predicted worth, between 0 and `top`
    score    [row] what the chance of a row is proportional to, but for the part `mixing`
    worst    [bet] least w (y - p)/score of any row that may be drawn
    noise    [row] p (1 - p)/score: Σ w² noise is the variance of a bet, but for the total score
    """

    slot: Ints
    base: Floats
    w: Floats
    p: Floats
    top: float
    score: Floats
    worst: Floats
    noise: Floats

    def shift(self, row: int, worth: float) -> Floats:
        """[bet] w (y - p) of a row; at its worst where there is no label."""
        w = self.w[row]
        if not math.isnan(worth):
            return np.asarray(w * (worth - self.p[row]))
        return np.asarray(np.minimum(-w * self.p[row], w * (self.top - self.p[row])))


def replay(universe: Universe, game: Game, judged: Judged, draws: Draws) -> Floats:
    """[slot] the highest capital of every game so far, as ln; a slot is a system, or a pair of them."""
    worths = _worths(universe, game, judged, draws.rows)
    _, course = _played(universe, game, _Past(judged, draws, worths))
    highest: Floats = course[-1].copy()
    plan = plan_of(universe, game, judged, draws.rows, highest)
    highest[plan.slot[_least(universe, game, plan, worths, draws.rows) > TINY]] = np.inf
    return highest


@dataclass(frozen=True)
class _Past:
    """Labels and draws, told apart by what they say, so that every draw is played once."""

    judged: Judged
    draws: Draws
    worths: Floats

    @cached_property
    def key(self) -> tuple[bytes, ...]:
        """What tells it apart."""
        return self.worths.tobytes(), *(part.tobytes() for part in self.draws.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Past) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def first(self, count: int) -> _Past:
        """The past as it was after some draws."""
        return _Past(self.judged, self.draws.first(count), self.worths[:count])


@lru_cache(maxsize=8)
def _played(universe: Universe, game: Game, past: _Past) -> tuple[Floats, Floats]:
    """[slot] the capital after the draws, and [draw + 1, slot] the highest so far, as ln."""
    draws, size = past.draws, len(universe.systems)
    if not len(draws):
        return np.zeros(size**2 if game.ordered else size), np.zeros((1, size**2 if game.ordered else size))
    after = int(draws.after[-1])
    start = len(draws) - int(np.argmax(np.append(draws.after[::-1] != after, True)))
    now, highest = _played(universe, game, past.first(start))
    plan = plan_of(universe, game, past.judged, draws.rows[:after], highest[after])
    return _play(universe, game, plan, past, start, now, highest)


def _least(universe: Universe, game: Game, plan: Plan, worths: Floats, rows: Ints) -> Floats:
    """[bet] the difference if every pair without a label were at its worst: what is above 0 here is certain."""
    left = askable(universe, game.measure)
    left[rows] = False
    w, p = plan.w[left], plan.p[left, None]
    return np.asarray(_difference(plan, worths, rows) + np.minimum(-w * p, w * (plan.top - p)).sum(0))


def _play(
    universe: Universe, game: Game, plan: Plan, past: _Past, start: int, now: Floats, highest: Floats
) -> tuple[Floats, Floats]:
    """Go through the draws of one plan, the first of which is `start`."""
    draws, worths, now, course = past.draws, past.worths, now.copy(), [highest[-1]]
    left = askable(universe, game.measure)
    left[draws.rows[:start]] = False
    total, count, noise = plan.score[left].sum(), int(left.sum()), plan.noise[left] @ plan.w[left] ** 2
    difference = _difference(plan, worths[:start], draws.rows[:start])
    for row, chance, worth in zip(draws.rows[start:], draws.chance[start:], worths[start:], strict=True):
        shift = plan.shift(row, worth)
        expected = _chance(plan.score[row], total, count, game.mixing)
        if abs(chance - expected) <= SAME * expected:
            scale = total / (1 - game.mixing)
            stakes = stake(difference, noise * scale, -(difference + scale * plan.worst))
            now[plan.slot] += growth(stakes, difference + shift / chance)
        course.append(np.maximum(course[-1], now))
        difference = difference + shift
        total, count, noise = total - plan.score[row], count - 1, noise - plan.noise[row] * plan.w[row] ** 2
    return now, np.concatenate([highest, course[1:]])


def _chance(score: Any, total: float, count: int, mixing: float) -> Any:
    """The chance of a row, or of every row, of `count` rows that are left with this total score."""
    even = np.full_like(score, 1 / count)
    return (1 - mixing) * score / total + mixing * even if total > 0 else even


def _difference(plan: Plan, worths: Floats, rows: Ints) -> Floats:
    """[bet] the difference at the predictions, with the labels of these rows in."""
    shifts = [plan.shift(int(row), float(worth)) for row, worth in zip(rows, worths, strict=True)]
    return plan.base + np.sum(shifts, axis=0) if shifts else plan.base


def draw(
    universe: Universe, game: Game, judged: Judged, draws: Draws, asked: Ints, count: int, rng: np.random.Generator
) -> Draws:
    """The next pairs, one by one, of those that were not asked. `draws` are those up to the first without an answer."""
    past = _Past(judged, draws, _worths(universe, game, judged, draws.rows))
    capital = _played(universe, game, past)[1][-1]
    plan = plan_of(universe, game, judged, draws.rows, capital)
    left = askable(universe, game.measure)
    left[asked] = False
    rows, chances = [], []
    for _ in range(min(count, int(left.sum()))):
        open_ = np.flatnonzero(left)
        score = plan.score[open_]
        chance = _chance(score, float(score.sum()), len(open_), game.mixing)
        place = int(rng.choice(len(open_), p=chance / chance.sum()))
        rows.append(int(open_[place]))
        chances.append(float(chance[place]))
        left[rows[-1]] = False
    return Draws(np.array(rows, dtype=np.int64), np.array(chances), np.full(len(rows), len(draws), dtype=np.int64))


def plan_of(universe: Universe, game: Game, judged: Judged, rows: Ints, capital: Floats) -> Plan:
    """The plan that follows from the labels of these rows, and from the games won so far."""
    known = judged.some(np.isin(judged.rows, rows))
    key = (known.rows.tobytes(), known.tails.tobytes(), np.sort(rows).tobytes(), game.won(capital).tobytes())
    return _plan(universe, game, _Known(known, rows, capital, key))


@dataclass(frozen=True)
class _Known:
    """Labels, drawn rows and capital, told apart by their bytes, so that a plan is made once."""

    judged: Judged
    rows: Ints
    capital: Floats
    key: tuple[bytes, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=4)  # one holds a number for every row and bet
def _plan(universe: Universe, game: Game, known: _Known) -> Plan:
    learned = learn(universe, known.judged, levels_for(game.measure, known.judged))
    levels, steps = levels_of(game.measure, learned)
    top = float(steps.sum())
    tails = np.where(learned.unjudged, np.clip(learned.tails[levels], EDGE, 1 - EDGE), learned.tails[levels])
    means, slopes = _linear(learned, game.measure, tails, steps)
    slot, first, second = _bets(game, known.capital, means)
    p = steps @ tails
    w = slopes[:, first] - slopes[:, second]
    likely = p / top * (1 - p / top)
    contest = sorted({*first.tolist(), *second.tolist()})
    spread = np.ptp(slopes[:, contest], axis=1) if contest else np.zeros(len(p))
    score = spread * np.sqrt(likely + HEDGE)
    left = askable(universe, game.measure)
    left[known.rows] = False
    per = np.divide(1, score, out=np.zeros_like(score), where=score > 0)
    worst = np.minimum(w[left] * (per * (top - p))[left, None], -w[left] * (per * p)[left, None]).min(0, initial=0.0)
    return Plan(slot, means[first] - means[second], w, p, top, score, worst, per * likely * top**2)


def _linear(learned: Learned, measure: Measure, tails: Floats, steps: Floats) -> tuple[Floats, Floats]:
    """Means of the systems at these predictions, and their derivatives by the worth of every row: [row, system]."""
    universe = learned.universe
    assert measure.linear is not None
    found = measure.linear.slopes(places_of(learned), tails, steps)
    known = ~np.isnan(found.value[0])
    count = max(int(known.sum()), 1)
    entry = np.nan_to_num(found.entry) / count
    shape = (universe.rows.height, len(universe.systems))
    slopes = sparse.csr_matrix((entry, (universe.row, universe.system)), shape=shape).toarray()
    shared = np.nan_to_num(found.shared.T)[universe.topic] / count
    return np.nansum(found.value, axis=1) / count, slopes + shared


def _bets(game: Game, capital: Floats, means: Floats) -> tuple[Ints, Ints, Ints]:
    """Slot, first and second system of every bet: on the leader against all that are left, or on every open pair."""
    left = game.left(capital)
    if not game.ordered:
        leader = max(left or game.systems, key=lambda system: means[system])
        second = np.array([system for system in left if system != leader], dtype=np.int64)
        return second, np.full(len(second), leader, dtype=np.int64), second
    won, size = game.won(capital), len(means)
    pairs = [pair for pair in combinations(left, 2) if not _decided(won, pair, size)]
    turned = [pair if means[pair[0]] >= means[pair[1]] else pair[::-1] for pair in pairs]
    first, second = np.array(turned, dtype=np.int64).reshape(-1, 2).T
    return first * size + second, first, second


def _worths(universe: Universe, game: Game, judged: Judged, rows: Ints) -> Floats:
    """[draw] the worth of the label of each row; NaN where it was left undecided."""
    learned = Learned(universe, judged, levels_for(game.measure, judged), ())
    levels, steps = levels_of(game.measure, learned)
    worth = np.full(universe.rows.height, np.nan)
    worth[judged.rows] = steps @ np.array([judged.at_least(learned.levels[level]) for level in levels])
    return np.asarray(worth[rows])


def levels_for(measure: Measure, judged: Judged) -> tuple[float, ...]:
    """The grades that a measure tells apart: all that occur, or the least relevant one."""
    linear = measure.linear
    graded = linear is not None and linear.gain is not None
    return judged.levels if graded else (float(measure.rel or 1),)
