"""Two systems under one belief, exactly: only what one list has and the other has not can decide.

For precision in the first k the items that both return cancel; the difference is that of two Poisson-binomial counts.
Recall has the same random denominator for both, so that its order is the order of these counts.
Source: docs/methods/comparisons.md, Superiority.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.beliefs.worlds import Readings
from endoxa.comparisons import superiority
from endoxa.comparisons.superiority import Superiority
from endoxa.errors import TextError, did_you_mean, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.measures.distributions import Distribution, mixture
from endoxa.measures.grammar import Measure, parse_all
from endoxa.measures.lists import BEYOND
from endoxa.measures.placing import Placed, Placement, place
from endoxa.measures.registry import REGISTRY
from endoxa.measures.uncertain import refuse_grades
from endoxa.notes import note
from endoxa.statistics.poisson_binomial import convolve, pmf
from endoxa.tables import Belief, Comparison, Floats, Ints, Run, Scores

MOST = 1_000  # pairs that are settled exactly; beyond, the worlds must do


def compare_two(
    run: Run, belief: Belief, first: str, second: str, measure: str | Measure, query: str | None = None, *,
    confidence: float = 0.95,
) -> Superiority:  # fmt: skip
    """How probably the first is better than the second, exactly: P@k on a query or in the mean over all; SetP, R@k
    and SetR on a query. Recall has an order only: its difference is NaN.
    """
    for name in (first, second):
        refuse_unknown("system", name, run.systems)
    m = parse_all(measure)[0]
    refuse_grades([m], belief)
    seen = place(run, belief).some([first, second])
    if query is None:
        if m.definition.difference is not None and not _counts(m):
            raise TextError(f"{m} is compared exactly on one query", remedy="name it, or compare in possible worlds")
        if not _counts(m):
            raise _inexact(m)
        return superiority.order(_mean_difference(Tops.of(seen, m), 0, 1, m), confidence=confidence)
    if query not in seen.queries:
        raise TextError(f"the belief has no query {query!r}", remedy=did_you_mean(query, seen.queries))
    number = seen.queries.index(query)
    return _on_query(seen.readings[number], seen.lists[number], m, confidence)


def _inexact(m: Measure) -> TextError:
    able = ", ".join(sorted(name for name, definition in REGISTRY.items() if definition.difference is not None))
    return TextError(f"{m} has no exact comparison, only {able} have: compare in possible worlds instead")


def _counts(m: Measure) -> bool:
    """Whether the mean over queries is a count divided by a number, as that of P@k is."""
    return m.sum_form is not None and m.sum_form.divisor is not None


def _on_query(one: Readings, placed: Placed, m: Measure, confidence: float) -> Superiority:
    k, rel = m.keywords().get("k"), m.rel
    sizes = tuple(int(size) for size in placed.retrieved)
    parts = [
        m.closed_form(m.definition.difference, *_apart(chances, placed, 0, 1, k), sizes)
        for chances in (one.reaches(rel) if rel is not None else ())
    ]
    exact = [part for part in parts if part is not None]
    if not exact or len(exact) < len(parts):
        raise _inexact(m)
    mixed = mixture([part.distribution for part in exact], one.weights)
    return superiority.sign(mixed) if exact[0].ordinal else superiority.order(mixed, confidence=confidence)


def _apart(chances: Floats, placed: Placed, a: int, b: int, k: int | None) -> tuple[Floats, Floats, Floats]:
    """The chances of what both lists have in their first k, only one, only the other."""
    within = BEYOND - 1 if k is None else k
    one, two = (set(placed.at[s][placed.rank[s] <= within].tolist()) for s in (a, b))
    both, left, right = (np.array(sorted(ids), dtype=np.int64) for ids in (one & two, one - two, two - one))
    return chances[both], chances[left], chances[right]


def _filled(chances: Floats, size: int) -> Floats:
    """With items that are surely not relevant, up to the length of the list."""
    return np.concatenate([chances, np.zeros(max(0, size - len(chances)))])


def _mean_difference(tops: Tops, a: int, b: int, m: Measure) -> Distribution:
    """The distribution of one system's mean over all queries minus that of the other, for a measure that counts."""
    assert m.sum_form is not None
    assert m.sum_form.divisor is not None
    left, right = (
        tops.chances[np.setdiff1d(tops.items[s], tops.items[t], assume_unique=True)] for s, t in ((a, b), (b, a))
    )
    mass, below = _difference(left, right), len(right)
    for one, placed in tops.mixed:
        parts = [_apart(chances, placed, a, b, m.sum_form.k) for chances in one.reaches(m.rel or 0)]
        longest = max(len(side) for part in parts for side in part[1:])
        own = np.zeros(2 * longest + 1)
        for weight, (_, first, second) in zip(one.weights, parts, strict=True):
            own += weight * _difference(_filled(first, longest), _filled(second, longest))
        mass, below = convolve(mass, own), below + longest
    return Distribution((np.arange(len(mass)) - below) / (m.sum_form.divisor * tops.queries), mass)


