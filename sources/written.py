"""What both the page and the Markdown say of a record: which numbers it has, and where these come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from endoxa.formatting import listed
from sources.kept import Kept
from sources.records import Compared, Drawing, Record, Table, compare

EQUAL, BUT_ERRATA, OPEN, WORKED, LOST = "equal", "equal but for errata", "open data", "worked", "gone"
SOURCES = 5
MEANINGS = {
    EQUAL: "the input is printed, and every cell is equal to the printed digits",
    BUT_ERRATA: "the same, but for cells that are wrong in print",
    OPEN: "the data is gone; ours is on open data",
    WORKED: "ours follows from the printed formulas or numbers, or redraws them; no printed result to compare with",
    LOST: "cannot be reproduced, and the record says why",
}


@dataclass(frozen=True)
class Entry:
    """A record with everything computed. `kinds` are names of `MEANINGS`."""

    record: Record
    kinds: tuple[str, ...]
    sentence: str
    compared: Compared | None
    tables: tuple[Table, ...]
    drawings: tuple[Drawing, ...]
    notes: tuple[str, ...]


def entries(records: Sequence[Record], kept: Mapping[str, Kept]) -> list[Entry]:
    """All records, computed; a record whose study has not been run says so."""
    return [entry(record, kept.get(record.study)) for record in records]


def entry(record: Record, study: Kept | None) -> Entry:
    """One record, computed."""
    compared = compare(record) if record.ours is not None else None
    if record.study and study is None:
        sentence = f"The study on open data has not been run yet: make sources, or --fresh --only {record.slug}."
        return Entry(record, (*_same(compared), LOST), sentence, compared, (), (), _notes(record, compared, None))
    result: Any = study.result if study is not None else {}
    tables = tuple(record.tables(result)) if record.tables is not None else ()
    drawings = tuple(record.drawings(result)) if record.drawings is not None else ()
    own = (WORKED,) if (tables or drawings) and not record.study and compared is None else ()
    kinds = (*_same(compared), *((OPEN,) if record.study else ()), *own) or (LOST,)
    sentence = record.sentence if isinstance(record.sentence, str) else record.sentence(result)
    return Entry(record, kinds, sentence, compared, tables, drawings, _notes(record, compared, study))


def _same(compared: Compared | None) -> tuple[str, ...]:
    if compared is None:
        return ()
    return (BUT_ERRATA,) if compared.errata else (EQUAL,)


def _notes(record: Record, compared: Compared | None, study: Kept | None) -> tuple[str, ...]:
    notes = []
    if compared is not None:
        right = sum(cell.agrees for cell in compared.cells)
        notes.append(f"{right} of {len(compared.cells)} printed cells are equal to ours to the printed digits.")
    if compared is not None and compared.errata:
        wrong = [
            f"{one.row}, {one.column}: printed {one.printed}, ours {one.text} ({one.erratum})"
            for one in compared.errata
        ]
        notes.append(f"Wrong in print: {listed(wrong, len(wrong))}.")
    if record.lost:
        notes.append(record.lost)
    if study is not None:
        notes.append(f"Open data: `{study.command}`, {study.date}, {_time(study.seconds)}.")
    return tuple(notes)


def _time(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{round(seconds / 60)} min"


def answer(found: Sequence[Entry]) -> str:
    """The first sentence of the page: how many tables and figures there are, and how ours compare."""
    names = list(dict.fromkeys(one.record.source.name for one in found))
    subject = "The five sources have" if len(names) == SOURCES else f"Of {listed(names, SOURCES)}:"
    counts = {kind: sum(kind in one.kinds for one in found) for kind in MEANINGS}
    cells = [cell for one in found if one.compared is not None for cell in one.compared.cells]
    wrong = sum(bool(cell.erratum) for cell in cells)
    parts = [f"{subject} {len(found)} tables, figures and worked examples."]
    if cells:
        parts.append(
            f"Where the input is printed ({counts[EQUAL] + counts[BUT_ERRATA]} of them), {len(cells) - wrong} of "
            f"{len(cells)} cells are equal to the printed digits, and {wrong} are wrong in print."
        )
    parts.append(
        f"{counts[OPEN]} are repeated on open data because the original data is gone; for {counts[WORKED]} no result "
        f"is printed, and ours works or redraws what is; {counts[LOST]} cannot be reproduced."
    )
    return " ".join(parts)
