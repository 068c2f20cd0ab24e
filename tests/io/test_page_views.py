"""Pages as a study shows them: boxes in per cent, and words that differ from the majority."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_samples import pages

from endoxa.documents.differing import Box, Word
from endoxa.evaluations.pipelines import compare_pipelines
from endoxa.io.page_folders import pages_of
from endoxa.io.page_views import views
from endoxa.io.reading import Reading, Readings

TEXTS = {"p1": "John Reed left", "p2": "at Salem"}
READ = {
    "a": {"p1": "John Reed left", "p2": "at Salem"}, "b": {"p1": "John Read left", "p2": "at Salem"},
    "c": {"p1": "John Reed,", "p2": "at Salem"},
}  # fmt: skip


def readings(size: tuple[int, int] = (60, 40)) -> Readings:
    """Words of 10 × 4 pixels, side by side, in a picture of 60 × 40 pixels."""
    outputs = {name: {page: text.replace(",", "").split() for page, text in own.items()} for name, own in READ.items()}
    boxed = {
        name: {
            page: Reading(text, tuple(Word(w, Box(12 * at, 8, 10, 4)) for at, w in enumerate(text.split())), size)
            for page, text in own.items()
        }
        for name, own in READ.items()
    }
    return Readings(outputs, boxed)


def test_pages_of_least_agreement_come_first_with_their_differences(tmp_path: Path) -> None:
    folder, read = pages(tmp_path, TEXTS), readings()
    told: list[tuple[str, int, int]] = []
    found = views(compare_pipelines(read.outputs), pages_of(folder), read, 5, progress=lambda *now: told.append(now))
    assert [view.page for view in found] == ["p1", "p2"] and told[-1] == ("marking pages", 2, 2)
    first, second = found
    assert first.agreed == pytest.approx(1 / 4) and second.agreed == 1 and not second.marks
    assert [(mark.left, mark.top, mark.width, mark.height) for mark in first.marks] == [
        (20.0, 20.0, 16.67, 10.0), (40.0, 20.0, 16.67, 10.0),
    ]  # fmt: skip
    assert first.marks[0].readings == [("a", "Reed"), ("b", "Read"), ("c", "Reed,"), ("transcription", "Reed")]
    assert not first.marks[0].split
    assert first.texts["b"] == [("John", False), ("Read", True), ("left", False)]
    assert first.texts["c"] == [("John", False), ("Reed,", False), ("", True)]
    assert first.texts["transcription"] == [("John", False), ("Reed", False), ("left", False)]
    assert first.picture.startswith("data:image/jpeg;base64,")


def test_without_boxes_and_pictures_words_are_marked_in_the_text_only(tmp_path: Path) -> None:
    folder, read = pages(tmp_path, TEXTS, typed=False), Readings(readings().outputs, {})
    (folder / "p1.png").write_bytes(b"broken")
    first = views(compare_pipelines(read.outputs), pages_of(folder), read, 1)[0]
    assert first.picture == "" and first.marks == [] and list(first.texts) == ["a", "b", "c"]
    assert first.texts["b"][1] == ("Read", True)


def test_boxes_follow_the_size_of_the_picture_that_was_read(tmp_path: Path) -> None:
    folder, read = pages(tmp_path, TEXTS), readings((120, 80))
    first = views(compare_pipelines(read.outputs), pages_of(folder), read, 1)[0]
    assert (first.marks[0].left, first.marks[0].width) == (10.0, 8.33)
