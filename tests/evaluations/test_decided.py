"""Evaluation by a few labels: order, P(better), P(best), estimates where the labels were drawn, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import endoxa
from endoxa.beliefs.learned import Judged, Universe, learn
from endoxa.comparisons.posterior import posterior
from endoxa.errors import CallError, JoinError, TextError
from endoxa.evaluations import notebook, standings
from endoxa.evaluations.decided import universe_of
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.sentences import measured
from endoxa.evaluations.settings import Settings
from endoxa.measures.grammar import parse_all
from endoxa.notes import texts
from endoxa.pools.deciding import Deciding, Question
from endoxa.reports import terminal
from endoxa.tables import DRAW, Opinions, Run


def field(systems: int = 5, topics: int = 20, seed: int = 0) -> tuple[Run, pl.DataFrame]:
    """Lists of 25 from 70 items by systems of falling quality, and the grade of every pair."""
    rng = np.random.default_rng(seed)
    rows, truth = [], []
    for q in range(topics):
        worth = rng.normal(size=70)
        truth += [(f"q{q:02}", f"d{d:02}", float(worth[d] > 1)) for d in range(70)]
        for s in range(systems):
            best = np.argsort(-(worth + rng.normal(0, 0.4 + s / 2, 70)))[:25]
            rows += [(f"s{s}", f"q{q:02}", f"d{d:02}", -float(n)) for n, d in enumerate(best)]
    run = Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))
    return run, pl.DataFrame(truth, schema=["query", "item", "grade"], orient="row")


RUN, TRUTH = field()


def judged(pairs: pl.DataFrame) -> Opinions:
    return Opinions.of(pairs.join(TRUTH, on=["query", "item"], how="left", maintain_order="left"))


def drawn(count: int, seed: int = 1, **how: Any) -> Opinions:
    chosen = endoxa.choose(RUN, None, count, seed=seed, **how)
    return judged(chosen.select("query", "item", "propensity", "selected_by", *DRAW))


FEW, MANY = drawn(60), drawn(600, mixing=0.5)
MEASURES = ["AP", "P@10", "nDCG@10", "RR"]


@pytest.fixture(scope="module")
def made() -> Evaluation:
    return endoxa.evaluate(RUN, None, MEASURES, labels=FEW, seed=3)


def test_the_evaluation_is_the_posterior(made: Evaluation) -> None:
    universe = Universe.of(RUN, 20)
    learned = learn(universe, Judged.of(universe, FEW))
    assert made.kind == "sample"
    comparison = made.comparison
    assert comparison is not None
    for name in ("AP", "P@10", "nDCG@10"):
        found = posterior(learned, parse_all([name])[0])
        own = made.summary.filter(pl.col("measure") == name)
        assert own["system"].to_list() == universe.systems
        assert own["value"].to_numpy() == pytest.approx(found.mean)
        assert own["se"].to_numpy() == pytest.approx(1.25 * np.sqrt(np.diag(found.covariance)))
        assert own["p_best"].to_numpy() == pytest.approx(found.best)
        pairs = comparison.frame.filter(pl.col("measure") == name)
        assert pairs.height == 10
        for row in pairs.iter_rows(named=True):
            i, j = (universe.systems.index(row[side]) for side in ("system", "baseline"))
            assert row["difference"] == pytest.approx(found.mean[i] - found.mean[j])
            assert row["p_better"] == row["superiority"] == pytest.approx(found.better[i, j])
            assert row["sd"] == pytest.approx(found.sd[i, j])


@pytest.mark.parametrize("name", MEASURES)
def test_p_best_sums_to_one(made: Evaluation, name: str) -> None:
    assert made.summary.filter(pl.col("measure") == name)["p_best"].sum() == pytest.approx(1)


def test_systems_are_ordered_as_they_are(made: Evaluation) -> None:
    """The three best, by 60 of some 900 labels."""
    real = endoxa.summarise(endoxa.measure(RUN, Opinions.of(TRUTH), ["AP"])).sort("value", descending=True)
    found = made.summary.filter(pl.col("measure") == "AP").sort("value", descending=True)
    assert found["system"].to_list()[:3] == real["system"].to_list()[:3] == ["s0", "s1", "s2"]


def test_intervals_only_for_measures_whose_sizes_hold(made: Evaluation) -> None:
    """±1.96 sd for P@k, with few labels and with many; none for AP, nDCG and RR."""
    comparison = made.comparison
    assert comparison is not None
    for frame in (made.summary, comparison.frame):
        none = frame.filter(pl.col("measure") != "P@10")
        assert none["lo"].is_nan().all()
        assert none["hi"].is_nan().all()
    some = comparison.frame.filter(pl.col("measure") == "P@10")
    assert (some["hi"] - some["difference"]).to_numpy() == pytest.approx(1.959964 * some["sd"].to_numpy())
    more = endoxa.compare(RUN, None, ["P@10"], labels=MANY, confidence=0.9).frame  # 30 labels a topic
    assert (more["difference"] - more["lo"]).to_numpy() == pytest.approx(1.644854 * more["sd"].to_numpy())


def test_a_measure_without_a_linear_form_is_drawn(made: Evaluation) -> None:
    """RR has no linear form: its values are those of the learned belief in possible worlds."""
    belief = endoxa.believe(RUN, "learned", labels=FEW, people=0)
    expected = endoxa.summarise(endoxa.measure(RUN, belief, ["RR"], worlds=400))
    found = made.summary.filter(pl.col("measure") == "RR")
    assert found["value"].to_numpy() == pytest.approx(expected["value"].to_numpy(), abs=0.05)
    alone = endoxa.evaluate(RUN, None, ["RR"], labels=FEW, seed=3)
    assert alone.summary["value"].to_numpy() == pytest.approx(found["value"].to_numpy(), abs=0.05)
    assert math.isnan(alone.tables["labels"]["tau_consensus"][0])


def test_scores_are_those_of_measure(made: Evaluation) -> None:
    scores = endoxa.measure(RUN, None, MEASURES, labels=FEW, seed=3)
    assert made.scores is not None
    assert_frame_equal(scores.frame, made.scores.frame)
    assert_frame_equal(scores.coverage, made.scores.coverage)
    means = scores.frame.group_by("system", "measure").agg(pl.col("value").mean().alias("mean"))
    both = made.summary.join(means, on=["system", "measure"])
    assert both["value"].to_numpy() == pytest.approx(both["mean"].to_numpy())
    with pytest.raises(CallError, match="modelled from the runs, and from labels"):
        endoxa.compare(scores)


def test_coverage_counts_what_is_listed_and_judged(made: Evaluation) -> None:
    assert made.scores is not None
    lists = RUN.frame.join(FEW.frame.select("query", "item"), on=["query", "item"])
    counts = dict(lists.group_by("system").len().iter_rows())
    assert dict(made.scores.coverage.select("system", "judged").iter_rows()) == counts
    assert made.scores.coverage["missing"].to_list() == [0] * 5


def test_the_belief_has_the_labels(made: Evaluation) -> None:
    assert made.belief is not None
    known = made.belief.frame.join(FEW.frame.select("query", "item", pl.col("grade").alias("y")), on=["query", "item"])
    assert known.height == 60
    assert (known["p"] == known["y"]).all()


def test_the_table_of_labels(made: Evaluation) -> None:
    row = made.tables["labels"].row(0, named=True)
    assert (row["labels"], row["relevant"]) == (60, FEW.frame["grade"].sum())
    assert row["queries"] == FEW.frame["query"].n_unique()
    assert (row["outside"], row["disputed"], row["groups"]) == (0, 0, Universe.of(RUN, 20).clusters)
    assert row["pairs"] == Universe.of(RUN, 20).rows.height
    assert -1 <= row["tau_consensus"] <= 1


def test_the_sentences_say_what_decided(made: Evaluation) -> None:
    comparison = made.comparison
    assert comparison is not None
    pairs = comparison.frame.filter(pl.col("measure") == "AP")["p_better"].to_numpy()
    done = int((np.maximum(pairs, 1 - pairs) >= 0.95).sum())
    assert made.sentences[0].startswith("Based on 60 labels, ")
    assert f"{done} of 10 pairs of systems are decided" in made.sentences[1]


# ---- estimates ----------------------------------------------------------------------------------------


def test_estimates_need_enough_labels(made: Evaluation) -> None:
    assert "estimates" not in made.tables
    assert any("no design-based interval: the labels say as much as" in note for note in texts(made.notes))
    bare = Opinions.of(MANY.frame.select("query", "item", "grade"))
    without = endoxa.evaluate(RUN, None, ["AP"], labels=bare)
    assert "estimates" not in without.tables
    assert any("some labels have no propensity" in note for note in texts(without.notes))


def test_estimates_of_many_labels_are_near_the_truth() -> None:
    found = endoxa.evaluate(RUN, None, ["AP", "P@10"], labels=MANY)
    estimates, pairs = found.tables["estimates"], found.tables["estimated_pairs"]
    for part in pairs.partition_by("measure"):  # between the model's difference and that of the design
        compared = found.comparison.frame.filter(pl.col("measure") == part["measure"][0])  # type: ignore[union-attr]
        model = part.join(compared, on=["system", "baseline"], how="left", suffix="_model")["difference_model"]
        ends = pl.DataFrame({"a": part["difference"], "b": model, "shrunk": part["shrunk"]})
        inside = pl.col("shrunk").is_between(pl.min_horizontal("a", "b") - 1e-12, pl.max_horizontal("a", "b") + 1e-12)
        assert ends.select(inside.all()).item()
    assert sorted(estimates["measure"].unique()) == ["AP", "P@10"]
    assert estimates.height == 10
    assert pairs.height == 20
    real = endoxa.summarise(endoxa.measure(RUN, Opinions.of(TRUTH), ["P@10"]))
    official = dict(real.select("system", "value").iter_rows())
    for row in estimates.filter(pl.col("measure") == "P@10").iter_rows(named=True):
        assert abs(row["estimate"] - official[row["system"]]) < 4 * row["se"] + 1e-9
    assert (estimates["lo_queries"] < estimates["estimate"]).all()
    linearised, summed = (estimates.filter(measure=name) for name in ("AP", "P@10"))
    assert linearised["lo"].is_nan().all() and linearised["hi"].is_nan().all()  # its interval is over queries only
    for ends, se in (("", "se"), ("_queries", "se_queries")):  # an interval belongs to the error beside it
        reach = (summed[f"hi{ends}"] - summed[f"lo{ends}"]) / 2 / summed[se]
        assert reach.is_between(1.95, 4).all()  # quantiles of t
    assert any("take sizes from the estimates" in text for text in found.sentences)


def test_estimates_do_not_hang_on_the_order_of_the_rounds() -> None:
    first = endoxa.choose(RUN, None, 300, mixing=0.5, seed=1)
    one = judged(first.select("query", "item", "propensity", "selected_by", *DRAW))
    second = endoxa.choose(RUN, None, 300, mixing=0.5, judged=one, seed=2)
    two = judged(second.select("query", "item", "propensity", "selected_by", *DRAW))
    both = [endoxa.evaluate(RUN, None, ["AP", "P@10"], labels=labels) for labels in ([one, two], [two, one])]
    assert_frame_equal(both[0].tables["estimates"], both[1].tables["estimates"], rel_tol=1e-9)
    assert_frame_equal(both[0].summary, both[1].summary, rel_tol=1e-9)
    assert texts(both[0].notes) == texts(both[1].notes)


def test_a_pair_that_only_the_second_judge_decided_is_estimated_too() -> None:
    first = MANY.frame.with_columns(
        pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise(pl.col("grade")).alias("grade")
    )
    second = MANY.frame[:5].with_columns(pl.lit("bob").alias("source"))
    found = endoxa.evaluate(RUN, None, ["AP"], labels=Opinions.of(pl.concat([first, second])))
    assert found.tables["labels"]["labels"][0] == 600
    assert found.tables["estimates"].height == 5


# ---- labels and runs that are not plain ---------------------------------------------------------------


def test_judges_who_disagree_are_told() -> None:
    other = FEW.frame.with_columns(pl.lit("bob").alias("source"), (1 - pl.col("grade")).alias("grade"))[:7]
    found = endoxa.evaluate(RUN, None, ["AP"], labels=Opinions.of(pl.concat([FEW.frame, other])))
    assert found.tables["labels"]["disputed"][0] == 7
    assert any("pairs on which judges disagree (7)" in note for note in texts(found.notes))
    assert found.belief is not None
    torn = found.belief.frame.join(other.select("query", "item"), on=["query", "item"], how="semi")
    assert torn["p"].to_list() == [0.5] * 7


@pytest.mark.parametrize(("grade", "words"), [(0.0, "are not relevant"), (1.0, "are relevant")])
def test_labels_of_one_class_are_told(grade: float, words: str) -> None:
    same = Opinions.of(FEW.frame.with_columns(pl.lit(grade).alias("grade")))
    found = endoxa.evaluate(RUN, None, ["AP"], labels=same)
    assert any(f"All 60 labels {words}" in text for text in texts(found.warnings))
    assert np.isfinite(found.summary["value"].to_numpy()).all()


def test_labels_that_contradict_the_consensus_are_told() -> None:
    turned = Opinions.of(MANY.frame.with_columns((1 - pl.col("grade")).alias("grade")))
    found = endoxa.evaluate(RUN, None, ["AP"], labels=turned)
    assert any("contradict the consensus" in text for text in texts(found.warnings))


def test_few_groups_and_labels_outside_are_told() -> None:
    two = Run(RUN.frame.filter(pl.col("system").is_in(["s0", "s4"])))
    found = endoxa.evaluate(two, None, ["AP"], labels=FEW)
    outside = FEW.frame.join(two.frame.filter(pl.col("rank") <= 20), on=["query", "item"], how="anti").height
    assert outside > 0
    assert any(f"{outside} labels are left out" in text for text in texts(found.warnings))
    assert any("count once, there are 2" in text for text in texts(found.warnings))
    assert not any("count once" in text for text in texts(endoxa.evaluate(RUN, None, ["AP"], labels=FEW).warnings))


def test_runs_of_different_topics() -> None:
    """A list that is absent counts as empty, and is told."""
    part = Run(RUN.frame.filter((pl.col("system") != "s1") | (pl.col("query") > "q04")))
    found = endoxa.evaluate(part, None, ["AP", "RR"], labels=FEW)
    assert found.scores is not None
    for name in ("AP", "RR"):
        own = found.scores.frame.filter((pl.col("system") == "s1") & (pl.col("measure") == name)).sort("query")
        assert own["value"].to_list()[:5] == [0.0] * 5, name
        assert own["value"].min() == 0
        assert (own["value"][5:] > 0).all()
    assert any("s1 returned nothing for some topics" in text for text in texts(found.warnings))
    assert dict(found.scores.coverage.select("system", "missing").iter_rows())["s1"] == 5


def test_a_cut_keeps_the_first_items_for_every_measure() -> None:
    """The same as with lists of five, for measures with and without a linear form."""
    short = Run(RUN.frame.filter(pl.col("rank") <= 5))
    one = endoxa.evaluate(RUN, None, ["AP", "SetR"], labels=FEW, cut=5)
    two = endoxa.evaluate(short, None, ["AP", "SetR"], labels=FEW)
    assert_frame_equal(one.summary, two.summary, rel_tol=1e-9)


def test_a_baseline_is_compared_with_all_others() -> None:
    found = endoxa.evaluate(RUN, None, ["AP"], labels=FEW, baseline="s2")
    assert found.comparison is not None
    assert found.comparison.frame.select("system", "baseline").rows() == [(s, "s2") for s in ("s0", "s1", "s3", "s4")]


def test_the_order_is_pinned_where_the_consensus_is_asked_for() -> None:
    found = endoxa.evaluate(RUN, None, ["P@10"], labels=MANY, model="consensus", worlds=20)
    assert found.kind == "consensus"
    assert "calibration" in found.tables


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"labels": {"q00": {"zz": 1.0}}}, JoinError, "none of the 1 labels"),
        ({"labels": Opinions.of(FEW.frame.with_columns(pl.lit(None, pl.Float64).alias("grade")))}, JoinError,
         "no decided label"),
        ({"run": Run(RUN.frame.filter(pl.col("system") == "s0"))}, JoinError, "two systems or more"),
        ({"run": Run(RUN.frame.filter(pl.lit(False)))}, JoinError, "two systems or more"),
        ({"run": None}, CallError, "no run was given"),
        ({"baseline": "s9"}, TextError, "no system is called 's9'"),
        ({"ties": "average"}, CallError, "ties=average is not possible"),
        ({"model": "votes"}, CallError, "model is learned or consensus"),
        ({"labels": None, "model": "learned"}, CallError, "needs labels"),
        ({"weights": "equal"}, CallError, "^weights "),
        ({"power": True}, CallError, "power does not apply"),
    ],
)  # fmt: skip
def test_what_is_refused(given: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        endoxa.evaluate(**({"run": RUN, "reference": None, "measures": ["AP"], "labels": FEW} | given))


def test_the_consensus_with_labels_gives_values_and_no_probability() -> None:
    """Nobody has measured what such a belief is certain of."""
    found = endoxa.evaluate(RUN, None, ["P@10", "AP"], labels=MANY, model="consensus", worlds=20)
    assert found.summary["value"].drop_nulls().is_not_nan().all()
    own = found.summary.filter(pl.col("system") != "⊤")
    assert own["lo"].is_null().all() and own["hi"].is_null().all() and own["p_best"].is_nan().all()
    assert found.comparison is None
    assert "doubt.no_chances" in {one.code for one in found.warnings}


@pytest.mark.parametrize("model", ["consensus", "learned"])
def test_a_belief_of_the_systems_own_lists_gives_no_probability(model: str, tmp_path: Path) -> None:
    """Neither as it is, nor saved and read again; its values are those of the belief."""
    belief = endoxa.believe(RUN, model, **({"labels": FEW} if model == "learned" else {}))
    endoxa.write(belief, tmp_path / "saved.parquet")
    expected = endoxa.summarise(endoxa.measure(RUN, belief, ["P@10"], worlds=20))
    for reference in (belief, tmp_path / "saved.parquet"):
        found = endoxa.evaluate(RUN, reference, ["P@10"], worlds=20)
        assert found.comparison is None
        assert found.doubts is None
        assert found.summary["lo"].is_null().all() and found.summary["p_best"].is_nan().all()
        assert found.summary["value"].to_numpy() == pytest.approx(expected["value"].to_numpy())
        assert "doubt.no_chances" in {one.code for one in found.warnings}


def test_the_forecast_of_an_evaluation_is_that_of_the_loop(made: Evaluation) -> None:
    look = Deciding.of(universe_of(RUN, Settings()), Question(parse_all("AP")[0]), FEW).verdict
    assert made.further is not None
    assert look.forecast is not None
    assert made.further.facts() == pytest.approx(look.forecast.facts())


COPY = Run(pl.concat([RUN.frame, RUN.frame.filter(system="s0").with_columns(system=pl.lit("twin"))]))


@pytest.mark.parametrize("labels", [None, FEW])
def test_a_copy_changes_no_probability_of_the_others(labels: Opinions | None) -> None:
    """P(best) of every system stays exactly, without labels and with; the copy shares that of its system."""
    before, after = (endoxa.evaluate(run, None, ["AP", "nDCG@10"], labels=labels, worlds=20) for run in (RUN, COPY))
    for measure in ("AP", "nDCG@10"):
        one, two = (
            dict(made.summary.filter(pl.col("measure") == measure).select("system", "p_best").iter_rows())
            for made in (before, after)
        )
        assert {system: two[system] for system in one} == one
        assert two["twin"] == one["s0"]
        pair = after.comparison.frame.filter(  # type: ignore[union-attr]
            pl.col("measure") == measure,
            pl.col("system").is_in(["s0", "twin"]),
            pl.col("baseline").is_in(["s0", "twin"]),
        ).row(0, named=True)
        assert (pair["p_tie"], pair["p_better"], pair["superiority"]) == (1, 0, 0.5)


def test_no_files_of_labels_are_no_labels() -> None:
    found = endoxa.evaluate(RUN, None, ["P@10"], labels=[], worlds=10)
    assert found.kind == "consensus"


def test_the_universe_reaches_as_deep_as_asked() -> None:
    assert universe_of(RUN, Settings(), least=24).depth == 24
    assert universe_of(RUN, Settings(), least=4).depth == 20


@pytest.mark.parametrize("measure", ["AP", "P@10", "nDCG@10"])
def test_pairs_are_told_apart_by_one_rule_on_every_measure(measure: str) -> None:
    """P(better) of at least .95, whether or not the measure has an interval, and whatever its confidence."""
    for confidence in (0.5, 0.99):
        found = endoxa.evaluate(RUN, None, [measure], labels=FEW, confidence=confidence)
        pairs = standings.chances(found, measure)
        sure = [max(one.better, one.worse) >= 0.95 for one in pairs]
        assert [one.differs for one in pairs] == sure
        assert any(sure) and not all(sure)


def test_a_run_of_other_queries_is_refused() -> None:
    own = pl.when(pl.col("system") == "s1").then("z" + pl.col("query")).otherwise("query")
    with pytest.raises(JoinError, match="system 's1' shares no query with any other system"):
        endoxa.evaluate(Run(RUN.frame.with_columns(query=own)), None, ["P@10"], labels=FEW)


def test_values_that_are_ratios_of_expectations_have_a_name_of_their_own() -> None:
    """AP under the learned belief is an expectation, and modelled AP the ratio that the labels teach."""
    found = endoxa.evaluate(RUN, None, ["AP", "nDCG@10", "P@10"], labels=MANY)
    assert " on modelled AP with " in found.sentences[0]
    assert any(
        note.startswith("modelled AP, nDCG@10: ") and "ratio of expectations" in note for note in texts(found.notes)
    )
    shown = "\n".join(str(part) for part in terminal.parts(found, width=200) if isinstance(part, str))
    assert "modelled AP based on 600 labels" in shown
    assert "modelled AP" in notebook.html(found) and "modelled P@10" not in notebook.html(found)
    scores = endoxa.measure(RUN, None, ["AP"], labels=MANY)
    assert "highest mean modelled AP," in measured(scores)
    only = endoxa.evaluate(RUN, None, ["P@10"], labels=MANY)
    assert "modelled P@10" not in only.sentences[0] and "ratio of expectations" not in str(texts(only.notes))
    belief = endoxa.believe(RUN, "learned", labels=MANY)
    assert "modelled" not in endoxa.evaluate(RUN, belief, ["AP"], worlds=20).sentences[0]
