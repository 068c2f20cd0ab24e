"""Dots and intervals."""

from __future__ import annotations

import math

import polars as pl
import pytest
from evaluation_samples import sample_evaluation, texts_of

from endoxa.errors import EndoxaError
from endoxa.reports.figures.dots import intervals
from endoxa.reports.figures.style import to_svg

WIDTHS = (3.6, 7.0)


def test_intervals_are_sorted_best_first() -> None:
    summary = sample_evaluation(6).summary
    order = summary.filter(pl.col("measure") == "AP").sort("value", descending=True)["system"].to_list()
    for width in WIDTHS:
        shown = [text for text in texts_of(to_svg(intervals(summary, "AP", width=width))) if text in order]
        assert shown == order
    shown = [text for text in texts_of(to_svg(intervals(summary, "AP", lower=True))) if text in order]
    assert shown == order[::-1]


def test_intervals_without_bounds_or_value() -> None:
    summary = sample_evaluation(3).summary.with_columns(
        value=pl.when(pl.col("system") == "bm25").then(math.nan).otherwise("value"),
        lo=pl.when(pl.col("system") == "splade-v3").then(-math.inf).otherwise(None),
        hi=pl.when(pl.col("system") == "splade-v3").then(math.inf).otherwise(None),
    )
    texts = texts_of(to_svg(intervals(summary, "AP")))
    assert "undefined" in texts
    assert any("[−∞, ∞]" in text for text in texts)
    assert "50000" in texts_of(to_svg(intervals(summary, "NumRet")))
    with pytest.raises(EndoxaError, match="no measure"):
        intervals(summary, "MAP")
