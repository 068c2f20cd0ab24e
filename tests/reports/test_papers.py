"""Tables for papers: sorted, the best bold, letters for significant differences, a caption that names the test."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from evaluation_samples import sample_evaluation, sample_in_doubt, system_names

from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.standings import pairs_of
from endoxa.reports.papers import LETTERS, paper_table
from endoxa.verbs.evaluate import evaluate


def rows_of(text: str) -> list[list[str]]:
    """The rows of a Markdown table, its head first."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("| --")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_best_first_with_the_letters_of_the_systems_that_it_beats() -> None:
    evaluation = sample_evaluation(6)
    head, *rows = rows_of(paper_table(evaluation, "markdown", intervals=False))
    assert head == [r"\#", "system", "AP", "nDCG@10", "P@10", "NumRet"]
    order = evaluation.summary.filter(pl.col("measure") == "AP").sort("value", descending=True)["system"].to_list()
    assert [row[1] for row in rows] == order
    assert [row[0] for row in rows] == list(LETTERS[:6])
    letter = dict(zip(order, LETTERS, strict=False))
    for place, measure in ((2, "AP"), (3, "nDCG@10"), (4, "P@10")):
        won: dict[str, set[str]] = {system: set() for system in order}
        for pair in pairs_of(evaluation.comparison, measure):  # type: ignore[arg-type]
            if pair.p < 0.05:
                better, worse = (pair.system, pair.baseline) if pair.difference > 0 else (pair.baseline, pair.system)
                won[better].add(letter[worse])
        for row in rows:
            above = re.search(r"<sup>(\w+)</sup>", row[place])
            assert set(above[1] if above else "") == won[row[1]]
    assert rows[0][2].startswith("**")


def test_the_caption_names_topics_test_and_correction() -> None:
    text = paper_table(sample_evaluation(6), "latex")
    caption = re.search(r"\\caption\{(.*)\}", text)
    assert caption is not None and caption[1] == (
        r"Effectiveness on 50 topics. The best of each measure is bold. Brackets hold 95 \% intervals. Superscripts "
        r"name the systems that a value is significantly better than (paired randomisation test, p \textless{} 0.05, "
        "Holm correction over 15 comparisons of each measure)."
    )
    assert "Brackets" not in paper_table(sample_evaluation(6), "latex", intervals=False)
    named = paper_table(sample_evaluation(6, baseline="bm25"), "markdown")
    assert "(only the comparisons with bm25 were made)" in named
    qrels = {f"q{n}": {"x": 1} for n in range(8)}
    run = {s: {q: {"x": float(s == "a"), "y": 0.5} for q in qrels} for s in "ab"}
    tukey = paper_table(evaluate(run, qrels, ["AP"], test="tukey"), "markdown")
    assert "(randomised Tukey HSD test, p &lt; 0.05)." in tukey
    bare = paper_table(evaluate(run, qrels, ["AP"], test="t", correction="none"), "markdown")
    assert "(paired t test, p &lt; 0.05, no correction)." in bare


def test_where_nothing_differs_there_are_no_letters() -> None:
    qrels = {f"q{n}": {"x": 1} for n in range(8)}
    run = {s: {q: {"x": 1.0, "y": 0.5} for q in qrels} for s in "ab"}
    text = paper_table(evaluate(run, qrels, ["AP"]), "markdown")
    assert (
        "No difference is significant (paired randomisation test, p &lt; 0.05, Holm correction over 1 comparison)."
        in text
    )
    assert "<sup>" not in text and rows_of(text)[0] == ["system", "AP"]


def test_in_doubt_the_virtual_system_is_left_out_and_one_system_stands_alone() -> None:
    evaluation = sample_in_doubt(system_names(6))
    rows = rows_of(paper_table(evaluation, "markdown"))
    assert evaluation.virtual not in {row[1] for row in rows}
    assert "95 % interval of the difference, with all doubts" in paper_table(evaluation, "markdown")
    assert "bold" not in paper_table(sample_evaluation(1), "markdown")


def test_columns_that_hold_nothing_are_left_out() -> None:
    evaluation = sample_evaluation(3)
    empty = pl.when(pl.col("measure") == "P@10").then(float("nan")).otherwise("value")
    rows = rows_of(paper_table(replace(evaluation, summary=evaluation.summary.with_columns(value=empty)), "markdown"))
    assert "P@10" not in rows[0] and "AP" in rows[0]


@pytest.mark.parametrize(
    "evaluation", [sample_evaluation(6), sample_in_doubt(system_names(3))], ids=["judged", "doubt"]
)
def test_latex_is_well_formed(evaluation: Evaluation, tmp_path: Path) -> None:
    """Compiled where a LaTeX is at hand; its structure is checked everywhere."""
    text = paper_table(evaluation, "latex")
    begun = re.findall(r"\\begin\{(\w+)\}", text)
    assert begun == ["table", "tabular"] and re.findall(r"\\end\{(\w+)\}", text) == begun[::-1]
    assert text.count("{") == text.count("}") and text.count("$") % 2 == 0
    columns = len(re.search(r"\\begin\{tabular\}\{(\w+)\}", text)[1])  # type: ignore[index]
    body = [line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
    assert {line.count(" & ") + 1 for line in body} == {columns}
    program = shutil.which("pdflatex") or shutil.which("tectonic")
    if program is None:
        return
    paper = tmp_path / "paper.tex"
    paper.write_text(rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{text}\end{{document}}")
    subprocess.run([program, "-interaction=nonstopmode", paper.name], cwd=tmp_path, check=True, capture_output=True)
