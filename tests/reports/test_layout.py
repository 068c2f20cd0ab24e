"""The layout of pages: cells, sections, escaping, light and dark."""

from __future__ import annotations

import math
from itertools import count

import pytest
from evaluation_samples import HOSTILE, LONG, read, sample_evaluation

from endoxa.evaluations.evaluation import File
from endoxa.reports.figures.dots import intervals
from endoxa.reports.pages.layout import (
    NAME,
    Cell,
    Grid,
    Section,
    chance_cell,
    chart,
    name_cell,
    number_cell,
    range_cell,
    render,
    share_cell,
    signed_cell,
    whole_cell,
)


@pytest.mark.parametrize("unknown", [None, math.nan])
def test_an_unknown_number_is_a_dash_that_sorts_last(unknown: float | None) -> None:
    for cell in (number_cell(unknown), signed_cell(unknown), chance_cell(unknown), share_cell(unknown)):
        assert (cell.text, cell.sort) == ("–", "")
    assert range_cell(unknown, None, None).small == ""
    assert share_cell(3, 0).text == "–"
    assert whole_cell(None).text == "–"


def test_cells_have_the_number_they_are_sorted_by() -> None:
    assert range_cell(0.5, 0.25, 0.75, 2) == Cell("0.50", 0.5, "[0.25, 0.75]")
    assert signed_cell(-0.25, 2) == Cell("−0.25", -0.25)
    assert chance_cell(1.0) == Cell("> 0.99", 1.0)
    assert share_cell(1, 4) == Cell("25.0 %", 0.25)
    assert whole_cell(2, alert=True).strong
    assert not whole_cell(0, alert=True).strong


def test_long_names_are_cut_but_for_the_title() -> None:
    cell = name_cell(LONG)
    assert len(cell.text) == NAME
    assert cell.title == LONG


def test_a_page_of_sections_is_escaped_and_whole() -> None:
    summary = sample_evaluation(3).summary
    grid = Grid(HOSTILE, ("system", HOSTILE), [[name_cell(HOSTILE), number_cell(0.5)]], note=HOSTILE, virtual=0)
    drawing = chart(
        lambda width: intervals(summary, "AP", width=width),
        count(1),
        heading=HOSTILE,
        label=HOSTILE,
        caption=HOSTILE,
        grid=grid,
    )
    long = Grid("all rows", ("a",), [[number_cell(float(n))] for n in range(30)])
    section = Section("one", HOSTILE, HOSTILE, [HOSTILE], [grid], [drawing, drawing], below=long, small=[HOSTILE])
    html = render(
        title=HOSTILE,
        sections=[section],
        aside=HOSTILE,
        facts=[HOSTILE],
        warnings=[HOSTILE],
        policies=[f"a: {HOSTILE}"],
        notes=[HOSTILE],
        definitions=[(HOSTILE, HOSTILE)],
        provenance={"Command": HOSTILE},
        files=[File(HOSTILE, 1, "00")],
    )
    reader = read(html)
    assert (reader.errors, reader.open) == ([], [])
    assert "<script>alert" not in html
    assert "all rows: all 30" in "".join(reader.text)
    assert 'class="virtual"' in html
    assert "var(--ink)" in drawing.wide
    assert drawing.narrow
