"""Evaluations in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import endoxa
from endoxa.errors import FileError

RUNS = {
    "a": {"q1": {"x": 2.0, "y": 1.0}, "q2": {"y": 2.0, "x": 1.0}},
    "b": {"q1": {"y": 2.0, "x": 1.0}, "q2": {"y": 2.0, "z": 1.0}},
}
QRELS = {"q1": {"x": 1}, "q2": {"y": 2, "z": 1}}


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("reference", [QRELS, None], ids=["judgments", "consensus"])
def test_an_evaluation_is_read_back(tmp_path: Path, suffix: str, reference: object) -> None:
    settings = {"worlds": 10} if reference is None else {}
    evaluation = endoxa.evaluate(RUNS, reference, ["P@2", "RR"], **settings)
    endoxa.write(evaluation, tmp_path / f"e{suffix}")
    again = endoxa.read(tmp_path / f"e{suffix}")
    assert again.kind == evaluation.kind
    assert again.summary.equals(evaluation.summary)
    assert again.comparison.frame.equals(evaluation.comparison.frame)
    assert again.scores.frame.equals(evaluation.scores.frame)
    assert again.settings == evaluation.settings
    assert (again.warnings, again.notes) == (evaluation.warnings, evaluation.notes)
    if suffix == ".parquet" and reference is None:
        assert (again.scores.draws.truth == evaluation.scores.draws.truth).all()


def test_a_damaged_evaluation_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    endoxa.write(endoxa.evaluate(RUNS, QRELS, ["RR"]), path)
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"version": 9}))
    with pytest.raises(
        FileError, match="the format is endoxa-evaluation, version 9; expected endoxa-evaluation, versi"
    ):
        endoxa.read(path)
    del content["summary"]
    path.write_text(json.dumps(content))
    with pytest.raises(FileError, match=r"the evaluation is damaged \(KeyError: 'summary'\); write the file again"):
        endoxa.read(path)
