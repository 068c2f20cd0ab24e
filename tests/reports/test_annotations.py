"""The page of annotated pictures: words on their regions, escaped, and inside the picture."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from endoxa.images import Picture
from endoxa.images.marking import marks_of
from endoxa.io.decoding import data_address
from endoxa.reports.pages.annotations import WIDTH, Annotations, Shown, answer, page


@pytest.fixture
def found() -> Annotations:
    labels = np.zeros((40, 60), np.int32)
    labels[:, 30:] = 1
    labels[:4, :6] = 2
    picture = Picture(np.full((40, 60, 3), 90, np.uint8))
    words = pl.DataFrame(
        {"picture": ["new"] * 2, "rank": [1, 2], "word": ["sky", "<b>sea"], "chance": [0.5, 0.25], "ratio": [4.0, 1.0],
         "right": [True, False]}
    )  # fmt: skip
    regions = pl.DataFrame(
        {"picture": ["new"] * 3, "region": [0, 1, 2], "size": [0.5, 0.4, 0.1], "word": ["sky", "<b>sea", "mountain"],
         "chance": [0.7, 0.3, 0.2]}
    )  # fmt: skip
    shown = Shown("new", data_address(picture, 60), (60, 40), marks_of(labels), ("sky", "sun"))
    return Annotations("Words", words, regions, [shown], ["9 words"], ["Only 90"], ["A note."])


def test_the_answer_names_the_words(found: Annotations) -> None:
    assert answer(found) == "The first words: new: sky, <b>sea."


def test_every_region_has_its_word_inside_the_picture(found: Annotations) -> None:
    html = page(found)
    assert html.count('class="region"') == 3 and "<b>sea" not in html.split("<main>")[1]
    places = re.findall(r'<text class="word" x="(\d+)" y="(\d+)">([^<]*)', html)
    assert [word for _, _, word in places] == ["sky", "&lt;b&gt;sea", "mountain"]
    for x, y, word in places:
        assert 4.5 * len(word.replace("&lt;", "<").replace("&gt;", ">")) <= float(x) <= WIDTH
        assert 0 < float(y) < WIDTH * 40 / 60
    assert "sky, chance 0.700" in html


def test_known_words_are_counted(found: Annotations) -> None:
    html = page(found)
    assert "1 of the 2 are among them" in html and "A note." in html and "Only 90" in html
