"""From runs and judgments to scores: what each policy does, and what is counted."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

from endoxa.errors import JoinError, TextError
from endoxa.measures import evaluate
from endoxa.measures.evaluate import measure, prepare, score_block, score_empty
from endoxa.measures.gather import gather
from endoxa.measures.grammar import parse_all
from endoxa.policies import Policy
from endoxa.tables import DuplicateJudgmentError, Opinions, Run, Scores


def run_of(rows: list[tuple[str, str, str, float]]) -> Run:
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def opinions_of(rows: list[tuple[str, str, float | None]]) -> Opinions:
    return Opinions.of(pl.DataFrame(rows, schema=["query", "item", "grade"], orient="row"))


def listed(system: str, query: str, items: str) -> list[tuple[str, str, str, float]]:
    """One row per letter, the first with the highest score."""
    return [(system, query, item, float(len(items) - place)) for place, item in enumerate(items)]


def value_of(scores: Scores, system: str, query: str, name: str) -> dict[str, Any]:
    rows = scores.frame.filter((pl.col("system") == system) & (pl.col("query") == query) & (pl.col("measure") == name))
    assert rows.height == 1
    return rows.row(0, named=True)


# q1 judged by both systems' runs, q2 lacked by b, q3 judged without anything relevant, q9 judged by nobody
RUN = run_of(
    [*listed("a", "q1", "xyz"), *listed("a", "q2", "xy"), *listed("a", "q3", "xy"), *listed("a", "q9", "x"),
     *listed("b", "q1", "yx"), *listed("b", "q3", "w")]
)  # fmt: skip
OPINIONS = opinions_of([("q1", "x", 1), ("q1", "z", 0), ("q1", "v", 2), ("q2", "y", 1), ("q3", "x", 0)])


def test_scores_are_in_the_order_of_systems_queries_and_measures() -> None:
    scores = measure(RUN, OPINIONS, ["RR", "AP"])
    assert scores.frame.columns == list(Scores.SCHEMA)
    rows = list(scores.frame.select("system", "query", "measure").iter_rows())
    assert rows == [(s, q, m) for s in ("a", "b") for q in ("q1", "q2", "q3") for m in ("RR", "AP")]
    assert scores.systems == ["a", "b"]
    assert scores.queries == ["q1", "q2", "q3"]
    assert scores.measures == ["RR", "AP"]
    assert scores.policy == Policy()
    assert value_of(scores, "a", "q1", "AP")["value"] == 0.5
    assert value_of(scores, "b", "q1", "RR")["value"] == 0.5


def test_coverage_counts_what_was_seen() -> None:
    scores = measure(RUN, OPINIONS, "AP")
    assert scores.coverage.to_dicts() == [
        {"system": "a", "queries": 3, "missing": 0, "unknown": 1, "items": 7, "judged": 4, "tied": 0},
        {"system": "b", "queries": 3, "missing": 1, "unknown": 0, "items": 3, "judged": 1, "tied": 0},
    ]
    assert scores.absent is not None
    assert scores.absent.rows() == [("b", "q2")]


def test_pooled_but_unjudged_items_are_not_counted_as_judged() -> None:
    scores = measure(run_of(listed("a", "q", "xyz")), opinions_of([("q", "x", -1), ("q", "y", 0)]), "Judged@3")
    assert scores.coverage["judged"].to_list() == [1]
    assert scores.frame["value"][0] == pytest.approx(1 / 3)


def test_tied_items_are_counted() -> None:
    rows = [("a", "q1", "x", 1.0), ("a", "q1", "y", 1.0), ("a", "q1", "z", 0.0), ("a", "q2", "y", 0.0)]
    assert measure(run_of(rows), OPINIONS, "AP").coverage["tied"].to_list() == [2]
    deep = measure(run_of(rows), OPINIONS, "AP", Policy(cut=1))
    assert deep.coverage["items"].to_list() == [2]


# ---- missing topics


def test_missing_topic_as_an_empty_list() -> None:
    scores = measure(RUN, OPINIONS, ["AP", "SetP", "NumRet"], Policy(missing="empty"))
    assert value_of(scores, "b", "q2", "AP")["value"] == 0
    assert value_of(scores, "b", "q2", "NumRet")["value"] == 0
    assert np.isnan(value_of(scores, "b", "q2", "SetP")["value"])


def test_missing_topic_left_out() -> None:
    scores = measure(RUN, OPINIONS, "AP", Policy(missing="skip"))
    assert scores.frame.filter(pl.col("system") == "b")["query"].to_list() == ["q1", "q3"]
    assert scores.coverage["queries"].to_list() == [3, 2]
    assert scores.coverage["missing"].to_list() == [0, 1]


def test_missing_topic_as_an_error() -> None:
    with pytest.raises(JoinError, match=r"run 'b' lacks query 'q2' of the set of judgments \(1 in all\); allow it"):
        measure(RUN, OPINIONS, "AP", Policy(missing="error"))


@pytest.mark.parametrize("missing", ["empty", "skip", "error"])
def test_nothing_in_common(missing: Any) -> None:
    run = run_of(
        [*listed("a", "q1", "x"), *listed("b", "other", "x"), *listed("c", "p1", "x"), *listed("c", "p2", "x")]
    )
    with pytest.raises(
        JoinError, match=r"run 'b' shares no query with .*, which has 'q1' and others; the run has 1 other query: "
    ):
        measure(run, OPINIONS, "AP", Policy(missing=missing))
    with pytest.raises(JoinError, match=r"run 'b' shares no query with the set of judgments"):
        measure(run_of(listed("b", "other", "x")), OPINIONS, "AP", Policy(missing=missing))


@pytest.mark.parametrize("missing", ["empty", "skip", "error"])
def test_empty_tables(missing: Any) -> None:
    nothing = Run.of(pl.DataFrame(schema={"system": pl.String, "query": str, "item": str, "score": float}))
    with pytest.raises(JoinError, match="the run is empty"):
        measure(nothing, OPINIONS, "AP", Policy(missing=missing))
    with pytest.raises(JoinError, match="there are no judgments to measure against"):
        measure(RUN, opinions_of([("q1", "x", None)]), "AP", Policy(missing=missing))


# ---- 0/0


def test_undefined_is_nan_and_flagged() -> None:
    row = value_of(measure(RUN, OPINIONS, "AP"), "a", "q3", "AP")
    assert np.isnan(row["value"])
    assert row["undefined"] == 1


def test_undefined_as_zero_keeps_the_flag() -> None:
    scores = measure(RUN, OPINIONS, ["AP", "SetP"], Policy(undefined="zero"))
    assert not scores.frame["value"].is_nan().any()
    assert value_of(scores, "a", "q3", "AP") | {"value": 0.0, "undefined": 1.0} == value_of(scores, "a", "q3", "AP")
    assert value_of(scores, "b", "q2", "SetP")["undefined"] == 1  # an empty list
    assert value_of(scores, "b", "q2", "AP")["undefined"] == 0


def test_undefined_left_out_for_every_system_and_measure() -> None:
    scores = measure(RUN, OPINIONS, ["AP", "RR"], Policy(undefined="skip"))
    assert scores.frame["query"].unique().sort().to_list() == ["q1", "q2"]
    assert not scores.frame["value"].is_nan().any()


# ---- unjudged items


def test_condensed_lists() -> None:
    run = run_of(listed("a", "q1", "pxqzv"))  # p and q are unjudged; x 1, z 0, v 2
    scores = measure(run, OPINIONS, ["RR", "P@2", "AP", "nDCG", "NumRet", "Judged@3"], Policy(unjudged="condensed"))
    found = {row["measure"]: row["value"] for row in scores.frame.filter(pl.col("query") == "q1").to_dicts()}
    best = 2 + 1 / np.log2(3)
    expected = {"RR": 1, "P@2": 0.5, "AP": (1 + 2 / 3) / 2, "nDCG": (1 + 2 / 2) / best, "NumRet": 3, "Judged@3": 1}
    assert found == pytest.approx(expected)


def test_condensed_lists_drop_pooled_but_unjudged_items() -> None:
    run = run_of(listed("a", "q", "pxq"))
    opinions = opinions_of([("q", "p", -1), ("q", "x", 1)])
    scores = measure(run, opinions, ["RR", "NumRet"], Policy(unjudged="condensed"))
    assert scores.frame["value"].to_list() == [1, 1]


def test_bounds_of_unjudged_items() -> None:
    run = run_of(listed("a", "q1", "pxqzv"))
    scores = measure(run, OPINIONS, ["P@2", "RR", "AP"], Policy(unjudged="bounds", missing="skip"))
    assert value_of(scores, "a", "q1", "P@2") | {"value": 0.5, "lo": 0.5, "hi": 1.0} == value_of(
        scores, "a", "q1", "P@2"
    )
    rr = value_of(scores, "a", "q1", "RR")
    assert (rr["lo"], rr["value"], rr["hi"]) == (0.5, 0.5, 1)
    ap = value_of(scores, "a", "q1", "AP")  # has none
    assert (ap["lo"], ap["hi"]) == (None, None)


# ---- depth, grades, texts


def test_depth_cuts_every_list() -> None:
    run = run_of(listed("a", "q1", "pxqzv"))
    for depth, recall in ((1, 0.0), (2, 0.5), (4, 0.5), (5, 1.0), (50, 1.0)):
        scores = measure(run, OPINIONS, ["SetR", "NumRet"], Policy(cut=depth, missing="skip"))
        assert scores.frame["value"].to_list() == [recall, min(depth, 5)]


def test_float_grades_stay_floats() -> None:
    run = run_of(listed("a", "q", "xy"))
    opinions = opinions_of([("q", "x", 0.9), ("q", "y", 1.7)])
    scores = measure(run, opinions, ["DCG", "P@2", "P(rel=0.9)@2", "A@1"][:3])
    assert scores.frame["value"].to_list() == pytest.approx([0.9 + 1.7 / np.log2(3), 0.5, 1.0])


def test_an_undecided_answer_is_no_judgment() -> None:
    run = run_of(listed("a", "q", "xy"))
    scores = measure(run, opinions_of([("q", "x", None), ("q", "y", 1)]), ["Judged@2", "NumRel"])
    assert scores.frame["value"].to_list() == [0.5, 1]


def test_texts_are_apart_from_numbers() -> None:
    scores = measure(RUN, OPINIONS, ["relstring", "AP"], Policy(missing="skip"))
    assert scores.texts is not None
    assert scores.texts.filter(pl.col("query") == "q1").rows() == [
        ("a", "q1", "relstring", "1-0"), ("b", "q1", "relstring", "-1"),
    ]  # fmt: skip
    assert scores.measures == ["AP"]
    alone = measure(RUN, OPINIONS, "relstring")
    assert alone.frame.height == 0
    assert measure(RUN, OPINIONS, "AP").texts is None


def test_one_measure_under_two_names_is_scored_once() -> None:
    scores = measure(RUN, OPINIONS, ["map", "AP", "MAP"])
    assert scores.measures == ["AP"]
    assert scores.frame.height == 6


def test_bad_measures_are_refused() -> None:
    with pytest.raises(TextError, match="no measure is called 'nDGC'"):
        measure(RUN, OPINIONS, ["AP", "nDGC@5"])


def test_compat_reaches_the_kernels() -> None:
    run = run_of(listed("a", "q", "abcdefghij"))
    relevant = [("q", item, 1.0) for item in "acdgi"] + [("q", item, 1.0) for item in "yz"]
    values = {
        compat: measure(run, opinions_of(relevant), "AvgIPrec", Policy.like(compat)).frame["value"][0]
        for compat in ("none", "trec_eval-9", "trec_eval-10")
    }
    assert values == pytest.approx({"none": 0.539322, "trec_eval-9": 0.539322, "trec_eval-10": 0.563492}, abs=1e-6)
    fixed = measure(run, opinions_of(relevant), "AvgIPrec(compat='trec_eval-10')", Policy.like("trec_eval-9"))
    assert fixed.frame["value"][0] == pytest.approx(0.563492, abs=1e-6)


# ---- several assessors


def assessed() -> Opinions:
    rows = [
        ("ann", "q1", "x", 1), ("ann", "q1", "z", 0), ("bob", "q1", "x", 0), ("bob", "q1", "z", 1),
        ("cay", "q1", "x", 0), ("cay", "q1", "y", 0), ("ann", "q2", "y", 1), ("bob", "q3", "x", 1),
    ]  # fmt: skip
    return Opinions.of(pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row"))


def test_assessors_are_scored_apart_then_averaged() -> None:
    run = run_of(
        [*listed("b", "q1", "yx"), *listed("a", "q1", "xyz"), *listed("a", "q2", "xy"), *listed("a", "q3", "x")]
    )
    panel = assessed().frame.filter(pl.col("source") != "cay")
    scores = measure(run, Opinions(panel), ["RR", "AP"], Policy(assessors="mean", missing="skip"))
    assert scores.systems == ["b", "a"]
    row = value_of(scores, "a", "q1", "AP")
    assert row["value"] == pytest.approx((1 + 1 / 3) / 2)
    assert row["sd"] == pytest.approx(np.std([1, 1 / 3], ddof=1))
    assert value_of(scores, "a", "q2", "AP") | {"value": 0.5, "sd": None} == value_of(scores, "a", "q2", "AP")
    order = scores.frame.select("system", "query", "measure").rows()
    assert order == [("b", "q1", "RR"), ("b", "q1", "AP")] + [
        ("a", q, m) for q in ("q1", "q2", "q3") for m in ("RR", "AP")
    ]


def test_an_assessor_for_whom_a_measure_is_undefined_is_left_out_of_its_mean() -> None:
    run = run_of(listed("a", "q1", "xyz"))
    scores = measure(run, assessed(), ["AP", "RR"], Policy(assessors="mean", missing="skip"))
    ap = value_of(scores, "a", "q1", "AP")
    assert ap["value"] == pytest.approx((1 + 1 / 3) / 2)  # cay found nothing relevant: 0/0
    assert ap["undefined"] == 0
    assert value_of(scores, "a", "q1", "RR")["value"] == pytest.approx((1 + 1 / 3 + 0) / 3)
    zero = measure(run, assessed(), "AP", Policy(assessors="mean", missing="skip", undefined="zero"))
    assert value_of(zero, "a", "q1", "AP")["value"] == pytest.approx((1 + 1 / 3 + 0) / 3)


def test_several_assessors_taken_for_one_are_refused() -> None:
    with pytest.raises(DuplicateJudgmentError, match=r"item 'x' of query 'q1' has two judgments; .*--assessors mean"):
        measure(RUN, assessed(), "AP")


def test_several_assessors_who_share_the_work_are_one() -> None:
    rows = [("ann", "q1", "x", 1), ("bob", "q1", "y", 1)]
    opinions = Opinions.of(pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row"))
    scores = measure(run_of(listed("a", "q1", "xy")), opinions, "AP")
    assert scores.frame["value"].to_list() == [1]


# ---- blocks and batches


def campaign(seed: int) -> tuple[Run, Opinions]:
    """Queries with very different numbers of judged items, so that padding has something to hide."""
    random = Random(seed)
    run, judged = [], []
    for q in range(12):
        items = [f"d{i}" for i in range(2 + 6 * q + 60 * max(0, q - 5))]
        known = items[: 1 + 2 * len(items) // 3]
        judged += [(f"q{q:02}", item, float(random.choice([-1, 0, 0, 1, 2]))) for item in known]
        for system in ("s", "t"):
            some = random.sample(items, max(1, len(items) // 2))
            run += [(system, f"q{q:02}", item, float(random.randrange(20))) for item in some]
    return run_of(run), opinions_of(judged)


MANY = [
    "AP",
    "RR",
    "Success@5",
    "binG",
    "P@5",
    "nDCG@10",
    "nDCG",
    "DCG@200",
    "Bpref",
    "infAP",
    "ERR",
    "RBP",
    "Rndcg",
    "G",
    "nDCGrel",
    "Rprec",
    "AvgIPrec",
    "SetF",
]


@pytest.mark.parametrize("policy", [
    Policy(), Policy(unjudged="condensed"), Policy(unjudged="bounds"), Policy(ties="range"), Policy(cut=4),
    Policy(ties="average", shuffles=20),
], ids=str)  # fmt: skip
def test_the_size_of_batches_does_not_matter_to_the_last_bit(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    run, opinions = campaign(1)
    whole = measure(run, opinions, MANY, policy)
    for cells in (1, 300, 3000):
        monkeypatch.setattr(evaluate, "CELLS", cells)
        parts = measure(run, opinions, MANY, policy)
        assert parts.coverage.equals(whole.coverage)
        assert parts.frame.equals(whole.frame)


def test_batches_stay_below_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    run, opinions = campaign(2)
    monkeypatch.setattr(evaluate, "CELLS", 2000)
    batches, seen, lists_found = evaluate._batches, [], []

    def watched(found, judgments):
        lists_found.append(len(found.systems))
        for chosen, lists in batches(found, judgments):
            assert len(chosen) == 1 or max(lists.grade.size, lists.pool.size) <= 2000
            seen.extend(chosen.tolist())
            yield chosen, lists

    monkeypatch.setattr(evaluate, "_batches", watched)
    measure(run, opinions, ["AP"])
    assert [sorted(seen)] == [list(range(count)) for count in lists_found]


def test_blocks_of_queries_give_what_the_whole_gives() -> None:
    run, opinions = campaign(3)
    policy, wanted = Policy(), parse_all(MANY)
    panel = prepare(opinions, policy)
    blocks = []
    for some in (["q00", "q05"], ["q01", "q02", "q03", "q04"], [f"q{q:02}" for q in range(6, 12)]):
        part = Run(run.frame.filter(pl.col("query").is_in(some)))
        blocks.append(score_block(part, panel[""], wanted, policy))
    joined = gather(panel, [blocks], wanted, policy, systems=run.systems, empty=score_empty)
    whole = measure(run, opinions, MANY, policy)
    assert joined.coverage.equals(whole.coverage)
    assert joined.frame.equals(whole.frame)


def test_matrix_and_dict() -> None:
    scores = measure(RUN, OPINIONS, ["RR", "AP"], Policy(missing="skip"))
    systems, queries, values = scores.matrix("AP")
    assert (systems, queries) == (["a", "b"], ["q1", "q2", "q3"])
    assert values == pytest.approx(np.array([[0.5, 0.5, np.nan], [0.25, np.nan, np.nan]]), nan_ok=True)
    assert scores.to_dict()["b"]["q1"] == {"RR": 0.5, "AP": 0.25}
