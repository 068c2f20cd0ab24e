"""docs/sources.md: every record as text. Figures are on the page only; their numbers are here."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from textwrap import fill

from sources.records import Table
from sources.written import MEANINGS, Entry, answer

WIDTH = 120
INTRO = """
This page is written by `make sources` from the records in the folder `sources/`; do not edit it. A record has the
numbers as printed and a function that calls the library. `tests/sources` computes every record whose input is printed
and compares all digits. Studies on open data take long: their results are kept in `sources/kept.json`, with the command
and the date, and `make sources` runs them anew. The same page with figures is `demo/sources.html`. Errata (A-E1 and so
on) are explained in [errata.md](errata.md).
"""


def markdown(found: Sequence[Entry]) -> str:
    """The whole page."""
    parts = ["# The sources, table by table", wrapped(answer(found)), INTRO.strip(), overview(found)]
    for source, group in groupby(found, key=lambda one: one.record.source):
        parts += [f"## {source.name}", wrapped(f"{source.title}.")]
        for one in group:
            parts += section(one)
    return "\n\n".join(parts) + "\n"


def overview(found: Sequence[Entry]) -> str:
    """A line per record."""
    meanings = "\n".join(f"- *{kind}*: {meaning}" for kind, meaning in MEANINGS.items())
    rows = [
        (one.record.source.name, f"[{one.record.name}](#{one.record.slug})", one.record.title, " · ".join(one.kinds))
        for one in found
    ]
    return f"{meanings}\n\n{grid(('source', 'what', 'it shows', 'ours'), rows)}"


def section(one: Entry) -> list[str]:
    """The parts of one record."""
    record = one.record
    parts = [f'<a id="{record.slug}"></a>', f"### {record.name}: {record.title}"]
    parts += [wrapped(one.sentence), wrapped(f"Where: {record.where}. Ours: {' · '.join(one.kinds)}.")]
    if one.notes:
        parts.append("\n".join(wrapped(f"- {note}", "  ") for note in one.notes))
    if record.printed is not None:
        parts.append(compared(one))
    parts += [table(other) for other in one.tables]
    parts += [table(drawing.numbers, f"Figure: {drawing.caption}") for drawing in one.drawings]
    return parts


def compared(one: Entry) -> str:
    """The printed table, with ours in brackets where the input is printed."""
    printed = one.record.printed
    assert printed is not None
    ours = {(cell.row, cell.column): cell for cell in one.compared.cells} if one.compared is not None else {}
    rows = []
    for name, *texts in printed.rows:
        line = [name]
        for column, text in zip(printed.heads[1:], texts, strict=True):
            cell = ours.get((name, column))
            if cell is None:
                line.append(text)
            else:
                line.append(f"**{text}** ({cell.text}, {cell.erratum})" if cell.erratum else f"{text} ({cell.text})")
        rows.append(line)
    caption = f"{printed.caption}; in brackets ours" if ours else printed.caption
    return f"{caption}:\n\n{grid(printed.heads, rows)}"


def table(one: Table, caption: str = "") -> str:
    """A table with its caption above it."""
    return f"{(caption or one.caption).rstrip('.')}:\n\n{grid(one.heads, one.rows)}"


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def wrapped(text: str, indent: str = "") -> str:
    """A paragraph in lines of at most 120 columns, of which all but the first are indented."""
    return fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
