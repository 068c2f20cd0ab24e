"""The line on how far people agree with each other, and what part of that a system reaches."""

from __future__ import annotations

import polars as pl
import pytest

from endoxa.evaluations.answered_sentences import among_people
from endoxa.evaluations.evaluation import Evaluation


def evaluation(value: float, lo: float, hi: float, orders: dict[str, float]) -> Evaluation:
    rows = [
        {"system": system, "measure": "order", "value": order, "lo": order, "hi": order, "se": None, "queries": 4,
         "undefined": 0}
        for system, order in orders.items()
    ]  # fmt: skip
    agreement = pl.DataFrame({"value": [value], "lo": [lo], "hi": [hi]})
    return Evaluation.of_rows(rows, kind="answers", scores=None, tables={"agreement": agreement})


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ((0.62, 0.55, 0.7, {"A": 0.48}), "0.62 [0.55, 0.70] on order; A reaches 0.48: 77 % of that."),
        ((0.5, float("nan"), float("nan"), {"A": 0.5, "B": 0.25, "C": -0.2}),
         "0.50 on order; A reaches 0.50: 100 % of that; B reaches 0.25: 50 % of that; C reaches −0.20."),
        ((-0.1, -0.2, 0.1, {"A": 0.5}), "−0.10 [−0.20, 0.10] on order, no better than by chance; A reaches 0.50."),
    ],
)  # fmt: skip
def test_what_the_line_says(found: tuple, text: str) -> None:
    assert among_people(evaluation(*found)) == f"People agree with each other to {text}"


def test_there_is_no_line_without_people() -> None:
    assert among_people(evaluation(0.5, 0.4, 0.6, {"A": 0.5}).changed(tables={})) == ""
