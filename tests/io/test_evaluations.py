"""Evaluations in files: what is written is read back, as JSON and as Parquet."""

from __future__ import annotations

from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

import endoxa
from endoxa.errors import FileError

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}
RUNS = {
    "one": {"q1": {"b": 2.0, "a": 1.0}, "q2": {"a": 1.0}},
    "two": {"q1": {"a": 2.0, "c": 1.0}, "q2": {"c": 2.0, "a": 1.0}},
    "three": {"q1": {"c": 2.0, "d": 1.0}, "q2": {"d": 2.0, "b": 1.0}},
}


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("reference", [QRELS, None], ids=["judgments", "consensus"])
def test_an_evaluation_is_read_back(tmp_path: Path, suffix: str, reference) -> None:
    settings = {} if reference is not None else {"worlds": 20}
    evaluation = endoxa.evaluate(RUNS, reference, ["AP", "P@2"], **settings)
    path = tmp_path / f"evaluation{suffix}"
    endoxa.write(evaluation, path)
    again = endoxa.read(path)
    assert isinstance(again, endoxa.Evaluation)
    assert_frame_equal(again.summary, evaluation.summary)
    assert_frame_equal(again.comparison.frame, evaluation.comparison.frame)
    assert_frame_equal(again.scores.frame, evaluation.scores.frame)
    assert {name: table.shape for name, table in again.tables.items()} == {
        name: table.shape for name, table in evaluation.tables.items()
    }
    assert (again.kind, again.warnings, again.notes, again.virtual) == (
        evaluation.kind, evaluation.warnings, evaluation.notes, evaluation.virtual,
    )  # fmt: skip
    assert again.settings == evaluation.settings
    assert again.sentences == evaluation.sentences
    if suffix == ".parquet" and reference is None:
        assert again.scores.draws is not None
        endoxa.write(again, tmp_path / "page.html")


def test_a_damaged_evaluation_is_named(tmp_path: Path) -> None:
    path = tmp_path / "evaluation.json"
    endoxa.write(endoxa.evaluate(RUNS, QRELS, ["AP"]), path)
    text = path.read_text()
    for broken in (
        text[: len(text) // 2],
        text.replace('"summary"', '"sumary"'),
        text.replace('"version": 1', '"version": 9'),
    ):
        path.write_text(broken)
        with pytest.raises(FileError, match=r"evaluation\.json: "):
            endoxa.read(path)


def test_answers_and_bundles_are_written_too(tmp_path: Path) -> None:
    rows = [{"source": "ann", "query": "q1", "item": item, "rank": n} for n, item in enumerate("ab", start=1)]
    evaluation = endoxa.evaluate(RUNS, endoxa.read(rows, kind="answers"))
    for suffix in (".json", ".parquet"):
        endoxa.write(evaluation, tmp_path / f"answers{suffix}")
        assert_frame_equal(endoxa.read(tmp_path / f"answers{suffix}").summary, evaluation.summary)
