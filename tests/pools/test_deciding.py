"""The loop of labels: what it asks, when it stops, and that it stops with the right winner."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from deciding_samples import field, grades

from endoxa.beliefs.learned import Universe
from endoxa.comparisons.posterior import posterior
from endoxa.errors import JoinError, TextError
from endoxa.measures.grammar import parse
from endoxa.pools import deciding
from endoxa.pools.deciding import LEAST, Deciding, Question, further, rows_of, simulate
from endoxa.tables import DRAW, Opinions

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
    assert (best.chance, best.leader) == (found.best().max(), found.systems[int(found.best().argmax())])
    two = known.asking(Question(parse("AP"), ("s1", "s0"))).verdict
    assert two.chance == pytest.approx(max(found.better[0, 1], found.better[1, 0]))
    assert two.leader == ("s0" if found.better[0, 1] > 0.5 else "s1")
    every = known.asking(Question(parse("AP"), "order", 0.9)).verdict
    upper = found.better[np.triu_indices(4, 1)]
    sure = np.maximum(upper, 1 - upper)
    assert every.chance == pytest.approx(sure.min())
    assert (every.done, every.pairs) == (int((sure >= 0.9).sum()), 6)


def test_nothing_is_settled_by_few_labels_or_by_labels_all_alike() -> None:
    some = np.arange(0, UNIVERSE.rows.height, UNIVERSE.rows.height // (LEAST - 1))[: LEAST - 1]
    sure = Question(parse("AP"), "best", 0.01)
    for rows, said, expected in (
        (some, GRADES[some], False),
        (np.arange(60), np.ones(60), False),
        (np.arange(60), np.zeros(60), False),
        (np.arange(60), GRADES[:60], True),
    ):
        assert labelled(rows, said, sure).verdict.is_settled is expected
    assert not Deciding.of(UNIVERSE, sure).verdict.is_settled


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
    assert further(course[-1].deciding) == 0
    first, later = further(course[1].deciding), further(course[-2].deciding)
    assert later is not None
    assert 0 < later <= (first or 641)
    assert further(course[1].deciding) == first  # the same seed gives the same number


def test_a_field_of_equals_is_not_settled() -> None:
    """Two systems that are the same but for their names: nothing tells them apart."""
    twin = RUN.frame.filter(pl.col("system") == "s1")
    both = pl.concat([twin.with_columns(pl.lit(name).alias("system")) for name in ("a", "b")])
    universe = Universe.of(type(RUN).of(both.select("system", "query", "item", "score")))
    truth = grades(universe, TRUTH)
    *_, last = simulate(universe, BEST, truth.__getitem__, rng=rng(), most=100)
    assert not last.is_settled
    assert last.chance == pytest.approx(0.5, abs=0.05)


def test_every_pair_judged_ends_the_loop() -> None:
    small = Universe.of(field(topics=2, items=12, listed=6)[0])
    truth = grades(small, field(topics=2, items=12, listed=6)[1])
    *_, last = simulate(small, Question(parse("AP"), "order", 0.999999), truth.__getitem__, rng=rng())
    assert len(last.learned.judged) == small.rows.height
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
