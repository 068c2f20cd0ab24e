"""Agreement: textbook values, alpha by the definition over all pairs, what is undefined, who is the odd one out."""

import math
import re
import tracemalloc

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from endoxa.errors import TableError, TextError
from endoxa.studies import agreement as module
from endoxa.studies.agreement import agreement, alpha, cohen, fleiss, icc
from endoxa.tables import Opinions

NO = math.nan
KRIPPENDORFF = np.array(  # Computing Krippendorff's Alpha-Reliability, 2011: 4 observers, 12 units
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NO, NO, NO],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NO, 3],
        [NO, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NO],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NO],
    ]
)
SHROUT_FLEISS = np.array(  # Psychological Bulletin 86 (1979), table 2: 6 targets, 4 judges
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
).T
FLEISS = [  # Wikipedia, Fleiss' kappa: how many of 14 raters put each of 10 subjects into each of 5 categories
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
LEVELS = ["nominal", "ordinal", "interval", "ratio"]


def opinions_of(values, queries=None, **columns):
    """Opinions from a [rater, unit] matrix: NaN is not asked, inf is undecided."""
    rows = [
        (f"r{rater}", queries[unit] if queries else "q", f"d{unit:03}", None if math.isinf(value) else float(value))
        for rater, grades in enumerate(values)
        for unit, value in enumerate(grades)
        if not math.isnan(value)
    ]
    schema = {"source": pl.String, "query": pl.String, "item": pl.String, "grade": pl.Float64}
    return Opinions.of(pl.DataFrame(rows, schema=schema, orient="row").with_columns(**columns))


def naive(values, level):
    """alpha = 1 - D_o/D_e, every pair of grades looked at, distances as Krippendorff prints them."""
    units = [[x for x in column if not math.isnan(x)] for column in np.asarray(values, dtype=float).T]
    units = [unit for unit in units if len(unit) > 1]
    grades = [x for unit in units for x in unit]
    n = len(grades)

    def square(x, y):
        if level == "nominal":
            return float(x != y)
        if level == "interval":
            return (x - y) ** 2
        if level == "ratio":
            return 0.0 if x == y else ((x - y) / (x + y)) ** 2
        low, high = min(x, y), max(x, y)
        return (sum(low <= g <= high for g in grades) - (grades.count(x) + grades.count(y)) / 2) ** 2 if x != y else 0.0

    seen = sum(square(x, y) / (len(unit) - 1) for unit in units for x in unit for y in unit) / n if n else 0
    chance = sum(square(x, y) for x in grades for y in grades) / (n * (n - 1)) if n else 0
    return 1 - seen / chance if chance else math.nan


@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorff_2011(level, value):
    assert alpha(KRIPPENDORFF, level=level) == pytest.approx(value, abs=5e-4)
    assert naive(KRIPPENDORFF, level) == pytest.approx(value, abs=5e-4)


cells = st.sampled_from([0.0, 1.0, 2.0, 5.0, 5.5, math.nan])
matrices = st.integers(1, 6).flatmap(
    lambda units: st.lists(st.lists(cells, min_size=units, max_size=units), min_size=1, max_size=4)
)


@pytest.mark.parametrize("level", LEVELS)
@settings(max_examples=80, deadline=None)
@given(values=matrices)
def test_alpha_is_the_definition(level, values):
    found = alpha(np.array(values), level=level)
    assert found == pytest.approx(naive(values, level), abs=1e-10, nan_ok=True)


def test_ratio_of_many_grades_is_the_definition(monkeypatch):
    """The integral that serves many different grades, forced on few; zeros and nine decades included."""
    monkeypatch.setattr(module, "PAIRS", 0)
    rng = np.random.default_rng(1)
    for spread in (0.05, 1.0, 4.0):
        values = np.exp(spread * rng.normal(size=(3, 15)))
        values[0, :3] = 0
        values[1, 1] = 0
        values[2, 5] = math.nan
        assert alpha(values, level="ratio") == pytest.approx(naive(values, "ratio"), abs=1e-9)
    assert alpha(KRIPPENDORFF, level="ratio") == pytest.approx(0.797, abs=5e-4)


@given(st.integers(0, 2**32 - 1), st.floats(-5, 5), st.floats(0.1, 10))
@settings(max_examples=25, deadline=None)
def test_levels_ignore_what_they_should(seed, shift, stretch):
    """Interval: shift and stretch; ordinal: any rising map; nominal: any renaming; ratio: stretch."""
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 6, size=(3, 12)).astype(float)
    values[rng.random(values.shape) < 0.2] = math.nan
    assume(len(np.unique(values[~np.isnan(values)])) > 1)
    same = {"abs": 1e-8, "nan_ok": True}
    assert alpha(stretch * values + shift) == pytest.approx(alpha(values), **same)
    assert alpha(np.exp(values), level="ordinal") == pytest.approx(alpha(values, level="ordinal"), **same)
    assert alpha((7 * values) % 11, level="nominal") == pytest.approx(alpha(values, level="nominal"), **same)
    assert alpha(stretch * values, level="ratio") == pytest.approx(alpha(values, level="ratio"), **same)


