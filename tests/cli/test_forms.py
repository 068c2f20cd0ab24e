"""The suffix of --to chooses the form, for eval and compare: every form holds the numbers of the verb."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import endoxa
from endoxa import cli

RUNS = {
    "a.run": "q1 Q0 d1 1 3 a\nq1 Q0 d2 2 2 a\nq2 Q0 d3 1 3 a\nq2 Q0 d1 2 2 a\n",
    "b.run": "q1 Q0 d2 1 3 b\nq1 Q0 d1 2 2 b\nq2 Q0 d1 1 3 b\nq2 Q0 d4 2 2 b\n",
}
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1\n"
TABLES = {".csv": pl.read_csv, ".jsonl": pl.read_ndjson, ".parquet": pl.read_parquet}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (RUNS | {"q.txt": QRELS}).items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    return tmp_path


def call(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["endoxa", *map(str, words)])
    try:
        cli.main()
    except SystemExit as stop:
        return int(str(stop.code or 0))
    return 0


def frame_in(path: Path) -> pl.DataFrame:
    if path.suffix == ".tsv":
        return pl.read_csv(path, separator="\t")
    if path.suffix == ".json":
        return pl.DataFrame(json.loads(path.read_text()))
    return TABLES[path.suffix](path)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".parquet"])
def test_tables(suffix: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    evaluation = endoxa.evaluate(["a.run", "b.run"], "q.txt", ["AP"])
    pairs = endoxa.compare(["a.run", "b.run"], "q.txt", ["AP"]).frame
    assert call(monkeypatch, "compare", "q.txt", "a.run", "b.run", "AP", "--to", f"pairs{suffix}") == 0
    assert frame_in(folder / f"pairs{suffix}")["difference"].to_list() == pairs["difference"].to_list()
    assert call(monkeypatch, "eval", "q.txt", "a.run", "b.run", "AP", "--to", f"eval{suffix}") == 0
    answer = evaluation.sentences[0]  # the table is in the file, so the terminal has the answer
    assert capsys.readouterr().out == f"{answer}\n{answer}\n"
    if suffix == ".json":  # the whole evaluation, which can be read again
        assert endoxa.read("eval.json").summary.equals(evaluation.summary)
        return
    assert evaluation.scores is not None
    expected = evaluation.scores.frame if suffix == ".parquet" else evaluation.summary
    assert frame_in(folder / f"eval{suffix}")["value"].to_list() == expected["value"].to_list()


@pytest.mark.parametrize("command", ["eval", "compare"])
def test_texts_and_pages(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    begins = {".md": "effectiveness on 2 topics", ".tex": "% needs", ".html": "<!doctype html>"}
    for suffix, begin in begins.items():
        assert call(monkeypatch, command, "q.txt", "a.run", "b.run", "AP", "--to", f"out{suffix}") == 0
        assert (folder / f"out{suffix}").read_text().lower().startswith(begin)
    assert call(monkeypatch, command, "q.txt", "a.run", "b.run", "AP", "-o", "tsv", "--to", "out.md") == 0
    assert "\t" in (folder / "out.md").read_text()  # -o is stronger than the suffix
    assert call(monkeypatch, command, "q.txt", "a.run", "b.run", "AP", "--to", "out.xyz") == 2
    assert call(monkeypatch, command, "q.txt", "a.run", "b.run", "AP", "-o", "html") == 2
    assert "--to takes the form from the suffix" in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_rows_on_the_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert call(monkeypatch, "eval", "q.txt", "a.run", "AP", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)[0]["value"] == 0.75
    assert call(monkeypatch, "measure", "q.txt", "a.run", "AP", "-o", "csv") == 0
    assert capsys.readouterr().out.startswith("system,query,measure,value")
