"""Rank correlations with ratings: those of SciPy, paired intervals, and too few words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from endoxa.errors import JoinError
from endoxa.words.norm_ranks import correlations, spearman


def test_rho_is_scipys() -> None:
    rng = np.random.default_rng(0)
    values, ratings = rng.integers(0, 6, (3, 40)).astype(float), rng.integers(1, 6, 40).astype(float)
    for row, rho in zip(values, spearman(values, ratings), strict=True):
        assert rho == pytest.approx(spearmanr(row, ratings).statistic, abs=1e-12)
    assert np.isnan(spearman(np.ones((1, 5)), np.arange(5.0))[0])


def test_methods_side_by_side() -> None:
    rng = np.random.default_rng(1)
    ratings = rng.normal(size=60)
    good, poor = ratings + rng.normal(size=60), ratings + 4 * rng.normal(size=60)
    good[7], ratings[9] = np.nan, np.nan
    table = correlations({"good": good, "poor": poor}, ratings, rng=np.random.default_rng(2))
    assert table["words"].to_list() == [58, 58], "all methods are compared on the same words"
    keep = np.isfinite(good) & np.isfinite(ratings)
    assert table["rho"][0] == pytest.approx(spearmanr(good[keep], ratings[keep]).statistic)
    assert (table["lo"] < table["rho"]).all() and (table["rho"] < table["hi"]).all()
    assert np.isnan(table["difference"][0])
    assert table["difference"][1] == pytest.approx(table["rho"][1] - table["rho"][0])
    assert table["difference_lo"][1] < table["difference"][1] < table["difference_hi"][1] < 0
    same = correlations({"good": good, "again": good}, ratings, rng=np.random.default_rng(2))
    assert same.row(1)[5:] == (0.0, 0.0, 0.0), "words are resampled for both alike"


def test_a_method_that_ties_all_words_has_no_correlation() -> None:
    table = correlations({"x": np.arange(8.0), "flat": np.ones(8)}, np.arange(8.0), rng=np.random.default_rng(0))
    assert table["rho"][0] == pytest.approx(1) and all(np.isnan(value) for value in table.row(1)[2:])


def test_intervals_cover() -> None:
    """95 % intervals for rho of 60 words contain the true one in 91 to 98 % of 200 repetitions."""
    rng = np.random.default_rng(3)
    true, inside = 6 / np.pi * np.arcsin(0.5 / 2), 0
    for _ in range(200):
        x = rng.normal(size=60)
        y = 0.5 * x + np.sqrt(0.75) * rng.normal(size=60)
        row = correlations({"x": x}, y, resamples=200, rng=rng).row(0, named=True)
        inside += row["lo"] <= true <= row["hi"]
    assert 0.91 <= inside / 200 <= 0.98


def test_too_few_words() -> None:
    with pytest.raises(JoinError, match=r"1 of the words has a rating.*at least 5"):
        correlations({"x": np.array([1.0, np.nan])}, np.array([1.0, 2.0]), rng=np.random.default_rng(0))
