"""Gimel'farb's slides: graded counts, their worked example, precision against recall, generality, feedback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

import endoxa
from endoxa.searches.baselines import new_weights
from sources.curves import recall_drawing
from sources.records import Drawing, Record, Source, Table, Values

GIMELFARB = Source("gimelfarb", "Gimel'farb", "G. Gimel'farb, CBIR: Interaction & Evaluation, slides, COMPSCI.708.S1.C")

RELEVANCES = (0.9, 0.8, 0.7, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.2)
N = len(RELEVANCES)
MEASURES = {
    "A_n": "A@{n}", "C_n": "C@{n}", "R_n": "GradedR@{n}", "P_n": "GradedP@{n}", "B_n": "B@{n}",
    "D_n": f"D(N={N})@{{n}}", "F_n": f"Fallout(N={N})@{{n}}",
}  # fmt: skip

TABLE = Table.read(
    "Evaluation for n top-rank items, as printed",
    """
    n   | 1    | 2    | 3    | 4    | 5    | 6    | 7    | 8    | 9    | 10
    W_n | 0.90 | 0.80 | 0.70 | 0.40 | 0.40 | 0.40 | 0.20 | 0.20 | 0.20 | 0.20
    A_n | 0.90 | 1.70 | 2.40 | 2.80 | 3.20 | 3.60 | 3.80 | 4.00 | 4.20 | 4.40
    C_n | 3.50 | 2.70 | 2.00 | 1.60 | 1.20 | 0.80 | 0.60 | 0.40 | 0.20 | 0.00
    R_n | 0.20 | 0.39 | 0.55 | 0.64 | 0.73 | 0.82 | 0.83 | 0.91 | 0.96 | 1.00
    P_n | 0.90 | 0.85 | 0.80 | 0.70 | 0.64 | 0.60 | 0.54 | 0.50 | 0.47 | 0.44
    B_n | 0.10 | 0.30 | 0.60 | 1.20 | 1.80 | 2.40 | 3.20 | 4.00 | 4.80 | 5.60
    D_n | 5.50 | 5.30 | 5.00 | 4.40 | 3.80 | 4.20 | 2.40 | 1.60 | 0.80 | 0.00
    F_n | 0.02 | 0.05 | 0.11 | 0.21 | 0.32 | 0.43 | 0.57 | 0.71 | 0.86 | 1.00
    """,
)


def graded(names: Sequence[str], cutoffs: Sequence[int]) -> dict[str, list[float]]:
    """The named counts of the example at some cut-offs, by the library's measures."""
    items = [f"image{rank:02d}" for rank in range(1, N + 1)]
    run = {"q": {item: -float(rank) for rank, item in enumerate(items)}}
    wanted = {(name, n): MEASURES[name].format(n=n) for name in names for n in cutoffs}
    scores = endoxa.measure(run, {"q": dict(zip(items, RELEVANCES, strict=True))}, list(wanted.values()))
    found = scores.to_dict()["run"]["q"]
    return {name: [found[wanted[name, n]] for n in cutoffs] for name in names}


def whole_table() -> Values:
    """All rows of the printed table but W_n, which is the input."""
    return graded(list(MEASURES), range(1, N + 1))


def at_three(names: Sequence[str]) -> Values:
    """The worked example: three images returned."""
    return {f"{name[0]}_3": values for name, values in graded(names, [3]).items()}


def worked(caption: str, **numbers: str) -> Table:
    """A worked example as a table of one column."""
    return Table(caption, ("", "n = 3"), tuple(numbers.items()))


def bounds() -> Table:
    """The lower bounds of recall if only the first n are judged: as printed, and by the library."""
    found = graded(["A_n", "R_n"], range(1, N + 1))
    a, n = np.array(found["A_n"]), np.arange(1, N + 1)
    run = {"q": {f"image{rank}": -float(rank) for rank in range(N)}}
    right = []
    for cutoff in n.tolist():
        judged = {f"image{rank}": RELEVANCES[rank] for rank in range(cutoff)}
        scores = endoxa.measure(run, {"q": judged}, [f"GradedR(N={N})@{cutoff}"], unjudged="bounds")
        right.append(float(scores.frame["lo"].item()))
    rows = {
        "recall R_n": found["R_n"],
        "printed bound A/(N − n − A)": (a / (N - n - a)).tolist(),
        "right bound A/(A + N − n)": right,
        "printed bound of generality A/N": (a / N).tolist(),
    }
    return Table.of("Lower bounds if only the first n are judged", ("n", *map(str, n)), rows, 4)


