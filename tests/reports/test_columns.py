"""Tables that are wider than the terminal."""

from __future__ import annotations

import io

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from endoxa.reports.columns import ROOM, Column, laid_out
from endoxa.reports.sheets import Sheet
from endoxa.reports.terminal import frame_table

SYSTEMS = ["splade_v2", "monoT5_3b_rerank_msmarco"]


def printed(sheet: Sheet, width: int = 80) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width).print(sheet.rich())
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_what_fits_is_one_table() -> None:
    sheet = frame_table(pl.DataFrame({"system": SYSTEMS, "relevant_uniques": [1, 2]}), width=80)
    assert sheet.below is None
    assert printed(sheet)[0] == "system                    relevant uniques"


def test_columns_that_do_not_fit_stand_below_beside_the_names() -> None:
    numbers = {f"value_{number}": [0.5, 0.25] for number in range(8)}
    lines = printed(frame_table(pl.DataFrame({"system": SYSTEMS, "baseline": SYSTEMS[::-1], **numbers}), width=80))
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("splade_v2  ") for line in lines) == 3 == lines.count("") + 1  # no name is broken
    heads = " ".join(line for line in lines if line.startswith("system"))
    assert heads.split().count("baseline") == 3
    assert all(f" {number}" in " ".join(lines) for number in range(8))


def test_headings_break_before_names_and_only_at_blanks() -> None:
    columns = [Column("system", ["a" * ROOM], is_name=True), *[Column("relevant uniques", ["1"], True)] * 4]
    sheet = laid_out(columns, 70)
    assert [line.split() for line in printed(sheet, 70)] == [
        ["relevant"] * 4, ["system", *["uniques"] * 4], ["a" * ROOM, *"1111"],
    ]  # fmt: skip


def test_texts_break_at_blanks_and_intervals_never() -> None:
    text = "labels, not truth: what is in the same folder as the query is relevant"
    columns = [Column("way", ["folders"]), Column("interval", ["[0.123, 0.456]"]), Column("meaning", [text])]
    lines = printed(laid_out(columns, 70), 70)
    assert max(map(len, lines)) <= 70 and "[0.123, 0.456]" in lines[1]
    assert all(word in " ".join(lines).split() for word in text.split())


CELLS = st.text(st.sampled_from("ab_ -"), max_size=40)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=8), st.integers(60, 120))
def test_every_word_is_shown_and_no_line_is_too_long(cells: list[list[str]], width: int) -> None:
    columns = [Column("system", cells[0], is_name=True), *(Column("text", two) for two in cells)]
    lines = printed(laid_out(columns, width), width)
    assert max(map(len, lines)) <= width
    letters = "".join(lines)
    for column in columns[1:]:
        assert all(word in letters for cell in column.cells for word in cell.split())
