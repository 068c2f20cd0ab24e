"""Evaluation against subjects' ranked answers: the numbers of displacement, with intervals."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from endoxa.errors import CallError
from endoxa.evaluations.answered import MEASURES, evaluate
from endoxa.evaluations.settings import Settings
from endoxa.measures.displacement import average_answers, compare_answers
from endoxa.notes import texts
from endoxa.statistics.crossed import crossed_bootstrap
from endoxa.tables import Answers, Run

RNG = np.random.default_rng(4)
ITEMS = [f"d{n}" for n in range(12)]
ROWS = [
    (system, f"q{q}", item, -float(place))
    for system, noise in (("near", 1.0), ("far", 6.0), ("other", 3.0))
    for q in range(6)
    for place, item in enumerate(sorted(ITEMS, key=lambda item, n=noise: int(item[1:]) + RNG.normal(0, n))[:9])
]
RUN = Run.of(pl.DataFrame(ROWS, schema=["system", "query", "item", "score"], orient="row"))
ANSWERS = Answers.of(
    pl.DataFrame(
        [(who, f"q{q}", f"d{n}", n + 1, 1.0) for who in ("ann", "bob") for q in range(6) for n in range(4)],
        schema=["source", "query", "item", "rank", "relevance"],
        orient="row",
    )
)


def test_the_summary_holds_the_numbers_of_displacement() -> None:
    made = evaluate(RUN, ANSWERS, Settings(collection=50))
    assert made.kind == "answers"
    assert made.scores is None
    assert made.measures == ["order", "ranks off", "quality", "returned"]
    means = average_answers(compare_answers(RUN, ANSWERS, N=50))
    for measure, column in MEASURES.items():
        own = made.summary.filter(pl.col("measure") == measure)
        assert dict(own.select("system", "value").iter_rows()) == pytest.approx(
            dict(means.select("system", column).iter_rows())
        )
        assert own["queries"].to_list() == [6, 6, 6]
    order = made.summary.filter(pl.col("measure") == "order")
    assert order["system"][0] == "near"  # best first
    assert (order["lo"] <= order["value"]).all()
    assert (order["value"] <= order["hi"]).all()
    assert made.summary.filter(pl.col("measure") != "order")["lo"].is_nan().all()


def test_intervals_resample_subjects_and_queries_together() -> None:
    made = evaluate(RUN, ANSWERS, Settings(collection=50, seed=3, confidence=0.8))
    single = made.tables["single"]
    values = np.array(
        [
            [single.filter((pl.col("system") == s) & (pl.col("source") == w)).sort("query")["score"].to_list()
             for w in ("ann", "bob")]
            for s in ("near", "far", "other")
        ]
    )  # fmt: skip
    seed = int(np.random.default_rng(3).integers(1 << 62))
    ends = crossed_bootstrap(values, confidence=0.8, rng=np.random.default_rng(seed))
    order = {row["system"]: row for row in made.summary.iter_rows(named=True) if row["measure"] == "order"}
    assert [order[s]["lo"] for s in ("near", "far", "other")] == pytest.approx(ends.lo.tolist())
    pairs = made.tables["pairs"]
    assert pairs.select("system", "baseline").rows() == [("near", "far"), ("near", "other"), ("far", "other")]
    assert pairs["difference"][0] == pytest.approx(order["near"]["value"] - order["far"]["value"])


def test_notes_say_how() -> None:
    notes = " ".join(texts(evaluate(RUN, ANSWERS, Settings(confidence=0.9)).notes))
    assert "2 subjects, 6 queries" in notes
    assert "all items that were returned or named" in notes
    assert "interval: 90 % over subjects and queries, resampled together" in notes
    alone = Answers.of(ANSWERS.frame.filter(pl.col("source") == "ann"))
    assert "one subject says nothing about other people" in " ".join(texts(evaluate(RUN, alone, Settings()).notes))


HAND = Answers.of(
    pl.DataFrame(
        [("ann", "q1", item, place, s) for place, (item, s) in enumerate([("x", 1.0), ("y", 0.9), ("z", 0.7)], 1)],
        schema=["source", "query", "item", "rank", "relevance"],
        orient="row",
    )
)
LIST = Run.of(
    pl.DataFrame(
        [("A", "q1", item, -float(place)) for place, item in enumerate("ykxlm")],
        schema=["system", "query", "item", "score"],
        orient="row",
    )
)


@pytest.mark.parametrize(
    ("rule", "w"), [("optimist", 5.0), ("uniform", 37.9), ("tail", 70.8), ("worst", 70.8), ("printed", 72.9)]
)
def test_the_rules_by_hand(rule: str, w: float) -> None:
    """Golden: worked by hand. x is at rank 3 (|1 - 3|), y at 1, z is missing; w^A = 1·2 + .9·1."""
    row = evaluate(LIST, HAND, Settings(collection=100, rule=rule)).tables["single"].row(0, named=True)  # type: ignore[arg-type]
    assert row["w_A"] == pytest.approx(2.9)
    assert row["w_B"] == pytest.approx(w - 2.9)
    assert row["displacement"] == pytest.approx(w)


@pytest.mark.parametrize(
    ("given", "quality"),
    [
        ({}, 1 / 6), ({"exponent": 2}, 1 / 36), ({"quality": "exponential", "rate": 0.1}, 0.6065306597),
        ({"quality": "exponential"}, 0.0067379470),
    ],
)  # fmt: skip
def test_the_qualities_by_hand(given: dict, quality: float) -> None:
    made = evaluate(LIST, HAND, Settings(collection=100, rule="optimist", scale="raw", **given))
    value = made.summary.filter(pl.col("measure") == "quality")["value"].item()
    assert value == pytest.approx(quality)


def test_what_belongs_to_the_other_quality_is_refused() -> None:
    with pytest.raises(CallError, match="rate does not apply to quality=rational; say quality=exponential"):
        evaluate(LIST, HAND, Settings(rate=0.1))
    with pytest.raises(CallError, match="exponent does not apply to quality=exponential"):
        evaluate(LIST, HAND, Settings(quality="exponential", exponent=2.0))


def test_the_mean_over_subjects_of_a_query_comes_after_the_single_values() -> None:
    made = evaluate(RUN, ANSWERS, Settings(collection=50))
    single, means = made.tables["single"], made.tables["by_query"]
    assert means.height == 18
    assert means["query"].is_sorted()
    for row in means.iter_rows(named=True):
        own = single.filter((pl.col("query") == row["query"]) & (pl.col("system") == row["system"]))
        assert row["subjects"] == own.height == 2
        assert row["w"] == pytest.approx(own["displacement"].mean())
        assert row["quality_sd"] == pytest.approx(own["quality"].std())
        assert row["order"] == pytest.approx(own["score"].mean())


# Subjects as systems


def answers_with_holes() -> Answers:
    """Four subjects in orders of their own; dan answers one query, and q3 is answered by ann alone."""
    chance = np.random.default_rng(2)
    rows = []
    for who, queries in (("ann", (0, 1, 2, 3)), ("bob", (0, 1, 2)), ("cat", (0, 1, 2)), ("dan", (1,))):
        for q in queries:
            order = sorted(range(8), key=lambda n: n + chance.normal(0, 2))[:5]
            rows += [(who, f"q{q}", f"d{n}", k + 1, 1 - k / 6) for k, n in enumerate(order)]
    return Answers.of(pl.DataFrame(rows, schema=["source", "query", "item", "rank", "relevance"], orient="row"))


def test_each_subject_is_judged_by_all_others() -> None:
    """Oracle: her list as a run of its own against the answers of the others, query by query."""
    answers = answers_with_holes()
    made = evaluate(RUN, answers, Settings(collection=50, subjects_as_systems=True))
    own, frame = {}, answers.frame
    for person in answers.sources:
        rows = frame.filter(pl.col("source") == person)
        run = Run.of(rows.select(pl.lit(person).alias("system"), "query", "item", pl.col("relevance").alias("score")))
        others = frame.filter((pl.col("source") != person) & pl.col("query").is_in(rows["query"].implode()))
        compared = compare_answers(run, Answers(others), N=50)
        own[person] = compared.group_by("query").agg(pl.col("score").mean(), pl.col("quality").mean())
    people = {row["system"]: row for row in made.tables["people"].iter_rows(named=True)}
    assert list(people) == ["person ann", "person bob", "person cat", "person dan"]
    for person, values in own.items():
        assert people[f"person {person}"]["order"] == pytest.approx(values["score"].mean())
        assert people[f"person {person}"]["quality"] == pytest.approx(values["quality"].mean())
        assert people[f"person {person}"]["queries"] == values.height
    together = {}
    for person, values in own.items():
        for query, score in values.select("query", "score").iter_rows():
            n = frame.filter((pl.col("query") == query) & (pl.col("source") != person))["source"].n_unique()
            together.setdefault(query, []).append((n * score, n))
    expected = np.mean([sum(a for a, _ in part) / sum(n for _, n in part) for part in together.values()])
    assert made.tables["agreement"]["value"].item() == pytest.approx(expected)
    panels = evaluate(RUN, Answers(frame.filter(pl.col("query") != "q3")), Settings(collection=50))
    assert made.summary["value"].to_list() == pytest.approx(panels.summary["value"].to_list())
    assert "queries that one subject alone answered are left out (1)" in " ".join(texts(made.notes))


def test_two_subjects_with_equal_lists_have_no_displacement() -> None:
    made = evaluate(RUN, ANSWERS, Settings(collection=50, subjects_as_systems=True))
    people = made.tables["single"].filter(pl.col("system").str.starts_with("person "))
    assert people.height == 12
    assert people.filter(pl.col("system") == "person " + pl.col("source")).height == 0
    assert people["displacement"].to_list() == [0.0] * 12
    assert made.tables["agreement"].row(0) == (1.0, 1.0, 1.0)


def test_the_order_of_subjects_in_the_table_changes_nothing() -> None:
    frame = answers_with_holes().frame
    parts = frame.partition_by("source", maintain_order=True)
    turned = Answers.of(pl.concat([parts[at] for at in (2, 0, 3, 1)]))
    settings = Settings(collection=50, subjects_as_systems=True)
    one, other = (evaluate(RUN, answers, settings) for answers in (Answers.of(frame), turned))
    assert one.to_dict() == other.to_dict()


def test_a_system_named_like_a_person_and_a_single_subject_are_refused() -> None:
    settings = Settings(subjects_as_systems=True)
    with pytest.raises(CallError, match="only 'ann' answered"):
        evaluate(LIST, HAND, settings)
    named = Run.of(RUN.frame.with_columns(pl.col("system").replace("near", "person ann")))
    with pytest.raises(CallError, match="a system is called 'person ann'"):
        evaluate(named, ANSWERS, settings)
    apart = Answers.of(ANSWERS.frame.filter((pl.col("source") == "ann") == (pl.col("query") < "q3")))
    with pytest.raises(CallError, match="no query was answered by two subjects"):
        evaluate(RUN, apart, settings)


def test_unknown_queries_are_named_and_count_as_empty_lists() -> None:
    more = ANSWERS.frame.with_columns(pl.col("query").replace({"q5": "q05"}))
    made = evaluate(RUN, Answers.of(more), Settings(collection=50))
    said = " ".join(texts(made.warnings))
    assert "'ann' answered query 'q05', which no run has: it counts as an empty list of every system" in said
    assert "1 query of the runs was answered by no subject" in said
    lost = made.tables["single"].filter(pl.col("query") == "q05")
    assert lost["returned"].to_list() == [0.0] * 6
    short = Run(RUN.frame.filter((pl.col("system") != "far") | (pl.col("query") != "q1")))
    assert "Answered queries that a run lacks (they count as empty lists): far 1." in " ".join(
        texts(evaluate(short, ANSWERS, Settings(collection=50)).warnings)
    )
    assert not evaluate(RUN, ANSWERS, Settings(collection=50)).warnings
