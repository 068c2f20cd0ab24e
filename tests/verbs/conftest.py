"""A small corpus of drawn scenes, indexed once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from corpus_samples import SMALL

from endoxa.engines.registry import ENGINES
from endoxa.verbs.compose import compose
from endoxa.verbs.index import index


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty scenes, indexed by every system that needs no model from elsewhere."""
    folder = tmp_path_factory.mktemp("pictures") / "scenes"
    compose(folder, 30, seed=4)
    index(folder, [name for name in ENGINES if name != "embeddings"], settings=SMALL, workers=1)
    return folder


@pytest.fixture
def scenes(indexed: Path, tmp_path: Path) -> Path:
    """A copy that a test may change; the times of the files are kept, so that nothing is described again."""
    return Path(shutil.copytree(indexed, tmp_path / "scenes"))