def recall_precision(_: Any) -> Sequence[Drawing]:
    """The graph that the slide shows: precision against recall of the example."""
    found = graded(["R_n", "P_n"], range(1, N + 1))
    points = list(zip(found["R_n"], found["P_n"], strict=True))
    numbers = Table.of("Precision and recall of the example", ("n", *map(str, range(1, N + 1))), found, 4)
    label = "Precision falls from 0.90 to 0.44 as recall rises from 0.20 to 1"
    caption = f"{label}: the points of the table, redrawn."
    return [recall_drawing({"the worked example": points}, "Precision–recall graph", label, numbers, caption)]


GROUP, CROWDS, APART = 20, (20, 80, 380, 1980), 2.0


def embedded(irrelevant: int) -> tuple[list[float], float]:
    """Interpolated precision at eleven recalls of 20 relevant items among others, and generality.

    Scores are the quantiles of two normal distributions that are two standard deviations apart, so that the system
    is equally good in every collection.
    """
    relevant = APART + stats.norm.ppf((np.arange(GROUP) + 0.5) / GROUP)
    others = stats.norm.ppf((np.arange(irrelevant) + 0.5) / irrelevant)
    run = {f"r{at}": float(score) for at, score in enumerate(relevant)}
    run |= {f"o{at}": float(score) for at, score in enumerate(others)}
    qrels = {f"r{at}": 1 for at in range(GROUP)}
    size = GROUP + irrelevant
    names = [f"IPrec@{level / 10:g}" for level in range(11)]
    found = endoxa.measure({"q": run}, {"q": qrels}, [*names, f"Generality(N={size})"]).to_dict()["run"]["q"]
    return [found[name] for name in names], found[f"Generality(N={size})"]


def generality(_: Any) -> Sequence[Drawing]:
    """A constant group of relevant items in a growing number of irrelevant ones."""
    levels = [level / 10 for level in range(11)]
    curves = {}
    for count in CROWDS:
        precisions, share = embedded(count)
        curves[f"generality {share:.2g}"] = precisions
    heads = ("recall", *(f"{level:.1f}" for level in levels))
    label = f"Precision at every recall falls as the same {GROUP} relevant items lie among more irrelevant ones"
    caption = f"{label}, although the system separates the two equally well in every collection. Our own model curves."
    numbers = Table.of("Interpolated precision", heads, curves, 3)
    points = {name: list(zip(levels, values, strict=True)) for name, values in curves.items()}
    return [recall_drawing(points, "Generality", label, numbers, caption)]


MARKS = (2, 2, 1, 0, -1, -2)
PAGE = (
    (0.50, 0.20, 0.60), (0.52, 0.90, 0.50), (0.48, 0.50, 0.70), (0.90, 0.40, 0.90), (0.10, 0.30, 0.55),
    (0.85, 0.80, 0.10),
)  # fmt: skip


def weights(_: Any) -> Sequence[Table]:
    """A small page of marks and the weights that it gives, by the rule that the slide states in words."""
    marks, before = np.array(MARKS) / 2, np.full(3, 1 / 3)
    after = new_weights(np.array(PAGE), marks.clip(0), (-marks).clip(0), before)
    rows: dict[str, list[Any]] = {
        f"image {at} ({mark:+d})": list(values) for at, (mark, values) in enumerate(zip(MARKS, PAGE, strict=True), 1)
    }
    rows |= {"weight before": before.tolist(), "weight after": after.tolist()}
    return [Table.of("Six marked images, and the weights of three features", ("", "f1", "f2", "f3"), rows, 4)]


def feedback_tables(found: Any) -> Sequence[Table]:
    """What feedback is worth on open photographs."""
    heads = ("learner", "P of three pages", "pictures until the target")
    rows = {name: [_ends(own["kind"], 3), _ends(own["target"], 0)] for name, own in found["learners"].items()}
    caption = f"Interactive search over {found['pictures']} photographs, {found['sessions']} simulated sessions"
    return [Table.of(caption, heads, rows)]


def _ends(values: Sequence[float], digits: int) -> str:
    value, low, high = (f"{one:.{digits}f}" for one in values)
    return f"{value} [{low}, {high}]"


def feedback_sentence(found: Any) -> str:
    """Whether feedback helps, and what the slides' rule is worth beside a newer learner."""
    of = found["learners"]
    values = {name: own["kind"][0] for name, own in of.items()}
    return (
        "As the slides promise, marks bring the results closer: the precision of the next three pages is "
        f"{values['none']:.3f} without feedback and {values['reweighting']:.3f} with weights learnt by their rule. "
        "They print no numbers to compare; our own learner, with kernels over whole groups, reaches "
        f"{values['kernel']:.3f}."
    )


