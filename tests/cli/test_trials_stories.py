"""Trials of search through the command line: the answer first, and what is refused before any work is done."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import done, endoxa
from PIL import Image


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty small pictures of one colour each, in no folder."""
    folder = tmp_path_factory.mktemp("plain")
    for at, colour in enumerate(np.random.default_rng(1).integers(0, 255, (30, 3))):
        Image.new("RGB", (24, 24), tuple(map(int, colour))).save(folder / f"{at:02d}.png")
    return folder


def test_pictures_without_folders_are_searched_by_people_who_think_in_looks(plain: Path, tmp_path: Path) -> None:
    words = ("-l", "kernel", "-l", "none", "--sessions", 3, "--size", 4, "--marks", "likes", "--home", tmp_path)
    printed = done("search", "contest", plain, *words, "--workers", 1)
    answer = printed.splitlines()[0]
    assert "none and kernel cannot be told apart. On average none needs " in answer
    assert "Target search, mixed people" in printed and "class people" not in printed
    assert "The people are simulated." in printed
    refused = endoxa("search", "contest", plain, "--people", "class", "--sessions", 3, "--size", 4, "--home", tmp_path)
    assert refused.exit_code == 1 and "no picture has a category" in refused.stderr
    refused = endoxa("search", "contest", plain, "--home", tmp_path)
    assert refused.exit_code == 1 and "30 pictures, too few for pages of 20" in refused.stderr


def test_pages_of_several_sizes_are_trials_of_their_own(plain: Path, tmp_path: Path) -> None:
    words = ("-l", "kernel", "-l", "rocchio", "--sessions", 3, "--task", "target", "--home", tmp_path, "--workers", 1)
    printed = done("search", "contest", plain, *words, "--size", 6, "--size", 3, "--to", tmp_path / "trials.html")
    assert printed.index("mixed people, pages of 6") < printed.index("mixed people, pages of 3")
    assert "beyond the least" in printed and "÷ rocchio" in printed
    html = (tmp_path / "trials.html").read_text()
    assert 'id="target-mixed-6"' in html and 'id="target-mixed-3"' in html


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-l", "kernal"), "no learner is called 'kernal'"),
        (("--task", "chat"), "no task is called 'chat'"),
        (("--people", "tired"), "no kind of people is called 'tired'"),
        (("--marks", "some"), "no way of marking is called 'some'"),
    ],
)
def test_what_is_misspelt_is_refused_before_anything_is_read(words: tuple[str, ...], message: str) -> None:
    refused = endoxa("search", "contest", "nowhere", *words)
    assert refused.exit_code == 1 and message in refused.stderr
