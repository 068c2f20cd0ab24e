"""Scores from whatever holds runs and judgments, as people use them from Python."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import endoxa
from endoxa.errors import FileError
from endoxa.examples import collection

pytestmark = pytest.mark.usefixtures("both_ways")


QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}
RUN = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"a": 1.0}}


def test_every_name_of_the_front_door_is_there() -> None:
    assert len(endoxa.__all__) <= 33
    for name in endoxa.__all__:
        assert getattr(endoxa, name) is not None
    assert set(endoxa.__all__) == set(importlib.import_module("endoxa")._HOME)
    with pytest.raises(AttributeError):
        endoxa.nothing  # noqa: B018


def test_whatever_holds_a_run_gives_the_same_scores(tmp_path: Path) -> None:
    import pandas as pd
    import pyarrow as pa

    rows = [(query, item, score) for query, items in RUN.items() for item, score in items.items()]
    polars = pl.DataFrame(rows, schema=["query", "item", "score"], orient="row")
    path = tmp_path / "f.run"
    endoxa.write(endoxa.Run.of(polars, system="run"), path)
    ways = [
        RUN,
        {"run": RUN},
        polars,
        pd.DataFrame(rows, columns=["qid", "docno", "score"]),
        pa.table({"query_id": [r[0] for r in rows], "doc_id": [r[1] for r in rows], "score": [r[2] for r in rows]}),
        endoxa.Run.of(polars),
        path,
        [path],
    ]
    expected = {"q1": {"AP": 0.5}, "q2": {"AP": 1.0}}
    for way in ways:
        assert endoxa.measure(way, QRELS, "AP").to_dict()["run"] == expected


def test_a_run_keeps_its_rule_for_ties() -> None:
    frame = pl.DataFrame({"query": "q1", "item": ["a", "b"], "score": [1.0, 1.0]})
    kept = endoxa.measure(endoxa.Run.of(frame, ties="input"), QRELS, "RR")
    assert kept.policy.ties == "input"
    assert kept.to_dict()["run"]["q1"]["RR"] == 1
    assert endoxa.measure(frame, QRELS, "RR", ties="input").to_dict()["run"]["q1"]["RR"] == 1
    assert endoxa.measure(frame, QRELS, "RR").to_dict()["run"]["q1"]["RR"] == 0.5


def test_blocks_of_files_equal_the_whole(tmp_path: Path) -> None:
    run, opinions = collection(rng=np.random.default_rng(2))
    one = endoxa.Opinions.of(opinions.frame.filter(pl.col("source") == "ada"))
    paths = []
    for system in run.systems:
        paths.append(tmp_path / f"{system}.run")
        endoxa.write(endoxa.Run(run.frame.filter(pl.col("system") == system)), paths[-1])
    wanted = ["all_trec", "ERR@10", "RBP"]
    by_file = endoxa.measure(paths, one, wanted)
    whole = endoxa.measure(run, one, wanted)
    assert by_file.systems == whole.systems
    assert by_file.coverage.equals(whole.coverage)
    assert by_file.frame.drop("value").equals(whole.frame.drop("value"))
    # sums of padded rows may differ in the last bit
    assert by_file.frame["value"].to_numpy() == pytest.approx(whole.frame["value"].to_numpy(), abs=1e-12, nan_ok=True)


def test_one_tag_in_two_files_is_told(tmp_path: Path) -> None:
    for name in ("a.run", "b.run"):
        (tmp_path / name).write_text("q1 Q0 a 1 1.0 tag\n")
    with pytest.warns(UserWarning, match="another run has the tag 'tag'; that of .*b.run is called 'b'"):
        scores = endoxa.measure([tmp_path / "a.run", tmp_path / "b.run"], QRELS, "AP")
    assert scores.systems == ["tag", "b"]
    with pytest.warns(UserWarning), pytest.raises(FileError, match="given twice"):
        endoxa.measure([tmp_path / "a.run"] * 4, QRELS, "AP")


def test_the_range_of_a_mean_is_over_the_queries_of_the_mean() -> None:
    """Also over a missing topic and, with undefined=zero, over a query without a relevant item."""
    run, qrels = {"q": {"a": 1.0, "b": 1.0}, "r": {"a": 1.0, "b": 1.0}}, {"q": {"a": 1}, "r": {"a": 0}, "s": {"a": 1}}
    for undefined, queries in (("zero", 3), ("nan", 2)):
        found = endoxa.evaluate(run, qrels, ["AP"], ties="range", undefined=undefined)
        assert found.tables["ranges"].row(0) == ("run", "AP", 0.5 / queries, 0.5 / queries, 1 / queries)
        assert found.summary["value"].item() == 0.5 / queries


def test_bounds_and_ranges_of_means() -> None:
    run = {"q1": {"x": 2.0, "a": 1.0}, "q2": {"a": 1.0}}
    open_ended = endoxa.evaluate(run, QRELS, ["P@2"], unjudged="bounds")
    assert open_ended.tables["ranges"].row(0) == ("run", "P@2", 0.5, 0.5, 0.75)
    assert "ranges" not in endoxa.evaluate(run, QRELS, ["P@2"]).tables


def test_a_report_and_its_files(tmp_path: Path) -> None:
    run, opinions = collection(rng=np.random.default_rng(2))
    made = endoxa.report(run, opinions, ["nDCG@10", "AP"], assessors="mean", collection=400)
    endoxa.write(made, tmp_path / "r.html")
    endoxa.write(made, tmp_path / "r.md")
    assert "hybrid" in (tmp_path / "r.html").read_text()
    assert (tmp_path / "r.md").read_text().startswith("Effectiveness on 60 topics")
    with pytest.raises(FileError, match=r"use \.html, \.md or \.tex"):
        endoxa.write(made, tmp_path / "r.doc")


def test_results_convert() -> None:
    scores = endoxa.measure(RUN, QRELS, ["AP", "RR"])
    assert scores.to_pandas().shape == (4, 8)
    assert scores.to_polars().height == 4
    assert scores.to_arrow().num_rows == 4
    assert scores.to_dict() == {"run": {"q1": {"AP": 0.5, "RR": 0.5}, "q2": {"AP": 1.0, "RR": 1.0}}}


def test_pools_take_whatever_holds_a_run(tmp_path: Path) -> None:
    endoxa.write(endoxa.read({"s": RUN}), tmp_path / "f.run")
    assert endoxa.pool(tmp_path / "f.run", depth=1).equals(endoxa.pool({"s": RUN}, depth=1))
    assert endoxa.leave_out_uniques({"s": RUN}, QRELS, depth=1).frame["system"].to_list() == ["s"]


def test_a_misspelt_setting_is_told() -> None:
    with pytest.raises(endoxa.EndoxaError, match="no setting is called 'tie'; did you mean ties"):
        endoxa.measure(RUN, QRELS, "AP", tie="input")


def test_summaries_are_written_and_odd_suffixes_refused(tmp_path: Path) -> None:
    scores = endoxa.measure(RUN, QRELS, "AP")
    for suffix in ("csv", "tsv", "jsonl", "parquet"):
        endoxa.write(endoxa.summarise(scores), tmp_path / f"s.{suffix}")
    assert pl.read_csv(tmp_path / "s.csv")["value"][0] == 0.75
    for suffix in ("md", "json", "xlsx"):
        with pytest.raises(FileError, match="is not written as"):
            endoxa.write(scores, tmp_path / f"s.{suffix}")


def test_ratings_whose_least_grade_would_be_relevant_are_refused():
    rows = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "grade": [1.0, 5.0], "scale": ["1-5"] * 2})
    rated, run = endoxa.Opinions.of(rows), {"q": {"a": 2, "b": 1}}
    with pytest.raises(endoxa.EndoxaError, match="scale 1-5"):
        endoxa.measure(run, rated, ["P@2"])
    assert endoxa.measure(run, rated, ["P(rel=4)@2"]).frame["value"].to_list() == [0.5]
    assert endoxa.measure(run, rated, ["RR"], rel=4).frame["value"].to_list() == [0.5]
