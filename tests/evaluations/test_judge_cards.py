"""Cards of machine judges: agreement by hand, favour and order in simulated fields, warnings that hold."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from deciding_samples import field
from scipy.stats import kendalltau

import endoxa
from endoxa.beliefs import models
from endoxa.beliefs.learned import Universe
from endoxa.errors import CallError, JoinError, TableError
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.judge_cards import FAVOURED, best_of, kappa
from endoxa.measures.grammar import parse
from endoxa.notes import texts
from endoxa.pools.deciding import Question
from endoxa.tables import Gradings, Opinions, Run

NOISE = (0.6, 0.8, 1.0, 1.2, 1.6, 2.5)
TOPICS = 12


def judged(
    truth: dict[tuple[str, str], float], name: str = "llm", right: float = 0.8, seed: int = 0,
    lifted: set[tuple[str, str]] | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Grades 0 to 3 of a judge that is right about a pair with some probability, and calls lifted pairs relevant."""
    rng = np.random.default_rng(seed)
    rows = []
    for pair, relevant in sorted(truth.items()):
        says = relevant if rng.random() < right else 1 - relevant
        says = max(says, float(pair in (lifted or ()) and rng.random() < 0.6))
        rows.append((name, *pair, float(rng.integers(2, 4) if says else rng.integers(0, 2)), "0-3"))
    return pl.DataFrame(rows, schema=["judge", "query", "item", "grade", "scale"], orient="row")


def labelled(
    run: Run, truth: dict[tuple[str, str], float], each: int, seed: int = 0, topics: int = TOPICS
) -> pl.DataFrame:
    drawn = endoxa.choose(run, None, each * topics, measures="nDCG@10", seed=seed)
    return drawn.with_columns(grade=pl.Series([truth[pair] for pair in drawn.select("query", "item").iter_rows()]))


def evaluated(each: int = 10, **judge: object) -> Evaluation:
    run, truth = field(NOISE, topics=TOPICS)
    labels = labelled(run, truth, each) if each else None
    return endoxa.evaluate(run, None, "nDCG@10", labels=labels, judges=judged(truth, **judge))  # type: ignore[arg-type]


def codes(evaluation: Evaluation) -> set[str]:
    return {one.code for one in (*evaluation.warnings, *evaluation.notes)}


def test_kappa_is_cohens() -> None:
    """6 of 10 pairs agree on yes, 2 on no: agreement .8, chance .7 · .7 + .3 · .3 = .58."""
    yes = np.array([1] * 6 + [1] + [0] + [0] * 2, dtype=bool)
    relevant = np.array([1] * 6 + [0] + [1] + [0] * 2, dtype=bool)
    value, lo, hi = kappa(yes, relevant, np.ones(10), np.arange(10))
    assert value == pytest.approx((0.8 - 0.58) / 0.42)
    assert math.isnan(lo) == math.isnan(hi) is True  # ten pairs bound nothing
    weighted = kappa(yes, relevant, np.where(yes == relevant, 2.0, 1.0), np.arange(10))[0]
    assert weighted == pytest.approx((16 / 18 - (13 / 18) ** 2 - (5 / 18) ** 2) / (1 - (13 / 18) ** 2 - (5 / 18) ** 2))
    assert math.isnan(kappa(np.ones(10, bool), relevant, np.ones(10), np.arange(10))[0])
    assert math.isnan(kappa(yes[:0], relevant[:0], np.ones(0), np.arange(0))[0])


def test_the_interval_of_kappa_covers() -> None:
    """Of kappas of 300 pairs on 30 topics at 95 %, 92 to 98 in 100 hold the true one; topics differ."""
    rng = np.random.default_rng(0)
    sens, spec, share = 0.8, 0.85, 0.4
    agree = share * sens + (1 - share) * spec
    ours = share * sens + (1 - share) * (1 - spec)
    chance = ours * share + (1 - ours) * (1 - share)
    true, held = (agree - chance) / (1 - chance), 0
    for _ in range(400):
        relevant = rng.random(300) < share
        yes = np.where(relevant, rng.random(300) < sens, rng.random(300) > spec)
        _, lo, hi = kappa(yes, relevant, np.ones(300), np.arange(300) % 30)
        held += lo <= true <= hi
    assert 0.92 <= held / 400 <= 0.98


