"""A contest over pictures, from a folder to the ways of judging and the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from corpus_samples import FAST
from PIL import Image

from endoxa.errors import JoinError
from endoxa.evaluations.contest import CONSENSUS, LEVELS
from endoxa.io import packages
from endoxa.verbs.contest import contest


def test_one_picture_in_each_folder_says_nothing_at_its_word(tmp_path: Path) -> None:
    for number in range(6):
        folder = tmp_path / f"top{number % 2}" / f"leaf{number}"
        folder.mkdir(parents=True)
        Image.new("RGB", (16, 16), (40 * number, 0, 0)).save(folder / "p.png")
    result, _ = contest(tmp_path, ["histograms", "random"], sample=6, worlds=10, workers=1)
    assert list(result.verdicts.ways) == [CONSENSUS, LEVELS]
    assert result.course is None  # nobody to ask


def test_one_system_is_no_contest_and_what_the_other_lacks_is_told(tmp_path: Path) -> None:
    for number in range(4):
        Image.new("RGB", (16, 16), (40 * number, 0, 0)).save(tmp_path / f"red_{number}.png")
    told = "needs two systems or more; there is histograms; keywords returned nothing, .*: no picture has a word"
    with pytest.raises(JoinError, match=told):
        contest(tmp_path, ["histograms", "keywords"], sample=4, worlds=10, workers=1)


def test_the_page_is_written(scenes: Path, tmp_path: Path) -> None:
    page = tmp_path / "deep" / "page.html"
    result, run = contest(scenes, FAST, sample=6, worlds=10, workers=1, to=page, title="Three systems")
    assert "<h1>Three systems</h1>" in page.read_text()
    assert run.systems == FAST and len(result.verdicts.ways) == 3
    assert result.course is not None and result.course.measure == "nDCG@10"
    assert set(result.course.curve["system"]) == set(FAST)
    assert "What a few labels change" in page.read_text()
    assert result.cutoffs is None and "at every cut-off" not in page.read_text()


def test_cut_offs_are_set_side_by_side_where_they_are_asked_for(scenes: Path) -> None:
    result, _ = contest(scenes, FAST, sample=6, worlds=10, workers=1, cutoffs=3)
    assert result.cutoffs is not None and result.cutoffs.deepest == 3
    assert set(result.cutoffs.values["system"]) == set(FAST)


def test_symbols_have_their_own_systems_all_queries_and_ten_cut_offs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache holds what was fetched; nothing else is needed."""
    monkeypatch.setenv("ENDOXA_CACHE", str(tmp_path))
    collection, rng = packages.COLLECTIONS["symbols"], np.random.default_rng(1)
    for number in range(14):
        folder = tmp_path / "symbols" / collection.pictures / ("motors", "fuses")[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        x, y = rng.integers(0, 50, (2, 6))
        corners = " ".join(f'x{at}="{x[at - 1]}" y{at}="{y[at - 1]}"' for at in range(1, 7))
        inside = f'<description><polygon {corners} style="filling:none"/></description>'
        (folder / f"{number}.elmt").write_text(f"<definition>{inside}</definition>")
    (tmp_path / "symbols" / packages.MARKER).write_text("qelectrotech-data 1\n")
    result, run = contest("symbols", worlds=10, workers=1)
    assert run.systems == ["radon", "gfd", "zernike", "structure", "shape-context"]
    assert run.frame["query"].n_unique() == 14
    assert result.cutoffs is not None and result.cutoffs.deepest == 10 and result.cutoffs.queries == 14
