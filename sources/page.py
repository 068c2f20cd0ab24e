"""sources.html: every record with its tables and figures, as one file that opens offline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from endoxa.formatting import html_of
from endoxa.reports.pages import cells
from endoxa.reports.pages.layout import Chart, Grid, Section, chart, render
from sources.records import Cell, Drawing, Table, figure
from sources.written import MEANINGS, Entry, answer

# On a phone the table of all records scrolls; words are not broken.
CSS = 'section[aria-labelledby="all"] td { min-width: 6.5rem; }'


def page(found: Sequence[Entry], provenance: Mapping[str, str]) -> str:
    """The whole page."""
    sections = [overview(found)]
    for source, group in groupby(found, key=lambda one: one.record.source):
        for at, one in enumerate(group):
            sections.append(section(one, source.name if at == 0 else ""))
    return render(
        title="The sources, table by table", answer=html_of(lambda _: answer(found)), sections=sections,
        facts=[f"{len(found)} tables and figures", "5 sources"], provenance=provenance,
        policies=[f"{kind}: {meaning}" for kind, meaning in MEANINGS.items()], css=CSS,
    )  # fmt: skip


def overview(found: Sequence[Entry]) -> Section:
    """A row per record, linked to its section."""
    rows = [
        [
            cells.Cell(f"{one.record.source.name}, {one.record.name}", numeric=False, link=one.record.slug),
            cells.text(one.record.title),
            cells.text(" · ".join(one.kinds)),
        ]
        for one in found
    ]
    return Section("all", "All", "All tables and figures", grids=[Grid("All", ("where", "it shows", "ours"), rows)])


def section(one: Entry, name: str) -> Section:
    """A record: its sentence, the printed table beside ours, further tables, figures."""
    record = one.record
    grids = [] if record.printed is None else [compared(one)]
    grids += [grid(table) for table in one.tables]
    where = f"{record.where[:1].upper()}{record.where[1:]}. Ours: {' · '.join(one.kinds)}."
    heading = f"{record.source.name}, {record.name}: {record.title}"
    lines, notes = list(map(plain, (one.sentence, where))), list(map(plain, one.notes))
    return Section(record.slug, name, heading, lines, grids, list(map(drawn, one.drawings)), small=notes)


def compared(one: Entry) -> Grid:
    """The printed numbers, ours below them in small letters, errata bold."""
    printed = one.record.printed
    assert printed is not None
    ours = {(cell.row, cell.column): cell for cell in one.compared.cells} if one.compared is not None else {}
    rows = [
        [
            cells.text(name),
            *(_cell(text, ours.get((name, column))) for column, text in zip(printed.heads[1:], texts, strict=True)),
        ]
        for name, *texts in printed.rows
    ]
    caption = f"{printed.caption}; below each number ours, with more digits" if ours else printed.caption
    return Grid(caption, printed.heads, rows)


def _cell(text: str, ours: Cell | None) -> cells.Cell:
    value = figure(text)
    if text[:1].isalpha() or text[:1] in {"|", "“"}:
        return cells.text(text)
    small = "" if ours is None else f"{ours.text} {ours.erratum}".strip()
    return cells.Cell(text, "" if value is None else value, small, strong=ours is not None and bool(ours.erratum))


def plain(text: str) -> str:
    """Text without the marks of Markdown."""
    return text.replace("`", "")


def grid(table: Table) -> Grid:
    """A table of ours."""
    rows = [[cells.text(name), *(_cell(text, None) for text in texts)] for name, *texts in table.rows]
    return Grid(table.caption, table.heads, rows)


def drawn(drawing: Drawing) -> Chart:
    """A figure in two widths, with its numbers."""
    return chart(
        drawing.draw, heading=drawing.heading, label=drawing.label, caption=drawing.caption, grid=grid(drawing.numbers)
    )
