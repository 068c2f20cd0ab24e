"""Outputs that are texts: what each system read, heard or found in each document, as words in order.

A file is a system with one document. A directory is a system with a document per file:

    otsu.txt wolf.txt                          systems otsu and wolf, document `text`
    otsu/p1.txt otsu/p2.txt wolf/p1.txt …      systems otsu and wolf, documents p1 and p2
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from endoxa.errors import FileError
from endoxa.io.sources import Source, Where, opened
from endoxa.io.table_files import text_of

DOCUMENT = "text"  # what the document of a single file is called
EXPECTED = "expected the outputs of two systems or more, a file or a directory each"


def read_texts(paths: Where | Iterable[Where], *, lines: bool = False) -> dict[str, dict[str, list[str]]]:
    """{system: {document: words}}, as `bag_of_words` and `aligned` take it.

    A system is called after its file or directory, a document after its file, both without .txt, .gz and the
    like; gzip and zstd are unpacked. Words stand apart by white space; with `lines` each line is one word and may
    hold blanks (`New York`). An empty file is an output without words. Hidden files are passed over.
    A document that a system lacks is absent, which is not the same as empty: the system does not vote on it.
    """
    places = [paths] if isinstance(paths, str | os.PathLike | Source) else list(paths)
    outputs: dict[str, dict[str, list[str]]] = {}
    labels: dict[str, str] = {}
    for place in places:
        name, label, found = _output(place, lines)
        if name in outputs:
            raise FileError(label, f"system {name!r} is {labels[name]} already", "rename one of them")
        outputs[name], labels[name] = found, label
    if len(outputs) < 2:
        alone = next(iter(labels.values()), "(no paths)")
        raise FileError(alone, "is one output alone" if labels else "nothing to read", EXPECTED)
    _refuse_strangers(outputs, labels)
    return outputs


def _output(place: Where, lines: bool) -> tuple[str, str, dict[str, list[str]]]:
    """Name of the system, what errors call it, and its documents."""
    if isinstance(place, str | os.PathLike) and Path(place).is_dir():
        folder = Path(place)
        return folder.resolve().name, os.fspath(place), _documents(folder, os.fspath(place), lines)
    with opened(place) as source:
        return source.stem, source.label, {DOCUMENT: _words(source.label, text_of(source), lines)}


def _documents(folder: Path, label: str, lines: bool) -> dict[str, list[str]]:
    """The documents of a system, in order of their file names."""
    try:
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise FileError(label, f"cannot be read: {error.strerror or error}", "check its rights") from None
    found: dict[str, list[str]] = {}
    owner: dict[str, str] = {}
    for entry in entries:
        if entry.is_dir():
            remedy = f"a system is a directory of files; if each of these is a system, give them: {label}/*"
            raise FileError(label, f"holds a directory, {entry.name!r}", remedy)
        with opened(entry) as source:
            if source.stem in found:
                raise FileError(source.label, f"document {source.stem!r} is {owner[source.stem]} already", "remove one")
            found[source.stem], owner[source.stem] = _words(source.label, text_of(source), lines), entry.name
    if not found:
        raise FileError(label, "is an empty directory", "expected a file for every document")
    return found


def _words(label: str, data: bytes, lines: bool) -> list[str]:
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise FileError(label, "binary data", "expected text in UTF-8", line)
    text = data.decode()
    if not lines:
        return text.split()
    return [word for line in text.split("\n") if (word := line.strip())]


def _refuse_strangers(outputs: dict[str, dict[str, list[str]]], labels: dict[str, str]) -> None:
    """Each system must share a document with another; names that differ throughout are a slip."""
    for system, found in outputs.items():
        others = {document: name for name, theirs in outputs.items() if name != system for document in theirs}
        if others.keys().isdisjoint(found):
            document, (theirs, owner) = next(iter(found)), next(iter(others.items()))
            raise FileError(
                labels[system],
                f"has no document in common with another system (it has {document!r}, {labels[owner]} has {theirs!r})",
                "give the files of a document the same name everywhere",
            )


def read_questions(place: Where) -> dict[str, str]:
    """Queries of words, a line each: name, tab, words; a line without a tab is called after its number."""
    made: dict[str, str] = {}
    with opened(place) as source:
        for number, line in enumerate(text_of(source).decode("utf-8-sig", "replace").splitlines(), start=1):
            name, tab, words = line.partition("\t")
            if not line.strip():
                continue
            called = "_".join(name.split()) if tab else f"text-{number}"
            if called in made or not called:
                raise FileError(source.label, f"query {called!r} stands twice or has no name", "name each once", number)
            made[called] = words if tab else line
        if not made:
            raise FileError(source.label, "holds no query", "expected a line each: name, tab, words")
    return made
