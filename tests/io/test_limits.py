"""Small files that would fill the memory are refused before they do; honest files are not."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from endoxa.errors import EndoxaError, FileError
from endoxa.io import limits
from endoxa.io.bundles import read_bundle, write_bundle
from endoxa.io.clip_art import notes_of
from endoxa.io.parquet import parquet_rows
from endoxa.io.read import read
from endoxa.io.study_files import read_any
from endoxa.io.symbols import element_of
from endoxa.io.vectors import read_vectors
from endoxa.tables import Bundle, Opinions

READ = """
import resource, sys
from endoxa.errors import EndoxaError
from endoxa.io.parquet import parquet_rows
from endoxa.io.read import read
from endoxa.io.bundles import read_bundle
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    (read_bundle if sys.argv[1].endswith(".zip") else read)(sys.argv[1])
except EndoxaError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def cost_of(path: Path) -> tuple[str, float]:
    """What a process of its own says of the file, and the megabytes that it needs more than for nothing."""
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    *words, kilobytes = done.stdout.splitlines()
    return " ".join(words), int(kilobytes) / 1000


def sample() -> Bundle:
    judged = pl.DataFrame({"query": ["q"], "item": ["a"], "grade": [1.0]})
    items, queries = pl.DataFrame({"item": ["a"]}), pl.DataFrame({"query": ["q"]})
    texts = dict.fromkeys(("title", "licence", "screen"), "x")
    return Bundle(
        name="b", items=items, queries=queries, opinions=Opinions.of(judged), scale=(0.0, 1.0), threshold=0.0,
        made="2026-01-01", task="search", **texts,
    )  # fmt: skip


def replaced(path: Path, members: dict[str, bytes]) -> Path:
    """A bundle with other members, whose hashes its manifest states."""
    write_bundle(sample(), path)
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()} | members
    manifest = json.loads(contents.pop("bundle.json"))
    manifest["members"] = {
        name: {"sha256": sha256(content).hexdigest(), "bytes": len(content)} for name, content in contents.items()
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**contents, "bundle.json": json.dumps(manifest).encode()}.items():
            archive.writestr(name, content)
    return path


def test_a_gzip_of_newlines(tmp_path: Path) -> None:
    path = tmp_path / "bomb.run.gz"
    path.write_bytes(gzip.compress(b"1 Q0 a 1 1 s\n" + b"\n" * 200_000_000, 9))
    said, megabytes = cost_of(path)
    assert "unpacked, it has more than 100 times its" in said
    assert "ENDOXA_TRUST_FILES=1" in said
    assert megabytes < 600


def test_what_a_small_gzip_may_cost(tmp_path: Path) -> None:
    """60 kB that unpacked to 60 MB of newlines took 5 GB; what is still allowed takes little."""
    path = tmp_path / "bomb.run.gz"
    path.write_bytes(gzip.compress(b"1 Q0 a 1 1 s\n" + b"\n" * 60_000_000, 9))
    assert "unpacked, it has more than 100 times its" in cost_of(path)[0]
    path.write_bytes(gzip.compress(b"1 Q0 a 1 1 s\n" + b"\n" * 2_000_000, 9))
    said, megabytes = cost_of(path)
    assert (said, megabytes < 64) == ("", True), megabytes


def test_empty_lines_take_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "empty_lines.run"
    path.write_bytes(b"1 Q0 a 1 1 s\n" + b"\n" * 7_000_000 + b"1 Q0 b 2 0 s\n")
    said, megabytes = cost_of(path)
    assert (said, megabytes < 20 * 7) == ("", True), megabytes


@pytest.mark.parametrize("name", ["f.csv", "f.jsonl"])
def test_a_gzip_of_a_table(tmp_path: Path, name: str) -> None:
    row = b"query,item,grade\n" if name == "f.csv" else b'{"query":"q","item":"a","grade":1}\n'
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(row + b"\n" * 100_000_000, 9))
    with pytest.raises(FileError, match="unpacked, it has more than 100 times"):
        read(path)


def test_a_zstd_file(tmp_path: Path) -> None:
    path = tmp_path / "bomb.run.zst"
    lines = pl.LazyFrame({"line": ["1 Q0 a 1 1 s" + "\n" * 1000]}).select(pl.col("line").repeat_by(80_000).explode())
    lines.sink_csv(path, include_header=False, quote_style="never", compression="zstd", check_extension=False)
    with pytest.raises(FileError, match="unpacked, it has more than 100 times"):
        read(path)


