"""What an evaluation converts to."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import polars as pl
import pytest
from evaluation_samples import sample_evaluation, sample_in_doubt, system_names


def test_everything_goes_through_json() -> None:
    evaluation = sample_evaluation(3)
    summary = evaluation.summary.with_columns(
        value=pl.when(pl.col("system") == "bm25").then(math.nan).otherwise("value")
    )
    plain = replace(evaluation, summary=summary).to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["kind"] == "judgments"
    assert plain["summary"][0]["value"] is None
    assert plain["summary"][1]["value"] == summary["value"][1]
    assert plain["comparison"][0]["system"] == "bm25"
    assert plain["policy"]["ties"] == "trec"
    assert plain["settings"]["confidence"] == 0.95
    assert plain["sentences"][0].startswith("bm25-rm3 leads on AP")
    assert list(plain["tables"]) == ["curves"]
    assert plain["files"][0]["name"] == "runs/bm25.run"
    assert {"warnings", "notes", "provenance", "title"} <= set(plain)


def test_in_doubt_there_are_doubts() -> None:
    plain = sample_in_doubt(system_names(2)).to_dict()
    json.dumps(plain, allow_nan=False)
    assert {row["doubt"] for row in plain["doubts"]} == {"truth", "people", "queries"}
    assert plain["tables"]["depths"][0] == {"depth": 10, "tau": 0.62, "leader": "bm25-rm3"}


def test_frames() -> None:
    pandas = pytest.importorskip("pandas")
    evaluation = sample_evaluation(2)
    assert evaluation.to_polars() is evaluation.summary
    frame = evaluation.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["system"].tolist() == evaluation.summary["system"].to_list()
