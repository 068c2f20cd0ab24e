"""Name, size and SHA-256 of a file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from endoxa.errors import FileError
from endoxa.io.provenance import fingerprint, provenance


def test_a_file_is_identified(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_bytes(b"abc")
    file = provenance(str(tmp_path / "a.run"), "run")
    assert (file.name, file.size, file.kind) == ("a.run", 3, "run")
    assert file.sha256 == hashlib.sha256(b"abc").hexdigest()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        provenance(str(tmp_path / "a.run"))


def test_fingerprints(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    for content in (b"one", b"two", b"three"):
        path.write_bytes(content)
        assert fingerprint(path) == hashlib.sha256(content).hexdigest()
    with pytest.raises(FileError, match=r"none: cannot be read: No such file"):
        fingerprint(tmp_path / "none")
