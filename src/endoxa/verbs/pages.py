"""Pipelines that read pages of text, compared without a true text: compose pages, read them, study what was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from endoxa.declared import argument, option
from endoxa.documents.defaults import LANGUAGE, LAYOUT, LEVELS, NEAR, RESOLUTION, SECONDS, TESSERACT, WINDOW
from endoxa.errors import CallError, FileError
from endoxa.evaluations.settings import WEIGHTS
from endoxa.frozen import dataclass
from endoxa.verbs.parameters import Confidence, Seed, Title, Workers

if TYPE_CHECKING:
    from endoxa.evaluations.pipelines import PipelineStudy
    from endoxa.io.page_folders import Page
    from endoxa.io.reading import Failure, Readings
    from endoxa.progress import Progress
    from endoxa.reports.pages.page_study import Reported

BINARISERS = ("otsu", "sauvola", "wolf")  # those of the source
FIND = "entities"
HOME = ".endoxa/pages"
SHOWN = 12  # pages that the page shows


def levels_of(text: str) -> tuple[float, float]:
    """One level of damage, or the least and the greatest."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in {1, 2}:
        raise CallError(f"--level {text!r}: expected one number or two, like 0.5 or 0.2,0.75")
    return numbers[0], numbers[-1]


Folder = Annotated[
    str | Path, argument("Folder of pictures of pages; PAGE.txt beside PAGE.png is its true text.", "DIR")
]
Binarise = Annotated[
    Sequence[str],
    option(
        "otsu, sauvola, wolf, niblack, nick, phansalkar, mean, grey (as it is), or a command: "
        "'[NAME=]mytool {page} {out}'; may be repeated.",
        "--binarise", "-b", metavar="NAME",
    ),
]  # fmt: skip
Ocr = Annotated[
    Sequence[str],
    option(
        "tesseract, rapidocr, or a command that prints the text: '[NAME=]mytool {page}'; may be repeated.",
        metavar="NAME",
    ),
]
Find = Annotated[
    str | None,
    option(
        "What is looked for in the text; also spacy:MODEL, or a command that prints items: 'mytool {text}'.",
        metavar="entities|words", usual=FIND,
    ),
]  # fmt: skip
Window = Annotated[int, option("Pixels of the side of a local binariser's window.", least=3)]
Layout = Annotated[
    int, option("Tesseract's layout: 6 one block, 3 pages of books, 4 receipts.", "--psm", least=0, most=13)
]
Resolution = Annotated[int, option("Pixels per inch of the pages, for Tesseract.", "--dpi", least=10)]
Language = Annotated[str, option("Tesseract's languages: eng, deu, eng+deu …", "--language", "-l")]
Seconds = Annotated[float, option("Time limit for one page.", least=0.1)]


