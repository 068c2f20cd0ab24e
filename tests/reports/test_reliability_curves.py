"""The reliability curve: its points are the bins, it stays in its frame, and names are text."""

from __future__ import annotations

import polars as pl
import pytest
from evaluation_samples import HOSTILE, texts_of, titles_of

from endoxa.reports.figures.reliability_curves import DIAGONAL, reliability_curves
from endoxa.reports.figures.style import styled, to_svg

BINS = pl.DataFrame({"said": [0.55, 0.75, 0.97], "right": [0.6, 0.8, 0.99], "pairs": [1200, 40, 30]})


def test_every_bin_is_a_point_with_its_numbers() -> None:
    svg = to_svg(reliability_curves({"1 label a topic": BINS, "no labels": BINS.head(1)}))
    assert {"1 label a topic: said 0.550, true 0.600, 1,200 pairs", "no labels: said 0.550, true 0.600, 1,200 pairs",
            "1 label a topic: said 0.970, true 0.990, 30 pairs", DIAGONAL} <= set(titles_of(svg))  # fmt: skip
    assert {"1 label a topic", "no labels", DIAGONAL, "stated probability", "share that was right"} <= set(
        texts_of(svg)
    )


@pytest.mark.parametrize("width", [3.6, 7.0, 9.0])
def test_everything_stays_in_the_frame(width: float) -> None:
    low = BINS.with_columns(right=pl.Series([0.1, 0.5, 1.0]))
    figure = reliability_curves({f"{count} labels a topic": low for count in range(8)}, width=width)
    with styled():
        figure.canvas.draw()
        box = figure.get_tightbbox()
    assert box.x0 >= 0 and box.y0 >= 0
    assert box.x1 <= figure.get_figwidth() + 1e-6 and box.y1 <= figure.get_figheight() + 1e-6
    assert figure.axes[0].get_ylim()[0] == pytest.approx(0.07)  # a point below a half is shown


def test_the_same_bytes_every_time_and_no_code() -> None:
    one, other = (to_svg(reliability_curves({HOSTILE: BINS}, start=0.0)) for _ in range(2))
    assert one == other and "<script" not in one
