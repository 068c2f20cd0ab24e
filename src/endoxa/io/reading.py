"""Pages read by pipelines: binarisation, OCR, what is found in the text. In parallel, kept, and resumed.

    OUT/otsu/letter.txt           what pipeline `otsu` found on the page `letter`, one item per line
    OUT/otsu/.read/letter.json    what it read: text, words with boxes, and the settings
    OUT/otsu/.read/find           what was looked for

Files are written completely or not at all. A page is read again if its picture or the settings of its pipeline have
changed. A page that fails is named and has no file, so that it is tried again by the next call.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, field
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from endoxa.documents import binarisers
from endoxa.documents.binarisers import NAMES
from endoxa.documents.defaults import SECONDS, TESSERACT, WINDOW
from endoxa.documents.differing import Box, Word
from endoxa.documents.findings import FINDERS
from endoxa.errors import CallError, FileError, InstallError, advice, did_you_mean, unknown
from endoxa.frozen import dataclass
from endoxa.io import faults
from endoxa.io.commands import Command, CommandError, command_of, run_command
from endoxa.io.missing_files import unreadable
from endoxa.io.ocr import Ocr, parsed
from endoxa.io.page_folders import Page, grey_of
from endoxa.io.texts import read_texts
from endoxa.io.write import unwritten, write_whole
from endoxa.progress import Progress
from endoxa.scale.processes import finished

FORMAT = 1
RECORDS, FOUND = ".read", "find"
SPACY = "spacy:"


@dataclass(frozen=True)
class Finder:
    """What is looked for in a text, as it was typed, and the function that finds it."""

    typed: str
    call: Callable[[str], list[str]]

    def __call__(self, text: str) -> list[str]:
        """The items in a text, in order."""
        return self.call(text)


@dataclass(frozen=True)
class Pipeline:
    """A binariser (one of the house, or a command with {page} and {out}) and an OCR."""

    binariser: str | Command
    ocr: Ocr
    window: int = WINDOW

    @property
    def name(self) -> str:
        """`otsu` with Tesseract, `otsu+rapidocr` with another OCR."""
        first = self.binariser if isinstance(self.binariser, str) else self.binariser.name
        return first if self.ocr.name == TESSERACT else f"{first}+{self.ocr.name}"

    @property
    def record(self) -> dict[str, Any]:
        """The settings that decide what is read."""
        own = self.binariser if isinstance(self.binariser, str) else " ".join(self.binariser.words)
        return {"format": FORMAT, "binariser": own, "window": self.window, **self.ocr.record}


@dataclass(frozen=True)
class Reading:
    """What a pipeline read on a page: the text, the words, and the size (width, height) of the picture it read."""

    text: str
    words: tuple[Word, ...]
    size: tuple[int, int]


@dataclass(frozen=True)
class Failure:
    """A page that could not be read, the pipeline (empty: any), and why."""

    page: str
    pipeline: str
    why: str


@dataclass(frozen=True)
class Readings:
    """What was read.

    outputs   {pipeline: {page: what was found, in order}}
    readings  {pipeline: {page: text and words}}; lacks what other programs wrote
    failures  pages that were left out, and why
    read      how many pages were read now; the others were known
    find      what was looked for; empty where that is not known
    """

    outputs: Mapping[str, Mapping[str, Sequence[str]]]
    readings: Mapping[str, Mapping[str, Reading]]
    failures: tuple[Failure, ...] = ()
    read: int = 0
    find: str = ""


def pipelines_of(names: Sequence[str], ocrs: Sequence[Ocr], *, window: int = WINDOW) -> list[Pipeline]:
    """Every binariser with every OCR; two pipelines of one name are refused."""
    pipelines = [Pipeline(_binariser(name), ocr, window) for name in names for ocr in ocrs]
    seen: set[str] = set()
    for one in pipelines:
        if one.name in seen:
            raise CallError(
                f"two pipelines are called {one.name!r}", remedy="remove one, or name it: 'NAME=mytool {page} …'"
            )
        seen.add(one.name)
    return pipelines


def _binariser(typed: str) -> str | Command:
    if typed in NAMES:
        return typed
    if "{" not in typed:
        own = "a command of your own has {page} and {out} where the paths are put: 'mytool {page} {out}'"
        error = unknown(
            CallError, f"no binariser is called {typed!r}", typed, NAMES, listed=f"there are: {', '.join(NAMES)}"
        )
        raise CallError(error.problem, remedy=advice(error.remedy, own))
    return command_of(typed, "page", "out")


def finder_of(typed: str, *, seconds: float = SECONDS) -> Finder:
    """`entities`, `words`, `spacy:MODEL`, or a command with {text}, which prints one item per line."""
    if typed in FINDERS:
        return Finder(typed, FINDERS[typed])
    if typed.startswith(SPACY):
        return Finder(typed, _spacy(typed.removeprefix(SPACY)))
    if "{" not in typed:
        raise CallError(
            f"nothing that can be found is called {typed!r}",
            remedy=advice(
                did_you_mean(typed, FINDERS),
                "take entities, words, spacy:MODEL, or a command of your own: 'mytool {text}'",
            ),
        )
    return Finder(typed, partial(_by_command, command_of(typed, "text"), seconds))


def _spacy(model: str) -> Callable[[str], list[str]]:
    if find_spec("spacy") is None or find_spec(model) is None:
        raise InstallError(
            f"spaCy and its model {model} are not installed",
            remedy=f"pip install spacy, then python -m spacy download {model}. Without a model, take --find entities",
        )
    import spacy

    parse = spacy.load(model)
    return lambda text: [" ".join(entity.text.split()) for entity in parse(text).ents]


def _by_command(command: Command, seconds: float, text: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.txt"
        path.write_text(text, encoding="utf-8")
        printed = run_command(command.filled({"text": path}), seconds=seconds, stopped=threading.Event())
    return [item for line in printed.split("\n") if (item := line.strip())]


@dataclass
class _Shared:
    """What every task needs."""

    out: Path
    find: Finder
    seconds: float
    scratch: Path
    stopped: threading.Event = field(default_factory=threading.Event)


def read_pages(
    pages: Sequence[Page], pipelines: Sequence[Pipeline], out: Path, find: Finder, *, seconds: float = SECONDS,
    workers: int | None = None, progress: Progress | None = None,
) -> Readings:  # fmt: skip
    """Read every page by every pipeline. What is known is not read again; a page that fails is left out and named."""
    tasks = [(page, one) for page in pages for one in pipelines]
    outputs: dict[str, dict[str, list[str]]] = {one.name: {} for one in pipelines}
    readings: dict[str, dict[str, Reading]] = {one.name: {} for one in pipelines}
    failures, computed = [], 0
    for one in pipelines:
        _prepare(out / one.name, pages, find.typed)
    with tempfile.TemporaryDirectory(prefix="endoxa-pages-") as scratch:
        shared = _Shared(out, find, seconds, Path(scratch))
        for done, (page, one, result) in enumerate(_work(tasks, shared, workers or os.cpu_count() or 1), 1):
            if isinstance(result, Failure):
                failures.append(result)
            else:
                reading, items, fresh = result
                outputs[one.name][page.name], readings[one.name][page.name] = items, reading
                computed += fresh
            if progress is not None:
                progress("reading pages", done, len(tasks))
    order = {page.name: place for place, page in enumerate(pages)}
    named = sorted(set(failures), key=lambda one: (order[one.page], one.pipeline))
    return Readings(_ordered(outputs, order), _ordered(readings, order), tuple(named), computed, find.typed)


def _prepare(folder: Path, pages: Sequence[Page], find: str) -> None:
    """Make the folder of a pipeline; texts in which something else was looked for go, so that none is mixed in."""
    looked = folder / RECORDS / FOUND
    try:
        looked.parent.mkdir(parents=True, exist_ok=True)
        if looked.exists() and looked.read_text(encoding="utf-8") != find:
            for page in pages:
                (folder / f"{page.name}.txt").unlink(missing_ok=True)
        _put(looked, find)
    except OSError as error:
        raise unwritten(folder, error) from None


def _ordered(found: dict[str, dict[str, Any]], order: dict[str, int]) -> dict[str, dict[str, Any]]:
    return {name: {page: own[page] for page in sorted(own, key=order.__getitem__)} for name, own in found.items()}


_Result = tuple[Reading, list[str], bool]


def _work(
    tasks: Sequence[tuple[Page, Pipeline]], shared: _Shared, workers: int
) -> Iterator[tuple[Page, Pipeline, _Result | Failure]]:
    """The results of all tasks as they finish. Each thread waits for a process that reads a page."""
    with ThreadPoolExecutor(workers) as pool:
        try:
            for number, future in finished(pool, partial(_read, shared), dict(enumerate(tasks)), 2 * workers):
                yield *tasks[number], future.result()
        finally:  # after an interruption, what is being read is ended, and what waits is not begun
            shared.stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _read(shared: _Shared, task: tuple[Page, Pipeline]) -> _Result | Failure:
    """Read a page by a pipeline, unless it is known; write what was found."""
    page, one = task
    target = shared.out / one.name / f"{page.name}.txt"
    kept = shared.out / one.name / RECORDS / f"{page.name}.json"
    try:
        raw = page.path.read_bytes()
        record = {**one.record, "page": sha256(raw).hexdigest()}
        reading = _known(kept, record)
        fresh = reading is None
        if reading is None:
            reading = _recognised(page, raw, one, shared)
            write_whole(kept, _written(record, reading))
        items = shared.find(reading.text)
    except OSError as error:
        return _failed(target, Failure(page.name, "", f"cannot be read: {error.strerror}"))
    except FileError as error:
        if error.path != str(page.path):
            raise
        return _failed(target, Failure(page.name, "", error.problem))
    except CommandError as error:
        return _failed(target, Failure(page.name, one.name, str(error)))
    _put(target, "".join(f"{item}\n" for item in items))
    return reading, items, fresh


def _failed(target: Path, failure: Failure) -> Failure:
    """What another setting has found on the page is no longer true."""
    target.unlink(missing_ok=True)
    return failure


def _put(target: Path, text: str) -> None:
    if not (target.exists() and target.read_bytes() == text.encode()):
        write_whole(target, text)


def _recognised(page: Page, raw: bytes, one: Pipeline, shared: _Shared) -> Reading:
    """Binarise the page and let the OCR read it."""
    import cv2

    label = str(page.path)
    ready = shared.scratch / str(threading.get_ident()) / f"{page.name}.png"
    ready.parent.mkdir(exist_ok=True)
    try:
        if isinstance(one.binariser, str):
            picture = binarisers.binarise(grey_of(raw, label), one.binariser, window=one.window)
            ready.write_bytes(cv2.imencode(".png", picture, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes())
        else:
            words = one.binariser.filled({"page": page.path.resolve(), "out": ready})
            run_command(words, seconds=shared.seconds, stopped=shared.stopped)
            picture = _made(one.binariser, ready)
        words = one.ocr.command.filled({"page": ready})
        printed = run_command(words, seconds=shared.seconds, stopped=shared.stopped, environment=one.ocr.environment)
    finally:
        ready.unlink(missing_ok=True)
    text, found = parsed(printed)
    return Reading(text, tuple(found), (picture.shape[1], picture.shape[0]))


def _made(command: Command, ready: Path) -> Any:
    """The picture that a command for binarisation has written."""
    try:
        return grey_of(ready.read_bytes(), str(ready))
    except OSError:
        raise CommandError(f"{command.name} wrote no picture to {{out}}") from None
    except FileError as error:
        raise CommandError(f"what {command.name} wrote to {{out}} {error.problem}") from None


# ---- records ------------------------------------------------------------------------------------------


def _written(record: Mapping[str, Any], reading: Reading) -> str:
    words = [[word.text, *(astuple(word.box) if word.box else ())] for word in reading.words]
    whole = {"settings": record, "size": reading.size, "text": reading.text, "words": words}
    return json.dumps(whole, ensure_ascii=False) + "\n"


def _known(kept: Path, record: Mapping[str, Any] | None) -> Reading | None:
    """What was read before with these settings (None: with any), or None. A damaged record is read anew."""
    try:
        found = json.loads(kept.read_text(encoding="utf-8"))
        if record is not None and found["settings"] != record:
            return None
        words = tuple(Word(text, Box(*sides) if sides else None) for text, *sides in found["words"])
        return Reading(found["text"], words, tuple(found["size"]))
    except (OSError, *faults.JSON, *faults.CONTENT):
        return None


def load_texts(out: Path) -> Readings:
    """What pipelines have found, from a folder with a folder for each, as `read_pages` or another program writes it."""
    try:
        folders = sorted(entry for entry in out.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    except OSError as error:
        raise unreadable(str(out), error, "name the folder that read wrote") from None
    outputs = read_texts(folders, lines=True)
    readings = {}
    for name, found in outputs.items():
        known = {page: _known(out / name / RECORDS / f"{page}.json", None) for page in found}
        readings[name] = {page: reading for page, reading in known.items() if reading is not None}
    return Readings(outputs, readings, find=_looked_for(out, list(outputs)))


def _looked_for(out: Path, names: Sequence[str]) -> str:
    """What all pipelines looked for, as far as it was written down; different things cannot be compared."""
    records = {name: record for name in names if (record := out / name / RECORDS / FOUND).is_file()}
    found = {name: record.read_text(encoding="utf-8", errors="replace") for name, record in records.items()}
    if len(set(found.values())) > 1:
        (one, other), *_ = ((a, b) for a in found for b in found if found[a] != found[b])
        what = f"{one} has looked for {found[one]} and {other} for {found[other]}"
        raise FileError(str(out), what, "read the pages again, with the same --find")
    return next(iter(found.values()), "")
