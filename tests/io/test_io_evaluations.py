"""Evaluations in files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl
import pytest

import endoxa
from endoxa.errors import FileError
from endoxa.tables import Belief

RUNS = {
    "a": {"q1": {"x": 2.0, "y": 1.0}, "q2": {"y": 2.0, "x": 1.0}},
    "b": {"q1": {"y": 2.0, "x": 1.0}, "q2": {"y": 2.0, "z": 1.0}},
}
QRELS = {"q1": {"x": 1}, "q2": {"y": 2, "z": 1}}
P = {"query": ["q1", "q1", "q2", "q2"], "item": ["x", "y", "y", "z"], "grade": [1.0] * 4, "p": [0.8, 0.3, 0.6, 0.5]}
BELIEF = Belief.of(pl.DataFrame(P))


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("reference", [QRELS, None, BELIEF], ids=["judgments", "consensus", "belief"])
def test_an_evaluation_is_read_back(tmp_path: Path, suffix: str, reference: object) -> None:
    settings = {} if reference is QRELS else {"worlds": 10}
    evaluation = endoxa.evaluate(RUNS, reference, ["P@2", "RR"], **settings)
    endoxa.write(evaluation, tmp_path / f"e{suffix}")
    again = endoxa.read(tmp_path / f"e{suffix}")
    assert again.kind == evaluation.kind
    assert again.summary.equals(evaluation.summary)
    assert again.comparison.frame.equals(evaluation.comparison.frame)
    assert again.scores.frame.equals(evaluation.scores.frame)
    assert again.settings == evaluation.settings
    assert (again.warnings, again.notes) == (evaluation.warnings, evaluation.notes)
    if suffix == ".parquet" and reference is BELIEF:
        assert (again.scores.draws.truth == evaluation.scores.draws.truth).all()


def test_a_forecast_is_read_back_and_that_of_a_file_of_0_1_too(tmp_path: Path) -> None:
    """0.1 wrote the number of further labels alone: its quartiles and probabilities are unknown."""
    path, labels = tmp_path / "e.json", {"q1": {"x": 1.0, "y": 0.0}}
    evaluation = endoxa.evaluate(RUNS, None, ["P@2"], labels=labels)
    endoxa.write(evaluation, path)
    content = json.loads(path.read_text())
    assert evaluation.further is not None
    assert content["forecast"] == evaluation.further.facts()
    again = endoxa.read(path)
    assert again.further.facts() == evaluation.further.facts()
    assert again.sentences == evaluation.sentences
    del content["forecast"]
    path.write_text(json.dumps(content | {"further": 137}))
    old = endoxa.read(path)
    assert old.further.median == 137
    assert all(math.isnan(value) for name, value in old.further.facts().items() if name != "median")
    for further in ({}, {"further": None}):
        path.write_text(json.dumps(content | further))
        assert endoxa.read(path).further is None


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
