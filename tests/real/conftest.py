"""Checks on real data. `make real ENDOXA_DATA=DIR` says where it is; a set that is absent fails, loudly."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data() -> Path:
    where = os.environ.get("ENDOXA_DATA")
    assert where, "say where the data is: make real ENDOXA_DATA=DIR"
    return Path(where)


@pytest.fixture(scope="session")
def folder(data: Path):
    def find(name: str) -> Path:
        path = data / name
        assert path.is_dir(), f"the set {name!r} is not in {data}"
        return path

    return find
