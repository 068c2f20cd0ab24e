"""choose: which pairs to judge next."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from endoxa.beliefs.learned import Judged
from endoxa.beliefs.reliability import chances
from endoxa.comparisons.rounds import last_round
from endoxa.evaluations import decided
from endoxa.evaluations.dispatch import belief_of, no_run
from endoxa.measures.grammar import Measure, Wanted, parse_all
from endoxa.measures.judgments import refuse_out_of_reach
from endoxa.pools.choosing import MIXING, About
from endoxa.pools.deciding import Deciding, Question
from endoxa.verbs.inputs import labels_of, reference_of, run_of, settings_of, takes_either_order


@takes_either_order
def choose(
    run: Any,
    reference: Any = None,
    count: int = 100,
    *,
    measures: Wanted | None = None,
    about: About = "order",
    first: int | None = None,
    judged: Any = None,
    mixing: float = MIXING,
    seed: int = 0,
) -> pl.DataFrame:
    """Choose the pairs whose label says most about the order of the systems: exactly `count`, each with its propensity.

    Columns: order, query, item, p, influence, systems, propensity, selected_by, draw, draw_after, draw_depth. Keep the
    last five beside the grades. The order is by the first of `measures` that can be linearised (AP, P@k, R@k, DCG@k,
    nDCG@k), else by AP. `about` is the order, the best, or two systems. Pairs come from the `first` items of each run:
    as deep as the measure looks, else 100 (20 in a collection of fewer than 1,000 items). `judged` pairs are learned
    from and not asked again; rounds are numbered in `draw`, and their files may come in any order. `reference` is a
    belief to rely on in place of the consensus and of what was learned. `mixing` is the share of the choice that is
    spread evenly over all pairs.
    """
    if run is None or (isinstance(run, list) and not run):
        raise no_run()
    settings = settings_of({"people": 0, "seed": seed}, run)
    table = run_of(run, settings)
    measure = measure_of(measures)
    known = labels_of(judged)
    universe = decided.universe_of(table, settings, first)
    if not len(Judged.of(universe, known)):
        refuse_out_of_reach([measure], [1.0], "a consensus of votes")
    deciding = Deciding.of(universe, Question(measure, about, mixing=mixing), known)
    p = None
    if reference is not None and not (isinstance(reference, list | tuple) and not reference):
        stated = chances(belief_of(reference_of(reference, settings), table, settings))
        joined = universe.rows.join(stated, on=["query", "item"], how="left", maintain_order="left")
        p = joined["p"].fill_null(np.nan).to_numpy()
    number = 1 if known is None else last_round(known) + 1
    return deciding.ask(count, number=number, p=p, depth=first, rng=np.random.default_rng(seed))


def measure_of(measures: Wanted | None) -> Measure:
    """The first measure that can be linearised; AP where none was named."""
    wanted = parse_all(measures) if measures else parse_all("AP")
    return next((m for m in wanted if m.linear is not None), wanted[0])
