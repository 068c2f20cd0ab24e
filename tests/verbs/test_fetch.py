"""Fetching by name; the fetching itself is tested with the packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from endoxa.errors import InstallError, TextError
from endoxa.verbs.fetch import fetch


def test_a_collection_is_fetched_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENDOXA_CACHE", str(tmp_path / "cache"))
    with pytest.raises(TextError, match="no collection is called 'stamp'; did you mean stamps"):
        fetch("stamp")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InstallError, match="apt-get is not on this machine"):
        fetch("stamps")
