"""The guarantee: bets are fair by enumeration, labels that break a rule are not bet on, and it stops rightly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from deciding_samples import field, grades

from endoxa.beliefs.learned import Judged, Universe
from endoxa.measures.grammar import parse
from endoxa.pools import guaranteed
from endoxa.pools.deciding import Question, ask_alone, look, simulate, teach, verdict
from endoxa.pools.guaranteed import Draws, plan_of, replay
from endoxa.tables import Floats, Opinions

RUN, TRUTH = field(noise=(0.6, 0.8, 1.2), topics=4, items=25, listed=12)
UNIVERSE = Universe.of(RUN)
GRADES = grades(UNIVERSE, TRUTH)
BEST = Question(parse("P@5"), guarantee=True)
GAME = BEST.game(UNIVERSE)


def judged(rows: np.ndarray, said: Floats = GRADES) -> Judged:
    rows = np.sort(rows)
    return Judged(rows, (1.0,), said[rows][None])


def drawn(count: int, seed: int = 0, said: Floats = GRADES, batch: int = 10) -> Draws:
    """Draws in batches, with answers."""
    draws, rng = Draws.none(), np.random.default_rng(seed)
    while len(draws) < count:
        more = min(batch, count - len(draws))
        draws += guaranteed.draw(UNIVERSE, GAME, judged(draws.rows, said), draws, draws.rows, more, rng)
    return draws


def opinions(draws: Draws, said: Floats) -> Opinions:
    marks = [f"next@5 round {place} after {after}" for place, after in enumerate(draws.after, 1)]
    columns = {"grade": said[draws.rows], "propensity": draws.chance, "selected_by": marks}
    return Opinions.of(UNIVERSE.rows[draws.rows.tolist()].with_columns(pl.Series(k, v) for k, v in columns.items()))


def true_means(said: Floats) -> Floats:
    linear = BEST.measure.linear
    assert linear is not None
    places = guaranteed.places_of(teach(UNIVERSE, BEST, judged(np.arange(len(said)), said)))
    return linear.slopes(places, said[None], np.ones(1)).value.mean(1)


@pytest.mark.parametrize("seed", range(4))
def test_no_bet_is_favourable_against_the_best_system(seed: int) -> None:
    """Over all pairs that may be drawn next, the capital grows by 1 + stake · (true difference) on average."""
    said = GRADES if seed < 2 else 1 - GRADES  # also where every prediction is wrong
    draws, means = drawn(20, seed, said), true_means(said)
    before = guaranteed._played(UNIVERSE, GAME, past(draws, said))[0]
    plan = plan_of(UNIVERSE, GAME, judged(draws.rows, said), draws.rows, replay_of(draws, said))
    left = np.setdiff1d(np.flatnonzero(guaranteed.askable(UNIVERSE, BEST.measure)), draws.rows)
    chance = 0.9 * plan.score[left] / plan.score[left].sum() + 0.1 / len(left)
    assert chance.sum() == pytest.approx(1)
    grown = np.zeros(len(means))
    for row, q in zip(left, chance, strict=True):
        following = draws + Draws(np.array([row]), np.array([q]), np.array([20]))
        grown += q * np.exp(guaranteed._played(UNIVERSE, GAME, past(following, said))[0] - before)
    assert (grown[means >= means.max() - 1e-12] <= 1 + 1e-9).all()
    assert (grown > 0).all()
    leader = int(np.argmax(plan_means(draws, said)))
    better = means[leader] - means
    assert np.sign(np.round(grown - 1, 9))[grown != 1].tolist() == np.sign(np.round(better, 9))[grown != 1].tolist()


def past(draws: Draws, said: Floats) -> guaranteed._Past:
    return guaranteed._Past(judged(draws.rows, said), draws, said[draws.rows])


def replay_of(draws: Draws, said: Floats) -> Floats:
    return guaranteed._played(UNIVERSE, GAME, past(draws, said))[1][-1]


def plan_means(draws: Draws, said: Floats) -> Floats:
    return look(BEST, teach(UNIVERSE, BEST, judged(draws.rows, said))).found.mean


def test_the_estimate_behind_a_bet_is_unbiased_whatever_the_predictions() -> None:
    """Σ q (θ(p) + w (y - p)/q) over the pairs that are left is the true difference."""
    for said in (GRADES, 1 - GRADES):
        draws = drawn(15, 3, said)
        plan = plan_of(UNIVERSE, GAME, judged(draws.rows, said), draws.rows, np.zeros(3))
        left = np.setdiff1d(np.flatnonzero(guaranteed.askable(UNIVERSE, BEST.measure)), draws.rows)
        total = plan.base + sum(plan.shift(int(row), said[row]) for row in left)
        leader = int(np.argmax(plan_means(draws, said)))
        assert total == pytest.approx(true_means(said)[leader] - true_means(said)[plan.slot])


def test_draws_are_read_from_labels_up_to_the_first_that_is_missing() -> None:
    draws = drawn(20)
    labels = opinions(draws, GRADES)
    found = Draws.of(UNIVERSE, labels)
    assert all(np.array_equal(one, two) for one, two in zip(found.parts, draws.parts, strict=True))
    shuffled = Opinions.of(labels.frame.sample(fraction=1, shuffle=True, seed=1))
    assert Draws.of(UNIVERSE, shuffled).rows.tolist() == draws.rows.tolist()
    without = Opinions.of(labels.frame.filter(~pl.col("selected_by").str.contains("round 8 ")))
    assert Draws.of(UNIVERSE, without).rows.tolist() == draws.rows[:7].tolist()
    two = labels.frame.with_columns(pl.lit("other").alias("source"))
    assert len(Draws.of(UNIVERSE, Opinions.of(pl.concat([labels.frame, two])))) == 20
    rounds = labels.frame.with_columns(pl.lit("next@5 round 1").alias("selected_by"))
    assert not len(Draws.of(UNIVERSE, Opinions.of(rounds)))
    assert not len(Draws.of(UNIVERSE, None))


def test_a_chance_that_the_labels_do_not_give_is_not_bet_on() -> None:
    draws = drawn(30)
    false = replace(draws, chance=draws.chance / 2)
    assert (replay(UNIVERSE, GAME, judged(draws.rows), draws) > 0).any()
    assert not guaranteed._played(UNIVERSE, GAME, past(false, GRADES))[0].any()


def test_an_undecided_pair_counts_at_its_worst() -> None:
    draws = drawn(30, batch=30)
    known = judged(draws.rows[:-1])
    open_ = guaranteed._played(
        UNIVERSE, GAME, guaranteed._Past(known, draws, np.append(GRADES[draws.rows[:-1]], np.nan))
    )[0]
    for grade in (0.0, 1.0):
        worths = np.append(GRADES[draws.rows[:-1]], grade)
        assert (open_ <= guaranteed._played(UNIVERSE, GAME, guaranteed._Past(known, draws, worths))[0] + 1e-12).all()


def test_when_all_is_judged_the_best_is_certain_and_a_twin_never_loses() -> None:
    every = drawn(int(guaranteed.askable(UNIVERSE, BEST.measure).sum()))
    now = verdict(UNIVERSE, BEST, opinions(every, GRADES))
    means = true_means(GRADES)
    assert now.proof is not None
    assert now.proof.left == tuple(
        name for name, mean in zip(UNIVERSE.systems, means, strict=True) if mean == means.max()
    )
    twin = RUN.frame.filter(pl.col("system") == "s0").with_columns(pl.lit("s9").alias("system"))
    two = Universe.of(type(RUN).of(pl.concat([RUN.frame, twin]).select("system", "query", "item", "score")))
    *_, last = simulate(two, BEST, grades(two, TRUTH).__getitem__, rng=np.random.default_rng(1))
    assert last.proof is not None and set(last.proof.left) == {"s0", "s9"}
    assert not last.is_settled


@pytest.mark.parametrize("about", ["order", ("s0", "s2")])
def test_orders_and_pairs_are_settled_too(about: object) -> None:
    question = replace(BEST, about=about)
    *_, last = simulate(UNIVERSE, question, GRADES.__getitem__, rng=np.random.default_rng(2))
    means = true_means(GRADES)
    assert last.proof is not None and last.is_settled
    if about == "order":
        assert last.proof.won == 3
    else:
        assert last.leader == ("s0" if means[0] > means[2] else "s2")


def test_a_round_is_drawn_one_by_one() -> None:
    learned = teach(UNIVERSE, BEST, judged(np.zeros(0, np.int64)))
    pairs = ask_alone(BEST, learned, 10, draws=Draws.none(), asked=np.arange(4), rng=np.random.default_rng(0))
    assert pairs["selected_by"].to_list() == [f"next@5 round {number} after 0" for number in range(5, 15)]
    assert not set(pairs["item"]) & set(UNIVERSE.rows["item"][:4])


def wrong_winners(measure: str, fields: int, invert: bool) -> tuple[int, int]:
    """Fields of three systems that hardly differ: how many stopped at an error of .2, and how many wrongly."""
    stopped = wrong = 0
    question = Question(parse(measure), until=0.8, guarantee=True)
    for seed in range(fields):
        run, truth = field(noise=(0.9, 1.0, 1.1), topics=5, items=20, listed=12, seed=seed)
        universe = Universe.of(run)
        said = grades(universe, truth)
        said = 1 - said if invert else said
        *_, now = simulate(universe, question, said.__getitem__, most=60, rng=np.random.default_rng(seed))
        linear = question.measure.linear
        assert linear is not None
        means = np.nanmean(linear.slopes(guaranteed.places_of(now.learned), said[None], np.ones(1)).value, axis=1)
        stopped += now.is_settled
        wrong += now.is_settled and means[universe.systems.index(now.leader)] < means.max() - 1e-12
    return stopped, wrong


@pytest.mark.parametrize("measure", ["P@5", "AP"])
@pytest.mark.parametrize("invert", [False, True])
def test_it_rarely_stops_with_the_wrong_winner(measure: str, invert: bool) -> None:
    """At most a fifth of 25 fields, where systems hardly differ; also where all that systems agree on is irrelevant."""
    stopped, wrong = wrong_winners(measure, 25, invert)
    assert stopped >= 5
    assert wrong <= 5
