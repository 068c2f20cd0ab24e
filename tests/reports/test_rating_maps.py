"""Figures of systems and ratings."""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.reports.figures import rating_maps as drawn
from endoxa.reports.figures.style import to_svg


def test_a_limited_number_of_points_are_drawn() -> None:
    rng = np.random.default_rng(0)
    points = pl.DataFrame({"x": rng.normal(size=50_000), "rating": rng.integers(1, 6, 50_000).astype(float)})
    x = np.linspace(-2, 2, 50)
    maps = {"bayes": pl.DataFrame({"x": x, "mean": 3 + x / 2, "lo": 2.8 + x / 2, "hi": 3.2 + x / 2})}
    svg = to_svg(drawn.score_map(points, maps, threshold=3.0, read="z"))
    assert "standardised per query" in svg
    assert 1_000 < svg.count("<use") <= drawn.POINTS + 50
    assert "threshold: relevant is above 3" in svg


def test_a_band_is_drawn_only_where_there_is_one() -> None:
    table = {
        "system": ["a"] * 3, "cutoff": [1, 2, 3], "precision": [0.9, 0.8, 0.7], "recall": [0.1, 0.2, 0.3],
        "precision_lo": [np.nan, 0.7, 0.6], "precision_hi": [np.nan, 0.9, 0.8], "sampled": [3, 40, 60],
        "effective": [2.0, 35.0, 50.0],
    }  # fmt: skip
    svg = to_svg(drawn.precision_recall(pl.DataFrame(table)))
    assert "a, first 1: precision 0.90, recall 0.10, 3 asked, effective 2" in svg
    assert "a, first 2: precision 0.80 [0.70, 0.90], recall 0.20, 40 asked, effective 35" in svg
