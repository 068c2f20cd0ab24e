"""Rater calibration: the worked example, partial overlap, flags, and what is left of the benefit on held-out items."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.errors import TextError
from endoxa.studies.agreement import agreement, alpha
from endoxa.studies.rater_calibration import benefit, calibrate
from endoxa.tables import Opinions

NO = math.nan
WORKED = np.array([[1, 2, 3, 4, 5], [3, 4, 4, 5, 5], [1, 1, 2, 2, 3], [4, 4, 4, 4, 4]], dtype=float)


def opinions_of(values, role="common", more=()):
    """Opinions from a [rater, item] matrix; NaN is not asked. `more` are rows of source, item, grade, role."""
    rows = [
        (f"r{rater}", f"d{item:03}", float(value), role)
        for rater, grades in enumerate(values)
        for item, value in enumerate(grades)
        if not math.isnan(value)
    ]
    schema = {"source": pl.String, "item": pl.String, "grade": pl.Float64, "role": pl.String}
    return Opinions.of(pl.DataFrame([*rows, *more], schema=schema, orient="row").with_columns(query=pl.lit("q")))


def matrix(opinions, like):
    """The grades back in a [rater, item] matrix."""
    values = np.full(like.shape, math.nan)
    for source, item, grade in opinions.frame.select("source", "item", "grade").iter_rows():
        values[int(source[1:]), int(item[1:])] = grade
    return values


def test_worked_example_of_the_plain_map():
    """By hand: (a, b); mean variance between raters 1.583333 -> .513130 (first three 1.666667 -> .182511)."""
    opinions = opinions_of(WORKED)
    found = calibrate(opinions, shrinkage=0)
    assert np.allclose(found.frame["a"], [0.918559, 1.735913, 1.735913, 1], atol=5e-7)
    assert np.allclose(found.frame["b"], [0.494324, -4.040833, 0.125357, -0.75], atol=5e-7)
    assert found.frame["n"].to_list() == [5, 5, 5, 5]
    assert np.allclose(found.frame["mean"], WORKED.mean(axis=1))
    assert np.allclose(found.frame["sd"], WORKED.std(axis=1))
    assert found.frame["flags"].to_list() == ["", "", "", "constant"]
    assert found.common == 5
    after = matrix(found.apply(opinions), WORKED)
    assert WORKED.var(axis=0, ddof=1).mean() == pytest.approx(1.583333, abs=5e-7)
    assert after.var(axis=0, ddof=1).mean() == pytest.approx(0.513130, abs=5e-7)
    assert WORKED[:3].var(axis=0, ddof=1).mean() == pytest.approx(1.666667, abs=5e-7)
    assert after[:3].var(axis=0, ddof=1).mean() == pytest.approx(0.182511, abs=5e-7)
    told = benefit(opinions, shrinkage=0, rng=np.random.default_rng(0)).frame
    assert told["stage"].to_list() == ["before", "in sample", "held out"]
    assert np.allclose(told["variance"][:2], [1.583333, 0.513130], atol=5e-7)
    assert np.allclose(told["alpha"][:2], [alpha(WORKED), alpha(after)])


def test_worked_example_shrunk():
    """By hand, kappa = 5; a constant rater is shifted by as much as its shrunk mean says."""
    found = calibrate(opinions_of(WORKED)).frame
    assert np.allclose(found["a"], [0.907595, 1.162541, 1.162541, 1], atol=5e-7)
    assert np.allclose(found["b"], [0.413765, -1.080465, 0.314584, 3.25 - (5 * 4 + 5 * 3.25) / 10], atol=5e-7)


def by_hand(values, shrinkage):
    """(a, b) of every rater, straight from docs/methods/studies.md, Rater calibration, one rater at a time."""
    common = (~np.isnan(values)).sum(axis=0) > 1
    found = []
    for own in np.where(common, values, math.nan):
        at = ~np.isnan(own)
        n = at.sum()
        if n == 0:
            found.append((1.0, 0.0))
            continue
        items = [column[~np.isnan(column)] for column in values[:, at].T]
        M, mine = np.mean([item.mean() for item in items]), own[at]
        V = np.mean([((item - M) ** 2).mean() for item in items])
        m = (n * mine.mean() + shrinkage * M) / (n + shrinkage)
        a = 1.0
        if n > 1 and np.ptp(mine) > 0:
            v = mine.var() if shrinkage == 0 else ((n - 1) * mine.var(ddof=1) + shrinkage * V) / (n - 1 + shrinkage)
            a = math.sqrt(V / v)
        found.append((a, M - a * m))
    return np.array(found)


cells = st.sampled_from([0.0, 1.0, 2.0, 5.0, math.nan])
matrices = st.integers(1, 7).flatmap(
    lambda items: st.lists(st.lists(cells, min_size=items, max_size=items), min_size=1, max_size=4)
)


@settings(max_examples=100, deadline=None)
@given(matrices, st.sampled_from([0.0, 0.5, 5.0]))
def test_moments_are_of_the_same_items(values, shrinkage):
    """With holes: M and V of what everybody said of the items that this rater saw."""
    values = np.array(values)
    opinions = opinions_of(values)
    found = calibrate(opinions, shrinkage=shrinkage).frame
    there = [int(source[1:]) for source in found["source"]]
    assert np.allclose(np.column_stack([found["a"], found["b"]]), by_hand(values, shrinkage)[there])
    whole = found.filter((pl.col("n") > 1) & (pl.col("sd") > 0))
    if shrinkage == 0 and whole.height:  # on common items each rater then has the moments of all
        rater = int(whole["source"][0][1:])
        at = ~np.isnan(values[rater]) & ((~np.isnan(values)).sum(axis=0) > 1)
        moved = whole["a"][0] * values[rater, at] + whole["b"][0]
        assert moved.mean() == pytest.approx(np.nanmean(values[:, at], axis=0).mean())
        assert moved.var() == pytest.approx(np.nanmean((values[:, at] - moved.mean()) ** 2, axis=0).mean())


def test_difficulty_is_not_mistaken_for_bias():
    """Raters who agree on all they share are left alone, though they saw other items, and items had other raters.

    With M and V over grades instead of items (as our first formula had it) the first would have a = .98, the last .93.
    """
    values = np.array([[1, 2, 3, 4, NO, NO], [NO, NO, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]])
    every = values[~np.isnan(values)]
    assert math.sqrt(every.var() / values[2].var()) == pytest.approx(0.93241, abs=5e-6)
    found = calibrate(opinions_of(values), shrinkage=0).frame
    assert np.allclose(found["a"], 1)
    assert np.allclose(found["b"], 0)


def test_every_grade_is_moved_and_none_clipped():
    more = [("r1", "x", 0.0, "main"), ("r1", "y", None, "main"), ("r1", "z", -1.0, "main"), ("new", "x", 2.0, "main")]
    opinions = opinions_of(WORKED, more=more)
    found = calibrate(opinions_of(WORKED), shrinkage=0)
    after = found.apply(opinions)
    rows = {(source, item): grade for source, item, grade in after.frame.select("source", "item", "grade").iter_rows()}
    assert rows["r1", "x"] == pytest.approx(-4.040833, abs=5e-7)
    assert rows["r1", "y"] is None
    assert rows["r1", "z"] == -1  # pooled but not judged
    assert rows["new", "x"] == 2
    assert rows["r0", "d000"] == pytest.approx(0.918559 + 0.494324, abs=1e-6)
    assert after.frame.select("source", "item", "role").equals(opinions.frame.select("source", "item", "role"))
    assert found.remarks(opinions) == (
        "1 raters (the first: 'new') are unknown to the calibration; their 1 grades are unchanged",
    )
    assert found.remarks(opinions_of(WORKED)) == ()
    told = agreement(after, rng=np.random.default_rng(0))
    assert told.units == 6  # the grade below 0 is one: d000 to d004, and x of r1 and new
    assert any("1 grades are below 0, which means not judged" in note for note in told.notes)


def test_a_scale_keeps_its_name_and_a_second_map_moves_what_the_first_moved():
    opinions = Opinions.of(opinions_of(WORKED - 0.5).frame.with_columns(scale=pl.lit("0-5")))
    found = calibrate(opinions, shrinkage=0)
    once = found.apply(opinions)
    assert once.frame["scale"].unique().to_list() == ["calibrated 0-5"]
    twice = found.apply(once)
    assert twice.frame["scale"].unique().to_list() == ["calibrated 0-5"]
    a, b = found.frame["a"].to_numpy()[:, None], found.frame["b"].to_numpy()[:, None]
    assert np.allclose(matrix(twice, WORKED), a * (a * (WORKED - 0.5) + b) + b)


def test_calibrating_the_calibrated_changes_nothing():
    opinions = opinions_of(WORKED[:3])
    again = calibrate(calibrate(opinions, shrinkage=0).apply(opinions), shrinkage=0).frame
    assert np.allclose(again["a"], 1)
    assert np.allclose(again["b"], 0)


def test_flags():
    truth = np.arange(8.0)
    values = np.array([truth, truth + 1, 8 - truth, np.full(8, 3.0), [0, 1, 2, 3, *[NO] * 4], [5, *[NO] * 7]])
    found = calibrate(opinions_of(values, more=[("r9", "x", 3.0, "main")]))
    flags = dict(found.frame.select("source", "flags").iter_rows())
    assert flags == {
        "r0": "",
        "r1": "",
        "r2": "reversed",
        "r3": "constant",
        "r4": "few common items",
        "r5": "few common items",
        "r9": "few common items",
    }
    last = found.frame.row(-1, named=True)
    assert (last["source"], last["n"], last["a"], last["b"]) == ("r9", 0, 1, 0)
    assert math.isnan(last["mean"])
    assert found.frame["a"][5] == 1  # one item: shifted only
    assert found.frame["correlation"][2] < -0.9
    assert any(note == "1 of 7 raters flagged reversed: r2" for note in found.notes)
    short = calibrate(opinions_of([[1, 2, 3], [3, 2, 1]])).frame["flags"].to_list()
    assert short == ["few common items, reversed"] * 2


def test_common_rows_are_those_marked():
    """Rows of other roles teach nothing; where none is marked, all shared pairs do, and a note says so."""
    more = [(f"r{rater}", "x", 100.0 * rater, "main") for rater in range(4)]
    assert calibrate(opinions_of(WORKED, more=more)).frame.equals(calibrate(opinions_of(WORKED)).frame)
    unmarked = calibrate(opinions_of(WORKED, role="main"))
    assert unmarked.frame.equals(calibrate(opinions_of(WORKED)).frame)
    assert "no row has the role 'common'" in unmarked.notes[0]
    assert not any("no row" in note for note in calibrate(opinions_of(WORKED)).notes)
    alone = calibrate(opinions_of(WORKED, more=[("r0", "only", 99.0, "common")]))
    assert alone.frame.equals(calibrate(opinions_of(WORKED)).frame)
    assert "1 common items were graded by only one rater; they are left out" in alone.notes


@pytest.mark.parametrize("values", [[[1, 2, 3]], [[1, NO], [NO, 2]], np.empty((0, 0))])
def test_nothing_in_common_calibrates_nobody(values):
    opinions = opinions_of(values)
    found = calibrate(opinions)
    assert found.common == 0
    assert (found.frame["a"] == 1).all()
    assert (found.frame["b"] == 0).all()
    assert any("no rater is calibrated" in note for note in found.notes)
    assert found.apply(opinions).frame["grade"].equals(opinions.frame["grade"])
    told = benefit(opinions, rng=np.random.default_rng(0))
    assert told.frame["variance"].is_nan().all()
    assert told.frame["alpha"].is_nan().all()
    assert any("too few" in note for note in told.notes)


def test_held_out_shows_the_optimism():
    """Raters who differ by chance alone: in sample the plain map seems to help, on held-out items it harms."""
    rng = np.random.default_rng(4)
    values = 10 + rng.normal(size=8) + rng.normal(size=(6, 8))
    found = benefit(opinions_of(values), shrinkage=0, folds=4, rng=rng)
    before, inside, held = found.frame["alpha"].to_list()
    assert inside > before > held
    before, inside, held = found.frame["variance"].to_list()
    assert held > before > inside
    assert (found.items, found.folds) == (8, 4)
    assert any("alpha does not depend on the scale" in note for note in found.notes)


def test_held_out_shows_what_is_real():
    """Raters with scales of their own: the benefit stays on items not used to learn it."""
    rng = np.random.default_rng(5)
    truth = rng.normal(size=60)
    values = 20 + np.array([[0], [3], [-3]]) + np.array([[1], [2], [0.5]]) * (truth + 0.2 * rng.normal(size=(3, 60)))
    alphas = benefit(opinions_of(values), rng=rng).frame["alpha"].to_list()
    assert alphas[0] < 0.3
    assert alphas[2] > 0.75


def test_held_out_is_by_hand():
    """As many folds as items: each item is moved by what the others taught, one matrix less a column at a time."""
    held = np.empty_like(WORKED)
    for item in range(5):
        a, b = by_hand(np.delete(WORKED, item, axis=1), 2.0).T
        held[:, item] = a * WORKED[:, item] + b
    found = benefit(opinions_of(WORKED), shrinkage=2.0, folds=9, rng=np.random.default_rng(1))
    assert found.folds == 5
    assert "5 common items allow 5 folds, not 9" in found.notes
    assert found.frame["variance"][2] == pytest.approx(held.var(axis=0, ddof=1).mean())
    assert found.frame["alpha"][2] == pytest.approx(alpha(held))


def test_settings_that_make_no_sense_are_refused():
    opinions = opinions_of(WORKED)
    for wrong in (-1, math.nan, math.inf):
        with pytest.raises(TextError, match="shrinkage"):
            calibrate(opinions, shrinkage=wrong)
        with pytest.raises(TextError, match="shrinkage"):
            benefit(opinions, shrinkage=wrong, rng=np.random.default_rng(0))
    with pytest.raises(TextError, match="2 folds"):
        benefit(opinions, folds=1, rng=np.random.default_rng(0))
