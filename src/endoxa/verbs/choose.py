"""choose: which pairs to judge next."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from endoxa.errors import CallError
from endoxa.evaluations.dispatch import NO_RUN, belief_of
from endoxa.evaluations.settings import DEPTH, WEIGHTS
from endoxa.measures.grammar import Wanted, parse_all
from endoxa.pools.choosing import choose as choose_pairs
from endoxa.verbs.inputs import reference_of, rounds_of, run_of, settings_of

FIRST = 10  # items of each run that pairs are drawn from, where no measure says how deep it looks


def choose(
    run: Any,
    reference: Any = None,
    count: int = 100,
    *,
    measures: Wanted | None = None,
    first: int | None = None,
    judged: Any = None,
    mixing: float = 0.5,
    depth: int = DEPTH,
    weights: Any = WEIGHTS,
    prior: tuple[float, float] = (1.0, 1.0),
    seed: int = 0,
) -> pl.DataFrame:
    """Choose the pairs whose judgment says most about the order of the systems, each with its propensity.

    Columns: order, query, item, p, influence, systems, propensity, selected_by. Pairs are drawn from the `first` items
    of each run: as deep as the deepest of the `measures` looks, else 10. `judged` pairs are not asked again. Without a
    reference the belief is the consensus of the runs (`depth`, `weights`, `prior`). `mixing` is the share of the choice
    that is made at random over all pairs.
    """
    settings = settings_of({"depth": depth, "weights": weights, "prior": prior, "people": 0, "seed": seed}, run)
    if run is None or (isinstance(run, list) and not run):
        raise CallError(NO_RUN)
    table = run_of(run, settings)
    belief = belief_of(reference_of(reference, settings), table, settings)
    cutoffs = [dict(m.settings).get("k") for m in parse_all(measures)] if measures else []
    deep = first or max((int(k) for k in cutoffs if k is not None), default=FIRST)
    pairs = choose_pairs(
        table, belief, count, judged=rounds_of(judged), mixing=mixing, depth=deep, rng=np.random.default_rng(seed)
    )
    return pairs.with_columns(pl.lit(f"next@{deep}").alias("selected_by"))
