"""Pipelines that read pages of text, compared without a true text: compose pages, read them, study what was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from endoxa import __version__
from endoxa.documents.binarisers import WINDOW
from endoxa.documents.differing import NEAR
from endoxa.errors import CallError, FileError
from endoxa.evaluations.pipelines import PipelineStudy, compare_pipelines
from endoxa.evaluations.settings import WEIGHTS
from endoxa.frozen import dataclass
from endoxa.io.letter_files import LEVELS, write_letters
from endoxa.io.ocr import LANGUAGE, LAYOUT, RESOLUTION, TESSERACT, ocr_of
from endoxa.io.page_folders import Page, pages_of, text_of
from endoxa.io.page_views import views
from endoxa.io.reading import SECONDS, Failure, Readings, finder_of, load_texts, pipelines_of, read_pages
from endoxa.io.write import write_page
from endoxa.progress import Progress
from endoxa.reports.pages.page_study import Reported, page

BINARISERS = ("otsu", "sauvola", "wolf")  # those of the source
FIND = "entities"
HOME = ".endoxa/pages"
SHOWN = 12  # pages that the page shows


def compose(
    folder: str | Path, count: int = 12, *, level: tuple[float, float] = LEVELS, seed: int = 0,
    progress: Progress | None = None,
) -> list[Path]:  # fmt: skip
    """Write letters with an exact text: FOLDER/letter-0001.png, damaged, and letter-0001.txt; the paths of the pages.

    The level of damage of each letter is drawn between the two given, from 0 (new) to 1 (hardly legible).
    """
    return write_letters(Path(folder), count, level=level, seed=seed, progress=progress)


def read(
    folder: str | Path,
    to: str | Path,
    *,
    binarise: Sequence[str] = BINARISERS,
    ocr: Sequence[str] = (TESSERACT,),
    find: str = FIND,
    window: int = WINDOW,
    layout: int = LAYOUT,
    resolution: int = RESOLUTION,
    language: str = LANGUAGE,
    seconds: float = SECONDS,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Readings:
    """Read the pages of a folder by every binariser and every OCR: TO/PIPELINE/PAGE.txt, one item per line.

    binarise    names of binarisers, or commands with {page} and {out}
    ocr         tesseract, rapidocr, or commands with {page} that print the text
    find        what is looked for: entities, words, spacy:MODEL, or a command with {text} that prints items
    window      pixels of the side of the window of a local binariser
    layout, resolution, language   Tesseract's page segmentation mode, pixels per inch, and languages
    seconds     for one page; a page that takes longer, or fails, is left out and named
    workers     pages that are read at once; one per core unless given
    What was read before with the same settings is not read again.
    """
    pages = pages_of(Path(folder))
    engines = [ocr_of(one, layout=layout, resolution=resolution, language=language) for one in ocr]
    finder = finder_of(find, seconds=seconds)
    pipelines = pipelines_of(binarise, engines, window=window)
    found = read_pages(pages, pipelines, Path(to), finder, seconds=seconds, workers=workers, progress=progress)
    if not any(found.outputs.values()):
        first = found.failures[0]
        what = f"none of its {len(pages):,} pages could be read; {first.page}: {first.why}"
        raise FileError(str(folder), what, "look at the pages, and try the OCR on one of them")
    return found


@dataclass(frozen=True)
class Studied:
    """The comparison, what was read, and the page that was written, if one was."""

    study: PipelineStudy
    readings: Readings
    reported: Reported


def study(
    folder: str | Path,
    *,
    texts: str | Path | None = None,
    binarise: Sequence[str] = BINARISERS,
    ocr: Sequence[str] = (TESSERACT,),
    find: str | None = None,
    window: int = WINDOW,
    layout: int = LAYOUT,
    resolution: int = RESOLUTION,
    language: str = LANGUAGE,
    seconds: float = SECONDS,
    workers: int | None = None,
    near: float | None = NEAR,
    weights: Any = WEIGHTS,
    confidence: float = 0.95,
    shown: int = SHOWN,
    home: str | Path | None = None,
    title: str = "",
    command: str = "",
    to: str | Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Studied:
    """Compare pipelines on the pages of a folder: by consensus, and by truth where PAGE.txt lies beside the picture.

    The pages are read as `read` does, into `home` (default: .endoxa/pages in the folder); with `texts`, nothing is read
    and the outputs in that folder are compared; `find` is then what they looked for, if that was not written down, and
    otherwise `entities` unless given. `near` is the likeness from which misread words are aligned, `weights`
    those of the pipelines' votes, `shown` the number of pages that the page shows, those of least agreement first.
    """
    pages = pages_of(Path(folder))
    if texts is not None:
        readings = _only(load_texts(Path(texts)), pages, Path(texts))
        if find is not None and readings.find not in {"", find}:
            raise CallError(
                f"the texts in {texts} are {readings.find}, not {find}", remedy="remove find, or read the pages again"
            )
    else:
        readings = read(
            folder, home or Path(folder) / HOME, binarise=binarise, ocr=ocr, find=find or FIND, window=window,
            layout=layout, resolution=resolution, language=language, seconds=seconds, workers=workers,
            progress=progress,
        )  # fmt: skip
    finder = finder_of(readings.find or find or FIND, seconds=seconds)
    truth = {one.name: finder(text_of(one.transcription)) for one in pages if one.transcription is not None}
    found = compare_pipelines(readings.outputs, truth, near=near, weights=weights, confidence=confidence, seed=seed)
    reported = Reported(
        title or f"{len(found.pipelines)} pipelines on {len(found.pages):,} pages",
        found,
        finder.typed,
        views(found, pages, readings, shown, progress=progress) if to is not None else (),
        [described(one) for one in readings.failures],
        {"Endoxa": __version__, "Pages": str(folder), "Command": command, "Seed": str(seed)},
    )
    if to is not None:
        write_page(page(reported), Path(to))
    return Studied(found, readings, reported)


def described(failure: Failure) -> str:
    """A failure in words."""
    by = f" by {failure.pipeline}" if failure.pipeline else ""
    return f"{failure.page} is left out, it could not be read{by}: {failure.why}"


def _only(readings: Readings, pages: Sequence[Page], texts: Path) -> Readings:
    """What was read of these pages."""
    names = [one.name for one in pages]

    def kept(found: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        return {name: {page: own[page] for page in names if page in own} for name, own in found.items()}

    outputs = kept(readings.outputs)
    if not any(outputs.values()):
        what = f"holds no text of the {len(names):,} pages (the first is {names[0]!r})"
        raise FileError(str(texts), what, "expected PIPELINE/PAGE.txt for each page")
    return Readings(outputs, kept(readings.readings), find=readings.find)
