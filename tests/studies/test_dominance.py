"""One dominant rater: the published table, correlations by hand, and tests that hold their level."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from endoxa.errors import JoinError, TextError
from endoxa.studies.dominance import dominance, equivalence, fisher, separation
from endoxa.tables import Opinions, Run

# Barnard et al., Table 5: master, others, combined; KEYWORDS combined stands displaced in the text.
TABLE_5 = {
    "ROMM-ALL": [(0.21, 0.03), (0.19, 0.04), (0.24, 0.01)],
    "ROMM-TEST": [(0.20, 0.03), (0.19, 0.02), (0.17, 0.02)],
    "RWMM-ALL": [(0.24, 0.03), (0.25, 0.03), (0.35, 0.03)],
    "RWMM-TEST": [(0.23, 0.04), (0.22, 0.03), (0.23, 0.03)],
    "GIFT": [(0.17, 0.02), (0.20, 0.03), (0.17, 0.01)],
    "SIMPLICITY": [(0.16, 0.03), (0.21, 0.02), (0.19, 0.01)],
    "KEYWORDS": [(0.57, 0.04), (0.50, 0.05), (0.51, 0.02)],
}


def rng(seed=7):
    return np.random.default_rng(seed)


def test_table_5():
    """The source's Table 5: |z| ≤ 1.39 between master and others, but 2.59 and 2.36 for RWMM-ALL combined."""
    apart = {name: abs(separation(*master, *others)) for name, (master, others, _) in TABLE_5.items()}
    assert max(apart.values()) == apart["SIMPLICITY"] == pytest.approx(1.39, abs=5e-3)
    master, others, combined = TABLE_5["RWMM-ALL"]
    assert separation(*combined, *master) == pytest.approx(2.59, abs=5e-3)
    assert separation(*combined, *others) == pytest.approx(2.36, abs=5e-3)


def test_separation_without_error():
    assert math.isnan(separation(0.3, 0, 0.2, 0))


def test_fisher():
    z, p = fisher(0.5, 103, 0.3, 103)
    assert z == pytest.approx((0.5493061 - 0.3095196) / math.sqrt(0.02), abs=1e-6)
    assert p == pytest.approx(2 * stats.norm.sf(z))
    for wrong in ((0.5, 3, 0.3, 9), (1.0, 9, 0.3, 9), (math.nan, 9, 0.3, 9)):
        assert math.isnan(fisher(*wrong)[0])


def test_equivalence():
    """The larger of two one-sided p, written out."""
    for d, se in ((0.01, 0.02), (-0.04, 0.03), (0.2, 0.05)):
        expected = max(stats.norm.sf((d + 0.05) / se), stats.norm.cdf((d - 0.05) / se))
        assert equivalence(d, se, 0.05) == pytest.approx(expected)
    assert equivalence(0.01, 0, 0.05) == 0
    assert equivalence(0.06, 0, 0.05) == 1
    assert math.isnan(equivalence(math.nan, 0.1, 0.05))
    assert math.isnan(equivalence(0.1, math.nan, 0.05))


def study(seed, queries=60, master=1.0, others=1.0):
    """Eight pairs a query; the master rates five, each of two others two or three of the rest; noise as told."""
    stream = rng(seed)
    query = np.repeat(np.arange(queries), 8)
    truth = stream.normal(size=len(query)) + stream.normal(size=queries)[query] * 0.3
    who = np.tile(["m", "m", "m", "m", "m", "a", "b", "a"], queries)
    noise = np.where(who == "m", master, others) * stream.normal(size=len(query))
    frame = pl.DataFrame(
        {
            "query": [f"q{q}" for q in query],
            "item": [f"d{place}" for place in range(len(query))],
            "score": truth + stream.normal(size=len(query)),
            "grade": truth + noise + 20,
            "source": who,
        }
    )
    return frame, Run.of(frame.drop("grade", "source"), system="s"), Opinions.of(frame.drop("score"))


def test_correlations_by_hand():
    frame, run, opinions = study(1)
    made = dominance(run, opinions, resamples=50, rng=rng())
    row = made.frame.row(0, named=True)
    assert (made.master, made.share) == ("m", 0.625)
    assert any("m gave 62% of the ratings" in note for note in made.notes)
    for who, part in (("master", pl.col("source") == "m"), ("others", pl.col("source") != "m"), ("all", pl.lit(True))):
        rows = frame.filter(part)
        assert row[f"pairs_{who}"] == rows.height
        assert row[f"r_{who}"] == pytest.approx(np.corrcoef(rows["score"].to_numpy(), rows["grade"].to_numpy())[0, 1])
    assert row["difference"] == pytest.approx(row["r_master"] - row["r_others"])
    assert (row["z"], row["p_value"]) == fisher(row["r_master"], 300, row["r_others"], 180)


