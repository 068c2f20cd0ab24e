"""endoxa backtest as a user calls it: what is printed and written, and what is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import done, endoxa

from endoxa.examples import collection
from endoxa.tables import Opinions, Run
from endoxa.verbs.write import write

SHORT = ("P@5", "--labels", "0,5", "--draws", 2)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """Judgments of one person, and four runs, on six queries."""
    folder = tmp_path_factory.mktemp("backtest")
    run, opinions = collection(rng=np.random.default_rng(2))
    kept = pl.col("query").is_in(run.frame["query"].unique().sort()[:6].to_list())
    write(Opinions(opinions.frame.filter(kept)), folder / "three.csv")
    write(Opinions(opinions.frame.filter(kept & (pl.col("source") == "ada"))), folder / "qrels.txt")
    for system in run.systems[:4]:
        own = kept & (pl.col("system") == system) & (pl.col("rank") <= 30)
        write(Run(run.frame.filter(own)), folder / f"{system}.run")
    return folder / "qrels.txt", sorted(folder.glob("*.run"))


def test_the_answer_the_evidence_and_the_tables(files) -> None:
    qrels, runs = files
    printed = done("backtest", *runs, qrels, *SHORT)
    answer, evidence, *rest = printed.splitlines()
    assert answer.startswith(("Of ", "No pair")) and answer.endswith(".")
    assert (
        evidence.startswith("2 draws of 0 and 5 labels a topic from ") and "4 systems on 6 topics, by P@5" in evidence
    )
    heads = [line for line in rest if line.startswith(("Pairs", "Reliability", "P(best)", "Courses"))]
    assert [head.partition(":")[2].strip() for head in heads[:2]] == ["field", "best quarter"]
    assert heads[2].startswith("Reliability") and heads[3].startswith("P(best)") and len(heads) == 4
    assert "true best quarter" in done("backtest", *runs, qrels, *SHORT, "-v")
    courses = done("backtest", *runs, qrels, *SHORT, "--courses", 2, "--most", 50)
    assert "2 courses" in courses and "\nCourses\n" in courses


def test_pages_curves_and_data_are_written(files, tmp_path: Path) -> None:
    qrels, runs = files
    page = done("backtest", *runs, qrels, *SHORT, "--to", tmp_path / "page.html")
    assert page.splitlines()[-1].startswith("The page: file://") and (tmp_path / "page.html").stat().st_size > 10_000
    curve = done("backtest", *runs, qrels, *SHORT, "--to", tmp_path / "curve.svg")
    assert curve.splitlines()[-1].startswith("The curve: file://")
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")
    done("backtest", *runs, qrels, *SHORT, "--to", tmp_path / "found.json")
    kept = json.loads((tmp_path / "found.json").read_text())
    assert kept["labels"] == [0, 5] and kept["provenance"]["Command"].startswith("endoxa")
    done("backtest", *runs, qrels, *SHORT, "--table", "best", "--to", tmp_path / "best.csv")
    assert (tmp_path / "best.csv").read_text().startswith("field,measure,labels,draws,said,right,unjudged\n")


def test_what_cannot_be_done_is_one_line(files, tmp_path: Path) -> None:
    qrels, runs = files
    three = qrels.with_name("three.csv")
    write(pl.DataFrame({"query": ["other"], "item": ["d1"], "grade": [1]}), tmp_path / "other.csv")
    cases: list[tuple[tuple[object, ...], int, str]] = [
        ((*runs,), 2, "a backtest needs judgments; name a file of qrels"),
        ((qrels,), 2, "no run was given"),
        ((runs[0], qrels), 1, "a backtest compares two systems or more"),
        ((*runs, tmp_path / "other.csv"), 1, "runs and judgments have no query in common"),
        ((*runs, three), 1, "3 people judged the same pairs; keep the judgments of one of them"),
        ((*runs, qrels, "RR"), 1, "labels cannot settle RR"),
        ((*runs, qrels, "--labels", "few"), 2, "--labels is numbers of labels a topic, such as 0,1,5,20; not 'few'"),
        ((*runs, qrels, "--labels", "0,900"), 1, "900 labels a topic are more than are judged"),
        ((*runs, qrels, "--fields", 3), 1, "a random field of 10 systems needs more than these 4"),
        ((*runs, qrels, *SHORT, "--table", "courses", "-o", "csv"), 2, "there is no table courses without courses"),
    ]
    for words, code, line in cases:
        ran = endoxa("backtest", *words)
        assert ran.exit_code == code and line in ran.stderr, (words, ran.output)
        assert ran.stderr.count("\n") == 1 and ran.stdout == "", (words, ran.output)
