"""Spark gives the numbers of one machine to the last bit, and its troubles are said in one line.

The tests with a session run where PySpark and Java are (`make cluster` installs PySpark).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import endoxa
from endoxa.errors import CallError, EndoxaError, FileError, InstallError, TableError
from endoxa.evaluations.settings import Settings
from endoxa.io import distributed, table_files
from endoxa.io.sources import source_of
from endoxa.measures.preference_judgments import Preferences
from endoxa.scale import spark
from endoxa.tables import Opinions, Run
from endoxa.verbs.inputs import mapper_of, settings_of
from endoxa.verbs.pool import pool

HERE = "local[2]"
needs_spark = pytest.mark.skipif(
    importlib.util.find_spec("pyspark") is None or shutil.which("java") is None, reason="PySpark or Java is missing"
)
MEASURES = ["AP", "nDCG", "P@5", "RR", "Bpref"]
FEW = {"worlds": 16, "people": 4}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three systems of 40 queries, with ties; the first is in a file of many parts."""
    folder, rng = tmp_path_factory.mktemp("runs"), np.random.default_rng(5)
    for place, system in enumerate(("bm25", "dense", "hybrid")):
        lines = []
        for query in range(40):
            items = rng.permutation(200)[: int(rng.integers(1, 150))]
            lines += [f"q{query} Q0 d{item} 0 {rng.integers(0, 60) - place} {system}\n" for item in items]
        (folder / f"{system}.run").write_text("".join(lines))
    return [str(folder / f"{system}.run") for system in ("bm25", "dense", "hybrid")]


