"""The page of visualness: words from the most to the least visual, with the regions that show each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial

import polars as pl

from endoxa.formatting import DASH, capitalised, counted, html_of, listed, number, probability
from endoxa.frozen import dataclass
from endoxa.reports.figures.excess_dots import excess_dots
from endoxa.reports.pages import cells
from endoxa.reports.pages.cells import Cell
from endoxa.reports.pages.layout import Chart, Grid, Section, Strip, Thumbnail, chart, render
from endoxa.words.visualness import LEVEL, Visualness

NAMED = 5  # words in the answer
FIRST, LAST = 30, 10  # words in the figure and in the gallery
HEADS = ("word", "pictures", "topics", "excess", "above chance", "z", "p", "q", "E, bits", "Hessel", "norm")
SELECTED = ("selected E", "its z", "share", "regions")
METHODS = {
    "excess": "excess, z", "E_z": "entropy, z", "E": "entropy (the source's idea), lower is more visual",
    "hessel": "Hessel et al. 2018", "selected_E": "entropy by iterated selection, lower is more visual",
    "selected_z": "entropy by iterated selection, z",
}  # fmt: skip
POLICIES = (
    "excess: the share of the regions of a word's pictures beyond what other pictures have; a mean over mixtures",
    "above chance: excess minus its mean over random words; 95 % interval over topics, or over pictures without topics",
    "z: the same in standard deviations of random words; it orders the words",
    "q: p adjusted for the number of words (Benjamini and Hochberg); a word is called visual if q ≤ 0.05",
    "E: entropy of the regions in bits. It grows with the number of pictures: compare it with random words only",
    "Hessel: how often the 50 nearest pictures of a word's pictures have the word, over chance; 1 is chance",
)
CAVEAT = (
    "Visual means visual in this corpus and for these features: place, size, colour and texture of regions. "
    "A word whose pictures share a shape or a meaning only is not found."
)


@dataclass(frozen=True)
class Shown:
    """The content of the page; `pictures` are the cut-out regions of each word."""

    title: str
    found: Visualness
    pictures: Mapping[str, Sequence[Thumbnail]] = field(default_factory=dict)
    facts: Sequence[str] = ()
    warnings: Sequence[str] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)


def page(shown: Shown) -> str:
    """The words as one HTML file that opens offline."""
    return render(
        title=shown.title, answer=html_of(lambda name: answer(shown.found, name=name)), facts=shown.facts,
        warnings=shown.warnings, sections=[_words(shown.found), _norms(shown.found), _gallery(shown)],
        policies=POLICIES, notes=[*shown.found.notes, CAVEAT], provenance=shown.provenance,
    )  # fmt: skip


def answer(found: Visualness, *, name: Callable[[str], str] = str) -> str:
    """How many words are visual, and those of the highest z; no two words are compared, so none is called the most."""
    frame, visual = found.frame, found.visual
    others = "than those of random topics" if found.null == "topics" else "than those of as many random pictures"
    if frame.height == 1:
        row = frame.row(0, named=True)
        verb = "is visual" if visual else "is not shown to be visual"
        than = "more alike" if visual else "not clearly more alike"
        text = f"{name(row['word'])} {verb}: the regions of its {row['n']:,} pictures are {than} {others}"
        return (
            f"{text} (excess {number(row['excess'], 3)}, {number(row['null'], 3)} by chance, {probability(row['p'])})."
        )
    of = f"of {counted(frame.height, 'word', 'words')}"
    first = frame.row(0, named=True)
    if not visual:
        start = f"None {of} is shown to be visual: no word's pictures have regions clearly more alike {others}."
        return f"{start} The nearest is {name(first['word'])} ({probability(first['p'])}, q = {number(first['q'], 3)})."
    are, their = ("is", "its") if len(visual) == 1 else ("are", "their")
    start = f"{len(visual)} {of} {are} visual: the regions of {their} pictures are more alike {others}"
    most = listed([name(word) for word in visual[:NAMED]], NAMED)
    return f"{start} (q ≤ {LEVEL:g}). Highest z, not compared with one another: {most}."


def heads(found: Visualness) -> list[str]:
    """The columns of the table; those of the iterated selection where it was asked for."""
    return [*HEADS, *(SELECTED if _has_selection(found) else ())]


def lines(found: Visualness) -> list[list[Cell]]:
    """The rows of the table, the most visual word first."""
    selection = _has_selection(found)
    return [
        [
            cells.name(row["word"]), cells.whole(row["n"]), cells.whole(row["topics"]),
            cells.number(row["excess"], 3),
            Cell(number(row["above"], 3), row["above"], _ends(row), strong=row["q"] <= LEVEL),
            cells.number(row["z"], 1), cells.number(row["p"], 3),
            cells.number(row["q"], 3, strong=row["q"] <= LEVEL),
            cells.number(row["E"], 2), cells.number(row["hessel"], 2), cells.number(row["norm"], 2),
            *((cells.number(row["selected_E"], 2), cells.number(row["selected_z"], 1),
               cells.share(row["selected_share"]), cells.number(row["selected_regions"], 0)) if selection else ()),
        ]
        for row in found.frame.iter_rows(named=True)
    ]  # fmt: skip


def _ends(row: Mapping[str, float]) -> str:
    ends = f"[{number(row['lo'], 3)}, {number(row['hi'], 3)}]"
    return "" if DASH in ends else ends


def _has_selection(found: Visualness) -> bool:
    return not bool(found.frame["selected_E"].is_nan().all())


def norm_lines(found: Visualness) -> list[str]:
    """A sentence per method: its rank correlation with the ratings, and how it differs from excess."""
    said = []
    for row in (found.correlations if found.correlations is not None else pl.DataFrame()).iter_rows(named=True):
        ends = f"[{number(row['lo'], 2)}, {number(row['hi'], 2)}]"
        text = f"{METHODS[row['method']]}: {number(row['rho'], 3)} {ends}"
        if row["difference"] == row["difference"]:
            apart = f"[{number(row['difference_lo'], 2)}, {number(row['difference_hi'], 2)}]"
            text += f"; minus that of excess: {number(row['difference'], 3)} {apart}"
        said.append(text)
    return said


def _words(found: Visualness) -> Section:
    note = (
        f"{found.regions:,} regions of {found.pictures:,} pictures, {found.components} components in each mixture. "
        + (f"Random words take the word's counts to random topics, {found.topics} in all." if found.topics
           else "Random words are random pictures, as many as the word has.")
    )  # fmt: skip
    grid = Grid("Words, the most visual first", heads(found), lines(found), note=note)
    return Section("words", "Words", "Words from the most to the least visual", (), [], [_figure(found)], grid)


def _figure(found: Visualness) -> Chart:
    words = ends_of(found.frame)
    left = found.frame.height - words.height
    rows = [
        [cells.name(row["word"]), cells.interval(row["above"], row["lo"], row["hi"], 3), cells.number(row["q"], 3)]
        for row in words.iter_rows(named=True)
    ]
    cut = f" The {FIRST} most and the {LAST} least visual of {found.frame.height:,}." if left else ""
    return chart(
        partial(excess_dots, words, level=LEVEL),
        heading="Excess above chance",
        label=f"Excess above that of random words, with intervals; {words.row(0)[0]} is the most visual",
        caption=f"Excess minus its mean over random words, with 95 % intervals over "
        f"{'topics' if found.null == 'topics' else 'pictures'}. Blue diamonds: q ≤ {LEVEL:g}.{cut}",
        grid=Grid("Excess above chance", ("word", "above chance", "q"), rows),
    )


def ends_of(frame: pl.DataFrame) -> pl.DataFrame:
    """The most and the least visual words, in order."""
    return frame if frame.height <= FIRST + LAST else pl.concat([frame.head(FIRST), frame.tail(LAST)])


def _norms(found: Visualness) -> Section | None:
    table = found.correlations
    if table is None:
        return None
    rows = [
        [
            cells.text(capitalised(METHODS[row["method"]])), cells.interval(row["rho"], row["lo"], row["hi"], 3),
            cells.interval(row["difference"], row["difference_lo"], row["difference_hi"], 3),
        ]
        for row in table.iter_rows(named=True)
    ]  # fmt: skip
    grid = Grid(
        f"Spearman's rho with the ratings, {table['words'][0]:,} words", ("method", "rho", "minus excess"), rows,
        note="95 % intervals by resampling words, the same words for every method.",
    )  # fmt: skip
    text = "Ratings say what a word means to people, not how it is used in this corpus; both agree in part only."
    return Section("norms", "Ratings", "Beside ratings by people", [text], [grid])


def _gallery(shown: Shown) -> Section | None:
    words = [word for word in shown.found.frame["word"] if shown.pictures.get(word)]
    if not words:
        return None
    rows = {row["word"]: row for row in shown.found.frame.iter_rows(named=True)}
    strips = [
        Strip(word, f"excess {number(rows[word]['excess'], 3)}, z {number(rows[word]['z'], 1)}, "
                    f"q {number(rows[word]['q'], 3)}", shown.pictures[word], opened=at < FIRST and at < NAMED)
        for at, word in enumerate(words)
    ]  # fmt: skip
    text = (
        "Of each word, the regions that are most its own: P(word|region), below each picture, is the share of the "
        "region that other pictures do not explain. The region is outlined, the rest of the picture dimmed. A region "
        "may belong to another word that keeps this one company."
    )
    return Section("regions", "Regions", "The most typical regions of each word", [text], strips=strips)
