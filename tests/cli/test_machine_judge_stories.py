"""Machine judges on the command line: what a user types, reads, and is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from command_line import done, endoxa

import endoxa as library
from endoxa.examples import collection, machine_judge

SEED = 5


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs, the grades of a machine judge, and 300 labels of a person."""
    folder = tmp_path_factory.mktemp("judged")
    run, opinions = collection(rng=np.random.default_rng(SEED))
    for system in run.systems:
        library.write(library.read(run.frame.filter(system=system), kind="run"), folder / f"{system}.run")
    grades = machine_judge(run, seed=SEED).frame.select("judge", "query", "item", "grade")
    grades.write_ndjson(folder / "grades.jsonl")
    truth = {(q, d): g for q, d, g in opinions.frame.filter(source="ada").select("query", "item", "grade").iter_rows()}
    done(
        "next",
        *runs(folder),
        "AP",
        "-n",
        300,
        "--judge",
        folder / "grades.jsonl",
        "-o",
        "csv",
        "--to",
        folder / "a.csv",
    )
    with (folder / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (folder / "labels.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row | {"grade": int(truth.get((row["query"], row["item"]), 0) > 0)} for row in rows)
    return folder


def runs(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.run"))


def test_without_labels_the_first_sentence_says_that_nobody_judged(files: Path) -> None:
    told = done("eval", *runs(files), "AP", "--judge", files / "grades.jsonl")
    assert told.startswith("Nobody judged. Best guess by 1 machine judge and the systems: ")
    assert "Nothing is settled" in told.splitlines()[0]
    assert "300 labels (5 a query) show how far to trust the judge: endoxa decide RUNS --judge FILE" in told
    assert "! No person has checked this machine judge (grader-1)." in told
    assert "sensitivity" not in told


def test_with_labels_there_is_a_card(files: Path) -> None:
    given = ("--judge", files / "grades.jsonl", "--labels", files / "labels.csv")
    told = done("eval", *runs(files), "AP", *given)
    assert told.startswith("Based on 300 labels and 1 machine judge, ")
    assert "Machine judges beside people" in told
    assert "grader-1: its own order of the systems has tau" in told
    loud = done("eval", *runs(files), "AP", *given, "-v")
    assert loud.count("grader-1: its own order") == 1
    assert "1 machine judge (grader-1) graded" in loud


def test_the_command_line_and_the_library_give_the_same_numbers(files: Path) -> None:
    given = {"judges": str(files / "grades.jsonl"), "labels": str(files / "labels.csv")}
    expected = library.evaluate([str(run) for run in runs(files)], None, ["AP"], **given)
    told = json.loads(
        done("eval", *runs(files), "AP", "--judge", given["judges"], "--labels", given["labels"], "-o", "json")
    )
    assert {row["system"]: (row["value"], row["p_best"]) for row in told} == {
        system: (value, best)
        for system, value, best in expected.summary.select("system", "value", "p_best").iter_rows()
    }
    saved = json.loads(json.dumps(expected.to_dict()))
    codes = {note["code"] for note in saved["facts"]["warnings"] + saved["facts"]["notes"]}
    assert {"judges.heard", "judges.card"} <= codes
    assert saved["tables"]["judges"][0]["weight"] == expected.tables["judges"]["weight"][0]


@pytest.mark.parametrize("command", ["compare", "measure", "believe"])
def test_other_commands_take_it_too(files: Path, command: str) -> None:
    more = () if command == "believe" else ("AP",)
    with_judge = done(command, *runs(files), *more, "--judge", files / "grades.jsonl")
    without = done(command, *runs(files), *more)
    assert with_judge.splitlines()[0] != without.splitlines()[0]


def test_a_page_has_the_card(files: Path, tmp_path: Path) -> None:
    given = ("--judge", files / "grades.jsonl", "--labels", files / "labels.csv")
    done("report", *runs(files), "AP", *given, "--to", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "How far to trust the machine judges" in page
    assert "Which systems the judges favour" in page


def test_grades_of_machines_under_labels_are_refused(files: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (files / "grades.jsonl").read_text().splitlines()]
    with (tmp_path / "grades.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["source", "kind", "query", "item", "grade"])
        writer.writeheader()
        writer.writerows({"source": row.pop("judge"), "kind": "judge", **row} for row in rows)
    refused = endoxa("eval", *runs(files), "AP", "--labels", tmp_path / "grades.csv")
    assert refused.exit_code == 2
    assert "give the file as --judge FILE" in refused.stderr
    instead = done("eval", *runs(files), tmp_path / "grades.csv", "AP")
    assert instead.startswith("Nobody judged. Best guess by 1 machine judge")
    together = endoxa("eval", *runs(files), "AP", "--judge", files / "grades.jsonl", tmp_path / "grades.csv")
    assert together.exit_code == 1
    assert "two tables hold a machine judge called 'grader-1'" in together.stderr


def test_what_a_machine_wrote_is_no_label_by_its_columns(files: Path, tmp_path: Path) -> None:
    """Files of `endoxa judge` have no column kind; repeat or model tell them."""
    rows = [json.loads(line) | {"repeat": 1} for line in (files / "grades.jsonl").read_text().splitlines()]
    (tmp_path / "made.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    refused = endoxa("eval", *runs(files), "AP", "--labels", tmp_path / "made.jsonl")
    assert refused.exit_code == 2
    assert "give the file as --judge FILE" in refused.stderr
    both = endoxa("eval", *runs(files), "AP", "--judge", files / "grades.jsonl", "--labels", files / "grades.jsonl")
    assert both.exit_code == 2
    assert "is given as labels and as a machine judge" in both.stderr


def test_a_study_that_was_begun_keeps_its_machine_judges(files: Path, tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    from endoxa.errors import TextError
    from endoxa.verbs.decide import prepare

    home = tmp_path / "home"
    given = {"home": home, "items": None, "queries": None}
    assert prepare([str(run) for run in runs(files)], judges=[str(files / "grades.jsonl")], **given)
    assert not prepare([str(run) for run in runs(files)], **given)
    assert not prepare([str(run) for run in runs(files)], judges=[str(files / "grades.jsonl")], **given)
    other = tmp_path / "other.jsonl"
    other.write_text((files / "grades.jsonl").read_text().replace("grader-1", "grader-2"))
    with pytest.raises(TextError, match="were begun with other machine judges"):
        prepare([str(run) for run in runs(files)], judges=[str(other)], **given)
