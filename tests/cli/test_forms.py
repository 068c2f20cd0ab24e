"""The suffix of --to chooses the form, for eval and compare: every form holds the numbers of the verb."""

from __future__ import annotations

import json
from pathlib import Path

import command_line
import polars as pl
import pytest
from command_line import done

import endoxa

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
    return tmp_path


def frame_in(path: Path) -> pl.DataFrame:
    if path.suffix == ".tsv":
        return pl.read_csv(path, separator="\t")
    if path.suffix == ".json":
        return pl.DataFrame(json.loads(path.read_text()))
    return TABLES[path.suffix](path)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".parquet"])
def test_tables(suffix: str, folder: Path) -> None:
    evaluation = endoxa.evaluate(["a.run", "b.run"], "q.txt", ["AP"])
    pairs = endoxa.compare(["a.run", "b.run"], "q.txt", ["AP"]).frame
    answer = evaluation.sentences[0]  # the table is in the file, so the terminal has the answer
    assert done("compare", "q.txt", "a.run", "b.run", "AP", "--to", f"pairs{suffix}") == f"{answer}\n"
    assert frame_in(folder / f"pairs{suffix}")["difference"].to_list() == pairs["difference"].to_list()
    assert done("eval", "q.txt", "a.run", "b.run", "AP", "--to", f"eval{suffix}") == f"{answer}\n"
    if suffix == ".json":  # the whole evaluation, which can be read again
        assert endoxa.read("eval.json").summary.equals(evaluation.summary)
        return
    assert evaluation.scores is not None
    expected = evaluation.scores.frame if suffix == ".parquet" else evaluation.summary
    assert frame_in(folder / f"eval{suffix}")["value"].to_list() == expected["value"].to_list()


@pytest.mark.parametrize("command", ["eval", "compare"])
def test_texts_and_pages(command: str, folder: Path) -> None:
    begins = {".md": "effectiveness on 2 topics", ".tex": "% needs", ".html": "<!doctype html>"}
    for suffix, begin in begins.items():
        done(command, "q.txt", "a.run", "b.run", "AP", "--to", f"out{suffix}")
        assert (folder / f"out{suffix}").read_text().lower().startswith(begin)
    done(command, "q.txt", "a.run", "b.run", "AP", "-o", "tsv", "--to", "out.md")
    assert "\t" in (folder / "out.md").read_text()  # -o is stronger than the suffix
    for words, told in (
        (("--to", "out.xyz"), "--to takes the form from the suffix"),
        (("-o", "html"), "needs --to FILE"),
    ):
        ran = command_line.endoxa(command, "q.txt", "a.run", "b.run", "AP", *words)
        assert ran.exit_code == 2 and told in ran.stderr


def test_rows_on_the_terminal(folder: Path) -> None:
    assert json.loads(done("eval", "q.txt", "a.run", "AP", "-o", "json"))[0]["value"] == 0.75
    assert done("measure", "q.txt", "a.run", "AP", "-o", "csv").startswith("system,query,measure,value")
