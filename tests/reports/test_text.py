from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
from evaluation_samples import HOSTILE, sample_evaluation, sample_scores, sample_summary
from hypothesis import given
from hypothesis import strategies as st

from endoxa.errors import TextError
from endoxa.reports.text import render, summary_table, undefined_note

SPECIAL = r"a|b_c%d&e#f$g{h}i~j^k\l<m>n"


def cells_of(line: str) -> list[str]:
    """The cells of one Markdown row: split at pipes that no backslash stands before."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_markdown_pipes_and_marks_are_escaped() -> None:
    text = render(pl.DataFrame({"sys|tem": [SPECIAL, "[x](y) *b* `c`"], "value": [0.5, 1.0]}), "markdown")
    head, rule, first, second = text.splitlines()
    assert cells_of(head) == [r"sys\|tem", "value"]
    assert len(cells_of(first)) == len(cells_of(second)) == 2
    assert r"a\|b\_c%d&amp;e" in first
    assert "&lt;m&gt;" in first
    assert r"\[x\](y) \*b\* \`c\`" in second
    assert rule.endswith("-: |")  # numbers stand right


@given(st.text(max_size=40))
def test_any_name_stays_in_its_cell(name: str) -> None:
    frame = pl.DataFrame({"system": [name], "value": [0.25]})
    lines = render(frame, "markdown").rstrip("\n").split("\n")
    assert len(lines) == 3
    stripped = re.sub(r"\\[\\`*_{}\[\]|~$#]", "", lines[2])
    assert stripped.count("|") == 3
    rows = render(frame, "tsv").split("\n")
    assert len(rows) == 3
    assert rows[1].count("\t") == 1
    assert json.loads(render(frame, "jsonl")) == {"system": name, "value": 0.25}


def test_latex_special_characters() -> None:
    text = render(pl.DataFrame({"system": [SPECIAL], "value": [-0.5]}), "latex")
    assert (
        r"a\textbar{}b\_c\%d\&e\#f\$g\{h\}i\textasciitilde{}j\textasciicircum{}k\textbackslash{}l"
        r"\textless{}m\textgreater{}n" in text
    )
    assert r"$-$0.5000" in text
    assert r"\begin{tabular}{lr}" in text
    assert "LuaLaTeX" not in text
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert text.count(rule) == 1


def test_latex_row_does_not_begin_with_an_option_and_hyphens_stay_hyphens() -> None:
    text = render(pl.DataFrame({"system": ["[1]", "*", "a--b---c"]}), "latex")
    assert "\n{[}1]" in text
    assert "\n{*}" in text
    assert "a-{}-b-{}-{}-c" in text


def test_latex_says_when_letters_go_beyond_latin() -> None:
    assert "LuaLaTeX" in render(pl.DataFrame({"system": ["検索"]}), "latex")
    assert "LuaLaTeX" not in render(pl.DataFrame({"system": ["Čapek … ≤"]}), "latex")


def test_caption_makes_a_table_with_a_label() -> None:
    frame = pl.DataFrame({"x": [1]})
    text = render(frame, "latex", caption="50% of R&D", label="tab:x")
    assert r"\caption{50\% of R\&D}" in text
    assert text.index(r"\caption") < text.index(r"\label{tab:x}") < text.index(r"\begin{tabular}")
    assert render(frame, "markdown", caption="a|b").startswith("a\\|b\n\n| ")


def test_numbers_for_readers_and_for_programs() -> None:
    frame = pl.DataFrame({"v": [1 / 3, 3.1e-5, -2e-5, math.nan, None, 0.0], "n": [1, 2, 3, 4, 5, None]})
    read = [cells_of(line) for line in render(frame, "markdown").splitlines()[2:]]
    assert [row[0] for row in read] == ["0.3333", "3.1e-05", "−2.0e-05", "–", "–", "0.0000"]
    assert read[5][1] == "–"
    exact = [line.split("\t")[0] for line in render(frame, "tsv").splitlines()[1:]]
    assert exact == [repr(1 / 3), "3.1e-05", "-2e-05", "nan", "", "0.0"]
    values = [json.loads(line)["v"] for line in render(frame, "jsonl").splitlines()]
    assert values == [1 / 3, 3.1e-5, -2e-5, None, None, 0.0]


def test_summary_table_has_every_number_and_bolds_the_best() -> None:
    summary = sample_evaluation(6).summary
    text = summary_table(summary, "markdown")
    for row in summary.filter(pl.col("lo").is_not_null()).iter_rows(named=True):
        assert f"{row['value']:.4f}" in text
        assert f"\\[{row['lo']:.4f}, {row['hi']:.4f}\\]" in text
    for measure in ("AP", "nDCG@10", "P@10"):
        best = summary.filter(pl.col("measure") == measure)["value"].max()
        assert f"**{best:.4f}**" in text
    assert text.count("**") == 2 * 3  # counts, and measures where all are equal, have no best
    assert "|  50000 |" in text


def test_small_values_can_be_better_and_equals_share_the_bold() -> None:
    rows = [("a", "Fallout", 0.2), ("b", "Fallout", 0.1), ("c", "Fallout", 0.10000001)]
    summary = pl.DataFrame(rows, schema=["system", "measure", "value"], orient="row").with_columns(
        lo=pl.lit(0.0), hi=pl.lit(1.0), se=pl.lit(0.1), queries=pl.lit(5), undefined=pl.lit(0)
    )
    assert summary_table(summary, "latex", lower=("Fallout",)).count(r"\textbf{0.1000}") == 2
    assert r"\textbf{0.2000}" in summary_table(summary, "latex")


def test_undefined_is_a_dash_with_a_note() -> None:
    summary = sample_evaluation(2).summary.with_columns(
        value=pl.when((pl.col("system") == "bm25") & (pl.col("measure") == "AP")).then(math.nan).otherwise("value")
    )
    note = undefined_note(summary)
    assert note == "– no defined value. Undefined (0/0): AP on 3 queries; nDCG@10 on 3 queries; P@10 on 3 queries."
    assert summary_table(summary, "markdown").rstrip().endswith(note)
    assert r"\multicolumn{5}{l}{\footnotesize -- no defined value. Undefined" in summary_table(summary, "latex")
    assert "nan" not in summary_table(summary, "tsv").lower()
    assert undefined_note(summary.filter(pl.col("measure") == "NumRet")) is None


def test_summary_as_jsonl_keeps_full_precision() -> None:
    summary = sample_evaluation(2).summary
    first = json.loads(summary_table(summary, "jsonl").splitlines()[0])
    assert first["system"] == "bm25"
    assert first["AP"]["value"] == summary["value"][0]
    assert first["NumRet"]["lo"] is None


def test_intervals_can_be_left_out() -> None:
    assert "[" not in summary_table(sample_evaluation(2).summary, "tsv", intervals=False)


def test_unknown_style_is_named() -> None:
    with pytest.raises(TextError, match=r"markdwon.*did you mean markdown"):
        render(pl.DataFrame({"x": [1]}), "markdwon")  # type: ignore[arg-type]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path: Path) -> None:
    names = [SPECIAL, "[1] *", '"quoted" --', HOSTILE.replace("日本語", "é")]
    table = summary_table(sample_summary(sample_scores(names)), "latex", caption="R&D at 50 %", label="tab:a")
    bare = render(pl.DataFrame({"system": names, "value": [-1.0, math.nan, 2.0, None]}), "latex")
    document = (
        f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{table}\n\n{bare}\\end{{document}}"
    )
    (tmp_path / "table.tex").write_text(document, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"],
        text=True,
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-800:]
