"""What is printed without Rich is what Rich prints."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.markup import escape, render

from endoxa.reports.sheets import Head, Sheet, escaped, unmarked

TEXTS = st.text(st.sampled_from("ab [](){}/\\#@=.,:-–é0"), max_size=12)


@given(TEXTS)
def test_markup_is_that_of_rich(text: str) -> None:
    assert escaped(text) == escape(text)
    if not text.endswith("\\"):
        marked = f"[bold]{escape(text)}[/bold] [dim]x[/dim]"
        assert unmarked(marked) == f"{text} x"
        if "\\[" not in text:  # of these Rich loses the backslash
            assert render(marked, emoji=False).plain == f"{text} x"


def by_rich(sheet: Sheet, width: int) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(sheet.rich())
    return out.getvalue()


CELL = st.text(st.sampled_from("ab0. [x]–"), max_size=8).map(str.rstrip).map(escaped)


@given(st.lists(st.lists(CELL, min_size=3, max_size=3), max_size=4), st.booleans())
def test_a_sheet_is_printed_as_rich_prints_it(rows: list[list[str]], right: bool) -> None:
    sheet = Sheet(
        [Head("system", fold=True), Head("AP", "right" if right else "left"), Head("P@10", no_wrap=True)], rows
    )
    text = sheet.text(200)
    assert text is not None
    assert text + "\n" == by_rich(sheet, 200)


@pytest.mark.parametrize("cell", ["文書", "a\tb", ":cat: :dog:", "x" * 50])
def test_what_is_not_plain_is_left_to_rich(cell: str) -> None:
    assert Sheet([Head("system")], [[cell]]).text(40) is None
