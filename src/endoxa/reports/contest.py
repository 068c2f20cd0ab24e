"""The page of a contest of retrieval systems over pictures: verdicts of several ways, costs, and a gallery."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import polars as pl

from endoxa.evaluations.contest import Verdicts
from endoxa.reports import doubts
from endoxa.reports.costs import cost_grid
from endoxa.reports.gallery import Gallery
from endoxa.reports.html import Chart, _chance, _chart, _escaped, _name, _number
from endoxa.reports.labels import clean, number, share
from endoxa.reports.sections import Section, render
from endoxa.reports.tables import Cell, Grid
from endoxa.tables import Costs

PARTED = 0.9  # the probability from which a way is said to hold one system better


@dataclass(frozen=True)
class Contest:
    """All that the page tells. `meanings` says of each way in a line what is taken for relevant."""

    title: str
    verdicts: Verdicts
    meanings: Mapping[str, str]
    costs: Costs | None = None
    ties: Mapping[str, float] = field(default_factory=dict)
    gallery: Gallery | None = None
    facts: Sequence[str] = ()
    warnings: Sequence[str] = ()
    remarks: Sequence[str] = ()  # on what systems did: ties, pairs without a score
    notes: Sequence[str] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)


def page(contest: Contest) -> str:
    """The contest as one HTML file that opens offline."""
    ids = count(1)
    found = contest.verdicts
    sections = [_side_by_side(contest), _agreement(contest), _better(contest, ids)]
    if contest.costs is not None:
        sections.append(Section("costs", "Costs", "What it costs", grids=[cost_grid(contest.costs)]))
    policies = [f"{way}: {meaning}" for way, meaning in contest.meanings.items()]
    first = next(iter(found.ways.values()))
    return render(
        title=contest.title,
        verdict=verdict(found, name=_escaped),
        facts=contest.facts,
        warnings=[*contest.warnings, *contest.remarks],
        sections=[section for section in sections if section is not None],
        policies=[*policies, *first.scores.policy.lines()],
        notes=contest.notes,
        provenance=contest.provenance,
        gallery=contest.gallery,
    )


def verdict(found: Verdicts, *, name: Callable[[str], str] = str) -> str:
    """Who leads under each way, how surely, and how far the orders agree."""
    said = []
    for way in found.ways:
        own = found.standings.filter(pl.col("way") == way)
        leader, sure = own.row(0, named=True)["system"], own.row(0, named=True)["p_best"]
        said.append(f"by {way}, {name(leader)} (best with probability {doubts.chance(sure)})")
    taus = [f"{number(t, 2)} ({a} and {b})" for a, b, t in found.agreement.iter_rows()]
    alike = f" Kendall's tau of the orders: {'; '.join(taus)}." if taus else ""
    return f"First on {found.measure}: {'; '.join(said)}.{alike}{_lesson(found)}"


def _lesson(found: Verdicts) -> str:
    """Where the consensus parts with the labels on who is first: why that may be."""
    consensual = [way for way, one in found.ways.items() if doubts.consensual(one)]
    leaders = {way: found.standings.filter(pl.col("way") == way)["system"][0] for way in found.ways}
    others = {leaders[way] for way in found.ways if way not in consensual}
    if not consensual or not others or leaders[consensual[0]] in others:
        return ""
    return (
        " Consensus favours what several systems return; a lone better one, whose finds nobody confirms, it cannot see."
    )


def _side_by_side(contest: Contest) -> Section:
    found = contest.verdicts
    at = {(row["way"], row["system"]): row for row in found.standings.iter_rows(named=True)}
    order = found.standings.filter(pl.col("way") == next(iter(found.ways)))["system"].to_list()
    rows = []
    for system in order:
        cells = [_name(system)]
        for way in found.ways:
            row = at[way, system]
            cells.append(
                Cell(
                    number(row["value"], 3),
                    "" if row["value"] is None or math.isnan(row["value"]) else row["value"],
                    small=f"{_place(row['place'])} · [{number(row['lo'], 3)}, {number(row['hi'], 3)}]",
                    strong=row["place"] == 1,
                )
            )
        cells += [Cell(share(contest.ties[system], 1), contest.ties[system])] if contest.ties else []
        rows.append(cells)
    level = 100 * next(iter(found.ways.values())).level
    heads = ("system", *found.ways, *(("ranks tied",) if contest.ties else ()))
    note = (
        f"Mean over the queries; below it the place and the middle {level:g} % of what it may be, all doubts in. "
        "Numbers of different columns are not on one scale: compare the orders."
    )
    lines = [f"{_upper(way)}: {meaning}." for way, meaning in contest.meanings.items()]
    lines += [f"On the consensus. {clean(one.sentence)}" for one in found.ways.values() if one.sentence]
    several = "1 way" if len(found.ways) == 1 else f"{len(found.ways)} ways"
    grid = Grid(f"{found.measure}, judged in {several}", heads, rows, sorted_by=1, note=note)
    return Section("verdicts", "Verdicts", "The same systems, judged side by side", lines, [grid])


def _agreement(contest: Contest) -> Section | None:
    found = contest.verdicts
    if len(found.ways) < 2:
        return None
    rows = [[_name(a), _name(b), _number(t, 2)] for a, b, t in found.agreement.iter_rows()]
    taus = Grid("Kendall's tau of the orders of all systems", ("way", "other way", "tau"), rows)
    ways = list(found.ways)
    known = [(row, [row[way] for way in ways]) for row in found.pairs.iter_rows(named=True) if set(ways) <= set(row)]
    told = [(row, chances) for row, chances in known if not any(p is None or math.isnan(p) for p in chances)]
    told.sort(key=lambda pair: min(pair[1]) - max(pair[1]))
    against = sum(max(chances) >= PARTED and min(chances) <= 1 - PARTED for _, chances in told)
    agreed = sum(min(chances) >= PARTED or max(chances) <= 1 - PARTED for _, chances in told)
    lines = [
        f"Of {len(told)} pairs of systems, all ways hold the same one better in {agreed} (with probability "
        f"{PARTED:g} or more each); in {against} one way holds the one better and another way the other."
    ]
    pairs = [[_name(row["system"]), _name(row["baseline"]), *map(_chance, chances)] for row, chances in told]
    grid = Grid(
        f"P(better) of pairs on {found.measure}, ties counted half; those that the ways part on most first",
        ("system", "against", *ways),
        pairs,
    )
    return Section("agreement", "Agreement", "Where the verdicts part", lines, [taus], below=grid)


def _better(contest: Contest, ids: count[int]) -> Section | None:
    found = contest.verdicts
    charts: list[Chart] = []
    for way, one in found.ways.items():
        pairs = doubts.chances(one, found.measure)
        if not pairs:
            continue
        rows = [
            [_name(pair.system), _name(pair.against), *(_chance(p, 3) for p in (pair.better, pair.tie, pair.worse))]
            for pair in pairs
        ]
        charts.append(
            _chart(
                lambda width, one=one: doubts.better(one, found.measure, width=width),  # type: ignore[misc]
                ids,
                heading=_upper(way),
                label=f"Probability that one system is better than another on {found.measure}: {way}",
                caption=f"{_upper(way)}. Systems are numbered, best first."
                + (" ⊤ returns everything: who is no better tells nothing." if one.baseline else ""),
                grid=Grid(
                    f"{found.measure}: pairs, {way}", ("system", "against", "P(better)", "P(equal)", "P(worse)"), rows
                ),
            )
        )
    return Section("better", "Who is better", "Who is better than whom", charts=charts) if charts else None


def _place(place: int) -> str:
    return f"{place}{'th' if 10 < place % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(place % 10, 'th')}"


def _upper(text: str) -> str:
    return clean(text)[:1].upper() + clean(text)[1:]
