"""What an evaluation says as values: the systems in order, pairs of systems, and parts of the doubt."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from endoxa.errors import EndoxaError, unknown
from endoxa.frozen import dataclass
from endoxa.later import pl
from endoxa.measures.grammar import parse

if TYPE_CHECKING:
    from endoxa.evaluations.evaluation import Evaluation
    from endoxa.tables import Comparison

WIDEST = ("all", "queries", "people", "truth")  # doubts that a pair may be compared under, the widest first
SURE = 0.95  # probability from which a pair counts as decided, where no interval decides it
DOUBTS = ("truth", "people", "queries")  # where doubt comes from, in the order of every table and figure


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
    """`system` minus `baseline`. `p` is adjusted for the number of comparisons where such a value exists.

    effect   mean of the differences over their deviation; NaN where it is unknown
    """

    system: str
    baseline: str
    difference: float
    lo: float
    hi: float
    p: float
    adjusted: bool
    effect: float = math.nan
    queries: int = 0

    def differs(self, alpha: float) -> bool:
        """Whether the difference is significant: by the p-value, or by the interval where there is no p-value."""
        if not math.isnan(self.p):
            return self.p < alpha
        return self.lo > 0 or self.hi < 0

    def turned(self) -> Pair:
        """The same pair, seen from the other side."""
        return Pair(
            self.baseline, self.system, -self.difference, -self.hi, -self.lo, self.p, self.adjusted, -self.effect,
            self.queries,
        )  # fmt: skip


@dataclass(frozen=True)
class Chances:
    """Probabilities that `system` is better than, equal to and worse than `against`, and their difference.

    by_chance  the pair is told apart by P(better), not by the interval: so with labels, where few measures have one
    """

    system: str
    against: str
    better: float
    tie: float
    worse: float
    difference: float
    lo: float
    hi: float
    by_chance: bool

    @property
    def superiority(self) -> float:
        """P(better) + P(tie)/2: a half where neither is ahead."""
        return self.better + self.tie / 2

    @property
    def differs(self) -> bool:
        """Whether the two can be told apart: P(better) of one is at least .95, or the interval excludes 0."""
        if self.by_chance:
            return max(self.superiority, 1 - self.superiority) >= SURE
        return self.lo > 0 or self.hi < 0

    def turned(self) -> Chances:
        """The same pair, seen from the other side."""
        return Chances(
            self.against, self.system, self.worse, self.tie, self.better, -self.difference, -self.hi, -self.lo,
            self.by_chance,
        )  # fmt: skip


Rows = Sequence[Mapping[str, Any]]


def modelled(measure: str) -> str:
    """The name of a measure at learned relevance: `modelled AP` is a ratio of expectations, P@10 an expectation."""
    linear = parse(measure).linear
    return f"modelled {measure}" if linear is not None and linear.ratio else measure


def title_of(evaluation: Evaluation, measure: str) -> str:
    """The measure as tables and sentences name it: what labels teach has a name of its own."""
    return modelled(measure) if evaluation.is_modelled else measure


def _rows(summary: pl.DataFrame | Rows) -> Rows:
    """The rows of a summary: quick commands have no frame."""
    return summary if isinstance(summary, list) else summary.to_dicts()  # type: ignore[union-attr]


def ranking(summary: pl.DataFrame | Rows, measure: str, *, lower: bool = False) -> list[Standing]:
    """Systems best first; undefined ones last; equal ones in the order given. `lower`: small values are better."""
    every = _rows(summary)
    rows = [row for row in every if row["measure"] == measure]
    if not rows:
        known = list(dict.fromkeys(row["measure"] for row in every))
        there = f"there are: {', '.join(known)}"
        raise unknown(EndoxaError, f"the summary has no measure {measure!r}", measure, known, listed=there)
    found = [
        Standing(
            row["system"],
            _float(row["value"]),
            _float(row["lo"]),
            _float(row["hi"]),
            int(row["queries"] or 0),
            int(row["undefined"] or 0),
        )
        for row in rows
    ]
    sign = 1 if lower else -1
    return sorted(found, key=lambda one: (math.isnan(one.value), 0 if math.isnan(one.value) else sign * one.value))


def order_of(evaluation: Evaluation, measure: str) -> list[Standing]:
    """All systems best first, the virtual one in its place; of a bundle by its first kind of judgment."""
    rows = [row for row in evaluation.rows if row.get("by") == evaluation.rows[0].get("by")]
    return ranking(rows, measure, lower=measure in evaluation.lower)


def contenders(evaluation: Evaluation, measure: str) -> list[Standing]:
    """Systems best first, without the virtual one."""
    return [one for one in order_of(evaluation, measure) if one.system != evaluation.virtual]


def counts(summary: pl.DataFrame | Rows) -> frozenset[str]:
    """Measures that count things (NumRet, NumRel): whole numbers without an interval, at least one above 1."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in _rows(summary):
        found.setdefault(row["measure"], []).append(row)
    return frozenset(measure for measure, rows in found.items() if _is_count(measure, rows))


def _is_count(measure: str, rows: Rows) -> bool:
    if any(row["lo"] is not None or row["hi"] is not None for row in rows):
        return False
    values = [row["value"] for row in rows if row["value"] is not None]
    if any(math.isfinite(value) and value != round(value) for value in values):
        return False
    return measure.lower().startswith("num") or any(value > 1 for value in values)


def headline(evaluation: Evaluation) -> str:
    """The measure that the answer is about: the first one that is not a count."""
    if not evaluation.measures:
        raise EndoxaError("the summary is empty: an evaluation needs at least one measure")
    asked = evaluation.scores.measures if evaluation.scores is not None else []
    known = [measure for measure in asked if measure in evaluation.measures] or evaluation.measures
    whole = counts(evaluation.rows)
    return next((measure for measure in known if measure not in whole), known[0])


