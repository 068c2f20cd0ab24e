"""Reads outputs that are texts: the words, in order, that each system recognised in each document.

A file is a system with one document. A directory is a system with one document per file:

    otsu.txt wolf.txt                          systems otsu and wolf, document `text`
    otsu/p1.txt otsu/p2.txt wolf/p1.txt …      systems otsu and wolf, documents p1 and p2
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from endoxa.errors import FileError
from endoxa.io import faults
from endoxa.io.missing_files import unreadable
from endoxa.io.sources import Source, Where, source_of, text_of

DOCUMENT = "text"  # name of the document of a single file
EXPECTED = "expected the outputs of at least two systems, one file or directory each"


def read_texts(paths: Where | Iterable[Where], *, lines: bool = False) -> dict[str, dict[str, list[str]]]:
    """Return {system: {document: words}}, as `bag_of_words` and `aligned` take it.

    A system is named after its file or directory and a document after its file, both without suffixes such as .txt and
    .gz; gzip and zstd are unpacked. Words are separated by white space; with `lines`, each line is one word and may
    contain blanks (`New York`). An empty file is an output without words. Hidden files are ignored. A document that a
    system lacks is absent, which differs from empty: the system does not vote on it.
    """
    places = [paths] if isinstance(paths, str | os.PathLike | Source) else list(paths)
    outputs: dict[str, dict[str, list[str]]] = {}
    labels: dict[str, str] = {}
    for source in map(source_of, places):
        folder = Path(source.given)
        if folder.is_dir():
            name, label = folder.resolve().name, source.given
            found = _documents(folder, label, lines)
        else:
            name, label = source.stem, source.label
            found = {DOCUMENT: _words(label, text_of(source), lines)}
        if name in outputs:
            raise FileError(label, f"system {name!r} is already {labels[name]}", "rename one of them")
        outputs[name], labels[name] = found, label
    if len(outputs) < 2:
        alone = next(iter(labels.values()), "(no paths)")
        raise FileError(alone, "this is the only output" if labels else "there is nothing to read", EXPECTED)
    _refuse_strangers(outputs, labels)
    return outputs


def _documents(folder: Path, label: str, lines: bool) -> dict[str, list[str]]:
    """Return the documents of a system, in order of their file names."""
    try:
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise unreadable(label, error, "check its permissions") from None
    found: dict[str, list[str]] = {}
    owner: dict[str, str] = {}
    for entry in entries:
        if entry.is_dir():
            remedy = f"a system is a directory of files; if each entry is a system, give {label}/*"
            raise FileError(label, f"the directory contains another directory, {entry.name!r}", remedy)
        source = source_of(entry)
        if source.stem in found:
            raise FileError(source.label, f"document {source.stem!r} is already {owner[source.stem]}", "remove one")
        found[source.stem], owner[source.stem] = _words(source.label, text_of(source), lines), entry.name
    if not found:
        raise FileError(label, "the directory is empty", "expected one file for each document")
    return found


def _words(label: str, data: bytes, lines: bool) -> list[str]:
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise FileError(label, "the file contains binary data", "expected UTF-8 text", line)
    text = data.decode()
    if not lines:
        return text.split()
    return [word for line in text.split("\n") if (word := line.strip())]


def _refuse_strangers(outputs: dict[str, dict[str, list[str]]], labels: dict[str, str]) -> None:
    """Refuse a system that shares no document with another; the file names are then probably inconsistent."""
    for system, found in outputs.items():
        others = {document: name for name, theirs in outputs.items() if name != system for document in theirs}
        if others.keys().isdisjoint(found):
            document, (theirs, owner) = next(iter(found)), next(iter(others.items()))
            what = f"shares no document with another (it has {document!r}, {labels[owner]} has {theirs!r})"
            remedy = "give the files of a document the same name for every system"
            raise FileError(labels[system], f"the system {what}", remedy)


def _is_json(line: str) -> bool:
    """Whether a line is an object or a list; words may begin with a bracket too."""
    try:
        return line.lstrip().startswith(("{", "[")) and json.loads(line) is not None
    except faults.JSON:
        return False


def read_questions(place: Where) -> dict[str, str]:
    """Read queries of words from lines of name, tab, words; a line without a tab is named after its number."""
    queries: dict[str, str] = {}
    source = source_of(place)
    for number, line in enumerate(text_of(source).decode("utf-8-sig", "replace").splitlines(), start=1):
        name, tab, words = line.partition("\t")
        if not line.strip():
            continue
        if _is_json(line):
            raise FileError(source.label, "the line is JSON", "expected lines of name, tab, words", number)
        query = "_".join(name.split()) if tab else f"text-{number}"
        if query in queries or not query:
            what = f"query {query!r} occurs twice" if query else "the query has no name"
            raise FileError(source.label, what, "give each query a name of its own", number)
        queries[query] = words if tab else line
    if not queries:
        raise FileError(source.label, "the file has no queries", "expected lines of name, tab, words")
    return queries
