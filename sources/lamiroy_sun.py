"""Lamiroy and Sun: precision and recall from the consensus of systems, symbols and documents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import polars as pl

import endoxa
from endoxa.beliefs import consensus
from endoxa.comparisons.orders import tau
from endoxa.formatting import number, signed
from endoxa.reports.figures.cutoff_curves import cutoff_curves
from sources.records import Drawing, Record, Source, Table, Values, figure, same

LAMIROY_SUN = Source(
    "lamiroy-sun", "Lamiroy and Sun", "B. Lamiroy and T. Sun, Precision and Recall Without Ground Truth, GREC 2011"
)
ITEMS = [f"δ{at}" for at in range(1, 8)]
RETURNED = {"S1": "δ1 δ2 δ4 δ5", "S2": "δ1 δ2 δ3", "S3": "δ1 δ2 δ6"}
TOP, BOTTOM = "⊤", "⊥"


@cache
def votes() -> endoxa.Opinions:
    """What the three systems of Table 1 say of the seven documents: the sets that are printed beside it."""
    rows = [(system, "q", item, float(item in names.split())) for system, names in RETURNED.items() for item in ITEMS]
    frame = pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row")
    return endoxa.Opinions.of(frame.with_columns(pl.lit("system").alias("kind")))


TABLE_1 = Table.read(
    "Three systems on seven documents, as printed",
    """
    Δ  | S1 | S2 | S3
    δ1 | + | + | +
    δ2 | + | + | +
    δ3 | - | + | -
    δ4 | + | - | -
    δ5 | + | - | -
    δ6 | - | - | +
    δ7 | - | - | -
    """,
)


def table_1() -> Values:
    """The table of signs, made from the sets that are printed beside it."""
    of = {(item, source): grade for source, item, grade in votes().frame.select("source", "item", "grade").iter_rows()}
    return {item: [of[item, system] for system in RETURNED] for item in ITEMS}


VOTES = """
    Δ  | P   | ⊤ | S1 | S2 | S3 | ⊥
    δ1 | 0.8 | 1 | 1 | 1 | 1 | 0
    δ2 | 0.8 | 1 | 1 | 1 | 1 | 0
    δ3 | 0.4 | 1 | 0 | 1 | 0 | 0
    δ4 | 0.4 | 1 | 1 | 0 | 0 | 0
    δ5 | 0.4 | 1 | 1 | 0 | 0 | 0
    δ6 | 0.4 | 1 | 0 | 0 | 1 | 0
    δ7 | 0.2 | 1 | 0 | 0 | 0 | 0