def pairs_of(comparison: Comparison, measure: str) -> list[Pair]:
    """The pairs compared on a measure, each once, in the order of the table.

    Where a pair was compared under several doubts, the widest counts; where by several tests, the first.
    """
    rows = comparison.frame.filter(pl.col("measure") == measure)
    order = {doubt: place for place, doubt in enumerate(WIDEST)}
    corrected = bool(correction(comparison))
    found: dict[frozenset[str], tuple[int, Pair]] = {}
    for row in rows.iter_rows(named=True):
        adjusted = corrected and not math.isnan(_float(row["p_adjusted"]))
        pair = Pair(
            row["system"], row["baseline"], _float(row["difference"]), _float(row["lo"]), _float(row["hi"]),
            _float(row["p_adjusted"] if adjusted else row["p_value"]), adjusted, _float(row["effect"]),
            int(row["queries"] or 0),
        )  # fmt: skip
        key = frozenset((pair.system, pair.baseline))
        place = order.get(row["doubt"], len(order))
        if key not in found or place < found[key][0]:
            found[key] = place, pair
    return [pair for _, pair in found.values()]


def pair_of(comparison: Comparison | None, measure: str, system: str, baseline: str) -> Pair | None:
    """`system` against `baseline`, in whichever order the table has them."""
    for pair in pairs_of(comparison, measure) if comparison else ():
        if (pair.system, pair.baseline) == (system, baseline):
            return pair
        if (pair.baseline, pair.system) == (system, baseline):
            return pair.turned()
    return None


def correction(comparison: Comparison) -> str:
    """Name of the correction for many comparisons; empty if there was none, `adjustment` if that is not known."""
    methods = [note.facts["method"] for note in comparison.notes if note.code == "compared.correction"]
    known = {"tukey": "Tukey HSD", "holm": "Holm", "bh": "Benjamini–Hochberg", "none": ""}
    return known[methods[0]] if methods else "adjustment"


def rival(evaluation: Evaluation, measure: str) -> tuple[str, str] | None:
    """The best system and the one to compare it with: the baseline if one is named, else the runner-up.

    None with fewer than two systems that have a value.
    """
    names = [one.system for one in contenders(evaluation, measure) if not math.isnan(one.value)]
    if len(names) < 2:
        return None
    return names[0], evaluation.baseline if evaluation.baseline in names[1:] else names[1]


def undecided(evaluation: Evaluation, measure: str) -> tuple[list[str], int] | None:
    """(systems that do not differ significantly from the best, nearest first; systems compared with it), or None."""
    if not evaluation.decisive:
        return None
    order = [one.system for one in contenders(evaluation, measure) if not math.isnan(one.value)]
    best = order[0]
    against = {
        pair.baseline if pair.system == best else pair.system: pair
        for pair in pairs_of(evaluation.decisive, measure)
        if best in (pair.system, pair.baseline)
    }
    if not against:
        return None
    return [one for one in order if one in against and not against[one].differs(1 - evaluation.confidence)], len(
        against
    )


def best_values(summary: pl.DataFrame | Rows, lower: Collection[str] = ()) -> dict[str, float]:
    """The best value of each measure at four decimals; counts, and measures where all are equal, have none."""
    best = {}
    rows = _rows(summary)
    for measure in {row["measure"] for row in rows} - counts(rows):
        values = {round(one.value, 4) for one in ranking(rows, measure) if not math.isnan(one.value)}
        if len(values) > 1:
            best[measure] = min(values) if measure in lower else max(values)
    return best


def comparison_with_best(evaluation: Evaluation, measure: str) -> Comparison | None:
    """A comparison with the pairs of the best system on a measure: the least that is known of them."""
    return evaluation.decisive if measure == headline(evaluation) else evaluation.comparison


def chances(evaluation: Evaluation, measure: str, comparison: Comparison | None = None) -> list[Chances]:
    """The pairs on a measure with all doubts, each once, in the order of the table; none without a comparison."""
    comparison = evaluation.comparison if comparison is None else comparison
    if comparison is None:
        return []
    rows = comparison.frame.filter((pl.col("measure") == measure) & (pl.col("doubt") == "all"))
    found = []
    for row in rows.iter_rows(named=True):
        better, tie = _float(row["p_better"]), _float(row["p_tie"])
        worse = math.nan if math.isnan(better) else max(0.0, 1 - better - tie)
        difference, lo, hi = (_float(row[name]) for name in ("difference", "lo", "hi"))
        by_chance = evaluation.is_modelled or math.isnan(lo)
        found.append(Chances(row["system"], row["baseline"], better, tie, worse, difference, lo, hi, by_chance))
    return found


def p_best(evaluation: Evaluation, measure: str) -> dict[str, float]:
    """{system: probability of being the best}, only where it is known."""
    if "p_best" not in evaluation.summary.columns:
        return {}
    rows = evaluation.summary.filter((pl.col("measure") == measure) & pl.col("p_best").is_not_nan())
    return dict(rows.select("system", "p_best").iter_rows())


def variances(evaluation: Evaluation) -> dict[str, dict[str, float]]:
    """{system: {doubt: variance of its mean}}; NaN where it is not known."""
    found: dict[str, dict[str, float]] = {}
    if evaluation.doubts is not None:
        for system, doubt, variance in evaluation.doubts.select("system", "doubt", "variance").iter_rows():
            found.setdefault(system, {})[doubt] = _float(variance)
    return found


def _float(value: float | None) -> float:
    return math.nan if value is None else float(value)
