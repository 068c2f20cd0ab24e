"""Evaluation against subjects' ranked answers: the numbers of displacement, with intervals."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from endoxa.evaluations.answered import evaluate
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
    assert made.measures == ["order", "ranks off", "returned"]
    means = average_answers(compare_answers(RUN, ANSWERS, N=50))
    for measure, column in (("order", "score"), ("ranks off", "per_item"), ("returned", "returned")):
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
