"""The page of a contest of retrieval systems over pictures: verdicts of several references, costs, and a gallery."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial

import polars as pl

from endoxa.evaluations.consensus import UNSTABLE
from endoxa.evaluations.contest import Course, Verdicts
from endoxa.evaluations.cutoffs import Cutoffs
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.sentences import best_or_near, consensual
from endoxa.evaluations.standings import SURE, chances
from endoxa.formatting import capitalised, chance, clean, counted, html_of, listed, number
from endoxa.frozen import dataclass
from endoxa.pools.deciding import LEAST
from endoxa.reports.figures.chance_matrix import better
from endoxa.reports.figures.label_curves import NOTABLE, label_curves, notable
from endoxa.reports.pages import cells, contest_cutoffs
from endoxa.reports.pages.gallery import Gallery
from endoxa.reports.pages.layout import Grid, Section, chart, cost_grid, render
from endoxa.tables import Costs
from endoxa.wording.evaluating import LIMITS_OF_CONSENSUS

LOW = 0.5  # P(best) of the leader below which the consensus itself is in doubt
OWN = 1 / 3  # share of items that no other system returns from which a system is named
NAMED = 3  # systems that a sentence names before it only counts them


@dataclass(frozen=True)
class Contest:
    """The content of the page. `meanings` has a line for each way of judging: what it takes for relevant."""

    title: str
    verdicts: Verdicts
    meanings: Mapping[str, str]
    costs: Costs | None = None
    ties: Mapping[str, float] = field(default_factory=dict)
    gallery: Gallery | None = None
    course: Course | None = None
    cutoffs: Cutoffs | None = None
    facts: Sequence[str] = ()
    warnings: Sequence[str] = ()
    remarks: Sequence[str] = ()  # about the systems: ties, pairs without a score
    notes: Sequence[str] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)


def page(contest: Contest) -> str:
    """The contest as one HTML file that opens offline."""
    found = contest.verdicts
    sections = [_side_by_side(contest), _labels(contest), _agreement(found), _better(found)]
    if contest.cutoffs is not None:
        sections.insert(1, contest_cutoffs.section(contest.cutoffs))
    if contest.costs is not None:
        sections.append(Section("costs", "Costs", "What the systems cost", grids=[cost_grid(contest.costs)]))
    policies = [f"{way}: {meaning}" for way, meaning in contest.meanings.items()]
    first = next(iter(found.ways.values()))
    return render(
        title=contest.title, answer=html_of(lambda name: answer(contest, name=name)), facts=contest.facts,
        warnings=[*contest.warnings, *contest.remarks],
        sections=sections, policies=[*policies, *first.policy.lines()],
        notes=contest.notes, provenance=contest.provenance, gallery=contest.gallery,
    )  # fmt: skip


def answer(contest: Contest, *, name: Callable[[str], str] = str) -> str:
    """What labels make of the consensus, which system leads under each way of judging, and how far the ways agree."""
    found = contest.verdicts
    leaders = []
    for way, leader in _leaders(found).items():
        own = found.standings.filter((pl.col("way") == way) & (pl.col("system") == leader))
        leaders.append(f"by {way}, {name(leader)} (best with probability {chance(own['p_best'][0])})")
    taus = [f"{number(tau, 2)} ({a} and {b})" for a, b, tau in found.agreement.iter_rows()]
    alike = f" Kendall's tau of the rankings: {'; '.join(taus)}." if taus else ""
    first = f"First on {found.measure}: {'; '.join(leaders)}.{_both(found)}{alike}{_lesson(found)}"
    return f"{turn(contest, name=name)} {first}".strip()


def turn(contest: Contest, *, name: Callable[[str], str] = str) -> str:
    """What labels say of the system that the consensus puts first; empty where nobody was asked.

    That both put the same system first is no agreement: `_both` counts the pairs that both decide.
    """
    course, voted = contest.course, _voted(contest.verdicts)
    if course is None or not voted:
        return ""
    leader = _leaders(contest.verdicts)[voted[0]]
    sure = f"{name(course.leader)} is {best_or_near(course.margin)} with probability {chance(course.chance)}"
    asked = f"{course.labels} labels of the folder names"
    open_ = "" if course.is_settled else f" That is not settled: {course.until:g} at two looks in a row would be."
    last = course.curve.filter((pl.col("labels") == pl.col("labels").max()) & (pl.col("system") == leader))["p_best"]
    if leader == course.leader:
        return f"After {asked}, {sure}.{open_} The consensus of the systems, without labels, puts it first."
    if len(last) and last[0] <= 1 - SURE:
        return (
            f"The consensus of the systems is doubtful: it puts {name(leader)} first, but after {asked} {sure}.{open_}"
        )
    return f"The consensus of the systems puts {name(leader)} first. After {asked}, {sure}.{open_}"


def _both(found: Verdicts) -> str:
    """How many pairs the consensus and the first other way both decide, and of these how many alike."""
    voted = _voted(found)
    ways = [*voted[:1], *[way for way in found.ways if way not in voted][:1]]
    if not voted or len(ways) < 2 or not set(ways) <= set(found.pairs.columns):
        return ""
    rows = [(a, b) for a, b in found.pairs.select(ways).iter_rows() if None not in (a, b) and not math.isnan(a + b)]
    both = [(a, b) for a, b in rows if max(a, 1 - a) >= SURE and max(b, 1 - b) >= SURE]
    alike = sum((a > 0.5) == (b > 0.5) for a, b in both)
    pairs = counted(len(rows), "pair", "pairs")
    if not both:
        return f" Of {pairs}, {ways[0]} and {ways[1]} both decide none." if rows else ""
    return f" {capitalised(ways[0])} and {ways[1]} both decide {len(both)} of {pairs}, {alike} of them alike."


def doubt(found: Verdicts) -> str:
    """That an order without labels is a guess, and what makes this one doubtful; empty without a consensus."""
    voted = _voted(found)
    if not voted:
        return ""
    one, leader = found.ways[voted[0]], _leaders(found)[voted[0]]
    reasons, steady = [], ""
    own = found.standings.filter((pl.col("way") == voted[0]) & (pl.col("system") == leader))["p_best"][0]
    if own is not None and own < LOW:
        reasons.append(f"even within the consensus it is the best only with probability {chance(own)}")
    if "depths" in one.tables:
        lowest = one.tables["depths"].fill_nan(None).sort("tau", nulls_last=True).row(0, named=True)
        tau = number(lowest["tau"], 2)
        ahead = "" if lowest["leader"] == leader else f", where {lowest['leader']} is first"
        if lowest["tau"] is not None and lowest["tau"] < UNSTABLE:
            reasons.append(
                f"the order changes with the vote depth (Kendall's tau {tau} at depth {lowest['depth']}{ahead})"
            )
        elif lowest["tau"] is not None:
            least = "above 0.99" if tau == "1.00" else f"{tau} or more"
            alike = "the same" if lowest["tau"] > 1 - 1e-9 else f"nearly the same (Kendall's tau {least})"
            steady = f" At other vote depths the order is {alike}."
    if lonely := _lonely(one, found.measure):
        reasons.append(
            f"a third or more of the first items of {listed(lonely, NAMED)} are returned by no other system, which "
            "counts against a system whether it is wrong or better than the others"
        )
    guess = f"Without labels an order is a guess. The consensus puts {leader} first on {found.measure}"
    if not reasons:
        return f"{guess}. Nothing in the runs speaks against it, but no sign without labels is reliable.{steady}"
    return f"{guess}, and this is doubtful: {'; '.join(reasons)}.{steady}"


def _lonely(one: Evaluation, measure: str) -> list[str]:
    """The systems many of whose items no other returns, with the share. One that does not beat ⊤ is no news."""
    if "unique" not in one.summary.columns:
        return []
    rows = one.summary.filter(pl.col("measure") == measure)
    if len(marks := rows.filter(pl.col("system") == (one.virtual or ""))["value"]):
        rows = rows.filter(pl.col("value") < marks[0] if measure in one.lower else pl.col("value") > marks[0])
    rows = rows.filter(pl.col("unique") >= OWN).sort("unique", "system", descending=[True, False])
    return [f"{system} ({share:.0%})" for system, share in rows.select("system", "unique").iter_rows()]


def _voted(found: Verdicts) -> list[str]:
    return [way for way, one in found.ways.items() if consensual(one)]


def _leaders(found: Verdicts) -> dict[str, str]:
    return {way: found.standings.filter(pl.col("way") == way)["system"][0] for way in found.ways}


def _lesson(found: Verdicts) -> str:
    """Why the consensus and the labels may disagree on the first place, where they do."""
    voted, leaders = _voted(found), _leaders(found)
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
            strong = row["p_best"] is not None and row["p_best"] >= SURE
            line.append(cells.number(row["value"], 3, small=small, strong=strong))
        line += [cells.share(contest.ties[system])] if contest.ties else []
        rows.append(line)
    confidence = 100 * next(iter(found.ways.values())).confidence
    heads = ("system", *found.ways, *(("ranks tied",) if contest.ties else ()))
    note = (
        f"Means over the queries; below each its place and its {confidence:g} % interval with all doubts. Numbers of "
        f"different columns have no common scale: compare the rankings. Bold: best with P ≥ {SURE:g}."
    )
    lines = [f"{capitalised(clean(way))}: {meaning}." for way, meaning in contest.meanings.items()]
    lines += [LIMITS_OF_CONSENSUS] if any(consensual(one) for one in found.ways.values()) else []
    several = "1 way" if len(found.ways) == 1 else f"{len(found.ways)} ways"
    grid = Grid(f"{found.measure}, judged in {several}", heads, rows, sorted_by=1, note=note)
    return Section("verdicts", "Verdicts", "The same systems, judged side by side", lines, [grid])


def _labels(contest: Contest) -> Section | None:
    course = contest.course
    if course is None:
        return None
    systems = notable(course.curve)
    after = course.curve.pivot("system", index="labels", values="p_best").sort("labels")
    sure = f"{best_or_near(course.margin)} with probability {chance(course.chance)}"
    best = f"{course.leader} is {sure} after {course.labels} labels"
    lines = [
        doubt(contest.verdicts),
        f"Asked for labels of the folder names, {best}"
        f"{'' if course.is_settled else ', which does not settle it'}. The pairs are "
        "chosen as endoxa decide chooses them for people: by chance, more often where a label says more about which "
        "system is the best.",
    ]
    rows = [
        [cells.Cell(f"{row['labels']}", row["labels"]), *(cells.chance(row[system]) for system in systems)]
        for row in after.iter_rows(named=True)
    ]
    drawing = chart(
        partial(label_curves, course.curve, course.until),
        heading="P(best) by labels",
        label=f"Probability of each system to be the best on {course.measure}, by the number of labels given: {best}",
        caption=f"P(best) on {course.measure} by the number of labels given. Above the dashed line it counts as "
        f"settled, but never before {LEAST} labels. Systems that never lead and stay below {NOTABLE:g} are left out.",
        grid=Grid(f"P(best) on {course.measure} by labels given", ("labels", *map(clean, systems)), rows),
    )
    return Section(
        "labels", "Labels", "What a few labels change", [clean(line) for line in lines if line], charts=[drawing]
    )


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