def test_agreement_is_counted_on_the_labelled_pairs() -> None:
    run, truth = field(NOISE, topics=TOPICS)
    labels, grades = labelled(run, truth, 10), judged(truth)
    labels = labels.select("query", "item", "grade")
    evaluation = endoxa.evaluate(run, None, "nDCG@10", labels=labels, judges=grades)
    row = evaluation.tables["judges"].row(0, named=True)
    both = labels.join(grades.select("query", "item", said=pl.col("grade") / 3 >= 0.5), on=["query", "item"])
    relevant = both.filter(pl.col("grade") == 1)
    others = both.filter(pl.col("grade") == 0)
    assert row["labelled"] == both.height == 120
    assert row["sensitivity"] == pytest.approx(relevant["said"].mean())
    assert row["specificity"] == pytest.approx(1 - others["said"].mean())  # type: ignore[operator]
    assert row["sensitivity_lo"] < row["sensitivity"] < row["sensitivity_hi"]
    by_grade = evaluation.tables["judge_grades"].filter(pl.col("grade") == 1).row(0, named=True)
    shares = relevant.join(grades.select("query", "item", share=pl.col("grade") / 3), on=["query", "item"])["share"]
    assert by_grade["mean"] == pytest.approx(shares.mean())
    assert by_grade["bias"] == pytest.approx(shares.mean() - 1)  # type: ignore[operator]


def favourite(topics: int = 30) -> tuple[Run, dict[tuple[str, str], float], set[tuple[str, str]]]:
    """A field, its truth, and the first items of its second worst system."""
    run, truth = field(NOISE, topics=topics)
    first = run.frame.filter((pl.col("system") == "s4") & (pl.col("rank") <= 20))
    return run, truth, set(first.select("query", "item").rows())


def test_a_favoured_system_is_named_and_the_order_corrected() -> None:
    """The judge lifts what the second worst system returns; with labels people's order comes back."""
    run, truth, lifted = favourite()
    grades, place = judged(truth, lifted=lifted), {}
    for each in (0, 20):
        labels = labelled(run, truth, each, topics=30) if each else None
        evaluation = endoxa.evaluate(run, None, "nDCG@10", labels=labels, judges=grades)
        values = dict(evaluation.summary.select("system", "value").iter_rows())
        place[each] = sorted(values, key=lambda system: -values[system]).index("s4")
        assert ("judges.favoured" in codes(evaluation)) == bool(each)
    assert place[0] <= 1
    assert place[20] >= 3
    named = evaluation.tables["favours"].filter(pl.col("q") <= FAVOURED)["system"].to_list()
    assert named == ["s4"]
    assert "The machine judge llm favours s4: of items that people graded alike" in texts(evaluation.warnings)[0]


def test_a_fair_judge_favours_nobody() -> None:
    """Of 60 fair judges at most 3 and two standard errors are said to favour anybody, however good the systems are."""
    run, truth = field(NOISE, topics=TOPICS)
    found = []
    for seed in range(60):
        labels = labelled(run, truth, 10, seed % 6)
        found.append(endoxa.evaluate(run, None, "nDCG@10", labels=labels, judges=judged(truth, seed=seed)))
    assert sum("judges.favoured" in codes(one) for one in found) <= 6
    assert all(one.tables["judges"]["weight"][0] > 0 for one in found)


