from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import LONG, sample_report

from endoxa.reports.labels import clean, counts, number, probability, share, shortened, signed, size


@pytest.mark.parametrize(
    ("value", "text", "difference"),
    [
        (0.31204, "0.3120", "+0.3120"),
        (-0.5, "−0.5000", "−0.5000"),
        (-0.00001, "0.0000", "0.0000"),
        (0.00001, "0.0000", "0.0000"),
        (0.0, "0.0000", "0.0000"),
        (math.nan, "–", "–"),
        (None, "–", "–"),
        (-math.inf, "−∞", "−∞"),
        (math.inf, "∞", "+∞"),
    ],
)
def test_numbers(value: float | None, text: str, difference: str) -> None:
    assert number(value) == text
    assert signed(value) == difference


def test_probabilities_shares_sizes() -> None:
    assert [probability(p) for p in (0.00099, 0.001, 0.0451, 1.0, math.nan)] == [
        "p < 0.001",
        "p = 0.001",
        "p = 0.045",
        "p = 1.000",
        "p unknown",
    ]
    assert [share(*pair) for pair in ((0, 9), (1, 9999), (1, 3), (1, 0))] == ["0.0 %", "< 0.1 %", "33.3 %", "–"]
    assert [size(n) for n in (0, 999, 1400, 23_000_000, 7_000_000_000)] == [
        "0 B",
        "999 B",
        "1.4 kB",
        "23.0 MB",
        "7.0 GB",
    ]


def test_counts_are_whole_numbers_without_interval() -> None:
    summary = sample_report(2).summary
    assert counts(summary) == {"NumRet"}
    one_query = summary.with_columns(value=pl.lit(1.0), lo=pl.lit(None, pl.Float64), hi=pl.lit(None, pl.Float64))
    assert counts(one_query) == {"NumRet"}  # P@10 = 1 on a single query is still a share


def test_names_are_cut_in_the_middle_and_stay_apart() -> None:
    first, second = shortened([LONG + "1", LONG + "2"], 20)
    assert first.endswith("1")
    assert second.endswith("2")
    assert shortened(["x" * 30 + "a" + "x" * 30, "x" * 61], 20)[1].endswith("(2)")
    assert shortened(["bm25"], 20) == ["bm25"]


@given(st.lists(st.text(max_size=60), min_size=1, max_size=6, unique=True), st.integers(12, 40))
def test_short_names_are_short(names: list[str], limit: int) -> None:
    assert all(len(name) <= limit for name in shortened(names, limit))


def test_control_characters_and_turned_writing_are_gone() -> None:
    assert clean("a\x00b\nc\u202ed") == "a b c d"
