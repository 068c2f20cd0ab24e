"""Dots by several ways: what they show, and text that stays in its frame."""

from __future__ import annotations

import polars as pl
import pytest
from evaluation_samples import HOSTILE, LONG, system_names, texts_of, titles_of
from pipeline_samples import ways

from endoxa.reports.figures.style import styled, to_svg
from endoxa.reports.figures.way_dots import ranked, way_dots


def test_the_figure_says_what_it_shows() -> None:
    svg = to_svg(way_dots(ways(["one", "two"]), "precision"))
    assert {"one", "two", "way 1", "way 2", "way 3", "precision"} <= set(texts_of(svg))
    assert "one, way 1: 0.880 [0.700, 1.000]" in titles_of(svg)


def test_the_best_by_the_first_way_is_on_top_and_undefined_last() -> None:
    values = ways(["one", "two", "three"]).with_columns(
        pl.when(pl.col("system") == "one").then(float("nan")).otherwise("value").alias("value")
    )
    assert ranked(values) == ["two", "three", "one"]
    titles = titles_of(to_svg(way_dots(values, "recall")))
    assert not [title for title in titles if title.startswith("one, way")]


@pytest.mark.parametrize("width", [3.6, 9.0])
@pytest.mark.parametrize("names", [[HOSTILE, LONG], system_names(9), ["one"]])
@pytest.mark.parametrize("count", [2, 3])
def test_text_stays_in_the_frame(names: list[str], width: float, count: int) -> None:
    figure = way_dots(ways(names, count), "F1", width=width)
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        box = figure.get_tightbbox(canvas.get_renderer())
    assert box.x0 >= 0 and box.y0 >= 0
    assert box.x1 <= figure.get_figwidth() and box.y1 <= figure.get_figheight()
    svg = to_svg(figure)
    assert svg == to_svg(way_dots(ways(names, count), "F1", width=width)) and "<script" not in svg