def grades(*people: str) -> Opinions:
    rng = np.random.default_rng(6)
    rows = [
        (who, f"q{query}", f"d{item}", float(rng.integers(0, 3)))
        for who in people
        for query in range(38)
        for item in range(0, 200, 7)
    ]
    return Opinions.of(pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row"))


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are cut into many parts, as if they were large."""
    monkeypatch.setattr(distributed, "PIECE", 16_000)
    monkeypatch.setattr(distributed, "LARGEST", 16_000)


def same(ours: endoxa.Scores, theirs: endoxa.Scores) -> None:
    assert ours.frame.equals(theirs.frame)
    assert ours.coverage.equals(theirs.coverage)
    assert (ours.draws is None) == (theirs.draws is None)
    if ours.draws is not None and theirs.draws is not None:
        assert np.array_equal(ours.draws.truth, theirs.draws.truth, equal_nan=True)
        assert (ours.draws.people is None) == (theirs.draws.people is None)


# ---- the same numbers


def references() -> dict[str, tuple[Any, dict[str, Any]]]:
    judged, people = grades("qrels"), grades("ann", "bob", "cy")
    belief = endoxa.believe(people, "votes", people=4)
    return {
        "judgments": (judged, {}),
        "average ties": (judged, {"ties": "average", "shuffles": 10}),
        "bounds": (judged, {"unjudged": "bounds", "missing": "skip", "undefined": "zero"}),
        "order of the file": (judged, {"ties": "input"}),
        "trec_eval": (judged, {"compat": "trec_eval-9"}),
        "assessors": (people, {"assessors": "mean"}),
        "preferences": (Preferences.of_opinions(judged), {}),
        "opinions": (people, {"model": "dawid-skene", **FEW}),
        "belief": (belief, {"worlds": 16}),
        "consensus": (None, FEW),
    }


@needs_spark
@pytest.mark.parametrize("name", references())
@pytest.mark.usefixtures("small_parts")
def test_every_kind_of_reference_gives_the_same_to_the_last_bit(name: str, runs: list[str]) -> None:
    reference, settings = references()[name]
    wanted = None if name == "preferences" else MEASURES[:3] if "worlds" in settings else MEASURES
    here = endoxa.evaluate(runs, reference, wanted, **settings)
    there = endoxa.evaluate(runs, reference, wanted, **settings, on=HERE)
    assert there.settings == here.settings
    assert here.scores is not None
    assert there.scores is not None
    same(there.scores, here.scores)
    assert there.summary.equals(here.summary)
    assert (there.comparison is None) == (here.comparison is None)
    if here.comparison is not None and there.comparison is not None:
        assert there.comparison.frame.equals(here.comparison.frame)


@pytest.mark.usefixtures("small_parts")
def test_parts_are_alike_in_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "cores", lambda address: 2)
    (tmp_path / "a.run").write_text("".join(f"q{line // 5} Q0 d{line % 5} 0 0 a\n" for line in range(10_000)))
    parts = distributed.DistributedFiles(files_of(tmp_path / "a.run"), HERE)._planned()[0]
    sizes = [part.span[1] - part.span[0] for part in parts if part.span]
    assert sum(sizes) == (tmp_path / "a.run").stat().st_size
    assert len(sizes) > 3
    assert min(sizes) > max(sizes) / 2  # no rest of a few lines, which would be a task of its own


@needs_spark
@pytest.mark.usefixtures("small_parts")
def test_every_form_of_a_run_gives_the_same(runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "BYTES_OF_ROW", 10)
    monkeypatch.setattr(table_files, "NEAR", 60)
    judged, run = grades("qrels"), endoxa.read(runs)
    here = endoxa.measure(runs, judged, MEASURES)
    rows = run.frame.select("system", "query", "item", "score")
    rows.write_parquet(tmp_path / "run.parquet")
    for path in (tmp_path / "run.parquet", Path(runs[0])):
        assert len(distributed.DistributedFiles(files_of(path), HERE)._planned()[0]) > 3
    same(endoxa.measure(tmp_path / "run.parquet", judged, MEASURES, on=HERE), here)
    mixed = rows.sample(fraction=1, shuffle=True, seed=1)
    mixed.write_parquet(tmp_path / "mixed.parquet")
    mixed.write_csv(tmp_path / "mixed.csv")
    text = mixed.select("query", pl.lit("Q0"), "item", pl.lit(0).alias("r"), "score", "system")
    text.write_csv(tmp_path / "mixed.run", separator=" ", include_header=False)
    shutil.copy(runs[0], tmp_path / "bm25.run")
    subprocess.run(["gzip", "-k", "bm25.run"], cwd=tmp_path, check=True)
    (tmp_path / "gaps.run").write_text(("\n" * 3000).join(mixed_lines(runs[0])))
    for name in ("bm25.run.gz", "gaps.run", "mixed.parquet", "mixed.csv", "mixed.run"):
        for ties in ("trec", "input"):
            expected = endoxa.measure(tmp_path / name, judged, MEASURES, ties=ties)
            same(endoxa.measure(tmp_path / name, judged, MEASURES, ties=ties, on=HERE), expected)
    session = spark.session(HERE)
    frame = session.read.parquet(str(tmp_path / "run.parquet"))
    named = endoxa.measure(run.frame.sort("system", maintain_order=True), judged, MEASURES)
    same(endoxa.measure(frame.withColumnRenamed("item", "docno"), judged, MEASURES), named)
    same(endoxa.measure(frame, judged, MEASURES, on=session), named)
    same(endoxa.measure(run, judged, MEASURES, on=session), here)  # what is in memory stays there
    judgments = session.createDataFrame(judged.frame.select("query", "item", "grade").to_arrow())
    same(endoxa.measure(runs, judgments, MEASURES, on=session), here)


def mixed_lines(path: str) -> list[str]:
    """Three parts of a file, of which the last has lists that are in the first too."""
    lines = Path(path).read_text().splitlines(keepends=True)
    return ["".join(lines[at::2]) for at in (0, 1)]


def files_of(*paths: Any) -> Any:
    from endoxa.io.run_files import RunFiles

    return RunFiles(tuple(map(source_of, paths)))


@needs_spark
@pytest.mark.usefixtures("small_parts")
def test_a_pool_of_files_and_frames(runs: list[str], tmp_path: Path) -> None:
    expected = pool(runs, 10)
    assert pool(runs, 10, on=HERE).equals(expected)
    endoxa.read(runs).frame.select("system", "query", "item", "score").write_parquet(tmp_path / "run.parquet")
    assert pool(spark.session(HERE).read.parquet(str(tmp_path / "run.parquet")), 10).equals(expected)


@needs_spark
def test_the_map_keeps_the_order_and_raises_what_went_wrong() -> None:
    mapped = mapper_of(Settings(on=HERE))
    offset = 3
    assert list(mapped(lambda item: item + offset, range(50))) == list(range(3, 53))
    assert list(mapped(lambda item: item, [])) == []

    def breaks(item: int) -> int:
        if item > 2:
            raise FileError("x", f"item {item} is wrong", "mend it", item)
        return item

    with pytest.raises(FileError, match="x:3: item 3 is wrong; mend it"):
        mapped(breaks, range(9))
    with pytest.raises(CallError, match=r"the job failed on Spark: .*ZeroDivisionError"):
        mapped(lambda item: 1 // item, [0])


# ---- bad files


@needs_spark
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("change", ["number", "twice", "twice far apart", "columns"])
def test_errors_in_a_file_are_those_of_one_machine(change: str, runs: list[str], tmp_path: Path) -> None:
    lines = Path(runs[0]).read_text().splitlines()
    at = len(lines) - 5
    lines[at] = {
        "number": "q39 Q0 d1 0 high bm25", "twice": lines[at - 1], "twice far apart": lines[0], "columns": "q39 Q0 d1"
    }[change]  # fmt: skip
    (tmp_path / "bad.run").write_text("\n".join(lines) + "\n")
    with pytest.raises(FileError) as here:
        endoxa.measure(tmp_path / "bad.run", grades("qrels"), "AP")
    with pytest.raises(FileError) as there:
        endoxa.measure(tmp_path / "bad.run", grades("qrels"), "AP", on=HERE)
    assert str(there.value) == str(here.value)
    if change != "twice far apart":
        found: list[Any] = []
        scores = endoxa.measure(tmp_path / "bad.run", grades("qrels"), "AP", lenient=True, report=found.append)
        told: list[Any] = []
        same(
            endoxa.measure(tmp_path / "bad.run", grades("qrels"), "AP", lenient=True, report=told.append, on=HERE),
            scores,
        )
        assert list(map(str, told)) == list(map(str, found)) != []


@needs_spark
def test_a_file_that_workers_do_not_see(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    part = distributed.Part("/nowhere/bm25.run", "bm25.run", 5)
    with pytest.raises(FileError, match=r"bm25\.run: the worker .* sees no such file; put it on storage"):
        list(spark.mapped(HERE, distributed._seen, [part]))
    part = distributed.Part(runs[0], "bm25.run", 5)
    with pytest.raises(FileError, match=r"the worker .* sees another file"):
        list(spark.mapped(HERE, distributed._seen, [part]))
    with pytest.raises(FileError, match="workers cannot read standard input"):
        endoxa.measure("-", grades("qrels"), "AP", on=HERE)
    monkeypatch.setattr(spark, "VERSION", "0.0.0")
    with pytest.raises(InstallError, match=r"has endoxa .*, and this is 0\.0\.0; install the same"):
        spark.mapped(HERE, len, [[1]])


@needs_spark
def test_frames_that_are_no_runs(runs: list[str]) -> None:
    session = spark.session(HERE)
    with pytest.raises(TableError, match="needs a column 'query'"):
        endoxa.measure(session.createDataFrame([("a", 1.0)], "item string, score double"), grades("qrels"), "AP")
    with pytest.raises(TableError, match="needs a column 'score'"):
        endoxa.measure(session.createDataFrame([("q1", "a")], "query string, item string"), grades("qrels"), "AP")
    frame = session.createDataFrame([("q1", "a", 1.0)] * 2, "query string, item string, score double")
    with pytest.raises(TableError, match="lists item 'a' twice"):
        endoxa.measure(frame, grades("qrels"), "AP")
    with pytest.raises(CallError, match="no order"):
        endoxa.measure(frame, grades("qrels"), "AP", ties="input")
    with pytest.raises(CallError, match=r"this program runs Spark at local\[2\]"):
        endoxa.measure(runs, grades("qrels"), "AP", on="local[1]")


# ---- bad installations, from the command line


def called(tmp_path: Path, *words: str, **environment: str) -> tuple[int, str]:
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2 a\nq1 Q0 d2 2 1 a\n")
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    command = [sys.executable, *words, "eval", "qrels", "a.run", "AP", "-o", "tsv", "--to", "scores.tsv", "--on"]
    command += [environment.pop("on", HERE)]
    more = os.environ | environment
    result = subprocess.run(command, cwd=tmp_path, env=more, capture_output=True, text=True, timeout=300, check=False)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "bin") == (
        ["a.run", "qrels"] + ["scores.tsv"] * (result.returncode == 0)
    )
    return result.returncode, " ".join(result.stderr.split())


def test_without_pyspark(tmp_path: Path) -> None:
    code = "import sys; sys.modules['pyspark'] = None; from endoxa.cli import main; main()"
    status, message = called(tmp_path, "-c", code)
    assert status == 1
    assert "pyspark is not installed; pip install 'endoxa[spark]'" in message


@needs_spark
def test_without_java_and_with_an_old_one(tmp_path: Path) -> None:
    status, message = called(tmp_path, "-m", "endoxa", JAVA_HOME=str(tmp_path))
    assert status == 1
    assert "Spark needs Java, and there is none in JAVA_HOME" in message
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    status, message = called(tmp_path, "-m", "endoxa", JAVA_HOME=str(tmp_path))
    assert status == 1
    assert "Spark needs Java 17 or newer, and" in message
    assert "is Java 11" in message


@needs_spark
@pytest.mark.parametrize(
    ("on", "words"),
    [
        ("spark://127.0.0.1:9", "no Spark master answers at spark://127.0.0.1:9"),
        ("spark://no.such.host.invalid:7077", "no Spark master answers"),
        ("yarn", "'yarn' is not an address of Spark; give local[2]"),
        ("local[0", "is not an address of Spark"),
    ],
)
def test_addresses_that_are_none(on: str, words: str, tmp_path: Path) -> None:
    status, message = called(tmp_path, "-m", "endoxa", on=on)
    assert status == 2
    assert words in message


@needs_spark
def test_a_worker_without_endoxa_and_one_without_python(tmp_path: Path) -> None:
    bare = Path(sys._base_executable)  # type: ignore[attr-defined]
    status, message = called(tmp_path, "-m", "endoxa", PYSPARK_PYTHON=str(bare))
    assert status == 1
    assert "a worker has no endoxa; install the same on all workers" in message
    status, message = called(tmp_path, "-m", "endoxa", PYSPARK_PYTHON="/nowhere/python")
    assert status == 1
    assert "a worker has no program /nowhere/python" in message


@needs_spark
def test_the_command_line_prints_only_its_own(tmp_path: Path) -> None:
    status, message = called(tmp_path, "-m", "endoxa")
    assert status == 0
    assert message.startswith("wrote scores.tsv 1 query;")
    assert "spark" not in message.lower()
    assert "AP" in (tmp_path / "scores.tsv").read_text()


# ---- without a session


def test_addresses() -> None:
    assert settings_of({"on": "local[3]"}).on == "local[3]"
    assert settings_of({"on": None}).on is None
    with pytest.raises(CallError, match="or a Spark session, not a int"):
        settings_of({"on": 3})
    assert spark._masters("spark://a:1,b:22") == [("a", 1), ("b", 22)]
    assert spark._is_loopback("local[2]")
    assert spark._is_loopback("spark://127.0.0.1:7077")
    assert not spark._is_loopback("spark://10.0.0.1:7077")


def test_rows_in_batches_become_frames_of_whole_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(spark, "ROWS", 5)
    frame = pl.DataFrame({"query": ["a"] * 7 + ["b"] + ["c"] * 9 + ["d"] * 2, "row": range(19)})
    for size in (1, 2, 3, 7, 30):
        parts = list(
            spark._whole_queries(frame[at : at + size].to_arrow().to_batches()[0] for at in range(0, 19, size))
        )
        assert pl.concat(parts).equals(frame)
        names = [name for part in parts for name in part["query"].unique()]
        assert len(names) == len(set(names))
        assert len(parts) > 1 or size == 30


def test_on_does_not_apply_to_labels_beside_runs() -> None:
    run = Run.of(pl.DataFrame({"system": ["a", "b"], "query": ["q"] * 2, "item": ["x"] * 2, "score": [1.0, 2.0]}))
    with pytest.raises(EndoxaError, match="on does not apply to a few labels or machine judges beside runs"):
        endoxa.evaluate(run, labels=grades("qrels"), on=HERE)
    with pytest.raises(EndoxaError, match="between works in this process only"):
        endoxa.compare(run, between=("a", "b"), on=HERE)
