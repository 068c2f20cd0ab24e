"""What is said of each judge, against what was put in."""

import math
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
import polars as pl
import pytest
from scipy import stats

from endoxa.studies import quality
from endoxa.studies.kinds import file, rate
from endoxa.studies.latest import ROWS, latest, opinions

START = datetime(2026, 1, 1, tzinfo=UTC)


def table(rows):
    given = [
        {name: None for name in ROWS}  # noqa: C420
        | {"number": at, "key": f"k{at}", "kind": "answer", "role": "main", "round": 1, "task": at, "query": "q",
           "at": START + timedelta(minutes=at)}
        | row
        for at, row in enumerate(rows)
    ]  # fmt: skip
    return pl.DataFrame(given, schema=ROWS, orient="row")


def judged(rows, tolerance=1.0, scale="1-5"):
    """A dict of dicts: judge, then column."""
    frame = table(rows)
    held = latest(frame)
    found = quality.judges(frame, held, opinions(held, scale), is_right=partial(rate.is_right, tolerance=tolerance))
    assert dict(found.schema) == quality.SCHEMA
    return {row["source"]: row for row in found.iter_rows(named=True)}


def ratings(source, grades, **more):
    return [{"source": source, "item": f"d{n}", "grade": g, **more} for n, g in enumerate(grades)]


def test_nobody():
    assert judged([]) == {}


def test_counts_and_seconds():
    rows = [
        *ratings("ana", [1.0, 2.0, None], active_seconds=6.0),
        {"source": "ana", "item": "d9", "grade": 5.0, "role": "practice", "active_seconds": 60.0},
        {"source": "ana", "kind": "skip", "task": 50, "query": None},
        {"source": "ana", "kind": "undo", "task": 2, "query": None},  # takes the third back
        # a page of four items in 8 seconds
        *[
            {"source": "ben", "task": 99, "key": "page", "item": f"e{n}", "grade": 3.0, "active_seconds": 8.0}
            for n in range(4)
        ],
    ]
    found = judged(rows)
    ana = found["ana"]
    assert (ana["answers"], ana["undecided"], ana["skipped"]) == (2, 0, 1)
    assert ana["median_seconds"] == 6.0
    assert ana["last"] == START + timedelta(minutes=5)
    assert found["ben"]["median_seconds"] == 2.0
    assert [*found] == ["ben", "ana"]  # by number of answers


def test_a_judge_who_only_skipped_or_took_all_back():
    found = judged([{"source": "ana", "kind": "skip", "query": None}])
    assert (found["ana"]["answers"], found["ana"]["skipped"], found["ana"]["flags"]) == (0, 1, [])
    assert math.isnan(found["ana"]["median_seconds"])


def test_one_answer():
    (row,) = judged(ratings("ana", [4.0])).values()
    assert row["answers"] == 1 and row["flags"] == []
    assert all(math.isnan(row[name]) for name in ("drift", "drift_lo", "drift_hi", "correlation", "median_seconds"))


def test_drift_is_the_slope_of_the_difference_from_the_others():
    rng = np.random.default_rng(1)
    truth = rng.normal(3, 1, 30)
    own = truth + np.linspace(-1, 1, 30) + rng.normal(0, 0.2, 30)
    found = judged([*ratings("ben", truth), *ratings("eve", truth), *ratings("ana", own)])
    line = stats.linregress(np.linspace(0, 1, 30), own - truth)
    reach = stats.t.ppf(0.975, 28) * line.stderr
    row = found["ana"]
    assert (row["drift"], row["drift_lo"], row["drift_hi"]) == pytest.approx(
        (line.slope, line.slope - reach, line.slope + reach)
    )
    assert row["drift_lo"] > 1.5


def test_correlation_finds_the_odd_one_out():
    rng = np.random.default_rng(2)
    truth = rng.integers(1, 6, 40).astype(float)
    found = judged([*ratings("ana", truth), *ratings("ben", truth), *ratings("odd", 6 - truth)])
    others = (truth + truth) / 2
    assert found["odd"]["correlation"] == pytest.approx(stats.pearsonr(6 - truth, others).statistic)
    assert any(flag.startswith("disagrees with the others") for flag in found["odd"]["flags"])


def test_of_two_judges_nobody_is_the_odd_one_out():
    truth = np.random.default_rng(2).integers(1, 6, 40).astype(float)
    rows = [*ratings("ana", truth), *ratings("ben", 6 - truth)]
    found = judged(rows)
    assert found["ana"]["correlation"] == found["ben"]["correlation"] == pytest.approx(-1)
    assert found["ana"]["flags"] == found["ben"]["flags"] == []
    words = quality.disagreement(pl.DataFrame(list(found.values())))
    assert words.startswith("ana and ben disagree with each other (correlation -1.00).") and "a third" in words
    agreed = judged([*ratings("ana", truth), *ratings("ben", truth)])
    assert quality.disagreement(pl.DataFrame(list(agreed.values()))) == ""


def test_where_most_disagree_nobody_is_the_odd_one_out():
    rng = np.random.default_rng(5)
    truth = rng.integers(1, 6, 60).astype(float)
    rows = [row for name in ("ana", "ben", "eve") for row in ratings(name, rng.permutation(truth))]
    found = judged(rows)
    assert all(row["correlation"] < 0.2 and row["flags"] == [] for row in found.values())
    assert "none of them is the odd one out" in quality.disagreement(pl.DataFrame(list(found.values())))
    three = judged([*ratings("ana", truth), *ratings("ben", truth), *ratings("odd", 6 - truth)])
    assert [name for name, row in three.items() if row["flags"]] == ["odd"]
    assert quality.disagreement(pl.DataFrame(list(three.values()))) == ""


def known(source, grades, expected, role="gold"):
    return [
        {"source": source, "item": f"g{n}", "grade": g, "expected": e, "role": role}
        for n, (g, e) in enumerate(zip(grades, expected, strict=True))
    ]


@pytest.mark.parametrize(("tolerance", "right"), [(0.0, 1), (1.0, 2)])
def test_gold(tolerance, right):
    rows = [*known("ana", [4.0, 3.0, 1.0, None], ["4", "4", "4", "4"]), *known("ana", [2.0], ["5"], "practice")]
    row = judged(rows, tolerance)["ana"]
    assert (row["gold_right"], row["gold_asked"]) == (right, 4)
    assert any(flag.startswith(f"gold: {right} of 4") for flag in row["flags"])


def test_gold_of_filing():
    rows = [
        {"source": "ana", "query": None, "item": f"g{n}", "category": said, "expected": "cats", "role": "attention"}
        for n, said in enumerate(["cats", "dogs", None])
    ]
    frame = table(rows)
    row = quality.judges(frame, latest(frame), None, is_right=file.is_right).row(0, named=True)
    assert (row["gold_right"], row["gold_asked"]) == (1, 3)


def test_flags():
    found = judged(
        [
            *ratings("fast", [1.0, 2.0, 3.0], active_seconds=0.5),
            *ratings("same", [2.0] * 8),
            *ratings("unsure", [None] * 5 + [1.0, 2.0, 3.0]),
            *ratings("fine", [1.0, 2.0, 5.0, 4.0], active_seconds=5.0),
        ]
    )
    assert found["fast"]["flags"] == ["too fast: 0.5 s per item"]
    assert "gives every item the grade 2" in found["same"]["flags"]
    assert any("undecided 5 of 8" in flag for flag in found["unsure"]["flags"])
    assert found["fine"]["flags"] == []
