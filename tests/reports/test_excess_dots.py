"""The figure of excess above chance: a mark per word, diamonds where q is small, 0 in view."""

from __future__ import annotations

import pytest
from visualness_samples import found

from endoxa.reports.figures.excess_dots import excess_dots
from endoxa.reports.figures.style import to_svg


@pytest.mark.parametrize("width", [9.0, 3.6])
def test_a_mark_for_every_word(width: float) -> None:
    words = found(8, visual=3).frame
    figure = excess_dots(words, level=0.05, width=width)
    (axes,) = figure.axes
    marks = [line.get_marker() for line in axes.lines if line.get_marker() in {"D", "o"}]
    assert marks == ["D"] * 3 + ["o"] * 5
    low, high = axes.get_xlim()
    assert low < min(0, words["lo"].fill_nan(0).min()) and high > words["hi"].fill_nan(0).max()
    svg = to_svg(figure)
    for row in words.iter_rows(named=True):
        assert f"{row['word']}: {abs(row['above']):.3f}".replace(": ", ": −" if row["above"] < -0.0005 else ": ") in svg
    assert svg == to_svg(excess_dots(words, level=0.05, width=width))


def test_a_word_without_an_interval_has_a_dot_only() -> None:
    words = found(2, norms=False).frame
    drawn = [
        len(line.get_xdata())
        for line in excess_dots(words[1:2], level=0.05).axes[0].lines
        if line.get_marker() != "None"
    ]
    assert drawn == [1]
