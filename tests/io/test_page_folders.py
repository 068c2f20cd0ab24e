"""Pages in a folder, and their transcriptions."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_samples import pages
from PIL import Image

from endoxa.errors import FileError
from endoxa.io.page_folders import grey_of, pages_of, text_of


def test_pages_come_in_order_of_their_names_with_their_transcriptions(tmp_path: Path) -> None:
    folder = pages(tmp_path, {"b.1": "x", "a": "y"})
    (folder / "a.txt").unlink()
    (folder / "notes.txt").write_text("no page")
    (folder / ".hidden.png").write_bytes(b"")
    (folder / "sub.png").mkdir()
    found = pages_of(folder)
    assert [(page.name, page.transcription) for page in found] == [("a", None), ("b.1", folder / "b.1.txt")]


def test_a_page_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    folder = pages(tmp_path, {"a": ""})
    Image.new("L", (5, 5)).save(folder / "a.jpg")
    with pytest.raises(FileError, match=r"the page 'a' is there twice: a.jpg and a.png"):
        pages_of(folder)


def test_no_pages(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no picture"):
        pages_of(tmp_path)
    with pytest.raises(FileError, match="cannot be read: No such file"):
        pages_of(tmp_path / "nowhere")


def test_pages_are_grey_and_keep_their_size(tmp_path: Path) -> None:
    Image.new("RGB", (2000, 30), (255, 0, 0)).save(tmp_path / "a.png")
    grey = grey_of((tmp_path / "a.png").read_bytes(), "a")
    assert grey.shape == (30, 2000) and grey[0, 0] == 76  # .299 · 255


def test_a_transcription_is_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffé".encode())
    assert text_of(tmp_path / "a.txt") == "é"
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="is not UTF-8 text"):
        text_of(tmp_path / "a.txt")
