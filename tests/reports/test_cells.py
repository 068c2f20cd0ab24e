"""The cells of tables: unknown numbers, what cells are sorted by, long names."""

from __future__ import annotations

import math

import pytest
from evaluation_samples import LONG

from endoxa.reports.pages import cells
from endoxa.reports.pages.cells import NAME, Cell


@pytest.mark.parametrize("unknown", [None, math.nan])
def test_an_unknown_number_is_a_dash_that_sorts_last(unknown: float | None) -> None:
    for cell in (cells.number(unknown), cells.signed(unknown), cells.chance(unknown), cells.share(unknown)):
        assert (cell.text, cell.sort) == ("–", "")
    assert cells.interval(unknown, None, None).small == ""
    assert cells.share(3, 0).text == "–"
    assert cells.whole(None).text == "–"


def test_cells_have_the_number_they_are_sorted_by() -> None:
    assert cells.interval(0.5, 0.25, 0.75, 2) == Cell("0.50", 0.5, "[0.25, 0.75]")
    assert cells.signed(-0.25, 2) == Cell("−0.25", -0.25)
    assert cells.chance(1.0) == Cell("> 0.99", 1.0)
    assert cells.share(1, 4) == Cell("25.0 %", 0.25)
    assert cells.whole(2, alert=True).strong
    assert not cells.whole(0, alert=True).strong


def test_long_names_are_cut_but_for_the_title() -> None:
    cell = cells.name(LONG)
    assert len(cell.text) == NAME
    assert cell.title == LONG
