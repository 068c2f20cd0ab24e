"""Belief learned from a few labels: relevance predicted from where every system ranked an item.

A label of one pair says something about every system that ranked the item, and so about all other pairs. The model is a
logistic regression with the consensus of the systems as its prior, an effect for each topic and a weight for each
system; its posterior is normal (Laplace's approximation). Without labels it is the consensus, with many labels it is
the labels.
Source: docs/methods/deciding.md, Learned belief; docs/methods/beliefs.md, Consensus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse
from scipy.linalg import cho_solve, cholesky, eigh, solve_triangular
from scipy.special import expit

from endoxa.beliefs.consensus import clusters, overlap
from endoxa.beliefs.judges import Panel
from endoxa.errors import JoinError, TextError
from endoxa.frozen import dataclass
from endoxa.notes import Note, note
from endoxa.tables import COUNTED, Belief, Bools, Floats, Gradings, Ints, Opinions, Run

DEPTH, SMALL = 100, 20  # first items of every list that make the universe; in a collection of few items
COLLECTION = 1_000  # items below which a collection is small
ALIKE = 0.4  # Jaccard above which systems share one vote
INTERCEPT, SLOPE = (-1.0, 1 / 0.3), (1.0, 1.0)  # mean and variance of a0 and a1
SPREAD = 1.5  # prior standard deviation of the effect of a topic and of the weight of a system
# With machine judges, mean and variance of a1, of the weight of what they say together, and of what one of them says
# beyond the others; and the standard deviations of the weight of a system among which the evidence chooses.
BESIDE, TOGETHER, APART = (0.25, 0.5**2), (1.5, 0.5**2), (0.0, 0.5**2)
SPREADS = (2.0, 1.0, 0.5, 0.25)
EQUAL = 1e-9  # evidences that differ by less are equal: the wider prior is taken
EDGE = 1e-4  # the consensus is kept this far from 0 and 1
STEPS, CLOSE = 50, 1e-9  # Newton needs a dozen steps
FLAT = 1e-4  # steps below it change the objective by little more than its rounding: they are taken whole
PEOPLE = 50  # draws of the model that a belief keeps
SHUFFLE = 2_654_435_761  # times the number of a row, modulo 2³²: an order that looks random


@dataclass(frozen=True, eq=False)
class Universe:
    """The pairs that any system has among its first `depth`, and where every system ranks them.

    rows                query, item, in byte order
    topic               [row] number of the query
    system, row, rank   [entry] the lists, at any rank, in order of system, topic and rank
    features            [row, predictor] sparse: for every system phi / √(1 + Σ phi²), phi = 1 - ln(rank)/ln(depth + 1);
                        then the predictors of machine judges
    offset              [row] logit of the consensus weighted by rank
    consensus           [row] (1 + q v)/(2 + q), v the weighted share of systems that have it among their first `depth`
    weights             [system] 1/size of its cluster, sum 1; 0 for a copy
    clusters            q, the number of groups of systems that are not near-duplicates
    missing             [system] number of topics that it returned nothing for
    twins               [system] the first system with the same lists, which is usually itself. The others of its
                        group are copies: they have no vote and no weight of their own
    panel               what machine judges say of the rows; None without any
    """

    rows: pl.DataFrame
    systems: list[str]
    queries: list[str]
    topic: Ints
    system: Ints
    row: Ints
    rank: Ints
    features: Any
    offset: Floats
    consensus: Floats
    weights: Floats
    clusters: int
    depth: int
    missing: Ints
    twins: Ints
    panel: Panel | None = None

    @classmethod
    def of(cls, run: Run, depth: int | None = None) -> Universe:
        """The universe of a run. `depth` is 100, or 20 in a collection of fewer than 1,000 items."""
        if depth is None:
            depth = DEPTH if run.frame["item"].n_unique() >= COLLECTION else SMALL
        if depth < 1:
            raise TextError(f"the depth of a list is at least 1, not {depth}")
        systems = run.systems
        key = ["query", "item"]
        rows = run.frame.filter(pl.col("rank") <= depth).select(key).unique().sort(key)
        if not rows.height:
            raise JoinError("no system returned anything; there is nothing to judge")
        queries = rows["query"].unique(maintain_order=True).to_list()
        topic = rows["query"].rle_id().to_numpy().astype(np.int64)
        lists = run.frame.join(rows.with_row_index("row"), on=key, how="inner", maintain_order="left")
        system = lists["system"].replace_strict(systems, list(range(len(systems))), return_dtype=pl.Int64).to_numpy()
        row, rank = lists["row"].to_numpy().astype(np.int64), lists["rank"].to_numpy().astype(np.int64)
        order = np.lexsort((rank, topic[row], system))
        system, row, rank = system[order], row[order], rank[order]
        twins = _twins(run)
        own = twins == np.arange(len(systems))
        top = (rank <= depth) & own[system]
        at, shape = (row[top], system[top]), (rows.height, len(systems))
        phi = sparse.csr_matrix((1 - np.log(rank[top]) / np.log(depth + 1), at), shape=shape)
        voted = sparse.csr_matrix((np.ones(int(top.sum())), at), shape=shape)
        owner = clusters(overlap(voted[:, own]), ALIKE)
        q, weights = int(owner.max()) + 1, np.zeros(len(systems))
        weights[own] = 1 / np.bincount(owner)[owner]
        weights = weights / weights.sum()
        agreed = np.clip((0.5 + q * (phi @ weights)) / (1 + q), EDGE, 1 - EDGE)
        length = np.sqrt(1 + np.asarray(phi.multiply(phi).sum(1)).ravel())
        answered = np.bincount(np.unique(system * len(queries) + topic[row]) // len(queries), minlength=len(systems))
        return cls(
            rows, systems, queries, topic, system, row, rank, sparse.diags(1 / length) @ phi,
            np.log(agreed) - np.log1p(-agreed), (1 + q * (voted @ weights)) / (2 + q), weights, q, depth,
            len(queries) - answered, twins,
        )  # fmt: skip

    def same(self, k: int | None = None) -> Ints:
        """[system] the first system with the same first `k` items on every topic; with the same lists without `k`.

        Whatever the labels, such systems have the same value on a measure that looks no deeper.
        """
        if k is None or k > self.depth:
            return self.twins
        inside = self.rank <= k
        bounds = np.searchsorted(self.system[inside], np.arange(len(self.systems) + 1))
        lists = np.column_stack([self.row[inside], self.rank[inside]])
        first: dict[bytes, int] = {}
        keys = (lists[bounds[place] : bounds[place + 1]].tobytes() for place in range(len(self.systems)))
        return np.array([first.setdefault(key, place) for place, key in enumerate(keys)], dtype=np.int64)

    def with_judges(self, gradings: Gradings | None) -> Universe:
        """The same with what machine judges say as further predictors.

        Where no judge graded a pair, the consensus keeps the weight that it has without judges: it is the last column.
        """
        if gradings is None:
            return self
        panel, alone = Panel.of(self.rows, gradings), self.without_judges
        if not len(panel):
            return replace(alone, panel=panel)
        more = [*panel.columns.T, *([self.offset * (panel.given == 0)] if panel.is_partial else [])]
        features = sparse.hstack([alone.features, sparse.csr_matrix(np.column_stack(more))], format="csr")
        return replace(alone, features=features, panel=panel)

    @cached_property
    def without_judges(self) -> Universe:
        """The same without machine judges."""
        if self.panel is None:
            return self
        return replace(self, features=self.features[:, : len(self.systems)], panel=None)

    @property
    def judges(self) -> list[str]:
        """The machine judges whose grades predict something."""
        return [] if self.panel is None else self.panel.names

    @cached_property
    def size(self) -> int:
        """The number of coefficients: a0, a1, one per topic, one per system, one per predictor of machine judges."""
        return 2 + len(self.queries) + int(self.features.shape[1])

    def predict(self, b: Floats) -> Floats:
        """The linear predictor of every row; of every row and draw, where b is [coefficient, draw]."""
        T = len(self.queries)
        offset = self.offset if b.ndim == 1 else self.offset[:, None]
        return np.asarray(b[0] + b[1] * offset + b[2 : 2 + T][self.topic] + self.features @ b[2 + T :])

    def prior(self, spread: float = SPREAD) -> tuple[Floats, Floats]:
        """Mean and precision of every coefficient; `spread` is the standard deviation of the weight of a system."""
        mean, precision = np.zeros(self.size), np.full(self.size, 1 / SPREAD**2)
        first = 2 + len(self.queries)
        precision[first:] = 1 / spread**2
        known = {0: INTERCEPT, 1: SLOPE}
        if self.panel is not None and self.judges:
            together = first + len(self.systems)
            known |= {1: BESIDE, together: TOGETHER, **dict.fromkeys(range(together + 1, self.size), APART)}
            if self.panel.is_partial:
                known[self.size - 1] = (SLOPE[0] - BESIDE[0], SLOPE[1] - BESIDE[1])
        for place, (centre, variance) in known.items():
            mean[place], precision[place] = centre, 1 / variance
        return mean, precision


def _twins(run: Run) -> Ints:
    """[system] the first system with exactly the same lists."""
    cells = pl.struct("query", "item", "rank").hash(seed=0)
    marks = run.frame.group_by("system").agg(cells.sum().alias("sum"), (cells // 3).sum().alias("third"), pl.len())
    known: dict[Any, list[int]] = {}
    twins = np.arange(len(run.systems))
    marks = marks.join(pl.DataFrame({"system": run.systems}).with_row_index("place"), on="system").sort("place")
    for place, *mark in marks.select("place", "sum", "third", "len").iter_rows():
        earlier = known.setdefault(tuple(mark), [])
        twins[place] = next((one for one in earlier if _lists(run, one).equals(_lists(run, place))), place)
        earlier.append(place)
    return twins


def _lists(run: Run, place: int) -> pl.DataFrame:
    return (
        run.frame.filter(pl.col("system") == run.systems[place]).select("query", "rank", "item").sort("query", "rank")
    )


@dataclass(frozen=True, eq=False)
class Fit:
    """A normal posterior of the coefficients: mean and precision.

    The effects of topics are independent of each other once all other coefficients are known, so the precision is kept
    in parts, and the cost grows in proportion to the number of topics.

    b       [coefficient] the mean
    alone   [topic] precision of the effect of a topic
    beside  [topic, other] precision between the effect of a topic and the other coefficients: a0, a1, the weights
    factor  [other, other] lower Cholesky factor of the precision of the others, whatever the effects of topics
    spread  prior standard deviation of the weight of a system
    """

    b: Floats
    alone: Floats
    beside: Floats
    factor: Floats
    spread: float = SPREAD

    @cached_property
    def root(self) -> Floats:
        """[other, other] the symmetric root of the covariance of the other coefficients.

        Roots of several fits are added up where a measure has grades; this one does not depend on the order of systems.
        """
        values, vectors = eigh(self.factor @ self.factor.T)
        return np.asarray((vectors / np.sqrt(values)) @ vectors.T)

    def half(self, G: Floats) -> Floats:
        """[row, column] a root of G H⁻¹ Gᵀ, H the precision and G [row, coefficient]: half @ half.T."""
        other, topics = _parts(G, len(self.alone))
        rest = other - (topics / self.alone) @ self.beside
        return np.hstack([topics / np.sqrt(self.alone), rest @ self.root])

    def drawn(self, noise: Floats) -> Floats:
        """[coefficient, draw] from standard normal numbers of the same shape."""
        other, topics = (part.T for part in _parts(noise.T, len(self.alone)))
        other = solve_triangular(self.factor, other, lower=True, trans="T")
        topics = topics / np.sqrt(self.alone)[:, None] - (self.beside @ other) / self.alone[:, None]
        return self.b[:, None] + _joined(other.T, topics.T).T


def fit(universe: Universe, rows: Ints, share: Floats, start: Floats | None = None) -> Fit:
    """The posterior given labels: `share` (0 to 1) of each labelled row. Newton with step halving, from `start`.

    With machine judges the prior of the systems' weights is the one under which the labels are most likely: it says how
    far the systems are to be trusted beside the judges.
    """
    if not universe.judges or not len(rows):
        return _fit(universe, rows, share, start, SPREAD)
    best = _fit(universe, rows, share, start, SPREADS[0])
    most = _evidence(universe, rows, share, best)
    for spread in SPREADS[1:]:
        narrower = _fit(universe, rows, share, best.b, spread)
        if (evidence := _evidence(universe, rows, share, narrower)) > most + EQUAL:
            best, most = narrower, evidence
    return best


def _evidence(universe: Universe, rows: Ints, share: Floats, at: Fit) -> float:
    """The log of the probability of the labels under the prior, but for a constant (Laplace's approximation)."""
    mean, precision = universe.prior(at.spread)
    eta = universe.predict(at.b)[rows]
    likelihood = float((share * eta - np.logaddexp(0, eta)).sum())
    prior = 0.5 * float((np.log(precision) - precision * (at.b - mean) ** 2).sum())
    curvature = float(np.log(at.alone).sum()) + 2 * float(np.log(np.diag(at.factor)).sum())
    return likelihood + prior - 0.5 * curvature


def _fit(universe: Universe, rows: Ints, share: Floats, start: Floats | None, spread: float) -> Fit:
    mean, precision = universe.prior(spread)
    T, topic = len(universe.queries), universe.topic[rows]
    other = np.column_stack([np.ones(len(rows)), universe.offset[rows], universe.features[rows].toarray()])

    def predicted(at: Floats) -> Floats:
        rest, topics = _parts(at, T)
        return np.asarray(other @ rest + topics[topic])

    def objective(at: Floats) -> float:
        eta = predicted(at)
        return float((share * eta - np.logaddexp(0, eta)).sum() - 0.5 * (precision * (at - mean) ** 2).sum())

    def bent(at: Floats) -> Fit:
        p = expit(predicted(at))
        curve, (wide, narrow) = p * (1 - p), _parts(precision, T)
        alone = narrow + np.bincount(topic, weights=curve, minlength=T)
        hits = sparse.csr_matrix((curve, (topic, np.arange(len(rows)))), shape=(T, len(rows)))
        beside = np.asarray(hits @ other)
        whole = (other * curve[:, None]).T @ other + np.diag(wide) - (beside / alone[:, None]).T @ beside
        return Fit(at, alone, beside, cholesky(whole, lower=True), spread)

    b = mean if start is None else start
    now = objective(b)
    for _ in range(STEPS):
        here, missed = bent(b), share - expit(predicted(b))
        by_topic = np.asarray(np.bincount(topic, weights=missed, minlength=T), dtype=np.float64)
        slope = _joined(missed @ other, by_topic) - precision * (b - mean)
        rest, topics = _parts(slope, T)
        rest = cho_solve((here.factor, True), rest - (topics / here.alone) @ here.beside)
        step = _joined(rest, (topics - here.beside @ rest) / here.alone)
        while (after := objective(b + step)) < now and np.abs(step).max() > FLAT:
            step = step / 2
        b, now = b + step, after
        if np.abs(step).max() <= CLOSE:
            break
    return bent(b)


def _parts(values: Floats, topics: int) -> tuple[Floats, Floats]:
    """[..., coefficient] as the coefficients that all topics share, and the effects of topics."""
    return np.concatenate([values[..., :2], values[..., 2 + topics :]], axis=-1), values[..., 2 : 2 + topics]


def _joined(other: Floats, topics: Floats) -> Floats:
    return np.concatenate([other[..., :2], topics, other[..., 2:]], axis=-1)


@dataclass(frozen=True, eq=False)
class Judged:
    """Labels that fall into a universe.

    rows     [label] the judged rows, ascending
    levels   the grades above 0 that occur, ascending
    tails    [level, label] share of the judges who gave at least this grade
    given    [label] the place of each label in the order in which they were given
    outside  number of judged pairs that no system has among its first `depth`, or of unknown queries
    torn     number of pairs on which judges disagree
    """

    rows: Ints
    levels: tuple[float, ...]
    tails: Floats
    given: Ints
    outside: int = 0
    torn: int = 0

    @classmethod
    def of(cls, universe: Universe, labels: Opinions | None) -> Judged:
        """Labels of one or several judges; undecided and negative grades, and tests of the judge, are left out.

        Their order is that of the rounds in which they were drawn, then of the times at which they were given; labels
        that have neither come first, in an order that depends on nothing but the pairs.
        """
        if labels is None:
            return cls(np.zeros(0, np.int64), (1.0,), np.zeros((1, 0)), np.zeros(0, np.int64))
        given = labels.frame.filter(COUNTED & (pl.col("grade") >= 0)).select("query", "item", "grade", "draw", "at")
        known = given.join(universe.rows.with_row_index("row"), on=["query", "item"], how="inner").sort("row", "grade")
        levels = tuple(sorted(set(known["grade"].to_list()) - {0.0})) or (1.0,)
        tails = [(pl.col("grade") >= level).mean().alias(str(place)) for place, level in enumerate(levels)]
        differ = (pl.col("grade").n_unique() > 1).alias("differ")
        pairs = known.group_by("row").agg(*tails, differ, pl.col("draw", "at").min()).sort("row")
        outside = given.select("query", "item").n_unique() - pairs.height
        shares = np.array([pairs[str(place)].to_numpy() for place in range(len(levels))], dtype=np.float64)
        rows = pairs["row"].to_numpy().astype(np.int64)
        by_chance = pl.Series("chance", rows * SHUFFLE % 2**32)
        order = pairs.with_columns(by_chance).with_row_index("place").sort("draw", "at", "chance", nulls_last=False)
        place = np.argsort(order["place"].to_numpy(), kind="stable").astype(np.int64)
        torn = int(pairs["differ"].sum())
        return cls(rows, levels, shares.reshape(len(levels), len(rows)), place, outside, torn)

    def some(self, kept: Bools) -> Judged:
        """Some of the labels."""
        given = np.argsort(np.argsort(self.given[kept], kind="stable"), kind="stable")
        return Judged(self.rows[kept], self.levels, self.tails[:, kept], given, self.outside, self.torn)

    @property
    def is_uniform(self) -> bool:
        """Whether all labels say that the item is relevant, or all that it is not."""
        return len(self) > 0 and float(self.tails[0].mean()) in {0.0, 1.0}

    def at_least(self, grade: float) -> Floats:
        """The share of judges who gave at least this grade, for each label."""
        place = next((place for place, level in enumerate(self.levels) if level >= grade), None)
        return np.zeros(len(self.rows)) if place is None else self.tails[place]

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class Learned:
    """What labels taught: one fit for every grade that occurs.

    tails  [level, row] P(grade >= level), the labels in and falling with the level
    """

    universe: Universe
    judged: Judged
    levels: tuple[float, ...]
    fits: tuple[Fit, ...]

    @cached_property
    def unjudged(self) -> Bools:
        """[row] whether the row has no label."""
        free = np.ones(self.universe.rows.height, dtype=bool)
        free[self.judged.rows] = False
        return free

    @cached_property
    def free(self) -> Floats:
        """[level, row] P(grade >= level) by the model alone; the consensus without labels and machine judges."""
        if not len(self.judged) and not self.universe.judges:
            return np.tile(self.universe.consensus, (len(self.levels), 1))
        tails = np.array([expit(self.universe.predict(fit.b)) for fit in self.fits])
        return np.asarray(np.minimum.accumulate(tails, axis=0))

    @cached_property
    def tails(self) -> Floats:
        """[level, row] P(grade >= level)."""
        return self._pinned(self.free.copy())

    def drawn(self, count: int, rng: np.random.Generator) -> Floats:
        """[level, row, draw] P(grade >= level) under draws of the coefficients, the same draws for every level."""
        noise = rng.standard_normal((self.universe.size, count))
        tails = np.empty((len(self.levels), self.universe.rows.height, count), dtype=np.float32)
        for place, one in enumerate(self.fits):
            tails[place] = expit(self.universe.predict(one.drawn(noise)))
        return self._pinned(np.minimum.accumulate(tails, axis=0))

    def _pinned(self, tails: Floats) -> Floats:
        for place, level in enumerate(self.levels):
            share = self.judged.at_least(level)
            tails[place, self.judged.rows] = share if tails.ndim == 2 else share[:, None]
        return tails


def learn(
    universe: Universe, judged: Judged, levels: Sequence[float] | None = None, start: Learned | None = None
) -> Learned:
    """Fit the model to labels, one fit for every level (those that occur, if none are given), starting at `start`.

    Where `start` was fitted to the same labels, its fits are taken as they are.
    """
    levels = tuple(judged.levels if levels is None else levels)
    known = dict(zip(start.levels, start.fits, strict=True)) if start is not None else {}
    same = start is not None and start.judged is judged
    fits = []
    for level in levels:
        before = known.get(level)
        if before is None or not same:
            before = fit(universe, judged.rows, judged.at_least(level), None if before is None else before.b)
        fits.append(before)
    return Learned(universe, judged, levels, tuple(fits))


def cross_fitted(learned: Learned, folds: int = 5) -> Floats:
    """[level, row] P(grade >= level) by fits that have not seen the labels of the row's own topic, nor of its fold.

    Estimates that stay valid whatever the model take these as predictions: a label must not predict itself.
    """
    universe, judged = learned.universe, learned.judged
    fold = universe.topic % folds
    tails = np.empty((len(learned.levels), universe.rows.height))
    for number in range(folds):
        kept = fold[judged.rows] != number
        here = fold == number
        for place, level in enumerate(learned.levels):
            one = fit(universe, judged.rows[kept], judged.at_least(level)[kept], learned.fits[place].b)
            tails[place, here] = expit(universe.predict(one.b)[here])
    return np.asarray(np.minimum.accumulate(tails, axis=0))


def believe(
    run: Run, labels: Opinions | None = None, *, judges: Gradings | None = None, depth: int | None = None,
    people: int = PEOPLE, rng: np.random.Generator,
) -> Belief:  # fmt: skip
    """Learned from labels: which systems found what judges call relevant predicts every other pair.

    logit P(relevant) = a0 + a1 c + u_topic + Σ over systems of x g: c the consensus, x where the system ranked the
    item; a0 ~ N(-1, 1/.3), a1 ~ N(1, 1), u and g ~ N(0, 1.5²). Graded labels: one model for every grade. A judged pair
    is certain; where judges disagree it has their share. `people` draws of the model stand for the doubt about it.
    Grades of machine `judges` are further predictors. Without labels and machine judges it is the consensus.
    Misleads: differences between systems are too small (by a factor of 1.1 to 2), though rightly ordered.
    Source: docs/methods/deciding.md, Learned belief.
    """
    universe = Universe.of(run, depth).with_judges(judges)
    judged = Judged.of(universe, labels)
    learned = learn(universe, judged)
    sizes = {"labels": len(judged), "systems": len(universe.systems), "groups": universe.clusters}
    return belief_of(learned, people if len(judged) else 0, rng, [note("learned.labels", **sizes)])


def belief_of(learned: Learned, people: int, rng: np.random.Generator, notes: Sequence[Note] = ()) -> Belief:
    """The learned probabilities as a table, with draws of the model in place of resampled people."""
    drawn = learned.drawn(people, rng) if people > 1 else None
    return table_of(learned, learned.tails, drawn, notes)


def table_of(learned: Learned, tails: Floats, drawn: Floats | None = None, notes: Sequence[Note] = ()) -> Belief:
    """P(grade >= level) of every row, and draws of it, as a table of the probabilities of grades."""
    parts = []
    for place, level in enumerate(learned.levels):
        above = place + 1 < len(learned.levels)
        p = tails[place] - (tails[place + 1] if above else 0)
        part = learned.universe.rows.with_columns(pl.lit(level).alias("grade"), pl.Series("p", np.clip(p, 0, 1)))
        if drawn is not None:
            each = np.clip(drawn[place] - (drawn[place + 1] if above else 0), 0, 1).astype(np.float32)
            part = part.with_columns(pl.Series("people", each.ravel()).reshape((-1, each.shape[1])))
        parts.append(part)
    return Belief.of(pl.concat(parts), model="learned", notes=notes)
