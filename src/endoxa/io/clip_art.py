"""Open Clip Art: drawings as PNG, with words from the RDF of the corresponding SVG files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import TreeBuilder
from xml.parsers import expat

import polars as pl

from endoxa.errors import FileError
from endoxa.images.corpus import Corpus, Progress, Skipped, words_of
from endoxa.io.corpora import pictures_below

DRAWING = 1 << 25  # bytes of an SVG that are read
METADATA = 1 << 18  # bytes of an RDF that is parsed; a tree of many tags takes many times its size
# Artefacts of the library's scripts: a printed reference, HASH(0x8a2f), or parts of it; the name of a folder.
_NOT_WORDS = re.compile(r"(?:hash)?\W*+(?:0x[0-9a-f]++)?+\W*+|unsorted", re.IGNORECASE)
_BEGIN, _END = re.compile(rb"<rdf:RDF[\s>]"), re.compile(rb"</rdf:RDF\s*+>")
_FORBIDDEN = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


class Notes(NamedTuple):
    """The metadata of an SVG."""

    title: str = ""
    keywords: tuple[str, ...] = ()


def notes_of(svg: bytes) -> Notes:
    """Title and keywords in the RDF of an SVG, without the name of its creator; empty if no RDF can be parsed."""
    notes = Notes()
    # Only the RDF is parsed, so that entities declared before it are never expanded.
    for part in _parts(svg):  # some files have an empty RDF before the relevant one
        text = part.decode("utf-8", "replace").encode()
        if len(text) > METADATA or _FORBIDDEN.search(text):
            continue
        # Prefixes are dropped, because their namespaces are declared outside the RDF.
        tree, parser = TreeBuilder(), expat.ParserCreate()
        parser.StartElementHandler = lambda name, _, tree=tree: tree.start(name.rpartition(":")[2], {})
        parser.EndElementHandler = lambda name, tree=tree: tree.end(name.rpartition(":")[2])
        parser.CharacterDataHandler = tree.data
        try:
            parser.Parse(text, True)
        except expat.ExpatError:
            continue
        root = tree.close()
        titles, words, creators = (
            [" ".join((element.text or "").split()) for element in root.findall(path)]
            for path in ("Work/title", "Work/subject/*/li", "Work/creator/*/title")
        )
        creator = creators[-1].casefold() if creators else ""
        keywords = tuple(word for word in words if word.casefold() != creator and not _NOT_WORDS.fullmatch(word))
        notes = Notes((titles[-1] if titles else "") or notes.title, keywords or notes.keywords)
    return notes


def _parts(svg: bytes) -> Iterator[bytes]:
    """Every RDF of an SVG, with its tags."""
    begin = _BEGIN.search(svg)
    while begin and (end := _END.search(svg, begin.end())):
        yield svg[begin.start() : end.end()]
        begin = _BEGIN.search(svg, end.end())


def read_clip_art(pictures: Path, drawings: Path, *, progress: Progress | None = None) -> Corpus:
    """The PNGs of Open Clip Art with title and keywords of their SVGs; folders are categories, links are left out."""
    paths, skipped = pictures_below(pictures)
    if not paths:
        raise FileError(str(pictures), "there is no picture in it", "fetch the clip art again")
    rows = []
    for at, path in enumerate(paths, start=1):
        drawing, notes = f"{posixpath.splitext(path)[0]}.svg", Notes()
        try:
            with (drawings / drawing).open("rb") as file:
                notes = notes_of(file.read(DRAWING))
        except OSError as error:
            skipped.append(Skipped(drawing, f"cannot be read: {error.strerror}; its picture has no words"))
        words = list(words_of(" ".join(notes.keywords)))
        rows.append((path, words or None, posixpath.dirname(path) or None, notes.title or None))
        if progress is not None:
            progress("keywords", at, len(paths))
    schema: dict[str, Any] = {
        "path": pl.String, "words": pl.List(pl.String), "category": pl.String, "caption": pl.String,
    }  # fmt: skip
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return Corpus.of(frame, str(pictures), name="clipart", skipped=skipped)
