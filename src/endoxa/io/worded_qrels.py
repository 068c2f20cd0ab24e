"""Judgments in TREC's four columns whose grades are words: `q1 0 d3 yes`."""

from __future__ import annotations

from endoxa.errors import FileError, TableError
from endoxa.io.qrels import arranged
from endoxa.io.sources import Source
from endoxa.io.trec_text import (
    QRELS,
    Report,
    Skipped,
    is_header,
    refuse_cr,
    separated,
    shortened,
    tell,
    words_of,
    wrong,
)
from endoxa.later import pl
from endoxa.tables import Opinions
from endoxa.tables.grade_words import EXPECTED, grades_of


def read_worded(
    source: Source, data: bytes, *, assessors: bool = False, lenient: bool = False, report: Report | None = None,
    blanks: bool = False,
) -> Opinions:  # fmt: skip
    """Read judgments whose grades are words or numbers; a word that is not known is refused with its line."""
    rows: list[list[str]] = []
    lines: list[int] = []
    errors: dict[int, FileError] = {}
    tabs = separated(source, QRELS, blanks=blanks, lenient=lenient).tabs
    for number, line in enumerate(data.split(b"\n"), 1):
        words = words_of(line, tabs=tabs)
        if not words:
            continue
        try:
            refuse_cr(line, source.label, number)
        except FileError as error:
            errors[number] = error
            continue
        if len(words) < 4 or "" in words or is_header(words):
            what = f"{len(words)} columns in {shortened(' '.join(words))}"
            errors[number] = wrong(words, source.label, what, f"a qrels line has 4: {QRELS.words}", number)
            continue
        rows.append([*words[:3], " ".join(words[3:])])  # `not relevant` is one grade
        lines.append(number)
    frame = pl.DataFrame(rows, schema=dict.fromkeys(QRELS.columns, pl.String), orient="row")
    grades = grades_of(frame["grade"])
    known = grades.is_finite().fill_null(False)
    for row in (~known).arg_true():
        what = f"grade {shortened(frame['grade'][row])} is not a number, nor a known word"
        errors[lines[row]] = wrong([frame["query"][row]], source.label, what, EXPECTED, lines[row])
    frame, lines = frame.with_columns(grades).filter(known), [lines[row] for row in known.arg_true()]
    key = ["query", "source", "item"] if assessors else ["query", "item"]
    again = ~frame.select(pl.struct(key).is_first_distinct()).to_series()
    for row in again.arg_true():
        what = f"item {frame['item'][row]!r:.60} of query {frame['query'][row]!r:.60} is judged twice"
        errors[lines[row]] = FileError(source.label, what, "remove one of the lines", lines[row])
    if errors and not lenient:
        raise errors[min(errors)]
    frame = frame.filter(~again)
    if frame.is_empty():
        raise FileError(source.label, "no line can be read", f"expected lines of {QRELS.words}")
    first = tuple(errors[number] for number in sorted(errors)[:5])
    tell(Skipped(source.label, len(errors), first), report)
    try:
        return Opinions.of(arranged(frame, assessors, sampled=False))
    except TableError as error:
        raise FileError.of(error, source.label) from None
