from __future__ import annotations

import io
import math

import polars as pl
import pytest
from evaluation_samples import LONG
from hypothesis import given
from hypothesis import strategies as st

from endoxa.formatting import (
    capitalised,
    chance,
    clean,
    counted,
    folded,
    html_of,
    listed,
    number,
    probability,
    share,
    shortened,
    signed,
    size,
)
from endoxa.reports.terminal import frame_table


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


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.62, "0.62"), (0.9999, "> 0.99"), (1.0, "> 0.99"), (0.0, "< 0.01"), (0.004, "< 0.01"), (math.nan, "–")],
)
def test_no_probability_is_printed_as_certain(p: float, text: str) -> None:
    assert chance(p) == text
    assert chance(None) == "–"
    assert chance(0.9999, 3) == "> 0.999"


def test_lists_of_names_are_counted_beyond_the_most() -> None:
    assert listed(["a"], 3) == "a"
    assert listed(["a", "b", "c"], 3) == "a, b and c"
    assert listed(["a", "b", "c", "d"], 3) == "a, b, c and 1 other"
    assert listed(["a", "b"], 3, 5) == "a, b and 3 others"


def test_numbers_of_things_have_their_plural() -> None:
    assert [counted(n, "query", "queries") for n in (1, 2, 12_000)] == ["1 query", "2 queries", "12\u202f000 queries"]
    assert capitalised("nDCG is") == "NDCG is"


def test_a_sentence_as_html_is_escaped_with_bold_names() -> None:
    text = html_of(lambda name: name("<i>\x02") + " is better (p < 0.001, r = 0.5 ± 0.1, 95 %)")
    assert text == "<b>&lt;i&gt; </b> is better (p\u00a0&lt;\u00a00.001, r\u00a0=\u00a00.5\u00a0±\u00a00.1, 95\u00a0%)"


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


def test_names_break_between_their_words_only() -> None:
    name = "bm25-k1-0.9_rm3+monot5-base"
    lines = folded(name, 12).split("\n")
    assert "".join(lines) == name and max(map(len, lines)) <= 12
    assert all(line.endswith(("-", "_", ".", "+")) for line in lines[:-1])
    assert folded("short", 12) == "short"
    assert folded("a" * 30, 9) == "aaaaa…aaa"  # one long word is cut, and says so


def test_a_table_of_long_names_fits_80_columns() -> None:
    from rich.console import Console

    names = [f"team-{n}/dense-retriever-with-a-long-name-v{n}" for n in (1, 2)]
    frame = pl.DataFrame(
        {"system": names, "baseline": names[::-1], "diff": [0.1, -0.1], "interval": ["[0.1, 0.2]"] * 2}
    )
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(frame_table(frame, width=80).rich())
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert "".join(line.split()[0] for line in lines[1:] if line.strip()).startswith(names[0])