"""


def table_2() -> Values:
    """The probability of every document by the consensus; the votes are the input."""
    return {item: [p, *[None] * 5] for item, p in probabilities().items()}


@cache
def probabilities() -> Mapping[str, float]:
    """The probability of every document by the consensus of the three systems."""
    return dict(consensus.believe(votes(), weights="equal").frame.select("item", "p").iter_rows())


@cache
def scored() -> Mapping[str, Mapping[str, float]]:
    """Precision, recall and F of the three systems and of ⊤, by the consensus of the three."""
    measures = ["GradedP", "GradedR", "GradedF"]
    summary = endoxa.evaluate(None, votes(), measures, plugin=True, weights="equal").summary
    found: dict[str, dict[str, float]] = {}
    for system, measure, value in summary.select("system", "measure", "value").iter_rows():
        found.setdefault(system, {})[measure] = value
    return found


def table_3() -> Values:
    """Sums, precision and recall. ⊥ returns nothing: its precision is 0/0, and its recall 0."""
    found, p = scored(), probabilities()
    returned = [ITEMS, *(names.split() for names in RETURNED.values()), []]
    names = [TOP, *RETURNED]
    return {
        **table_2(),
        "Sum": [math.fsum(p.values()), *(float(len(items)) for items in returned)],
        "Σ P·S": [None, *(math.fsum(p[item] for item in items) for items in returned)],
        "Pr": [None, *(found[name]["GradedP"] for name in names), math.nan],
        "Rc": [None, *(found[name]["GradedR"] for name in names), 0.0],
    }


def more_of_table_3(_: Any) -> Sequence[Table]:
    """F, which the paper does not print: ⊤ has the best."""
    rows = {name: [own["GradedP"], own["GradedR"], own["GradedF"]] for name, own in scored().items()}
    return [Table.of("Ours, with F₁, which the paper does not print", ("", "Pr", "Rc", "F₁"), rows)]


SYSTEMS = ("Radon", "GFD", "zernike", "SC", "ARG")
TABLE_4 = Table.read(
    "Precision by the ground truth of people, as printed",
    """
    k | Radon | GFD | zernike | SC | ARG
    1 | 1.00000 | 1.00000 | 1.00000 | 1.00000 | 1.00000
    2 | 0.59524 | 0.93023 | 0.72727 | 0.90698 | 0.97674
    3 | 0.43548 | 0.80000 | 0.60000 | 0.82813 | 0.92188
    4 | 0.34940 | 0.70930 | 0.49412 | 0.75581 | 0.83333
    5 | 0.30769 | 0.66038 | 0.44762 | 0.69811 | 0.81905
    6 | 0.28226 | 0.58730 | 0.41600 | 0.62698 | 0.75397
    7 | 0.26712 | 0.53061 | 0.37838 | 0.56164 | 0.72789
    8 | 0.23952 | 0.49102 | 0.35714 | 0.51205 | 0.68452
    9 | 0.21925 | 0.45455 | 0.35106 | 0.47059 | 0.65263
    10 | 0.20290 | 0.41546 | 0.33173 | 0.43269 | 0.61321
    """,
)
TABLE_5 = Table.read(
    "Recall by the ground truth of people, as printed",
    """
    k | Radon | GFD | zernike | SC | ARG
    1 | 0.05699 | 0.05699 | 0.05699 | 0.05699 | 0.05699
    2 | 0.06476 | 0.10362 | 0.08290 | 0.10103 | 0.10880
    3 | 0.06994 | 0.13471 | 0.10103 | 0.13730 | 0.15284
    4 | 0.07512 | 0.15803 | 0.10880 | 0.16839 | 0.18134
    5 | 0.08290 | 0.18134 | 0.12176 | 0.19170 | 0.22279
    6 | 0.09067 | 0.19170 | 0.13471 | 0.20466 | 0.24611
    7 | 0.10103 | 0.20207 | 0.14507 | 0.21243 | 0.27720
    8 | 0.10362 | 0.21243 | 0.15544 | 0.22020 | 0.29792
    9 | 0.10621 | 0.22020 | 0.17098 | 0.22797 | 0.32124
    10 | 0.10880 | 0.22279 | 0.17875 | 0.23316 | 0.33678
    """,
)
QUERIES, RELEVANT = 22, 386


@cache
def hits() -> Mapping[tuple[str, int], tuple[int, int]]:
    """(system, k): the whole numbers of hits and of returned items from which both tables follow.

    Hits h: h/386, cut to five digits, is the printed recall. Returned D: h/D, rounded, is the printed precision, with
    the largest such D up to 22 k.
    """
    found = {}
    for at, (row_4, row_5) in enumerate(zip(TABLE_4.rows, TABLE_5.rows, strict=True), 1):
        for system, text_4, text_5 in zip(SYSTEMS, row_4[1:], row_5[1:], strict=True):
            precision, recall = figure(text_4), figure(text_5)
            assert precision is not None and recall is not None
            h = next(h for h in range(RELEVANT + 1) if same(recall, h / RELEVANT, 5, cut=True))
            d = next(d for d in range(QUERIES * at, 0, -1) if same(precision, h / d, 5))
            found[system, at] = h, d
    return found


def counts(_: Any) -> Table:
    """The whole numbers behind Tables 4 and 5."""
    rows = {str(k): [f"{h}/{d}" for h, d in (hits()[system, k] for system in SYSTEMS)] for k in range(1, 11)}
    return Table.of("Hits / items returned by the 22 queries, recovered from both tables", ("k", *SYSTEMS), rows)


# Our engines that stand in the places of theirs.
STAND_INS = {"radon": "Radon", "gfd": "GFD", "zernike": "zernike", "shape-context": "SC", "structure": "ARG"}


def ours_at(found: Any, measure: str) -> list[Table]:
    """Precision or recall of our recognisers on open symbols, by folders and by consensus, at every cut-off."""
    frame = values_of(found).filter(pl.col("measure") == measure)
    at = {(way, k, system): value for way, k, system, value in frame.select("way", "k", "system", "value").iter_rows()}
    taus = {row["k"]: row for row in found["taus"] if row["measure"] == measure}
    rows = {}
    for k in range(1, 11):
        pairs = [f"{at['folders', k, one]:.3f} / {at['consensus', k, one]:.3f}" for one in STAND_INS]
        ends = [number(taus[k][end], 2) for end in ("tau", "lo", "hi")]
        rows[str(k)] = [*pairs, f"{ends[0]} [{ends[1]}, {ends[2]}]"]
    heads = ("k", *(f"{ours} ({theirs})" for ours, theirs in STAND_INS.items()), "tau")
    caption = (
        f"{measure.capitalize()} on {found['symbols']} open symbols, {found['queries']} queries: folders / consensus"
    )
    return [Table.of(caption, heads, rows)]


def values_of(found: Any) -> pl.DataFrame:
    """The curves of the kept study as the frame that the figure takes."""
    return pl.DataFrame(found["values"], schema=["way", "measure", "k", "system", "value", "lo", "hi"], orient="row")


def order_of(values: Mapping[str, float]) -> str:
    """Names, the best first."""
    return ", ".join(sorted(values, key=lambda name: -values[name]))


def ours_at_5(found: Any, way: str, measure: str = "precision") -> dict[str, float]:
    """Our numbers at cut-off 5, under the names of the source."""
    frame = values_of(found).filter((pl.col("way") == way) & (pl.col("measure") == measure) & (pl.col("k") == 5))
    return {STAND_INS[system]: value for system, value in frame.select("system", "value").iter_rows()}


def theirs_at_5(table: Table) -> dict[str, float]:
    """Printed numbers at cut-off 5."""
    return {name: float(text) for name, text in zip(SYSTEMS, table.rows[4][1:], strict=True)}


def agreed(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Kendall's tau of two orders of the five recognisers."""
    return tau(*([side[name] for name in SYSTEMS] for side in (one, other)))  # type: ignore[arg-type]


