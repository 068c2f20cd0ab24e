"""The layout of every page: sections of sentences, tables and figures, rendered as one self-contained file."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from endoxa.formatting import DASH, chance, clean, number, shortened, signed, size
from endoxa.formatting import share as share_of
from endoxa.reports.figures import style

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.figure import Figure

    from endoxa.evaluations.evaluation import File
    from endoxa.reports.pages.gallery import Gallery

NAME = 48  # letters of a name in a table; the title of the cell has the whole name
WIDE, NARROW = 9.0, 3.6  # inches of a figure on a desktop and on a phone

# Colours of the figures that follow the reader's choice of light or dark.
THEME = {
    style.INK: "ink", style.MUTED: "muted", style.FAINT: "line", style.PAPER: "card", style.OTHER: "other",
    style.BLUE: "blue", style.ORANGE: "orange", style.GREEN: "green", style.PURPLE: "purple", style.EARTH: "earth",
    style.GREY: "grey", style.SLATE: "slate",
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One cell: its text, what it is sorted by, and a second line in small letters."""

    text: str
    sort: float | str = ""
    small: str = ""
    title: str = ""
    strong: bool = False
    numeric: bool = True


@dataclass(frozen=True)
class Grid:
    """A table: caption, heads, and rows of cells of which the first names the row. `virtual` is a grey row."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    sorted_by: int | None = None
    ascending: bool = False
    note: str = ""
    virtual: int | None = None
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
class Section:
    """A part of a page: sentences, tables, small notes, figures (the first open, the others folded), a last table."""

    id: str
    name: str
    heading: str
    lines: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    charts: Sequence[Chart] = ()
    below: Grid | None = None
    small: Sequence[str] = ()


def render(
    *, title: str, sections: Sequence[Section], answer: str = "", aside: str = "", facts: Sequence[str] = (),
    warnings: Sequence[str] = (), policies: Sequence[str] = (), notes: Sequence[str] = (),
    definitions: Sequence[tuple[str, str]] = (), provenance: Mapping[str, str] | None = None,
    files: Sequence[File] = (), css: str = "", gallery: Gallery | None = None,
) -> str:  # fmt: skip
    """One HTML file. Nothing is fetched when it is opened, and its CSP says so. `answer` is HTML already."""
    from markupsafe import Markup

    environment = _templates()
    parts = ("page", "gallery") if gallery is not None else ("page",)
    script = "\n".join(_asset(environment, f"{name}.js") for name in parts)
    html = environment.get_template("page.html.j2").render(
        title=clean(title),
        answer=Markup(answer),
        aside=clean(aside),
        facts=facts,
        warnings=[clean(text) for text in warnings],
        sections=sections,
        policies=[line.partition(": ")[::2] for line in policies],
        notes=[clean(note) for note in notes],
        definitions=definitions,
        provenance={name: clean(value) for name, value in (provenance or {}).items() if value},
        files=_files(files) if files else None,
        strips=gallery,
        css=Markup("\n".join([*(_asset(environment, f"{name}.css") for name in parts), css])),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return html.strip() + "\n"


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
        [text_cell(one.name), text_cell(one.kind), Cell(size(one.size), one.size), text_cell(one.sha256)]
        for one in files
    ]
    return Grid("Files read", ("file", "kind", "size", "SHA-256"), rows)


def chart(
    draw: Callable[[float], Figure], ids: count[int], *, heading: str, label: str, caption: str, grid: Grid,
    phone: bool = True,
) -> Chart:  # fmt: skip
    """A figure for a page, drawn once for a desktop and once for a phone. `ids` keeps the figures of a page apart."""
    from markupsafe import Markup

    wide = draw(WIDE)
    narrow = draw(NARROW) if phone else None
    return Chart(
        clean(heading),
        clean(label),
        clean(caption),
        Markup(_themed(style.to_svg(wide, prefix=f"f{next(ids)}"))),
        Markup(_themed(style.to_svg(narrow, prefix=f"f{next(ids)}"))) if narrow else "",
        round(wide.get_figwidth() * 96),
        round(narrow.get_figwidth() * 84) if narrow else 0,
        grid,
    )


def _themed(svg: str) -> str:
    """The SVG for inside a page: colours from the page's light or dark set, no declarations that HTML implies."""
    head, _, body = svg.partition(">")
    viewbox = head[head.index("viewBox") :].split('"')[1]
    body = body.replace('<style type="text/css">*{stroke-linejoin: round; stroke-linecap: butt}</style>', "")
    parts = body.split(' style="')
    styles = [parts[0]]
    for part in parts[1:]:
        rules, quote, rest = part.partition('"')
        for color, variable in THEME.items():
            rules = rules.replace(color, f"var(--{variable})")
        styles.append(rules + quote + rest)
    return f'<svg viewBox="{viewbox}" aria-hidden="true" focusable="false">' + ' style="'.join(styles)


# Cells


def name_cell(text: str, small: str = "") -> Cell:
    """A name, shortened; the title has all of it."""
    return Cell(shortened([text], NAME)[0], clean(text), small, clean(text), numeric=False)


def text_cell(text: str, sort: float | str = "") -> Cell:
    """A cell of words."""
    return Cell(clean(text), sort or clean(text), numeric=False)


def number_cell(value: float | None, decimals: int = 4, *, small: str = "", strong: bool = False) -> Cell:
    """A number, or a dash."""
    return Cell(number(value, decimals), _sort(value), small, strong=strong)


def range_cell(
    value: float | None, lo: float | None, hi: float | None, decimals: int = 4, *, strong: bool = False
) -> Cell:
    """A number with its interval below it, where there is one."""
    interval = "" if lo is None or math.isnan(lo) else f"[{number(lo, decimals)}, {number(hi, decimals)}]"
    return number_cell(value, decimals, small=interval, strong=strong)


def signed_cell(value: float | None, decimals: int = 4) -> Cell:
    """A difference with its sign."""
    return Cell(signed(value, decimals), _sort(value))


def chance_cell(p: float | None, decimals: int = 2) -> Cell:
    """A probability that was counted in draws."""
    return Cell(chance(p, decimals), _sort(p))


def share_cell(part: float | None, whole: float = 1) -> Cell:
    """A share in per cent."""
    known = part is not None and not math.isnan(part) and whole > 0
    return Cell(share_of(part, whole), part / whole) if known and part is not None else Cell(DASH)


def whole_cell(value: int | None, *, alert: bool = False, small: str = "") -> Cell:
    """A count; bold if it is an alert and not 0."""
    return Cell(DASH if value is None else f"{value}", _sort(value), small, strong=alert and bool(value))


def _sort(value: float | None) -> float | str:
    return "" if value is None or math.isnan(value) else value
