"""Emoji: drawn with a colour font, with the keywords and groups of Unicode's CLDR.

    annotations/en.xml     keywords and the name of every sign: `face | grin | grinning face`
    properties/labels.txt  groups: `[☺😀-😆] ; Smileys & People ; face-positive`

Signs of one code point that the font has are drawn. Emoji newer than labels.txt are in the category `newer`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from endoxa.errors import FileError, InstallError
from endoxa.frozen import dataclass
from endoxa.images.corpus import Corpus, Progress, words_of
from endoxa.io.corpora import read_corpus
from endoxa.io.write import making_folder

ANNOTATIONS, LABELS = "annotations/en.xml", "properties/labels.txt"
SIZE = 109  # pixels of the bitmaps in the font; it has no other size
CANVAS = 160  # pixels that hold every bitmap
MARGIN = 4
NEWER = "newer"
_ENTITY = re.compile(rb"<!ENTITY", re.IGNORECASE)
_MEMBER = re.compile(r"\{([^}]*)\}|(.)-(.)|(.)", re.DOTALL)
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Sign:
    """A sign, its name, its keywords as words, and its category."""

    sign: str
    name: str
    words: tuple[str, ...]
    category: str


def signs_of(annotations: bytes, labels: str) -> list[Sign]:
    """The signs of one code point that have a name and keywords, in the order of the annotations."""
    if _ENTITY.search(annotations):
        raise FileError(ANNOTATIONS, "declares entities, which annotations do not need")
    try:
        root = ElementTree.fromstring(annotations)
    except ElementTree.ParseError as error:
        raise FileError(ANNOTATIONS, f"is not XML ({error})", "fetch the emoji again") from None
    keywords: dict[str, str] = {}
    names: dict[str, str] = {}
    for part in root.iterfind("annotations/annotation"):
        (names if part.get("type") == "tts" else keywords)[part.get("cp", "")] = part.text or ""
    groups = groups_of(labels)
    return [
        Sign(sign, names[sign], words_of(keywords[sign]), groups.get(sign, NEWER))
        for sign in keywords
        if len(sign) == 1 and names.get(sign) and words_of(keywords[sign])
    ]


def groups_of(labels: str) -> dict[str, str]:
    """The category of each sign: `smileys-people/face-positive`."""
    found: dict[str, str] = {}
    for line in labels.splitlines():
        fields = [field.strip() for field in line.split(";")]
        if len(fields) < 2 or not (fields[0].startswith("[") and fields[0].endswith("]")):
            continue
        category = "/".join(_slug(field) for field in fields[1:3])
        found |= dict.fromkeys(_members(fields[0][1:-1]), category)
    return found


def _members(text: str) -> Iterator[str]:
    """The signs of a set: `☺😀-😆{👨‍⚕️}`."""
    for several, start, end, one in _MEMBER.findall(text):
        if start:
            yield from map(chr, range(ord(start), ord(end) + 1))
        else:
            yield several or one


def _slug(text: str) -> str:
    return _NOT_IN_NAMES.sub("-", text.casefold()).strip("-")


def read_emoji(font: Path, common: Path, drawn: Path, *, progress: Progress | None = None) -> Corpus:
    """The emoji as a corpus; they are drawn if `drawn` does not exist."""
    if not drawn.is_dir():
        draw_emoji(font, common, drawn, progress=progress)
    return read_corpus(drawn, progress=progress)


def draw_emoji(font: Path, common: Path, target: Path, *, progress: Progress | None = None) -> None:
    """A PNG for every sign that the font has, and a manifest; completely or not at all.

    A sign without a picture is left out, and so is one that looks like an earlier one.
    """
    face = _face(font)
    try:
        signs = signs_of((common / ANNOTATIONS).read_bytes(), (common / LABELS).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(str(common), f"cannot be read: {error}", "fetch the emoji again") from None
    with making_folder(target) as part:
        rows, seen = [], set[str]()
        for at, sign in enumerate(signs, start=1):
            if (row := _drawn(sign, face, part, seen)) is not None:
                rows.append(json.dumps(row, ensure_ascii=False) + "\n")
            if progress is not None:
                progress("drawing emoji", at, len(signs))
        (part / "manifest.jsonl").write_text("".join(rows), encoding="utf-8")


def _face(font: Path) -> Any:
    from PIL import ImageFont

    try:
        return ImageFont.truetype(str(font), SIZE)
    except OSError as error:
        what = f"{font.name} cannot be opened by Pillow ({error})"
        raise InstallError(what, remedy="a Pillow whose FreeType draws colour bitmaps is needed") from None


def _drawn(sign: Sign, face: Any, folder: Path, seen: set[str]) -> dict[str, Any] | None:
    """Draw a sign, cut to its bitmap with a margin; its row of the manifest, None if it has no new picture."""
    from PIL import Image, ImageDraw

    canvas = Image.new("RGBA", (CANVAS, CANVAS), (0, 0, 0, 0))
    ImageDraw.Draw(canvas).text((MARGIN, MARGIN), sign.sign, font=face, embedded_color=True)
    box = canvas.getbbox()
    digest = sha256(canvas.tobytes()).hexdigest()
    if box is None or digest in seen:
        return None
    seen.add(digest)
    cut = canvas.crop((box[0] - MARGIN, box[1] - MARGIN, box[2] + MARGIN, box[3] + MARGIN))
    path = f"{sign.category}/{_slug(sign.name) or 'sign'}-{ord(sign.sign):x}.png"
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    cut.save(folder / path)
    return {"path": path, "words": list(sign.words), "category": sign.category, "caption": f"{sign.name} {sign.sign}"}
