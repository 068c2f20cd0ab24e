"""Letters whose text is known: written by chance from a seed, and set line by line.

A letter is a function of the seed and its number, so that the tenth letter is the same among 12 and among 60. Names of
persons, places, months and boards are common in it, because entities are what pipelines are compared by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from endoxa.documents.binarisers import INK, PAPER, Grey
from endoxa.frozen import dataclass

FIRST = "John Mary Thomas Sarah William Anna Henry Martha James Ellen George Ruth Samuel Clara Robert Jane".split()
LAST = (
    "Adams Reed Warren Hale Porter Fletcher Sumner Whitman Barlow Carver Danforth Emerson Gardner Holmes Kendall "
    "Lowell Mercer Norris Parker Quincy Sewall Thorne Upton Winslow"
).split()
PLACES = (
    "Boston;New York;Salem;Concord;Albany;Trenton;Newport;Hartford;Providence;Saratoga;Fort Hill;Long Island;Cape Ann;"
    "West Point;Bunker Hill;Portland;Richmond;Charleston"
).split(";")
BOARDS = (
    "Board of War;Council of Safety;House of Burgesses;Bank of England;Committee of Trade;College of Surgeons".split(
        ";"
    )
)
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()
TITLES = "Mr. Mrs. Dr. Captain Colonel General".split()
SENTENCES = (
    "I had your letter from {place} on {day} and thank you for it.",
    "We heard that {title} {last} has left {place} with the whole company.",
    "The {board} will not meet before {month}, and nobody can say what it may order.",
    "My brother saw {first} {last} at {place} and found all well there.",
    "It is reported that the road from {place} to {place} is closed by the snow.",
    "The goods that {first} {last} sent in {month} came safely to {place}.",
    "Pray tell {title} {last} that the money was paid to the {board} last {day}.",
    "Nothing has been heard of {first} {last} since the storm near {place}.",
    "They expect {title} {last} at {place} before the end of {month}.",
    "The people of {place} have asked the {board} for flour and for powder.",
    "When {first} {last} arrives, take the papers which {title} {last} left with you.",
    "There is much sickness at {place}, and {first} {last} has lost two men.",
)
BODY = 6  # sentences
WIDTH, MARGIN = 900, 70  # pixels; 150 to the inch
SIZES = (23, 27)  # pixels of the letters


@dataclass(frozen=True)
class Letter:
    """A letter: its paragraphs; the first is the place and date, the last the name of the sender."""

    paragraphs: tuple[str, ...]


def write(number: int, seed: int) -> Letter:
    """The letter with this number."""
    rng = np.random.default_rng((seed, number, 1))
    order = rng.permutation(len(SENTENCES))[:BODY]
    body = [_filled(SENTENCES[at], rng) for at in order]
    half = BODY // 2
    return Letter(
        (
            _filled("{place}, {month} ", rng) + str(rng.integers(1, 29)),
            _filled("Dear {title} {last},", rng),
            " ".join(body[:half]),
            " ".join(body[half:]),
            "Your obedient servant,",
            _filled("{first} {last}", rng),
        )
    )


def _filled(pattern: str, rng: np.random.Generator) -> str:
    """The sentence with a name drawn for every blank."""
    names = {"first": FIRST, "last": LAST, "place": PLACES, "board": BOARDS, "month": MONTHS, "day": DAYS}
    names["title"] = TITLES
    parts = pattern.split("{")
    filled = [parts[0]]
    for part in parts[1:]:
        blank, _, rest = part.partition("}")
        filled += [names[blank][rng.integers(len(names[blank]))], rest]
    return "".join(filled)


def lines_of(letter: Letter, font: Any, width: int = WIDTH - 2 * MARGIN) -> list[str]:
    """The lines of the letter at this width in pixels; an empty line between paragraphs."""
    lines: list[str] = []
    for paragraph in letter.paragraphs:
        words = paragraph.split()
        line = words[:1]
        for word in words[1:]:
            if _length([*line, word], font) > width:
                lines.append(" ".join(line))
                line = []
            line.append(word)
        lines += [" ".join(line), ""]
    return lines[:-1]


def typeset(lines: Sequence[str], font: Any, size: int) -> Grey:
    """The lines as a clean page: black on white. `font` is a Pillow font of this size in pixels."""
    from PIL import Image, ImageDraw

    step = round(1.45 * size)
    page = Image.new("L", (WIDTH, 2 * MARGIN + step * len(lines)), PAPER)
    drawing = ImageDraw.Draw(page)
    for row, line in enumerate(lines):
        x = float(MARGIN)
        for word in line.split():  # Computer Modern has no blank, so that words are placed one by one
            drawing.text((x, MARGIN + row * step + size), word, fill=INK, font=font, anchor="ls")
            x += _length([word], font) + _blank(font)
    return np.array(page)


def _length(words: Sequence[str], font: Any) -> float:
    return float(sum(font.getlength(word) for word in words)) + _blank(font) * (len(words) - 1)


def _blank(font: Any) -> float:
    return float(font.getlength("n")) * 0.55
