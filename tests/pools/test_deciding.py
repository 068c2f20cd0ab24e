"""The loop of labels: what it asks, when it stops, and that it stops with the right winner."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from deciding_samples import field, grades

from endoxa.beliefs.learned import Universe
from endoxa.comparisons.posterior import posterior
from endoxa.errors import JoinError, TextError
from endoxa.evaluations.sentences import settled
from endoxa.formatting import chance
from endoxa.measures.grammar import parse
from endoxa.pools import deciding
from endoxa.pools.deciding import LEAST, Deciding, Question, rows_of, simulate
from endoxa.tables import DRAW, Opinions, Run

RUN, TRUTH = field()
UNIVERSE = Universe.of(RUN)
GRADES = grades(UNIVERSE, TRUTH)
BEST = Question(parse("AP"))


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def labelled(rows: np.ndarray, said: np.ndarray, question: Question = BEST) -> Deciding:
    pairs = UNIVERSE.rows[rows.tolist()].with_columns(pl.Series("grade", said))
    return Deciding.of(UNIVERSE, question, Opinions.of(pairs))


def test_it_stops_with_the_best_system() -> None:
    course = list(simulate(UNIVERSE, BEST, GRADES.__getitem__, rng=rng()))
    last = course[-1]
    assert last.is_settled
    assert last.leader == "s0"
    assert last.chance >= 0.95
    assert [len(one.learned.judged) for one in course] == list(range(0, len(course) * 25, 25))
    assert not any(one.is_settled for one in course[:-1])
    assert last.best.sum() == pytest.approx(1)
    judged = last.learned.judged
    assert judged.tails[0].tolist() == GRADES[judged.rows].tolist()  # what the oracle said


def test_the_verdict_is_the_posterior() -> None:
    known = labelled(np.arange(0, UNIVERSE.rows.height, 9), GRADES[::9])
    found = posterior(known.learned, parse("AP"))
    best = known.verdict
    leader = int(found.mean.argmax())
    assert (best.chance, best.leader) == (found.best[leader], found.systems[leader])
    two = known.asking(Question(parse("AP"), ("s1", "s0"))).verdict
    assert two.chance == pytest.approx(max(found.better[0, 1], found.better[1, 0]))
    assert two.leader == ("s0" if found.better[0, 1] > 0.5 else "s1")
    every = known.asking(Question(parse("AP"), "order", 0.9)).verdict
    upper = found.better[np.triu_indices(4, 1)]
    sure = np.maximum(upper, 1 - upper)
    assert every.chance == pytest.approx(sure.min())
    assert (every.done, every.pairs) == (int((sure >= 0.9).sum()), 6)


@pytest.mark.parametrize(
    ("measure", "margin"),
    [
        ("AP", 0),
        ("AP@20", 0),
        ("nDCG@10", 0.01),
        ("P@5", 0.01),
        ("DCG@5", 0.01),
        ("R@20", 0.01),
        ("nDCG@10 exactly", 0),
    ],
)
def test_the_best_may_be_within_a_hundredth_of_the_best(measure: str, margin: float) -> None:
    """AP, pairs, orders and --exactly ask for the best itself: P(best), not P(the best, or within .01 of it)."""
    name, *exactly = measure.split()
    question = Question(parse(name), exactly=bool(exactly))
    assert question.margin == margin
    known = labelled(np.arange(0, UNIVERSE.rows.height, 9), GRADES[::9], question)
    look, found = known.verdict, posterior(known.learned, question.measure)
    leader = int(found.mean.argmax())
    drawn = found.drawn
    share = (drawn[:, leader] >= drawn.max(1) - margin - 1e-12).mean()
    assert (look.leader, look.chance) == (found.systems[leader], pytest.approx(share))
    assert replace(question, about=("s0", "s1")).margin == 0
    assert replace(question, about="order").margin == 0


def test_nothing_is_settled_by_few_labels_or_by_labels_all_alike() -> None:
    """Asked whether anything is likelier than .01, every look passes that has enough labels of two kinds."""
    sure = Question(parse("AP"), "best", 0.01)
    for count, said, passes, stops in (
        (LEAST - 1, GRADES, False, False),
        (LEAST, GRADES, True, False),  # there is no look of 25 labels before
        (LEAST + 24, GRADES, True, False),
        (60, GRADES, True, True),
        (60, np.ones(60), False, False),
        (60, np.zeros(60), False, False),
    ):
        look = labelled(np.arange(count), said[:count], sure).verdict
        assert (look.passes, look.is_settled) == (passes, stops)
    assert not Deciding.of(UNIVERSE, sure).verdict.is_settled


def labels_in_rounds(universe: Universe, rows: np.ndarray, said: np.ndarray) -> Opinions:
    pairs = universe.rows[rows.tolist()].with_columns(pl.Series("grade", said), pl.Series("draw", range(len(rows))))
    return Opinions.of(pairs)


def two_systems() -> tuple[Universe, np.ndarray, np.ndarray]:
    """A universe of two systems with nothing in common, and the rows of each."""
    rows = [(system, f"q{t}", f"{system}{d:02}", -float(d)) for system in "AB" for t in range(10) for d in range(10)]
    universe = Universe.of(Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")))
    own = universe.rows["item"].str.starts_with("A").to_numpy()
    return universe, np.flatnonzero(own), np.flatnonzero(~own)


def test_a_leader_that_changed_with_the_last_labels_is_not_settled() -> None:
    """Both looks pass, the one of all labels and that before the last 25, but with different leaders."""
    universe, first, second = two_systems()
    said = np.concatenate([np.ones(20), np.zeros(20), np.zeros(40), np.ones(40)])
    rows = np.concatenate(
        [first[::5], second[::5], np.delete(first, np.s_[::5])[::2], np.delete(second, np.s_[::5])[::2]]
    )
    question = Question(parse("P@10"), until=0.6)
    changed = []
    for count in range(25, len(rows) + 1):
        now = Deciding.of(universe, question, labels_in_rounds(universe, rows[:count], said[:count]))
        before = Deciding.of(universe, question, labels_in_rounds(universe, rows[: count - 25], said[: count - 25]))
        look, earlier = now.verdict, before.verdict
        assert now.earlier.verdict.leader == earlier.leader
        assert now.earlier.verdict.chance == pytest.approx(earlier.chance, abs=1e-3)
        expected = look.passes and earlier.passes and look.leader == earlier.leader
        assert look.is_settled is expected
        if look.passes and earlier.passes and look.leader != earlier.leader:
            changed.append(count)
    assert changed  # the case that the test is about did occur


def test_the_look_before_does_not_depend_on_the_order_of_rows() -> None:
    """The rounds of the labels say which were the last 25, not where they stand in the file."""
    universe, first, second = two_systems()
    rows = np.concatenate([first[::2], second[::2]])
    said = np.concatenate([np.ones(50), np.zeros(50)])
    labels = labels_in_rounds(universe, rows, said)
    question = Question(parse("P@10"))
    one = Deciding.of(universe, question, labels)
    other = Deciding.of(universe, question, Opinions.of(labels.frame.sample(fraction=1, shuffle=True, seed=3)))
    kept = np.sort(rows[:75])
    assert one.earlier.learned.judged.rows.tolist() == other.earlier.learned.judged.rows.tolist() == kept.tolist()
    assert one.verdict.chance == other.verdict.chance
    assert one.verdict.is_settled == other.verdict.is_settled


def test_one_look_is_enough_where_nothing_is_left_to_judge() -> None:
    """P@1 looks at 20 pairs of the universe; judged all at once, they settle it although no look came before."""
    universe, first, _ = two_systems()
    top = np.flatnonzero(universe.rows["item"].str.ends_with("00").to_numpy())
    deciding = Deciding.of(universe, Question(parse("P@1")))
    assert deciding.left == len(top) == 20
    more = np.setdiff1d(np.arange(universe.rows.height), top)[:5]  # 25 labels is the least
    rows = np.concatenate([top, more])
    said = np.concatenate([np.isin(top, first), np.zeros(5)]).astype(float)
    for count, expected in ((19, False), (20, True)):
        kept = np.concatenate([np.arange(count), np.arange(20, 25)])
        look = deciding.answered(rows[kept], said[kept]).verdict
        assert look.deciding.left == 20 - count
        assert look.is_settled is expected
    assert (look.leader, look.chance) == ("A", 1.0)


def test_pairs_that_wait_for_an_answer_are_not_asked_again() -> None:
    begun = Deciding.of(UNIVERSE, BEST)
    first = begun.ask(25, number=1, rng=rng())
    asked = rows_of(UNIVERSE, first)
    assert set(first.select("selected_by", *DRAW).rows()) == {("next", 1, None, UNIVERSE.depth)}
    second = begun.ask(200, number=2, asked=asked, rng=rng())
    assert second.height == 200
    assert not set(rows_of(UNIVERSE, second).tolist()) & set(asked.tolist())
    assert UNIVERSE.rows[asked.tolist()].equals(first.select("query", "item"))


def test_labels_still_needed_fall_as_labels_come() -> None:
    course = list(simulate(UNIVERSE, BEST, GRADES.__getitem__, rng=rng(3)))
    forecasts = [look.forecast for look in course]
    assert all(one is not None for one in forecasts)
    medians = [one.median for one in forecasts if one is not None]
    assert medians[-1] == 0
    assert 0 < medians[-2] < medians[1]
    last = forecasts[-1]
    assert last is not None
    assert (last.low, last.high, last.soon, last.later) == (0, 0, 1, 1)
    assert all(one.low >= 25 for one in forecasts[:-1] if one is not None)  # the second look alone takes 25


def test_a_forecast_is_about_the_best_or_a_pair() -> None:
    """None for an order and for a guarantee; that of two systems is that of these two alone."""
    known = labelled(np.arange(0, UNIVERSE.rows.height, 9), GRADES[::9])
    assert known.asking(Question(parse("AP"), "order")).verdict.forecast is None
    assert known.asking(Question(parse("AP"), guarantee=True)).verdict.forecast is None
    pair = known.asking(Question(parse("AP"), ("s0", "s3"), 0.9999)).verdict.forecast
    near = known.asking(Question(parse("AP"), ("s0", "s1"), 0.9999)).verdict.forecast
    assert pair is not None
    assert near is not None
    assert pair.median < near.median


def copies(*names: str) -> Universe:
    """Systems that return the lists of s1, under several names."""
    own = RUN.frame.filter(pl.col("system") == "s1")
    every = pl.concat([own.with_columns(pl.lit(name).alias("system")) for name in names])
    return Universe.of(Run.of(every.select("system", "query", "item", "score")))


def test_systems_that_return_the_same_are_equal_at_once() -> None:
    """No label is asked for, and the forecast is 0."""
    universe = copies("a", "b")
    for question in (BEST, Question(parse("AP"), ("a", "b")), Question(parse("nDCG@10"), "order")):
        (only,) = simulate(universe, question, grades(universe, TRUTH).__getitem__, rng=rng())
        assert only.equal
        assert only.is_settled
        assert (only.done, only.pairs) == (1, 1)
        assert (only.forecast is None) == (question.about == "order")
        assert only.forecast is None or only.forecast.median == 0


def with_a_copy(universe_of: str, copy: str) -> Universe:
    own = RUN.frame.filter(pl.col("system") == universe_of).with_columns(pl.lit(copy).alias("system"))
    return Universe.of(Run.of(pl.concat([RUN.frame, own]).select("system", "query", "item", "score")))


def test_the_sentences_of_a_verdict() -> None:
    """Copies are equal whatever the labels; nDCG names the margin and P(best) beside it, AP and --exactly do not."""
    universe = with_a_copy("s0", "copy")
    equal = settled(Deciding.of(universe, Question(parse("AP"), ("s0", "copy"))).verdict)
    assert equal == "The two return the same items: they are equal on AP, whatever the labels."
    every = settled(Deciding.of(copies("a", "b"), BEST).verdict)
    assert every == "All systems return the same items: they are equal on AP, whatever the labels."
    known = labelled(np.arange(0, UNIVERSE.rows.height, 9), GRADES[::9], Question(parse("nDCG@10")))
    near, exact = known.verdict, known.asking(Question(parse("nDCG@10"), exactly=True)).verdict
    best = chance(float(near.best[near.found.systems.index(near.leader)]))
    assert f"{near.leader} is the best, or within .01 of it, with probability {chance(near.chance)}" in settled(near)
    assert f"(the best: {best})" in settled(near)
    assert f"{exact.leader} is the best with probability {best}" in settled(exact)


def test_a_pair_of_copies_is_settled_and_the_rest_of_the_field_is_not() -> None:
    universe = with_a_copy("s0", "copy")
    pair = Deciding.of(universe, Question(parse("AP"), ("s0", "copy"))).verdict
    assert pair.equal
    assert pair.is_settled
    assert pair.forecast is not None
    assert pair.forecast.median == 0
    best = Deciding.of(universe, BEST).verdict
    assert (best.equal, best.is_settled) == (False, False)


def test_a_copy_of_the_leader_does_not_keep_a_question_open() -> None:
    """The same labels settle the field with and without a copy of its best system: the group counts as one."""
    alone = list(simulate(UNIVERSE, BEST, GRADES.__getitem__, rng=rng()))[-1]
    judged = alone.learned.judged
    pairs = UNIVERSE.rows[judged.rows.tolist()].with_columns(
        pl.Series("grade", judged.tails[0]), pl.Series("draw", judged.given)
    )
    both = Deciding.of(with_a_copy("s0", "copy"), BEST, Opinions.of(pairs)).verdict
    assert alone.is_settled
    assert both.is_settled
    assert both.leader in {"s0", "copy"}
    assert both.chance == pytest.approx(alone.chance, abs=1e-9)


def test_without_a_value_nothing_is_settled_and_nothing_fails() -> None:
    """Every pair is judged, and nothing is relevant: AP is 0/0 on every topic."""
    look = labelled(np.arange(UNIVERSE.rows.height), np.zeros(UNIVERSE.rows.height)).verdict
    assert not look.passes
    assert not look.is_settled
    assert look.forecast is None


def test_every_pair_judged_ends_the_loop() -> None:
    small = Universe.of(field(topics=2, items=12, listed=6)[0])
    truth = grades(small, field(topics=2, items=12, listed=6)[1])
    *_, last = simulate(small, Question(parse("AP"), "order", 0.999999), truth.__getitem__, rng=rng())
    assert len(last.learned.judged) == small.rows.height
    assert last.deciding.left == 0
    with pytest.raises(JoinError, match=r"all .* pairs are judged"):
        last.deciding.ask(1, number=9, rng=rng())


@pytest.mark.parametrize("graded", [False, True])
def test_wrong_winners_are_rare(graded: bool) -> None:
    """Forty fields in which the best is better by little; `python -m benchmarks.decisions` has the whole table."""
    wrong = stopped = 0
    for seed in range(20):
        run, truth = field(noise=(0.8, 1.0, 1.2), topics=6, seed=100 + seed)
        universe = Universe.of(run)
        known = grades(universe, truth) * (2 if graded else 1)
        question = Question(parse("nDCG@10" if graded else "AP"))
        form = question.measure.linear
        assert form is not None
        *_, last = simulate(universe, question, known.__getitem__, rng=rng(seed), most=300)
        places = deciding.choosing.places_of(last.learned)
        really = np.nanmean(form.slopes(places, np.minimum(known, 1)[None], np.ones(1)).value, axis=1)
        if last.is_settled:
            stopped += 1
            wrong += really[universe.systems.index(last.leader)] < really.max() - 1e-12
    assert stopped >= 5
    assert wrong <= 2


def test_refusals() -> None:
    with pytest.raises(TextError, match="labels cannot settle RR"):
        Question(parse("RR"))
    with pytest.raises(TextError, match="until must lie between 0 and 1"):
        Question(parse("AP"), until=1.0)
    with pytest.raises(TextError, match="no system is called 's9'"):
        _ = Deciding.of(UNIVERSE, Question(parse("AP"), ("s0", "s9"))).verdict
