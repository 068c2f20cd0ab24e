"""Hills: where the mean of each system may lie."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from evaluation_samples import sample_in_doubt, system_names
from scipy import stats

from endoxa.reports.figures.hills import density, ridges, titled

SIX = sample_in_doubt(system_names(6))


def test_hill_is_a_density_of_the_draws() -> None:
    rng = np.random.default_rng(5)
    draws = np.concatenate([rng.normal(0.3, 0.02, 1500), rng.normal(0.42, 0.03, 500)])
    at = np.linspace(0.1, 0.6, 400)
    heights = density(draws, at, size=2000)
    assert heights is not None
    assert np.trapezoid(heights, at) == pytest.approx(1, abs=1e-3)
    quarter, three = np.quantile(draws, [0.25, 0.75])
    wide = 0.9 * min(draws.std(ddof=1), (three - quarter) / 1.349) * 2000**-0.2
    known = stats.gaussian_kde(draws, bw_method=wide / draws.std(ddof=1))
    np.testing.assert_allclose(heights, known(at), atol=0.02 * known(at).max())
    few = density(draws, at, size=50)
    assert few is not None
    assert few.max() < heights.max()  # fewer draws show less detail
    assert density(np.full(50, 0.3), at, size=50) is None
    assert density(np.full(50, np.nan), at, size=50) is None


def test_hill_stands_where_the_draws_are() -> None:
    """The top of each hill, read from the picture, is near the middle of its interval, and the mean is marked."""
    figure = ridges(SIX, "AP", width=9.0)
    axes = figure.axes[0]
    hills = [patch for patch in axes.get_children() if type(patch).__name__ == "Polygon"]
    rows = {row["system"]: row for row in SIX.summary.filter(pl.col("measure") == "AP").iter_rows(named=True)}
    for system, row in rows.items():
        own = [patch.get_xy() for patch in hills if patch.get_gid().startswith(f"hint:{system}: ")]
        assert len(own) == 2
        assert row["lo"] < own[0][own[0][:, 1].argmin(), 0] < row["hi"]
        np.testing.assert_allclose([own[1][:, 0].min(), own[1][:, 0].max()], [row["lo"], row["hi"]])
        marks = [line for line in axes.lines if str(line.get_gid()).startswith(f"hint:{system}: ")]
        assert [list(line.get_xdata()) for line in marks if len(line.get_xdata()) == 1] == [[row["value"]]]


def test_the_virtual_system_says_what_it_does() -> None:
    assert titled(SIX, "⊤") == "⊤ (everything)"
    assert titled(SIX, "bm25") == "bm25"
