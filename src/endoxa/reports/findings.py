"""What the tables say, in order and in words: who is best, above whom, and how surely."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from endoxa.errors import EndoxaError, did_you_mean
from endoxa.reports.labels import counts, number, probability

if TYPE_CHECKING:
    from endoxa.reports import Report
    from endoxa.tables import Comparison

DOUBTS = ("all", "queries", "people", "truth")


@dataclass(frozen=True)
class Standing:
    """One system's row of the summary for one measure. `lo` and `hi` are NaN where there is no interval."""

    system: str
    value: float
    lo: float
    hi: float
    queries: int
    undefined: int


@dataclass(frozen=True)
class Pair:
    """`system` minus `baseline`. `p` is adjusted for the number of comparisons where such a value exists."""

    system: str
    baseline: str
    difference: float
    lo: float
    hi: float
    p: float
    adjusted: bool
    test: str

    def differs(self, alpha: float) -> bool:
        """Whether the difference can be told from none: by the p-value, or by the interval where there is no p."""
        if not math.isnan(self.p):
            return self.p < alpha
        return self.lo > 0 or self.hi < 0

    def turned(self) -> Pair:
        """The same pair, seen from the other side."""
        return Pair(
            self.baseline,
            self.system,
            -self.difference,
            -self.hi,
            -self.lo,
            self.p,
            self.adjusted,
            self.test,
        )


def ranking(summary: pl.DataFrame, measure: str, *, lower: bool = False) -> list[Standing]:
    """Systems best first; undefined ones last; equal ones in the order given. `lower`: small values are better."""
    rows = summary.filter(pl.col("measure") == measure)
    if not rows.height:
        known = summary["measure"].unique(maintain_order=True).to_list()
        raise EndoxaError(
            f"the summary has no measure {measure!r}{did_you_mean(measure, known)} (there are: {', '.join(known)})"
        )
    found = [
        Standing(
            row["system"],
            _float(row["value"]),
            _float(row["lo"]),
            _float(row["hi"]),
            int(row["queries"] or 0),
            int(row["undefined"] or 0),
        )
        for row in rows.iter_rows(named=True)
    ]
    sign = 1 if lower else -1
    return sorted(found, key=lambda one: (math.isnan(one.value), 0 if math.isnan(one.value) else sign * one.value))


def headline(report: Report) -> str:
    """The measure that the verdict is about: the first asked for that is not a mere count."""
    known = report.summary["measure"].unique(maintain_order=True).to_list()
    asked = [measure for measure in report.scores.measures if measure in known] or known
    if not asked:
        raise EndoxaError("the summary is empty: a report needs at least one measure")
    whole = counts(report.summary)
    return next((measure for measure in asked if measure not in whole), asked[0])


def pairs_of(comparison: Comparison, measure: str) -> list[Pair]:
    """The pairs compared on a measure, each once, as they stand in the table.

    Where a pair was compared under several doubts, the one that holds them all counts; where by several
    tests, the first.
    """
    rows = comparison.frame.filter(pl.col("measure") == measure)
    order = {doubt: place for place, doubt in enumerate(DOUBTS)}
    corrected = bool(correction(comparison))
    found: dict[frozenset[str], tuple[int, Pair]] = {}
    for row in rows.iter_rows(named=True):
        adjusted = corrected and not math.isnan(_float(row["p_adjusted"]))
        pair = Pair(
            row["system"],
            row["baseline"],
            _float(row["difference"]),
            _float(row["lo"]),
            _float(row["hi"]),
            _float(row["p_adjusted"] if adjusted else row["p_value"]),
            adjusted,
            row["test"] or "",
        )
        key = frozenset((pair.system, pair.baseline))
        place = order.get(row["doubt"], len(order))
        if key not in found or place < found[key][0]:
            found[key] = place, pair
    return [pair for _, pair in found.values()]


def pair_of(comparison: Comparison | None, measure: str, system: str, baseline: str) -> Pair | None:
    """`system` against `baseline`, whichever way round it stands in the table."""
    for pair in pairs_of(comparison, measure) if comparison else ():
        if (pair.system, pair.baseline) == (system, baseline):
            return pair
        if (pair.baseline, pair.system) == (system, baseline):
            return pair.turned()
    return None


def rival(report: Report, measure: str) -> tuple[str, str] | None:
    """The best system and whom to hold it against: the baseline if one is named, else the runner-up.

    None with fewer than two systems that have a value.
    """
    standings = [
        one for one in ranking(report.summary, measure, lower=measure in report.lower) if one.value == one.value
    ]
    if len(standings) < 2:
        return None
    best = standings[0].system
    names = [one.system for one in standings[1:]]
    return best, report.baseline if report.baseline in names else names[0]


def undecided(report: Report, measure: str) -> tuple[int, int] | None:
    """(how many systems cannot be told apart from the best, how many were compared with it); None without any."""
    if not report.comparison:
        return None
    best = ranking(report.summary, measure, lower=measure in report.lower)[0].system
    against = [pair for pair in pairs_of(report.comparison, measure) if best in (pair.system, pair.baseline)]
    if not against:
        return None
    return sum(not pair.differs(1 - report.level) for pair in against), len(against)


