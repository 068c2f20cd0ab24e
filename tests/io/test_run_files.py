"""Blocks of whole queries: nothing is lost, cut in two, or counted twice."""

from __future__ import annotations

import gzip
import io
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.errors import FileError
from endoxa.io.read import read
from endoxa.io.run_files import blocks, map_blocks
from endoxa.io.sources import ahead, source_of
from endoxa.io.trec_text import Skipped
from endoxa.io.write import write
from endoxa.tables import Run


def lines(*rows: tuple[str, str, float], tag: str = "t") -> bytes:
    return "".join(f"{query} Q0 {item} 0 {score} {tag}\n" for query, item, score in rows).encode()


def grouped(queries: int, items: int, tag: str = "t") -> bytes:
    return lines(*((f"q{q}", f"d{i}", -i) for q in range(queries) for i in range(items)), tag=tag)


def saved(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def frames(run: Run) -> pl.DataFrame:
    return run.frame


@pytest.mark.parametrize("size", [1, 64, 500, 4000, 1 << 20])
@pytest.mark.parametrize("suffix", ["run", "run.gz"])
def test_blocks_hold_whole_queries(tmp_path: Path, size: int, suffix: str) -> None:
    data = grouped(7, 20)
    path = saved(tmp_path / f"f.{suffix}", gzip.compress(data) if suffix.endswith("gz") else data)
    found = map_blocks(path, frames, size=size)
    assert len(found) > 1 or size > len(data) // 2
    queries = [set(frame["query"]) for frame in found]
    assert sum(map(len, queries)) == len(set.union(*queries)) == 7
    assert pl.concat(found).equals(read(path).frame)


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from([1.0, 2.0]), st.sampled_from(["t", "u v"])
        )
    ),
    st.integers(1, 200),
)
def test_any_order_of_lines_gives_the_same_lists(rows: list[tuple[str, str, float, str]], size: int) -> None:
    import tempfile

    data = b"".join(lines(row[:3], tag=row[3]) for row in rows)
    with tempfile.TemporaryDirectory() as directory:
        path = saved(Path(directory) / "f", data)
        repeated = len({(row[0], row[1], row[3]) for row in rows}) < len(rows)
        if repeated or not rows:
            with pytest.raises(FileError):
                map_blocks(path, frames, size=size)
            return
        found = pl.concat(map_blocks(path, frames, size=size))
        key = ["system", "query", "rank"]
        assert found.sort(key).equals(read(path).frame.sort(key))


def test_a_file_that_is_not_grouped_is_grouped_first(tmp_path: Path) -> None:
    rows = [(f"q{q}", f"d{i}", -i) for i in range(30) for q in range(5)]
    path = saved(tmp_path / "f", lines(*rows))
    seen: list[int] = []

    def kernel(run: Run) -> pl.DataFrame:
        seen.append(len(run))
        return run.frame

    found = pl.concat(map_blocks(path, kernel, size=200))
    assert found.height == 150
    assert found.group_by("query").agg(pl.col("rank").max())["rank"].to_list() == [30] * 5
    assert sum(seen) > 150, "the first attempt is thrown away"


def test_each_tag_is_a_system(tmp_path: Path) -> None:
    data = grouped(3, 5, "a") + grouped(3, 5, "b")
    path = saved(tmp_path / "f", data)
    found = pl.concat(map_blocks(path, frames, size=100))
    assert found.group_by("system", maintain_order=True).len().rows() == [("a", 15), ("b", 15)]
    with pytest.raises(FileError, match="q0' of 'both' lists item 'd0' twice"):
        map_blocks(path, frames, name="both", size=100)


@pytest.mark.parametrize(
    ("file", "stem"),
    [
        ("bm25.v2.run.gz", "bm25.v2"),
        ("input.uogTr", "input.uogTr"),
        ("a.b.TXT", "a.b"),
        (".run", ".run"),
        ("x.res", "x"),
    ],
)
def test_names_of_systems(tmp_path: Path, file: str, stem: str) -> None:
    path = saved(tmp_path / file, grouped(1, 2, "tag"))
    assert map_blocks(path, lambda run: run.systems) == [["tag"]]
    assert map_blocks(path, lambda run: run.systems, name="mine") == [["mine"]]
    assert map_blocks(path, lambda run: run.systems, name_from="file") == [[stem]]


