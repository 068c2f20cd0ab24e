"""Formulas of others are texts in a spreadsheet, and the same texts as before when they are read back."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

from endoxa.io.read import read
from endoxa.io.spreadsheets import SIGNS
from endoxa.io.study_files import read_any
from endoxa.io.write import write, write_frame
from endoxa.tables import Opinions

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "'=1", "''=1"]
PLAIN = ["ana", "'quoted'", "-5", "+1.5e3", "a=b", "", "'"]


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_formulas_are_texts_and_come_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"f.{suffix}"
    texts = [*FORMULAS, *PLAIN]
    write_frame(pl.DataFrame({"item": texts, "n": range(len(texts))}), path)
    with path.open(newline="") as file:
        cells = [row[0] for row in csv.reader(file, delimiter="," if suffix == "csv" else "\t")][1:]
    assert all(cell[0] == "'" for cell in cells[: len(FORMULAS)])
    assert cells[len(FORMULAS) :] == PLAIN
    assert not [cell for cell in cells if cell[:1] in SIGNS and cell and cell not in {"-5", "+1.5e3"}]
    assert read_any(path)["item"].to_list() == texts


def test_nicknames_and_comments_of_judgments(tmp_path: Path) -> None:
    rows = {"source": ["=HYPERLINK(1)", "ben"], "query": ["q", "q"], "item": ["@a", "b"], "grade": [1.0, -1.0]}
    opinions = Opinions.of(pl.DataFrame(rows))
    write(opinions, tmp_path / "f.csv")
    assert "'=HYPERLINK(1)" in (tmp_path / "f.csv").read_text()
    assert read(tmp_path / "f.csv").frame.equals(opinions.frame)
