"""The curve of P(best) against labels: which systems it shows, and that it stays in its frame."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from evaluation_samples import HOSTILE, LONG, system_names, texts_of, titles_of

from endoxa.reports.figures.label_curves import label_curves, notable
from endoxa.reports.figures.style import styled, to_svg

STEPS = [0, 5, 10, 20, 25, 50]


def sample(courses: dict[str, list[float]]) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame({"labels": STEPS[: len(p)], "system": [name] * len(p), "p_best": p}) for name, p in courses.items()
    )


@pytest.fixture(scope="module")
def turned() -> pl.DataFrame:
    return sample(
        {
            "first": [0.09, 0.02, 0.01, 0.0, 0.0, 0.0],  # leads once, below .1
            "never": [0.08, 0.05, 0.09, 0.0, 0.0, 0.0],
            "once": [0.0, 0.1, 0.0, 0.0, 0.0, 0.0],
            "late": [0.0, 0.3, 0.6, 0.8, 0.9, 0.96],
        }
    )


def test_systems_that_lead_or_reach_a_tenth(turned) -> None:
    assert notable(turned) == ["late", "once", "first"]
    svg = to_svg(label_curves(turned, 0.95))
    assert {"late", "once", "first", "settled: 0.95", "labels given", "P(best)"} <= set(texts_of(svg))
    assert "never" not in texts_of(svg)
    assert "late: 0.96 after 50 labels" in titles_of(svg) and "settled: 0.95" in titles_of(svg)


@pytest.mark.parametrize("width", [3.6, 9.0])
@pytest.mark.parametrize("names", [[HOSTILE, LONG], system_names(9), ["one"]])
def test_text_stays_in_the_frame(names: list[str], width: float) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(len(names)), len(STEPS))
    p[0] = 1 / len(names)  # everyone leads
    curve = sample({name: p[:, place].tolist() for place, name in enumerate(names)})
    figure = label_curves(curve, 0.95, width=width)
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        box = figure.get_tightbbox(canvas.get_renderer())
    assert box.x0 >= 0 and box.y0 >= 0
    assert box.x1 <= figure.get_figwidth() and box.y1 <= figure.get_figheight()
    svg = to_svg(figure)
    assert svg == to_svg(label_curves(curve, 0.95, width=width)) and "<script" not in svg
    assert ("3 other systems" in texts_of(svg)) == (len(names) == 9)


def test_one_point_alone() -> None:
    assert notable(sample({"a": [0.7], "b": [0.3]})) == ["a", "b"]
    assert "a: 0.70 after 0 labels" in titles_of(to_svg(label_curves(sample({"a": [0.7], "b": [0.3]}), 0.95)))
