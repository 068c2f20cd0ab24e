"""What a system would score without its own vote, or without its family's: a second set of levels beside consensus.

Votes are subtracted from the counted ones; the universe and the worlds' chance stay, so that only the belief moves.
One belief with all votes in it serves orders and P(A better); these levels say how far a system lifts itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from endoxa.beliefs.consensus import PEOPLE, Tally, belief_of
from endoxa.beliefs.worlds import draw, readings_of
from endoxa.errors import JoinError, TextError, did_you_mean
from endoxa.measures import distributions
from endoxa.measures.grammar import Measure, parse_all
from endoxa.measures.lists import BEYOND
from endoxa.measures.uncertain import (
    LEVEL,
    SETTINGS,
    Placed,
    cut_to,
    described,
    in_worlds,
    mean_of,
    measure_belief,
    place,
)
from endoxa.policies import WORLDS, Policy
from endoxa.tables import Floats, Run, Scores

FEW = 64  # worlds for measures without a closed form


def left_out(
    run: Run,
    counted: Tally,
    measures: str | Measure | Sequence[str | Measure],
    policy: Policy | None = None,
    *,
    families: Mapping[str, str] | bool = False,
    worlds: int = FEW,
) -> pl.DataFrame:
    """Mean over queries of every system's score with its own votes (its family's) subtracted: system, measure, value.

    `families` gives the family of each system by name, or True to find them by clustering (Jaccard > .8).
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
    readings = list(readings_of(belief_of(counted)))
    starts = np.concatenate([[0], np.cumsum([len(one.items) for one in readings])])
    values = np.full((len(wanted), len(systems), len(readings)), np.nan)
    kept = cut_to(run, policy).filter(pl.col("system").is_in(systems))
    for q, (one, placed) in enumerate(zip(readings, place(kept, systems, readings), strict=True)):
        own = chances[:, starts[q] : starts[q + 1]]
        drawn = [row for row, m in enumerate(wanted) if not _settle(values[row, :, q], m, placed, own, policy)]
        for s in range(len(systems) if drawn else 0):
            grades = draw(replace(one, mass=own[s][None, :, None]), worlds, policy.seed)
            made = in_worlds(grades, placed.some(np.array([s])), [wanted[row] for row in drawn], policy, top=1.0)
            made = np.nan_to_num(made, nan=0.0) if policy.undefined == "zero" else made
            values[drawn, s, q] = described(made, LEVEL)["value"][:, 0]
        if policy.missing == "skip":
            values[:, ~placed.present, q] = np.nan
    seen = ~np.isnan(values)
    means = np.where(seen.any(2), np.where(seen, values, 0.0).sum(2) / np.maximum(seen.sum(2), 1), np.nan)
    return pl.DataFrame(
        [(system, str(m), means[row, s]) for s, system in enumerate(systems) for row, m in enumerate(wanted)],
        schema={"system": pl.String, "measure": pl.String, "value": pl.Float64},
        orient="row",
    )


def _settle(values: Floats, m: Measure, placed: Placed, chances: Floats, policy: Policy) -> bool:
    """Put each system's expectation under its own chances, [system, item], in place, if there is a closed form."""
    settings = m.keywords()
    if settings.pop("rel", 1) != 1 or not set(settings) <= SETTINGS or policy.unjudged != "nonrelevant":
        return False
    p = np.where(placed.rank < BEYOND, np.take_along_axis(chances, placed.at, 1), np.nan)
    made = distributions.expectation(m.name, placed.rank, p, placed.retrieved, chances, **settings)
    if made is None:
        return False
    values[:] = mean_of(made, policy)
    return True


def between(
    run: Run,
    counted: Tally,
    first: str,
    second: str,
    measures: str | Measure | Sequence[str | Measure],
    policy: Policy | None = None,
    worlds: int = WORLDS,
) -> Scores:
    """Two systems scored under the votes of all the others: neither votes on the truth that scores it."""
    for name in (first, second):
        if name not in counted.systems:
            raise TextError(f"no system is called {name!r}{did_you_mean(name, counted.systems)}")
    if first == second:
        raise TextError(f"{first!r} is compared with itself; name two systems")
    if len(counted.systems) < 4:
        raise JoinError("with both left out, fewer than two systems are left to vote; add the outputs of others")
    out = [counted.systems.index(name) for name in (first, second)]
    weights = counted.weights.copy()
    weights[out] = 0.0
    others = belief_of(
        replace(counted, weights=weights), people=PEOPLE, rng=np.random.default_rng((policy or Policy()).seed)
    )
    belief = replace(others, notes=(*others.notes, f"the votes of {first} and {second} are left out"))
    kept = Run(run.frame.filter(pl.col("system").is_in([first, second])), run.ties)
    return measure_belief(kept, belief, measures, policy, worlds=worlds)
