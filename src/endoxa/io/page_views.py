"""Pages as a study shows them: the picture, small, and the words that pipelines read differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from endoxa.documents.differing import Place, Word, places
from endoxa.documents.findings import words as words_of
from endoxa.errors import FileError
from endoxa.evaluations.pipelines import PipelineStudy
from endoxa.io.decoding import data_address
from endoxa.io.page_folders import Page, text_of
from endoxa.io.reading import Readings
from endoxa.progress import Progress
from endoxa.reports.pages.page_study import Mark, View

SIDE = 800  # pixels of the long side of a picture
TYPED = "transcription"
LONGEST = 1500  # words of a page that are aligned; the time grows with their square


def views(
    study: PipelineStudy, pages: Sequence[Page], readings: Readings, shown: int, *, progress: Progress | None = None
) -> list[View]:
    """The pages on which the pipelines agree least, `shown` of them at most."""
    by_name = {page.name: page for page in pages}
    found = []
    rows = study.agreed.head(shown).rows()
    for number, (name, agreed) in enumerate(rows, 1):
        found.append(_view(by_name[name], agreed, study.pipelines, readings))
        if progress is not None:
            progress("marking pages", number, len(rows))
    return found


def _view(page: Page, agreed: float, pipelines: Sequence[str], readings: Readings) -> View:
    texts = {name: _read_by(name, page.name, readings)[:LONGEST] for name in pipelines}
    if page.transcription is not None:
        texts[TYPED] = [Word(word) for word in words_of(text_of(page.transcription))[:LONGEST]]
    try:
        picture = data_address(page.path, SIDE)
    except FileError:  # it was read by another program
        picture = ""
    sizes = {name: own[page.name].size for name in pipelines if page.name in (own := readings.readings.get(name, {}))}
    aligned = places(texts)
    marks = [
        mark
        for place in aligned
        if place.differs(pipelines) and (mark := _mark(place, pipelines, list(texts), sizes)) is not None
    ]
    return View(
        page.name, picture, agreed, marks if picture else [], {name: _told(name, aligned, pipelines) for name in texts}
    )


def _read_by(pipeline: str, page: str, readings: Readings) -> list[Word]:
    """The words of the OCR, or else what was found on the page."""
    reading = readings.readings.get(pipeline, {}).get(page)
    return list(reading.words) if reading is not None else [Word(item) for item in readings.outputs[pipeline][page]]


def _mark(
    place: Place, pipelines: Sequence[str], texts: Sequence[str], sizes: Mapping[str, tuple[int, int]]
) -> Mark | None:
    reader = place.reader(pipelines)
    word = None if reader is None else place.words[reader]
    if reader is None or word is None or word.box is None:
        return None
    width, height = sizes[reader]
    box = word.box
    left, across = (round(100 * side / width, 2) for side in (box.left, box.width))
    top, down = (round(100 * side / height, 2) for side in (box.top, box.height))
    told = [(name, word.text if (word := place.words[name]) is not None else "") for name in texts]
    return Mark(left, top, across, down, told, place.majority(pipelines) is None)


def _told(name: str, aligned: Sequence[Place], pipelines: Sequence[str]) -> list[tuple[str, bool]]:
    """The words of a text, each with whether it is another than most pipelines have; empty for one that it lacks."""
    told = []
    for place in aligned:
        word, most = place.words[name], place.majority(pipelines)
        if word is not None:
            told.append((word.text, place.bare(name) != most))
        elif most:
            told.append(("", True))
    return told