def test_favour_is_the_partial_covariance_by_its_definition() -> None:
    """r and x by least squares on the grades of people and the consensus; topics as clusters."""
    run, truth = field(NOISE, topics=TOPICS)
    labels, grades = labelled(run, truth, 10), judged(truth)
    evaluation = endoxa.evaluate(run, None, "nDCG@10", labels=labels, judges=grades)
    universe = Universe.of(run)
    pairs = labels.join(universe.rows.with_row_index("row"), on=["query", "item"]).join(
        grades.select("query", "item", share=pl.col("grade") / 3), on=["query", "item"]
    )
    rows, y = pairs["row"].to_numpy(), pairs["grade"].to_numpy()
    known = np.column_stack([y == 0, y == 1, universe.offset[rows]]).astype(float)

    def left(values: np.ndarray) -> np.ndarray:
        return values - known @ np.linalg.lstsq(known, values, rcond=None)[0]

    r = left(pairs["share"].to_numpy())
    for place, system in enumerate(universe.systems):
        product = r * left(universe.features.toarray()[rows, place])
        by_topic = [product[pairs["query"].to_numpy() == query].sum() for query in universe.queries]
        expected = sum(by_topic) / np.sqrt(np.square(by_topic).sum())
        found = evaluation.tables["favours"].filter(pl.col("system") == system)["favour"][0]
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("each", [0, 1, 4])
def test_below_five_labels_a_topic_nothing_is_said_about_a_judge(each: int) -> None:
    evaluation = evaluated(each)
    row = evaluation.tables["judges"].row(0, named=True)
    assert all(math.isnan(row[name]) for name in ("sensitivity", "kappa", "weight", "tau"))
    assert "favours" not in evaluation.tables
    assert ("judges.unchecked" if not each else "judges.few_labels") in codes(evaluation)
    assert "judges.card" not in codes(evaluation)
    assert "Nothing is settled" in evaluation.sentences[0]
    assert f"{5 * TOPICS - each * TOPICS} {'more ' if each else ''}labels" in evaluation.sentences[0]
    assert "leads" not in evaluation.sentences[0]


def test_from_five_on_there_is_a_card() -> None:
    evaluation = evaluated(5)
    assert {"judges.card", "judges.heard"} <= codes(evaluation)
    assert not {"judges.unchecked", "judges.few_labels"} & codes(evaluation)
    assert "based on 60 labels and 1 machine judge" in evaluation.sentences[0].lower()


def test_a_card_of_a_reversed_judge_says_so() -> None:
    evaluation = evaluated(10, right=0.1)
    assert evaluation.tables["judges"]["weight"][0] < 0
    assert any("its grades count against a pair" in text for text in texts(evaluation.notes))
    assert "judges.other_order" in codes(evaluation)


def test_a_copied_judge_is_not_called_worse_than_chance() -> None:
    """Of five copies with noise each says nothing beyond the others; its card does not say that people disagree."""
    run, truth = field(NOISE, topics=TOPICS)
    first = judged(truth)
    copies = [first.with_columns(judge=pl.lit(name)) for name in "abcde"]
    rng = np.random.default_rng(0)
    noisy = [one.filter(pl.Series(rng.random(one.height) < 0.9)) for one in copies]
    evaluation = endoxa.evaluate(run, None, "nDCG@10", labels=labelled(run, truth, 10), judges=noisy)
    assert (evaluation.tables["judges"]["kappa"] > 0.3).all()
    assert not any("people do not" in text for text in texts(evaluation.notes))


def test_judges_that_favour_the_same_are_named_together() -> None:
    run, truth, lifted = favourite()
    both = [judged(truth, name, lifted=lifted, seed=seed) for seed, name in enumerate("ab")]
    labels = labelled(run, truth, 20, topics=30)
    evaluation = endoxa.evaluate(run, None, "nDCG@10", labels=labels, judges=both)
    named = [one for one in evaluation.warnings if one.code == "judges.favoured"]
    assert [one.facts for one in named] == [{"judges": ["a", "b"], "systems": ["s4"]}]
    assert str(named[0]).startswith("The machine judges a and b favour s4: of items that people graded alike, they")


