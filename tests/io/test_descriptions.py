"""Descriptions beside the corpus: done once, resumed, done anew where a picture or a setting changed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from PIL import Image

from endoxa.engines.histogram_features import HistogramFeatures
from endoxa.errors import EndoxaError, FileError
from endoxa.images import Picture
from endoxa.images.corpus import Corpus
from endoxa.io import descriptions
from endoxa.io.descriptions import describe, digests_of


@dataclass(frozen=True)
class Mean:
    """The mean colour, and a row for each of the first `rows` columns of pixels."""

    name: ClassVar[str] = "mean"
    version: ClassVar[int] = 1
    rows: int = 1

    def describe(self, picture: Picture) -> dict[str, np.ndarray]:
        if picture.pixels.max() == 251:
            raise KeyboardInterrupt
        if picture.pixels.max() == 252:
            os._exit(9)
        n = min(self.rows, picture.shape[1])
        mean = picture.pixels[:, :n].mean(axis=0).astype(np.float32)
        return {"colour": mean, "bright": mean.mean(axis=1) > 127, "code": mean[:, 0].astype(np.uint8)}


@dataclass(frozen=True)
class Uneven:
    name: ClassVar[str] = "uneven"
    version: ClassVar[int] = 1

    def describe(self, picture: Picture) -> dict[str, np.ndarray]:
        return {"a": np.zeros(1), "b": np.zeros(2)}


def paint(folder: Path, name: str, shade: int, width: int = 4) -> None:
    Image.new("RGB", (width, 3), (shade, shade, shade)).save(folder / name)


def corpus_of(folder: Path) -> Corpus:
    names = sorted(path.name for path in folder.glob("*.png"))
    return Corpus.of(pl.DataFrame({"path": names, "words": [[name[0]] for name in names]}), str(folder))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(5):
        paint(tmp_path, f"p{number}.png", 50 * number, width=number + 1)
    return tmp_path


def test_what_comes_back_is_what_was_found(folder: Path) -> None:
    [made] = describe(corpus_of(folder), [Mean(rows=2)], folder / "home")
    assert made.computed == 5 and made.skipped == () and len(made.seconds) == 5 and made.bytes > 0
    material = made.material
    assert material.items == ("p0", "p1", "p2", "p3", "p4") and material.words[0] == ("p",)
    assert material.counts.tolist() == [1, 2, 2, 2, 2]
    assert material.columns["colour"].dtype == np.float32 and material.columns["colour"].shape == (9, 3)
    assert material.columns["colour"][:, 0].tolist() == [0, 50, 50, 100, 100, 150, 150, 200, 200]
    assert material.columns["code"].dtype == np.uint8 and material.columns["code"].shape == (9,)
    assert material.columns["bright"].tolist() == [False] * 5 + [True] * 4


def test_only_what_changed_is_done_again(folder: Path) -> None:
    home = folder / "home"
    describe(corpus_of(folder), [Mean()], home)
    assert describe(corpus_of(folder), [Mean()], home)[0].computed == 0
    paint(folder, "p0.png", 77, width=1)
    paint(folder, "p9.png", 9)
    os.utime(folder / "p1.png", (1, 1))  # another time, the same bytes
    [made] = describe(corpus_of(folder), [Mean()], home)
    assert made.computed == 2
    assert made.material.columns["colour"][0, 0] == 77
    other, same = describe(corpus_of(folder), [Mean(rows=2), Mean()], home)
    assert other.computed == 6 and same.computed == 0


def test_a_stopped_run_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptions, "PART", 2)
    monkeypatch.setattr(descriptions, "CHUNK", 1)
    paint(folder, "p3.png", 251)
    with pytest.raises(KeyboardInterrupt):
        describe(corpus_of(folder), [Mean()], folder / "home", workers=1)
    paint(folder, "p3.png", 150)
    [made] = describe(corpus_of(folder), [Mean()], folder / "home", workers=1)
    assert made.computed == 2  # p3, at which it stopped, and p4; a part of two was kept, and the begun one too
    assert len(made.material) == 5


def test_pictures_at_fault_are_named_and_not_tried_again(folder: Path) -> None:
    whole = (folder / "p1.png").read_bytes()
    (folder / "p1.png").write_bytes(whole[: len(whole) // 2])
    (folder / "p2.png").write_bytes(b"<svg xmlns='http://www.w3.org/2000/svg'/>")
    for computed in (5, 0):
        [made] = describe(corpus_of(folder), [Mean()], folder / "home")
        assert made.computed == computed
        assert [one.name for one in made.skipped] == ["p1", "p2"] and all(one.why for one in made.skipped)
        assert made.material.items == ("p0", "p3", "p4")
    (folder / "p1.png").write_bytes(whole)
    assert describe(corpus_of(folder), [Mean()], folder / "home")[0].material.items == ("p0", "p1", "p3", "p4")


def test_several_processes_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptions, "FEW", 2)
    for number in range(20):
        paint(tmp_path, f"p{number:02d}.png", number)
    one = describe(corpus_of(tmp_path), [Mean()], tmp_path / "one", workers=1)[0]
    two = describe(corpus_of(tmp_path), [Mean()], tmp_path / "two", workers=2)[0]
    assert one.material.items == two.material.items
    assert np.array_equal(one.material.columns["colour"], two.material.columns["colour"])


def test_a_killed_process_is_told_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptions, "FEW", 2)
    monkeypatch.setattr(descriptions, "CHUNK", 1)
    for number in range(20):
        paint(tmp_path, f"p{number:02d}.png", 252 if number == 14 else number)
    with pytest.raises(EndoxaError, match=r"was killed at one of: .*; finished work is kept"):
        describe(corpus_of(tmp_path), [Mean()], tmp_path / "home", workers=2)
    paint(tmp_path, "p14.png", 15)
    [made] = describe(corpus_of(tmp_path), [Mean()], tmp_path / "home", workers=1)
    assert len(made.material) == 20 and made.computed < 20


def test_columns_of_different_length_are_refused(folder: Path) -> None:
    with pytest.raises(EndoxaError, match="columns of different length"):
        describe(corpus_of(folder), [Uneven()], folder / "home")


def test_only_the_arrays_that_are_wanted_are_loaded(folder: Path) -> None:
    (folder / "p2.png").write_bytes(b"<svg/>")
    whole, part, none = (
        describe(corpus_of(folder), [HistogramFeatures()], folder / "home", workers=1, columns=columns)[0]
        for columns in (None, ["colour_histogram", "unknown"], [])
    )
    assert set(part.material.columns) == {"colour_histogram"} and not none.material.columns
    assert np.array_equal(part.material.columns["colour_histogram"], whole.material.columns["colour_histogram"])
    assert part.material.items == whole.material.items == none.material.items and part.skipped == whole.skipped


def test_digests_follow_the_bytes(folder: Path) -> None:
    before = digests_of(corpus_of(folder), folder / "home")
    paint(folder, "p0.png", 99, width=1)
    after = digests_of(corpus_of(folder), folder / "home")
    assert before["p0"] != after["p0"] and before["p1"] == after["p1"]
    (folder / "p1.png").unlink()
    assert "p1" not in digests_of(corpus_of(folder), folder / "home")


KILLED = """
import sys
from pathlib import Path
from endoxa.io import descriptions
from endoxa.engines.histogram_features import HistogramFeatures
from endoxa.io.corpora import read_corpus
descriptions.SECONDS = 0.0
folder = Path(sys.argv[1])
descriptions.describe(read_corpus(folder), [HistogramFeatures()], folder / ".endoxa", workers=1)
"""


def test_what_was_done_before_a_kill_is_not_done_again(tmp_path: Path) -> None:
    for number in range(120):
        paint(tmp_path, f"p{number:03d}.png", number, width=300)
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)])
    home = tmp_path / ".endoxa"
    while process.poll() is None and not list(home.glob("descriptions/*/part-*.parquet")):
        time.sleep(0.01)
    process.kill()
    process.wait()
    [made] = describe(corpus_of(tmp_path), [HistogramFeatures()], home, workers=1)
    assert len(made.material) == 120 and made.computed < 120


def test_two_at_once_lose_nothing(tmp_path: Path) -> None:
    """Both take the same number for their part."""
    shelves = [descriptions.Shelf(tmp_path, Mean()) for _ in range(2)]
    stamps = [descriptions.Stamp(f"p{number}", "", 1, "now") for number in range(2)]
    for shelf, stamp in zip(shelves, stamps, strict=True):
        shelf.add(stamp, "digest", None, descriptions._Result({"a": np.zeros((1, 2))}, 0.1))
    parts = set()
    for number, shelf in enumerate(shelves):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(descriptions.os, "getpid", lambda number=number: 1000 + number)
            patch.setattr(descriptions.Shelf, "parts", lambda self: [])  # neither sees the other's
            shelf.close()
        parts |= {path.name for path in shelf.parts()}
    assert parts == {"part-00000-1000.parquet", "part-00000-1001.parquet"}
    assert descriptions.Shelf(tmp_path, Mean()).known(stamps) == {"p0", "p1"}


def test_a_home_that_cannot_be_written_is_told(folder: Path) -> None:
    (folder / "home").write_text("a file where a folder should be")
    with pytest.raises(FileError, match="cannot be written"):
        describe(corpus_of(folder), [Mean()], folder / "home", workers=1)
    assert digests_of(corpus_of(folder), folder / "home")["p0"]  # its cache only saves time
