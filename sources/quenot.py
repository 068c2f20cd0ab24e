"""Quénot's slides: sets, ranked lists, the recall–precision curve, global measures, pooling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

import endoxa
from sources.curves import recall_drawing
from sources.records import Drawing, Record, Source, Table

QUENOT = Source("quenot", "Quénot", "G. Quénot, Evaluation of indexing and retrieval methods, slides, March 2022")

# Our example, because the slides have none: a list of ten, four relevant in it, one relevant item not retrieved.
GRADES = (1, 0, 1, 0, 0, 1, 0, 0, 0, 1)
RELEVANT = 5


@cache
def measured(*measures: str) -> Mapping[str, float]:
    """Measures of the example list."""
    run = {"q": {f"d{rank:02d}": -float(rank) for rank in range(len(GRADES))}}
    judged: dict[str, float] = {f"d{rank:02d}": float(grade) for rank, grade in enumerate(GRADES)} | {"elsewhere": 1.0}
    found = endoxa.measure(run, {"q": judged}, list(measures)).to_dict()["run"]["q"]
    return {name: float(found[name]) for name in measures}


def sets(_: Any) -> Sequence[Table]:
    """Precision, recall and F of the example as a set."""
    names = ("SetP", "SetR", "SetF")
    formulas = (
        "corrects / retrieved = 4/10",
        "corrects / relevant = 4/5",
        "2 · corrects / (retrieved + relevant) = 8/15",
    )
    rows = {name: [formula, measured(*names)[name]] for name, formula in zip(names, formulas, strict=True)}
    return [
        Table.of("The example as a set: 10 retrieved, 5 relevant, 4 of them retrieved", ("", "formula", "ours"), rows)
    ]


def area() -> float:
    """The trapezoidal area under the raw points of the curve, from recall 0 with the first precision."""
    hits = np.cumsum(GRADES)
    precision, recall = hits / np.arange(1, len(GRADES) + 1), hits / RELEVANT
    return float(np.trapezoid([precision[0], *precision], [0.0, *recall]))


def global_measures(_: Any) -> Sequence[Table]:
    """The measures that the slide lists, for the example."""
    names = ("AP", "SetF", "P@10", "P@100")
    found = measured(*names)
    rows: dict[str, list[Any]] = {name: [found[name]] for name in names}
    rows["trapezoidal area under the points"] = [area()]
    return [Table.of("Global measures of the example", ("", "ours"), rows)]


def curve(_: Any) -> Sequence[Drawing]:
    """The recall–precision curve of the example: raw points and interpolated."""
    levels = [round(level / 10, 1) for level in range(11)]
    names = tuple(f"IPrec@{level:g}" for level in levels)
    interpolated = [measured(*names)[name] for name in names]
    hits = np.cumsum(GRADES)
    recall, precision = hits / RELEVANT, hits / np.arange(1, len(GRADES) + 1)
    points = {
        "the first k, k = 1 to 10": list(zip(recall.tolist(), precision.tolist(), strict=True)),
        "interpolated": list(zip(levels, interpolated, strict=True)),
    }
    label = "The recall–precision curve of the example, as points for k = 1 to 10 and interpolated"
    numbers = Table.of(
        "Interpolated precision", ("recall", *(f"{level:g}" for level in levels)), {"precision": interpolated}, 4
    )
    return [recall_drawing(points, "Recall × precision", label, numbers)]


def bias(_: Any) -> Sequence[Table]:
    """What a pool does to a system that contributed and to one that did not."""
    cases = {
        "contributor, 1 of its 6 hits unjudged": [1.0] * 5 + [None] + [0.0] * 4,
        "new system, 3 of its 6 hits unjudged": [1.0] * 3 + [None] * 3 + [0.0] * 4,
    }
    true = {f"d{rank}": float(rank < 6) for rank in range(10)} | {f"o{at}": 1.0 for at in range(4)}
    run = {"q": {f"d{rank}": -float(rank) for rank in range(10)}}
    names = ["SetP", "SetR"]
    truth = endoxa.measure(run, {"q": true}, names).to_dict()["run"]["q"]
    rows = {}
    for name, grades in cases.items():
        judged = {f"d{rank}": grade for rank, grade in enumerate(grades) if grade is not None}
        others = 7 - sum(grade == 1 for grade in grades)  # the pool found 7 of the 10 relevant items
        judged |= {f"o{at}": 1.0 for at in range(others)}
        found = endoxa.measure(run, {"q": judged}, names).to_dict()["run"]["q"]
        rows[name] = [truth["SetP"], found["SetP"], truth["SetR"], found["SetR"]]
    heads = ("", "precision, true", "precision by the pool", "recall, true", "recall by the pool")
    return [Table.of("10 relevant items, of which the pool found 7", heads, rows)]


def bias_tables(found: Any) -> Sequence[Table]:
    """The worked bias, and what twelve systems owe to a pool of depth 10."""
    heads = ("system", "relevant only by it", "AP", "AP without", "place", "place without", "tau")
    rows = {}
    for system, alone, before, after, place, left, tau in found["rows"]:
        rows[system] = [alone, f"{before:.4f}", f"{after:.4f}", place, left, f"{tau:.2f}"]
    caption = f"TREC 2003 Robust, depth {found['depth']}: every system without what only it put into the pool"
    return [*bias({}), Table.of(caption, heads, rows)]


def bias_sentence(found: Any) -> str:
    """What of the slide's statements holds."""
    drops = [before - after for _, _, before, after, *_ in found["rows"]]
    moved = sum(place != left for *_, place, left, _ in found["rows"])
    return (
        "“Precision is under-estimated” holds; “recall is over-estimated” holds only for systems of the pool (E-E2): "
        "in our example a contributor's recall of 0.6 becomes 0.714 and a new system's 0.429. On TREC 2003 Robust "
        f"the order is stable, as the slide says: without what only it contributed a system loses {min(drops):.3f} to "
        f"{max(drops):.3f} of AP, and {moved} of {len(drops)} change their place."
    )


RECORDS = (
    Record(
        QUENOT, "sets", "Precision and recall from relevant and non-relevant sets",
        "slides “Metrics: precision and recall” (the second has F)",
        "Our measures give the slide's definitions; it has no numbers.",
        lost="The drawing is missing in our copy, and the slide has no numbers.", tables=sets,
    ),
    Record(
        QUENOT, "curve", "Recall × precision curve of a ranked list", "slide “Metrics: Recall × Precision curves”",
        "Drawn for our example; the slide's own curves cannot be compared.",
        lost="The drawing is missing in our copy, and the slide has no numbers.", drawings=curve,
    ),
    Record(
        QUENOT, "global measures", "MAP, F, P@10, P@100",
        "slides “Metrics: Recall × Precision curves” and “Global measures”",
        "The measures are ours too. That MAP is the “area under the curve” is not true (E-E1): in the example AP is "
        "0.5133 and the area under the points 0.48.",
        lost="The slide has no numbers.", tables=global_measures,
    ),
    Record(
        QUENOT, "pooling", "Bias of pooled judgments", "slides “Pooling”", bias_sentence,
        lost="The slides have no numbers. That comparisons are significant is a claim to test, not a theorem (E-E3).",
        study="pooling", tables=bias_tables,
    ),
)  # fmt: skip