def test_half_the_pool_is_warned_of() -> None:
    run, truth = field(NOISE, topics=TOPICS)
    evaluation = endoxa.evaluate(run, None, "nDCG@10", judges=judged(truth).gather_every(2))
    assert "judges.partial" in codes(evaluation)
    assert "judges.partial" not in codes(endoxa.evaluate(run, None, "nDCG@10", judges=judged(truth)))


def test_agreement_with_itself_and_with_the_others() -> None:
    run, truth = field(NOISE, topics=TOPICS)
    first, second = judged(truth, "a", seed=1), judged(truth, "b", seed=2)
    again = first.head(100).with_columns(
        grade=pl.when(pl.int_range(pl.len()) < 30).then(3 - pl.col("grade")).otherwise("grade")
    )
    evaluation = endoxa.evaluate(run, None, "nDCG@10", judges=[pl.concat([first, again]), second])
    table = evaluation.tables["judges"]
    assert table.select("judge", "repeated").rows() == [("a", 100), ("b", 0)]
    assert table["same"][0] == pytest.approx(0.7)
    assert table["others"][0] == pytest.approx(table["others"][1])
    assert 0.2 < table["others"][0] < 0.6


def test_a_judge_that_graded_one_system_only_is_warned_of() -> None:
    run, truth = field(NOISE, topics=TOPICS)
    own = run.frame.filter(pl.col("system") == "s5").select("query", "item")
    part = judged(truth).join(own, on=["query", "item"], how="semi")
    evaluation = endoxa.evaluate(run, None, "nDCG@10", judges=part)
    uneven = next(one for one in evaluation.warnings if one.code == "judges.uneven")
    assert (uneven.facts["most"], uneven.facts["most_share"]) == ("s5", 1.0)
    assert "judges.uneven" not in codes(endoxa.evaluate(run, None, "nDCG@10", judges=judged(truth)))


def test_a_judge_that_does_not_vary_is_left_out_and_a_line_says_so() -> None:
    run, truth = field(NOISE, topics=TOPICS)
    same = judged(truth, "same").with_columns(grade=pl.lit(2.0))
    evaluation = endoxa.evaluate(run, None, "nDCG@10", judges=[judged(truth), same])
    assert "The machine judge same gave the same grade to every pair: it is left out." in texts(evaluation.warnings)
    alone = endoxa.evaluate(run, None, "nDCG@10", judges=judged(truth))
    assert evaluation.summary.equals(alone.summary)


def test_grades_of_other_queries_are_refused() -> None:
    run, truth = field(NOISE, topics=TOPICS)
    other = judged(truth).with_columns(query="other" + pl.col("query"))
    with pytest.raises(JoinError, match=r"no machine judge \(llm\) graded a pair that a system has"):
        endoxa.evaluate(run, None, "nDCG@10", judges=other)


def test_half_the_pool_graded_is_counted() -> None:
    run, truth = field(NOISE, topics=TOPICS)
    evaluation = endoxa.evaluate(run, None, "nDCG@10", judges=judged(truth).gather_every(2))
    heard = next(one for one in evaluation.notes if one.code == "judges.heard")
    assert 0.3 < heard.facts["graded"] / heard.facts["pairs"] < 0.7


@pytest.mark.parametrize("verb", ["evaluate", "compare", "report", "measure", "choose", "decide", "believe"])
def test_grades_of_machines_are_never_labels(verb: str) -> None:
    """Under every verb: rows of kind judge as labels are refused, with the way to give them."""
    run, truth = field(NOISE, topics=TOPICS)
    rows = judged(truth).rename({"judge": "source"}).with_columns(kind=pl.lit("judge"))
    labels = Opinions.of(rows)
    calls = {
        "choose": lambda: endoxa.choose(run, None, 10, judged=labels),
        "decide": lambda: endoxa.decide(run, labels),
        "believe": lambda: endoxa.believe(run, "learned", labels=labels),
    }
    with pytest.raises(CallError, match="give the file as --judge FILE"):
        calls.get(verb, lambda: getattr(endoxa, verb)(run, None, "AP", labels=labels))()


