"""The registry of engines: names, settings, what is saved, and engines that are added at run time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from command_line import done, fails

from endoxa.engines import Index, Material, registry
from endoxa.engines.registry import ENGINES, KINDS, available, engine, engines_of, kind_of, register, restore
from endoxa.errors import TextError
from endoxa.io.scene_files import write_scenes
from endoxa.tables import Floats
from endoxa.verbs.index import index
from endoxa.verbs.run import run


def test_saved_engines_come_back() -> None:
    for name, (kind, _) in ENGINES.items():
        one = engine(name)
        assert kind_of(one) == kind and isinstance(one, KINDS[kind])
        plain = json.loads(json.dumps(one.__dict__))
        assert restore(kind, plain) == one
    with pytest.raises(TextError, match="did you mean histograms"):
        engine("histogram")
    with pytest.raises(TextError, match=r"no setting 'component'.*did you mean components"):
        engine("rwmm", component=3)


@dataclass(frozen=True)
class Lengths:
    """A toy engine: items with as many words as the query are alike."""

    power: float = 1.0

    @property
    def name(self) -> str:
        return "lengths"

    @property
    def descriptor(self) -> None:
        return

    @property
    def takes_text(self) -> bool:
        return True

    def build(self, material: Material, *, train: Material | None = None, seed: int = 0) -> Index:
        return Index(self, material, {"lengths": np.array([len(words) for words in material.words])})

    def score(self, index: Index, queries: Material) -> Floats:
        return self.score_words(index, queries.words)

    def score_words(self, index: Index, texts: Sequence[tuple[str, ...]]) -> Floats:
        asked = np.array([len(words) for words in texts], dtype=float)
        return -(np.abs(asked[:, None] - index.arrays["lengths"]) ** self.power)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> str:
    """An engine that is added at run time, and removed after the test."""
    for table in ("KINDS", "ENGINES", "NEEDS", "SUITS"):
        for name in ("lengths", "lengths-squared"):
            monkeypatch.setitem(getattr(registry, table), name, None)  # so that both names are removed afterwards
            del getattr(registry, table)[name]
    register("lengths", Lengths, {"lengths": {}, "lengths-squared": {"power": 2.0}})
    return "lengths"


def test_an_engine_is_added_at_run_time(toy: str, tmp_path: Path) -> None:
    assert available()[-2:] == ("lengths", "lengths-squared")
    assert engine("lengths-squared") == Lengths(2.0) and engine(toy, power=3).name == "lengths"
    with pytest.raises(TextError, match="called 'lengths' already"):
        register(toy, Lengths)
    folder = tmp_path / "scenes"
    write_scenes(folder, 6, seed=1, size=(48, 64))
    assert index(folder, [toy, "random"], workers=1).systems == ("lengths", "random")
    assert run(folder, depth=3).run.systems == ["random", "lengths"]  # in the order of the registry
    assert run(folder, [toy], texts={"t": "sky sea"}).run.systems == ["lengths"]
    assert ", by lengths." in done("images", "search", folder, "sky", "-e", toy)
    assert "did you mean lengths" in fails("images", "index", folder, "-e", "length")


def test_an_engine_whose_parts_are_missing_is_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.NEEDS, "random", ("no_such_module_anywhere",))
    assert "random" not in available() and "keywords" in available()
    assert engine("random").name == "random"  # it can still be named


def test_engines_for_symbols_are_the_default_of_symbols_only() -> None:
    shapes = ("radon", "gfd", "zernike", "structure", "shape-context")
    assert available("symbols") == shapes and not set(shapes) & set(available())
    assert tuple(engines_of(None, suits="symbols")) == shapes
    assert list(engines_of(["radon", "random"])) == ["radon", "random"]  # they can be named for every corpus
