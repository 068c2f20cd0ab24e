"""The numbers of a comparison in possible worlds, from the worlds themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from endoxa.beliefs.votes import votes
from endoxa.comparisons import shared
from endoxa.measures.uncertain import measure_belief
from endoxa.notes import texts
from endoxa.tables import Belief, Opinions, Run, Scores

LISTS = {"A": {"q": "abcd", "r": "dcba", "s": "abdc"}, "B": {"q": "dcab", "r": "abcd", "s": "bacd"}}
WORLDS, RESAMPLES = 16, 8


def scored(*, people: bool = False) -> Scores:
    rows = [(s, q, d, -float(n)) for s, by in LISTS.items() for q, items in by.items() for n, d in enumerate(items)]
    run = Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))
    if people:
        said = [
            (who, q, d, float((len(who) + ord(d) + ord(q)) % 3 > 0))
            for who in ("x", "yy", "zzz")
            for q in "qrs"
            for d in "abcd"
        ]
        frame = pl.DataFrame(said, schema=["source", "query", "item", "grade"], orient="row")
        belief = votes(Opinions.of(frame), people=RESAMPLES)
    else:
        chances = [(q, d, 1.0 if d == "b" else (ord(d) + 2 * ord(q)) % 5 / 5 + 0.1) for q in "qrs" for d in "abcd"]
        belief = Belief.of(pl.DataFrame(chances, schema=["query", "item", "p"], orient="row"))
    return measure_belief(run, belief, ["AP"], worlds=WORLDS)


def test_the_doubt_about_the_truth_is_the_spread_over_worlds() -> None:
    scores = scored()
    means = scores.draws.truth[0].mean(1)  # [system, world]
    (row,) = shared.compare(scores).frame.filter(pl.col("doubt") == "truth").rows(named=True)
    assert row["sd"] == pytest.approx(np.std(means[0] - means[1], ddof=1), rel=1e-12)
    assert row["p_better"] == np.mean(means[0] - means[1] > 1e-12)
    spread = shared.Doubts(scores, 50, 0).spread("AP")
    both = np.array([0, 1])
    assert spread.variances(both)["truth"] == pytest.approx(np.var(means, axis=1, ddof=1), rel=1e-12)
    pair = spread.variances(both[:1], both[1:])["truth"]
    assert pair == pytest.approx([np.var(means[0] - means[1], ddof=1)], rel=1e-12)


def test_a_geometric_mean_has_the_interval_of_its_worlds() -> None:
    scores = scored()
    logs = np.log(np.maximum(scores.draws.truth[0], shared.FLOOR)).mean(1)
    frame = shared.Doubts(scores, 50, 0).summarise(aggregate={"AP": "geometric"}, doubt="truth", confidence=0.5)
    for row, worlds in zip(frame.rows(named=True), np.exp(logs), strict=True):
        ordered = np.sort(worlds)
        assert (row["lo"], row["hi"]) == pytest.approx((ordered[3], ordered[12]))  # 15 / 4 and 45 / 4, to the outside


def test_a_doubt_that_is_unknown_has_no_interval() -> None:
    frame = shared.Doubts(scored(), 50, 0).summarise(doubt="people")
    assert np.isnan(frame.select("lo", "hi").to_numpy()).all()
    assert not np.isnan(frame["value"].to_numpy()).any()


def test_notes_count_worlds_and_voters() -> None:
    scores = scored(people=True)
    (note,) = texts(shared.compare(scores, resamples=30).notes)
    assert f"over {WORLDS} possible worlds shared by all systems, {RESAMPLES} resamples of the voters and 30" in note
    first, second = texts(shared.compare(replace(scores, draws=None), resamples=30).notes)
    assert "over 0 possible worlds shared by all systems and 30 resamples" in first
    assert second.startswith("The doubt about the people is unknown")


def test_a_deviation_of_0_is_a_tie_only_without_a_difference() -> None:
    found = shared._by_normal_law(np.array([0.2, 0.0, 0.1]), np.array([0.1, 0.0, 0.0]), 0.95, lower=False)
    assert found["p_tie"][:2].tolist() == [0.0, 1.0] and np.isnan(found["p_tie"][2])
    assert found["p_better"][:2].tolist() == pytest.approx([0.9772498680518208, 0.0], rel=1e-12)
    assert np.isnan(found["p_better"][2])
    assert found["lo"][:2].tolist() == pytest.approx([0.2 - 0.1959963984540054, 0.0], rel=1e-12)
