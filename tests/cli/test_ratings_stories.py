"""Stories of people who have ratings, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import command_line
import numpy as np
import polars as pl
import pytest

from endoxa.io.read import read


def done(*words: object) -> str:
    """What it prints on a wide terminal, if all is well."""
    return command_line.done(*words, COLUMNS="200")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three raters on 12 queries of 6 items, 1-5; two systems in a file each."""
    where = tmp_path_factory.mktemp("ratings")
    rng = np.random.default_rng(4)
    truth = rng.normal(size=(12, 6))
    rows, qrels = [], []
    lists: dict[str, list[str]] = {"good": [], "blind": []}
    for q in range(12):
        for i in range(6):
            for p in range(3):
                grade = int(np.clip(round(3 + truth[q, i] + 0.3 * rng.normal() + 0.5 * (p - 1)), 1, 5))
                rows.append((f"p{p}", f"q{q:02}", f"i{i}", float(grade)))
                qrels.append(f"q{q:02} p{p} i{i} {grade}\n")
            lists["good"].append(f"q{q:02} Q0 i{i} 0 {truth[q, i] + 0.3 * rng.normal():.5f} good\n")
            lists["blind"].append(f"q{q:02} Q0 i{i} 0 {rng.normal():.5f} blind\n")
    frame = pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row")
    frame.write_csv(where / "answers.csv")
    frame.write_parquet(where / "answers.parquet")
    (where / "votes.qrels").write_text("".join(qrels))
    for name, lines in lists.items():
        (where / f"{name}.run").write_text("".join(lines))
    return where


FEW = ("--method", "isotonic", "--resamples", "100")


def test_an_organiser_asks_how_far_the_raters_agree(folder: Path) -> None:
    told = done("ratings", folder / "answers.csv", *FEW, "-v")
    assert told.startswith("3 raters agree with alpha 0.")
    assert "\n3 raters, 72 rated pairs of 12 queries, 216 answers (0 undecided)\n" in told
    assert "alpha (interval)" in told
    assert "calibrated" in told
    assert "a rating above 3.5 is relevant (halfway from 3, the middle of 1 to 5, the range that was used" in " ".join(
        told.split()
    )
    assert max(map(len, told.splitlines()[1:])) <= 80
    assert "Mapped scores" not in told


def test_the_same_from_qrels_whose_second_column_says_who(folder: Path) -> None:
    assert done("ratings", folder / "votes.qrels", *FEW) == done("ratings", folder / "answers.parquet", *FEW)


def test_an_analyst_holds_systems_against_people_and_gets_a_page(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    told = done("ratings", folder / "good.run", folder / "answers.csv", folder / "blind.run", *FEW, "--to", target)
    assert told.index("good ") < told.index("blind ")
    assert "The scores of good follow people’s ratings best: r = 0." in told
    assert max(map(len, told.splitlines()[1:])) <= 80
    page = target.read_text(encoding="utf-8")
    assert "2 systems against 3 raters" in page
    assert "answers.csv" in page
    assert "SHA-256" in page


def test_a_program_reads_every_figure(folder: Path) -> None:
    told = done("ratings", folder / "answers.csv", folder / "good.run", *FEW, "-o", "jsonl", "--metric", "ordinal")
    rows = [json.loads(line) for line in told.splitlines()]
    figures = {(row["part"], row["of"], row["figure"]): row["value"] for row in rows}
    assert figures["answers", "all", "raters"] == 3
    assert ("agreement", "before", "alpha ordinal") in figures
    assert figures["map by isotonic", "good", "held_out"] > 0.5
    assert "| part" in done("ratings", folder / "answers.csv", *FEW, "-o", "markdown")


def test_distances_turn_the_scores(folder: Path, tmp_path: Path) -> None:
    turned = []
    for line in (folder / "good.run").read_text().splitlines():
        query, q0, item, rank, score, _ = line.split()
        turned.append(f"{query} {q0} {item} {rank} {-float(score)} far\n")
    (tmp_path / "far.run").write_text("".join(turned))
    plain, far = (
        done("ratings", folder / "answers.csv", run, *FEW, *more, "-o", "jsonl").splitlines()
        for run, more in ((folder / "good.run", ()), (tmp_path / "far.run", ("--distances",)))
    )
    held = [next(json.loads(line)["value"] for line in lines if '"held_out"' in line) for lines in (plain, far)]
    assert held[0] == pytest.approx(held[1])


def test_ratings_become_a_belief_that_scores_runs(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "belief.parquet"
    told = done("believe", folder / "answers.csv", "--threshold", 3, "--to", target, "-v")
    assert "a rating above 3.5 is relevant (scale 1 to 5, the range that was used); ratings calibrated" in told
    belief = read(target)
    assert belief.frame["grade"].unique().to_list() == [1.0]
    plain = done("believe", folder / "answers.csv", "--threshold", 3, "--no-calibrate", "--model", "dawid-skene", "-v")
    assert "ratings as they were given" in plain
    assert "belief=dawid-skene" in plain
    scored = done("eval", target, folder / "good.run", folder / "blind.run", "P@3", "--worlds", 40)
    assert scored.index("good") < scored.index("blind")


def test_without_a_threshold_a_belief_is_as_before(folder: Path) -> None:
    told = done("believe", folder / "answers.csv", "-v")
    assert "belief=votes" in told
    assert "threshold" not in told


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("ratings", "answers.csv", "-o", "xml"), 2, "-o is one of table, csv"),
        (("ratings", "answers.csv", "--metric", "odd"), 2, "--metric is one of nominal"),
        (("ratings", "answers.csv", "--method", "pava"), 2, "--method is one of isotonic"),
        (("ratings", "nothere.csv"), 2, "no such file"),
        (("ratings", "good.run"), 2, "no ratings were given"),
        (("ratings", "answers.csv", "--to", "x.html", "-o", "tsv"), 2, "a page has one form"),
        (("ratings", "answers.csv", "--to", "x.txt"), 2, "--to takes the form from the suffix"),
        (("ratings", "answers.csv", "--confidence", "7"), 2, "between 0 and 1"),
        (("ratings", "tree.csv"), 1, "a taxonomy alone holds no opinion"),
        (("ratings", "answers.csv", "other.run"), 1, "do they belong"),
        (("ratings", "answers.csv", "votes.qrels"), 1, "give the judgments once"),
        (("believe", "answers.csv", "--no-calibrate"), 2, "goes with --threshold"),
        (("believe", "good.run", "--threshold", "3"), 2, "is for ratings"),
        (("believe", "answers.csv", "--threshold", "3", "--labels", "graded.txt"), 2, "labels have grades 0 and 1"),
    ],
)
def test_a_wrong_call_is_told_what_to_mend(folder: Path, words: tuple[str, ...], code: int, said: str) -> None:
    (folder / "tree.csv").write_text("category,parent\na,\nb,a\n")
    (folder / "other.run").write_text("q99 Q0 x 1 2.0 other\n")
    (folder / "graded.txt").write_text("q00 0 i0 4\n")
    names = {path.name for path in folder.iterdir()}
    called = [str(folder / word) if word in names or word == "nothere.csv" else word for word in words]
    ran = command_line.endoxa(*called)
    assert ran.exit_code == code and said in ran.stderr
