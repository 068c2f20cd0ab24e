"""The part of a contest's page that sets consensus beside folders at every cut-off."""

from __future__ import annotations

from functools import partial
from typing import Any

import polars as pl

from endoxa.evaluations.contest import CONSENSUS, FOLDERS
from endoxa.evaluations.cutoffs import MEASURES, PRECISION, Cutoffs
from endoxa.formatting import capitalised, clean, listed, number, signed
from endoxa.reports.figures.cutoff_curves import cutoff_curves, ranked
from endoxa.reports.pages import cells
from endoxa.reports.pages.layout import Chart, Grid, Section, chart

NAMED = 3  # pairs that a sentence names before it only counts them


def section(found: Cutoffs) -> Section:
    """Figures and tables of precision, recall and F, tau at every cut-off, and the pairs that consensus turns round."""
    lines = [
        missed(found),
        f"Each system votes for its first {found.deepest} items. Precision, recall and F are means over "
        f"{found.queries:,} queries, with 95 % intervals over queries; F is 2 · correct / (retrieved + relevant) of "
        "each query. A consensus narrows differences: compare the orders of the two ways, not their numbers.",
    ]
    grids = [_taus(found), _balanced(found), _alone(found)]
    return Section(
        "cutoffs", "Cut-offs", "Consensus beside folders, at every cut-off", [clean(line) for line in lines], grids,
        [_curves(found, measure) for measure in MEASURES], below=_turned(found) if found.turned.height else None,
    )  # fmt: skip


def missed(found: Cutoffs) -> str:
    """Whether a system that is better by folders is worse by consensus, at the cut-off that sentences speak about."""
    k = found.shown
    rows = found.turned.filter((pl.col("measure") == PRECISION) & (pl.col("k") == k))
    tau = found.taus.filter((pl.col("measure") == PRECISION) & (pl.col("k") == k))["tau"][0]
    agreed = f"Kendall's tau of consensus and folders on precision at {k} is {number(tau, 2)}."
    if not rows.height:
        return f"{agreed} No pair of systems is better by one and worse by the other with both intervals excluding 0."
    means = found.values.filter((pl.col("way") == FOLDERS) & (pl.col("measure") == PRECISION) & (pl.col("k") == k))
    best = rows.join(means.select("system", "value"), on="system").sort("value", CONSENSUS, descending=[True, False])
    row = best.row(0, named=True)
    text = (
        f"The consensus misses {row['system']}: on precision at {k} it is better than {row['other']} by folders "
        f"({_difference(row, FOLDERS)}) and worse by consensus ({_difference(row, CONSENSUS)})."
    )
    further = [f"{system} and {other}" for system, other in best[1:].select("system", "other").iter_rows()]
    more = f" The same is true of {listed(further, NAMED)}." if further else ""
    return f"{text}{more} {agreed}"


def tables(found: Cutoffs) -> dict[str, pl.DataFrame]:
    """A table per measure: a row per cut-off, `folders / consensus` of each system, and tau with its interval."""
    tables = {}
    for measure in MEASURES:
        rows = found.values.filter(pl.col("measure") == measure)
        at = {row[:3]: row[3] for row in rows.select("way", "k", "system", "value").iter_rows()}
        taus = found.taus.filter(pl.col("measure") == measure).sort("k")
        columns: dict[str, list[Any]] = {"k": taus["k"].to_list()}
        for system in ranked(rows):
            columns[system] = [
                " / ".join(number(at[way, k, system], 3) for way in (FOLDERS, CONSENSUS)) for k in columns["k"]
            ]
        ends = taus.select("tau", "lo", "hi").iter_rows()
        columns["tau"] = [f"{number(tau, 2)} [{number(lo, 2)}, {number(hi, 2)}]" for tau, lo, hi in ends]
        tables[measure] = pl.DataFrame(columns)
    return tables


def even(found: Cutoffs) -> pl.DataFrame:
    """F at the cut-off of R-precision: a row per system, the best by folders first, with its interval by either way."""
    at = _ends(found)
    first = found.even.filter(pl.col("way") == FOLDERS).sort("value", descending=True, nulls_last=True)
    order = first["system"].to_list()
    columns = {way: [_text(*at[way, one]) for one in order] for way in (FOLDERS, CONSENSUS)}
    return pl.DataFrame({"system": order, **columns})