def table_sentence(measure: str, table: Table, found: Any) -> str:
    """How the printed order and ours on open symbols agree."""
    ours, theirs = ours_at_5(found, "folders", measure), theirs_at_5(table)
    return (
        "All 50 cells follow from whole numbers of hits (B-E3: they are ratios of sums, and recall is cut, not "
        f"rounded). On open symbols, with folders as labels, the order of {measure} at 5 is {order_of(ours)}; theirs "
        f"is {order_of(theirs)} (tau {number(agreed(ours, theirs), 2)}). Structure, in the place of ARG, is not graph "
        "matching."
    )


def printed_curves(_: Any) -> Sequence[Drawing]:
    """Figure 1, redrawn from the printed tables."""
    rows = []
    for measure, table in (("precision", TABLE_4), ("recall", TABLE_5)):
        for k, *texts in table.rows:
            for system, text in zip(SYSTEMS, texts, strict=True):
                rows.append(("people", measure, int(k), system, *[float(text)] * 3))
    frame = pl.DataFrame(rows, schema=["way", "measure", "k", "system", "value", "lo", "hi"], orient="row")
    return [_curves(frame, measure, "as printed") for measure in ("precision", "recall")]


def our_curves(found: Any) -> Sequence[Drawing]:
    """Both ways of judging our recognisers, side by side."""
    return [_curves(values_of(found), measure, "on open symbols") for measure in ("precision", "recall")]


def _curves(frame: pl.DataFrame, measure: str, what: str) -> Drawing:
    rows = frame.filter(pl.col("measure") == measure)
    ways = rows["way"].unique(maintain_order=True).to_list()
    label = f"{measure.capitalize()} of five recognisers at cut-offs 1 to 10, by {' and by '.join(ways)}, {what}"
    numbers: dict[str, list[float]] = {}
    for way, system, value in rows.sort("k", maintain_order=True).select("way", "system", "value").iter_rows():
        numbers.setdefault(f"{system}, {way}", []).append(value)
    table = Table.of(label, ("system", *map(str, range(1, 11))), numbers, 3)
    return Drawing(partial(cutoff_curves, frame, measure), measure.capitalize(), label, f"{label}.", table)


def figure_2_sentence(found: Any) -> str:
    """Whether the consensus again misses the recogniser by structure."""
    turned = {(row["system"], row["other"]): row for row in found["turned"]}
    folders, voted = ours_at_5(found, "folders"), ours_at_5(found, "consensus")
    start = (
        f"By consensus our order of precision at 5 is {order_of(voted)}, by folders {order_of(folders)} "
        f"(tau {number(agreed(folders, voted), 2)})."
    )
    row = turned.get(("structure", "zernike"))
    if row is None:
        return f"{start} Unlike the paper, no good recogniser is the one that the consensus misses."
    return (
        f"{start} The paper's exception returns: structure, in the place of ARG, is better than Zernike by folders "
        f"({_difference(row, 'folders')}) and worse by consensus ({_difference(row, 'consensus')})."
    )


def _difference(row: Mapping[str, float], way: str) -> str:
    return f"{signed(row[way], 3)} [{number(row[f'{way}_lo'], 3)}, {number(row[f'{way}_hi'], 3)}]"


