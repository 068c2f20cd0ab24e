"""A chart of lines: which have a colour, the level, and that text stays in the frame."""

from __future__ import annotations

import numpy as np
import pytest
from evaluation_samples import HOSTILE, LONG, system_names, texts_of, titles_of

from endoxa.reports.figures.line_chart import Line, line_chart
from endoxa.reports.figures.style import styled, to_svg


def lines(names: list[str]) -> dict[str, Line]:
    x = np.arange(20, 120, 20)
    return {name: Line(x, np.linspace(0, 1 - at / 20, 5), f"{name}: {at}") for at, name in enumerate(names)}


@pytest.mark.parametrize("width", [3.6, 9.0])
@pytest.mark.parametrize("names", [[HOSTILE, LONG], system_names(9), ["one"]])
def test_text_stays_in_the_frame(names: list[str], width: float) -> None:
    draw = {"across": "pictures seen", "up": "targets found", "start": 20.0, "thing": "learner", "width": width}
    figure = line_chart(lines(names), **draw)
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        box = figure.get_tightbbox(canvas.get_renderer())
    assert box.x0 >= 0 and box.y0 >= 0
    assert box.x1 <= figure.get_figwidth() and box.y1 <= figure.get_figheight()
    svg = to_svg(figure)
    assert {"pictures seen", "targets found"} <= set(texts_of(svg))
    assert ("3 other learners" in texts_of(svg)) == (len(names) == 9)
    assert figure.axes[0].get_xlim()[0] == 20


def test_a_level_is_drawn_and_named() -> None:
    svg = to_svg(line_chart(lines(["one"]), across="x", up="y", level=(0.5, "half")))
    assert "half" in titles_of(svg) and "half" in texts_of(svg)
    assert "half" not in texts_of(to_svg(line_chart(lines(["one"]), across="x", up="y")))