def verdict(report: Report, measure: str | None = None, *, name: Callable[[str], str] = str) -> str:
    """One sentence: who is best on the measure (the headline, if none is named), by how much, how surely.

    `name` is applied to everything that came from outside (systems, measures): a page escapes there.
    """
    measure = measure or headline(report)
    lower = measure in report.lower
    standings = [one for one in ranking(report.summary, measure, lower=lower) if not math.isnan(one.value)]
    what = name(measure)
    if not standings:
        return f"{what} is undefined for every system: there is nothing to compare."
    best = standings[0]
    queries = f"over {best.queries} quer{'y' if best.queries == 1 else 'ies'}"
    if len(standings) == 1:
        interval = "" if math.isnan(best.lo) else f", {_interval(best.lo, best.hi, 4, report.level)}"
        others = report.summary["system"].n_unique() - 1
        alone = f"{what} is undefined for all others" if others else "there is no other system to hold it against"
        return f"{name(best.system)} has {what} {number(best.value)} ({queries}{interval}); {alone}."
    extreme = "lowest" if lower else "highest"
    equals = [one for one in standings if one.value == best.value]
    if len(equals) == len(standings) > 2:
        return f"All {len(standings)} systems have the same {what}, {number(best.value)} ({queries})."
    _, other = rival(report, measure) or ("", standings[1].system)
    opponent = next(one for one in standings if one.system == other)
    role = f"the baseline {name(other)}" if other == report.baseline else f"the runner-up {name(other)}"
    lead = f"{name(best.system)} has the {extreme} {what}, {number(best.value)} ({queries})"
    if opponent.value == best.value:
        lead = f"{name(best.system)} and {name(other)} share the {extreme} {what}, {number(best.value)} ({queries})"
    pair = pair_of(report.comparison, measure, best.system, other)
    if pair is None:
        if opponent.value == best.value:
            return f"{lead}; no test was made."
        gap = abs(best.value - opponent.value)
        distance = f"{number(gap, _decimals(gap))} {_side(lower)} {role}"
        return f"{lead}, {distance}; whether that is more than chance was not tested."
    return f"{lead}{_against(report, pair, name, role, lower=lower, shared=opponent.value == best.value)}."


def _against(report: Report, pair: Pair, name: Callable[[str], str], role: str, *, lower: bool, shared: bool) -> str:
    decimals = _decimals(pair.difference)
    how = [_interval(pair.lo, pair.hi, decimals, report.level)] if not math.isnan(pair.lo) else []
    if not math.isnan(pair.p):
        name_of = correction(report.comparison) if report.comparison and pair.adjusted else ""
        how.append(probability(pair.p) + (f" after {name_of}" if name_of else ", not adjusted"))
    doubt = f" ({', '.join(how)})" if how else ""
    gap = f"{number(abs(pair.difference), decimals)}{doubt}"
    if not pair.differs(1 - report.level):
        told = "they cannot be told apart" if shared else f"but cannot be told apart from {role}"
        return f"{'; ' if shared else ', '}{told}: the difference is {number(pair.difference, decimals)}{doubt}"
    if (pair.difference < 0) != lower:
        # The means need not be over the same queries; the paired difference is.
        return f"; on the queries that both answered, however, {name(pair.baseline)} is {_side(lower)} it by {gap}"
    return f", and is {_side(lower)} {role} by {gap}"


def correction(comparison: Comparison) -> str:
    """Name of the correction for several comparisons, as the comparison's notes give it; empty if there was none."""
    line = next((note for note in comparison.notes if note.lower().startswith("correction")), None)
    text = (line or " ".join(comparison.notes)).lower()
    known = {"tukey": "Tukey HSD", "holm": "Holm", "benjamini": "Benjamini–Hochberg", "bonferroni": "Bonferroni"}
    found = next((proper for word, proper in known.items() if word in text), None)
    return found or ("" if line and "none" in text else "adjustment")


def best_values(summary: pl.DataFrame, lower: Collection[str], skip: Collection[str]) -> dict[str, float]:
    """The best value of each measure at four decimals; measures where all are equal, and counts, have none."""
    best = {}
    for measure in summary["measure"].unique(maintain_order=True).to_list():
        values = [one.value for one in ranking(summary, measure, lower=measure in lower)]
        printed = {round(value, 4) for value in values if not math.isnan(value)}
        if measure not in skip and len(printed) > 1:
            best[measure] = min(printed) if measure in lower else max(printed)
    return best


def _side(lower: bool) -> str:
    return "below" if lower else "above"


def _decimals(difference: float) -> int:
    return 3 if abs(difference) >= 0.005 else 4


def _interval(lo: float, hi: float, decimals: int, level: float) -> str:
    return f"{100 * level:g} % interval {number(lo, decimals)} to {number(hi, decimals)}"


def _float(value: float | None) -> float:
    return math.nan if value is None else float(value)