PIPELINES = ("Otsu", "Sauvola", "Wolf")
TABLE_6 = Table.read(
    "With ground truth, as printed",
    """
              | Otsu   | Sauvola | Wolf
    Precision | 0.6223 | 0.7715  | 0.7533
    Recall    | 0.5915 | 0.7281  | 0.7230
    """,
)
TABLE_7 = Table.read(
    "Method I (bag of words), without ground truth, as printed",
    """
              | ⊤      | Otsu   | Sauvola | Wolf   | ⊥
    Precision | 0.4000 | 0.6327 | 0.6757  | 0.6722 | ∞
    Recall    | 1.0000 | 0.5153 | 0.5660  | 0.5662 | 0
    """,
)
TABLE_8 = Table.read(
    "Method II (alignment), without ground truth, as printed",
    """
              | ⊤      | Otsu   | Sauvola | Wolf   | ⊥
    Precision | 0.5733 | 0.6035 | 0.6450  | 0.6416 | ∞
    Recall    | 1.0000 | 0.6550 | 0.6988  | 0.6957 | 0
    """,
)


def cell(table: Table, row: str, column: str) -> float:
    """A printed number."""
    texts = {name: dict(zip(table.heads[1:], rest, strict=True)) for name, *rest in table.rows}
    value = figure(texts[row][column])
    assert value is not None
    return value


def implied_votes(table: Table) -> dict[str, list[Any]]:
    """The mean number of votes per item that a table implies: by ⊤'s precision, and by the other cells.

    With three systems P = (1 + votes)/5. A system's share of all items is Pr(⊤)·Rc/Pr of its own, and these shares
    add up to the mean number of votes.
    """
    top = cell(table, "Precision", TOP)
    shares = [cell(table, "Recall", name) / cell(table, "Precision", name) for name in PIPELINES]
    return {"by the precision of ⊤": [5 * top - 1], "by the other cells": [top * math.fsum(shares)]}


def gaps(_: Any) -> Sequence[Table]:
    """The lead of Sauvola over Otsu in precision, with and without ground truth."""
    tables = {"ground truth": TABLE_6, "Method I": TABLE_7, "Method II": TABLE_8}
    lead = {
        name: cell(table, "Precision", "Sauvola") - cell(table, "Precision", "Otsu") for name, table in tables.items()
    }
    rows = {name: [value, f"{value / lead['ground truth']:.0%}"] for name, value in lead.items()}
    return [Table.of("Sauvola − Otsu, precision", ("", "difference", "of that by ground truth"), rows, 4)]


def pages_tables(way: str, found: Any) -> Sequence[Table]:
    """Precision and recall of the pipelines on composed letters, by one way of judging."""
    own = found[way]
    rows = {name: [own[system][at] for system in own] for at, name in enumerate(("Precision", "Recall"))}
    ways = {"truth": "by their true text", "bag": "by consensus, Method I", "align": "by consensus, Method II"}
    caption = f"{found['pages']} composed letters, {ways[way]}"
    return [Table.of(caption, ("", *own), rows, 4)]


def pages_order(found: Any, way: str, at: int = 0) -> dict[str, float]:
    """Precision (or recall) of the three pipelines of the paper."""
    return {name: found[way][name][at] for name in PIPELINES}


def truth_sentence(found: Any) -> str:
    """How the order by truth agrees."""
    ours = pages_order(found, "truth")
    theirs = {name: cell(TABLE_6, "Precision", name) for name in PIPELINES}
    apart = abs(ours["Sauvola"] - ours["Wolf"])
    beaten = "Otsu is last in both" if min(ours, key=lambda name: ours[name]) == "Otsu" else "Otsu is not last in ours"
    return (
        f"The documents of the paper are gone. On composed letters, whose text is known, precision is in the order "
        f"{order_of(ours)} (paper: {order_of(theirs)}); {beaten}, and Sauvola and Wolf are {apart:.3f} apart."
    )


def consensus_sentence(way: str, table: Table, remark: str, found: Any) -> str:
    """Whether the consensus gives the order by truth, and how far it narrows the gap."""
    truth, ours = pages_order(found, "truth"), pages_order(found, way)
    shrunk = (ours["Sauvola"] - ours["Otsu"]) / (truth["Sauvola"] - truth["Otsu"])
    theirs = (cell(table, "Precision", "Sauvola") - cell(table, "Precision", "Otsu")) / (0.7715 - 0.6223)
    same_order = "the same order" if order_of(ours) == order_of(truth) else f"another order ({order_of(ours)})"
    return (
        f"{remark} On composed letters the consensus gives {same_order} of precision as the truth, and narrows "
        f"Sauvola's lead over Otsu to {shrunk:.0%} of its size (paper: {theirs:.0%}, B-E6)."
    )


