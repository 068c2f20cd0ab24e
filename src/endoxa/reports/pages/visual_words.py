"""The page of visualness: words by V, what each is called, and the regions that are most its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import polars as pl

from endoxa.formatting import capitalised, counted, html_of, listed, number
from endoxa.frozen import dataclass
from endoxa.reports.figures.visual_dots import visual_dots
from endoxa.reports.pages import cells
from endoxa.reports.pages.cells import Cell
from endoxa.reports.pages.layout import Chart, Grid, Section, Strip, Thumbnail, chart, render
from endoxa.words.seeing import COMPANY, FEW, LEAST, NOT, ONE_TOPIC, OWN, RARE, SPREAD, VISUAL
from endoxa.words.visualness import Visualness

NAMED = 5  # words in the answer
FIRST, LAST = 30, 10  # words in the figure and in the gallery
HEADS = (
    "word", "called", "pictures", "topics", "V", "A", "B", "D", "z", "p", "q", "excess", "E, bits", "Hessel", "norm",
)  # fmt: skip
SELECTED = ("selected E", "its z", "share", "regions")
METHODS = {
    "V": "V", "excess_z": "excess of regions, z", "E_z": "entropy, z",
    "E": "entropy (the source's idea), lower is more visual", "hessel": "Hessel et al. 2018",
    "selected_E": "entropy by iterated selection, lower is more visual",
    "selected_z": "entropy by iterated selection, z",
}  # fmt: skip
POLICIES = (
    "V = 2 (.4 A + .3 B + .3 D − ½) · n/(n + 5) for a word on n pictures: 0 by chance, 1 at most; ± 1.64 · .55/√n",
    "A: how well looks tell the word's pictures from others, as an area under the ROC curve: ½ by chance, 1 if always",
    "B and D: the same of looks, and of colours, beyond what the other words of the picture say",
    f"visual: V − .55/√n ≥ {LEAST:.2f} and B or D ≥ {0.5 + OWN:.2f}; visual by its company: the other words explain it",
    f"too rare to say: not called visual, and on fewer than {FEW} pictures",
    "p and q: V on shuffled pictures, and adjusted for the number of words (Benjamini and Hochberg)",
    "excess, E: regions of the word's pictures against those of others, and their entropy; they grow with the pictures",
    "Hessel: how often the 50 nearest pictures of a word's pictures have the word, over chance; 1 is chance",
)
CAVEAT = (
    "Visual means visual in this corpus and to these two views. The weights and limits of the call were chosen on "
    "captions of photographs."
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
    """How many words are visual, and those of the highest V; no two words are compared, so none is called the most."""
    frame, visual = found.frame, found.visual
    if frame.height == 1:
        return _about(frame.row(0, named=True), name)
    of = f"of {counted(frame.height, 'word', 'words')}"
    rest = _others(frame)
    if not visual:
        best = frame.row(0, named=True)
        return f"None {of} is shown to be visual{rest}. The highest V has {name(best['word'])} ({_value(best)})."
    are, their = ("is", "its") if len(visual) == 1 else ("are", "their")
    start = f"{len(visual)} {of} {are} visual: {their} pictures tell more than the other words do"
    most = listed([name(word) for word in visual[:NAMED]], NAMED)
    return f"{start}{rest}. Highest V, not compared with one another: {most}."


def _others(frame: pl.DataFrame) -> str:
    """What the words are called that are not visual."""
    counts = dict(frame["call"].value_counts().iter_rows())
    named = [f"{counts[call]:,} {call}" for call in (COMPANY, NOT, RARE, ONE_TOPIC) if call in counts]
    return f" ({', '.join(named)})" if named else ""


def _about(row: Mapping[str, Any], name: Callable[[str], str]) -> str:
    """The answer about one word."""
    word, of = name(row["word"]), f"its {counted(row['n'], 'picture', 'pictures')}"
    says = {
        VISUAL: f"{word} is visual: {of} tell more than the other words do",
        COMPANY: f"{word} is visual by its company: {of} can be told, but the words beside it explain that"
                 + (f" ({row['company']})" if row["company"] else ""),
        NOT: f"{word} is not shown to be visual: {of} are not told clearly enough from others",
        RARE: f"{word} is too rare to say: {of} are not told clearly enough from others",
        ONE_TOPIC: f"{word} is in one topic only: whether {of} show the word or the topic cannot be said",
    }  # fmt: skip
    return f"{says[row['call']]} ({_value(row)})."


def _value(row: Mapping[str, Any]) -> str:
    return f"V = {number(row['V'], 2)} ± {number(row['half'], 2)}"


def heads(found: Visualness) -> list[str]:
    """The columns of the table; those of the iterated selection where it was asked for."""
    return [*HEADS, *(SELECTED if _has_selection(found) else ())]


def lines(found: Visualness) -> list[list[Cell]]:
    """The rows of the table, by V."""
    selection = _has_selection(found)
    return [
        [
            cells.name(row["word"]), Cell(row["call"], row["call"], _company(row), numeric=False),
            cells.whole(row["n"]),
            cells.whole(row["topics"], small=_tested(found, row)),
            cells.number(row["V"], 2, small=f"± {number(row['half'], 2)}", strong=row["call"] == VISUAL),
            *(cells.number(row[column], 2) for column in ("A", "B", "D")), cells.number(row["z"], 1),
            cells.number(row["p"], 3), cells.number(row["q"], 3), cells.number(row["excess"], 3),
            cells.number(row["E"], 2), cells.number(row["hessel"], 2), cells.number(row["norm"], 2),
            *((cells.number(row["selected_E"], 2), cells.number(row["selected_z"], 1),
               cells.share(row["selected_share"]), cells.number(row["selected_regions"], 0)) if selection else ()),
        ]
        for row in found.frame.iter_rows(named=True)
    ]  # fmt: skip


def _tested(found: Visualness, row: Mapping[str, Any]) -> str:
    return "tested on single pictures" if found.topics and row["left_out"] != "topic" else ""


def _company(row: Mapping[str, Any]) -> str:
    return f"with {row['company']}" if row["company"] else ""


def _has_selection(found: Visualness) -> bool:
    return not bool(found.frame["selected_E"].is_nan().all())


def norm_lines(found: Visualness) -> list[str]:
    """A sentence per method: its rank correlation with the ratings, and how it differs from V."""
    said = []
    for row in (found.correlations if found.correlations is not None else pl.DataFrame()).iter_rows(named=True):
        ends = f"[{number(row['lo'], 2)}, {number(row['hi'], 2)}]"
        text = f"{METHODS[row['method']]}: {number(row['rho'], 3)} {ends}"
        if row["difference"] == row["difference"]:
            apart = f"[{number(row['difference_lo'], 2)}, {number(row['difference_hi'], 2)}]"
            text += f"; minus that of V: {number(row['difference'], 3)} {apart}"
        said.append(text)
    return said


def _words(found: Visualness) -> Section:
    views = "vectors of whole pictures" if found.look == "vectors" else "colours and textures: no vectors were there"
    held = (f"One of {found.topics} topics is left out at a time; a word in fewer than three is tested on single "
            "pictures, and one in a single topic comes last." if found.topics
            else "One picture is left out at a time.")  # fmt: skip
    note = (
        f"Looks are {views}. {held} Excess and E are of {found.regions:,} regions of {found.pictures:,} pictures, "
        f"{found.components} components in each mixture."
    )
    grid = Grid("Words by V", heads(found), lines(found), note=note)
    return Section("words", "Words", "Words by V", (), [], [_figure(found)], grid)


def _figure(found: Visualness) -> Chart:
    words = ends_of(found.frame)
    left = found.frame.height - words.height
    rows = [
        [cells.name(row["word"]), cells.interval(row["V"], row["V"] - row["half"], row["V"] + row["half"], 2),
         cells.text(row["call"])]
        for row in words.iter_rows(named=True)
    ]  # fmt: skip
    cut = f" The first {FIRST} and the last {LAST} of {found.frame.height:,}." if left else ""
    return chart(
        partial(visual_dots, words),
        heading="V of words",
        label=f"V of words, with 90 % of what chance adds; {words.row(0)[0]} comes first",
        caption=f"V ± 1.64 · {SPREAD:g}/√n: 90 % of what chance adds to a word on n pictures. Blue diamonds: called "
        f"visual.{cut}",
        grid=Grid("V of words", ("word", "V", "called"), rows),
    )


def ends_of(frame: pl.DataFrame) -> pl.DataFrame:
    """The first and the last words, in order."""
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
        f"Spearman's rho with the ratings, {table['words'][0]:,} words", ("method", "rho", "minus V"), rows,
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
        Strip(word, f"{_value(rows[word])}, {rows[word]['call']}", shown.pictures[word], opened=at < NAMED)
        for at, word in enumerate(words)
    ]  # fmt: skip
    text = (
        "Of each word, the regions that are most its own: P(word|region), below each picture, is the share of the "
        "region that other pictures do not explain. The region is outlined, the rest of the picture dimmed. A region "
        "may belong to another word that keeps this one company."
    )
    return Section("regions", "Regions", "The most typical regions of each word", [text], strips=strips)
