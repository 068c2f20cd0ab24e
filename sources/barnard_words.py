"""Barnard and others, sections 3 and 4: word prediction as evaluation, and words that can be seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from endoxa.comparisons.orders import tau
from endoxa.formatting import number
from endoxa.reports.figures import style
from endoxa.words.seeing import ONE_TOPIC, VISUAL
from sources.barnard import BARNARD
from sources.records import Drawing, Record, Table, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPLITS = ("train", "held-out", "novel")

# ---- section 3: word prediction

TABLE_6 = Table.read(
    "Word prediction above the empirical distribution by feature set, as printed",
    """
    feature set              | Training | Held-out | Novel
    Base set                 | 0.019 | 0.020 | 0.018
    Base set, RGB            | 0.076 | 0.057 | 0.044
    Base set, L*a*b          | 0.097 | 0.085 | 0.061
    Base set, rgS            | 0.109 | 0.092 | 0.065
    Base, rgS, color context | 0.134 | 0.094 | 0.055
    Base set, texture        | 0.079 | 0.048 | 0.041
    Base, rgS, texture       | 0.109 | 0.072 | 0.059
    Base set, shape          | 0.053 | 0.016 | 0.017
    Base set, rgS, shape     | 0.065 | 0.029 | 0.027
    Base,rgS, texture, shape | 0.083 | 0.043 | 0.038
    Everything               | 0.097 | 0.055 | 0.039
    """,
)
# Our names of the sets, in the order of the table.
SETS = (
    "base", "base+rgb", "base+lab", "base+rgs", "base+rgs+context", "base+texture", "base+rgs+texture", "base+shape",
    "base+rgs+shape", "base+rgs+texture+shape", "base+rgs+context+texture+shape",
)  # fmt: skip


def held_out() -> dict[str, float]:
    """The printed numbers on held-out pictures, under our names of the sets."""
    values = [figure(row[2]) for row in TABLE_6.rows]
    return {name: value for name, value in zip(SETS, values, strict=True) if value is not None}


def features_tables(found: Any) -> Sequence[Table]:
    """Our lift by feature set."""
    rows = {}
    for row, name in zip(TABLE_6.rows, SETS, strict=True):
        own = found["sets"][name]
        rows[row[0]] = [_lift(own.get(split)) for split in SPLITS]
    caption = f"Ours on {found['corpus']}, {found['resamples']} resamples: lift ± its standard error"
    return [Table.of(caption, ("feature set", "training", "held-out", "novel"), rows)]


def _lift(value: Sequence[float] | None) -> str:
    return "–" if value is None else f"{number(value[0], 3)} ± {number(value[1], 3)}"


def features_sentence(found: Any) -> str:
    """Whether the order of feature sets is the same."""
    ours = {name: own["held-out"][0] for name, own in found["sets"].items()}
    theirs = held_out()
    agreed = tau(np.array([theirs[name] for name in SETS]), np.array([ours[name] for name in SETS]))
    best, worst = max(ours, key=lambda name: ours[name]), min(ours, key=lambda name: ours[name])
    error, novel = (
        float(np.median([own[part][1] for own in found["sets"].values() if part in own]))
        for part in ("held-out", "novel")
    )
    colour = ours["base+rgs"] > max(ours["base+texture"], ours["base+shape"])
    return (
        f"On {found['corpus']} the order of the eleven sets on held-out pictures agrees with the printed one with tau "
        f"{agreed:.2f}: the best is {best}, the worst {worst} (printed: base+rgs+context and base+shape). That colour "
        f"is the best single cue {'holds' if colour else 'does not hold'} here. Standard errors are about "
        f"{error:.2f}, and {novel:.2f} for novel topics, so that only the large differences can be trusted."
    )


def segmenter_lines(found: Any, split: str, *, width: float = 7.0) -> Figure:
    """Lift against the number of regions, a line per segmenter with error bars."""
    with style.styled():
        narrow = width < style.NARROW
        names = order_of(found, split)
        legend = len(names) * 0.2 + 0.15
        right = 0.15 if narrow else style.inches_of(names) + 0.7
        tall = 2.8 if narrow else max(3.2, legend)
        bottom = 0.52 + (legend if narrow else 0)
        figure_, axes = style.canvas(width, tall + bottom + 0.15, left=0.65, bottom=bottom, right=right, top=0.15)
        axes.grid(visible=True)
        axes.axhline(0, color=style.MUTED, linewidth=1)
        handles: list[Any] = []
        for place, name in enumerate(names):
            color, marker, dashes = style.SERIES[place % len(style.SERIES)]
            points = [(int(count), *own[split]) for count, own in found["segmenters"][name].items() if split in own]
            x, y, error = (np.array(column, dtype=float) for column in zip(*sorted(points), strict=True))
            shift = (place - len(names) / 2) * 0.08
            look: dict[str, Any] = {"color": color, "linestyle": dashes if place < len(style.SERIES) else (0, (1, 1))}
            handles.append(
                axes.errorbar(x + shift, y, error, marker=marker, markersize=4.5, elinewidth=1, capsize=2, **look)
            )
        axes.set_xlabel("largest regions used")
        axes.set_ylabel(f"lift, {split}")
        high = figure_.get_figheight()
        corner = (0.3 / width, legend / high) if narrow else (1 - (right - 0.15) / width, 1 - 0.1 / high)
        figure_.legend(
            handles, names, loc="upper left", bbox_to_anchor=corner, borderaxespad=0, fontsize=9.5, labelspacing=0.35
        )
        return figure_


def shared_count(found: Any) -> str:
    """The greatest number of regions that every segmenter has."""
    shared: set[str] = set.intersection(*(set(counts) for counts in found["segmenters"].values()))
    return max(shared, key=int)


def order_of(found: Any, split: str) -> list[str]:
    """Segmenters by their lift with as many regions, the best first."""
    lifts = {name: counts[shared_count(found)].get(split) for name, counts in found["segmenters"].items()}
    return sorted((name for name, own in lifts.items() if own), key=lambda name: -lifts[name][0])


def segmenter_drawings(found: Any) -> Sequence[Drawing]:
    """Figure 2 for held-out and novel pictures."""
    drawings = []
    for split in ("held-out", "novel"):
        if not any(split in own for counts in found["segmenters"].values() for own in counts.values()):
            continue
        counts = sorted({int(count) for own in found["segmenters"].values() for count in own})
        rows = {
            name: [_lift(found["segmenters"][name].get(str(count), {}).get(split)) for count in counts]
            for name in order_of(found, split)
        }
        label = f"Lift of word prediction by segmenter and number of regions, {split} pictures, {found['corpus']}"
        numbers = Table.of(label, ("segmenter", *map(str, counts)), rows)
        drawings.append(
            Drawing(partial(segmenter_lines, found, split), split.capitalize(), label, f"{label}.", numbers)
        )
    return drawings


THEIRS = {"ncuts": 3.0, "mean-shift": 2.0, "mean-shift-over": 2.0, "mean-shift-under": 2.0, "blobworld": 1.0}


def segmenter_sentence(found: Any) -> str:
    """Whether the order of segmenters, and the lead over a grid, hold."""
    order = order_of(found, "held-out")
    shared = [name for name in order if name in THEIRS]
    place = {name: -float(at) for at, name in enumerate(order)}
    text = ""
    if len(shared) > 1:
        agreed = tau(np.array([THEIRS[name] for name in shared]), np.array([place[name] for name in shared]))
        text = f" Kendall's tau of our order of {', '.join(shared)} with the paper's is {number(agreed, 2)}."
    positive = all(own["held-out"][0] > 0 for counts in found["segmenters"].values() for own in counts.values())
    grid = order.index("grid") + 1 if "grid" in order else 0
    return (
        "In the paper Normalized Cuts lead, mean shift follows, the Blobworld segmenter is last, and every lift is "
        f"above 0. On {found['corpus']} the order on held-out pictures, with {shared_count(found)} regions each, is "
        f"{', '.join(order)}, and {'every lift there is' if positive else 'not every lift there is'} above "
        f"0.{text}{f' A plain grid is number {grid} of {len(order)}.' if grid else ''}"
    )


# ---- section 4: visualness

TABLE_7 = Table.read(
    "The ten adjectives of lowest image region entropy, and colours, as printed",
    """
    adjective | rank | entropy
    dark      | 1  | 0.0118
    senior    | 2  | 0.0166
    beautiful | 3  | 0.0178
    visual    | 4  | 0.0222
    rusted    | 5  | 0.0254
    musical   | 6  | 0.0321
    purple    | 7  | 0.0412
    black     | 8  | 0.0443
    ancient   | 9  | 0.0593
    cute      | 10 | 0.0607
    red       | 36 | 0.9762
    blue      | 39 | 1.1289
    yellow    | 46 | 1.2827
    """,
)
TABLE_8 = Table.read(
    "The ten adjectives of highest image region entropy, as printed",
    """
    adjective | rank | entropy
    elderly   | 141 | 2.5677
    angry     | 142 | 2.5942
    sexy      | 143 | 2.6015
    open      | 144 | 2.6122
    religious | 145 | 2.7242
    dry       | 146 | 2.8531
    male      | 147 | 2.8835
    patriotic | 148 | 3.0840
    vintage   | 149 | 3.1296
    mature    | 150 | 3.2265
    """,
)
HEADS = (
    "word",
    "called",
    "pictures",
    "V",
    "±",
    "A",
    "B",
    "D",
    "q",
    "z of excess",
    "entropy, bits",
    "of selected regions",
)
SHOWN = 10


def visual_rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Words with their numbers."""
    return {
        row["word"]: [
            row["call"], row["pictures"], *(number(row[column], 2) for column in ("V", "half", "A", "B", "D")),
            f"{row['q']:.3f}", number(row["excess_z"], 1), f"{row['entropy']:.2f}", number(row["selected"], 2),
        ]
        for row in rows
    }  # fmt: skip


