"""A corpus opened by what people type, and its pictures found by what they type."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from endoxa.engines.searching import Outside
from endoxa.errors import FileError
from endoxa.io import opening
from endoxa.io.opening import find_item, find_query, home_of, open_corpus


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a/my cat", "a/dog", "b/cat"):
        path = tmp_path / "photos" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 6), "red").save(path)
    return tmp_path / "photos"


def test_a_corpus_is_a_folder_a_corpus_or_a_collection(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = open_corpus(folder)
    assert corpus.items == ["a/dog", "a/my_cat", "b/cat"] and open_corpus(corpus) is corpus
    assert open_corpus(corpus, without=["a"]).items == open_corpus(folder, without=["a"]).items == ["b/cat"]
    assert home_of(corpus) == folder / ".endoxa" and home_of(corpus, "elsewhere") == Path("elsewhere")
    asked = {}
    monkeypatch.setattr(opening.packages, "corpus_of", lambda name, **how: asked.update(how, name=name) or corpus)
    assert open_corpus("stamps", without=(), language="de", seconds=3.0) is corpus
    assert asked == {"name": "stamps", "without": (), "language": "de", "progress": None, "seconds": 3.0}
    with pytest.raises(FileError, match="nowhere"):
        open_corpus(folder / "nowhere")


def test_items_are_found_by_name_and_by_path(folder: Path) -> None:
    corpus = open_corpus(folder)
    for typed in ("a/my_cat", "a/my cat", "a/my cat.png", str(folder / "a" / "my cat.png")):
        assert find_item(corpus, typed) == find_query(corpus, typed) == "a/my_cat"
    assert find_item(corpus, "cat") is None and find_query(corpus, "cat") is None


def test_a_file_outside_the_corpus_is_a_query(folder: Path, tmp_path: Path) -> None:
    corpus = open_corpus(folder / "b")
    outside = tmp_path / "cat.png"
    Image.new("RGB", (5, 4), "blue").save(outside)
    (tmp_path / "cat.txt").write_text("A blue cat\n", encoding="utf-8")
    query = find_query(corpus, str(outside))
    assert isinstance(query, Outside)
    assert (query.name, query.source, query.words) == ("cat~", str(outside), ("blue", "cat"))  # cat is an item
    assert query.picture().shape == (4, 5) and query.picture() is query.picture()  # decoded once
    (tmp_path / "cat.txt").write_bytes(b"\xff\xfe\xfa")  # a caption that cannot be read is no caption
    again = find_query(corpus, str(outside))
    assert isinstance(again, Outside) and again.words == ()
