"""Scenes from the library: drawn, or pasted from the cut-outs of a corpus."""

from __future__ import annotations

from pathlib import Path

from endoxa.io.opening import open_corpus
from endoxa.verbs.compose import compose


def test_scenes_are_drawn_and_pasted(tmp_path: Path) -> None:
    stages: list[tuple[str, int, int]] = []
    manifest = compose(tmp_path / "drawn", 3, seed=2, size=(48, 64), progress=lambda *stage: stages.append(stage))
    assert manifest.is_file() and stages[-1] == ("composing", 3, 3)
    drawn = open_corpus(tmp_path / "drawn")
    assert len(drawn) == 3
    compose(tmp_path / "pasted", 2, cutouts=drawn, size=(48, 64), form="png")
    pasted = open_corpus(tmp_path / "pasted")
    assert len(pasted) == 2 and all(path.endswith(".png") for path in pasted.frame["path"])