@pytest.mark.parametrize("model", ["votes", "dawid-skene", "graded"])
def test_no_model_of_opinions_takes_machine_judges(model: str) -> None:
    run, truth = field(NOISE, topics=TOPICS)
    given = Gradings.of(judged(truth)).opinions
    with pytest.raises(CallError, match="of machine judges"):
        endoxa.evaluate(run, given, "AP", model=model)
    with pytest.raises(CallError, match="grades of machine judges alone are no belief"):
        endoxa.believe(given, model)
    with pytest.raises(TableError, match="of machine judges"):
        models.believe(given, model)


def test_opinions_of_machines_in_place_of_judgments_are_machine_judges() -> None:
    run, truth = field(NOISE, topics=TOPICS)
    grades = judged(truth)
    beside = endoxa.evaluate(run, None, "AP", judges=grades)
    instead = endoxa.evaluate(run, Gradings.of(grades).opinions, "AP")
    assert instead.summary.equals(beside.summary)
    labels = labelled(run, truth, 5)
    both = endoxa.evaluate(run, Gradings.of(grades).opinions, "AP", labels=labels)
    assert both.summary.equals(endoxa.evaluate(run, None, "AP", labels=labels, judges=grades).summary)


def test_with_judgments_machine_judges_are_refused() -> None:
    run, truth = field(NOISE, topics=TOPICS)
    qrels: dict[str, dict[str, float]] = {}
    for (query, item), grade in truth.items():
        qrels.setdefault(query, {})[item] = grade
    with pytest.raises(CallError, match="machine judges stand beside runs"):
        endoxa.evaluate(run, qrels, "AP", judges=judged(truth))
    with pytest.raises(CallError, match="no place for machine judges"):
        endoxa.evaluate(run, None, "AP", labels=labelled(run, truth, 5), judges=judged(truth), model="consensus")


@pytest.mark.parametrize("form", ["frame", "rows", "dict", "gradings", "opinions", "list"])
def test_grades_are_taken_in_any_form(form: str) -> None:
    run, truth = field(NOISE, topics=TOPICS)
    frame = judged(truth)
    by_query: dict[str, dict[str, float]] = {}
    for _, query, item, grade, _ in frame.iter_rows():
        by_query.setdefault(query, {})[item] = grade
    forms = {
        "frame": frame, "rows": frame.to_dicts(), "dict": by_query, "gradings": Gradings.of(frame),
        "opinions": Gradings.of(frame).opinions, "list": [frame],
    }  # fmt: skip
    expected = endoxa.evaluate(run, None, "AP", judges=frame).summary
    assert endoxa.evaluate(run, None, "AP", judges=forms[form]).summary.equals(expected)


def test_every_verb_gives_the_same_numbers() -> None:
    run, truth = field(NOISE, topics=TOPICS)
    labels, grades = labelled(run, truth, 10), judged(truth)
    evaluation = endoxa.evaluate(run, None, "nDCG@10", labels=labels, judges=grades)
    pairs = endoxa.compare(run, None, "nDCG@10", labels=labels, judges=grades)
    assert evaluation.comparison is not None
    assert pairs.frame.equals(evaluation.comparison.frame)
    assert endoxa.report(run, None, "nDCG@10", labels=labels, judges=grades).summary.equals(evaluation.summary)
    scores = endoxa.measure(run, None, "nDCG@10", labels=labels, judges=grades).mean()
    values = dict(scores.select("system", "nDCG@10").iter_rows())
    assert all(
        values[system] == pytest.approx(value) for system, value in evaluation.summary.select("system", "value").rows()
    )
    verdict = endoxa.decide(run, labels, "nDCG@10", judges=grades).tables["verdict"].row(0, named=True)
    assert verdict["p_best"] == pytest.approx(
        evaluation.summary.filter(system=verdict["leader"])["p_best"][0], abs=1e-12
    )