@pytest.mark.parametrize("level", LEVELS)
def test_bootstrap_is_alpha_of_copied_units(level):
    """Weights say how often a unit was drawn; alpha under weights is alpha of the matrix with columns copied."""
    unit, x = module._pairable(*module._long(KRIPPENDORFF))
    kept = KRIPPENDORFF[:, (~np.isnan(KRIPPENDORFF)).sum(axis=0) > 1]
    drawn = np.random.default_rng(5).multinomial(kept.shape[1], np.full(kept.shape[1], 1 / kept.shape[1]), size=4)
    drawn[3] = 0
    drawn[3, 2] = 11  # one unit with one grade only: 0/0
    found = module._alphas(unit, x, level, drawn.astype(float))
    for row, value in zip(drawn, found, strict=True):
        assert value == pytest.approx(naive(np.repeat(kept, row, axis=1), level), nan_ok=True)
    assert math.isnan(found[3])


def test_interval_covers_under_the_same_raters():
    """80 units, 3 raters, normal model: alpha of all units ever is 1/(1 + s²); 90 % intervals hold it some 90 %."""
    rng = np.random.default_rng(6)
    held = []
    for _ in range(150):
        values = rng.normal(size=80) + 0.7 * rng.normal(size=(3, 80)) + 50
        found = agreement(opinions_of(values), confidence=0.9, resamples=300, rng=rng)
        held.append(found.lo <= 1 / (1 + 0.49) <= found.hi)
    assert 0.82 <= np.mean(held) <= 0.96


def test_shrout_and_fleiss_1979():
    found = icc(SHROUT_FLEISS)
    assert found["form"].to_list() == ["ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)"]
    assert np.allclose(found["value"], [0.17, 0.29, 0.71, 0.44, 0.62, 0.91], atol=5e-3)
    # 95 % limits as printed by R's psych::ICC for these data
    assert np.allclose(found["lo"], [-0.133, 0.019, 0.342, -0.884, 0.071, 0.676], atol=6e-4)
    assert np.allclose(found["hi"], [0.72, 0.76, 0.95, 0.91, 0.93, 0.99], atol=5e-3)


def test_icc_interval_covers():
    """Random raters: the approximate interval of ICC(2,1) holds the true share some 90 % of the time."""
    rng = np.random.default_rng(7)
    held = []
    for _ in range(300):
        values = rng.normal(size=30) + 0.5 * rng.normal(size=(6, 1)) + 0.5 * rng.normal(size=(6, 30))
        row = icc(values, confidence=0.9).row(1)
        held.append(row[2] <= 1 / 1.5 <= row[3])
    assert 0.84 <= np.mean(held) <= 0.96


def test_icc_at_the_edges():
    perfect = np.tile([1.0, 2, 5], (3, 1))
    assert np.allclose(icc(perfect).select("value", "lo", "hi"), 1)
    shifted = icc(perfect + np.array([[0.0], [1], [2]]))["value"].to_list()
    assert shifted[2] == pytest.approx(1)
    assert shifted[1] == pytest.approx(13 / 3 / (13 / 3 + 1))  # unit variance over unit plus rater variance
    for values in (np.ones((3, 4)), SHROUT_FLEISS[:1], SHROUT_FLEISS[:, :1], np.array([[0.0, 1], [1, 0]])):
        assert np.isnan(icc(values)["value"][1])
    holes = np.concatenate([SHROUT_FLEISS, [[1.0], [NO], [2], [3]]], axis=1)
    assert icc(holes).equals(icc(SHROUT_FLEISS))  # incomplete units are left out


