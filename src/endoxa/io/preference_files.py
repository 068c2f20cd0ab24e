"""Reads preferences from trec_eval's text: query, judge (group), part of the judge's order (subgroup), item, level."""

from __future__ import annotations

import polars as pl

from endoxa.errors import FileError
from endoxa.io.sources import Source
from endoxa.io.trec_text import KEPT, Form, Report, Skipped, exact, parts, tell
from endoxa.measures.preference_judgments import COLUMNS, PreferenceError, Preferences

FORM = Form("preferences", COLUMNS, ("level",))
KEY = ("query", "group", "subgroup", "item")


def read_preferences(source: Source, *, lenient: bool = False, report: Report | None = None) -> Preferences:
    """Read preferences from five columns. A judge who contradicts himself is an error, even for a lenient reader."""
    frames: list[pl.DataFrame] = []
    skipped = Skipped(source.label)
    for part in parts(source, FORM, lenient=lenient):
        frames.append(part.frame)
        skipped += part.skipped
    frame = pl.concat(frames)
    lines: list[int] | None = None
    if lenient:
        frame, lines, repeats = _without_repeats(source, frame)
        skipped += repeats
    try:
        preferences = Preferences.of(frame)
    except PreferenceError as error:
        line = (lines or _lines(source))[error.row]
        raise FileError(source.label, error.what, error.remedy, line) from None
    tell(skipped, report)
    return preferences


def _lines(source: Source) -> list[int]:
    """Return the line of every row. This reads the file again, and only to locate an error."""
    lines: list[int] = []
    for part in parts(source, FORM, lenient=True):
        lines += exact(part.piece, FORM, source.label, lenient=True)[1]
    return lines


def _without_repeats(source: Source, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[int] | None, Skipped]:
    """Return the first row of each item in a subgroup, the lines of these rows, and a record of the others."""
    first = frame.select(pl.struct(KEY).is_first_distinct()).to_series()
    others = (~first).arg_true().to_list()
    if not others:
        return frame, None, Skipped(source.label)
    lines = _lines(source)
    errors = tuple(
        FileError(source.label, f"item {frame['item'][row]!r} is listed again in its subgroup", "", lines[row])
        for row in others[:KEPT]
    )
    kept = [lines[row] for row in first.arg_true()]
    return frame.filter(first), kept, Skipped(source.label, len(others), errors)
