"""compare(): rows against plain definitions and SciPy, laws, and errors."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from scipy import stats
from score_samples import scores

from endoxa.comparisons.paired import compare
from endoxa.errors import EndoxaError, JoinError, TextError
from endoxa.notes import texts
from endoxa.statistics.bootstrap import mean_intervals
from endoxa.statistics.multiplicity import benjamini_hochberg, holm
from endoxa.statistics.randomisation import sign_flip

COLUMNS = "measure system baseline doubt difference lo hi p_better p_tie superiority sd p_value p_adjusted effect "
COLUMNS += "test queries"
TESTS = ("randomisation", "t", "wilcoxon", "tukey")


def rng(seed=7):
    return np.random.default_rng(seed)


def drawn(systems, queries, seed=1):
    values = rng(seed).beta(1, 2, (systems, queries)) + np.linspace(0.3, 0, systems)[:, None]
    return {f"s{place}": row.tolist() for place, row in enumerate(values)}


def test_columns_and_kinds():
    made = compare(scores(AP=drawn(3, 12)), rng=rng(), resamples=500)
    assert " ".join(made.frame.columns) == COLUMNS
    assert made.frame["doubt"].unique().to_list() == ["queries"]
    assert made.frame["p_better"].null_count() == made.frame["p_tie"].null_count() == 3
    assert made.frame["p_better"].dtype == pl.Float64
    assert made.frame["queries"].to_list() == [12, 12, 12]


def test_pairs_stand_in_the_order_given():
    table = scores(AP={"b": [0.1, 0.2, 0.5], "a": [0.3, 0.1, 0.2], "c": [0.2, 0.2, 0.1]})
    every = compare(table, rng=rng(), resamples=100).frame
    assert every.select("system", "baseline").rows() == [("b", "a"), ("b", "c"), ("a", "c")]
    against = compare(table, baseline="a", rng=rng(), resamples=100).frame
    assert against.select("system", "baseline").rows() == [("b", "a"), ("c", "a")]


def test_a_row_is_its_definition():
    given = drawn(2, 40)
    d = np.array(given["s0"]) - np.array(given["s1"])
    row = compare(scores(AP=given), rng=rng(), confidence=0.9, resamples=20_000).frame.row(0, named=True)
    made = mean_intervals(d, confidence=0.9, resamples=20_000, rng=rng(5))
    assert row["difference"] == pytest.approx(d.mean())
    assert row["effect"] == pytest.approx(d.mean() / d.std(ddof=1))
    assert (row["lo"], row["hi"]) == pytest.approx((float(made.lo), float(made.hi)), abs=0.005)
    assert row["p_value"] == pytest.approx(float(sign_flip(d, resamples=20_000, rng=rng(5))), abs=0.01)
    assert row["p_adjusted"] == row["p_value"]


@pytest.mark.parametrize(("test", "oracle"), [("t", stats.ttest_rel), ("wilcoxon", stats.wilcoxon)])
def test_p_is_scipys(test, oracle):
    given = drawn(4, 25)
    for row in compare(scores(AP=given), test=test, rng=rng(), resamples=100).frame.iter_rows(named=True):
        assert row["p_value"] == pytest.approx(oracle(given[row["system"]], given[row["baseline"]]).pvalue)
        assert row["test"] == test


def test_wilcoxon_sees_ties_through_rounding():
    row = compare(
        scores(P={"a": [0.3, 0.5, 0.7, 0.3, 0.2], "b": [0.2, 0.4, 0.6, 0.4, 0.2]}),
        test="wilcoxon",
        resamples=100,
        rng=rng(),
    ).frame.row(0, named=True)
    assert row["p_value"] == pytest.approx(stats.wilcoxon([1, 1, 1, -1]).pvalue)


@pytest.mark.parametrize(("correction", "rule"), [("holm", holm), ("bh", benjamini_hochberg), ("none", np.array)])
def test_corrects_within_each_measure(correction, rule):
    table = scores(AP=drawn(4, 15), RR=drawn(4, 15, seed=2))
    frame = compare(table, correction=correction, test="t", rng=rng(), resamples=100).frame
    for _, rows in frame.group_by("measure"):
        assert len(rows) == 6
        np.testing.assert_allclose(rows["p_adjusted"], rule(rows["p_value"].to_numpy()))


def test_the_other_way_round_is_the_mirror():
    given = drawn(2, 30)
    one = compare(scores(AP=given), rng=rng(), baseline="s1").frame.row(0, named=True)
    two = compare(scores(AP=given), rng=rng(), baseline="s0").frame.row(0, named=True)
    assert two["difference"] == pytest.approx(-one["difference"])
    assert (two["lo"], two["hi"]) == pytest.approx((-one["hi"], -one["lo"]))
    assert two["effect"] == pytest.approx(-one["effect"])
    assert two["p_value"] == one["p_value"]


@pytest.mark.parametrize("test", ["randomisation", "t", "wilcoxon"])
def test_a_row_does_not_depend_on_the_others(test):
    ap, rr = drawn(5, 30), drawn(5, 30, seed=3)
    kept = ["difference", "lo", "hi", "p_value", "effect", "queries"]
    both = compare(scores(RR=rr, AP=ap), test=test, resamples=300, rng=rng()).frame
    alone = compare(scores(AP={name: ap[name] for name in ("s1", "s3")}), test=test, resamples=300, rng=rng()).frame
    row = both.filter(measure="AP", system="s1", baseline="s3")
    assert row.select(kept).row(0) == pytest.approx(alone.select(kept).row(0))


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("interval", ["bootstrap-t", "percentile"])
def test_equal_systems(test, interval):
    given = {"a": [0.1 + 0.2, 0.5, 0.0], "b": [0.3, 0.5, 0.0]}
    row = compare(scores(AP=given), test=test, interval=interval, resamples=99, rng=rng()).frame.row(0, named=True)
    assert row["difference"] == row["lo"] == row["hi"] == 0
    assert row["p_value"] == row["p_adjusted"] == 1
    assert np.isnan(row["effect"])


def test_a_constant_difference_has_no_t_and_no_effect():
    given = {"a": [0.3, 0.6, 0.4, 0.2], "b": [0.2, 0.5, 0.3, 0.1]}
    row = compare(scores(AP=given), test="t", resamples=99, rng=rng()).frame.row(0, named=True)
    assert np.isnan([row["p_value"], row["effect"]]).all()
    assert row["difference"] == row["lo"] == row["hi"] == pytest.approx(0.1)
    exact = compare(scores(AP=given), resamples=99, rng=rng()).frame.row(0, named=True)
    assert exact["p_value"] == 2 / 2**4


@pytest.mark.parametrize("test", TESTS[:3])
def test_queries_are_dropped_pair_by_pair(test):
    given = drawn(3, 12)
    holes = {**given, "s1": [float("nan"), None, *given["s1"][2:]]}
    frame = compare(scores(AP=holes), test=test, resamples=200, rng=rng()).frame
    assert frame["queries"].to_list() == [10, 12, 10]
    short = compare(
        scores(AP={name: given[name][2:] for name in ("s0", "s1")}), test=test, resamples=200, rng=rng()
    ).frame
    kept = ["difference", "lo", "hi", "p_value", "effect", "queries"]
    assert frame.select(kept).row(0) == pytest.approx(short.select(kept).row(0))


@pytest.mark.parametrize("test", TESTS[:3])
def test_a_pair_without_shared_queries_keeps_its_row(test):
    given = {"a": [0.5, 0.3, 0.4, None, None], "b": [0.2, 0.1, 0.3, 0.3, 0.1], "c": [None, None, 0.3, 0.2, 0.7]}
    made = compare(scores(AP=given), test=test, resamples=99, rng=rng())
    row = made.frame.row(1, named=True)
    assert (row["system"], row["baseline"], row["queries"]) == ("a", "c", 1)
    assert np.isnan([row["lo"], row["hi"], row["p_value"], row["p_adjusted"], row["effect"]]).all()
    assert made.frame["p_value"].is_nan().to_list() == [False, True, False]
    np.testing.assert_allclose(
        made.frame["p_adjusted"].to_numpy()[[0, 2]], holm(made.frame["p_value"].to_numpy()[[0, 2]])
    )
    assert "over 2 comparisons" in texts(made.notes)[2]
    assert "fewer than two queries" in texts(made.notes)[-1]


def test_tukey_uses_the_queries_that_all_have_and_needs_no_correction():
    given = drawn(4, 20)
    given["s3"][0] = None
    made = compare(scores(AP=given), test="tukey", resamples=2_000, rng=rng())
    assert made.frame["queries"].unique().to_list() == [19]
    assert made.frame["p_adjusted"].to_list() == made.frame["p_value"].to_list()
    assert "already hold for all pairs" in texts(made.notes)[2]
    plain = compare(scores(AP=given), resamples=2_000, correction="none", rng=rng())
    assert (made.frame["p_value"] >= plain.frame["p_value"] - 0.03).all()
    against = compare(scores(AP=given), test="tukey", baseline="s1", resamples=2_000, rng=rng())
    row = made.frame.filter(system="s1", baseline="s2").row(0, named=True)
    assert against.frame.filter(system="s2")["p_value"][0] == row["p_value"]


def test_notes_say_how():
    made = compare(
        scores(AP=drawn(4, 10), RR=drawn(4, 10)), interval="percentile", confidence=0.9, resamples=300, rng=rng()
    )
    assert texts(made.notes)[:3] == (
        "test: paired sign-flip randomisation of the mean difference, two-sided; every sign assignment up to 16 "
        "differing queries, 300 random ones beyond",
        "interval: 90 % percentile, 300 resamples of the queries",
        "correction: Holm over 6 comparisons per measure, not across measures",
    )
    few = {"a": [0.5] * 20, "b": [0.5] * 19 + [0.7]}
    assert "does not bound" in texts(compare(scores(AP=few), resamples=99, rng=rng()).notes)[3]


def test_a_short_skewed_sample_is_told():
    def short(queries, interval="bootstrap-t", most=0.9):
        given = {"a": [0.1] * queries, "b": [0.2 + 0.1 * (place % 2) for place in range(queries - 5)] + [most] * 5}
        notes = texts(compare(scores(AP=given), interval=interval, spans={"AP": 1}, resamples=99, rng=rng()).notes)
        return any("can be too short" in note for note in notes)

    assert short(49)
    assert not short(50)
    assert not short(49, most=0.3)
    assert short(24, most=0.3)
    assert not short(49, "bounded")


def test_the_range_of_a_measure_bounds_its_differences():
    given = {"a": [0.5] * 20, "b": [0.5] * 19 + [0.7], "c": [0.5] * 20}
    free = compare(scores(AP=given), resamples=99, rng=rng()).frame
    kept = compare(scores(AP=given), spans={"AP": 1}, resamples=99, rng=rng())
    assert free["lo"].is_infinite().to_list() == [True, False, True]
    for row in kept.frame.iter_rows(named=True):
        assert -0.3 < row["lo"] < 0 < row["hi"] < 0.3
    assert not any("infinite" in note for note in texts(kept.notes))
    alone = {"a": [0.5, float("nan")], "b": [0.2, 0.3], "c": [0.2, 0.4]}
    lone = compare(scores(AP=alone), interval="bounded", spans={"AP": 1}, resamples=99, rng=rng()).frame
    assert lone["lo"].is_nan().to_list() == lone["hi"].is_nan().to_list() == [True, True, False]


def test_measures_are_chosen_by_name():
    table = scores(AP=drawn(2, 5), RR=drawn(2, 5))
    assert compare(table, measures=["RR"], resamples=99, rng=rng()).frame["measure"].to_list() == ["RR"]
    with pytest.raises(EndoxaError, match="no score is called 'RRR'; did you mean RR"):
        compare(table, measures=["RRR"], resamples=99, rng=rng())


@pytest.mark.parametrize(
    ("given", "settings", "error", "message"),
    [
        (drawn(2, 5), {"baseline": "s11"}, TextError, "no baseline is called 's11'; did you mean s1"),
        (drawn(2, 5), {"test": "randomization"}, TextError, "did you mean randomisation"),
        (drawn(2, 5), {"correction": "bonferroni"}, TextError, "there are: holm, bh, none"),
        (drawn(2, 5), {"interval": "percentiles"}, TextError, "did you mean percentile"),
        (drawn(1, 5), {}, JoinError, "needs two systems; there is s0"),
        (drawn(3, 1), {}, JoinError, "no two of the 3 systems share two queries"),
        ({"a": [0.1, 0.2, None, None], "b": [None, None, 0.3, 0.4]}, {}, JoinError, "share two queries"),
        ({"a": [0.1, 0.2, None, None], "b": [None, None, 0.3, 0.4]}, {"test": "tukey"}, JoinError, "share two"),
    ],
)
def test_says_what_is_wrong(given, settings, error, message):
    with pytest.raises(error, match=message):
        compare(scores(AP=given), rng=rng(), resamples=99, **settings)


def test_importing_loads_no_scipy():
    code = "import sys; from endoxa.comparisons import orders, paired, power; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_many_pairs_can_still_be_told_apart() -> None:
    """p never falls below 1/(draws + 1); with 630 pairs 10,000 draws would leave nothing significant after Holm."""
    values = np.random.default_rng(0).normal(0, 0.02, (36, 30)) + np.linspace(0.2, 0.8, 36)[:, None]
    given = scores(AP={f"s{n:02d}": row.tolist() for n, row in enumerate(values)})
    found = compare(given, rng=np.random.default_rng(1))
    assert len(found.frame) == 630
    assert (found.frame["p_adjusted"] < 0.05).sum() > 500
    few = compare(given, resamples=1000, rng=np.random.default_rng(1))
    assert any("none can be significant" in note for note in texts(few.notes))
