"""The page of annotated pictures: the words predicted for a picture, and the word of each region, drawn on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from html import escape
from typing import Any

import polars as pl

from endoxa.formatting import clean, html_of, listed, number
from endoxa.frozen import dataclass
from endoxa.images.marking import Mark
from endoxa.reports.pages import cells
from endoxa.reports.pages.layout import Chart, Grid, Section, render

WIDTH = 480  # pixels of a picture on the page
WORDS: dict[str, Any] = {
    "picture": pl.String, "rank": pl.Int64, "word": pl.String, "chance": pl.Float64, "ratio": pl.Float64,
    "right": pl.Boolean,
}  # fmt: skip
REGIONS: dict[str, Any] = {
    "picture": pl.String, "region": pl.Int64, "size": pl.Float64, "word": pl.String, "chance": pl.Float64,
}  # fmt: skip
CSS = """.any { max-width: 100%; }
figure svg .region { fill: #fff; fill-opacity: 0; stroke: #fff; stroke-width: 2.5; }
figure svg .region:hover { fill-opacity: 0.35; }
figure svg .edge { fill: none; stroke: #000; stroke-width: 1; }
figure svg .word { font-size: 17px; font-weight: 600; fill: #000; stroke: #fff; stroke-width: 4px; }
figure svg .word { paint-order: stroke; text-anchor: middle; dominant-baseline: middle; pointer-events: none; }"""


@dataclass(frozen=True)
class Shown:
    """A picture on the page: its data address and size in pixels, its marks, and the words that it has, if known."""

    name: str
    address: str
    size: tuple[int, int]  # width and height
    marks: Sequence[Mark]
    known: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Annotations:
    """Words for pictures.

    words    picture, rank, word, chance, ratio, right: the most probable words of each picture; `ratio` is the chance
             over the word's share of all training words, `right` null where the picture's own words are not known
    regions  picture, region, size, word, chance: the most probable word of each region
    """

    title: str
    words: pl.DataFrame
    regions: pl.DataFrame
    pictures: Sequence[Shown] = ()
    facts: Sequence[str] = ()
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)


def answer(found: Annotations) -> str:
    """The first words of the pictures, in a sentence."""
    first = found.words.group_by("picture", maintain_order=True).agg(pl.col("word").head(3))
    said = [f"{picture}: {', '.join(words)}" for picture, words in first.head(3).iter_rows()]
    rest = first.height - len(said)
    return f"The first words: {'; '.join(said)}{f'; and {rest} more pictures' if rest else ''}."


def page(found: Annotations) -> str:
    """The pictures with their words as one HTML file that opens offline."""
    return render(
        title=found.title, answer=html_of(lambda name: answer(found)), facts=found.facts, warnings=found.warnings,
        sections=[_section(found, one, at) for at, one in enumerate(found.pictures)], css=CSS,
        notes=["A word's chance is the mean over the regions of the picture; all chances of a picture sum to 1.",
               *found.notes],
        provenance=found.provenance,
    )  # fmt: skip


def _section(found: Annotations, one: Shown, at: int) -> Section:
    words = found.words.filter(pl.col("picture") == one.name)
    rows = found.regions.filter(pl.col("picture") == one.name)
    said = words["word"].to_list()
    line = f"Predicted: {', '.join(said)}."
    if one.known:
        right = [word for word in said if word in one.known]
        line += f" The picture's own words: {', '.join(one.known)}; {len(right)} of the {len(said)} are among them."
    label = f"{one.name} in {rows.height} regions: {listed(rows['word'].unique(maintain_order=True).to_list(), 8)}"
    grid = Grid(
        f"Regions of {one.name}, the largest first", ("region", "word", "chance", "size"),
        [[cells.whole(row["region"] + 1), cells.text(row["word"]), cells.number(row["chance"], 3),
          cells.share(row["size"])] for row in rows.iter_rows(named=True)],
    )  # fmt: skip
    drawn = Chart(
        clean(one.name), clean(label), "The word of each region; hover for its chance.", _drawn(one, rows), "",
        WIDTH, 0, grid,
    )  # fmt: skip
    table = Grid(
        f"Words of {one.name}", ("word", "chance", "times as usual"),
        [[cells.text(row["word"]), cells.number(row["chance"], 3), cells.number(row["ratio"], 1)]
         for row in words.iter_rows(named=True)], small=True,
    )  # fmt: skip
    return Section(f"picture-{at + 1}", clean(one.name), clean(one.name), [clean(line)], [table], [drawn])


def _drawn(one: Shown, rows: pl.DataFrame) -> str:
    """The picture with outlines and words, as SVG of a fixed width, so that letters have one size."""
    from markupsafe import Markup

    width, height = one.size
    scale = WIDTH / width
    tall = round(height * scale)
    shapes, texts = [], []
    for mark, row in zip(one.marks, rows.iter_rows(named=True), strict=True):
        points = " ".join(f"{(x + 0.5) * scale:.0f},{(y + 0.5) * scale:.0f}" for x, y in mark.polygon)
        title = escape(f"{clean(row['word'])}, chance {number(row['chance'], 3)}")
        shapes.append(f'<polygon class="region" points="{points}"><title>{title}</title></polygon>')
        shapes.append(f'<polygon class="edge" points="{points}" pointer-events="none"/>')
        room = 4.5 * len(row["word"])  # half the width of the word: it must stay inside the picture
        x = min(max((mark.centre[0] + 0.5) * scale, room), max(WIDTH - room, room))
        y = min(max((mark.centre[1] + 0.5) * scale, 10), tall - 10)
        texts.append(f'<text class="word" x="{x:.0f}" y="{y:.0f}">{escape(clean(row["word"]))}</text>')
    image = f'<image href="{escape(one.address)}" width="{WIDTH}" height="{tall}" preserveAspectRatio="none"/>'
    inside = "".join([image, *shapes, *texts])
    return Markup(f'<svg viewBox="0 0 {WIDTH} {tall}" aria-hidden="true" focusable="false">{inside}</svg>')
