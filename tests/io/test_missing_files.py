"""Files that cannot be opened, and the names that may be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

import endoxa
from endoxa.errors import FileError, MissingFile
from endoxa.io.missing_files import near_file, unreadable

GONE = FileNotFoundError(2, "No such file or directory")


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    (tmp_path / "bm25.run").write_text("q1 Q0 d1 1 1.0 bm25\n")
    return str(tmp_path / "bm52.run")


def test_a_file_of_nearly_this_name_may_be_meant(wrong: str, tmp_path: Path) -> None:
    assert near_file(wrong) == f"did you mean {tmp_path / 'bm25.run'}?"
    assert near_file(str(tmp_path / "dense.run")) == ""


def test_a_missing_file_has_the_near_name_last_in_its_remedy(wrong: str, tmp_path: Path) -> None:
    error = unreadable(wrong, GONE, "check the path")
    assert isinstance(error, MissingFile) and error.path == wrong
    assert error.problem == "cannot be read: No such file or directory"
    assert error.remedy == f"check the path; did you mean {tmp_path / 'bm25.run'}?"
    assert unreadable(wrong, GONE, suggest=False).remedy == ""


def test_a_file_that_may_not_be_read_is_not_missing(wrong: str) -> None:
    error = unreadable(wrong, PermissionError(13, "Permission denied"), "check its permissions")
    assert type(error) is FileError and (error.problem, error.remedy) == (
        "cannot be read: Permission denied", "check its permissions",
    )  # fmt: skip
    assert unreadable("a\0b", ValueError("embedded null byte")).problem == "cannot be read: embedded null byte"


def test_a_run_that_is_missing_is_a_missing_file(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(MissingFile) as caught:
        endoxa.read(wrong)
    assert (caught.value.problem, caught.value.line) == ("no such file", None)
    assert caught.value.remedy == f"did you mean {tmp_path / 'bm25.run'}?"