def compose(
    folder: Annotated[str | Path, argument("Folder of the letters.", "DIR")],
    count: Annotated[int, option("Number of letters.", "--count", "-n", least=1)] = 12,
    *,
    level: Annotated[
        tuple[float, float], option("Damage, from 0 (new) to 1 (hardly legible).", metavar="FROM,TO", parse=levels_of)
    ] = LEVELS,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> list[Path]:
    """Make letters whose text is known exactly, damaged like old ones: blur, fading, stains, ink of the back page.

    Writes FOLDER/letter-0001.png and letter-0001.txt; returns the paths of the pages. The level of damage of each
    letter is drawn between the two given, from 0 (new) to 1 (hardly legible).

    Examples:
        endoxa pages compose letters --count 60 --level .2,.75
    """
    from endoxa.io.letter_files import write_letters

    return write_letters(Path(folder), count, level=level, seed=seed, progress=progress)


def read(
    folder: Folder,
    to: Annotated[str | Path, option("Folder of the texts: OUT/PIPELINE/PAGE.txt.", metavar="OUT")],
    *,
    binarise: Binarise = BINARISERS,
    ocr: Ocr = (TESSERACT,),
    find: Find = FIND,
    window: Window = WINDOW,
    layout: Layout = LAYOUT,
    resolution: Resolution = RESOLUTION,
    language: Language = LANGUAGE,
    seconds: Seconds = SECONDS,
    workers: Workers = None,
    progress: Progress | None = None,
) -> Readings:
    """Read pages by every binariser and every OCR: OUT/PIPELINE/PAGE.txt, one item per line.

    binarise    names of binarisers, or commands with {page} and {out}
    ocr         tesseract, rapidocr, or commands with {page} that print the text
    find        what is looked for: entities, words, spacy:MODEL, or a command with {text} that prints items
    window      pixels of the side of the window of a local binariser
    layout, resolution, language   Tesseract's page segmentation mode, pixels per inch, and languages
    seconds     for one page; a page that takes longer, or fails, is left out and named
    workers     pages that are read at once; one per core unless given
    What was read before with the same settings is not read again.

    Examples:
        endoxa pages read scans --to out -b otsu -b sauvola --find words
        endoxa pages read scans --to out --ocr tesseract --ocr 'mine=mytool {page}'
        endoxa eval --tokens bag --lines --plugin out/*
    """
    from endoxa.io.ocr import ocr_of
    from endoxa.io.page_folders import pages_of
    from endoxa.io.reading import finder_of, pipelines_of, read_pages

    pages = pages_of(Path(folder))
    engines = [ocr_of(one, layout=layout, resolution=resolution, language=language) for one in ocr]
    finder = finder_of(find or FIND, seconds=seconds)
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
    folder: Folder,
    *,
    texts: Annotated[
        str | Path | None,
        option("Read nothing; compare what is in OUT/PIPELINE/PAGE.txt. Needs no OCR.", metavar="OUT"),
    ] = None,
    binarise: Binarise = BINARISERS,
    ocr: Ocr = (TESSERACT,),
    find: Find = None,
    window: Window = WINDOW,
    layout: Layout = LAYOUT,
    resolution: Resolution = RESOLUTION,
    language: Language = LANGUAGE,
    seconds: Seconds = SECONDS,
    workers: Workers = None,
    near: Annotated[
        float | None, option("Method II aligns misread words that share this part.", metavar="SHARE")
    ] = NEAR,
    weights: Annotated[Any, option("Weights of the pipelines' votes.", metavar="equal|cluster|redundancy")] = WEIGHTS,
    confidence: Confidence = 0.95,
    shown: Annotated[int, option("Number of pages that the page shows.", least=0)] = SHOWN,
    home: Annotated[
        str | Path | None, option("Folder of what is read.", metavar="DIR", usual=".endoxa/pages in DIR")
    ] = None,
    title: Title = "",
    command: str = "",
    to: Annotated[str | Path | None, option("The page to write.", metavar="PAGE.html")] = None,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Studied:
    """Compare pipelines that read pages: by their consensus, and by truth where a transcription lies beside a page.

    The pages are read as `read` does, into `home` (default: .endoxa/pages in the folder); with `texts`, nothing is read
    and the outputs in that folder are compared; `find` is then what they looked for, if that was not written down, and
    otherwise `entities` unless given. `near` is the likeness from which misread words are aligned, `weights`
    those of the pipelines' votes, `shown` the number of pages that the page shows, those of least agreement first.

    Examples:
        endoxa pages study scans -b otsu -b sauvola -b wolf --to study.html
        endoxa pages study scans --texts out
    """
    from endoxa import __version__
    from endoxa.evaluations.pipelines import compare_pipelines
    from endoxa.io.page_folders import pages_of, text_of
    from endoxa.io.page_views import views
    from endoxa.io.reading import finder_of, load_texts
    from endoxa.io.write import write_page
    from endoxa.reports.pages.page_study import Reported, page

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
    from endoxa.io.reading import Readings

    names = [one.name for one in pages]

    def kept(found: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        return {name: {page: own[page] for page in names if page in own} for name, own in found.items()}

    outputs = kept(readings.outputs)
    if not any(outputs.values()):
        what = f"holds no text of the {len(names):,} pages (the first is {names[0]!r})"
        raise FileError(str(texts), what, "expected PIPELINE/PAGE.txt for each page")
    return Readings(outputs, kept(readings.readings), find=readings.find)