def most_visual(found: Any) -> Sequence[Table]:
    """The first ten words of our corpus by V, and its colour words."""
    words = found["words"]
    colours = [row for row in words if row["word"] in found["colours"]]
    caption = f"Ours on {found['corpus']}: the first {SHOWN} of {len(words)} words by V"
    return [
        Table.of(caption, HEADS, visual_rows(words[:SHOWN])),
        *([Table.of("Colour words of the same corpus", HEADS, visual_rows(colours))] if colours else []),
    ]


def least_visual(found: Any) -> Sequence[Table]:
    """The last ten words of our corpus that can be told beyond one topic."""
    words = testable(found)
    caption = f"Ours on {found['corpus']}: the last {SHOWN} of {len(words)} words by V, without those of one topic"
    return [Table.of(caption, HEADS, visual_rows(words[-SHOWN:]))]


def testable(found: Any) -> list[Any]:
    """The words that are not in one topic only."""
    return [row for row in found["words"] if row["call"] != ONE_TOPIC]


def visual_sentence(found: Any) -> str:
    """What the source's statistic measures, and what ours finds."""
    words = found["words"]
    visual = sum(row["call"] == VISUAL for row in words)
    called = [
        f"{row['word']} ({row['call']}, V {number(row['V'], 2)})" for row in words if row["word"] in found["colours"]
    ]
    colours = f"; colours: {', '.join(called)}" if called else ""
    agreed = tau(np.array([row["V"] for row in words]), -np.array([row["selected"] for row in words]))
    return (
        "The printed list puts dark first, but also senior, visual and musical: a low entropy may be a collapsed "
        "selection, and eq. 10 averages densities, so that eq. 11 is no entropy (D-E18). Ours is V: how well pictures "
        f"tell the word, and what they say beyond the other words. On open pictures {visual} of {len(words)} words are "
        f"called visual, by V first {', '.join(row['word'] for row in words[:5])}{colours}. The order by entropy of "
        f"selected regions, as in the paper, agrees with that by V with tau {number(agreed, 2)}; rank correlation of "
        f"entropy and number of pictures: {number(found['entropy_size'], 2)}."
    )


