"""endoxa words from the command line: a study of a small corpus, its page, and calls that are at fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import done, endoxa

from endoxa.verbs.compose import compose

QUICK = ("--workers", "1", "--resamples", "2", "--share", "1", "--components", "8")


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stories") / "scenes"
    compose(folder, 30, seed=4, size=(48, 72), form="png")
    return folder


def test_predict_answers_in_its_first_line(scenes: Path, tmp_path: Path) -> None:
    out = done("words", "predict", scenes, "-s", "masks", *QUICK, "--home", tmp_path, "--to", tmp_path / "words.html")
    first = out.splitlines()[0]
    assert first.startswith("The regions of ") and "of the words of held-out pictures" in first
    assert "! Only 2" in out and "The page: file://" in out
    assert "Word by word" in (tmp_path / "words.html").read_text()


def test_segmenters_features_and_annotate(scenes: Path, tmp_path: Path) -> None:
    out = done("words", "segmenters", scenes, "-s", "masks", "--regions", "2,4", *QUICK, "--home", tmp_path)
    assert "masks, 4" in out and "grid, 4" in out and out.startswith("The largest regions of ")
    out = done(
        "words", "features", scenes, "-s", "grid", "--set", "base", "--set", "base,rgs", *QUICK, "--home", tmp_path
    )
    assert out.startswith("The features ") and "Barnard et al." in out
    picture = next(scenes.rglob("*.png"))
    words = ("-s", "grid", "-n", 2, "--components", 8, "--home", tmp_path, "--workers", 1)
    out = done("words", "annotate", scenes, picture, *words)
    assert "chance" in out and "! 1 of the pictures are in the corpus" in out


def test_other_forms_are_tables(scenes: Path, tmp_path: Path) -> None:
    out = done("words", "predict", scenes, "-s", "grid", *QUICK, "--home", tmp_path, "-o", "csv")
    assert out.splitlines()[0].startswith("arm,part,lift,lo,hi,se,naive")


def test_calls_at_fault(scenes: Path) -> None:
    for words, code, told in (
        (("segmenters", scenes, "--regions", "2,many"), 2, "expected whole numbers"),
        (("predict", scenes, "--segmentation", "labels"), 2, "expected NAME=DIR"),
        (("predict", scenes, "-o", "xml"), 2, "-o is one of"),
        (("predict", scenes, "--share", 3), 1, "share is 3"),
    ):
        ran = endoxa("words", *words)
        assert ran.exit_code == code and told in ran.stderr
