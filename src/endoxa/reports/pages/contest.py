"""The page of a contest of retrieval systems over pictures: verdicts of several references, costs, and a gallery."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import polars as pl

from endoxa.evaluations.contest import Verdicts
from endoxa.evaluations.sentences import LIMITS_OF_CONSENSUS, consensual
from endoxa.evaluations.standings import chances
from endoxa.formatting import capitalised, chance, clean, html_of, number
from endoxa.reports.figures.chance_matrix import better
from endoxa.reports.pages import cells
from endoxa.reports.pages.gallery import Gallery
from endoxa.reports.pages.layout import Grid, Section, chart, cost_grid, render
from endoxa.tables import Costs

SURE = 0.9  # probability from which a reference is said to prefer one system


@dataclass(frozen=True)
class Contest:
    """The content of the page. `meanings` has a line for each way of judging: what it takes for relevant."""

    title: str
    verdicts: Verdicts
    meanings: Mapping[str, str]
    costs: Costs | None = None
    ties: Mapping[str, float] = field(default_factory=dict)
    gallery: Gallery | None = None
    facts: Sequence[str] = ()
    warnings: Sequence[str] = ()
    remarks: Sequence[str] = ()  # about the systems: ties, pairs without a score
    notes: Sequence[str] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)


def page(contest: Contest) -> str:
    """The contest as one HTML file that opens offline."""
    found = contest.verdicts
    sections = [_side_by_side(contest), _agreement(found), _better(found)]
    if contest.costs is not None:
        sections.append(Section("costs", "Costs", "What the systems cost", grids=[cost_grid(contest.costs)]))
    policies = [f"{way}: {meaning}" for way, meaning in contest.meanings.items()]
    first = next(iter(found.ways.values()))
    return render(
        title=contest.title, answer=html_of(lambda name: answer(found, name=name)), facts=contest.facts,
        warnings=[*contest.warnings, *contest.remarks],
        sections=sections, policies=[*policies, *first.policy.lines()],
        notes=contest.notes, provenance=contest.provenance, gallery=contest.gallery,
    )  # fmt: skip


def answer(found: Verdicts, *, name: Callable[[str], str] = str) -> str:
    """Which system leads under each way of judging, how sure that is, and how far the rankings agree."""
    leaders = []
    for way, leader in _leaders(found).items():
        own = found.standings.filter((pl.col("way") == way) & (pl.col("system") == leader))
        leaders.append(f"by {way}, {name(leader)} (best with probability {chance(own['p_best'][0])})")
    taus = [f"{number(tau, 2)} ({a} and {b})" for a, b, tau in found.agreement.iter_rows()]
    alike = f" Kendall's tau of the rankings: {'; '.join(taus)}." if taus else ""
    return f"First on {found.measure}: {'; '.join(leaders)}.{alike}{_lesson(found)}"


def _leaders(found: Verdicts) -> dict[str, str]:
    return {way: found.standings.filter(pl.col("way") == way)["system"][0] for way in found.ways}


def _lesson(found: Verdicts) -> str:
    """Why the consensus and the labels may disagree on the first place, where they do."""
    voted = [way for way, one in found.ways.items() if consensual(one)]
    leaders = _leaders(found)
    others = {leaders[way] for way in found.ways if way not in voted}
    if not voted or not others or leaders[voted[0]] in others:
        return ""
    return (
        " A consensus favours what several systems return; it cannot recognise a single better system whose results "
        "no other system confirms."
    )


def _side_by_side(contest: Contest) -> Section:
    found = contest.verdicts
    at = {(row["way"], row["system"]): row for row in found.standings.iter_rows(named=True)}
    order = found.standings.filter(pl.col("way") == next(iter(found.ways)))["system"].to_list()
    rows = []
    for system in order:
        line = [cells.name(system)]
        for way in found.ways:
            row = at[way, system]
            small = f"{_place(row['place'])} · [{number(row['lo'], 3)}, {number(row['hi'], 3)}]"
            line.append(cells.number(row["value"], 3, small=small, strong=row["place"] == 1))
        line += [cells.share(contest.ties[system])] if contest.ties else []
        rows.append(line)
    confidence = 100 * next(iter(found.ways.values())).confidence
    heads = ("system", *found.ways, *(("ranks tied",) if contest.ties else ()))
    note = (
        f"Means over the queries; below each its place and its {confidence:g} % interval with all doubts. Numbers of "
        "different columns have no common scale: compare the rankings."
    )
    lines = [f"{capitalised(clean(way))}: {meaning}." for way, meaning in contest.meanings.items()]
    lines += [LIMITS_OF_CONSENSUS] if any(consensual(one) for one in found.ways.values()) else []
    several = "1 way" if len(found.ways) == 1 else f"{len(found.ways)} ways"
    grid = Grid(f"{found.measure}, judged in {several}", heads, rows, sorted_by=1, note=note)
    return Section("verdicts", "Verdicts", "The same systems, judged side by side", lines, [grid])


def _agreement(found: Verdicts) -> Section | None:
    ways = list(found.ways)
    if len(ways) < 2:
        return None
    taus = Grid(
        "Kendall's tau of the rankings of all systems",
        ("way", "other way", "tau"),
        [[cells.name(a), cells.name(b), cells.number(tau, 2)] for a, b, tau in found.agreement.iter_rows()],
    )
    rows = [(row, [row[way] for way in ways]) for row in found.pairs.iter_rows(named=True) if set(ways) <= set(row)]
    known = [(row, own) for row, own in rows if not any(p is None or math.isnan(p) for p in own)]
    known.sort(key=lambda pair: min(pair[1]) - max(pair[1]))
    against = sum(max(own) >= SURE and min(own) <= 1 - SURE for _, own in known)
    agreed = sum(min(own) >= SURE or max(own) <= 1 - SURE for _, own in known)
    line = (
        f"Of {len(known)} pairs of systems, all ways prefer the same system in {agreed} (each with probability "
        f"{SURE:g} or more); in {against}, one way prefers one system and another way the other."
    )
    pairs = [[cells.name(row["system"]), cells.name(row["baseline"]), *map(cells.chance, own)] for row, own in known]
    caption = f"P(better) of pairs on {found.measure}, ties counted half, the largest disagreement first"
    grid = Grid(caption, ("system", "against", *ways), pairs)
    return Section("agreement", "Agreement", "Where the verdicts disagree", [line], [taus], below=grid)


def _better(found: Verdicts) -> Section | None:
    charts = []
    for way, one in found.ways.items():
        pairs = chances(one, found.measure)
        if not pairs:
            continue
        rows = [[*map(cells.name, (pair.system, pair.against)), *cells.chances(pair)] for pair in pairs]
        heads = ("system", "against", "P(better)", "P(equal)", "P(worse)")
        caption = f"{capitalised(clean(way))}. Systems are numbered, best first."
        if one.virtual:
            caption += f" {one.virtual} returns everything: a system that does not beat it carries no information."
        charts.append(
            chart(
                partial(better, one, found.measure),
                heading=capitalised(clean(way)),
                label=f"Probability that one system is better than another on {found.measure}: {way}",
                caption=caption,
                grid=Grid(f"{found.measure}: pairs, {way}", heads, rows),
            )
        )
    return Section("better", "Who is better", "Which system is better than which", charts=charts) if charts else None


def _place(place: int) -> str:
    return f"{place}{'th' if 10 < place % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(place % 10, 'th')}"