def least_sentence(found: Any) -> str:
    """The other end of the list."""
    last = testable(found)[-SHOWN:]
    return (
        "The paper ends with religious, dry, male, patriotic, vintage and mature, ours with "
        f"{', '.join(row['word'] for row in last[-6:])}. A rank is a claim only with its chance, which the paper does "
        f"not have: {sum(row['call'] == VISUAL for row in last)} of our last ten are called visual, and "
        f"{sum(row['q'] > 0.05 for row in last)} cannot be told from shuffled pictures."
    )


GONE = "The pictures (Corel) could not be had."
RECORDS = (
    Record(
        BARNARD, "Figure 2", "Segmenters compared by word prediction", "section 3.3 (called Figure 3.3)",
        segmenter_sentence, study="words-segmenters", drawings=segmenter_drawings,
        lost=f"The drawing is missing in our copy. {GONE}",
    ),
    Record(
        BARNARD, "Table 6", "Word prediction by feature set", "section 3.4", features_sentence, printed=TABLE_6,
        study="words-features", tables=features_tables, lost=GONE,
    ),
    Record(
        BARNARD, "Table 7", "The most visual adjectives", "section 4.2", visual_sentence, printed=TABLE_7,
        study="words-visual", tables=most_visual, lost="The pages of the Web of that day are gone.",
    ),
    Record(
        BARNARD, "Table 8", "The least visual adjectives", "section 4.2", least_sentence, printed=TABLE_8,
        study="words-visual", tables=least_visual, lost="As for Table 7.",
    ),
)  # fmt: skip
