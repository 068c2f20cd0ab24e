"""endoxa fuse, from files to files: what it says, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import command_line
import pytest

import endoxa
from endoxa.errors import EndoxaError
from endoxa.verbs.fuse import fused

RUNS = {
    "bm25": {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"d": 2.0, "e": 1.0}},
    "dense": {"q1": {"b": 0.9, "a": 0.8, "f": 0.1}},
}


def test_a_system_without_a_query_says_nothing_about_it() -> None:
    made = fused(RUNS, "sum", norm="none")
    assert made.notes == ("dense lists 1 of 2 queries; it says nothing about the others",)
    assert made.run.to_dict()["sum"]["q2"] == RUNS["bm25"]["q2"]


def test_belief_orders_by_what_is_held_relevant() -> None:
    belief = endoxa.believe(RUNS)
    p = dict(belief.frame.filter(belief.frame["query"] == "q1").select("item", "p").iter_rows())
    order = list(endoxa.fuse(RUNS, "belief").to_dict()["belief"]["q1"])
    assert [round(p[item], 6) for item in order] == sorted((round(value, 6) for value in p.values()), reverse=True)
    assert set(order) == {"a", "b", "c", "f"}
    labelled = endoxa.fuse(RUNS, "belief", labels={"q1": {"f": 1, "a": 0}}).to_dict()["belief"]["q1"]
    assert next(iter(labelled)) == "f"


@pytest.mark.parametrize(
    ("runs", "settings", "message"),
    [
        ({"bm25": RUNS["bm25"]}, {}, "at least two systems"),
        ([], {}, "run"),
        (RUNS, {"method": "rff"}, "did you mean rrf"),
        (RUNS, {"method": "fitted"}, "give labels="),
        (RUNS, {"labels": {"q1": {"a": 1}}}, "rrf learns nothing"),
        (RUNS, {"method": "belief", "weights": {"bm25": 1}}, "finds its own"),
        (RUNS, {"method": "fitted", "labels": {"q1": {"a": 1}}}, "fewer than the 5 folds"),
    ],
)
def test_what_cannot_be_fused_is_told(runs: object, settings: dict[str, object], message: str) -> None:
    with pytest.raises(EndoxaError, match=message):
        endoxa.fuse(runs, **settings)  # type: ignore[arg-type]


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    for system, lists in RUNS.items():
        endoxa.write(endoxa.read({system: lists}), tmp_path / f"{system}.run")
    files = [tmp_path / "bm25.run", tmp_path / "dense.run"]
    ran = command_line.endoxa("fuse", *files, "--to", tmp_path / "fused.run", "--depth", 3)
    assert ran.exit_code == 0, ran.output
    assert ran.stdout == f"Fused by rrf: 5 items for 2 queries. Wrote {tmp_path / 'fused.run'}.\n"
    assert "dense lists 1 of 2 queries" in ran.stderr
    assert endoxa.read(str(tmp_path / "fused.run")).systems == ["rrf"]
    shown = command_line.done("fuse", *files, "--method", "sum", "--weights", "bm25=1,dense=2")
    assert shown.startswith("Fused by sum: 6 items for 2 queries.\n")
    wrong = command_line.endoxa("fuse", *files, "--weights", "equal")
    assert wrong.exit_code == 2 and "SYSTEM=NUMBER" in wrong.stderr