@dataclass(frozen=True, eq=False)
class Tops:
    """What decides a measure that counts items, numbered once for all pairs of systems.

    chances  of every item of the queries with one reading, one query after the other: their counts are one count
    items    of each system, the numbers of these items that it has in its first k
    mixed    the queries with several readings
    """

    chances: Floats
    items: list[Ints]
    mixed: list[tuple[Readings, Placed]]
    queries: int

    @classmethod
    def of(cls, placement: Placement, m: Measure) -> Tops:
        """Number the items of all queries."""
        assert m.sum_form is not None
        within = BEYOND - 1 if m.sum_form.k is None else m.sum_form.k
        queries = list(zip(placement.readings, placement.lists, strict=True))
        chances, begin = [np.zeros(0)], 0
        items = [[np.zeros(0, dtype=np.int64)] for _ in placement.systems]
        for one, placed in queries:
            if len(one.weights) == 1:
                chances.append(one.reaches(m.rel or 0)[0])
                for system, numbers in enumerate(items):
                    numbers.append(begin + np.sort(placed.at[system][placed.rank[system] <= within]))
                begin += len(one.items)
        mixed = [query for query in queries if len(query[0].weights) > 1]
        return cls(np.concatenate(chances), [np.concatenate(numbers) for numbers in items], mixed, len(queries))


def _difference(left: Floats, right: Floats) -> Floats:
    """Masses of K_left − K_right, from −len(right) on."""
    return convolve(pmf(left), pmf(right)[::-1])


def settled(compared: Comparison, scores: Scores, *, confidence: float = 0.95) -> Comparison:
    """The comparison with the rows `truth` of P@k exact in place of the worlds', up to a thousand pairs a measure.

    Only where the scores know the runs and the belief that they come from (`Draws.origin`), and under policies that
    leave lists and queries as they are; otherwise the rows of the worlds stay.
    """
    frame, policy = compared.frame, scores.policy
    origin = None if scores.draws is None else scores.draws.origin
    if origin is None or policy.cut is not None or policy.unjudged != "nonrelevant" or policy.missing == "skip":
        return compared
    run, belief = origin
    wanted = {name: parse_all(name)[0] for name in frame["measure"].unique(maintain_order=True)}
    wanted = {name: m for name, m in wanted.items() if _counts(m)}
    own = frame.filter(pl.col("measure").is_in(list(wanted)) & (pl.col("doubt") == "truth"))
    if not 0 < own.height <= MOST * len(wanted) or scores.queries != belief.queries:
        return compared
    systems = sorted({*own["system"], *own["baseline"]})
    seen = place(run, belief).some(systems)
    tops = {name: Tops.of(seen, m) for name, m in wanted.items()}
    rows = []
    for name, system, baseline in own.select("measure", "system", "baseline").iter_rows():
        difference = _mean_difference(tops[name], systems.index(system), systems.index(baseline), wanted[name])
        found = superiority.order(difference, confidence=confidence)
        numbers = (found.p_better, found.p_tie, found.index, found.sd, found.lo, found.hi)
        rows.append((name, system, baseline, "truth", *numbers))
    columns = ("p_better", "p_tie", "superiority", "sd", "lo", "hi")
    keys = ["measure", "system", "baseline", "doubt"]
    exact = pl.DataFrame(rows, schema=[*keys, *(f"{name} exact" for name in columns)], orient="row")
    joined = frame.join(exact, on=keys, how="left", maintain_order="left")
    joined = joined.with_columns(pl.coalesce(f"{name} exact", name).alias(name) for name in columns)
    return Comparison(joined.select(frame.columns), (*compared.notes, note("compared.exact", measures=list(wanted))))
