"""Outputs that are texts, from files and directories."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.beliefs.alignment import aligned, bag_of_words
from endoxa.errors import FileError
from endoxa.io.sources import source_of
from endoxa.io.texts import read_texts


def saved(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_file_is_a_system(tmp_path: Path) -> None:
    first = saved(tmp_path / "otsu.v2.txt", "\ufeffJohn  Smith\r\nvisited\tPar\u00eds\n\n")
    second = saved(tmp_path / "wolf.txt.gz", gzip.compress(b"John Smlth"))
    third = saved(tmp_path / "none", "")
    assert read_texts([first, str(second), third]) == {
        "otsu.v2": {"text": ["John", "Smith", "visited", "París"]},
        "wolf": {"text": ["John", "Smlth"]},
        "none": {"text": []},
    }


def test_a_directory_is_a_system(tmp_path: Path) -> None:
    for name, text in {"a/p2.txt": "c", "a/p1.txt": "a b", "b/p1": "a", "b/p3.txt.gz": "d", "a/.hidden": "x"}.items():
        saved(tmp_path / name, gzip.compress(text.encode()) if name.endswith(".gz") else text)
    found = read_texts([tmp_path / "a", f"{tmp_path}/b/"])
    assert found == {"a": {"p1": ["a", "b"], "p2": ["c"]}, "b": {"p1": ["a"], "p3": ["d"]}}
    assert list(found["a"]) == ["p1", "p2"]


def test_lines_may_hold_blanks(tmp_path: Path) -> None:
    paths = [saved(tmp_path / name, " New York \r\n\nParis\n \nJohn Smith") for name in ("a", "b")]
    assert read_texts(paths, lines=True)["a"] == {"text": ["New York", "Paris", "John Smith"]}
    assert read_texts(paths)["a"] == {"text": ["New", "York", "Paris", "John", "Smith"]}


def test_what_is_read_can_be_voted_on(tmp_path: Path) -> None:
    paths = [saved(tmp_path / name, text) for name, text in {"a": "Paris met John", "b": "John met Paris"}.items()]
    outputs = read_texts(paths)
    assert len(bag_of_words(outputs)) == len(aligned(outputs)) == 6
    assert aligned(outputs).frame["item"].to_list() == ["1:Paris", "2:met", "3:John", "1:John", "2:met", "3:Paris"]


def test_standard_input_and_open_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a b")))
    source = source_of(saved(tmp_path / "b.txt", "b"))
    assert read_texts(["-", source]) == {"<stdin>": {"text": ["a", "b"]}, "b": {"text": ["b"]}}


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=2, max_size=2))
def test_words_are_what_white_space_parts(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("texts")
    paths = [saved(folder / str(place), text) for place, text in enumerate(texts)]
    found = read_texts(paths)
    for text, output in zip(texts, found.values(), strict=True):
        assert output["text"] == text.removeprefix("\ufeff").split()


@pytest.mark.parametrize(
    ("files", "paths", "said"),
    [
        ({"a.txt": b"one\ntwo \xff\n", "b.txt": "x"}, ["a.txt", "b.txt"], "a.txt:2: byte 0xff is not UTF-8; convert"),
        ({"a/1.txt": b"\xe9", "b/1.txt": "x"}, ["a", "b"], "a/1.txt:1: byte 0xe9 is not UTF-8; convert"),
        (
            {"a.txt": "x\n\ny\0", "b.txt": "x"},
            ["a.txt", "b.txt"],
            "a.txt:3: the file contains binary data; expected UTF-8 text",
        ),
        ({"a.txt": "x", "a.run": "x"}, ["a.txt", "a.run"], "a.run: system 'a' is already {}/a.txt; rename one"),
        ({"a.txt": "x", "a/1": "x"}, ["a.txt", "a"], "a: system 'a' is already {}/a.txt; rename one"),
        ({"a/1.txt": "x", "a/1.txt.gz": gzip.compress(b"x"), "b/1": "x"}, ["a", "b"], "document '1' is already 1.txt"),
        (
            {"a/1": "x", "b/2": "x"},
            ["a", "b"],
            "a: the system shares no document with another (it has '1', {}/b has '2'); give the files of a document",
        ),
        ({"a/1": "x", "b/1": "x", "c": "x"}, ["a", "b", "c"], "c: the system shares no document with another"),
        ({"a/1": "x", "b/.keep": ""}, ["a", "b"], "b: the directory is empty; expected one file for each document"),
        ({"a/1": "x"}, ["a"], "a: this is the only output; expected the outputs of at least two systems"),
        ({}, [], "(no paths): there is nothing to read; expected the outputs of at least two systems"),
        ({"a.txt": "x"}, ["a.txt", "b.txt"], "b.txt: no such file; did you mean {}/a.txt?"),
        ({"a.gz": gzip.compress(b"x" * 99)[:-9], "b": "x"}, ["a.gz", "b"], "a.gz: the gzip data are truncated"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, files: dict[str, str | bytes], paths: list[str], said: str) -> None:
    for name, text in files.items():
        saved(tmp_path / name, text)
    with pytest.raises(FileError) as caught:
        read_texts([tmp_path / path for path in paths])
    place = "" if said.startswith(("document", "(")) else f"{tmp_path}/"
    assert f"{place}{said.format(tmp_path)}" in str(caught.value)


def test_one_path_is_one_system(tmp_path: Path) -> None:
    path = saved(tmp_path / "ab", "x")
    for where in (path, str(path)):
        with pytest.raises(FileError, match="this is the only output"):
            read_texts(where)


def test_directories_in_a_directory(tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    saved(tmp_path / "all" / "a" / "1", "x")
    with pytest.raises(FileError, match=r"contains another directory, 'a'; .* give .*all/\*"):
        read_texts([tmp_path / "all"])
