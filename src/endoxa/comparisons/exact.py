"""Two systems under one belief, exactly: only what one list has and the other has not can decide.

For precision in the first k the items that both return cancel; the difference is that of two Poisson-binomial counts.
Recall has the same random denominator for both, so that its order is the order of these counts. Source: METHODS A.6.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.beliefs.worlds import Readings
from endoxa.comparisons import superiority
from endoxa.comparisons.superiority import Superiority
from endoxa.errors import TextError, did_you_mean
from endoxa.measures.distributions import Distribution, mixture
from endoxa.measures.grammar import Measure, parse_all
from endoxa.measures.lists import BEYOND
from endoxa.measures.placing import Placed, Placement, place
from endoxa.measures.registry import REGISTRY
from endoxa.policies import Policy
from endoxa.statistics.poisson_binomial import convolve, pmf
from endoxa.tables import Belief, Comparison, Floats, Run

MOST = 1_000  # pairs that are settled exactly; beyond, the worlds must do


def compare_two(
    run: Run,
    belief: Belief,
    first: str,
    second: str,
    measure: str | Measure,
    query: str | None = None,
    *,
    level: float = 0.95,
) -> Superiority:
    """How probably the first is better than the second, exactly: P@k on a query or in the mean over all; SetP, R@k
    and SetR on a query. Recall has an order only: its difference is NaN.
    """
    for name in (first, second):
        if name not in run.systems:
            raise TextError(f"no system is called {name!r}{did_you_mean(name, run.systems)}")
    m = parse_all(measure)[0]
    seen = place(run, belief).some([first, second])
    if query is None:
        if m.definition.difference is not None and not _counts(m):
            raise TextError(f"{m} is compared exactly on one query; name it, or compare in possible worlds")
        if not _counts(m):
            raise _inexact(m)
        return superiority.order(_mean_difference(seen, 0, 1, m), level=level)
    if query not in seen.queries:
        raise TextError(f"the belief has no query {query!r}{did_you_mean(query, seen.queries)}")
    number = seen.queries.index(query)
    return _on_query(seen.readings[number], seen.lists[number], m, level)


def _inexact(m: Measure) -> TextError:
    able = ", ".join(sorted(name for name, definition in REGISTRY.items() if definition.difference is not None))
    return TextError(f"{m} has no exact comparison, only {able} have: compare in possible worlds instead")


def _counts(m: Measure) -> bool:
    """Whether the mean over queries is a count divided by a number, as that of P@k is."""
    return m.sum_form is not None and m.sum_form.divisor is not None


def _on_query(one: Readings, placed: Placed, m: Measure, level: float) -> Superiority:
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
    return superiority.sign(mixed) if exact[0].ordinal else superiority.order(mixed, level=level)


def _apart(chances: Floats, placed: Placed, a: int, b: int, k: int | None) -> tuple[Floats, Floats, Floats]:
    """The chances of what both lists have in their first k, only one, only the other."""
    within = BEYOND - 1 if k is None else k
    one, two = (set(placed.at[s][placed.rank[s] <= within].tolist()) for s in (a, b))
    both, left, right = (np.array(sorted(some), dtype=np.int64) for some in (one & two, one - two, two - one))
    return chances[both], chances[left], chances[right]


def _filled(chances: Floats, size: int) -> Floats:
    """With items that are surely not relevant, up to the length of the list."""
    return np.concatenate([chances, np.zeros(max(0, size - len(chances)))])


def _mean_difference(seen: Placement, a: int, b: int, m: Measure) -> Distribution:
    """The distribution of one system's mean over all queries minus that of the other, for a measure that counts."""
    form, rel = m.sum_form, m.rel
    assert form is not None
    assert form.divisor is not None
    assert rel is not None
    single: tuple[list[Floats], list[Floats]] = ([], [])
    mass, below = np.ones(1), 0
    for one, placed in zip(seen.readings, seen.lists, strict=True):
        parts = [_apart(chances, placed, a, b, form.k) for chances in one.reaches(rel)]
        if len(parts) == 1:  # counts of several queries are one count
            single[0].append(parts[0][1])
            single[1].append(parts[0][2])
            continue
        longest = max(len(some) for part in parts for some in part[1:])
        own = np.zeros(2 * longest + 1)
        for weight, (_, left, right) in zip(one.weights, parts, strict=True):
            own += weight * _difference(_filled(left, longest), _filled(right, longest))
        mass, below = convolve(mass, own), below + longest
    left, right = (np.concatenate([*some, np.zeros(0)]) for some in single)
    mass, below = convolve(mass, _difference(left, right)), below + len(right)
    return Distribution((np.arange(len(mass)) - below) / (form.divisor * len(seen.lists)), mass)


def _difference(left: Floats, right: Floats) -> Floats:
    """Masses of K_left − K_right, from −len(right) on."""
    return convolve(pmf(left), pmf(right)[::-1])


def settled(
    compared: Comparison,
    run: Run,
    belief: Belief,
    policy: Policy | None = None,
    *,
    level: float = 0.95,
    placement: Placement | None = None,
) -> Comparison:
    """The comparison with the rows `truth` of P@k exact in place of the worlds', up to a thousand pairs a measure.

    Only under policies that leave lists and queries as they are; else the worlds stay.
    """
    frame = compared.frame
    policy = policy or Policy()
    if belief.certain or policy.cut is not None or policy.unjudged != "nonrelevant" or policy.missing == "skip":
        return compared
    names = [name for name in frame["measure"].unique(maintain_order=True) if _counts(parse_all(name)[0])]
    systems = sorted({*frame["system"], *frame["baseline"]})
    if not names or frame.height > 4 * MOST * frame["measure"].n_unique():
        return compared
    seen = (placement or place(run, belief)).some(systems)
    rows = []
    for name in names:
        m = parse_all(name)[0]
        own = frame.filter((pl.col("measure") == name) & (pl.col("doubt") == "truth"))
        for system, baseline in own.select("system", "baseline").iter_rows():
            made = superiority.order(
                _mean_difference(seen, systems.index(system), systems.index(baseline), m), level=level
            )
            rows.append(
                (name, system, baseline, "truth", made.p_better, made.p_tie, made.index, made.sd, made.lo, made.hi)
            )
    columns = ("p_better", "p_tie", "superiority", "sd", "lo", "hi")
    keys = ["measure", "system", "baseline", "doubt"]
    exact = pl.DataFrame(rows, schema=[*keys, *(f"{name} exact" for name in columns)], orient="row")
    joined = frame.join(exact, on=keys, how="left", maintain_order="left")
    joined = joined.with_columns(pl.coalesce(f"{name} exact", name).alias(name) for name in columns)
    return Comparison(
        joined.select(frame.columns), (*compared.notes, f"doubt about the truth of {', '.join(names)}: exact")
    )
