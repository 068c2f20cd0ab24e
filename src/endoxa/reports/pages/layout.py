"""The layout of every page: sections of sentences, tables and figures, rendered as one self-contained file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from endoxa.formatting import DASH, clean, number, size
from endoxa.frozen import dataclass
from endoxa.reports.figures import style
from endoxa.reports.pages import cells
from endoxa.reports.pages.cells import Cell

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.figure import Figure

    from endoxa.evaluations.evaluation import File
    from endoxa.reports.pages.gallery import Gallery
    from endoxa.reports.pages.page_study import View
    from endoxa.tables import Costs

WIDE, NARROW = 9.0, 3.6  # inches of a figure on a desktop and on a phone

# Colours of the figures that follow the reader's choice of light or dark.
THEME = {
    style.INK: "ink", style.MUTED: "muted", style.FAINT: "line", style.PAPER: "card", style.OTHER: "other",
    style.BLUE: "blue", style.ORANGE: "orange", style.GREEN: "green", style.PURPLE: "purple", style.EARTH: "earth",
    style.GREY: "grey", style.SLATE: "slate",
}  # fmt: skip


@dataclass(frozen=True)
class Grid:
    """A table: caption, heads, and rows of cells of which the first names the row."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    sorted_by: int | None = None
    ascending: bool = False
    note: str = ""
    small: bool = False


@dataclass(frozen=True)
class Chart:
    """A figure in two widths (or one for both), what it shows in words, and its numbers."""

    heading: str
    label: str
    caption: str
    wide: str
    narrow: str
    wide_pixels: int
    narrow_pixels: int
    grid: Grid


@dataclass(frozen=True)
class Thumbnail:
    """A small picture: its data address, what it shows in words, and a text below it."""

    address: str
    label: str
    text: str = ""


@dataclass(frozen=True)
class Strip:
    """A name, a line about it, and its pictures; folded unless `opened`."""

    name: str
    line: str
    pictures: Sequence[Thumbnail]
    opened: bool = False


@dataclass(frozen=True)
class Section:
    """A part of a page: sentences, tables, notes, figures (the first open, the others folded), a table, pictures."""

    id: str
    name: str
    heading: str
    lines: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    charts: Sequence[Chart] = ()
    below: Grid | None = None
    small: Sequence[str] = ()
    strips: Sequence[Strip] = ()


def render(
    *, title: str, sections: Iterable[Section | None], answer: str = "", aside: str = "", facts: Sequence[str] = (),
    warnings: Sequence[str] = (), policies: Sequence[str] = (), notes: Sequence[str] = (),
    definitions: Sequence[tuple[str, str]] = (), provenance: Mapping[str, str] | None = None,
    files: Sequence[File] = (), css: str = "", gallery: Gallery | None = None,
    views: Sequence[View] = (),
) -> str:  # fmt: skip
    """One HTML file. Nothing is fetched when it is opened, and its CSP says so. `answer` is HTML already."""
    from markupsafe import Markup

    environment = _templates()
    shown = [section for section in sections if section is not None]
    parts = ("page", "gallery") if gallery is not None else ("page",)
    script = "\n".join(_asset(environment, f"{name}.js") for name in parts)
    strips = any(section.strips for section in shown)
    sheets = (*parts, *(["views"] if views else []), *(["strips"] if strips else []))
    html = environment.get_template("page.html.j2").render(
        title=clean(title),
        answer=Markup(answer),
        aside=clean(aside),
        facts=facts,
        warnings=[clean(text) for text in warnings],
        sections=shown,
        policies=[line.partition(": ")[::2] for line in policies],
        notes=[clean(note) for note in notes],
        definitions=definitions,
        provenance={name: clean(value) for name, value in (provenance or {}).items() if value},
        files=_files(files) if files else None,
        strips=gallery,
        views=views,
        css=Markup("\n".join([*(_asset(environment, f"{name}.css") for name in sheets), css])),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return html.strip() + "\n"


@cache
def _templates() -> Environment:
    """The templates of all pages: everything is escaped, and an undefined name is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("endoxa.reports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip


def _asset(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    source, _, _ = environment.loader.get_source(environment, name)
    return str(source).strip()


def _files(files: Sequence[File]) -> Grid:
    rows = [
        [cells.text(one.name), cells.text(one.kind), Cell(size(one.size), one.size), cells.text(one.sha256)]
        for one in files
    ]
    return Grid("Files read", ("file", "kind", "size", "SHA-256"), rows)


def chart(
    draw: Callable[..., Figure], *, heading: str, label: str, caption: str, grid: Grid, phone: bool = True
) -> Chart:
    """A figure for a page, drawn once for a desktop and once for a phone by a function that takes a `width`."""
    from markupsafe import Markup

    wide = draw(width=WIDE)
    narrow = draw(width=NARROW) if phone else None
    return Chart(
        clean(heading),
        clean(label),
        clean(caption),
        Markup(_themed(style.to_svg(wide, apart=True))),
        Markup(_themed(style.to_svg(narrow, apart=True))) if narrow else "",
        round(wide.get_figwidth() * 96),
        round(narrow.get_figwidth() * 84) if narrow else 0,
        grid,
    )


def _themed(svg: str) -> str:
    """The SVG for inside a page: colours from the page's light or dark set, no declarations that HTML implies."""
    head, _, body = svg.partition(">")
    viewbox = head[head.index("viewBox") :].split('"')[1]
    body = body.replace('<style type="text/css">*{stroke-linejoin: round; stroke-linecap: butt}</style>', "")
    colours = re.compile("|".join(THEME))
    body = re.sub(' style="[^"]*"', lambda rules: colours.sub(lambda one: f"var(--{THEME[one[0]]})", rules[0]), body)
    return f'<svg viewBox="{viewbox}" aria-hidden="true" focusable="false">{body}'


def cost_grid(costs: Costs) -> Grid:
    """A row per system: seconds of a picture, of the index and of a query, and the size of the index."""
    at = {(row["system"], row["phase"]): row for row in costs.frame.iter_rows(named=True)}
    rows = []
    for system in costs.frame["system"].unique(maintain_order=True):
        described, built, asked = (at.get((system, phase)) for phase in ("describe", "build", "query"))
        rows.append(
            [
                cells.text(system), _milliseconds(described),
                Cell(number(built["seconds"], 2), built["seconds"]) if built else Cell(DASH),
                Cell(size(built["bytes"]), built["bytes"]) if built else Cell(DASH), _milliseconds(asked),
            ]
        )  # fmt: skip
    return Grid(
        "Cost of each system",
        ("system", "picture, ms", "index, s", "index, size", "query, ms"),
        rows,
        note="Medians, with the 95th percentile below. Pictures are described once, on one core each; systems that "
        "share a descriptor share its cost. Queries run one at a time, against all pictures.",
    )


def _milliseconds(row: dict[str, float] | None) -> Cell:
    if row is None or row["median"] is None:
        return Cell(DASH)
    places = 1 if row["median"] < 0.1 else 0
    return Cell(
        number(1000 * row["median"], places), row["median"], small=f"{number(1000 * row['p95'], places)} at p95"
    )
