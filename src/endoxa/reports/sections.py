"""A page of sections: sentences, tables, figures, and a gallery of pictures where there is one."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from endoxa.reports.html import Chart, _asset, _unbroken, templates
from endoxa.reports.labels import clean, size
from endoxa.reports.tables import Cell, Grid

if TYPE_CHECKING:
    from endoxa.reports import Source
    from endoxa.reports.gallery import Gallery


def render(
    *,
    title: str,
    sections: Sequence[Section],
    verdict: str = "",
    facts: Sequence[str] = (),
    warnings: Sequence[str] = (),
    policies: Sequence[str] = (),
    notes: Sequence[str] = (),
    provenance: Mapping[str, str] | None = None,
    files: Sequence[Source] = (),
    css: str = "",
    gallery: Gallery | None = None,
) -> str:
    """One HTML file in the look of the report. Nothing is fetched when it is opened. `verdict` is markup already."""
    from markupsafe import Markup

    environment = templates()
    more = ("gallery",) if gallery is not None else ()
    script = "\n".join(_asset(environment, f"{name}.js") for name in ("report", *more))
    html = environment.get_template("sections.html.j2").render(
        title=clean(title),
        verdict=Markup(_unbroken(verdict)),
        facts=facts,
        warnings=[clean(text) for text in warnings],
        sections=sections,
        policies=[line.partition(": ")[::2] for line in policies],
        notes=[clean(note) for note in notes],
        provenance={name: clean(value) for name, value in (provenance or {}).items() if value},
        files=_files(files) if files else None,
        strips=gallery,
        css=Markup("\n".join([*(_asset(environment, f"{name}.css") for name in ("report", "doubts", *more)), css])),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return html.strip() + "\n"


def _files(files: Sequence[Source]) -> Grid:
    rows = [
        [text_cell(one.name), text_cell(one.kind), Cell(size(one.size), one.size), text_cell(one.sha256)]
        for one in files
    ]
    return Grid("Files read", ("file", "kind", "size", "SHA-256"), rows)


@dataclass(frozen=True)
class Section:
    """A part of the page: sentences, then tables, then figures (the first open, the others folded)."""

    id: str
    name: str
    heading: str
    lines: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    charts: Sequence[Chart] = ()
    below: Grid | None = None


def text_cell(text: str, sort: float | str = "") -> Cell:
    """A cell of words."""
    return Cell(clean(text), sort or clean(text), numeric=False)