def test_nothing_is_settled_below_five_labels_a_topic() -> None:
    """However sure the model is: 55 labels on 12 topics do not settle what 60 may."""
    run, truth = field((0.1, 3.0, 3.0), topics=TOPICS)
    grades = judged(truth, right=0.95)
    verdicts = [
        endoxa.decide(run, labelled(run, truth, each), "nDCG@10", judges=grades).tables["verdict"].row(0, named=True)
        for each in (4, 10)
    ]
    assert [row["settled"] for row in verdicts] == [False, True]
    assert verdicts[0]["chance"] > 0.95
    assert verdicts[0]["further"] >= TOPICS


def test_no_look_passes_and_no_forecast_ends_before_five_labels_a_topic() -> None:
    """Whatever the chance of the leader: 48 labels on 12 topics do not pass, and 12 are told to need 48 more."""
    run, truth = field((0.1, 3.0, 3.0), topics=TOPICS)
    grades, question = judged(truth, right=0.95), Question(parse("nDCG@10"))
    for each, enough in ((4, False), (5, True)):
        evaluation = endoxa.evaluate(run, None, "nDCG@10", labels=labelled(run, truth, each), judges=grades)
        assert evaluation.decider is not None
        look = evaluation.decider(question).verdict
        assert look.least == 5 * TOPICS
        assert look.chance > 0.95
        assert look.passes == enough
    one = endoxa.decide(run, labelled(run, truth, 1), "nDCG@10", judges=grades).tables["verdict"].row(0, named=True)
    assert one["further"] >= 4 * TOPICS


def test_tau_among_the_best_is_of_the_best_by_the_learned_order() -> None:
    """By the grades alone as a reference, and the four best of six systems by what was learned."""
    run, truth = field(NOISE, topics=TOPICS)
    grades = judged(truth, right=0.7)
    evaluation = endoxa.evaluate(run, None, "P@10", labels=labelled(run, truth, 10), judges=grades)
    learned = dict(evaluation.summary.select("system", "value").iter_rows())
    share = {(query, item): grade / 3 for _, query, item, grade, _ in grades.iter_rows()}
    first = run.frame.filter(pl.col("rank") <= 10).select("system", "query", "item")
    alone = dict.fromkeys(learned, 0.0)
    for system, *pair in first.iter_rows():
        alone[system] += share[tuple(pair)]
    order = sorted(learned, key=lambda system: -learned[system])
    row = evaluation.tables["judges"].row(0, named=True)
    for name, systems in (("tau", order), ("tau_top", order[:4])):
        expected = kendalltau([alone[one] for one in systems], [learned[one] for one in systems]).statistic
        assert row[name] == pytest.approx(expected)


def test_the_best_systems_are_a_quarter_but_at_least_four() -> None:
    assert [best_of(count) for count in (2, 4, 10, 36)] == [2, 4, 4, 9]


def test_a_notebook_shows_the_card() -> None:
    html = evaluated(10)._repr_html_()
    assert "machine judge</th>" in html
    assert "sensitivity</th>" in html
    assert "its own order of the systems has tau" in html
    assert "sensitivity</th>" not in evaluated(0)._repr_html_()


def test_saved_and_read_back(tmp_path) -> None:
    evaluation = evaluated(10)
    for name in ("saved.json", "saved.parquet"):
        endoxa.write(evaluation, tmp_path / name)
        back = endoxa.read(tmp_path / name)
        assert back.sentences == evaluation.sentences
        assert (
            back.tables["judges"]
            .select("judge", "weight")
            .equals(evaluation.tables["judges"].select("judge", "weight"))
        )
