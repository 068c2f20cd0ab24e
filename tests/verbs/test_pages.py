"""Letters read by Tesseract: three degrees of damage, orders by consensus and by truth."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from endoxa.evaluations.pipelines import ALIGNED, BAG, TRUTH, PipelineStudy
from endoxa.io.reading import finder_of
from endoxa.verbs import pages

DEGREES = {"light": 0.1, "middle": 0.45, "heavy": 0.75}
BINARISERS = ("otsu", "sauvola", "wolf")


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory, tesseract: None) -> dict[str, PipelineStudy]:
    """One letter of each degree, read by the binarisers of the source."""
    found = {}
    for degree, level in DEGREES.items():
        folder = tmp_path_factory.mktemp(degree)
        pages.compose(folder, 1, level=(level, level), seed=11)
        found[degree] = pages.study(folder, binarise=BINARISERS, find="words", workers=1).study
    return found


def test_light_damage_is_read_by_all(studies: dict[str, PipelineStudy]) -> None:
    for way in (TRUTH, BAG, ALIGNED):
        assert set(studies["light"].means(way, "precision")) == set(BINARISERS)
    assert min(studies["light"].means(TRUTH, "precision").values()) > 0.95
    assert min(studies["light"].means(TRUTH, "recall").values()) > 0.95


def test_more_damage_is_read_worse(studies: dict[str, PipelineStudy]) -> None:
    for name in BINARISERS:
        light, heavy = (studies[degree].means(TRUTH, "F1")[name] for degree in ("light", "heavy"))
        assert light > heavy + 0.1


def test_consensus_and_truth_agree_that_one_threshold_for_the_page_reads_worst(
    studies: dict[str, PipelineStudy],
) -> None:
    heavy = studies["heavy"]
    for way in heavy.ways:
        means = heavy.means(way, "precision")
        assert min(means, key=means.__getitem__) == "otsu"
    taus = heavy.taus.filter(pl.col("measure") == "precision")
    assert taus["way"].to_list() == [BAG, ALIGNED] and (taus["tau"] > 0).all()


def test_words_have_boxes_inside_the_page(tmp_path: Path, tesseract: None) -> None:
    pages.compose(tmp_path, 1, level=(0.0, 0.0), seed=11)
    read = pages.read(tmp_path, tmp_path / "out", binarise=["sauvola"], find="words", workers=1)
    reading = read.readings["sauvola"]["letter-0001"]
    width, height = reading.size
    assert len(reading.words) > 60
    for word in reading.words:
        assert word.box is not None
        assert word.box.left >= 0 and word.box.left + word.box.width <= width
        assert word.box.top >= 0 and word.box.top + word.box.height <= height
    typed = (tmp_path / "letter-0001.txt").read_text()
    assert finder_of("words")(typed) == read.outputs["sauvola"]["letter-0001"]


def test_a_page_without_text_is_an_empty_output(tmp_path: Path, tesseract: None) -> None:
    from PIL import Image

    Image.new("L", (400, 300), 230).save(tmp_path / "blank.png")
    read = pages.read(tmp_path, tmp_path / "out", binarise=["wolf"], workers=1)
    assert read.outputs == {"wolf": {"blank": []}} and not read.failures