RECORDS = (
    Record(
        LAMIROY_SUN, "Table 1", "Three systems on seven documents", "section 2.1",
        "The signs are those of the sets that are printed beside them.", printed=TABLE_1, ours=table_1,
    ),
    Record(
        LAMIROY_SUN, "Table 2", "The probability of every document", "section 2.2.1, eq. 10",
        "Equal to the printed digits.", printed=Table.read("Probabilities and votes, as printed", VOTES), ours=table_2,
    ),
    Record(
        LAMIROY_SUN, "Table 3", "Precision and recall without ground truth", "section 2.2.1, eqs. 11 and 12",
        "Equal to the printed digits, but the precision of ⊥ is 0/0 and undefined, not ∞ (B-E1). S2 has the "
        "precision that is bold for S3 (B-E2), and by F₁, which is not printed, ⊤, which returns everything, is the "
        "best (B-E7).",
        printed=Table.read(
            "Precision and recall computed without established ground truth, as printed",
            VOTES.rstrip() + """
    Sum   | 3.4 | 7 | 4 | 3 | 3 | 0
    Σ P·S |  | 3.4 | 2.4 | 2 | 2 | 0
    Pr    |  | 0.49 | 0.6 | 0.67 | 0.67 | ∞
    Rc    |  | 1 | 0.71 | 0.59 | 0.59 | 0
    """,
        ),
        ours=table_3, errata={("Pr", BOTTOM): "B-E1"}, tables=more_of_table_3,
    ),
    Record(
        LAMIROY_SUN, "Table 4", "Precision of five symbol recognisers", "section 2.3.1",
        partial(table_sentence, "precision", TABLE_4), printed=TABLE_4, study="symbols",
        lost="The data is gone; ours are the whole numbers that both tables imply, "
        "and other symbols.",
        tables=lambda found: [counts(found), *ours_at(found, "precision")],
    ),
    Record(
        LAMIROY_SUN, "Table 5", "Recall of five symbol recognisers", "section 2.3.1",
        partial(table_sentence, "recall", TABLE_5), printed=TABLE_5, study="symbols",
        lost="As for Table 4. 386 relevant symbols for 22 queries follow from the digits; the paper does not say so.",
        tables=lambda found: ours_at(found, "recall"),
    ),
    Record(
        LAMIROY_SUN, "Figure 1", "Precision and recall by people", "section 2.3.1",
        "Redrawn from Tables 4 and 5, which the text says it shows.",
        lost="The drawing is missing in our copy.", drawings=printed_curves,
    ),
    Record(
        LAMIROY_SUN, "Figure 2", "Precision and recall without ground truth", "section 2.3.1", figure_2_sentence,
        lost="The drawing is missing in our copy, its numbers are not printed, and the data is gone; ours are other "
        "symbols.",
        study="symbols", drawings=our_curves,
    ),
    Record(
        LAMIROY_SUN, "Table 6", "Documents: accuracy with ground truth", "section 2.3.2", truth_sentence,
        printed=TABLE_6, study="pages", lost="The 60 scans and their transcriptions are not published.",
        tables=partial(pages_tables, "truth"),
    ),
    Record(
        LAMIROY_SUN, "Table 7", "Documents: Method I without ground truth", "section 2.3.2",
        partial(
            consensus_sentence, "bag", TABLE_7,
            "⊤ implies one vote per item on average, and so do the other cells. But a returned item has one or more, "
            "and precisions of .63 to .68 show that many have more: items that nobody returned must have been "
            "counted, and the paper does not say which (B-E4).",
        ),
        printed=TABLE_7, study="pages", lost="As for Table 6. The precision of ⊥ is undefined, not ∞ (B-E1).",
        tables=lambda found: [
            Table.of("Mean votes per item that Table 7 implies", ("", "votes"), implied_votes(TABLE_7), 4),
            *pages_tables("bag", found),
        ],
    ),
    Record(
        LAMIROY_SUN, "Table 8", "Documents: Method II without ground truth", "section 2.3.2",
        partial(
            consensus_sentence, "align", TABLE_8,
            "The table is consistent with counting what was returned (1.87 votes per item by ⊤ and by the other "
            "cells). In recall the paper's Method I turns Sauvola and Wolf round, Method II does not (B-E5).",
        ),
        printed=TABLE_8, study="pages", lost="As for Table 6. The precision of ⊥ is undefined, not ∞ (B-E1).",
        tables=lambda found: [
            Table.of("Mean votes per item that Table 8 implies", ("", "votes"), implied_votes(TABLE_8), 4),
            *gaps(found), *pages_tables("align", found),
        ],
    ),
)  # fmt: skip
