"""Votes, subjects and grades as beliefs; labels pinned."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from endoxa.beliefs.votes import crisp, graded, pinned, subjects, votes
from endoxa.errors import JoinError, TableError, TextError
from endoxa.notes import texts
from endoxa.tables import Belief, Opinions


def said(*rows, **how) -> Opinions:
    names = ["source", "query", "item", "grade", "confidence"][: len(rows[0])]
    types = {"source": pl.String, "query": pl.String, "item": pl.String, "grade": pl.Float64, "confidence": pl.Float64}
    return Opinions.of(pl.DataFrame(rows, schema={n: types[n] for n in names}, orient="row"), **how)


def chances(belief: Belief) -> dict[tuple[str, float], float]:
    return {(item, grade): p for item, grade, p in belief.frame.select("item", "grade", "p").iter_rows()}


PANEL = said(
    ("ann", "q", "x", 2), ("bob", "q", "x", 1), ("cy", "q", "x", 2), ("dan", "q", "x", None),
    ("ann", "q", "y", 0), ("bob", "q", "y", 0), ("cy", "q", "y", 1), ("ann", "q", "z", 0),
)  # fmt: skip


def test_shares_with_and_without_smoothing() -> None:
    plain = chances(votes(PANEL, people=0))
    assert plain == {
        ("x", 1.0): pytest.approx(1 / 3), ("x", 2.0): pytest.approx(2 / 3), ("y", 1.0): pytest.approx(1 / 3),
        ("y", 2.0): 0, ("z", 1.0): 0, ("z", 2.0): 0,
    }  # fmt: skip
    soft = chances(votes(PANEL, smoothing=2, people=0))  # of 7 votes 3 are grade 0, 2 grade 1, 2 grade 2
    assert soft["x", 2.0] == pytest.approx((2 + 2 * 2 / 7) / (3 + 2))
    assert soft["z", 1.0] == pytest.approx((0 + 2 * 2 / 7) / (1 + 2))
    assert "1 undecided answers dropped" in texts(votes(PANEL).notes)[0]


def test_unanimous_yes_is_certain_and_unanimous_no_stays_mentioned() -> None:
    assert chances(votes(said(("a", "q", "x", 1), ("b", "q", "x", 1)), people=0)) == {("x", 1.0): 1.0}
    assert chances(votes(said(("a", "q", "x", 0), ("b", "q", "x", 0)), people=0)) == {("x", 1.0): 0.0}


def test_resampled_people_scatter_as_a_binomial() -> None:
    many = said(*((f"s{n}", "q", "x", float(n < 12)) for n in range(40)))
    several = votes(many, people=5000, rng=np.random.default_rng(2)).frame["people"].to_numpy()[0]
    assert several.mean() == pytest.approx(0.3, abs=0.01)
    assert several.std() == pytest.approx(np.sqrt(0.3 * 0.7 / 39), abs=0.002)  # the standard error of a share
    assert "people" not in votes(said(("a", "q", "x", 1)), people=10).frame.columns
    assert "who was asked is unknown" in texts(votes(said(("a", "q", "x", 1)), people=10).notes)[-1]


def test_not_judged_is_no_vote() -> None:
    rows = said(("a", "q", "x", 1), ("b", "q", "x", -1), ("c", "q", "y", -1))
    assert chances(votes(rows, people=0)) == {("x", 1.0): 1.0}
    assert ("x", -1.0) not in chances(pinned(votes(rows, people=0), said(("t", "q", "x", -1), ("t", "q", "x2", 1))))


def test_a_pair_that_a_resample_leaves_without_votes_keeps_its_share() -> None:
    rows = said(("a", "q", "x", 1), ("b", "q", "y", 0))
    several = votes(rows, people=50).frame.filter(pl.col("item") == "x")["people"].to_numpy()[0]
    assert (several == 1).all()


def test_subjects_keep_their_readings_together() -> None:
    held = subjects(PANEL, people=0)
    assert held.frame.group_by("reading").agg(pl.col("weight").first()).sort("reading").rows() == [
        ("ann", pytest.approx(1 / 3)), ("bob", pytest.approx(1 / 3)), ("cy", pytest.approx(1 / 3)),
    ]  # fmt: skip
    assert "22% of the pairs were not judged" in texts(held.notes)[0]
    drawn = subjects(PANEL, people=400, rng=np.random.default_rng(0)).frame
    weights = drawn.group_by("reading").agg(pl.col("people_weight").first())["people_weight"].to_numpy()
    assert weights.sum(0) == pytest.approx(np.ones(400), abs=1e-5)
    assert weights.mean(1) == pytest.approx(np.full(3, 1 / 3), abs=0.05)


def test_a_grade_read_as_a_probability() -> None:
    assert chances(graded(said(("a", "q", "x", 0.3), ("a", "q", "y", 1.0)))) == {("x", 1.0): 0.3, ("y", 1.0): 1.0}
    with pytest.raises(TableError, match="not a probability"):
        graded(said(("a", "q", "x", 2)))


def test_judged_pairs_become_certain() -> None:
    held = pinned(
        votes(PANEL, people=20), said(("truth", "q", "x", 0), ("truth", "q", "new", 2), ("truth", "r", "x", 1))
    )
    certain = held.frame.filter(pl.col("item").is_in(["x", "new"])).select("query", "item", "grade", "p").rows()
    assert certain == [("q", "new", 2.0, 1.0), ("q", "x", 0.0, 1.0)]  # query r is none of the belief's
    assert "2 judged pairs are certain (pinned); 1 belong to queries that it does not mention" in texts(held.notes)[-1]
    assert (held.frame.filter(pl.col("item") == "x")["people"].to_numpy() == 1).all()
    assert held.frame.filter(pl.col("item") == "y").height == 2
    assert held.model == "votes, pinned"
    both = pinned(subjects(PANEL, people=20), said(("truth", "q", "y", 1)))
    assert both.frame.filter(pl.col("item") == "y").select("reading", "grade", "p").rows() == [
        ("ann", 1.0, 1.0), ("bob", 1.0, 1.0), ("cy", 1.0, 1.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: crisp(PANEL), TableError, "several opinions"),
        (lambda: graded(PANEL), TableError, "several opinions"),
        (lambda: votes(PANEL, smoothing=-1), TextError, "0 or greater"),
        (lambda: votes(said(("a", "q", "x", None))), JoinError, "no decided opinion"),
        (lambda: pinned(votes(PANEL), PANEL), TableError, "several opinions"),
    ],
)
def test_what_cannot_be_believed(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()


def test_resamples_draw_one_person_less_than_there_are() -> None:
    two = subjects(said(("ann", "q", "x", 1), ("bob", "q", "x", 0), ("bob", "q", "y", 1)), people=200)
    weights = np.stack(two.frame["people_weight"].to_numpy())
    assert set(np.unique(weights)) == {0.0, 1.0}  # of two people one is drawn, who has all the weight
    three = subjects(PANEL, people=400)
    by_person = {who: np.stack(part["people_weight"].to_numpy()) for (who,), part in three.frame.group_by("reading")}
    assert {float(value) for rows in by_person.values() for value in np.unique(rows)} == {0.0, 0.5, 1.0}


def test_one_person_is_not_resampled() -> None:
    assert "people" not in subjects(said(("ann", "q", "x", 1), ("ann", "q", "y", 0))).frame.columns


def test_pinned_labels_leave_what_is_not_mentioned_as_it_was() -> None:
    belief = Belief.of(pl.DataFrame({"query": "q", "item": ["x", "y"], "p": [0.5, 0.25]}), unmentioned=0.125)
    sure = pinned(belief, said(("ann", "q", "x", 1)))
    assert sure.unmentioned == 0.125
    assert chances(sure) == {("x", 1.0): 1.0, ("y", 1.0): 0.25}


def test_grades_without_a_no() -> None:
    assert chances(votes(said(("ann", "q", "x", 1), ("bob", "q", "x", 2)), people=0)) == {
        ("x", 1.0): 0.5, ("x", 2.0): 0.5
    }  # fmt: skip
    assert chances(votes(said(("ann", "q", "x", 2), ("bob", "q", "x", 2)), people=0)) == {("x", 2.0): 1.0}
    assert chances(votes(said(("ann", "q", "x", 0), ("bob", "q", "x", 0)), people=0)) == {("x", 1.0): 0.0}
