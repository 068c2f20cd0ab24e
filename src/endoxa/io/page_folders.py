"""Pages in a folder: pictures, and beside each the text that it truly has, where somebody has typed it.

folder/letter.png   a page
folder/letter.txt   its transcription, if there is one
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from endoxa.documents.binarisers import Grey
from endoxa.errors import FileError
from endoxa.frozen import dataclass
from endoxa.io.decoding import decode, is_picture
from endoxa.io.missing_files import unreadable


@dataclass(frozen=True)
class Page:
    """A page: its name, its picture, and the file of its transcription, if there is one."""

    name: str
    path: Path
    transcription: Path | None = None


def pages_of(folder: Path) -> list[Page]:
    """The pages of a folder in order of their names, without those of its subfolders."""
    try:
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise unreadable(str(folder), error, "name a folder of pictures of pages") from None
    pages: dict[str, Page] = {}
    for entry in entries:
        if not is_picture(entry) or not entry.is_file():
            continue
        if entry.stem in pages:
            what = f"the page {entry.stem!r} is there twice: {pages[entry.stem].path.name} and {entry.name}"
            raise FileError(str(folder), what, "rename one of them")
        typed = entry.with_name(f"{entry.stem}.txt")
        pages[entry.stem] = Page(entry.stem, entry, typed if typed.is_file() else None)
    if not pages:
        raise FileError(str(folder), "holds no picture", "expected pages as PNG, JPEG or TIFF")
    return list(pages.values())


def grey_of(raw: bytes, label: str) -> Grey:
    """The page in the bytes of its picture, in grey values and in its own size."""
    import cv2

    return np.asarray(cv2.cvtColor(decode(raw, side=None, name=label).pixels, cv2.COLOR_RGB2GRAY), dtype=np.uint8)


def text_of(path: Path) -> str:
    """The text in a file of UTF-8."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise unreadable(str(path), error) from None
    except UnicodeDecodeError:
        raise FileError(str(path), "is not UTF-8 text", "save the transcription as UTF-8") from None
