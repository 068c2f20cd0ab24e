"""What a system would score without its own vote, or without its family's: a second set of levels beside consensus.

Votes are subtracted from the counted ones; the universe and the worlds' chance stay, so that only the belief moves.
One belief with all votes in it serves orders and P(A better); these levels say how far a system lifts itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from endoxa.beliefs.consensus import Tally, belief_of
from endoxa.beliefs.worlds import readings_of
from endoxa.errors import JoinError, TextError, did_you_mean
from endoxa.measures.doubt import WORLDS as ALL_WORLDS
from endoxa.measures.doubt import Placed, expected_or_drawn, measure_belief, place
from endoxa.measures.grammar import Measure, parse_all
from endoxa.policies import Policy
from endoxa.tables import Belief, Run, Scores

WORLDS = 64  # for measures without a closed form


def left_out(
    run: Run,
    counted: Tally,
    measures: str | Measure | Sequence[str | Measure],
    policy: Policy | None = None,
    *,
    families: Mapping[str, str] | bool = False,
    worlds: int = WORLDS,
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
    kept = run.frame.filter(pl.col("system").is_in(systems))
    for q, (one, placed) in enumerate(zip(readings, place(kept, systems, readings), strict=True)):
        for s in range(len(systems)):
            own = replace(one, mass=chances[s, starts[q] : starts[q + 1]][None, :, None])
            values[:, s, q] = expected_or_drawn(own, _only(placed, s), wanted, policy, worlds, 1.0)[:, 0]
    seen = ~np.isnan(values)
    means = np.where(seen.any(2), np.where(seen, values, 0.0).sum(2) / np.maximum(seen.sum(2), 1), np.nan)
    return pl.DataFrame(
        [(system, str(m), means[row, s]) for s, system in enumerate(systems) for row, m in enumerate(wanted)],
        schema={"system": pl.String, "measure": pl.String, "value": pl.Float64},
        orient="row",
    )


def _only(placed: Placed, system: int) -> Placed:
    rows = slice(system, system + 1)
    return Placed(placed.rank[rows], placed.at[rows], placed.retrieved[rows], placed.present[rows])


def between(
    run: Run,
    counted: Tally,
    first: str,
    second: str,
    measures: str | Measure | Sequence[str | Measure],
    policy: Policy | None = None,
    worlds: int = ALL_WORLDS,
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
    frame = counted.rows.with_columns(pl.Series("p", counted.p(out)))
    belief = Belief.of(frame, model="consensus", notes=[f"the votes of {first} and {second} are left out"])
    kept = Run(run.frame.filter(pl.col("system").is_in([first, second])), run.ties)
    return measure_belief(kept, belief, measures, policy, worlds=worlds)
