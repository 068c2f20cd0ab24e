"""Rounds of judging add up, in whatever order they are given."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from endoxa.comparisons.rounds import last_round, rounds_of
from endoxa.tables import Opinions


def judged(rows: list[tuple[str, float | None, float]], draw: int | None = None, by: str = "next") -> Opinions:
    """Labels of one query: item, grade, propensity."""
    frame = pl.DataFrame(rows, schema={"item": pl.String, "grade": pl.Float64, "propensity": pl.Float64}, orient="row")
    more = (pl.lit("q").alias("query"), pl.lit(by).alias("selected_by"), pl.lit(draw, pl.Int64).alias("draw"))
    return Opinions.of(frame.with_columns(more))


def weights(labels: Opinions) -> dict[str, float]:
    return dict(labels.frame.select("item", "propensity").iter_rows())


def test_rounds_weigh_by_their_labels() -> None:
    """W = ω_r/π + Σ of the later ω: for a (.5/.2 + .5) = 3, for b .5/.3; the propensity is 1/W."""
    one, two = judged([("a", 1.0, 0.2)]), judged([("b", 0.0, 0.3)])
    assert weights(rounds_of([one, two])) == pytest.approx({"a": 1 / 3, "b": 0.6})
    assert weights(rounds_of([two, one])) == pytest.approx({"a": 0.4, "b": 1 / (0.5 / 0.3 + 0.5)})
    assert weights(rounds_of([one])) == {"a": 0.2}
    three = [judged([("a", 1.0, 0.2), ("b", 0.0, 0.5)]), judged([("c", 1.0, 0.1)]), judged([("d", 1.0, 0.2)])]
    expected = {"a": 0.5 / 0.2 + 0.5, "b": 0.5 / 0.5 + 0.5, "c": 0.25 / 0.1 + 0.25, "d": 0.25 / 0.2}
    assert weights(rounds_of(three)) == pytest.approx({item: 1 / w for item, w in expected.items()})


def test_rounds_that_say_their_number_come_in_any_order() -> None:
    one, two = judged([("a", 1.0, 0.2)], 1), judged([("b", 0.0, 0.3)], 2)
    found = [rounds_of(tables).frame for tables in ([one, two], [two, one])]
    assert found[0].equals(found[1])
    together = Opinions.of(pl.concat([two.frame, one.frame]))
    assert rounds_of([together]).frame.equals(found[0])
    assert weights(Opinions(found[0])) == pytest.approx({"a": 1 / 3, "b": 0.6})
    assert last_round(together) == 2
    assert last_round(judged([("a", 1.0, 0.2)])) == 1


def test_adaptive_rounds_of_ratings_are_not_rounds_of_labels() -> None:
    """Their own number does not order them; of several tables each is a round."""
    one, two = judged([("a", 1.0, 0.2)], 2, "adaptive"), judged([("b", 0.0, 0.3)], 1, "adaptive")
    together = Opinions.of(pl.concat([one.frame, two.frame]))
    assert weights(rounds_of([together])) == pytest.approx({"a": 0.2, "b": 0.3})
    assert last_round(together) == 1
    assert weights(rounds_of([one, two])) == pytest.approx({"a": 1 / 3, "b": 0.6})


def test_a_sure_pair_stays_sure_and_no_propensity_passes_one() -> None:
    one = judged([("a", 1.0, 1.0), ("b", 1.0, 0.9)])
    assert weights(rounds_of([one])) == {"a": 1.0, "b": pytest.approx(0.9)}
    both = rounds_of([one, judged([("c", 1.0, 0.9)])])
    assert both.frame["propensity"].max() == 1.0


def test_rows_without_a_grade_are_a_part_that_was_not_answered() -> None:
    """Two of four answered: their propensities are half as large; what was not answered keeps its own."""
    one = judged([("a", 1.0, 0.4), ("b", None, 0.4), ("c", 0.0, 0.8), ("d", -1.0, 0.2)])
    assert weights(rounds_of([one])) == pytest.approx({"a": 0.2, "b": 0.4, "c": 0.4, "d": 0.2})
    two = judged([("e", 1.0, 0.5), ("f", 1.0, 0.5)])
    expected = {"a": 1 / (0.5 / 0.2 + 0.5), "b": 0.4, "c": 1 / (0.5 / 0.4 + 0.5), "d": 0.2, "e": 1.0, "f": 1.0}
    assert weights(rounds_of([one, two])) == pytest.approx(expected)


def test_a_half_answered_round_has_the_same_expectation() -> None:
    """20 of 60 pairs drawn, 10 of them answered: the number of relevant pairs is right on average."""
    rng = np.random.default_rng(0)
    truth = np.arange(60) < 15
    totals = []
    for _ in range(500):
        drawn = rng.permutation(60)[:20]
        rows = [(f"d{d}", float(truth[d]) if n < 10 else None, 1 / 3) for n, d in enumerate(drawn)]
        made = rounds_of([judged(rows)]).frame.drop_nulls("grade")
        totals.append((made["grade"] / made["propensity"]).sum())
    assert np.mean(totals) == pytest.approx(15, abs=4 * np.std(totals) / np.sqrt(len(totals)))


def test_a_round_without_a_label_has_no_weight() -> None:
    one, none = judged([("a", 1.0, 0.2)], 1), judged([("b", None, 0.3)], 2)
    assert weights(rounds_of([one, none])) == pytest.approx({"a": 0.2, "b": 0.3})
