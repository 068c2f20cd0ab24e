"""Indexes on disk: what is saved comes back, and what does not fit is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from endoxa.engines import Material
from endoxa.engines.ranking import rank
from endoxa.engines.registry import ENGINES
from endoxa.errors import FileError
from endoxa.io import indexes
from endoxa.io.opening import open_corpus
from endoxa.io.scene_files import write_scenes
from endoxa.verbs.find import open_searcher
from endoxa.verbs.index import index

SMALL = {"components": 2, "restarts": 1, "iterations": 3}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("indexes") / "scenes"
    write_scenes(folder, 8, seed=4, size=(96, 144))
    names = [name for name in ENGINES if name != "embeddings"]
    index(folder, names, settings={"rwmm": SMALL, "romm": SMALL}, workers=1)
    return folder


@pytest.fixture
def scenes(indexed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(indexed, tmp_path / "scenes"))


def load(corpus: Path, system: str) -> None:
    open_searcher(corpus).saved(system)


def test_an_index_of_another_format_is_refused(scenes: Path) -> None:
    place = scenes / ".endoxa" / "indexes" / "keywords" / "index.json"
    told = json.loads(place.read_text())
    place.write_text(json.dumps({**told, "format": 0}))
    with pytest.raises(
        FileError, match=r"index of format 0, written by endoxa 0\.1\.0; this version reads format 1; build it again"
    ):
        load(scenes, "keywords")
    place.write_text("{")
    with pytest.raises(FileError, match=r"index\.json: is damaged"):
        load(scenes, "keywords")
    (place.parent / "items.parquet").unlink()
    place.write_text(json.dumps(told))
    with pytest.raises(FileError, match="is damaged"):
        load(scenes, "keywords")


def test_an_index_is_what_was_saved(indexed: Path, tmp_path: Path) -> None:
    corpus = open_corpus(indexed)
    searcher = open_searcher(corpus)
    assert set(searcher.systems) == {name for name in ENGINES if name != "embeddings"}
    for name in searcher.systems:
        saved = searcher.saved(name)
        size = indexes.save(saved, tmp_path / name)
        assert size == sum(file.stat().st_size for file in (tmp_path / name).iterdir())
        again = indexes.load(tmp_path / name)
        assert again.index.engine == saved.index.engine and again.digests == saved.digests
        material: Material = again.index.material.take([0, 5])
        one, two = (rank(index, material).run.frame for index in (saved.index, again.index))
        assert one.equals(two)


def test_an_index_of_other_descriptions_is_refused(scenes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("endoxa.engines.histogram_features.HistogramFeatures.version", 99)
    with pytest.raises(FileError, match="from descriptions of another version; build it again"):
        load(scenes, "histograms")
    monkeypatch.undo()
    place = scenes / ".endoxa" / "indexes" / "histograms"
    (place / "column-colour_blocks.npy").unlink()
    with pytest.raises(FileError, match="is damaged: colour_blocks is missing"):
        load(scenes, "histograms")
