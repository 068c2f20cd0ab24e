"""Letters: a function of seed and number, rich in names, and set within their margins."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from PIL import ImageFont

from endoxa.documents.entities import entities
from endoxa.documents.letters import MARGIN, WIDTH, lines_of, typeset, write

FONTS = Path(mpl.get_data_path()) / "fonts" / "ttf"


def test_a_letter_is_a_function_of_its_seed_and_number() -> None:
    assert write(3, 1) == write(3, 1)
    assert len({write(number, seed).paragraphs for number in range(5) for seed in range(3)}) == 15


def test_letters_are_rich_in_names() -> None:
    counts = [len(entities("\n\n".join(write(number, 0).paragraphs))) for number in range(40)]
    assert min(counts) >= 13 and 15 <= np.mean(counts) <= 19


@pytest.mark.parametrize("font", ["STIXGeneral.ttf", "DejaVuSerif.ttf", "cmr10.ttf"])
def test_a_letter_is_set_line_by_line_within_its_margins(font: str) -> None:
    letter, face = write(1, 0), ImageFont.truetype(FONTS / font, 24)
    lines = lines_of(letter, face)
    assert " ".join(" ".join(lines).split()) == " ".join(letter.paragraphs)
    assert lines.count("") == len(letter.paragraphs) - 1
    page = typeset(lines, face, 24)
    assert page.shape[1] == WIDTH
    dark = np.nonzero(page < 128)
    assert dark[1].min() >= MARGIN - 3 and dark[1].max() <= WIDTH - MARGIN + 3
    step = round(1.45 * 24)
    inked = [(page[MARGIN + row * step : MARGIN + (row + 1) * step] < 128).any() for row in range(len(lines))]
    assert inked == [bool(line) for line in lines]


@pytest.mark.parametrize("font", ["STIXGeneral.ttf", "DejaVuSerif.ttf", "cmr10.ttf"])
def test_every_letter_of_the_alphabet_has_a_shape_of_its_own(font: str) -> None:
    """A font that lacks a letter draws the same box for it."""
    face = ImageFont.truetype(FONTS / font, 24)
    signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.,"
    assert len({typeset([sign], face, 24).tobytes() for sign in signs}) >= len(signs) - 1  # I and l may be alike
