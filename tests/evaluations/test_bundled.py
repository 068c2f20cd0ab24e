"""Scoring systems that nobody knew at collection time: by enumeration, by hand, and by simulation."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from endoxa.errors import JoinError, TableError, TextError
from endoxa.evaluations import bundled
from endoxa.evaluations.bundled import coverage_notes, rated
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.settings import Settings
from endoxa.measures.grammar import parse_all
from endoxa.notes import texts
from endoxa.studies import sampling
from endoxa.tables import Answers, Bundle, Labels, Opinions, Run, Taxonomy


def bundle_of(items: list[str], queries: list[str], **parts: Any) -> Bundle:
    said: dict[str, Any] = {
        "name": "small", "title": "", "task": "search", "licence": "CC0", "screen": "one-result", "scale": (1.0, 5.0),
        "threshold": 3.0, "made": "2026-03-01",
    }  # fmt: skip
    frames = {"items": pl.DataFrame({"item": items}), "queries": pl.DataFrame({"query": queries})}
    return Bundle(**(said | frames | parts))


def opinions_of(rows: list[tuple[str, str, str, float | None]], **columns: Any) -> Opinions:
    frame = pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row")
    return Opinions.of(frame.with_columns(pl.Series(name, values) for name, values in columns.items()))


def run_of(system: str, **lists: str) -> Run:
    """Lists as words: run_of("new", q1="a b c")."""
    rows = [(system, q, item, -float(place)) for q, words in lists.items() for place, item in enumerate(words.split())]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def scored(bundle: Bundle, run: Run, *measures: str, calibrated: bool = True, **settings: Any) -> Evaluation:
    wanted = parse_all(measures) if measures else None
    return bundled.evaluate(run, bundle, wanted, Settings(**({"seed": 1} | settings)), calibrated=calibrated)


def remarks(evaluation: Evaluation) -> tuple[str, ...]:
    return (*texts(evaluation.notes), *texts(evaluation.warnings))


def value(made: Evaluation, measure: str, column: str = "value", system: str = "new") -> float:
    row = made.summary.filter((pl.col("measure") == measure) & (pl.col("system") == system))
    assert row.height == 1
    return float(row[column][0])


def test_grades_of_machine_judges_are_not_mixed_with_those_of_people() -> None:
    people = [("ann", "q1", "a", 5.0), ("ann", "q1", "b", 1.0), ("bob", "q1", "a", 4.0), ("bob", "q1", "b", 2.0)]
    machine = [("llm", "q1", "a", 1.0), ("llm", "q1", "b", 5.0)]
    kinds = ["person"] * 4 + ["judge"] * 2
    run = run_of("new", q1="a b")
    alone = scored(bundle_of(["a", "b"], ["q1"], opinions=opinions_of(people)), run, "P@1")
    both = scored(bundle_of(["a", "b"], ["q1"], opinions=opinions_of([*people, *machine], kind=kinds)), run, "P@1")
    assert both.summary.equals(alone.summary)
    assert "holds grades of 1 machine judge (llm)" in remarks(both)[-1]
    only = bundle_of(["a", "b"], ["q1"], opinions=opinions_of(machine, kind=["judge"] * 2))
    with pytest.raises(JoinError, match="machine judges only; give it beside the runs as --judge FILE"):
        scored(only, run, "P@1")


# ---- a sample -----------------------------------------------------------------------------------------

ITEMS = list("abcde")
GRADES = dict(zip(ITEMS, (5, 4, 1, 2, 4), strict=True))  # relevant: a, b, e
RANKS = np.array([[1, 2, 3, 4, 5], [3, 1, 5, 2, 4]])  # of the two systems at collection time
NEW = "e c a d b"  # nobody knew it


def designs() -> tuple[np.ndarray, np.ndarray]:
    """By hand: each of two systems draws one of five items by 1/rank. Chances of the draws; pi of the items."""
    q = (1 / RANKS) / (1 / np.arange(1, 6)).sum()
    return q, 1 - np.prod(1 - q, axis=0)


def test_the_design_is_that_of_methods() -> None:
    assert designs()[1] == pytest.approx([0.520006, 0.561031, 0.220790, 0.304491, 0.187490], abs=5e-7)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_a_system_unseen_at_collection_time_is_estimated_without_bias(k: int) -> None:
    """All 25 outcomes of the draws, each with its probability: the expectation is the true precision."""
    q, pi = designs()
    truth = sum(GRADES[item] > 3 for item in NEW.split()[:k]) / k
    expected = weight = 0.0
    for first, second in product(range(5), repeat=2):
        drawn = sorted({first, second})
        rows = [("ada", "q", ITEMS[at], float(GRADES[ITEMS[at]])) for at in drawn]
        bundle = bundle_of(ITEMS, ["q"], opinions=opinions_of(rows, propensity=pi[drawn]))
        made = scored(bundle, run_of("new", q=NEW), f"P@{k}", resamples=40)
        total = value(made, f"P@{k}", "horvitz_thompson")
        chance = q[0, first] * q[1, second]
        expected += chance * (0.0 if math.isnan(total) else total)  # nothing drawn within k: Σ y/pi is an empty sum
        weight += chance
    assert weight == pytest.approx(1)
    assert expected == pytest.approx(truth, abs=1e-12)


def test_the_sample_of_methods_gives_its_printed_values() -> None:
    """By hand: sample {1, 4}, system 1, M = 2: Hájek 1, Horvitz–Thompson .961527, recall 1."""
    pi = designs()[1]
    rows = [("ada", "q", "a", 5.0), ("ada", "q", "d", 2.0)]
    bundle = bundle_of(ITEMS, ["q"], opinions=opinions_of(rows, propensity=pi[[0, 3]]))
    made = scored(bundle, run_of("new", q="a b c d e"), "P@2", "P@5", "R@2")
    assert value(made, "P@2") == 1
    assert value(made, "P@2", "horvitz_thompson") == pytest.approx(0.961527, abs=5e-7)
    assert value(made, "P@5") == pytest.approx(0.369305, abs=5e-7)  # Hájek mean of sample {1, 4}
    assert value(made, "R@2") == 1
    assert math.isnan(value(made, "P@2", "lo"))  # an effective sample size of 2 bears no interval
    assert value(made, "rating@5") == pytest.approx((5 / pi[0] + 2 / pi[3]) / (1 / pi[0] + 1 / pi[3]))
    row = made.tables["coverage"].row(0, named=True)
    weights = 1 / pi[[0, 3]]
    assert row["effective"] == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert row["reached"] == pytest.approx(weights.sum() / 5)
    assert (row["first_10"], row["judged"], row["of"], row["by"]) == (0.4, 2, 5, "sample")


def test_estimates_from_a_planned_study_centre_on_the_truth() -> None:
    """Two systems are drawn from; a third, new one is estimated. Mean over studies within 4 standard errors."""
    rng = np.random.default_rng(8)
    queries, items = [f"q{n:02d}" for n in range(20)], [f"d{n:02d}" for n in range(40)]
    relevant = {(q, d): rng.random() < 0.3 for q in queries for d in items}

    def lists(system: str, noise: float) -> pl.DataFrame:
        rows = [(system, *pair, float(good) + noise * rng.standard_normal()) for pair, good in relevant.items()]
        return pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")

    known = Run.of(pl.concat([lists("old", 1.0), lists("older", 2.0)]))
    new = Run.of(lists("new", 0.7))
    truth = new.frame.filter(pl.col("rank") <= 10)
    precision = float(np.mean([relevant[pair] for pair in truth.select("query", "item").iter_rows()]))
    found = []
    for _ in range(80):
        plan = sampling.plan(known, per_task=2, tasks_per_query=4, rng=rng)
        pairs = plan.tasks.select("query", "item", "propensity")
        rows = [("ada", q, d, 5.0 if relevant[q, d] else 1.0) for q, d in pairs.select("query", "item").iter_rows()]
        bundle = bundle_of(items, queries, opinions=opinions_of(rows, propensity=pairs["propensity"]))
        made = scored(bundle, new, "P@10", resamples=40, seed=int(rng.integers(1 << 31)))
        found.append(
            (value(made, "P@10", "horvitz_thompson"), value(made, "P@10"), made.tables["coverage"]["reached"][0])
        )
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(len(found))
    assert abs(mean[0] - precision) < 4 * error[0]
    assert abs(mean[1] - precision) < 4 * error[1] + 0.02  # Hájek: biased by about 1/n
    assert abs(mean[2] - 1) < 4 * error[2]  # all of the collection could be drawn
    assert error[0] < 0.05


def test_what_the_draws_could_not_reach_is_told() -> None:
    rows = [("ada", f"q{n}", "a", 5.0) for n in range(8)] + [("ada", f"q{n}", "b", 1.0) for n in range(8)]
    bundle = bundle_of(["a", "b", "c"], [f"q{n}" for n in range(8)], opinions=opinions_of(rows, propensity=[0.8] * 16))
    others = " ".join(f"new{n}" for n in range(9))
    made = scored(bundle, run_of("new", **{f"q{n}": "a " + others for n in range(8)}))
    assert made.tables["coverage"]["reached"][0] == pytest.approx(1.25 / 10)
    assert any("about 12% of the first 10 of new could have been drawn" in note for note in remarks(made))


def test_a_system_of_which_nothing_was_drawn_has_no_value() -> None:
    bundle = bundle_of(["a", "b"], ["q"], opinions=opinions_of([("ada", "q", "a", 5.0)], propensity=[0.5]))
    made = scored(bundle, run_of("new", q="b"), "P@1")
    assert math.isnan(value(made, "P@1"))
    assert made.tables["coverage"].select("first_10", "effective", "reached").row(0) == (0.0, 0.0, 0.0)
    assert any("0% of the first 10 of new were judged" in note for note in remarks(made))


def test_a_sample_estimates_only_what_it_can() -> None:
    bundle = bundle_of(["a"], ["q"], opinions=opinions_of([("ada", "q", "a", 5.0)], propensity=[0.5]))
    for measure in ("nDCG@10", "AP", "P(rel=2)@5", "RR"):
        with pytest.raises(TextError, match="cannot be estimated from a sample of pairs; ask for P@k and R@k"):
            scored(bundle, run_of("new", q="a"), measure)


def test_ratings_whose_chance_is_not_known_do_not_enter_a_sample() -> None:
    rows = [("ada", "q", "a", 5.0), ("ada", "q", "b", 1.0), ("ada", "q", "c", 1.0)]
    bundle = bundle_of(["a", "b", "c"], ["q"], opinions=opinions_of(rows, propensity=[0.5, 0.5, None]))
    made = scored(bundle, run_of("new", q="a b c"), "P@3")
    assert value(made, "P@3") == 0.5
    assert any("1 ratings of pairs whose chance" in note for note in remarks(made))


def test_raters_who_differ_are_averaged_before_the_threshold() -> None:
    rows = [("ada", "q", "a", 5.0), ("bob", "q", "a", 2.0), ("ada", "q", "b", 4.0), ("bob", "q", "b", 2.0)]
    bundle = bundle_of(["a", "b"], ["q"], opinions=opinions_of(rows, propensity=[0.5] * 4))
    made = scored(bundle, run_of("new", q="a b"), "P@1", "P@2")
    assert (value(made, "P@1"), value(made, "P@2")) == (1.0, 0.5)  # 3.5 is above 3, 3 is not


# ---- everything judged --------------------------------------------------------------------------------

PAIRS = [
    ("ada", "q1", "a", 5.0), ("bob", "q1", "a", 4.0), ("ada", "q1", "b", 4.0), ("bob", "q1", "b", 2.0),
    ("ada", "q1", "c", 1.0), ("bob", "q1", "c", 1.0), ("ada", "q2", "a", 1.0), ("bob", "q2", "a", 4.0),
    ("ada", "q2", "d", 4.0), ("bob", "q2", "d", None),
]  # fmt: skip


def test_votes_are_the_probabilities() -> None:
    """q1: a 1, b 1/2, c 0; q2: a 1/2, d 1 (the undecided answer does not count); x was judged by nobody."""
    bundle = bundle_of(list("abcdx"), ["q1", "q2"], opinions=opinions_of(PAIRS))
    made = scored(bundle, run_of("new", q1="b a x", q2="x a d"), "P@1", "P@2", "P@3")
    assert value(made, "P@1") == pytest.approx((1 / 2 + 0) / 2)
    assert value(made, "P@2") == pytest.approx((3 / 2 + 1 / 2) / 2 / 2)
    assert value(made, "P@3") == pytest.approx((3 / 2 + 3 / 2) / 3 / 2)
    assert value(made, "P@3", "lo") <= value(made, "P@3") <= value(made, "P@3", "hi")
    assert made.summary["by"].unique().to_list() == ["opinions"]
    assert "1 undecided answers do not count" in remarks(made)


def test_propensity_one_is_as_good_as_none_said() -> None:
    every = bundle_of(list("abcdx"), ["q1", "q2"], opinions=opinions_of(PAIRS, propensity=[1.0] * len(PAIRS)))
    bare = bundle_of(list("abcdx"), ["q1", "q2"], opinions=opinions_of(PAIRS))
    run = run_of("new", q1="b a x", q2="x a d")
    assert scored(every, run).summary.equals(scored(bare, run).summary)
    assert scored(every, run).summary["measure"].to_list() == ["P@10", "nDCG@10", "AP"]


def test_one_judge_is_taken_at_the_word() -> None:
    """AP of relevant a at 2 and d at 3 of two known: (1/2 + 2/3)/2."""
    rows = [("ada", "q", "a", 5.0), ("ada", "q", "d", 4.0), ("ada", "q", "c", 3.0)]
    made = scored(bundle_of(list("acd"), ["q"], opinions=opinions_of(rows)), run_of("new", q="c a d"), "AP")
    assert value(made, "AP") == pytest.approx(7 / 12)


def test_practice_gold_and_attention_never_count_but_common_does() -> None:
    roles = ["practice", "gold", "attention", "common", "main"]
    rows = [("ada", "q", item, 5.0) for item in "abcde"]
    bundle = bundle_of(list("abcde"), ["q"], opinions=opinions_of(rows, role=roles))
    made = scored(bundle, run_of("new", q="a b c d e"), "P@5")
    assert value(made, "P@5") == pytest.approx(2 / 5)
    assert made.tables["coverage"]["whole"][0] == pytest.approx(2 / 5)
    aside = bundle_of(list("abcde"), ["q"], opinions=opinions_of(rows, role=["gold"] * 5))
    with pytest.raises(JoinError, match="nobody has rated anything"):
        scored(aside, run_of("new", q="a"))


def test_ratings_are_calibrated_before_the_threshold_unless_told_otherwise() -> None:
    """Bob is two grades too mild, cyd keeps hers: x' = x - 2 leaves bob's 5 at 3, which is not above 3."""
    rows = [("bob", "q", "a", 5.0), ("bob", "q", "b", 3.0), ("cyd", "q", "c", 4.0)]
    maps = pl.DataFrame({"source": ["bob", "zoe"], "a": [1.0, 1.0], "b": [-2.0, 9.0]})
    bundle = bundle_of(list("abc"), ["q"], opinions=opinions_of(rows), calibration=maps)
    run = run_of("new", q="a b c")
    assert value(scored(bundle, run, "P@3"), "P@3") == pytest.approx(1 / 3)
    assert value(scored(bundle, run, "P@3", calibrated=False), "P@3") == pytest.approx(2 / 3)
    kept, notes = rated(bundle)
    assert kept["grade"].to_list() == [3.0, 1.0, 4.0]
    assert "ratings of 1 raters are calibrated (a·x + b); 1 raters have no calibration" in str(notes[-1])


def test_calibration_by_fractions_does_not_lift_what_stands_at_the_threshold() -> None:
    """0.1 · 28 + 0.2 is 3.0000000000000004 in floating point: still not above 3."""
    assert 0.1 * 28 + 0.2 > 3
    maps = pl.DataFrame({"source": ["ada"], "a": [0.1], "b": [0.2]})
    rows = [("ada", "q", "a", 28.0), ("ada", "q", "b", 40.0)]
    for chances in (None, [0.5, 0.5]):
        opinions = opinions_of(rows, **({"propensity": chances} if chances else {}))
        bundle = bundle_of(["a", "b"], ["q"], opinions=opinions, scale=(0.0, 50.0), calibration=maps)
        assert value(scored(bundle, run_of("new", q="a b"), "P@2"), "P@2") == 0.5


def test_a_calibrated_rating_below_zero_is_a_rating_and_a_raw_one_is_none() -> None:
    rows = [("ada", "q", "a", 0.0), ("ada", "q", "b", 4.0), ("ada", "q", "c", -1.0)]
    maps = pl.DataFrame({"source": ["ada"], "a": [1.0], "b": [-0.5]})
    bundle = bundle_of(list("abc"), ["q"], opinions=opinions_of(rows), scale=(0.0, 4.0), calibration=maps)
    made = scored(bundle, run_of("new", q="a b c"), "P@3")
    assert made.tables["coverage"]["whole"][0] == pytest.approx(2 / 3)  # c was pooled, not judged
    assert rated(bundle)[0]["grade"].to_list() == [-0.5, 3.5]


def test_coverage_by_hand() -> None:
    """q1: 12 results, judged at ranks 1, 2, 3 and 12; q2: 2 results, 1 judged; q3 is not answered; q9 nobody judged."""
    rows = [("ada", "q1", item, 4.0) for item in "abcz"] + [("ada", "q2", "a", 1.0), ("ada", "q3", "a", 1.0)]
    rows.append(("ada", "q2", "b", None))
    bundle = bundle_of(list("abcz"), ["q1", "q2", "q3"], opinions=opinions_of(rows))
    new = run_of("new", q1="a b c " + " ".join(f"n{n}" for n in range(8)) + " z", q2="a b", q9="a")
    made = scored(bundle, new, "P@1")
    row = made.tables["coverage"].row(0, named=True)
    assert row["queries"] == pytest.approx(2 / 3)
    assert row["first_10"] == pytest.approx(4 / 12)  # 3 of 10, and 1 of 2
    assert row["first_100"] == row["whole"] == pytest.approx(5 / 14)
    assert (row["judged"], row["of"], row["effective"]) == (2.5, 12, None)
    assert [str(note) for note in coverage_notes(made.tables["coverage"])] == [
        "new: 2.5 of the first 12 results per query were judged at collection time (33% of the first 10), on 67% of "
        "the queries"
    ]
    assert any("67% of the first 10 of new are judged by nobody, and count as not relevant" in n for n in remarks(made))
    assert "1 queries of the run were judged by nobody and are left out" in remarks(made)


def test_well_judged_lists_bring_no_warning() -> None:
    bundle = bundle_of(list("abcdx"), ["q1", "q2"], opinions=opinions_of(PAIRS))
    made = scored(bundle, run_of("new", q1="a b", q2="a d"), "P@2")
    assert not texts(made.warnings)


# ---- labels, categories, answers ----------------------------------------------------------------------

FILED = Labels.of(
    pl.DataFrame(
        [("u", "x", "A"), ("v", "x", "A"), ("u", "y", "A"), ("v", "y", "B"), ("u", "z", "B"), ("v", "z", "B")],
        schema=["source", "item", "category"],
        orient="row",
    )
)


@pytest.mark.parametrize("taxonomy", [None, Taxonomy.of_paths(["A", "B"])])
def test_search_by_example_among_filed_items(taxonomy: Taxonomy | None) -> None:
    """x is an A to both; y is one to half of them, z to nobody: P@1 of y first is 1/2. x itself is no result."""
    bundle = bundle_of(list("xyz"), [], labels=FILED, taxonomy=taxonomy, task="classification")
    made = scored(bundle, run_of("new", x="x y z"), "P@1", "P@2")
    assert value(made, "P@1") == pytest.approx(1 / 2)
    assert value(made, "P@2") == pytest.approx(1 / 4)
    assert made.tables["coverage"]["by"].to_list() == ["labels"]
    assert made.tables["coverage"]["queries"][0] == pytest.approx(1 / 3)
    assert any("taken out of its list" in note for note in remarks(made))
    assert any("side by side" in note for note in remarks(made)) == (taxonomy is None)


def test_results_may_be_categories() -> None:
    """An owl to one and a bird to the other: birds holds for both, owls for half of them."""
    rows = [("u", "x", "birds/owls"), ("v", "x", "birds"), ("u", "y", "fish"), ("v", "y", "fish")]
    labels = Labels.of(pl.DataFrame(rows, schema=["source", "item", "category"], orient="row"))
    taxonomy = Taxonomy.of_paths(["birds/owls", "fish"])
    bundle = bundle_of(["x", "y"], [], labels=labels, taxonomy=taxonomy, task="classification")
    made = scored(bundle, run_of("new", x="birds/owls birds fish", y="fish birds"), "P@1", "P@2")
    assert value(made, "P@1") == pytest.approx((1 / 2 + 1) / 2)
    assert value(made, "P@2") == pytest.approx((3 / 2 + 1) / 2 / 2)
    assert made.summary["by"].to_list() == ["categories"] * 2
    assert scored(bundle, run_of("new", x="fish")).summary["measure"].to_list() == ["P@1", "RR", "AP"]
    lost = bundle_of(["x", "y"], [], labels=labels, taxonomy=Taxonomy.of_paths(["birds", "fish"]))
    with pytest.raises(TableError, match="category 'birds/owls' of the labels is not in the taxonomy"):
        scored(lost, run_of("new", x="fish"))


def test_subjects_own_answers() -> None:
    rows = [("u", "q", "a", 1), ("u", "q", "b", 2), ("u", "q", "c", 3), ("v", "q", "b", 1), ("v", "q", "a", 2)]
    answers = Answers.of(pl.DataFrame(rows, schema=["source", "query", "item", "rank"], orient="row"))
    bundle = bundle_of(list("abc"), ["q"], answers=answers)
    only_u = Answers(answers.frame.filter(pl.col("source") == "u"))
    alike = scored(bundle_of(list("abc"), ["q"], answers=only_u), run_of("new", q="a b c"), collection=50)
    assert (value(alike, "order"), value(alike, "ranks off"), value(alike, "returned")) == (1.0, 0.0, 1.0)
    both = scored(bundle, run_of("new", q="a b c"), collection=50)
    assert 0 < value(both, "order") < 1
    assert value(both, "returned") == 1.0
    assert both.tables["coverage"].select("by", "first_10").row(0) == ("answers", 1.0)
    with pytest.raises(TextError, match="their own measure, the displacement; remove P@10"):
        scored(bundle, run_of("new", q="a"), "P@10")


def test_a_bundle_may_hold_several_kinds() -> None:
    """A run that one kind of judgment knows is scored by that; what the others lack is told."""
    bundle = bundle_of(list("abcdxyz"), ["q1", "q2"], opinions=opinions_of(PAIRS), labels=FILED)
    made = scored(bundle, run_of("new", q1="a b", x="y z"), "P@1")
    assert made.summary["by"].to_list() == ["opinions", "labels"]
    some = scored(bundle, run_of("new", x="y z"), "P@1")
    assert some.summary["by"].to_list() == ["labels"]
    assert any("not scored by everything in the bundle" in note for note in remarks(some))


# ---- what does not fit --------------------------------------------------------------------------------


def test_a_run_of_another_collection() -> None:
    bundle = bundle_of(list("abcd"), ["q1", "q2"], opinions=opinions_of(PAIRS))
    with pytest.raises(
        JoinError,
        match=r"'new' and the bundle 'small' share no query: the run has 301, the bundle q1, q2; name queries as in",
    ):
        scored(bundle, run_of("new", **{"301": "a b"}))
    with pytest.raises(JoinError, match=r"share no item: the run has u, v, the bundle a, b, c …; name results as in"):
        scored(bundle, run_of("new", q1="u v"))
    both = Run(pl.concat([run_of("new", q1="a").frame, run_of("lost", q9="a").frame]))
    with pytest.raises(JoinError, match="the run 'lost' and the bundle 'small' share no query: the run has q9"):
        scored(bundle, both)
    filed = bundle_of(list("xyz"), [], labels=FILED)
    with pytest.raises(JoinError, match=r"its queries are items, named as in items.csv of the bundle"):
        scored(filed, run_of("new", q1="x y"))


def test_the_same_seed_gives_the_same_numbers() -> None:
    bundle = bundle_of(list("abcdx"), ["q1", "q2"], opinions=opinions_of(PAIRS))
    run = run_of("new", q1="b a x", q2="x a d")
    first, again = scored(bundle, run), scored(bundle, run)
    assert first.summary.equals(again.summary)
    assert texts(first.notes)[-1] == "bundle small: search; licence: CC0"