def four_counts() -> Values:
    """The four counts of the example for n = 3."""
    found = graded(["A_n", "B_n", "C_n", "D_n"], [3])
    a, b, c, d = (values[0] for values in found.values())
    return {"retrieved": [a, b], "not retrieved": [c, d]}


RECORDS = (
    Record(
        GIMELFARB, "interactive engine", "Interactive CBIR engine (diagram and its description)",
        "slides “Interactive CBIR Engine” and “Interactive QBE Retrieval”", feedback_sentence,
        lost="The drawing is missing in our copy; the parts that it names (databases of images and features, a "
        "selector of metrics, a block for the relevance of features) are in the text, and are described in "
        "docs/search.md.",
        study="feedback", tables=feedback_tables,
    ),
    Record(
        GIMELFARB, "feature weights", "Weights of features from positive and negative feedback",
        "slide “Interactive QBE Retrieval”, feedback (2)",
        "The slide states the rule in words and no numbers; ours does what it says: the feature whose relevant values "
        "lie close together gains, the one whose range also holds all irrelevant values falls.",
        tables=weights,
    ),
    Record(
        GIMELFARB, "four counts", "Hits, noise, misses, correct rejections", "slide “How To Evaluate Retrieval?”",
        "The four cells have letters only; with the numbers of the worked example below they are those that the later "
        "slides print for n = 3.",
        printed=Table.read(
            "The four counts, with the numbers of the worked example for n = 3",
            """
            items         | relevant | non-relevant
            retrieved     | 2.4      | 0.6
            not retrieved | 2.0      | 5.0
            """,
        ),
        ours=four_counts,
    ),
    Record(
        GIMELFARB, "worked recall", "Recall of three of ten images", "slide “Evaluation of the QBE Retrieval”, recall",
        "Equal to the printed digits.",
        printed=worked("Recall", A_3="2.4", C_3="2.0", R_3="0.545"), ours=lambda: at_three(["A_n", "C_n", "R_n"]),
    ),
    Record(
        GIMELFARB, "worked precision", "Precision of three of ten images",
        "slide “Evaluation of the QBE Retrieval”, precision", "Equal to the printed digits.",
        printed=worked("Precision", A_3="2.4", P_3="0.8"), ours=lambda: at_three(["A_n", "P_n"]),
    ),
    Record(
        GIMELFARB, "worked fallout", "Fallout of three of ten images",
        "slide “Evaluation of the QBE Retrieval”, fallout",
        "Equal to the printed digits; that fallout “measures how quickly precision drops as recall increases” holds "
        "only through P = RG/(RG + F(1 − G)) (C-E5).",
        printed=worked("Fallout", A_3="2.4", C_3="2.0", B_3="0.6", D_3="5.0", F_3="0.107"),
        ours=lambda: at_three(["A_n", "C_n", "B_n", "D_n", "F_n"]),
    ),
    Record(
        GIMELFARB, "table", "Evaluation for n top-rank items", "slide “Evaluation for n Top-rank Items”",
        "Of 70 cells 67 are equal to the printed digits and three are misprints: D₆ is 3.20, R₇ is 0.86 and R₉ is "
        "0.95.",
        printed=TABLE, ours=whole_table,
        errata={("D_n", "6"): "C-E1", ("R_n", "7"): "C-E2", ("R_n", "9"): "C-E3"},
    ),
    Record(
        GIMELFARB, "precision-recall graph", "Precision–recall graph", "slide “Precision - Recall Graph”",
        "Redrawn from the table; the slide's own drawing cannot be compared.",
        lost="The drawing is missing in our copy.", drawings=recall_precision,
    ),
    Record(
        GIMELFARB, "generality", "Precision–recall curves in growing collections",
        "slide “Generality Vs. Performance”",
        "Our curves show what the slide says: with the same separation of relevant and irrelevant images, precision "
        "falls with generality, so that only curves of a common generality can be compared. `endoxa generality` draws "
        "them for any judged collection.",
        lost="The drawing is missing in our copy; it has no numbers in the text.", drawings=generality,
    ),
    Record(
        GIMELFARB, "bounds", "Lower bounds of recall and generality without complete ground truth",
        "slide “Generality Vs. Performance”, last paragraph",
        "The bound of generality is right, that of recall is not (C-E4): on the slides' own example A/(N − n − A) is "
        "above the true recall for n = 4 to 6 and negative from n = 7 on; the right bound is A/(A + N − n).",
        tables=lambda _: [bounds()],
    ),
)  # fmt: skip
