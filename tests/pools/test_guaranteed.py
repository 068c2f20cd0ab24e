"""The guarantee: bets are fair by enumeration, labels that break a rule are not bet on, and it stops rightly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from deciding_samples import field, grades

from endoxa.beliefs.learned import Judged, Universe, learn
from endoxa.comparisons.posterior import posterior
from endoxa.measures.grammar import parse
from endoxa.pools import guaranteed
from endoxa.pools.deciding import Deciding, Question, simulate
from endoxa.pools.guaranteed import Draws, plan_of, replay
from endoxa.tables import DRAW, Floats, Opinions

RUN, TRUTH = field(noise=(0.6, 0.8, 1.2), topics=4, items=25, listed=12)
UNIVERSE = Universe.of(RUN)
GRADES = grades(UNIVERSE, TRUTH)
BEST = Question(parse("P@5"), guarantee=True)
GAME = BEST.game(UNIVERSE)


def judged(rows: np.ndarray, said: Floats = GRADES) -> Judged:
    rows = np.sort(rows)
    return Judged(rows, (1.0,), said[rows][None], np.arange(len(rows)))


def drawn(count: int, seed: int = 0, said: Floats = GRADES, batch: int = 10) -> Draws:
    """Draws in batches, with answers."""
    draws, rng = Draws.none(), np.random.default_rng(seed)
    while len(draws) < count:
        more = min(batch, count - len(draws))
        draws += guaranteed.draw(UNIVERSE, GAME, judged(draws.rows, said), draws, draws.rows, more, rng)
    return draws


def opinions(draws: Draws, said: Floats) -> Opinions:
    columns = {"grade": said[draws.rows], "propensity": draws.chance, "draw_after": draws.after}
    columns |= {"draw": np.arange(1, len(draws) + 1)}
    return Opinions.of(UNIVERSE.rows[draws.rows.tolist()].with_columns(pl.Series(k, v) for k, v in columns.items()))


def true_means(said: Floats) -> Floats:
    linear = BEST.measure.linear
    assert linear is not None
    places = guaranteed.places_of(learn(UNIVERSE, judged(np.arange(len(said)), said)))
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
    return posterior(learn(UNIVERSE, judged(draws.rows, said)), BEST.measure).mean


def test_the_estimate_behind_a_bet_is_unbiased_whatever_the_predictions() -> None:
    """Σ q (θ(p) + w (y - p)/q) over the pairs that are left is the true difference."""
    for said in (GRADES, 1 - GRADES):
        draws = drawn(15, 3, said)
        plan = plan_of(UNIVERSE, GAME, judged(draws.rows, said), draws.rows, np.zeros(3))
        left = np.setdiff1d(np.flatnonzero(guaranteed.askable(UNIVERSE, BEST.measure)), draws.rows)
        total = plan.base + sum(plan.shift(int(row), said[row]) for row in left)
        leader = int(np.argmax(plan_means(draws, said)))
        assert total == pytest.approx(true_means(said)[leader] - true_means(said)[plan.slot])


def weights_of_places() -> Floats:
    """[row, system] what a relevant item adds to the mean P@5: 1/5 of a query of four where it is in the first five."""
    places = pl.DataFrame({"system": UNIVERSE.systems}).join(RUN.frame.filter(pl.col("rank") <= 5), on="system")
    found = np.zeros((UNIVERSE.rows.height, len(UNIVERSE.systems)))
    row = {pair: number for number, pair in enumerate(UNIVERSE.rows.iter_rows())}
    for system, query, item in places.select("system", "query", "item").iter_rows():
        found[row[query, item], UNIVERSE.systems.index(system)] = 1 / (5 * 4)
    return found


@pytest.mark.parametrize("said", [GRADES, 1 - GRADES], ids=["right", "wrong"])
def test_a_bet_multiplies_the_capital_by_1_plus_stake_times_the_weighted_difference(said: Floats) -> None:
    """X = θ(p) + w (y - p)/q for each pair that may be drawn next, with w from the places of the items alone."""
    draws = drawn(20, 1, said)
    before = guaranteed._played(UNIVERSE, GAME, past(draws, said))[0]
    plan = plan_of(UNIVERSE, GAME, judged(draws.rows, said), draws.rows, replay_of(draws, said))
    added = weights_of_places()
    leader = int(np.argmax(plan.p @ added))
    w = added[:, [leader]] - added[:, plan.slot]
    theta = plan.p @ w
    left = np.setdiff1d(np.flatnonzero(guaranteed.askable(UNIVERSE, BEST.measure)), draws.rows)
    chance = 0.9 * plan.score[left] / plan.score[left].sum() + 0.1 / len(left)
    drawable = 0.9 * plan.score[left] / plan.score[left].sum()  # the stake assumes these chances, without the even part
    p = plan.p[left, None]
    lowest = np.minimum(-w[left] * p, w[left] * (1 - p))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.nansum(w[left] ** 2 * p * (1 - p) / drawable[:, None], axis=0)
        loss = -(theta + np.nanmin(lowest / drawable[:, None], axis=0, initial=0.0))
    stakes = np.where(theta > 0, np.minimum(theta / (variance + theta**2), 0.95 / loss), 0.0)
    assert (stakes > 0).any()
    for row, q in zip(left, chance, strict=True):
        following = draws + Draws(np.array([row]), np.array([q]), np.array([20]))
        after = guaranteed._played(UNIVERSE, GAME, past(following, said))[0]
        number = theta + w[row] * (said[row] - plan.p[row]) / q
        assert np.exp(after - before)[plan.slot] == pytest.approx(1 + stakes * number, rel=1e-9)
    weighted = np.abs(w[left] * (said[left] - plan.p[left])[:, None] * (1 / chance - 1)[:, None])
    assert (weighted * stakes).max() > 0.1  # the chance matters


def test_the_chance_of_a_pair_follows_its_spread_and_its_uncertainty() -> None:
    """score = (greatest - least weight of the systems) · √(p (1 - p) + 0.05), so that a sure prediction is checked."""
    draws = drawn(20, 1)
    plan = plan_of(UNIVERSE, GAME, judged(draws.rows), draws.rows, np.zeros(3))
    spread = np.ptp(weights_of_places(), axis=1)
    left = np.setdiff1d(np.flatnonzero(guaranteed.askable(UNIVERSE, BEST.measure)), draws.rows)
    expected = spread * np.sqrt(plan.p * (1 - plan.p) + 0.05)
    assert np.ptp(expected[left]) > 0
    assert plan.score[left] == pytest.approx(expected[left])


def test_bets_are_on_the_best_of_the_systems_that_are_left() -> None:
    """A system that has lost its game is not bet on, whatever its mean; without any system left there is no bet."""
    means, lost = np.array([0.3, 0.9, 0.5]), GAME.threshold() + 1
    slot, first, second = guaranteed._bets(GAME, np.zeros(3), means)
    assert (slot.tolist(), first.tolist(), second.tolist()) == ([0, 2], [1, 1], [0, 2])
    slot, first, second = guaranteed._bets(GAME, np.array([0.0, lost, 0.0]), means)
    assert (slot.tolist(), first.tolist(), second.tolist()) == ([0], [2], [0])
    assert [part.size for part in guaranteed._bets(GAME, np.full(3, lost), means)] == [0, 0, 0]


def test_draws_are_read_from_labels_up_to_the_first_that_is_missing() -> None:
    draws = drawn(20)
    labels = opinions(draws, GRADES)
    found = Draws.of(UNIVERSE, labels)
    assert all(np.array_equal(one, two) for one, two in zip(found.parts, draws.parts, strict=True))
    shuffled = Opinions.of(labels.frame.sample(fraction=1, shuffle=True, seed=1))
    assert Draws.of(UNIVERSE, shuffled).rows.tolist() == draws.rows.tolist()
    without = Opinions.of(labels.frame.filter(pl.col("draw") != 8))
    assert Draws.of(UNIVERSE, without).rows.tolist() == draws.rows[:7].tolist()
    two = labels.frame.with_columns(pl.lit("other").alias("source"))
    assert len(Draws.of(UNIVERSE, Opinions.of(pl.concat([labels.frame, two])))) == 20
    rounds = labels.frame.with_columns(pl.lit(1).alias("draw"), pl.lit(None).alias("draw_after"))
    assert not len(Draws.of(UNIVERSE, Opinions.of(rounds)))
    assert not len(Draws.of(UNIVERSE, None))


def test_a_chance_that_the_labels_do_not_give_is_not_bet_on() -> None:
    draws = drawn(30)
    false = replace(draws, chance=draws.chance / 2)
    assert (replay(UNIVERSE, GAME, judged(draws.rows), draws) > 0).any()
    assert not guaranteed._played(UNIVERSE, GAME, past(false, GRADES))[0].any()


def test_an_undecided_pair_counts_at_its_worst() -> None:
    """For every pair that may be drawn next, and every game: the lower of the capitals after each label."""
    draws = drawn(20)
    plan = plan_of(UNIVERSE, GAME, judged(draws.rows), draws.rows, replay_of(draws, GRADES))
    left = np.setdiff1d(np.flatnonzero(guaranteed.askable(UNIVERSE, BEST.measure)), draws.rows)
    chance = 0.9 * plan.score[left] / plan.score[left].sum() + 0.1 / len(left)
    apart = 0
    for row, q in zip(left, chance, strict=True):
        following = draws + Draws(np.array([row]), np.array([q]), np.array([20]))

        def capital(worth: float, following: Draws = following) -> Floats:
            worths = np.append(GRADES[draws.rows], worth)
            return guaranteed._played(UNIVERSE, GAME, guaranteed._Past(judged(draws.rows), following, worths))[0]

        least, most = np.minimum(capital(0.0), capital(1.0)), np.maximum(capital(0.0), capital(1.0))
        assert capital(np.nan) == pytest.approx(least, abs=1e-12)
        apart += int((most > least + 1e-6).any())
    assert apart > len(left) / 3


def test_a_game_is_certain_only_if_every_open_pair_at_its_worst_leaves_it_won() -> None:
    """The least difference over all labels of what is open: each open pair counts against the leader."""
    said, added = GRADES.copy(), weights_of_places()
    draws = drawn(30)
    worths = said[draws.rows]
    worths[::4] = np.nan  # left undecided
    known = judged(draws.rows[~np.isnan(worths)])
    plan = plan_of(UNIVERSE, GAME, known, draws.rows, np.zeros(3))
    leader = next(s for s in range(3) if s not in plan.slot.tolist())
    labels = np.full(len(said), np.nan)
    labels[draws.rows] = worths
    expected = []
    for system in plan.slot:
        w = added[:, leader] - added[:, system]
        expected.append((w * np.where(np.isnan(labels), w < 0, labels)).sum())
    found = guaranteed._least(UNIVERSE, GAME, plan, worths, draws.rows)
    assert found == pytest.approx(expected, abs=1e-12)
    every = np.sort(np.flatnonzero(guaranteed.askable(UNIVERSE, BEST.measure)))
    whole = guaranteed._least(
        UNIVERSE, GAME, plan_of(UNIVERSE, GAME, judged(every), every, np.zeros(3)), said[every], every
    )
    means = true_means(said)
    assert sorted(whole) == pytest.approx(sorted(means.max() - np.delete(means, np.argmax(means))))


@pytest.mark.parametrize("systems", [2, 3, 4, 7])
@pytest.mark.parametrize("until", [0.8, 0.95])
def test_an_order_needs_the_capital_of_all_its_pairs(systems: int, until: float) -> None:
    """The error α = 1 - until is divided by m(m - 1)/2 pairs; of the best system only one game can go wrong."""
    run, _ = field(noise=tuple(0.5 + 0.2 * n for n in range(systems)), topics=2, items=12, listed=6)
    universe = Universe.of(run)
    order = replace(BEST, about="order", until=until).game(universe)
    best = replace(BEST, until=until).game(universe)
    pairs = systems * (systems - 1) // 2
    assert np.exp(order.threshold()) == pytest.approx(pairs / (1 - until))
    assert np.exp(best.threshold()) == pytest.approx(1 / (1 - until))
    capital = np.full(systems**2, np.log(pairs / (1 - until)) - 1e-9)
    assert order.left(capital) == list(range(systems))
    assert order.left(capital + 2e-9) == []
    assert best.left(np.full(systems, np.log(1 / (1 - until)) - 1e-9)) == list(range(systems))
    assert best.left(np.full(systems, np.log(1 / (1 - until)) + 1e-9)) == []


def test_when_all_is_judged_the_best_is_certain_and_a_twin_never_loses() -> None:
    every = drawn(int(guaranteed.askable(UNIVERSE, BEST.measure).sum()))
    now = Deciding.of(UNIVERSE, BEST, opinions(every, GRADES)).verdict
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
    pairs = Deciding.of(UNIVERSE, BEST).ask(10, number=1, asked=np.arange(4), rng=np.random.default_rng(0))
    assert pairs.select("selected_by", *DRAW).rows() == [("next", number, 0, 5) for number in range(5, 15)]
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