def test_fleiss_of_ten_subjects():
    values = np.array([np.repeat(np.arange(5), row) for row in FLEISS], dtype=float).T
    found, size, dropped = fleiss(values)
    assert found == pytest.approx(0.210, abs=5e-4)
    assert (size, dropped) == (14, 0)
    more = np.full((14, 12), math.nan)
    more[:, 1:11] = values
    more[:3, 0] = 1  # three grades only: dropped; the last column has none and is no unit
    assert fleiss(more) == (pytest.approx(found), 14, 1)
    assert math.isnan(fleiss(np.ones((3, 4)))[0])
    assert math.isnan(fleiss(np.ones((1, 4)))[0])


def test_cohen_of_two_raters():
    """Cohen 1960 as on Wikipedia: 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no give .4."""
    x, y = np.repeat([1.0, 1, 0, 0], [20, 5, 10, 15]), np.repeat([1.0, 0, 1, 0], [20, 5, 10, 15])
    assert cohen(x, y) == pytest.approx(0.4)
    assert cohen(np.append(x, NO), np.append(y, 1)) == pytest.approx(0.4)
    assert math.isnan(cohen(np.ones(3), np.ones(3)))
    assert cohen(np.ones(3), np.zeros(3)) == 0
    assert math.isnan(cohen(np.array([NO]), np.array([1.0])))


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=20))
def test_kappas_are_their_tables(pairs):
    """Against the table of counts, weights 1[i≠j] and (i - j)²: 1 - Σ w o / Σ w e."""
    x, y = np.array(pairs, dtype=float).T
    o = np.zeros((4, 4))
    for i, j in pairs:
        o[i - 1, j - 1] += 1 / len(pairs)
    e = np.outer(o.sum(axis=1), o.sum(axis=0))
    steps = np.abs(np.arange(4)[:, None] - np.arange(4))
    for name, w in (("none", steps > 0), ("quadratic", steps**2)):
        expected = 1 - (w * o).sum() / (w * e).sum() if (w * e).sum() > 1e-12 else math.nan
        assert cohen(x, y, weights=name) == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_agreement_of_opinions():
    """Undecided are ignored and counted; the order of rows does not matter; every figure is that of the matrix."""
    values = KRIPPENDORFF.copy()
    values[0, 9:] = math.inf
    queries = ["a"] * 6 + ["b"] * 6
    opinions = opinions_of(values, queries)
    shuffled = Opinions.of(opinions.frame.sample(fraction=1, shuffle=True, seed=3))
    found = agreement(shuffled, rng=np.random.default_rng(1))
    again = agreement(opinions, rng=np.random.default_rng(1))
    assert (found.alpha, found.lo, found.hi) == (again.alpha, again.lo, again.hi)
    assert found.alpha == pytest.approx(alpha(KRIPPENDORFF))
    assert found.lo < found.alpha < found.hi
    assert (found.units, found.ratings, found.raters, found.undecided) == (11, 40, 4, 3)
    assert found.complete == 8
    assert found.icc.equals(icc(KRIPPENDORFF))
    assert found.fleiss == pytest.approx(fleiss(KRIPPENDORFF)[0])
    assert math.isnan(found.kappa)
    assert any("kappa needs exactly two raters; there are 4" in note for note in found.notes)
    assert any("another number" in note for note in found.notes)
    assert found.per_query["query"].to_list() == ["a", "b"]
    assert found.per_query["units"].to_list() == [6, 5]
    parts = [alpha(KRIPPENDORFF[:, :6]), alpha(KRIPPENDORFF[:, 6:])]
    assert np.allclose(found.per_query["alpha"], parts)
    assert found.per_rater["undecided"].to_list() == [3, 0, 0, 0]
    assert found.per_rater["ratings"].to_list() == [9, 11, 10, 11]
    for place, row in enumerate(found.per_rater.iter_rows(named=True)):
        rest = np.delete(KRIPPENDORFF, place, axis=0)
        assert row["without"] == pytest.approx(alpha(rest))
        assert row["change"] == pytest.approx(alpha(rest) - found.alpha)
        seen = ~np.isnan(KRIPPENDORFF[place]) & ~np.isnan(rest).all(axis=0)
        mean = np.nanmean(rest[:, seen], axis=0)
        assert row["correlation"] == pytest.approx(stats.pearsonr(KRIPPENDORFF[place, seen], mean)[0])
        assert row["shared"] == seen.sum()


def test_the_odd_one_out_is_found():
    rng = np.random.default_rng(8)
    truth = rng.normal(size=60)
    values = 10 + truth + 0.3 * rng.normal(size=(4, 60))
    values[2] = 10 - truth
    found = agreement(opinions_of(values), resamples=0, rng=rng).per_rater
    assert found.sort("change")["source"].to_list()[-1] == "r2"
    assert found["change"][2] > 0.3
    assert found["correlation"][2] < -0.9
    assert (found["correlation"].gather([0, 1, 3]) > 0).all()


