from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from report_samples import sample_comparison, sample_report, sample_scores, sample_summary

from endoxa.errors import EndoxaError
from endoxa.reports import Report
from endoxa.reports.findings import correction, headline, pair_of, pairs_of, ranking, rival, undecided, verdict
from endoxa.tables import Comparison


def two(**pair: float | None) -> Report:
    """A above B by what `pair` says, on a summary that agrees."""
    scores = sample_scores(["A", "B"], measures=("AP",))
    summary = pl.DataFrame(
        {"system": ["B", "A"], "measure": ["AP", "AP"], "value": [0.281, 0.312], "lo": [0.25, 0.28], "hi": [0.31, 0.34]}
    ).with_columns(se=pl.lit(0.01), queries=pl.lit(50), undefined=pl.lit(0))
    row = {"difference": 0.031, "lo": 0.010, "hi": 0.052, "p_value": 0.001, "p_adjusted": 0.004} | pair
    frame = sample_comparison(scores).frame.with_columns(
        *(pl.lit(value, pl.Float64).alias(name) for name, value in row.items())
    )
    return Report("t", scores, summary, Comparison(frame, ("correction: Holm over 1 comparison",)))


def test_sure_difference() -> None:
    assert verdict(two()) == (
        "A has the highest AP, 0.3120 (over 50 queries), and is above the runner-up B by 0.031 "
        "(95 % interval 0.010 to 0.052, p = 0.004 after Holm)."
    )


def test_unsure_difference() -> None:
    assert verdict(two(lo=-0.01, p_adjusted=0.31)) == (
        "A has the highest AP, 0.3120 (over 50 queries), but cannot be told apart from the runner-up B: "
        "the difference is 0.031 (95 % interval −0.010 to 0.052, p = 0.310 after Holm)."
    )


def test_without_a_p_value_the_interval_decides() -> None:
    bare = {"p_value": None, "p_adjusted": None}
    assert "is above the runner-up B by 0.031 (95 % interval 0.010 to 0.052)." in verdict(two(**bare))
    assert "cannot be told apart" in verdict(two(lo=-0.01, **bare))


def test_small_p_and_unadjusted_p() -> None:
    assert "p < 0.001 after Holm" in verdict(two(p_adjusted=1e-9))
    assert "p = 0.001, not adjusted" in verdict(two(p_adjusted=None))
    report = two()
    none = Comparison(report.comparison.frame, ("correction: none, over 1 comparison per measure",))  # type: ignore[union-attr]
    assert "p = 0.001, not adjusted" in verdict(replace(report, comparison=none))


def test_pair_may_contradict_the_means() -> None:
    text = verdict(two(difference=-0.02, lo=-0.03, hi=-0.01))
    assert "on the queries that both answered, however, B is above it by 0.020" in text


def test_untested_single_equal_and_undefined() -> None:
    report = two()
    untested = replace(report, comparison=None)
    assert verdict(untested).endswith(", 0.031 above the runner-up B; whether that is more than chance was not tested.")
    alone = sample_report(1)
    assert "there is no other system to hold it against" in verdict(alone)
    assert "95 % interval" in verdict(alone)
    equal = replace(untested, summary=report.summary.with_columns(value=pl.lit(0.3)))
    assert verdict(equal) == "B and A share the highest AP, 0.3000 (over 50 queries); no test was made."
    nothing = replace(untested, summary=report.summary.with_columns(value=pl.lit(float("nan"))))
    assert verdict(nothing) == "AP is undefined for every system: there is nothing to compare."
    half = report.summary.with_columns(value=pl.when(pl.col("system") == "A").then(0.3))
    assert verdict(replace(untested, summary=half)).endswith("AP is undefined for all others.")
    six = sample_report(6)
    same = replace(six, summary=six.summary.with_columns(value=pl.lit(0.5)))
    assert verdict(same).startswith("All 6 systems have the same AP, 0.5000")


def test_baseline_is_the_rival() -> None:
    report = sample_report(6, baseline="bm25-rm3")
    assert rival(report, "AP") == ("hybrid-rrf", "bm25-rm3")
    assert "is above the baseline bm25-rm3 by 0.052" in verdict(report)
    assert rival(sample_report(1), "AP") is None


def test_small_values_may_be_better() -> None:
    report = replace(two(), lower=("AP",))
    assert verdict(report).startswith("B has the lowest AP, 0.2810 (over 50 queries), and is below the runner-up A by")


def test_names_go_through_the_callers_hands() -> None:
    assert "[A] has the highest [AP]" in verdict(two(), name=lambda text: f"[{text}]")


def test_ranking_puts_undefined_last() -> None:
    report = sample_report(6)
    holes = report.summary.with_columns(value=pl.when(pl.col("system") != "bm25").then("value"))
    order = [one.system for one in ranking(holes, "AP")]
    assert order[0] == "hybrid-rrf"
    assert order[-1] == "bm25"
    with pytest.raises(EndoxaError, match=r"no measure 'Ap'.*did you mean AP"):
        ranking(holes, "Ap")


def test_pairs_turn_and_prefer_the_widest_doubt() -> None:
    scores = sample_scores(["A", "B", "C"])
    comparison = sample_comparison(scores)
    there, back = pair_of(comparison, "AP", "A", "B"), pair_of(comparison, "AP", "B", "A")
    assert there is not None
    assert back is not None
    assert (back.difference, back.lo, back.hi) == (-there.difference, -there.hi, -there.lo)
    assert pair_of(comparison, "AP", "A", "Z") is None
    both = pl.concat([comparison.frame, comparison.frame.with_columns(doubt=pl.lit("all"), p_adjusted=pl.lit(0.5))])
    assert {pair.p for pair in pairs_of(Comparison(both, comparison.notes), "AP")} == {0.5}
    assert len(pairs_of(Comparison(both, comparison.notes), "AP")) == 3


@pytest.mark.parametrize(
    ("note", "name"),
    [
        ("correction: Holm over 15 comparisons per measure, not across measures", "Holm"),
        ("correction: Benjamini–Hochberg over 15 comparisons per measure", "Benjamini–Hochberg"),
        ("correction: none, over 15 comparisons per measure", ""),
        ("correction: none added: Tukey's p-values already hold for all pairs", "Tukey HSD"),
        ("something else", "adjustment"),
    ],
)
def test_correction_is_read_from_the_notes(note: str, name: str) -> None:
    assert correction(Comparison(pl.DataFrame(), ("test: paired", note))) == name


def test_headline_is_not_a_count_and_undecided_counts() -> None:
    report = sample_report(6)
    scores = sample_scores(report.scores.systems, measures=("NumRet", "AP"))
    assert headline(replace(report, scores=scores)) == "AP"
    assert undecided(report, "AP") == (1, 5)
    assert undecided(replace(report, comparison=None), "AP") is None
    with pytest.raises(EndoxaError, match="summary is empty"):
        headline(replace(report, summary=sample_summary(scores).clear()))
