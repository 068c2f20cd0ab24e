"""The figure of V: a mark per word, diamonds for visual words, 0 in view."""

from __future__ import annotations

import pytest
from visualness_samples import found

from endoxa.formatting import number
from endoxa.reports.figures.style import to_svg
from endoxa.reports.figures.visual_dots import visual_dots


@pytest.mark.parametrize("width", [9.0, 3.6])
def test_a_mark_for_every_word(width: float) -> None:
    words = found(8, visual=3).frame
    figure = visual_dots(words, width=width)
    (axes,) = figure.axes
    marks = [line.get_marker() for line in axes.lines if line.get_marker() in {"D", "o"}]
    assert marks == ["D"] * 3 + ["o"] * 5
    low, high = axes.get_xlim()
    assert low < min(0, (words["V"] - words["half"]).min()) and high > (words["V"] + words["half"]).max()
    svg = to_svg(figure)
    for row in words.iter_rows(named=True):
        assert f"{row['word']}: {number(row['V'], 2)}" in svg and row["call"] in svg
    assert svg == to_svg(visual_dots(words, width=width))
