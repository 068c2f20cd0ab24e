"""Open Clip Art: drawings as PNG, with words from the RDF of the corresponding SVG files."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

import polars as pl

from endoxa.errors import FileError
from endoxa.images.corpus import Corpus, Progress, Skipped, words_of
from endoxa.io.corpora import pictures_below

DRAWING = 1 << 25  # bytes of an SVG that are read
# Artefacts of the library's scripts: a printed reference, HASH(0x8a2f), or parts of it; the name of a folder.
_NOT_WORDS = re.compile(r"(?:hash)?\W*(?:0x[0-9a-f]+)?\W*|unsorted", re.IGNORECASE)
_RDF = re.compile(rb"<rdf:RDF[\s>].*?</rdf:RDF\s*>", re.DOTALL)
_FORBIDDEN = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


@dataclass(frozen=True)
class Notes:
    """The metadata of an SVG."""

    title: str = ""
    keywords: tuple[str, ...] = ()


def notes_of(svg: bytes) -> Notes:
    """Title and keywords in the RDF of an SVG; empty if there is none that can be parsed.

    Only the RDF is extracted and parsed, so that entities declared before it are never expanded. A keyword that is the
    name of the creator carries no information about the drawing.
    """
    found = Notes()
    for match in _RDF.finditer(svg):  # some files have an empty RDF before the relevant one
        text = match.group().decode("utf-8", "replace").encode()
        if _FORBIDDEN.search(text):
            continue
        here = _Listener()
        try:
            here.parser.Parse(text, True)
        except expat.ExpatError:
            continue
        creator = here.texts.get("creator", "").casefold()
        keywords = tuple(
            word for word in here.keywords if word.casefold() != creator and not _NOT_WORDS.fullmatch(word)
        )
        found = Notes(here.texts.get("title", "") or found.title, keywords or found.keywords)
    return found


@dataclass
class _Listener:
    """Collects the title, the keywords and the creator while expat parses the RDF."""

    texts: dict[str, str] = field(default_factory=dict)
    keywords: list[str] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    collected: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._begin
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.collected.append

    def _begin(self, name: str, _attributes: dict[str, str]) -> None:
        self.path.append(name.rpartition(":")[2])
        self.collected.clear()

    def _end(self, _name: str) -> None:
        text = " ".join("".join(self.collected).split())
        self.collected.clear()
        match self.path[1:]:  # below RDF
            case ["Work", "title"]:
                self.texts["title"] = text
            case ["Work", "subject", _, "li"]:
                self.keywords.append(text)
            case ["Work", "creator", _, "title"]:
                self.texts["creator"] = text
        self.path.pop()


def read_clip_art(pictures: Path, drawings: Path, *, progress: Progress | None = None) -> Corpus:
    """The PNGs of Open Clip Art with title and keywords of the SVGs of the same names; folders are categories.

    Links, which place a drawing in a second folder, are left out.
    """
    paths, skipped = pictures_below(pictures)
    if not paths:
        raise FileError(str(pictures), "there is no picture in it", "fetch the clip art again")
    rows = []
    for at, path in enumerate(paths, start=1):
        notes = _notes(drawings, f"{posixpath.splitext(path)[0]}.svg", skipped)
        words = list(words_of(" ".join(notes.keywords)))
        rows.append((path, words or None, posixpath.dirname(path) or None, notes.title or None))
        if progress is not None:
            progress("keywords", at, len(paths))
    schema: dict[str, Any] = {
        "path": pl.String, "words": pl.List(pl.String), "category": pl.String, "caption": pl.String,
    }  # fmt: skip
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return Corpus.of(frame, str(pictures), name="clipart", skipped=skipped)


def _notes(drawings: Path, path: str, skipped: list[Skipped]) -> Notes:
    try:
        with (drawings / path).open("rb") as file:
            return notes_of(file.read(DRAWING))
    except OSError as error:
        skipped.append(Skipped(path, f"cannot be read: {error.strerror}; its picture has no words"))
        return Notes()
