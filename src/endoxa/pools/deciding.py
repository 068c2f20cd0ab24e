"""The loop that settles a question with as few labels as possible: learn, look, stop or ask for more.

A page, a terminal, a file of labels and a simulation have the same `Deciding`: its `verdict` after every answer, `ask`
for the next batch. Stopping is by the model: simulations show how often it stops with the wrong winner
(docs/decide.md). With a guarantee it is by `guaranteed`, which holds whatever the model and needs more labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl

from endoxa.beliefs.learned import Judged, Learned, Universe, learn
from endoxa.comparisons.forecast import Forecast, forecast
from endoxa.comparisons.posterior import NEARLY, Posterior, posterior
from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.measures.grammar import Measure
from endoxa.policies import BATCH, MIXING, TAUGHT, UNTIL, refuse_outside
from endoxa.pools import choosing, guaranteed
from endoxa.pools.choosing import About
from endoxa.pools.guaranteed import Draws, Game
from endoxa.tables import Floats, Ints, Opinions

LEAST = 25  # labels before which nothing is settled
APART = 25  # labels between the two looks that must agree
MOST = 1_000  # labels after which a simulated loop gives up
Oracle = Callable[[Ints], Floats]  # rows of the universe to grades
Pick = Callable[[Learned, int, np.random.Generator], Ints]  # what was learned and a number to rows of the universe


@dataclass(frozen=True)
class Question:
    """What labels are to settle: who is best, the whole order, or which of two systems is better.

    exactly  the best must be known exactly; else it may be within .01 of the best
    """

    measure: Measure
    about: About = "best"
    until: float = UNTIL
    mixing: float = MIXING
    guarantee: bool = False
    exactly: bool = False

    def __post_init__(self) -> None:
        refuse_outside("until", self.until, UNTIL)
        if self.measure.linear is None:
            raise TextError(f"labels cannot settle {self.measure}", remedy="name AP, P@k, R@k, DCG@k or nDCG@k")
        if not isinstance(self.about, tuple) and self.about not in {"best", "order"}:
            raise TextError(f"a question is about best, order, or a pair of systems (A, B), not {self.about!r}")

    @property
    def margin(self) -> float:
        """How far below the best a system may be that is called the best: .01, or 0 where the best is sought exactly.

        It is 0 for AP, too, whose differences are larger than the model says: there, .01 of the model is more.
        """
        linear = self.measure.linear
        exact = self.about != "best" or self.exactly or (linear is not None and linear.compressed)
        return 0.0 if exact else NEARLY

    def game(self, universe: Universe) -> Game:
        """The question as a game with a guarantee."""
        about, systems = self.about, universe.systems
        names = systems if isinstance(about, str) else [choosing.system_of(universe, name) for name in about]
        places = tuple(systems.index(name) for name in names)
        return Game(self.measure, places, about == "order", 1 - self.until, self.mixing)


@dataclass(frozen=True)
class Proof:
    """What is guaranteed so far.

    left   systems that may still be the best; of an order, those in a pair that is not decided
    won    systems that are ruled out; of an order, pairs that are decided
    draws  number of draws that count: those up to the first one without an answer
    """

    left: tuple[str, ...]
    won: int
    draws: int
    is_complete: bool


@dataclass(frozen=True, eq=False)
class Look:
    """The verdict as it stands.

    best     P(best) of every system
    chance   probability of the leading answer: that the leader is the best, or within .01 of it where the question
             allows that; P(better) of the leading one of two systems; of an order the least certainty of any pair
    equal    the systems that are asked about return the same: whatever the labels, they are equal
    done     pairs of systems that are decided by the model, of `pairs`
    proof    what is guaranteed; None where the question asks for no guarantee
    """

    deciding: Deciding
    found: Posterior
    best: Floats
    leader: str
    chance: float
    equal: bool
    done: int
    pairs: int
    proof: Proof | None = None

    @property
    def question(self) -> Question:
        """What is to be settled."""
        return self.deciding.question

    @property
    def learned(self) -> Learned:
        """What the labels taught."""
        return self.deciding.learned

    @property
    def passes(self) -> bool:
        """Whether this look alone would settle it: from 25 labels on, unless all labels are alike.

        With machine judges from 5 labels a topic on: with fewer, the order can be worse than without any.
        """
        judged, unjudged = self.learned.judged, self.learned.unjudged
        enough = len(judged) >= min(self.least, len(unjudged))
        return enough and self.chance >= self.question.until and (not judged.is_uniform or not unjudged.any())

    @property
    def least(self) -> int:
        """The number of labels before which nothing is settled."""
        universe = self.learned.universe
        return max(LEAST, TAUGHT * len(universe.queries)) if universe.judges else LEAST

    @property
    def is_settled(self) -> bool:
        """Whether the question is settled: at two looks in a row, 25 labels apart, with the same leader.

        The look at the labels before the last 25 is not needed where nothing is left to judge.
        """
        if self.equal:
            return True
        if self.proof is not None:
            return self.proof.is_complete and len(self.learned.judged) >= min(self.least, len(self.learned.unjudged))
        if not self.passes or not self.deciding.left:
            return self.passes
        before = self.deciding.earlier.verdict
        return before.passes and before.leader == self.leader

    @cached_property
    def forecast(self) -> Forecast | None:
        """How many more labels will settle it; None for an order, for a guarantee, and where no value is defined."""
        question = self.question
        if question.guarantee or question.about == "order" or np.isnan(self.chance):
            return None
        if self.is_settled:
            return Forecast.of(np.zeros(1))
        pair = [self.found.systems.index(name) for name in question.about] if question.about != "best" else None
        return forecast(
            self.found,
            len(self.learned.judged),
            until=question.until,
            margin=question.margin,
            systems=pair,
            least=self.least,
        )


@dataclass(frozen=True, eq=False)
class Deciding:
    """A question, and what the labels so far teach about it: one fit and one verdict for every state of the labels.

    draws  the pairs that were drawn one by one, which a guarantee rests on
    """

    question: Question
    learned: Learned
    draws: Draws

    @classmethod
    def of(cls, universe: Universe, question: Question, labels: Opinions | None = None) -> Deciding:
        """The question after these labels."""
        return cls(question, _fitted(question, universe, Judged.of(universe, labels)), Draws.of(universe, labels))

    def told(self, labels: Opinions | None) -> Deciding:
        """The same question after other labels; the fit begins at the last one."""
        learned = _fitted(self.question, self.universe, Judged.of(self.universe, labels), self.learned)
        return Deciding(self.question, learned, Draws.of(self.universe, labels))

    def answered(self, rows: Ints, grades: Floats, more: Draws | None = None) -> Deciding:
        """The same question after further labels, of rows of the universe."""
        judged = _with(self.learned.judged, rows, grades)
        learned = _fitted(self.question, self.universe, judged, self.learned)
        return Deciding(self.question, learned, self.draws if more is None else self.draws + more)

    def asking(self, question: Question) -> Deciding:
        """Another question to the same labels; what was fitted already is not fitted again."""
        learned = _fitted(question, self.universe, self.learned.judged, self.learned)
        return Deciding(question, learned, self.draws)

    @property
    def universe(self) -> Universe:
        """The pairs within reach."""
        return self.learned.universe

    @property
    def left(self) -> int:
        """The number of unjudged pairs that may be asked: those as deep as the measure looks."""
        return int((self.learned.unjudged & choosing.askable(self.universe, self.question.measure)).sum())

    @cached_property
    def earlier(self) -> Deciding:
        """The question as it was before the last 25 labels."""
        judged = self.learned.judged
        judged = judged.some(judged.given < len(judged) - APART)
        asked = replace(self.question, guarantee=False)
        return Deciding(asked, _fitted(asked, self.universe, judged, self.learned), Draws.none())

    @cached_property
    def verdict(self) -> Look:
        """What the labels so far say about the question."""
        question = self.question
        found = posterior(self.learned, question.measure)
        systems, superiority, best = found.systems, found.superiority, found.best
        sure = np.where(found.tie, 1.0, np.maximum(superiority, 1 - superiority))[np.triu_indices(len(systems), 1)]
        leader = int(np.nanargmax(found.worth)) if not np.isnan(found.worth).all() else 0
        equal = bool(found.tie.all())
        if isinstance(question.about, tuple):
            first, second = (systems.index(choosing.system_of(self.universe, name)) for name in question.about)
            leader = first if superiority[first, second] >= 0.5 else second
            chance = float(max(superiority[first, second], superiority[second, first]))
            equal = bool(found.tie[first, second])
        elif question.about == "order":
            chance = float(sure.min(initial=1.0))
        elif question.margin:
            chance = float(found.nearly_best[leader])
        else:
            chance = float(best[leader])
        done = int((sure >= question.until).sum())
        proof = self._proof() if question.guarantee else None
        if proof is not None and proof.is_complete and question.about != "order":
            leader = systems.index(proof.left[0])
        return Look(self, found, best, systems[leader], chance, equal, done, len(sure), proof)

    def _proof(self) -> Proof:
        universe, game = self.universe, self.question.game(self.universe)
        capital = guaranteed.replay(universe, game, self.learned.judged, self.draws)
        left = tuple(universe.systems[place] for place in game.left(capital))
        return Proof(left, int(game.won(capital).sum()), len(self.draws), len(left) == (0 if game.ordered else 1))

    def ask(
        self, count: int, *, number: int, asked: Ints | None = None, p: Floats | None = None, depth: int | None = None,
        rng: np.random.Generator,
    ) -> pl.DataFrame:  # fmt: skip
        """The next pairs to judge, as a round of this number: as `choosing.choose`, with selected_by and the draw.

        `asked` are the rows of pairs that were asked, answered or not. `p` and `depth` are as for `choose`. With a
        guarantee each pair is a draw of its own: order, query, item, propensity, selected_by and the draw.
        """
        if self.question.guarantee:
            return self._ask_alone(count, np.zeros(0, np.int64) if asked is None else asked, rng)
        question = self.question
        p = choosing.default_chances(self.learned, question.measure) if p is None else p
        if asked is not None and len(asked):
            p = p.copy()
            p[asked] = np.nan
        pairs = choosing.choose(
            self.learned, question.measure, count, about=question.about, p=p, depth=depth, mixing=question.mixing,
            rng=rng,
        )  # fmt: skip
        deep = depth or choosing.depth_of(self.universe, question.measure)
        return _with_draws(pairs, np.full(pairs.height, number), None, deep)

    def _ask_alone(self, count: int, asked: Ints, rng: np.random.Generator) -> pl.DataFrame:
        universe, question, draws = self.universe, self.question, self.draws
        drawn = guaranteed.draw(universe, question.game(universe), self.learned.judged, draws, asked, count, rng)
        deep, first = choosing.depth_of(universe, question.measure), len(asked) + 1
        place, rows = np.arange(len(drawn)), universe.rows[drawn.rows.tolist()]
        pairs = rows.select(pl.Series("order", place + 1), "query", "item", pl.Series("propensity", drawn.chance))
        return _with_draws(pairs, first + place, len(draws), deep)


def _with_draws(pairs: pl.DataFrame, number: Ints, after: int | None, depth: int) -> pl.DataFrame:
    """The pairs with the columns that say how they were drawn, as in `Opinions`."""
    return pairs.with_columns(
        pl.lit("next").alias("selected_by"), pl.Series("draw", number, dtype=pl.Int64),
        pl.lit(after, pl.Int64).alias("draw_after"), pl.lit(depth, pl.Int64).alias("draw_depth"),
    )  # fmt: skip


def _fitted(question: Question, universe: Universe, judged: Judged, start: Learned | None = None) -> Learned:
    """What the question needs to learn from labels."""
    return learn(universe, judged, guaranteed.levels_for(question.measure, judged), start)


def rows_of(universe: Universe, pairs: pl.DataFrame) -> Ints:
    """The rows of the universe that hold these pairs, in their order."""
    found = pairs.select("query", "item").join(
        universe.rows.with_row_index("row"), on=["query", "item"], how="left", maintain_order="left"
    )
    return found["row"].to_numpy().astype(np.int64)


def simulate(
    universe: Universe, question: Question, oracle: Oracle, *, batch: int | Sequence[int] = BATCH, most: int = MOST,
    rng: np.random.Generator, pick: Pick | None = None,
) -> Iterator[Look]:  # fmt: skip
    """The loop with answers from an oracle: the verdict before any label, then after every batch until it is settled.

    It also ends after `most` labels, or when every pair that may be asked is judged. Of several sizes of a batch the
    last one repeats. `pick` chooses pairs in another way.
    """
    sizes = (batch,) if isinstance(batch, int) else tuple(batch)
    deciding, number = Deciding.of(universe, question), 0
    while True:
        yield deciding.verdict
        learned = deciding.learned
        left = int(learned.unjudged.sum()) if pick is not None else deciding.left
        if deciding.verdict.is_settled or len(learned.judged) >= most or not left:
            return
        count, more = min(sizes[min(number, len(sizes) - 1)], left), None
        number += 1
        if question.guarantee:
            draws = deciding.draws
            more = guaranteed.draw(universe, question.game(universe), learned.judged, draws, draws.rows, count, rng)
            rows = more.rows
        elif pick is not None:
            rows = pick(learned, count, rng)
        else:
            rows = rows_of(universe, deciding.ask(count, number=number, rng=rng))
        deciding = deciding.answered(rows, oracle(rows), more)


def _with(judged: Judged, rows: Ints, grades: Floats) -> Judged:
    """The labels with more of them."""
    levels = tuple(sorted({*judged.levels, *(grade for grade in grades.tolist() if grade > 0)}))
    before = np.array([judged.at_least(level) for level in levels]).reshape(len(levels), len(judged))
    after = np.array([grades >= level for level in levels], dtype=np.float64)
    every = np.concatenate([judged.rows, rows])
    given = np.concatenate([judged.given, len(judged) + np.arange(len(rows))])
    order = np.argsort(every, kind="stable")
    return Judged(every[order], levels, np.concatenate([before, after], axis=1)[:, order], given[order])