def test_two_raters_have_kappas_and_no_one_to_leave_out():
    values = KRIPPENDORFF[1:3]
    found = agreement(opinions_of(np.vstack([values, np.full(12, math.inf)])), rng=np.random.default_rng(0))
    assert found.kappa == pytest.approx(cohen(*values))
    assert found.quadratic == pytest.approx(cohen(*values, weights="quadratic"))
    assert found.raters == 2  # a third said undecided only
    assert np.isnan(found.per_rater["without"][0])
    assert any("three raters" in note for note in found.notes)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([[1, 2, 3]], "one rater gave grades"),
        ([[1]], "one rater gave grades"),
        ([[math.inf, math.inf], [math.inf, NO]], r"no grade was given \(3 answers are undecided\)"),
        ([[2, 2, 2], [2, 2, 2]], "all 6 comparable grades are equal"),
        ([[1, NO], [NO, 2]], "no pair was graded by two raters"),
        (np.empty((0, 0)), "no grade was given"),
    ],
)
@pytest.mark.parametrize("level", LEVELS)
def test_undefined_is_nan_with_a_sentence(values, said, level):
    found = agreement(opinions_of(values), level=level, rng=np.random.default_rng(0))
    assert math.isnan(found.alpha)
    assert math.isnan(found.lo)
    assert math.isnan(found.kappa)
    assert math.isnan(found.fleiss)
    assert found.icc["value"].is_nan().all()
    assert found.per_rater["without"].is_nan().all()
    assert found.per_query["alpha"].is_nan().all()
    assert re.search(said, found.notes[0])


def test_one_pair_has_no_interval():
    found = agreement(opinions_of([[1], [2]]), rng=np.random.default_rng(0))
    assert found.alpha == 0
    assert math.isnan(found.lo)
    assert "one pair has two grades; an interval needs more" in found.notes


def test_resamples_without_spread_are_said():
    found = agreement(opinions_of([[1, 1, 2], [1, 1, 2]]), rng=np.random.default_rng(0))
    assert found.alpha == found.lo == found.hi == 1
    assert any("resamples all grades were equal" in note for note in found.notes)


def test_below_zero_is_not_judged_unless_calibrated():
    values = np.array([[1.0, 2, 3, -1], [1, 3, 3, -1]])
    found = agreement(opinions_of(values), rng=np.random.default_rng(0))
    assert (found.units, found.alpha) == (3, pytest.approx(alpha(values[:, :3])))
    assert any("2 grades are below 0" in note for note in found.notes)
    moved = agreement(opinions_of(values, scale=pl.lit("calibrated 1-5")), rng=np.random.default_rng(0))
    assert (moved.units, moved.alpha) == (4, pytest.approx(alpha(values)))
    ratio = agreement(opinions_of(values, scale=pl.lit("calibrated")), level="ratio", rng=np.random.default_rng(0))
    assert math.isnan(ratio.alpha)
    assert "below 0 have no ratio" in ratio.notes[0]


def test_memory_does_not_grow_with_the_square_of_the_grades():
    """20,000 different grades: a table of them by themselves would hold 3.2 GB."""
    values = np.random.default_rng(9).random((2, 10_000))
    for level in LEVELS:
        tracemalloc.start()
        alpha(values, level=level)
        assert tracemalloc.get_traced_memory()[1] < 100e6
        tracemalloc.stop()


def test_wrong_input_is_refused():
    with pytest.raises(TextError, match="did you mean ordinal"):
        alpha(KRIPPENDORFF, level="ordnal")
    with pytest.raises(TextError, match="levels are"):
        agreement(opinions_of([[1]]), level="x", rng=np.random.default_rng(0))
    with pytest.raises(TextError, match="confidence"):
        agreement(opinions_of([[1]]), confidence=95, rng=np.random.default_rng(0))
    with pytest.raises(TableError, match="matrix"):
        alpha(np.ones(3))
    with pytest.raises(TableError, match="infinite"):
        alpha(np.array([[1, math.inf], [1, 2]]))
    with pytest.raises(TableError, match="grade -1 is negative"):
        alpha(np.array([[1.0, -1], [1, 2]]), level="ratio")
    with pytest.raises(TableError, match="shapes"):
        cohen(np.ones(3), np.ones(2))
    with pytest.raises(TextError, match="quadratic"):
        cohen(np.ones(3), np.ones(3), weights="quadratik")
