"""Figures of raters."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from endoxa.reports.figures import rater_plots as drawn
from endoxa.reports.figures.style import to_svg


@pytest.mark.parametrize("width", [3.6, 9.0])
@pytest.mark.parametrize("count", [2, 130])
def test_figures_of_few_and_of_many_raters(width: float, count: int) -> None:
    rng = np.random.default_rng(0)
    raters = pl.DataFrame(
        {
            "source": [f"rater-{n} $x_{n}$" for n in range(count)],
            "answers": rng.integers(1, 500, count),
            "correlation": np.where(rng.random(count) < 0.1, np.nan, rng.uniform(-1, 1, count)),
            "shift": rng.normal(size=count),
            "a": rng.uniform(0.5, 2, count),
            "b": rng.normal(size=count),
            "mean": rng.uniform(1, 5, count),
            "sd": rng.uniform(0, 1, count),
            "flags": ["reversed" if n == 1 else "" for n in range(count)],
        }
    )
    svg = to_svg(drawn.rater_map(raters, width=width))
    assert svg.count("<title>rater-") == count
    assert "rater-1" in svg
    bars = to_svg(drawn.calibration(raters, width=width))
    assert bars.count("as given: mean") == 2 * min(count, drawn.ROWS)
    assert (f"of {count} raters" in bars) == (count > drawn.ROWS)
