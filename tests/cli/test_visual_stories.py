"""Visual words through the command line: the answer first, the table, ratings, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import done, endoxa, fails
from PIL import Image
from vector_samples import write_vectors

from endoxa.io.opening import open_corpus
from endoxa.verbs.compose import compose

FAST = ("--least", 2, "--most", 0.9, "--components", 10, "--draws", 19, "-s", "grid", "--workers", 1)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("visual") / "scenes"
    compose(folder, 24, seed=4)
    items = open_corpus(folder).items
    write_vectors(folder.parent / "look.npz", items, np.random.default_rng(0).normal(size=(len(items), 4)))
    return folder


def test_a_new_user_asks_which_words_are_visual(scenes: Path, tmp_path: Path) -> None:
    norms = tmp_path / "norms.csv"
    norms.write_text(
        "word,rating\nsky,4.5\ngrass,4.9\ntree,5\nsea,4.8\nsand,4.7\nsun,4.6\ncloud,4.5\nbird,5\nboat,4.9\n"
    )
    page, look = tmp_path / "visual.html", scenes.parent / "look.npz"
    printed = done("words", "visual", scenes, *FAST, "--vectors", look, "--norms", norms, "--to", page)
    answer = printed.splitlines()[0]
    assert " words " in answer and "visual" in answer and "most" not in answer
    assert "called" in printed and "± " in printed and "Hessel" in printed and "norm" in printed
    assert "Spearman's rho with the ratings" in printed and "  V: " in printed and "minus that of V" in printed
    assert f"The page: {page.resolve().as_uri()}" in printed
    assert "Which words are visual in scenes" in page.read_text(encoding="utf-8")


def test_a_word_is_asked_for(scenes: Path) -> None:
    words = (*FAST, "--vectors", scenes.parent / "look.npz")
    printed = done("words", "visual", scenes, "Cloud", *words, "--null", "pictures")
    assert printed.splitlines()[0].startswith("cloud is") and "V = " in printed.splitlines()[0]
    refused = endoxa("words", "visual", scenes, "clod", *words)
    assert refused.exit_code == 1 and "no picture has the word 'clod'; did you mean cloud?" in refused.stderr


def test_what_is_misspelt_is_refused() -> None:
    for words, message in (
        (("-s", "slick"), "no segmenter is called 'slick'"),
        (("--null", "random"), "no null is called 'random'"),
    ):
        refused = endoxa("words", "visual", "nowhere", *words)
        assert refused.exit_code == 1 and message in refused.stderr
    assert endoxa("words", "visual", "nowhere", "-o", "xml").exit_code == 2


def test_a_word_on_no_picture_is_refused_before_any_is_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from endoxa.io import descriptions

    def described(*_: object, **__: object) -> None:
        raise AssertionError("pictures were described")

    folder = tmp_path / "pictures"
    folder.mkdir()
    rows = []
    for at in range(24):
        Image.new("RGB", (40, 40), (10 * at, 0, 0)).save(folder / f"{at:02d}.png")
        rows.append(f'{{"path": "pictures/{at:02d}.png", "words": ["horse"]}}')
    (tmp_path / "photos.jsonl").write_text("\n".join(rows) + "\n")
    monkeypatch.setattr(descriptions, "describe", described)
    refused = fails("words", "visual", tmp_path / "photos.jsonl", "unicorn", "--home", tmp_path / "home")
    assert "no picture has the word 'unicorn'" in refused


def test_stages_are_printed_on_redirected_output_only_with_v(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from endoxa.cli import loudness, output

    monkeypatch.setattr(output, "PATIENCE", -1.0)
    for verbose, printed in ((False, ""), (True, "drawing …\n")):
        loudness.set_level(verbose=verbose, quiet=False)
        try:
            with output.stages(2) as progress:
                progress("drawing", 0, 3)
                progress("drawing", 1, 3)
        finally:
            loudness.set_level(verbose=False, quiet=False)
        assert capsys.readouterr().err == printed
