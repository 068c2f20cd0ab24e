"""The curves at every cut-off: both ways, all systems, and text that stays in its frame."""

from __future__ import annotations

import pytest
from cutoff_samples import curves
from evaluation_samples import HOSTILE, LONG, system_names, texts_of, titles_of

from endoxa.reports.figures.cutoff_curves import cutoff_curves, ranked
from endoxa.reports.figures.style import styled, to_svg


def test_the_figure_says_what_it_shows() -> None:
    values = curves(["one", "two", "three"])
    svg = to_svg(cutoff_curves(values, "recall"))
    assert {"by folders", "by consensus", "recall", "cut-off k", "one", "two", "three"} <= set(texts_of(svg))
    assert len([title for title in titles_of(svg) if title.startswith("one: ")]) == 2


def test_systems_are_ranked_by_the_first_way_at_the_deepest_cut_off() -> None:
    rows = curves(["one", "two", "three"])
    rows = rows.filter(rows["measure"] == "precision")
    last = rows.filter((rows["way"] == "folders") & (rows["k"] == 4)).sort("value", descending=True)
    assert ranked(rows) == last["system"].to_list()


@pytest.mark.parametrize("width", [3.6, 9.0])
@pytest.mark.parametrize("names", [[HOSTILE, LONG], system_names(9), ["one"]])
def test_text_stays_in_the_frame(names: list[str], width: float) -> None:
    values = curves(names)
    figure = cutoff_curves(values, "precision", width=width)
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        box = figure.get_tightbbox(canvas.get_renderer())
    assert box.x0 >= 0 and box.y0 >= 0
    assert box.x1 <= figure.get_figwidth() and box.y1 <= figure.get_figheight()
    svg = to_svg(figure)
    assert svg == to_svg(cutoff_curves(values, "precision", width=width)) and "<script" not in svg
    assert ("3 others" in texts_of(svg)) == (len(names) == 9)
