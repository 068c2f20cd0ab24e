"""A contest over pictures, from a folder to the ways of judging and the page."""

from __future__ import annotations

from pathlib import Path

from corpus_samples import FAST
from PIL import Image

from endoxa.evaluations.contest import CONSENSUS, LEVELS
from endoxa.verbs.contest import contest


def test_one_picture_in_each_folder_says_nothing_at_its_word(tmp_path: Path) -> None:
    for number in range(6):
        folder = tmp_path / f"top{number % 2}" / f"leaf{number}"
        folder.mkdir(parents=True)
        Image.new("RGB", (16, 16), (40 * number, 0, 0)).save(folder / "p.png")
    result, _ = contest(tmp_path, ["histograms", "random"], sample=6, worlds=10, workers=1)
    assert list(result.verdicts.ways) == [CONSENSUS, LEVELS]
    assert result.course is None  # nobody to ask


def test_the_page_is_written(scenes: Path, tmp_path: Path) -> None:
    page = tmp_path / "deep" / "page.html"
    result, run = contest(scenes, FAST, sample=6, worlds=10, workers=1, to=page, title="Three systems")
    assert "<h1>Three systems</h1>" in page.read_text()
    assert run.systems == FAST and len(result.verdicts.ways) == 3
    assert result.course is not None and result.course.measure == "nDCG@10"
    assert set(result.course.curve["system"]) == set(FAST)
    assert "What a few labels change" in page.read_text()