@pytest.mark.parametrize("size", [1, 200, 1 << 20])
def test_a_repeated_item_gets_its_line(tmp_path: Path, size: int) -> None:
    data = b"\n" + grouped(3, 5) + lines(("q9", "d1", 5), ("q9", "d2", 4), ("q9", "d1", 3)) + lines(("q10", "d1", 1))
    path = saved(tmp_path / "f", data)
    with pytest.raises(FileError, match=r"f:19: query 'q9' of 't' lists item 'd1' twice; a list ranks"):
        map_blocks(path, frames, size=size)
    with pytest.raises(FileError, match=r"f:19: query 'q9' of 'x' lists item 'd1' twice"):
        read(path, name="x")
    records: list[Skipped] = []
    found = pl.concat(map_blocks(path, frames, size=size, lenient=True, report=records.append))
    assert found.filter(pl.col("query") == "q9")["score"].to_list() == [5.0, 4.0]
    assert [(record.count, record.first[0].line) for record in records] == [(1, 19)]


def test_a_repeat_in_a_file_that_is_not_grouped(tmp_path: Path) -> None:
    data = lines(("a", "x", 1), ("b", "x", 1), ("c", "x", 1), ("a", "x", 2))
    path = saved(tmp_path / "f", data)
    with pytest.raises(FileError, match=r"f:4: query 'a' of 't' lists item 'x' twice"):
        map_blocks(path, frames, size=1)
    records: list[Skipped] = []
    found = pl.concat(map_blocks(path, frames, size=1, lenient=True, report=records.append))
    assert found["score"].to_list() == [1.0] * 3
    assert [record.count for record in records] == [1]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".tsv.gz", ".run.zst"])
def test_every_format_comes_in_blocks(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = read(saved(tmp_path / "f", grouped(5, 10)))
    write(run, tmp_path / f"g{suffix}")
    found = map_blocks(tmp_path / f"g{suffix}", frames, size=100)
    assert pl.concat(found).equals(run.frame)


def test_blocks_of_a_run_in_memory() -> None:
    run = read({"s": {"a": {"x": 2, "y": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 0}}})
    assert [block.frame["query"].unique(maintain_order=True).to_list() for block in blocks(run, 2)] == [
        ["a"],
        ["b", "c"],
    ]
    assert [len(block) for block in blocks(run, 1)] == [2, 1, 2]
    assert not list(blocks(Run(run.frame.clear())))


def test_progress_counts_bytes(tmp_path: Path) -> None:
    for name, data in (("f", grouped(9, 20)), ("f.gz", gzip.compress(grouped(9, 20)))):
        path = saved(tmp_path / name, data)
        calls: list[tuple[int, int]] = []
        map_blocks(path, len, size=500, progress=lambda done, whole, calls=calls: calls.append((done, whole)))
        assert calls == sorted(calls)
        assert calls[-1] == (len(data), len(data))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (grouped(3, 4), gzip.compress(grouped(3, 4))):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert sum(map_blocks("-", len, size=50)) == 12
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 Q0 d 1\n")))
    with pytest.raises(FileError, match="<stdin>:1: 4 columns"):
        map_blocks("-", len)


def test_a_source_can_be_opened_once_and_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(grouped(2, 2))))
    source = source_of("-")
    assert sum(map_blocks(source, len)) == len(read(source)) == 4


def test_a_fault_of_the_kernel_comes_out(tmp_path: Path) -> None:
    path = saved(tmp_path / "f", grouped(9, 20))

    def kernel(run: Run) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        map_blocks(path, kernel, size=100)


def test_reading_ahead_keeps_order_and_passes_faults_on() -> None:
    assert list(ahead(iter(range(100)))) == list(range(100))

    def faulty():  # type: ignore[no-untyped-def]
        yield 1
        raise KeyError

    seen = []
    with pytest.raises(KeyError):
        seen.extend(ahead(faulty()))


def test_ties_are_ranked_as_asked(tmp_path: Path) -> None:
    path = saved(tmp_path / "f", lines(("q", "a", 1), ("q", "b", 1)))
    assert map_blocks(path, lambda run: run.frame["item"].to_list()) == [["b", "a"]]
    assert map_blocks(path, lambda run: run.frame["item"].to_list(), ties="input") == [["a", "b"]]


@pytest.mark.parametrize("taken", [1, 3])
def test_a_reader_that_is_left_behind_waits_for_its_read_but_joins_no_thread(
    taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The garbage collector ended one in a thread that was just starting; a join there waited for ever."""
    joined: list[str] = []
    join = threading.Thread.join
    monkeypatch.setattr(threading.Thread, "join", lambda one, *given: joined.append(one.name) or join(one, *given))
    read: list[int] = []
    reader = ahead(number for number in range(9) if not read.append(number))
    assert [next(reader) for _ in range(taken)] == list(range(taken))
    reader.close()
    assert not joined
    assert read == list(range(taken + 1))  # the one that was begun is finished