def test_pairs_of_several_are_averaged():
    rows = [("m", 0, 1.0), ("m", 1, 2.0), ("m", 2, 4.0), ("m", 3, 3.0)]
    rows += [("a", 0, 2.0), ("a", 1, 1.0), ("b", 0, 4.0), ("b", 2, 5.0), ("a", 3, 2.0), ("b", 4, 1.0), ("m", 5, 4.0)]
    frame = pl.DataFrame(
        [(who, f"q{item % 2}", f"d{item}", grade) for who, item, grade in rows],
        ["source", "query", "item", "grade"],
        orient="row",
    )
    run = Run.of(
        pl.DataFrame(
            {
                "query": [f"q{i % 2}" for i in range(6)],
                "item": [f"d{i}" for i in range(6)],
                "score": [3.0, 1, 4, 1, 5, 9],
            }
        )
    )
    made = dominance(run, Opinions.of(frame), resamples=10, rng=rng())
    row = made.frame.row(0, named=True)
    assert row["r_others"] == pytest.approx(np.corrcoef([3, 1, 4, 1, 5], [3, 1, 5, 2, 1])[0, 1])
    assert row["r_all"] == pytest.approx(np.corrcoef([3, 1, 4, 1, 5, 9], [7 / 3, 1.5, 4.5, 2.5, 1, 4])[0, 1])
    assert any("4 pairs were rated by m and others" in note for note in made.notes)


def test_tests_hold_their_level():
    """Equal raters: the interval holds 0 and the error is the spread. At the margin: equality is claimed rarely.

    Bounds are 3.5 binomial errors of 100 studies from .95 and .05; 1,000 studies of 200 queries gave .949 and .051.
    """
    found = [dominance(*study(seed)[1:], resamples=300, rng=rng(seed)).frame.row(0, named=True) for seed in range(100)]
    difference = np.array([row["difference"] for row in found])
    assert 0.8 < np.mean([row["se"] for row in found]) / difference.std(ddof=1) < 1.25
    assert np.mean([row["lo"] <= 0 <= row["hi"] for row in found]) > 0.87
    assert abs(difference.mean()) < 4 * difference.std() / math.sqrt(len(found))
    # correlation of truth + N(0,1) with truth + noise·N(0,1), variance of truth 1.09
    true = [1.09 / math.sqrt(2.09 * (1.09 + noise**2)) for noise in (0.5, 1.5)]
    margin = true[0] - true[1]
    claims = [
        dominance(*study(seed, master=0.5, others=1.5)[1:], margin=margin, resamples=300, rng=rng(seed)).frame[
            "p_equivalent"
        ][0]
        < 0.05
        for seed in range(100)
    ]
    assert np.mean(claims) < 0.13


def test_verdicts():
    def verdict(margin, **settings):
        return dominance(*study(5, **settings)[1:], margin=margin, resamples=400, rng=rng()).frame["verdict"][0]

    assert verdict(0.3) == "equal within 0.3"
    assert verdict(0.001) == "neither shown to differ nor to be equal"
    assert verdict(0.05, master=0.3, others=3.0) == "differ"
    assert verdict(0.9, master=0.3, others=3.0) == "differ, but by less than 0.9"
    assert verdict(0.05, queries=1) == "cannot be compared"


def test_pooled_outside_both():
    """Simpson: the master rates other pairs on another level, and the pooled correlation exceeds both."""
    frame, run, _ = study(3)
    lifted = frame.with_columns(
        (pl.col("score") + 9 * (pl.col("source") == "m")).alias("score"),
        (pl.col("grade") + 9 * (pl.col("source") == "m")).alias("grade"),
    )
    run = Run.of(lifted.drop("grade", "source"), system="s")
    row = dominance(run, Opinions.of(lifted.drop("score")), resamples=20, rng=rng()).frame.row(0, named=True)
    assert row["outside"]
    assert row["r_all"] > max(row["r_master"], row["r_others"])


def test_mapped_and_named():
    _, run, opinions = study(4)
    made = dominance(run, opinions, master="a", mapped=True, resamples=20, rng=rng())
    row = made.frame.row(0, named=True)
    assert made.master == "a"
    assert row["pairs_master"] == 120
    assert row["r_all"] == pytest.approx(dominance(run, opinions, resamples=5, rng=rng()).frame["r_all"][0], abs=0.08)


def test_equally_many_and_too_few():
    frame, run, _ = study(4, queries=4)
    some = Opinions.of(frame.filter(pl.col("source") != "m").drop("score").with_columns(source=pl.lit("a")))
    with pytest.raises(JoinError, match="all ratings are from 'a'"):
        dominance(run, some, rng=rng())
    two = frame.filter(pl.col("source") != "m").drop("score")[:2]
    made = dominance(run, Opinions.of(two), resamples=5, rng=rng())
    assert "a and b gave equally many" in made.notes[0]
    assert math.isnan(made.frame["difference"][0])
    assert any("fewer than 3 scored pairs" in note for note in made.notes)


def test_bad_settings():
    _, run, opinions = study(1, queries=3)
    with pytest.raises(TextError, match="margin of equivalence"):
        dominance(run, opinions, margin=0, rng=rng())
    with pytest.raises(TextError, match="nobody called 'mm'"):
        dominance(run, opinions, master="mm", rng=rng())