def test_a_member_that_nobody_reads(tmp_path: Path) -> None:
    path = replaced(tmp_path / "b.zip", {"notes.txt": b"\0" * 300_000_000})
    said, megabytes = cost_of(path)
    assert "unpacked, member notes.txt has more than 100 times" in said
    assert megabytes < 100


def test_members_that_nobody_reads_are_not_kept(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 4, 20_000_000).astype(np.uint8).tobytes()
    said, megabytes = cost_of(replaced(tmp_path / "b.zip", {"notes.txt": noise}))
    assert (said, megabytes < 15) == ("", True), megabytes


def test_equal_rows_of_parquet(tmp_path: Path) -> None:
    stream = io.BytesIO()
    rows = pl.select(query=pl.lit("q"), item=pl.lit("a"), grade=pl.lit(1.0)).lazy()
    pl.concat([rows.select(pl.all().repeat_by(3_000_000).explode())]).collect().write_parquet(stream)
    (tmp_path / "f.parquet").write_bytes(stream.getvalue())
    with pytest.raises(FileError, match="there are 3,000,000 rows in"):
        read(tmp_path / "f.parquet")
    with pytest.raises(FileError, match="there are 3,000,000 rows in"):
        read_any(tmp_path / "f.parquet")
    with pytest.raises(FileError, match=r"member opinions.parquet: there are 3,000,000 rows in"):
        read_bundle(replaced(tmp_path / "b.zip", {"opinions.parquet": stream.getvalue()}))


@pytest.mark.parametrize("same", [True, False])
def test_large_cells_of_parquet(tmp_path: Path, same: bool) -> None:
    """A dictionary, or compression, makes 20,000 cells of 60 kB from 24 or 600 kB: it took 1.2 GB."""
    path = tmp_path / "f.parquet"
    items = [("" if same else str(number)) + "x" * 60_000 for number in range(4000)]
    pl.DataFrame({"query": "q", "item": items, "score": [float(number) for number in range(4000)]}).write_parquet(path)
    with pytest.raises(FileError, match="unpacked, it has more than 100 times its"):
        read(path)
    with pytest.raises(FileError, match=r"member opinions.parquet: unpacked, it has more than 100 times"):
        read_bundle(replaced(tmp_path / "b.zip", {"opinions.parquet": path.read_bytes()}))


def test_rows_of_parquet_are_read_in_parts_and_in_order(tmp_path: Path) -> None:
    frame = pl.DataFrame({"query": ["q"] * 30_000, "item": [f"d{n}" for n in range(30_000)], "score": range(30_000)})
    frame.write_parquet(tmp_path / "f.parquet", row_group_size=7000)
    assert parquet_rows(tmp_path / "f.parquet", "f").equals(frame)
    frame.head(0).write_parquet(tmp_path / "none.parquet")
    assert parquet_rows(tmp_path / "none.parquet", "f").equals(frame.head(0))


def test_trees_of_many_tags(tmp_path: Path) -> None:
    """A tree takes eighty times the size of its tags."""
    with pytest.raises(FileError, match="has more than 512 KiB"):
        element_of(b"<a>" * 1_000_000)
    rdf = b"<rdf:RDF><Work><title>%s</title></Work>" + b"<a>" * 50_000 + b"</a>" * 50_000 + b"</rdf:RDF>"
    assert notes_of(rdf % b"large").title == ""
    assert notes_of((rdf % b"small").replace(b"<a>", b"").replace(b"</a>", b"")).title == "small"


@pytest.mark.parametrize("name", ["f.csv", "f.jsonl"])
def test_tables_of_empty_cells(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "f.csv":
        columns = ",".join(f"c{n}" for n in range(2000))
        path.write_text(f"query,item,grade,{columns}\n" + "q,a,1\n" * 5000)
    else:
        path.write_text("".join(f'{{"query":"q","item":"a","grade":1,"k{n}":1}}\n' for n in range(5000)))
    with pytest.raises(FileError, match=r"lines have [\d,]+ columns in all, most of them empty"):
        read(path)


def test_vectors_that_are_all_zero(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "v.npz", items=np.array(["a"]), vectors=np.zeros((1, 20_000_000), np.float32))
    with pytest.raises(FileError, match=r"unpacked, member vectors.npy has more than 100 times"):
        read_vectors(tmp_path / "v.npz")


def test_the_owner_lifts_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(b"1 0 a 1\n" + b"\n" * 1_000_000))
    monkeypatch.setattr(limits, "FREE_TEXT", 1000)
    with pytest.raises(EndoxaError, match="more than 100 times"):
        read(path)
    monkeypatch.setenv(limits.TRUST, "1")
    assert len(read(path)) == 1
