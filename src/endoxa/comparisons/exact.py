"""Two systems under one belief, exactly: only what one list has and the other has not can decide.

For precision in the first k the items that both return cancel; the difference is that of two Poisson-binomial counts.
Recall has the same random denominator for both, so that its order is the order of these counts. Source: METHODS A.6.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from endoxa.beliefs.worlds import Readings, extended, readings_of
from endoxa.comparisons import superiority
from endoxa.comparisons.superiority import Superiority
from endoxa.errors import TextError, did_you_mean
from endoxa.measures.distributions import Distribution, mixture
from endoxa.measures.doubt import Placed, place
from endoxa.measures.grammar import Measure, parse_all
from endoxa.measures.lists import BEYOND
from endoxa.statistics.poisson_binomial import convolve, pmf
from endoxa.tables import Belief, Comparison, Floats, Ints, Run, Scores

MOST = 1_000  # pairs that are settled exactly; beyond, the worlds must do


@dataclass(frozen=True)
class _Seen:
    """The lists of all queries, placed in the belief."""

    systems: list[str]
    pairs: list[tuple[Readings, Placed]]
    _tops: dict[tuple[int, float], tuple[Floats, list[Ints]]] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run, belief: Belief, systems: list[str]) -> _Seen:
        readings = list(readings_of(extended(belief, run)))
        kept = run.frame.filter(pl.col("system").is_in(systems))
        return cls(systems, list(zip(readings, place(kept, systems, readings), strict=True)))

    def tops(self, k: int, rel: float) -> tuple[Floats, list[Ints]]:
        """The chances of all items of the queries with one reading, and which of them each system has in its first k.

        The items of all queries are numbered in one sequence.
        """
        if (k, rel) not in self._tops:
            chances, tops, begin = [np.zeros(0)], [[np.zeros(0, dtype=np.int64)] for _ in self.systems], 0
            for one, placed in self.pairs:
                if len(one.weights) == 1:
                    chances.append(one.reaches(rel)[0])
                    for system, top in enumerate(tops):
                        top.append(begin + np.sort(placed.at[system][placed.rank[system] <= k]))
                    begin += len(one.items)
            self._tops[k, rel] = np.concatenate(chances), [np.concatenate(top) for top in tops]
        return self._tops[k, rel]


def compare_two(
    run: Run,
    belief: Belief,
    first: str,
    second: str,
    measure: str | Measure,
    query: str | None = None,
    *,
    confidence: float = 0.95,
) -> Superiority:
    """How probably the first is better than the second, exactly: P@k on a query or in the mean over all; SetP, R@k
    and SetR on a query. Recall has an order only: its difference is NaN.
    """
    for name in (first, second):
        if name not in run.systems:
            raise TextError(f"no system is called {name!r}{did_you_mean(name, run.systems)}")
    m = parse_all(measure)[0]
    settings = m.keywords()
    if m.name not in {"P", "SetP", "R", "SetR"} or settings.get("relative"):
        raise TextError(
            f"{m} has no exact comparison; P@k, SetP, R@k and SetR have: compare in possible worlds instead"
        )
    seen = _Seen.of(run, belief, [first, second])
    queries = [one.query for one, _ in seen.pairs]
    if query is None:
        if m.name != "P":
            raise TextError(f"{m} is compared exactly on one query; name it, or compare in possible worlds")
        return superiority.order(_mean_difference(seen, 0, 1, m), confidence=confidence)
    if query not in queries:
        raise TextError(f"the belief has no query {query!r}{did_you_mean(query, queries)}")
    one, placed = seen.pairs[queries.index(query)]
    return _on_query(one, placed, m, confidence)


def _on_query(one: Readings, placed: Placed, m: Measure, confidence: float) -> Superiority:
    k = m.keywords().get("k")
    sizes = [k or int(size) for size in placed.retrieved]
    parts = [_apart(chances, placed, 0, 1, k) for chances in one.reaches(m.keywords().get("rel", 1))]
    if m.name in {"R", "SetR"}:
        return superiority.mix([superiority.recall_order(a, b) for _, a, b in parts], one.weights)
    differences = [
        superiority.precision_difference(both, _filled(a, sizes[0] - len(both)), _filled(b, sizes[1] - len(both)))
        for both, a, b in parts
    ]
    return superiority.order(mixture(differences, one.weights), confidence=confidence)


def _apart(chances: Floats, placed: Placed, a: int, b: int, k: int | None) -> tuple[Floats, Floats, Floats]:
    """The chances of what both lists have in their first k, only one, only the other."""
    within = BEYOND - 1 if k is None else k
    one, two = (set(placed.at[s][placed.rank[s] <= within].tolist()) for s in (a, b))
    both, left, right = (np.array(sorted(ids), dtype=np.int64) for ids in (one & two, one - two, two - one))
    return chances[both], chances[left], chances[right]


def _filled(chances: Floats, size: int) -> Floats:
    """With items that are surely not relevant, up to the length of the list."""
    return np.concatenate([chances, np.zeros(max(0, size - len(chances)))])


def _mean_difference(seen: _Seen, a: int, b: int, m: Measure) -> Distribution:
    """The distribution of mean P@k of one system minus that of the other, over all queries."""
    k, rel = int(m.keywords()["k"]), m.keywords().get("rel", 1)
    chances, tops = seen.tops(k, rel)
    left, right = (chances[np.setdiff1d(tops[s], tops[t], assume_unique=True)] for s, t in ((a, b), (b, a)))
    mass, below = _difference(left, right), len(right)  # counts of several queries with one reading are one count
    for one, placed in seen.pairs:
        if len(one.weights) == 1:
            continue
        parts = [_apart(own, placed, a, b, k) for own in one.reaches(rel)]
        longest = max(len(side) for part in parts for side in part[1:])
        mixed = np.zeros(2 * longest + 1)
        for weight, (_, first, second) in zip(one.weights, parts, strict=True):
            mixed += weight * _difference(_filled(first, longest), _filled(second, longest))
        mass, below = convolve(mass, mixed), below + longest
    return Distribution((np.arange(len(mass)) - below) / (k * len(seen.pairs)), mass)


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
    wanted = {name: m for name, m in wanted.items() if m.name == "P" and not m.keywords().get("relative")}
    own = frame.filter(pl.col("measure").is_in(list(wanted)) & (pl.col("doubt") == "truth"))
    if not 0 < own.height <= MOST * len(wanted) or scores.queries != belief.queries:
        return compared
    systems = sorted({*own["system"], *own["baseline"]})
    seen = _Seen.of(run, belief, systems)
    rows = []
    for name, system, baseline in own.select("measure", "system", "baseline").iter_rows():
        difference = _mean_difference(seen, systems.index(system), systems.index(baseline), wanted[name])
        found = superiority.order(difference, confidence=confidence)
        numbers = (found.p_better, found.p_tie, found.index, found.sd, found.lo, found.hi)
        rows.append((name, system, baseline, "truth", *numbers))
    columns = ("p_better", "p_tie", "superiority", "sd", "lo", "hi")
    keys = ["measure", "system", "baseline", "doubt"]
    exact = pl.DataFrame(rows, schema=[*keys, *(f"{name} exact" for name in columns)], orient="row")
    joined = frame.join(exact, on=keys, how="left", maintain_order="left")
    joined = joined.with_columns(pl.coalesce(f"{name} exact", name).alias(name) for name in columns)
    note = f"The doubt about the truth of {', '.join(wanted)} is exact."
    return Comparison(joined.select(frame.columns), (*compared.notes, note))
