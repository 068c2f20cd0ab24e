from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from evaluation_samples import (
    EVERYTHING,
    sample_comparison,
    sample_evaluation,
    sample_in_doubt,
    sample_scores,
    sample_summary,
    system_names,
)

from endoxa.errors import EndoxaError
from endoxa.evaluations import believed
from endoxa.evaluations.sentences import verdict
from endoxa.evaluations.standings import (
    best_values,
    chances,
    contenders,
    correction,
    counts,
    headline,
    order_of,
    p_best,
    pair_of,
    pairs_of,
    ranking,
    rival,
    undecided,
    variances,
)
from endoxa.notes import note, text
from endoxa.tables import Comparison


def test_baseline_is_the_rival() -> None:
    evaluation = sample_evaluation(6, baseline="bm25-rm3")
    assert rival(evaluation, "AP") == ("hybrid-rrf", "bm25-rm3")
    assert "0.052 above the baseline bm25-rm3" in verdict(evaluation)
    assert rival(sample_evaluation(1), "AP") is None


def test_ranking_puts_undefined_last() -> None:
    evaluation = sample_evaluation(6)
    holes = evaluation.summary.with_columns(value=pl.when(pl.col("system") != "bm25").then("value"))
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
    ("method", "name"), [("holm", "Holm"), ("bh", "Benjamini–Hochberg"), ("none", ""), ("tukey", "Tukey HSD")]
)
def test_the_name_of_the_correction(method: str, name: str) -> None:
    notes = (text("test: paired"), note("compared.correction", method=method, least=15, most=15))
    assert correction(Comparison(pl.DataFrame(), notes)) == name
    assert correction(Comparison(pl.DataFrame(), notes[:1])) == "adjustment"


def test_headline_is_not_a_count_and_undecided_counts() -> None:
    evaluation = sample_evaluation(6)
    scores = sample_scores(evaluation.scores.systems, measures=("NumRet", "AP"))
    assert headline(replace(evaluation, scores=scores)) == "AP"
    assert undecided(evaluation, "AP") == (["bm25"], 5)
    assert undecided(replace(evaluation, compared=None), "AP") is None
    with pytest.raises(EndoxaError, match="summary is empty"):
        headline(replace(evaluation, summary=sample_summary(scores).clear()))


def test_counts_are_whole_numbers_without_interval() -> None:
    summary = sample_evaluation(2).summary
    assert counts(summary) == {"NumRet"}
    one_query = summary.with_columns(value=pl.lit(1.0), lo=pl.lit(None, pl.Float64), hi=pl.lit(None, pl.Float64))
    assert counts(one_query) == {"NumRet"}  # P@10 = 1 on a single query is still a share


def test_the_best_value_of_each_measure_but_counts() -> None:
    summary = sample_evaluation(6).summary
    best = best_values(summary, ["P@10"])
    assert set(best) == {"AP", "nDCG@10", "P@10"}
    values = {name: summary.filter(pl.col("measure") == name)["value"] for name in best}
    assert best["AP"] == round(values["AP"].max(), 4)
    assert best["P@10"] == round(values["P@10"].min(), 4)
    assert best_values(summary.with_columns(value=pl.lit(0.5))) == {}


def test_the_virtual_system_is_no_contender() -> None:
    six = sample_in_doubt(system_names(6))
    assert order_of(six, "AP")[2].system == EVERYTHING
    assert EVERYTHING not in [one.system for one in contenders(six, "AP")]
    assert rival(six, "AP") == ("bm25", "bm25-rm3")
    low = sample_in_doubt(["a", "b"], measures=("Unjudged@10",))
    assert [one.system for one in contenders(low, "Unjudged@10")] == ["b", "a"]


def test_chances_are_counted_from_the_same_draws() -> None:
    six = sample_in_doubt(system_names(6))
    assert six.scores is not None
    spread = believed.doubts_of(six.scores, six.settings).spread("AP")
    drawn = spread.drawn("all")
    assert drawn is not None
    found = chances(six, "AP")
    assert len(found) == 15  # ⊤ is not a contender
    for one in found:
        gap = drawn[spread.systems.index(one.system)] - drawn[spread.systems.index(one.against)]
        assert one.better == pytest.approx((gap > 0).mean())
        assert one.turned().better == pytest.approx((gap < 0).mean())
        assert one.turned().turned() == one
        assert one.superiority + one.turned().superiority == pytest.approx(1)
        assert one.differs == one.turned().differs == (one.lo > 0 or one.hi < 0)
    assert chances(replace(six, compared=None), "AP") == []


def test_only_known_probabilities_and_doubts() -> None:
    six = sample_in_doubt(system_names(6))
    assert set(p_best(six, "AP")) == set(system_names(6))
    assert sum(p_best(six, "AP").values()) == pytest.approx(1)
    assert p_best(sample_evaluation(2), "AP") == {}
    assert set(variances(six)["bm25"]) == {"truth", "people", "queries"}
    assert variances(sample_evaluation(2)) == {}
