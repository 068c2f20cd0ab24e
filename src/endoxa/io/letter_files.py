"""Letters in a folder: pages with a known text, as clean as new or damaged like old ones.

    folder/letters.json      the settings; another seed or level is refused
    folder/letter-0001.png   a page
    folder/letter-0001.txt   its text, line by line

A file is written completely or not at all, the picture last, so that an interrupted folder is continued.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from endoxa.documents import letters
from endoxa.documents.binarisers import PAPER, Grey
from endoxa.documents.defaults import LEVELS
from endoxa.documents.degrading import degrade
from endoxa.errors import FileError, InstallError, TextError
from endoxa.io.decoding import is_picture
from endoxa.io.write import folder_at, write_whole
from endoxa.progress import Progress

SETTINGS = "letters.json"
FONTS = ("STIXGeneral.ttf", "DejaVuSerif.ttf", "cmr10.ttf")  # matplotlib brings them
BACK = 1_000_000  # added to the number of a letter: the letter on its back


def write_letters(
    folder: Path, count: int, *, level: tuple[float, float] = LEVELS, seed: int = 0,
    progress: Progress | None = None,
) -> list[Path]:  # fmt: skip
    """Write the first `count` letters of series `seed`; the paths of the pages.

    The level of damage of a letter is drawn between the two given. Letters that are there already are kept.
    """
    if count < 1:
        raise TextError(f"the number of letters is 1 or more, not {count}")
    low, high = level
    if not 0 <= low <= high <= 1:
        raise TextError(f"the level of damage goes from 0 to 1, as in 0.2,0.75, not {low:g},{high:g}")
    _settle(folder_at(folder), {"format": 1, "seed": seed, "level": [low, high]})
    paths = []
    for number in range(1, count + 1):
        path = folder / f"letter-{number:04d}.png"
        if not path.exists():
            _write(path, number, seed, level)
        paths.append(path)
        if progress is not None:
            progress("composing letters", number, count)
    return paths


def _settle(folder: Path, settings: dict[str, Any]) -> None:
    """Refuse a folder of other letters or of other pictures, which a study would mix."""
    record = folder / SETTINGS
    if record.exists():
        if json.loads(record.read_text(encoding="utf-8")) != settings:
            raise FileError(str(folder), "holds letters of another seed or level", "name another folder")
        return
    if found := sorted(entry.name for entry in folder.iterdir() if is_picture(entry)):
        raise FileError(str(folder), f"holds other pictures ({found[0]})", "name an empty or a new folder")
    write_whole(record, json.dumps(settings) + "\n")


def _write(path: Path, number: int, seed: int, level: tuple[float, float]) -> None:
    import cv2

    lines, page = drawn(number, seed, level)
    write_whole(path.with_suffix(".txt"), "\n".join(lines) + "\n")
    write_whole(path, cv2.imencode(".png", page)[1].tobytes())


def drawn(number: int, seed: int, level: tuple[float, float]) -> tuple[list[str], Grey]:
    """The lines of a letter and its damaged page."""
    rng = np.random.default_rng((seed, number, 2))
    size = int(rng.integers(letters.SIZES[0], letters.SIZES[1] + 1))
    font = _font(FONTS[rng.integers(len(FONTS))], size)
    sides = [letters.lines_of(letters.write(one, seed), font) for one in (number, number + BACK)]
    front, back = (letters.typeset(lines, font, size) for lines in sides)
    tall = max(len(front), len(back))
    front, back = (np.pad(side, ((0, tall - len(side)), (0, 0)), constant_values=PAPER) for side in (front, back))
    return sides[0], degrade(front, back, float(rng.uniform(*level)), rng)


def _font(name: str, size: int) -> Any:
    try:
        from PIL import ImageFont
    except ImportError:
        raise InstallError("Pillow is not installed", remedy="pip install 'endoxa[pages]'") from None
    import matplotlib as mpl

    return ImageFont.truetype(Path(mpl.get_data_path()) / "fonts" / "ttf" / name, size)
