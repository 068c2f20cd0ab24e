"""A few labels: from where they were drawn, intervals that cover; people beside systems."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import endoxa
from endoxa.comparisons import prediction
from endoxa.errors import TableError, TextError
from endoxa.tables import DRAW, Belief, Opinions, Run
from endoxa.verbs.compare import superiority


def field(seed: int = 0, systems: int = 4, queries: int = 20) -> tuple[Run, dict[tuple[str, str], float]]:
    """Runs of 30 items from 80, and which pairs are really relevant."""
    rng = np.random.default_rng(seed)
    rows, truth = [], {}
    for q in range(queries):
        worth = rng.normal(size=80)
        truth |= {(f"q{q:02}", f"d{d:02}"): float(worth[d] > 1) for d in range(80)}
        for s in range(systems):
            best = np.argsort(-(worth + rng.normal(0, 0.5 + s / 2, 80)))[:30]
            rows += [(f"s{s}", f"q{q:02}", f"d{d:02}", -float(n)) for n, d in enumerate(best)]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")), truth


def _table(truth: dict[tuple[str, str], float]) -> pl.DataFrame:
    return pl.DataFrame(
        [(*pair, grade) for pair, grade in truth.items()], schema=["query", "item", "grade"], orient="row"
    )


def labelled(pairs: pl.DataFrame, truth: dict[tuple[str, str], float], *without: str) -> Opinions:
    grades = [truth[pair] for pair in pairs.select("query", "item").iter_rows()]
    columns = ("query", "item", "propensity", "selected_by", *DRAW, pl.Series("grade", grades))
    return Opinions.of(pairs.select(columns).drop(without))


def test_labels_say_from_where_they_were_drawn() -> None:
    run, truth = field()
    belief = endoxa.believe(run, depth=20, people=0)
    chosen = endoxa.choose(run, belief, 150, first=5, seed=1)
    assert chosen.select("selected_by", *DRAW).unique().rows() == [("next", 1, None, 5)]
    expected = run.frame.filter(pl.col("rank") <= 5).select("query", "item").unique().sort("query", "item")
    for without in ((), ("draw",)):
        universe = prediction.drawn_from(run, belief, labelled(chosen, truth, *without))
        assert universe is not None
        assert universe.equals(expected)
    assert prediction.drawn_from(run, belief, labelled(chosen, truth, "selected_by")) is None


def test_choose_counts_the_rounds() -> None:
    run, truth = field(queries=6)
    first = endoxa.choose(run, None, 20, seed=1)
    assert first.height == 20
    assert first.select("draw", "draw_depth").unique().rows() == [(1, 20)]  # a small collection
    one = labelled(first, truth)
    second = endoxa.choose(run, None, 15, judged=one, seed=2)
    assert second.select("draw", "draw_depth").unique().rows() == [(2, 20)]
    two = labelled(second, truth)
    thirds = [
        endoxa.choose(run, None, 10, judged=files, measures=["P@5"], seed=3) for files in ([one, two], [two, one])
    ]
    assert thirds[0].equals(thirds[1])
    assert thirds[0].select("draw", "draw_depth").unique().rows() == [(3, 5)]
    seen = {pair for table in (first, second) for pair in table.select("query", "item").rows()}
    assert not seen & set(thirds[0].select("query", "item").rows())
    assert endoxa.choose(run, None, 20, seed=1, measures=["RR", "AP"]).equals(first)  # RR has no linear form


def test_choose_by_a_belief_of_ones_own() -> None:
    run, _ = field(queries=6)
    belief = endoxa.believe(run, depth=10, people=0)
    chosen = endoxa.choose(run, belief, 30, seed=1)
    known = chosen.join(belief.frame.select("query", "item", "p"), on=["query", "item"], suffix="_belief")
    assert known.height == 30
    assert known["p"].to_list() == known["p_belief"].to_list()
    assert endoxa.choose(run, None, 10, about="best", seed=1).height == 10
    assert endoxa.choose(run, None, 10, about=("s0", "s1"), seed=1).height == 10


def test_intervals_from_two_rounds_cover() -> None:
    """Choose, label, choose again, label: P@5 of all judgments lies in the interval about as often as it says."""
    run, truth = field()
    summary = endoxa.summarise(endoxa.measure(run, Opinions.of(_table(truth)), ["P@5"]))
    official = dict(summary.select("system", "value").iter_rows())
    belief = endoxa.believe(run, depth=20, people=0)
    inside, told = 0, 0
    for seed in range(40):
        first = labelled(endoxa.choose(run, belief, 60, first=5, seed=seed), truth, "draw")
        second = endoxa.choose(run, belief, 80, judged=first, first=5, seed=1000 + seed)
        rounds = [first, labelled(second, truth, "draw")]
        made = endoxa.estimate(run, belief, rounds, ["P@5"]).frame
        for system, lo, hi, outside in made.select("system", "lo", "hi", "outside").iter_rows():
            assert outside == 0
            if not np.isnan(lo):
                told += 1
                inside += lo - 1e-9 <= official[system] <= hi + 1e-9
    print(f"two rounds, 95 % intervals of P@5: {inside / told:.3f} of {told} cover")
    assert inside / told > 0.9
    deeper = endoxa.estimate(run, belief, rounds, ["P@20"]).frame
    assert (deeper["outside"] > 0).all()  # what could not be drawn is told


def test_a_systems_silence_is_a_no_to_models_that_count_rows() -> None:
    rows = [("ann", "person", "q", "x", 1.0), ("ann", "person", "q", "y", 1.0), ("sys", "system", "q", "x", 1.0)]
    opinions = Opinions.of(pl.DataFrame(rows, schema=["source", "kind", "query", "item", "grade"], orient="row"))
    held = endoxa.believe(opinions, "votes", people=0)
    assert dict(held.frame.select("item", "p").iter_rows()) == {"x": 1.0, "y": 0.5}


def test_which_model_suits() -> None:
    run, _ = field(queries=2)
    assert endoxa.believe(run, people=0).model == "consensus"
    one = Opinions.of(pl.DataFrame({"query": ["q"], "item": ["a"], "grade": [1.0]}))
    assert endoxa.believe(one).model == "crisp"
    two = Opinions.of(pl.DataFrame({"source": ["x", "y"], "query": ["q"] * 2, "item": ["a"] * 2, "grade": [1.0, 0.0]}))
    assert endoxa.believe(two).model == "votes"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda one: endoxa.believe(one, "vote"), TextError, "did you mean votes"),
        (lambda one: endoxa.believe(one, "votes", smooth=1), TextError, "did you mean smoothing"),
        (lambda one: endoxa.believe(one, "votes", people=-1), TextError, "0 or more"),
        (lambda one: endoxa.believe(one, "taxonomy"), TableError, "takes Labels"),
        (endoxa.compare, TableError, "expected a run, got Opinions"),
    ],
)
def test_what_is_refused(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call(Opinions.of(pl.DataFrame({"query": ["q"], "item": ["a"], "grade": [1.0]})))


def test_a_kind_that_nobody_is() -> None:
    frame = pl.DataFrame({"kind": ["sytem"], "query": ["q"], "item": ["a"], "grade": [1.0]})
    with pytest.raises(TableError, match="did you mean system"):
        Opinions.of(frame)


def test_superiority_at_the_front_door() -> None:
    belief = Belief.of(pl.DataFrame({"query": "q", "item": list("abcdef"), "p": [0.9, 0.6, 0.8, 0.2, 0.5, 0.1]}))
    runs = {"A": {"q": dict.fromkeys("abcd", 1.0)}, "B": {"q": dict.fromkeys("cdef", 1.0)}}
    assert superiority(runs, belief, "A", "B", "SetP", "q").p_better == pytest.approx(0.702)
