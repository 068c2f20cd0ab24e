import json
from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest

from endoxa.errors import FileError, TableError, TextError
from endoxa.images import Picture
from endoxa.images.corpus import Corpus
from endoxa.images.scenes import Scene, draw
from endoxa.io.scene_files import named, truth, write_scenes

SIZE = (48, 64)


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows(manifest: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def stamps(tmp_path: Path) -> Corpus:
    """Four cut-outs: one with alpha, one without, one without a caption, and one of which nothing is known."""
    root = tmp_path / "stamps"
    root.mkdir()
    disc = cv2.circle(np.zeros((40, 40), np.uint8), (20, 20), 15, 255, -1)
    red = np.dstack([np.full((40, 40), value, np.uint8) for value in (0, 0, 220)] + [disc])
    cv2.imwrite(str(root / "red.png"), red)
    cv2.imwrite(str(root / "blue.png"), np.full((40, 40, 3), (220, 0, 0), np.uint8))
    cv2.imwrite(str(root / "green.png"), np.full((30, 20, 3), (0, 180, 0), np.uint8))
    cv2.imwrite(str(root / "unknown.png"), np.zeros((30, 20, 3), np.uint8))
    frame = pl.DataFrame(
        {
            "path": ["red.png", "blue.png", "green.png", "unknown.png"],
            "caption": ["A cherry on a plate.", "A round blueberry.", None, None],
            "category": ["../food/fruit", "/food/fruit", "plants/leaf", None],
        }
    )
    return Corpus.of(frame, str(root))


def test_files_hold_what_was_drawn(tmp_path: Path) -> None:
    manifest = write_scenes(tmp_path / "a", 6, seed=2, size=SIZE, form="png")
    assert manifest == tmp_path / "a" / "manifest.jsonl"
    for number, row in enumerate(rows(manifest)):
        scene = draw(number, 2, size=SIZE)
        assert list(row) == ["path", "words", "category", "mask", "caption", "regions"]
        assert row["path"] == f"{scene.category}/{number:06d}.png"
        assert (row["words"], row["regions"]) == (list(scene.words), list(scene.names))
        assert (row["category"], row["caption"]) == (scene.category, scene.caption)
        written = cv2.imread(str(tmp_path / "a" / str(row["path"])))
        assert np.array_equal(written[..., ::-1], scene.picture.pixels)
        labels = truth(tmp_path / "a" / str(row["mask"]))
        assert labels.dtype == np.int32
        assert np.array_equal(labels, scene.labels)


def test_the_manifest_is_a_corpus(tmp_path: Path) -> None:
    manifest = write_scenes(tmp_path / "a", 5, size=SIZE)
    corpus = Corpus.of(pl.read_ndjson(manifest), str(manifest.parent))
    assert len(corpus) == 5
    assert all(path.endswith(".jpg") for path in corpus.frame["path"])
    assert [list(words) for words in corpus.words] == [row["words"] for row in rows(manifest)]


def test_same_seed_same_bytes_and_half_a_folder_is_continued(tmp_path: Path) -> None:
    write_scenes(tmp_path / "whole", 8, seed=1, size=SIZE)
    calls: list[tuple[int, int]] = []

    def stop(done: int, count: int) -> None:
        calls.append((done, count))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_scenes(tmp_path / "half", 8, seed=1, size=SIZE, progress=stop)
    assert calls == [(1, 8), (2, 8), (3, 8)]
    assert len(rows(tmp_path / "half" / "manifest.jsonl")) == 3
    before = (tmp_path / "half" / "masks" / "000001.png").stat().st_mtime_ns
    write_scenes(tmp_path / "half", 8, seed=1, size=SIZE, progress=lambda done, count: calls.append((done, count)))
    assert calls[3:] == [(done, 8) for done in range(1, 9)]
    assert content(tmp_path / "half") == content(tmp_path / "whole")
    assert (tmp_path / "half" / "masks" / "000001.png").stat().st_mtime_ns == before


def test_what_a_sudden_end_leaves_is_mended(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    manifest = write_scenes(folder, 6, seed=1, size=SIZE)
    whole = content(folder)
    listed = manifest.read_bytes()
    manifest.write_bytes(listed[: listed.rindex(b'"mask"')])  # the last line stops in the middle
    (folder / str(json.loads(listed.splitlines()[2])["path"])).unlink()
    (folder / "masks" / "000004.png").unlink()
    (folder / "masks" / "000005.png.part").write_bytes(b"half")
    write_scenes(folder, 6, seed=1, size=SIZE)
    assert content(folder) == whole


def test_a_folder_grows_as_if_written_in_one_go(tmp_path: Path) -> None:
    write_scenes(tmp_path / "a", 2, size=SIZE)
    write_scenes(tmp_path / "a", 5, size=SIZE)
    write_scenes(tmp_path / "b", 5, size=SIZE)
    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_other_settings_are_refused(tmp_path: Path, stamps: Corpus) -> None:
    folder = tmp_path / "a"
    write_scenes(folder, 2, seed=1, size=SIZE)
    before = content(folder)
    with pytest.raises(FileError, match=r"scenes here have seed 1, not 2"):
        write_scenes(folder, 3, seed=2, size=SIZE)
    with pytest.raises(FileError, match=r"scenes here have size \[48, 64\], not \[50, 64\]"):
        write_scenes(folder, 3, seed=1, size=(50, 64))
    with pytest.raises(FileError, match=r'scenes here have form "jpg", not "png"'):
        write_scenes(folder, 3, seed=1, size=SIZE, form="png")
    with pytest.raises(FileError, match=r'scenes here have kind "drawn", not "composed"'):
        write_scenes(folder, 3, seed=1, size=SIZE, cutouts=stamps)
    with pytest.raises(FileError, match=r"lists 2 scenes, more than the requested 1"):
        write_scenes(folder, 1, seed=1, size=SIZE)
    assert content(folder) == before
    with pytest.raises(TextError, match="0 or more"):
        write_scenes(folder, -1)


def test_folders_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(FileError, match=r"contains 'holiday.jpg' but no scenes.json"):
        write_scenes(tmp_path, 1)
    with pytest.raises(FileError, match="cannot be written"):
        write_scenes(tmp_path / "holiday.jpg", 1)
    for text, why in (("{", "is not JSON"), ("[]", "does not hold settings")):
        folder = tmp_path / why
        folder.mkdir()
        (folder / "scenes.json").write_text(text)
        with pytest.raises(FileError, match=why):
            write_scenes(folder, 1)
    manifest = write_scenes(tmp_path / "b", 2, size=SIZE)
    manifest.write_text(manifest.read_text().splitlines()[1] + "\n")
    with pytest.raises(FileError, match=r"manifest.jsonl:1: does not list scene 0"):
        write_scenes(tmp_path / "b", 2, size=SIZE)


def test_composed_scenes(tmp_path: Path, stamps: Corpus) -> None:
    folder = tmp_path / "a"
    manifest = write_scenes(folder, 12, seed=3, size=SIZE, form="png", cutouts=stamps)
    seen = set()
    for row in rows(manifest):
        assert (folder / str(row["path"])).resolve().is_relative_to(folder.resolve())
        labels, pixels = truth(folder / str(row["mask"])), cv2.imread(str(folder / str(row["path"])))[..., ::-1]
        regions = row["regions"]
        assert isinstance(regions, list)
        assert np.unique(labels).tolist() == list(range(len(regions)))
        for label, name in enumerate(regions):
            place = {"cherry": 0, "leaf": 1, "blueberry": 2}.get(name)
            if place is not None:
                seen.add(name)
                assert (pixels[labels == label].astype(int).mean(0).argmax()) == place
    assert seen == {"cherry", "blueberry", "leaf"}  # what nothing is known of is not used
    whole = content(folder)
    manifest.write_bytes(b"".join(manifest.read_bytes().splitlines(keepends=True)[:5]))
    write_scenes(folder, 12, seed=3, size=SIZE, form="png", cutouts=stamps)
    assert content(folder) == whole
    with pytest.raises(FileError, match="scenes here have cutouts"):
        write_scenes(folder, 12, seed=3, size=SIZE, form="png", cutouts=stamps.take([0, 1]))


def test_cutouts_that_cannot_serve(tmp_path: Path, stamps: Corpus) -> None:
    with pytest.raises(TableError, match="no cut-out of the corpus has a word"):
        write_scenes(tmp_path / "a", 1, cutouts=stamps.take([3]))
    assert not (tmp_path / "a").exists()
    (Path(stamps.root) / "blue.png").write_bytes(b"no picture")
    with pytest.raises(FileError, match=r"blue.png: does not decode"):
        write_scenes(tmp_path / "b", 1, cutouts=stamps.take([1]))


@pytest.mark.parametrize(
    ("caption", "word"),
    [
        ("An Adelaide Rosella, on a branch.", "rosella"),
        ("A cup of coffee.", "cup"),
        ("A pair of binoculars.", "binoculars"),
        ("It's a very poisonous lionfish!", "lionfish"),
        ("ИВА у реки", "реки"),
        ("of the", None),
        ("", None),
    ],
)
def test_what_a_caption_is_of(caption: str, word: str | None) -> None:
    assert named(caption) == word


@pytest.mark.parametrize(("regions", "dtype"), [(256, np.uint8), (257, np.uint16)])
def test_many_regions_need_sixteen_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, regions: int, dtype: type
) -> None:
    labels = (np.arange(400, dtype=np.int32) % regions).reshape(20, 20)
    picture = Picture(np.zeros((20, 20, 3), np.uint8))
    scene = Scene(picture, labels, ("tile",) * regions, ("tile",), "floors/tiled", "A tile.")
    monkeypatch.setattr("endoxa.images.scenes.draw", lambda number, seed, *, size: scene)
    write_scenes(tmp_path / "a", 1)
    mask = tmp_path / "a" / "masks" / "000000.png"
    assert cv2.imread(str(mask), cv2.IMREAD_UNCHANGED).dtype == dtype
    assert np.array_equal(truth(mask), labels)


def test_what_is_no_mask_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.png").write_bytes(b"no picture")
    cv2.imwrite(str(tmp_path / "colours.png"), np.zeros((4, 4, 3), np.uint8))
    for name in ("empty", "text", "colours"):
        with pytest.raises(FileError, match="is not a label map"):
            truth(tmp_path / f"{name}.png")
    with pytest.raises(FileError, match="cannot be read"):
        truth(tmp_path / "absent.png")
