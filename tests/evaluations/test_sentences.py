"""What evaluations say in words."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from evaluation_samples import (
    EVERYTHING,
    sample_comparison,
    sample_evaluation,
    sample_in_doubt,
    sample_scores,
    system_names,
)

from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.sentences import advice, answer, guess, remark, sentences, under_doubt, verdict, warnings_of
from endoxa.tables import Comparison
from endoxa.verbs.measure import measure

SIX = sample_in_doubt(system_names(6))
MOST = "Most of the doubt ({} % of the variance, on average) comes from {}"


def two(measure: str = "AP", **pair: float | None) -> Evaluation:
    """A above B by what `pair` says, on a summary that agrees."""
    scores = sample_scores(["A", "B"], measures=(measure,))
    summary = pl.DataFrame(
        {
            "system": ["B", "A"],
            "measure": [measure] * 2,
            "value": [0.281, 0.312],
            "lo": [0.25, 0.28],
            "hi": [0.31, 0.34],
        }
    ).with_columns(se=pl.lit(0.01), queries=pl.lit(50), undefined=pl.lit(0))
    row = {"difference": 0.031, "lo": 0.010, "hi": 0.052, "p_value": 0.001, "p_adjusted": 0.004} | pair
    frame = sample_comparison(scores).frame.with_columns(
        *(pl.lit(value, pl.Float64).alias(name) for name, value in row.items())
    )
    return Evaluation("judgments", scores, summary, compared=Comparison(frame, ("correction: Holm over 1 comparison",)))


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
    evaluation = two()
    none = Comparison(evaluation.comparison.frame, ("correction: none, over 1 comparison per measure",))  # type: ignore[union-attr]
    assert "p = 0.001, not adjusted" in verdict(replace(evaluation, compared=none))


def test_pair_may_contradict_the_means() -> None:
    text = verdict(two(difference=-0.02, lo=-0.03, hi=-0.01))
    assert "on the queries that both answered, however, B is above it by 0.020" in text


def test_untested_single_equal_and_undefined() -> None:
    evaluation = two()
    untested = replace(evaluation, compared=None)
    assert verdict(untested).endswith(", 0.031 above the runner-up B; the difference was not tested.")
    alone = sample_evaluation(1)
    assert "there is no other system to compare it with" in verdict(alone)
    assert "95 % interval" in verdict(alone)
    equal = replace(untested, summary=evaluation.summary.with_columns(value=pl.lit(0.3)))
    assert verdict(equal) == "B and A share the highest AP, 0.3000 (over 50 queries); the difference was not tested."
    nothing = replace(untested, summary=evaluation.summary.with_columns(value=pl.lit(float("nan"))))
    assert verdict(nothing) == "AP is undefined for every system: there is nothing to compare."
    half = evaluation.summary.with_columns(value=pl.when(pl.col("system") == "A").then(0.3))
    assert verdict(replace(untested, summary=half)).endswith("AP is undefined for all others.")
    six = sample_evaluation(6)
    same = replace(six, summary=six.summary.with_columns(value=pl.lit(0.5)))
    assert verdict(same).startswith("All 6 systems have the same AP, 0.5000")


def test_small_values_may_be_better() -> None:
    text = verdict(two("Unjudged@10"))
    assert text.startswith("B has the lowest Unjudged@10, 0.2810 (over 50 queries), and is below the runner-up A by")


def test_names_go_through_the_callers_hands() -> None:
    assert "[A] has the highest [AP]" in verdict(two(), name=lambda text: f"[{text}]")


def test_the_first_sentence_is_the_answer() -> None:
    six = sample_evaluation(6)
    assert six.sentences == sentences(six) == (verdict(six), remark(six))
    assert six.sentences[1] == (
        "The best system was compared with 5 others on AP. One of them cannot be told apart from it at the 0.05 level."
    )
    assert sample_evaluation(2).sentences == (verdict(sample_evaluation(2)),)
    assert SIX.sentences == (f"{guess(SIX)} {under_doubt(SIX)}", *advice(SIX))
    assert guess(SIX).startswith("Nobody judged: this order is a guess by the consensus of the systems")
    shaky = replace(SIX, tables={"depths": pl.DataFrame({"depth": [10, 100], "tau": [0.41, 1.0]})})
    assert "and here it changes with the vote depth (tau 0.41)" in guess(shaky)
    assert guess(six) == ""
    empty = replace(six, summary=six.summary.clear())
    assert answer(empty) == "There is no score: nothing can be compared."


# Under doubt


def test_verdict_names_the_leader_and_whom_it_cannot_be_told_from() -> None:
    text = under_doubt(SIX)
    rows = SIX.summary.filter(pl.col("measure") == "AP").sort("value", descending=True)
    best = rows.row(0, named=True)
    assert best["system"] == "bm25"
    assert text.startswith(
        f"Within this consensus bm25 leads with AP {best['value']:.4f} (95 % interval {best['lo']:.4f} to "
        f"{best['hi']:.4f}); it is the best of 6 systems with probability {best['p_best']:.2f}"
    )
    assert SIX.comparison is not None
    pairs = SIX.comparison.frame.filter(
        (pl.col("measure") == "AP") & (pl.col("doubt") == "all") & (pl.col("system") == "bm25")
    )
    same = pairs.filter((pl.col("lo") <= 0) & (pl.col("baseline") != EVERYTHING)).sort("p_better")
    assert same.height == 2
    first, second = same.select("baseline", "p_better").iter_rows()
    assert f"It cannot be told apart from {first[0]} (it is better with probability {first[1]:.2f})" in text
    assert text.endswith(f" and {second[0]} ({second[1]:.2f}).")
    assert EVERYTHING not in text


def test_verdict_of_any_other_belief_and_of_far_and_equal_systems() -> None:
    far = sample_in_doubt(["a", "b", "c"], model="raters", virtual=None, step=0.2)
    assert under_doubt(far).startswith("Under this belief a leads with AP ")
    assert under_doubt(far).endswith("probability > 0.99. It can be told apart from all others.")
    assert "P@10" not in under_doubt(far)
    two = sample_in_doubt(["a", "b"], step=0.01)
    assert re.search(r"it is better than b with probability 0\.\d\d\. The two cannot be told apart\.", under_doubt(two))
    alone = under_doubt(sample_in_doubt(["lonely"], measures=("AP",)))
    assert "lonely has AP 0.5000" in alone
    assert "there is no other system to compare it with." in alone
    even = replace(two, summary=two.summary.with_columns(value=pl.lit(0.4)))
    assert "a and b share the lead with AP 0.4000" in under_doubt(even)
    nothing = replace(two, summary=two.summary.with_columns(value=pl.lit(math.nan)))
    assert (
        under_doubt(nothing) == "Within this consensus AP is undefined for every system: there is nothing to compare."
    )
    marked = under_doubt(two, name=lambda text: f"<{text}>")
    assert "<a> leads with <AP>" in marked
    assert "than <b>" in marked


def test_verdict_says_when_another_is_the_best_more_often_and_when_none_beats_the_virtual_system() -> None:
    third = SIX.summary["system"].unique(maintain_order=True)[2]
    often = SIX.summary.with_columns(p_best=pl.when(pl.col("system") == third).then(0.9).otherwise("p_best"))
    assert f", but {third} is the best more often, with probability 0.90" in under_doubt(replace(SIX, summary=often))
    high = SIX.summary.with_columns(value=pl.when(pl.col("system") == EVERYTHING).then(0.9).otherwise("value"))
    text = under_doubt(replace(SIX, summary=high))
    assert text.startswith("Within this consensus bm25 leads")
    assert text.endswith(
        f" But no system does better than {EVERYTHING}, which returns everything in random order (0.9000)."
    )
    assert "But" not in under_doubt(replace(SIX, summary=high.filter(pl.col("system") != EVERYTHING)))
    small = sample_in_doubt(system_names(6), measures=("Unjudged@10",))
    everything = pl.col("system") == EVERYTHING
    low = small.summary.with_columns(value=pl.when(everything).then(0.01).otherwise("value"))
    assert under_doubt(replace(small, summary=low)).endswith("everything in random order (0.0100).")
    high = small.summary.with_columns(value=pl.when(everything).then(0.9).otherwise("value"))
    assert "But" not in under_doubt(replace(small, summary=high))


def with_shares(made: Evaluation, truth: float, people: float, queries: float) -> Evaluation:
    parts = {"truth": truth, "people": people, "queries": queries}
    variance = pl.col("doubt").replace_strict(parts, return_dtype=pl.Float64)
    total = sum(part for part in parts.values() if not math.isnan(part))
    part = variance / total if total else pl.lit(None, pl.Float64)
    return replace(made, doubts=made.doubts.with_columns(variance=variance, share=part))


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((0.7, 0.2, 0.1), MOST.format("70.0", "the uncertain relevance of items: judged")),
        ((0.1, 0.8, 0.1), MOST.format("80.0", "the choice of voters: more voters")),
        ((0.1, 0.2, 0.7), MOST.format("70.0", "the choice of queries: more q")),
        ((0.3, 0.3, 0.4), "The largest part of the doubt (40.0 % of"),
        ((0.0, 0.0, 0.0), "None of the known doubts changes a mean."),
    ],
)  # fmt: skip
def test_advice_follows_the_largest_doubt(parts: tuple[float, float, float], said: str) -> None:
    told = advice(with_shares(SIX, *parts))
    assert len(told) == 1
    assert told[0].startswith(said)


def test_advice_says_which_doubt_is_not_known() -> None:
    made = sample_in_doubt(["a", "b", "c"], measures=("AP",), model="raters", virtual=None, people=0.0)
    told = advice(made)
    assert told[1:] == [
        "The doubt from the choice of people is unknown: there is only one source, or none that can be resampled. "
        "The intervals do not include it."
    ]
    assert "asking more people" in advice(with_shares(made, 0.1, 0.8, 0.1))[0]
    nan = math.nan
    assert [line.split(":")[0] for line in advice(with_shares(made, nan, nan, nan))] == [
        "The doubt from the uncertain relevance of items is unknown",
        "The doubt from the choice of people is unknown",
        "The doubt from the choice of queries is unknown",
    ]


def test_the_virtual_system_has_no_part_in_the_advice() -> None:
    loud = SIX.doubts.with_columns(share=pl.when(pl.col("system") == EVERYTHING).then(1e6).otherwise("share"))
    assert advice(replace(SIX, doubts=loud)) == advice(SIX)


# Warnings


def warned(run: Any, qrels: Any, measures: tuple[str, ...] = ("AP",), **policy: Any) -> str:
    return "\n".join(warnings_of(measure(run, qrels, list(measures), **policy)))


def test_a_clean_run_has_no_warnings() -> None:
    assert warned({"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 0}}) == ""


def test_missing_and_unknown_topics() -> None:
    text = warned({"q": {"a": 2.0}, "x": {"a": 1.0}}, {"q": {"a": 1}, "r": {"a": 1}})
    assert "Judged topics that a run lacks (they count as empty lists): run 1." in text
    assert "Topics without judgments (ignored): run 1." in text


def test_ties_say_what_decides() -> None:
    run, qrels = {"q": {"a": 1.0, "b": 1.0}}, {"q": {"a": 1, "b": 0}}
    assert "item id decides their order): run 100.0%" in warned(run, qrels)
    assert "means over their orders" in warned(run, qrels, ties="average")


def test_unjudged_items_unless_they_are_taken_out() -> None:
    run, qrels = {"q": {c: float(i) for i, c in enumerate("abcdef")}}, {"q": {"a": 1}}
    assert "Few of the retrieved items were judged (the rest counts as not relevant): run 16.7%." in warned(run, qrels)
    assert warned(run, qrels, unjudged="condensed") == ""


def test_undefined_values_are_counted() -> None:
    run, qrels = {"q": {"a": 1.0}, "r": {"a": 1.0}}, {"q": {"a": 1}, "r": {"a": 0}}
    assert "AP is undefined (0/0) for 1 of 2 lists" in warned(run, qrels)


def test_many_systems_are_counted_not_listed() -> None:
    run = {f"s{n}": {"q": {"a": 1.0, "b": 1.0}} for n in range(9)}
    assert "and 5 more systems." in warned(run, {"q": {"a": 1, "b": 0}})
