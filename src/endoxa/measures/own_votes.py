"""Scores of systems without their own votes, or without those of their family: how far they raise their own score.

Votes are subtracted from the counted ones. The universe and the random numbers of the worlds stay the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from endoxa.beliefs.consensus import Tally, belief_of
from endoxa.beliefs.worlds import Readings, single, uniform
from endoxa.errors import JoinError
from endoxa.measures.closed_forms import Moments
from endoxa.measures.grammar import Measure, Wanted, parse_all
from endoxa.measures.lists import BEYOND, CELLS, Lists
from endoxa.measures.placing import Placed, Placement, place
from endoxa.measures.uncertain import Mapper, chances_of, mean_over_queries, means_of_lists, score_worlds
from endoxa.policies import Policy
from endoxa.tables import Floats, Run

FEW = 64  # worlds for measures without a closed form


def left_out(
    run: Run,
    counted: Tally,
    measures: Wanted,
    policy: Policy | None = None,
    *,
    families: Mapping[str, str] | bool = False,
    worlds: int = FEW,
    mapper: Mapper = map,
    placement: Placement | None = None,
) -> pl.DataFrame:
    """Mean over queries of every system's score without its own votes (its family's): system, measure, value.

    `families` gives the family of each system by name, or True to find families by clustering (Jaccard > .8).
    `placement` is the run placed in the consensus of these votes, if the caller has placed it already; it may hold
    more systems.
    """
    policy = policy or Policy(ties=run.ties)
    wanted = parse_all(measures)
    systems = [system for system in run.systems if system in counted.systems]
    if not systems:
        raise JoinError("none of the systems of the run has voted")
    number = {system: place_ for place_, system in enumerate(counted.systems)}
    groups = counted.families(families if isinstance(families, Mapping) else None) if families else None
    without = [groups[number[system]] if groups is not None else [number[system]] for system in systems]
    chances = np.stack([counted.p(some) for some in without])  # [system, row]
    placed = (placement or place(run, belief_of(counted), policy)).some(systems)
    starts = np.cumsum([len(one.items) for one in placed.readings])[:-1]
    kernel = partial(_without_own, wanted, policy, worlds)
    queries = zip(placed.readings, placed.lists, np.split(chances, starts, axis=1), strict=True)
    means = mean_over_queries(np.stack(list(mapper(kernel, list(queries))), axis=-1))
    return pl.DataFrame(
        [(system, str(m), means[row, s]) for s, system in enumerate(systems) for row, m in enumerate(wanted)],
        schema={"system": pl.String, "measure": pl.String, "value": pl.Float64},
        orient="row",
    )


def _without_own(
    measures: Sequence[Measure], policy: Policy, worlds: int, query: tuple[Readings, Placed, Floats]
) -> Floats:
    """E[M | defined] of every list of a query under its own probabilities, [list, item]: [measure, list]."""
    one, placed, chances = query
    table = chances_of(placed, chances, spread=False)

    def expected(m: Measure) -> Moments | None:
        return m.closed_form(m.definition.moments, table) if m.rel == 1 else None  # votes are grade 1 or 0

    def drawn(some: Sequence[Measure]) -> Floats:
        return _in_own_worlds(one, placed, chances, some, policy, worlds)

    return means_of_lists(expected, drawn, placed, measures, policy)


def _in_own_worlds(
    one: Readings, placed: Placed, chances: Floats, measures: Sequence[Measure], policy: Policy, worlds: int
) -> Floats:
    """The value of every list in worlds of its own belief, by the same random numbers: [measure, list, world]."""
    random = uniform(one, worlds, policy.seed)  # [world, item]
    cuts = [dict(m.settings).get("k") for m in measures]
    if None not in cuts and policy.unjudged != "condensed":  # no measure looks further than the greatest cut-off
        placed = placed.first(max(cut for cut in cuts if cut is not None))
    values = np.empty((len(measures), len(placed.rank), worlds))
    step = max(1, CELLS // max(random.size, worlds * placed.rank.shape[1]))
    for begin in range(0, len(chances), step):
        some, p = placed.some(np.arange(begin, min(begin + step, len(chances)))), single(chances[begin : begin + step])
        own = np.where(some.rank < BEYOND, np.take_along_axis(p, some.at, 1), np.nan)
        grade = (random.T[some.at] < own[..., None]).astype(float)  # [list, h, world]
        grade[some.rank == BEYOND] = np.nan
        total = np.bitwise_count(np.packbits(random[:, None] < p, axis=-1)).sum(-1, dtype=np.int64)  # [world, list]
        pool: Any = (np.arange(random.shape[1]) < total[..., None]).view(np.int8)
        lists = Lists(some.rank, grade.transpose(2, 0, 1), some.retrieved, pool)
        values[:, begin : begin + step] = score_worlds(lists, measures, policy)
    return values
