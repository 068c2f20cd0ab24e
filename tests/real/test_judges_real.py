"""Files of machine judges as their tools write them (ENDOXA_DATA/formats), and five judges of two tracks."""

from __future__ import annotations

from pathlib import Path

import pytest

import endoxa
from endoxa.errors import EndoxaError
from endoxa.io.formats import sniff
from endoxa.io.judge_files import read_gradings

MARKED = (
    "openai_batch_output.jsonl",
    "anthropic_batch_results.jsonl",
    "umbrela.jsonl",
    "nuggetizer_assign_retrieval.jsonl",
)
ASIDE = ("argilla_records.json", "potato2_annotations.jsonl")  # people judged too
NO_GRADE = ("nuggetizer_assign_answers.jsonl", "nuggetizer_metrics.jsonl", "labelstudio.json")
GRADED = {
    "openai_batch_output.jsonl": [("q1", "d1", 3.0), ("q1", "d2", 0.0)],
    "anthropic_batch_results.jsonl": [("q1", "d1", 2.0)],
    "umbrela.jsonl": [("red shoes", "Red running shoes.", 3.0)],
    "nuggetizer_assign_retrieval.jsonl": [("q1", "d1", 1.0)],
    "argilla_records.json": [("q1", "d1", 2.0)],
    "potato2_annotations.jsonl": [("q1", "d1", 2.0)],
}
MISSING = {
    "openai_batch_output.jsonl": 2, "anthropic_batch_results.jsonl": 2, "umbrela.jsonl": 1, "argilla_records.json": 1,
    "potato2_annotations.jsonl": 2,
}  # fmt: skip
PAIRS = {"covid-r1": 7876, "robust03": 37738}


@pytest.mark.parametrize("name", [*MARKED, *ASIDE])
def test_files_of_tools(name: str, folder) -> None:
    found = read_gradings(folder("formats") / name)
    assert found.frame.select("query", "item", "grade").rows() == GRADED[name]
    assert sum(found.skipped.values()) == MISSING.get(name, 0)


@pytest.mark.filterwarnings("ignore")  # of what was skipped
@pytest.mark.parametrize("name", MARKED)
def test_files_of_machine_judges_are_recognised(name: str, folder) -> None:
    path = folder("formats") / name
    assert sniff(path) == "judge"
    assert endoxa.read(path).frame["kind"].unique().to_list() == ["judge"]


@pytest.mark.parametrize("name", NO_GRADE)
def test_files_without_the_grade_of_an_item(name: str, folder) -> None:
    with pytest.raises(EndoxaError):
        read_gradings(folder("formats") / name)


def test_no_other_file_is_taken_for_that_of_a_machine_judge(folder) -> None:
    """Every other form is something else, or refused; none becomes a judge by accident."""
    for path in sorted(folder("formats").iterdir()):
        if path.name not in MARKED:
            try:
                assert sniff(path) != "judge", path.name
            except EndoxaError:
                continue


@pytest.mark.parametrize("track", PAIRS)
def test_five_judges_of_a_track(track: str, folder) -> None:
    place: Path = folder(f"judges/{track}")
    found = read_gradings(place)
    assert found.judges == [f"judge-{letter}" for letter in "abcde"]
    assert found.frame.group_by("judge").len()["len"].to_list() == [PAIRS[track]] * 5
    assert found.frame["repeat"].max() == 1
    assert {*found.frame.select("least", "most").iter_rows()} == {(0.0, 3.0)}
    assert read_gradings(sorted(place.iterdir())).frame.equals(found.frame)
