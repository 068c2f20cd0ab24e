"""What curves under a common generality say, as sentence, table and page."""

from __future__ import annotations

import polars as pl
import pytest

from endoxa.evaluations.growing import RECALLS, Growing
from endoxa.reports.pages.growing_collections import CAVEAT, answer, page, table


@pytest.fixture
def found() -> Growing:
    rows = [
        (system, level, round(10 / level), recall, start * level**0.5 * (1 - recall / 2))
        for level in (0.5, 0.02)
        for system, start in (("a", 0.8), ("b", 1.0))
        for recall in RECALLS
    ]
    schema = ["system", "generality", "irrelevant", "recall", "precision"]
    return Growing(pl.DataFrame(rows, schema=schema, orient="row"), 7, 500, ("a note",))


def test_the_answer_says_what_growing_does_and_calls_nobody_the_best(found: Growing) -> None:
    """The mean of 1 - recall/2 is .75."""
    assert answer(found) == (
        "From the generality of 0.5 to 0.02, mean precision over recall of b changes from 0.530 to 0.106, although its "
        "order of the items is the same; a random ranking goes from 0.5 to 0.02 (7 queries)."
    )
    one = Growing(found.curves.filter(pl.col("generality") < 0.1), 7, 500, ())
    assert answer(one).startswith("At the common generality of 0.02, which a random ranking reaches, b has a mean ")


def test_the_table_has_the_common_line(found: Growing) -> None:
    frame = table(found)
    assert frame["system"].to_list() == ["b", "a", "random ranking"] * 2
    assert frame["mean"].to_list()[2::3] == [0.5, 0.02] and frame.row(2)[3:] == (0.5,) * 12
    assert frame["mean"][0] == pytest.approx(0.75 * 0.5**0.5)


def test_the_page_has_a_figure_for_every_generality_and_system(found: Growing) -> None:
    html = page(found)
    assert html.count("<figure>") == 4 and "random ranking: 0.02" in html and CAVEAT in html and "a note" in html
