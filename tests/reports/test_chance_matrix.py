"""The matrix of P(row better than column)."""

from __future__ import annotations

import re

import polars as pl
import pytest
from evaluation_samples import sample_in_doubt, system_names, texts_of, titles_of

from endoxa.reports.figures.chance_matrix import better
from endoxa.reports.figures.style import to_svg

SIX = sample_in_doubt(system_names(6))


def test_cells_hold_numbers_while_they_can_be_read() -> None:
    for count, width, numbered in ((16, 9.0, True), (17, 9.0, False), (8, 3.6, True), (9, 3.6, False)):
        made = sample_in_doubt(system_names(count), measures=("AP",), step=0.3 / count)
        texts = texts_of(to_svg(better(made, "AP", width=width)))
        in_cells = sum(bool(re.fullmatch(r"[<>]?0?\.\d\d", text)) for text in texts) - 2  # 0.25 and 0.75 of the key
        assert in_cells == (count * (count - 1) if numbered else 0), (count, width)
        assert ("Bold" if numbered else "Dot") in " ".join(texts)


def test_matrix_says_what_the_comparison_says() -> None:
    assert SIX.comparison is not None
    rows = SIX.comparison.frame.filter((pl.col("measure") == "AP") & (pl.col("doubt") == "all"))
    titles = titles_of(to_svg(better(SIX, "AP")))
    for row in rows.iter_rows(named=True):
        for system, against, p in (
            (row["system"], row["baseline"], row["p_better"]),
            (row["baseline"], row["system"], 1 - row["p_better"] - row["p_tie"]),
        ):
            (title,) = [title for title in titles if title.startswith(f"{system} better than {against}: ")]
            said = title.split(": ")[1].split("; ")[0]
            if 0.005 < p < 0.995:
                assert float(said) == pytest.approx(p, abs=0.005)
            else:
                assert said in {"< 0.01", "> 0.99", "0.01", "0.99"}
