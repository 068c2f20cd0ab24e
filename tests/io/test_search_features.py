"""Features on disk: what is stored comes back, what does not fit is refused, pictures from outside are described."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from vector_samples import write_vectors

from endoxa.errors import EndoxaError, FileError, JoinError, TextError
from endoxa.images.corpus import Corpus
from endoxa.io import search_features
from endoxa.io.opening import open_corpus
from endoxa.io.scene_files import write_scenes
from endoxa.io.search_features import build_features, open_features, point_of
from endoxa.searches.arms import Features

COUNT = 10


@pytest.fixture(scope="module", autouse=True)
def no_network() -> object:
    """The network is slow to load; one test has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_features, "available", lambda: ())
        yield


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, no_network: object) -> Path:
    folder = tmp_path_factory.mktemp("search") / "scenes"
    write_scenes(folder, COUNT, seed=4, size=(48, 72), form="png")
    open_features(open_corpus(folder), workers=1)
    return folder


@pytest.fixture
def scenes(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "scenes"))


def first_picture(folder: Path) -> Path:
    corpus = open_corpus(folder)
    return folder / str(corpus.frame["path"][0])


def same(one: Features, two: Features) -> bool:
    pairs = zip(one.groups, two.groups, strict=True)
    return one.digest == two.digest and all(
        np.array_equal(a.values, b.values, equal_nan=a.name == "look") and a.taus == b.taus for a, b in pairs
    )


def test_features_are_stored_and_mapped(built: Path, tmp_path: Path) -> None:
    corpus = open_corpus(built)
    features = open_features(corpus)
    assert features.items == tuple(corpus.items) and features.words == corpus.words
    assert [group.name for group in features.groups] == ["colours", "texture", "layout"]
    assert all(isinstance(group.values, np.memmap) for group in features.groups)
    assert len(features.stacks) == COUNT and features.skipped == () and features.basis is None
    assert same(features, build_features(corpus, tmp_path / "elsewhere", workers=1))
    names = {path.name for path in (built / ".endoxa" / "search").iterdir()}
    assert names == {"features.json", "items.parquet", *(f"group-{group.name}.npy" for group in features.groups)}


def test_opening_again_describes_and_writes_nothing(built: Path) -> None:
    place = built / ".endoxa" / "search" / "features.json"
    before = place.stat().st_mtime_ns
    calls: list[str] = []
    open_features(open_corpus(built), progress=lambda what, done, whole: calls.append(what))
    assert not calls and place.stat().st_mtime_ns == before


def test_a_corpus_that_changed_is_refused_until_it_is_built_again(scenes: Path) -> None:
    path = first_picture(scenes)
    Image.new("RGB", (40, 40), "red").save(path)
    with pytest.raises(FileError, match=r"features for searching were built: 1 changed .*; open it with --again"):
        open_features(open_corpus(scenes))
    calls: list[int] = []
    count = lambda what, done, whole: calls.append(whole)  # noqa: E731
    assert len(open_features(open_corpus(scenes), again=True, workers=1, progress=count)) == COUNT
    assert calls[0] == 1  # only the new picture is described
    assert len(open_features(open_corpus(scenes))) == COUNT
    corpus = open_corpus(scenes)
    with pytest.raises(FileError, match="1 removed"):
        open_features(corpus.take(range(1, COUNT)))
    words = corpus.frame.with_columns(words=corpus.frame["words"].reverse())
    with pytest.raises(FileError, match="given other words"):
        open_features(Corpus.of(words, corpus.root))


def test_pictures_that_do_not_decode_are_left_out_and_named(scenes: Path) -> None:
    path = first_picture(scenes)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    corpus = open_corpus(scenes)
    for again in (True, False):
        features = open_features(corpus, again=again, workers=1)
        assert len(features) == COUNT - 1
        assert [one.name for one in features.skipped] == [corpus.items[0]] and features.skipped[0].why
    path.write_bytes(whole)  # mended
    with pytest.raises(FileError, match="1 added"):
        open_features(corpus)