def _ends(found: Cutoffs) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Way and system to F at the cut-off of R-precision and the ends of its interval."""
    return {(way, system): (value, lo, hi) for way, system, value, lo, hi in found.even.iter_rows()}


def _text(value: float, lo: float, hi: float) -> str:
    return f"{number(value, 3)} [{number(lo, 3)}, {number(hi, 3)}]"


def even_tau(found: Cutoffs) -> str:
    """What F at the cut-off of R-precision is, and how far the two orders agree."""
    tau, lo, hi = found.even_tau
    return (
        "The cut-off is the number of relevant items of each query, where precision, recall and F are one number. "
        f"Kendall's tau of the two orders: {number(tau, 2)} [{number(lo, 2)}, {number(hi, 2)}]."
    )


def _balanced(found: Cutoffs) -> Grid:
    at = _ends(found)
    rows = [
        [cells.name(system), *(cells.interval(*at[way, system]) for way in (FOLDERS, CONSENSUS))]
        for system in even(found)["system"]
    ]
    return Grid("F at the cut-off of R-precision", ("system", FOLDERS, CONSENSUS), rows, note=clean(even_tau(found)))


def _difference(row: dict[str, Any], way: str) -> str:
    lo, hi = number(row[f"{way}_lo"], 3), number(row[f"{way}_hi"], 3)
    return f"{signed(row[way], 3)} [{lo}, {hi}]"


def _curves(found: Cutoffs, measure: str) -> Chart:
    rows = found.values.filter(pl.col("measure") == measure)
    systems = ranked(rows)
    at = {(row["way"], row["k"], row["system"]): row for row in rows.iter_rows(named=True)}
    ways = (FOLDERS, CONSENSUS)
    lines = []
    for k in range(1, found.deepest + 1):
        line = [cells.Cell(f"{k}", k)]
        for way in ways:
            for one in (at[way, k, system] for system in systems):
                line.append(cells.interval(one["value"], one["lo"], one["hi"], 3))
        lines.append(line)
    heads = ("k", *(f"{clean(system)}, {way}" for way in ways for system in systems))
    name = capitalised(measure)
    return chart(
        partial(cutoff_curves, found.values, measure),
        heading=name,
        label=f"{name} of each system at cut-offs 1 to {found.deepest}, by folders and by consensus",
        caption=f"{name} of the first k items, by folders and by the consensus of the systems, with 95 % intervals.",
        grid=Grid(f"{name} at every cut-off, by folders and by consensus", heads, lines),
    )


def _taus(found: Cutoffs) -> Grid:
    rows = []
    for k in range(1, found.deepest + 1):
        row = [cells.Cell(f"{k}", k)]
        for measure in MEASURES:
            one = found.taus.filter((pl.col("measure") == measure) & (pl.col("k") == k)).row(0, named=True)
            row.append(cells.interval(one["tau"], one["lo"], one["hi"], 2))
        rows.append(row)
    return Grid("Kendall's tau of the orders by folders and by consensus", ("k", *MEASURES), rows)


def _alone(found: Cutoffs) -> Grid:
    rows = [
        [cells.name(system), cells.share(part), cells.number(precision, 3)]
        for system, part, precision in found.alone.select("system", "share", "precision").iter_rows()
    ]
    return Grid(
        f"Of the first {found.deepest} items, those that no other system returns",
        ("system", "share", "precision by folders"),
        rows,
        note="A consensus counts these items against a system. Where they are precise, it is wrong to do so: labels "
        "are best spent on them.",
    )


def _turned(found: Cutoffs) -> Grid:
    rows = [
        [
            cells.text(row["measure"]), cells.Cell(f"{row['k']}", row["k"]), cells.name(row["system"]),
            cells.name(row["other"]),
            *(cells.interval(row[way], row[f"{way}_lo"], row[f"{way}_hi"], 3) for way in (FOLDERS, CONSENSUS)),
        ]
        for row in found.turned.iter_rows(named=True)
    ]  # fmt: skip
    caption = "Pairs that are better by folders and worse by consensus, both intervals excluding 0"
    return Grid(caption, ("measure", "k", "system", "against", FOLDERS, CONSENSUS), rows)
