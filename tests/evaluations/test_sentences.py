"""What evaluations say in words."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from answer_samples import contradictions
from evaluation_samples import (
    EVERYTHING,
    sample_comparison,
    sample_evaluation,
    sample_in_doubt,
    sample_scores,
    system_names,
)

from endoxa.comparisons.forecast import Forecast
from endoxa.comparisons.power import queries_needed
from endoxa.comparisons.prediction import Estimates
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.judged import ALL_PAIRS
from endoxa.evaluations.sentences import (
    AGAIN,
    DECIDE,
    USUAL,
    advice,
    answer,
    believed,
    by_other_measures,
    caveats,
    estimated,
    measured,
    sampled,
    sentences,
    under_doubt,
    verdict,
    warnings_of,
)
from endoxa.notes import note, texts
from endoxa.tables import Belief, Comparison, Opinions, Run
from endoxa.verbs.believe import believe
from endoxa.verbs.evaluate import evaluate
from endoxa.verbs.measure import measure

SIX = sample_in_doubt(system_names(6))
HOLM = note("compared.correction", method="holm", least=1, most=1)
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
    return Evaluation("judgments", scores, summary, compared=Comparison(frame, (HOLM,)))


def test_sure_difference() -> None:
    assert verdict(two()) == (
        "A leads on AP with 0.3120 over 50 queries, 0.031 above the runner-up B (95 % interval 0.010 to 0.052, "
        "p = 0.004 after Holm); A can be told apart from it."
    )


def test_unsure_difference() -> None:
    assert verdict(two(lo=-0.01, p_adjusted=0.31, effect=0.2)) == (
        "A is ahead on AP with 0.3120 over 50 queries, 0.031 above the runner-up B (95 % interval −0.010 to 0.052, "
        "p = 0.310 after Holm); A cannot be told apart from B; about 150 more queries like these would settle it."
    )


def test_what_settles_it_is_a_number_that_somebody_could_collect() -> None:
    assert queries_needed(0.2, 1.0) - 50 == 149
    hopeless = verdict(two(lo=-0.01, p_adjusted=0.31, effect=0.01))
    assert hopeless.endswith("; no realistic number of queries would settle it.")
    enough = verdict(two(lo=-0.01, p_adjusted=0.051, effect=0.6))
    assert enough.endswith("; A cannot be told apart from B.")


def test_without_a_p_value_the_interval_decides() -> None:
    bare = {"p_value": None, "p_adjusted": None}
    assert "0.031 above the runner-up B (95 % interval 0.010 to 0.052); A can be" in verdict(two(**bare))
    assert "cannot be told apart" in verdict(two(lo=-0.01, **bare))


def test_small_p_and_unadjusted_p() -> None:
    assert "p < 0.001 after Holm" in verdict(two(p_adjusted=1e-9))
    assert "p = 0.001, not adjusted" in verdict(two(p_adjusted=None))
    evaluation = two()
    none = Comparison(evaluation.comparison.frame, (HOLM._replace(facts={**HOLM.facts, "method": "none"}),))  # type: ignore[union-attr]
    assert "p = 0.001, not adjusted" in verdict(replace(evaluation, compared=none))


def test_pair_may_contradict_the_means() -> None:
    text = verdict(two(difference=-0.02, lo=-0.03, hi=-0.01))
    assert "on the queries that both answered, however, B is above it by 0.020" in text


def test_the_same_run_twice() -> None:
    run = {"q1": {"d": 3.0, "e": 2.0, "f": 1.0}, "q2": {"f": 3.0, "e": 2.0}}
    turned = {"q1": {"e": 3.0, "d": 2.0, "f": 1.0}, "q2": {"e": 3.0, "f": 2.0}}
    judgments = {"q1": {"d": 1, "e": 0}, "q2": {"e": 1}}
    copied = evaluate({"a": run, "b": run, "c": {"q1": {"f": 1.0}}}, judgments, "AP")
    assert answer(copied).startswith(
        "a and b share the lead on AP with 0.7500 over 2 queries (the same on every query)"
    )
    by_chance = evaluate({"a": run, "b": turned}, judgments, "AP")
    assert answer(by_chance).startswith("a and b share the lead on AP with 0.7500 over 2 queries (95 % interval")
    guessed = evaluate({"a": run, "b": run, "c": turned})
    told = answer(guessed)
    assert "; a and b are the same on every query. Nothing is settled: it cannot be told apart from c" in told
    two = answer(evaluate({"a": run, "b": run}))
    assert two.startswith("a and b are the same on every query: they are equal, whatever the labels.")
    every = answer(evaluate({"a": run, "b": run, "c": run}))
    assert every.startswith("a, b and c are the same on every query: they are equal, whatever the labels.")
    assert "told apart from" not in every and "settle" not in every
    reordered = answer(evaluate({"a": run, "b": {**run, "q2": {"f": 2.0, "e": 3.0}}}))
    assert "same on every query" not in reordered


def test_untested_single_equal_and_undefined() -> None:
    evaluation = two()
    untested = replace(evaluation, compared=None)
    assert verdict(untested).endswith(", 0.031 above the runner-up B; the difference was not tested.")
    alone = sample_evaluation(1)
    assert "there is no other system to compare it with" in verdict(alone)
    assert "95 % interval" in verdict(alone)
    equal = replace(untested, summary=evaluation.summary.with_columns(value=pl.lit(0.3)))
    assert verdict(equal) == "B and A share the lead on AP with 0.3000 over 50 queries; the difference was not tested."
    nothing = replace(untested, summary=evaluation.summary.with_columns(value=pl.lit(float("nan"))))
    assert verdict(nothing) == "AP is undefined for every system: there is nothing to compare."
    half = evaluation.summary.with_columns(value=pl.when(pl.col("system") == "A").then(0.3))
    assert verdict(replace(untested, summary=half)).endswith("AP is undefined for all others.")
    six = sample_evaluation(6)
    same = replace(six, summary=six.summary.with_columns(value=pl.lit(0.5)))
    assert verdict(same).startswith("All 6 systems have the same AP, 0.5000")


def test_small_values_may_be_better() -> None:
    text = verdict(two("Unjudged@10"))
    assert text.startswith("B leads on Unjudged@10 (lower is better) with 0.2810 over 50 queries, 0.031 below the")


def test_names_go_through_the_callers_hands() -> None:
    assert "[A] leads on [AP]" in verdict(two(), name=lambda text: f"[{text}]")


def test_the_first_sentence_is_the_answer() -> None:
    six = sample_evaluation(6)
    assert six.sentences == sentences(six) == (verdict(six) + by_other_measures(six),)
    assert six.sentences[0].endswith(
        "; hybrid-rrf cannot be told apart from bm25. It has the best nDCG@10 and P@10 too."
    )
    assert SIX.sentences == (under_doubt(SIX) + by_other_measures(SIX), *caveats(SIX), *advice(SIX))
    assert under_doubt(SIX).startswith("Within this consensus bm25 is ahead on AP")
    shaky = replace(SIX, tables={"depths": pl.DataFrame({"depth": [10, 100], "tau": [0.41, 1.0]})})
    assert caveats(shaky)[0] == "The order changes with the vote depth (tau 0.41)."
    assert caveats(six) == []
    empty = replace(six, summary=six.summary.clear())
    assert answer(empty) == "There is no score: nothing can be compared."


@pytest.mark.parametrize("evaluation", [sample_evaluation(2), sample_evaluation(6), SIX, two()], ids=str)
def test_the_answer_on_one_measure_is_one_sentence_or_two_in_doubt(evaluation: Evaluation) -> None:
    """The lead, and how sure it is; the further measures add a sentence of their own."""
    first = under_doubt(evaluation) if evaluation.in_doubt else verdict(evaluation)
    text = re.sub(r"\d\.\d|judge\.csv", "", first)
    assert text.endswith(".") and text.count(".") == (2 if evaluation.in_doubt else 1)
    assert answer(evaluation) == first + by_other_measures(evaluation)


def test_further_measures_agree_or_the_answer_says_which_ones_do_not() -> None:
    def evaluated(*leaders: str) -> Evaluation:
        """Each measure has the leader that is named, by 0.1."""
        rows = [
            {
                "system": system,
                "measure": measure,
                "value": 0.5 + (system == leader) / 10,
                "lo": 0.0,
                "hi": 1.0,
                "queries": 9,
                "undefined": 0,
            }
            for measure, leader in zip(("AP", "nDCG@10", "P@10"), leaders, strict=False)
            for system in system_names(3)
        ]
        return replace(SIX, summary=pl.DataFrame(rows).with_columns(p_best=pl.lit(0.3)), virtual=None)

    a, b, c = system_names(3)
    assert by_other_measures(evaluated(a)) == ""
    assert by_other_measures(evaluated(a, a, a)) == " It has the best nDCG@10 and P@10 too."
    assert by_other_measures(evaluated(a, b, a)) == f" The measures disagree: {b} has the best nDCG@10."
    assert by_other_measures(evaluated(a, b, b)) == f" The measures disagree: {b} has the best nDCG@10 and P@10."
    assert by_other_measures(evaluated(a, b, c)) == (
        f" The measures disagree: {b} has the best nDCG@10, {c} has the best P@10."
    )


def test_the_answer_rests_on_the_rows_of_the_comparison() -> None:
    """Of few systems on every pair, as `compare` tests them; of many only on those with the best."""
    qrels = {f"q{n}": {"x": 1, "y": 1} for n in range(12)}

    def run(count: int) -> dict[str, Any]:
        rng = np.random.default_rng(3)
        return {
            f"s{s:02}": {q: {item: float(rng.normal(s / count)) for item in "xyabcd"} for q in qrels}
            for s in range(count)
        }

    few = evaluate(run(4), qrels, ["AP", "P@2"])
    rows = few.comparison.frame.filter(pl.col("measure") == "AP")  # type: ignore[union-attr]
    assert few.decisive is not None and few.decisive.frame.equals(rows)
    many = evaluate(run(ALL_PAIRS + 1), qrels, ["AP"])
    assert many.decisive is not None and many.decisive.frame.height == ALL_PAIRS
    assert set(many.decisive.frame["baseline"]) == {many.sentences[0].split()[0]}
    one = evaluate({"a": {"q": {"x": 1}}, "b": {"q": {"y": 1}}}, {"q": {"x": 1}}, ["AP"])
    assert one.sentences[0].endswith("the difference was not tested.")


# Under doubt


def test_verdict_names_the_leader_and_whom_it_cannot_be_told_from() -> None:
    text = under_doubt(SIX)
    rows = SIX.summary.filter(pl.col("measure") == "AP").sort("value", descending=True)
    best = rows.row(0, named=True)
    assert best["system"] == "bm25"
    assert text.startswith(
        f"Within this consensus bm25 is ahead on AP with {best['value']:.4f} "
        f"(95 % interval {best['lo']:.4f} to {best['hi']:.4f}). bm25 is the best of 6 systems with probability "
        f"{best['p_best']:.2f} and cannot be told apart from "
    )
    assert SIX.comparison is not None
    pairs = SIX.comparison.frame.filter(
        (pl.col("measure") == "AP") & (pl.col("doubt") == "all") & (pl.col("system") == "bm25")
    )
    same = pairs.filter((pl.col("lo") <= 0) & (pl.col("baseline") != EVERYTHING)).sort("p_better")
    assert same.height == 2
    first, second = same.select("baseline", "p_better").iter_rows()
    assert f"apart from {first[0]} (P(better) {first[1]:.2f})" in text
    assert f" and {second[0]} ({second[1]:.2f})" in text
    assert EVERYTHING not in text


def guessed(better: dict[str, float], tie: dict[str, float] | None = None) -> Evaluation:
    """Runs alone: no interval, P(better) of bm25 against each of the others, its P(best) .4."""
    ties = tie or {}
    rows = [
        {"measure": "AP", "system": "bm25", "baseline": other, "doubt": "all", "difference": 0.1, "lo": math.nan,
         "hi": math.nan, "p_better": p, "p_tie": ties.get(other, 0.0), "superiority": p + ties.get(other, 0.0) / 2}
        for other, p in better.items()
    ]  # fmt: skip
    summary = SIX.summary.filter(pl.col("system").is_in(["bm25", *better]), pl.col("measure") == "AP").with_columns(
        lo=pl.lit(math.nan), hi=pl.lit(math.nan), p_best=pl.lit(0.4), consensus=pl.col("value") / 2,
        value=pl.when(pl.col("system") == "bm25").then(0.9).otherwise("value"),
    )  # fmt: skip
    return replace(SIX, summary=summary, compared=Comparison(pl.DataFrame(rows)), deciding=None, tables={})


def test_runs_alone_are_a_guess_and_labels_settle_it() -> None:
    second, third, fourth = system_names(4)[1:]
    text = under_doubt(guessed({second: 0.8, third: 0.6, fourth: 0.97}))
    assert text == (
        "Best guess without judgments: bm25 (P(best) 0.40 of 4 systems, by modelled AP). Nothing is settled: it cannot "
        f"be told apart from {third} and {second}. {USUAL} labels usually settle it: {DECIDE}."
    )


def test_verdict_of_any_other_belief_and_of_far_and_equal_systems() -> None:
    far = sample_in_doubt(["a", "b", "c"], model="raters", virtual=None, step=0.2)
    far = replace(far, kind="belief")
    assert under_doubt(far).startswith("Under this belief a leads on AP with ")
    assert under_doubt(far).endswith("probability > 0.99 and can be told apart from all others.")
    assert "P@10" not in under_doubt(far)
    two = sample_in_doubt(["a", "b"], step=0.01)
    assert re.search(r"a is better than b with probability 0\.\d\d; the two cannot be told apart; ", under_doubt(two))
    alone = under_doubt(sample_in_doubt(["lonely"], measures=("AP",)))
    assert "lonely has AP 0.5000" in alone
    assert "there is no other system to compare it with." in alone
    even = replace(two, summary=two.summary.with_columns(value=pl.lit(0.4)))
    assert "a and b share the lead on AP with 0.4000" in under_doubt(even)
    nothing = replace(two, summary=two.summary.with_columns(value=pl.lit(math.nan)))
    assert (
        under_doubt(nothing) == "Within this consensus AP is undefined for every system: there is nothing to compare."
    )
    marked = under_doubt(two, name=lambda text: f"<{text}>")
    assert "<a> is ahead on <AP>" in marked
    assert "than <b>" in marked


def test_the_answer_says_when_another_is_the_best_more_often() -> None:
    third = SIX.summary["system"].unique(maintain_order=True)[2]
    often = SIX.summary.with_columns(p_best=pl.when(pl.col("system") == third).then(0.9).otherwise("p_best"))
    told = answer(replace(SIX, summary=often))
    assert re.search(rf"bm25 is the best of 6 systems with probability 0\.\d\d \({third}: 0\.90\) and cannot", told)
    assert f"({third}: " not in answer(SIX)
    assert caveats(SIX) == ["The order changes with the vote depth (tau 0.62)."]


def test_the_chances_of_two_systems_are_told_with_ties_and_where_the_leader_is_worse() -> None:
    """s1 has the higher mean, and is better with probability .39 only: the rest is mostly a tie."""
    two = sample_in_doubt(["a", "b"], step=0.01)
    frame = two.comparison.frame  # type: ignore[union-attr]

    def told(better: float, tie: float) -> str:
        changed = frame.with_columns(p_better=pl.lit(better), p_tie=pl.lit(tie))
        return answer(replace(two, compared=Comparison(changed), deciding=None))

    assert "a is better than b with probability 0.39, equal with 0.40; the two" in told(0.39, 0.4)
    assert "a is better than b with probability 0.39, worse with 0.61; the two" in told(0.39, 0.0)
    assert "a is better than b with probability 0.61; the two" in told(0.61, 0.0)


def test_what_settles_it_follows_the_kind_of_reference() -> None:
    opinions = replace(SIX, kind="opinions")
    assert under_doubt(with_shares(opinions, 0.1, 0.2, 0.7)).endswith("; more queries would help most.")
    labels = {"labels": pl.DataFrame({"labels": [40]})}
    sample = replace(SIX, kind="sample", tables=labels, forecast=lambda: Forecast(137, 40, 260, 0.4, 0.8))
    assert under_doubt(sample).endswith(f". About 150 more labels (50 to 275) would settle it: {AGAIN}.")
    far = replace(sample, forecast=Forecast(700, 200, 2000, 0.1, 0.25))
    assert under_doubt(far).endswith(
        f". More than 600 more labels are likely needed (300 are enough with probability 0.25): {AGAIN}."
    )
    old = replace(sample, forecast=Forecast(137, *[math.nan] * 4))  # a file of 0.1 has the median alone
    assert under_doubt(old).endswith(f". About 150 more labels would settle it: {AGAIN}.")
    assert under_doubt(replace(sample, forecast=None)).endswith(f". More labels would settle it: {AGAIN}.")


def test_other_verbs_answer_too() -> None:
    run = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "x": 1.0}}}
    scores = measure(run, {"q": {"x": 1}}, ["RR", "Unjudged@2"])
    assert measured(scores) == "a has the highest mean RR, 1.0000 over 1 query; endoxa eval says how sure that is."
    assert scores.mean().rows() == [("a", 1.0, 0.5), ("b", 0.5, 0.5)]
    undefined = measure(run, {"q": {"x": 0}}, ["AP"])
    assert measured(undefined) == "AP is undefined for every system."
    held = believe(run)
    expected = held.frame.filter(pl.col("grade") > 0)["p"].sum()
    assert (
        believed(held)
        == f"The belief by consensus covers 2 pairs of 1 query and expects {expected:.1f} relevant items per query."
    )


def test_estimates_answer_whatever_the_belief() -> None:
    frame = pl.DataFrame(
        {"system": ["a", "b", "c"], "measure": ["P@5"] * 3, "estimate": [0.4, 0.6, 0.9], "lo": [0.3, 0.5, math.nan],
         "hi": [0.5, 0.7, math.nan], "outside": [0.0, 0.0, 0.0]}
    )  # fmt: skip
    pair = pl.DataFrame({"measure": ["P@5"], "system": ["a"], "baseline": ["b"], "lo": [-0.3], "hi": [-0.1]})
    unbounded = estimated(Estimates(frame, pair), 0.95)
    assert unbounded.startswith("c is ahead on P@5 with 0.9000 (no interval: ")
    assert unbounded.endswith(f") and cannot be told apart from b and a; judge more ({AGAIN}).")
    beyond = frame.with_columns(lo=pl.Series([0.3, 0.5, 0.8]), hi=pl.Series([0.5, 0.7, 1.0]), outside=pl.lit(0.25))
    pairs = pl.concat([pair, pair.with_columns(baseline=pl.lit("c")), pair.with_columns(system=pl.lit("c"))])
    told = estimated(Estimates(beyond, pairs), 0.95)
    interval = "(95 % interval 0.8000 to 1.0000, whatever the belief; 25.0 % of its items"
    assert f"c is ahead on P@5 with 0.9000 {interval}" in told
    assert told.endswith(f"cannot be told apart from b and a; judge more ({AGAIN}).")
    frame = frame.head(2)
    sure = estimated(Estimates(frame, pair), 0.95)
    assert sure == (
        "b leads on P@5 with 0.6000 (95 % interval 0.5000 to 0.7000, whatever the belief) and can be told apart from "
        "all others."
    )
    open_ = estimated(Estimates(frame, pair.with_columns(hi=pl.lit(0.1))), 0.95)
    assert open_.endswith(f"and cannot be told apart from a; judge more ({AGAIN}).")
    nothing = frame.with_columns(lo=pl.lit(math.nan))
    assert "do not bound P@5" in estimated(Estimates(nothing, pair), 0.95)


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
        ((0.1, 0.8, 0.1), MOST.format("80.0", "the choice of voters: labels remove it")),
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
    return "\n".join(texts(warnings_of(measure(run, qrels, list(measures), **policy))))


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


def test_sampled_measures_are_named_with_their_lists() -> None:
    """Those with the same number of lists share a sentence."""
    run = {"q": {f"d{n}": 1.0 for n in range(30)}, "r": {"d0": 2.0, "d1": 1.0}}
    qrels = {"q": {f"d{n}": n % 3 for n in range(25)}, "r": {"d0": 1}}
    wanted = ["AP", "infAP", "IPrec@0", "RR", "IPrec@0.5"]
    (line,) = texts(sampled(measure(run, qrels, wanted, ties="average", shuffles=70)))
    assert line.startswith("infAP, IPrec@0 and IPrec@0.5: sampled on 1 of 2 lists")
    assert "With 70 random orders" in line
    assert sampled(measure(run, qrels, ["AP", "RR", "nDCG@10"], ties="average")) == []
    assert sampled(measure(run, qrels, ["AP", "infAP"])) == []


def test_a_range_without_ends_is_counted() -> None:
    run = {"q": {f"d{n}": 1.0 for n in range(30)}, "r": {"d0": 1.0, "d1": 1.0}}
    qrels = {"q": {f"d{n}": n % 3 for n in range(25)}, "r": {"d0": 1}}
    text = warned(run, qrels, ("AP", "infAP", "Judged@5"), ties="range")
    assert "infAP: the worst and best order are unknown on 1 of 2 lists" in text
    assert "\nAP:" not in text
    assert "Judged@5:" not in text


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


# The answer and the table


def tiny(rng: np.random.Generator, kind: str) -> Evaluation:
    """A few systems on one to five queries, with skewed beliefs, missing lists and few worlds."""
    queries, items = int(rng.integers(1, 6)), int(rng.integers(3, 9))
    lists = [
        (f"s{s}", f"q{q}", f"d{d}", float(rng.random()))
        for s in range(int(rng.integers(2, 5)))
        for q in range(queries)
        if s == 0 or rng.random() < 0.9
        for d in rng.permutation(items)[: int(rng.integers(1, items))]
    ]
    run = Run.of(pl.DataFrame(lists, schema=["system", "query", "item", "score"], orient="row"))
    rows = [(f"q{q}", f"d{d}") for q in range(queries) for d in range(items)]
    pairs = pl.DataFrame(rows, schema=["query", "item"], orient="row")

    def grades() -> pl.Series:
        return pl.Series("grade", (rng.random(pairs.height) < 0.4).astype(float))

    measures = rng.permutation(["AP", "P@3", "RR", "nDCG@3", "SetF", "SetP"]).tolist()
    some: dict[str, Any] = {"worlds": int(rng.choice([4, 40, 200])), "resamples": 400}
    skipped = rng.random() < 0.3
    some |= {"missing": "skip"} if skipped and kind not in {"consensus", "pinned labels"} else {}
    if kind == "consensus":
        return evaluate(run, None, measures, **some)
    if kind == "belief":
        p = rng.choice([0.01, 0.02, 0.5, 0.98, 1.0, 0.0], pairs.height)
        return evaluate(run, Belief.of(pairs.with_columns(p=pl.Series(p))), measures, **some)
    if kind == "people":
        people = pl.concat([pairs.with_columns(grades(), source=pl.lit(who)) for who in "abc"])
        return evaluate(run, Opinions.of(people), measures, model="votes", people=int(rng.choice([2, 8])), **some)
    if kind == "votes":
        votes = pl.concat([pairs.with_columns(grades(), source=pl.lit(who), kind=pl.lit("system")) for who in "abc"])
        return evaluate(None, Opinions.of(votes.sample(fraction=0.9, seed=int(rng.integers(99)))), **some)
    if kind == "judgments":
        return evaluate(run, Opinions.of(pairs.with_columns(grades())), measures)
    listed = pairs.with_columns(grades(), propensity=pl.lit(0.5)).join(run.frame, on=["query", "item"], how="semi")
    labels = listed.sample(int(rng.integers(1, listed.height + 1)), seed=1)
    pinned = some | {"model": "consensus"} if kind == "pinned labels" else {}
    return evaluate(run, None, measures, labels=Opinions.of(labels), **pinned)


@pytest.mark.parametrize("kind", ["consensus", "belief", "people", "votes", "judgments", "labels", "pinned labels"])
def test_the_answer_agrees_with_its_table_whatever_the_data(kind: str) -> None:
    """The leader is the first row, its P(best) the largest or explained, and every mean lies in its interval."""
    rng, scored = np.random.default_rng(17), 0
    for _ in range(25):
        evaluation = tiny(rng, kind)
        if kind == "judgments" and len(evaluation.scores.queries) < 2:  # type: ignore[union-attr]
            continue  # a test needs two queries
        scored += 1
        assert contradictions(evaluation) == []
    assert scored > 10