def test_collections_of_no_one_and_only_broken_pictures(tmp_path: Path) -> None:
    Image.new("RGB", (9, 5), "blue").save(tmp_path / "a.png")
    one = open_features(open_corpus(tmp_path), workers=1)
    assert one.items == ("a",) and one.arms == () and one.stacks.tolist() == [0]
    with pytest.raises(FileError, match="holds no picture"):
        build_features(open_corpus(tmp_path).take([]))
    (tmp_path / "a.png").write_bytes(b"<html>")
    with pytest.raises(JoinError, match=r"none of the 1 pictures can be decoded; a: .*web page"):
        open_features(open_corpus(tmp_path), again=True, workers=1)


def test_equal_files_are_one_stack_and_equal_pictures_are_silent(tmp_path: Path) -> None:
    for name in ("a b.png", "b\u202e.png", "c.png"):
        Image.new("RGB", (9, 5), "blue").save(tmp_path / name)
    features = open_features(open_corpus(tmp_path), workers=1)
    assert features.stacks.tolist() == [0, 0, 0] and features.arms == ()
    assert features.items[0] == "a_b"


def test_other_formats_and_damage_are_refused(scenes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, folder = open_corpus(scenes), scenes / ".endoxa" / "search"
    place = folder / "features.json"
    described = json.loads(place.read_text())

    def refused(match: str) -> None:
        with pytest.raises(FileError, match=f"{match}.*; remove this folder, and it is built again"):
            open_features(corpus)

    place.write_text(json.dumps({**described, "format": 0}))
    refused(r"features of format 0, written by endoxa 0\.1\.0; this version reads format 1")
    place.write_text("{")
    refused("is damaged")
    place.write_text(json.dumps({"format": 1}))
    refused("is damaged")
    place.write_text(json.dumps(described))
    with monkeypatch.context() as patch:
        patch.setattr("endoxa.engines.colour_layout.Layout.version", 99)
        refused("from descriptions of another version")
    numbers = folder / "group-layout.npy"
    whole = numbers.read_bytes()
    numbers.write_bytes(whole[:-50])
    refused("is damaged")
    np.save(numbers, np.zeros((3, 192), np.uint8))
    refused(r"is damaged \(group 'layout' has the shape 3 × 192, expected 10 rows\)")
    numbers.unlink()
    refused("is damaged")
    shutil.rmtree(folder)
    assert len(open_features(corpus, workers=1)) == COUNT


def test_a_folder_of_something_else_is_not_replaced(scenes: Path) -> None:
    folder = scenes / ".endoxa" / "search"
    (folder / "features.json").rename(folder / "thesis.tex")
    with pytest.raises(FileError, match="does not hold features, and is not replaced"):
        open_features(open_corpus(scenes), workers=1)


def test_vectors_of_your_own_become_the_look(scenes: Path) -> None:
    corpus = open_corpus(scenes)
    vectors = np.random.default_rng(1).random((COUNT - 1, 6))
    path = scenes.parent / "mine.npz"
    write_vectors(path, corpus.items[1:], vectors)
    features = open_features(corpus, vectors=path, workers=1)
    look = features.group("look")
    assert look.values.shape == (COUNT, 6) and np.isnan(look.values).any(axis=1).tolist() == [True] + [False] * 9
    assert features.basis is not None and features.basis.source == "file"
    assert same(features, open_features(corpus, vectors=path)) and same(features, open_features(corpus))
    point = point_of(features, first_picture(scenes))
    assert np.isnan(point["look"]).all() and np.array_equal(point["layout"], features.group("layout").values[0])
    write_vectors(path, corpus.items, np.random.default_rng(2).random((COUNT, 6)))
    assert not np.isnan(open_features(corpus, vectors=path, workers=1).group("look").values).any()


def test_the_network_becomes_the_look_once_it_is_installed(scenes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(search_features, "available", lambda: ("embeddings",))
    features = open_features(open_corpus(scenes), workers=1)
    assert [group.name for group in features.groups] == ["look", "colours", "texture", "layout"]
    path = first_picture(scenes)
    for source in (path, path.read_bytes()):
        point = point_of(features, source)
        for group in features.groups:
            assert np.allclose(point[group.name], group.values[0], atol=1e-5)
    monkeypatch.undo()
    assert np.isnan(point_of(features, path)["look"]).all()


def png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def test_a_part_of_a_picture_is_that_part(built: Path) -> None:
    features = open_features(open_corpus(built))
    pixels = np.random.default_rng(1).integers(0, 256, (100, 200, 3)).astype(np.uint8)
    part, alone = (point_of(features, png(one), crop) for one, crop in (
        (pixels, (0.25, 0.5, 1.0, 0.75)), (pixels[50:75, 50:], None),
    ))  # fmt: skip
    assert all(np.array_equal(part[name], alone[name]) for name in alone)
    tiny = point_of(features, png(pixels[:1, :1]), (0.4, 0.4, 0.40001, 0.40001))
    assert np.array_equal(tiny["layout"], point_of(features, png(pixels[:1, :1]))["layout"])


def test_a_crop_is_of_the_picture_as_it_is_seen(built: Path) -> None:
    features = open_features(open_corpus(built))
    pixels = np.zeros((40, 80, 3), np.uint8)
    pixels[:, :40] = 255
    turned = Image.fromarray(pixels)
    exif = turned.getexif()
    exif[0x0112] = 6  # to be turned clockwise: the white left half is then above
    buffer = io.BytesIO()
    turned.save(buffer, "PNG", exif=exif)
    point = point_of(features, buffer.getvalue(), (0, 0, 1, 0.4))
    assert (point["layout"].reshape(64, 3)[:, 0] == 100).all()


@pytest.mark.parametrize(
    ("crop", "what"),
    [
        ((0.5, 0, 0.5, 1), "no area"),
        ((0.5, 0.2, 0.1, 1), "no area"),
        ((-0.1, 0, 1, 1), "out of the picture"),
        ((0, 0, 1, 1.01), "out of the picture"),
        ((0, 0, float("nan"), 1), "a crop is"),
        ((0, 0, 1), "a crop is"),
    ],
)
def test_crops_outside_or_of_no_area_are_refused(built: Path, crop: tuple[float, ...], what: str) -> None:
    with pytest.raises(TextError, match=what):
        point_of(open_features(open_corpus(built)), png(np.zeros((9, 9, 3), np.uint8)), crop)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "empty"), (b"<!doctype html><p>", "web page"), (b"<svg/>", "SVG"), (b"\0\0\0\x18ftypheic", "HEIC"),
        (png(np.zeros((30, 30, 3), np.uint8))[:60], "truncated|damaged"),
    ],
)  # fmt: skip
def test_uploads_that_are_no_pictures_are_refused(built: Path, raw: bytes, why: str) -> None:
    with pytest.raises(FileError, match=rf"cat\.jpg: does not decode as a picture \(.*{why}"):
        point_of(open_features(open_corpus(built)), raw, name="cat.jpg")


def test_odd_uploads_are_described(built: Path) -> None:
    features = open_features(open_corpus(built))
    clear = np.zeros((20, 20, 4), np.uint8)
    buffer = io.BytesIO()
    Image.new("CMYK", (8, 8)).save(buffer, "JPEG")
    for raw in (
        png(np.zeros((1, 1, 3), np.uint8)),
        png(np.zeros((1, 20_000, 3), np.uint8)),
        png(clear),
        buffer.getvalue(),
    ):
        point = point_of(features, raw)
        assert all(len(point[group.name]) == group.values.shape[1] for group in features.groups)
    assert point_of(features, png(clear))["layout"][:3].tolist() == [100, 128, 128]  # white


def test_a_home_that_cannot_be_written_is_refused(built: Path, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where a folder should be")
    with pytest.raises(EndoxaError, match="cannot be written"):
        open_features(open_corpus(built), tmp_path / "home", workers=1)
