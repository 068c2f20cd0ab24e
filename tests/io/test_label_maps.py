"""Segmentations of one's own: label maps beside pictures, masks of the corpus, and maps that do not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from endoxa.errors import FileError, JoinError
from endoxa.images import Picture
from endoxa.images.corpus import Corpus
from endoxa.images.features import describe_regions
from endoxa.io.descriptions import describe
from endoxa.io.label_maps import LabelMaps, fitted, regions_of

HALVES = np.repeat(np.array([[3, 7, 7]], np.uint8), 2, axis=0).repeat(8, 0).repeat(8, 1)  # 16 × 24


def save(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array).save(path)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    rng = np.random.default_rng(0)
    for name in ("a/one", "a/two", "three", "four", "five"):
        save(tmp_path / f"pictures/{name}.png", rng.integers(0, 255, (16, 24, 3), dtype=np.uint8))
    maps = tmp_path / "maps"
    save(maps / "a/one.png", HALVES)
    save(maps / "a/two.png", HALVES.repeat(2, 0).repeat(2, 1).astype(np.uint16) * 100)  # larger, of 16 bits
    save(maps / "three.png", np.full((16, 24), 255, np.uint8))
    save(maps / "four.png", HALVES[:, :8])
    paths = ["a/one.png", "a/two.png", "three.png", "four.png", "five.png"]
    frame = pl.DataFrame({"path": paths, "words": [["x"]] * 5}, schema_overrides={"words": pl.List(pl.String)})
    return Corpus.of(frame, str(tmp_path / "pictures"))


def test_regions_are_described_as_those_of_a_segmenter(corpus: Corpus, tmp_path: Path) -> None:
    found = describe(corpus, [LabelMaps.of(corpus, tmp_path / "maps")], tmp_path / "home", workers=1)[0]
    assert found.material.items == ("a/one", "a/two") and found.material.counts.tolist() == [2, 2]
    picture = Picture(np.asarray(Image.open(tmp_path / "pictures/a/one.png")))
    expected = describe_regions(picture, (HALVES == 3).astype(np.int32))  # the larger half is region 0
    for group, rows in expected.items():
        np.testing.assert_array_equal(found.material.columns[group][:2], rows)
    np.testing.assert_allclose(found.material.columns["size"][:2], [2 / 3, 1 / 3])


def test_pictures_without_regions_are_left_out_with_a_reason(corpus: Corpus, tmp_path: Path) -> None:
    found = describe(corpus, [LabelMaps.of(corpus, tmp_path / "maps")], tmp_path / "home", workers=1)[0]
    why = {one.name: one.why for one in found.skipped}
    assert why["three"] == "its label map has no region"
    assert "8 × 16 pixels, the picture 24 × 16: another shape" in why["four"]
    assert "five.png" in why["five"] and "cannot be read" in why["five"]


def test_changed_maps_are_described_again(corpus: Corpus, tmp_path: Path) -> None:
    before = LabelMaps.of(corpus, tmp_path / "maps")
    describe(corpus, [before], tmp_path / "home", workers=1)
    save(tmp_path / "maps/a/one.png", np.arange(384, dtype=np.uint8).reshape(16, 24) // 100)
    after = LabelMaps.of(corpus, tmp_path / "maps")
    assert before != after
    found = describe(corpus, [after], tmp_path / "home", workers=1)[0]
    assert found.material.counts.tolist()[0] == 3 and found.computed == 5


def test_the_masks_of_the_corpus(corpus: Corpus, tmp_path: Path) -> None:
    save(tmp_path / "pictures/masks/1.png", HALVES)
    masks = pl.Series("mask", ["masks/1.png", None, None, None, None], dtype=pl.String)
    masked = Corpus(corpus.frame.with_columns(masks), corpus.root)
    found = describe(masked, [LabelMaps.of(masked, None)], tmp_path / "home", workers=1)[0]
    assert found.material.items == ("a/one",) and found.material.counts.tolist() == [2]
    with pytest.raises(JoinError, match="no picture has a mask"):
        LabelMaps.of(corpus, None)


def test_what_is_no_segmentation_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such folder"):
        LabelMaps.of(corpus, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(JoinError, match="no label map has the name of a picture"):
        LabelMaps.of(corpus, tmp_path / "empty")
    save(tmp_path / "colour.png", np.zeros((4, 4, 3), np.uint8))
    with pytest.raises(FileError, match=r"its label map colour\.png is not a label map"):
        regions_of(tmp_path / "colour.png")


def test_transparent_pixels_belong_to_no_region() -> None:
    mask = np.ones((16, 24), bool)
    mask[:, :8] = False
    picture = Picture(np.zeros((16, 24, 3), np.uint8), mask)
    found = fitted(HALVES.astype(np.int32), picture)
    assert set(np.unique(found[:, :8])) == {-1} and set(np.unique(found[:, 8:])) == {0}
