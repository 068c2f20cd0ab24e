"""pool: what to judge, and what pooling does to the scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from endoxa import pools
from endoxa.errors import CallError
from endoxa.evaluations.dispatch import no_run
from endoxa.evaluations.references import Reference
from endoxa.measures.grammar import Measure
from endoxa.policies import Policy
from endoxa.tables import Opinions, Run
from endoxa.verbs.inputs import is_nothing, reference_of, run_of, runs_of, settings_of
from endoxa.verbs.parameters import takes_either_order


def pool(run: Any, depth: int = 100, *, ties: str = "trec", lenient: bool = False, on: Any = None) -> pl.DataFrame:
    """The union of the first `depth` items of every system: query, item, systems, best, by.

    `on` is where files are read, as for `evaluate`: this machine, or Spark, of which only the first items come back.
    """
    from endoxa.io.distributed import DistributedFiles, DistributedFrame

    if is_nothing(run):
        raise no_run()
    lists = runs_of(run, settings_of({"ties": ties, "lenient": lenient, "on": on}, run))
    if isinstance(lists, DistributedFiles | DistributedFrame):
        return pools.pool(lists.first(depth), depth)
    return pools.pool(_run(run, ties, lenient), depth)


@takes_either_order
def pool_states(
    run: Any, judgments: Any, depth: int = 100, *, ties: str = "trec", lenient: bool = False
) -> pl.DataFrame:
    """How much of what each system retrieved was pooled and judged."""
    return pools.states(_run(run, ties, lenient), _judgments(judgments, lenient), depth)


@takes_either_order
def unseen(
    run: Any, judgments: Any, depth: int = 100, *, ties: str = "trec", lenient: bool = False
) -> pl.DataFrame | None:
    """Chao's lower bound for the number of relevant items, found or not; the last row is over all queries.

    None with one system: the bound rests on what several systems find.
    """
    table = _run(run, ties, lenient)
    return pools.unseen(table, _judgments(judgments, lenient), depth) if len(table.systems) > 1 else None


@takes_either_order
def leave_out_uniques(
    run: Any,
    judgments: Any,
    measure: str | Measure = "AP",
    *,
    depth: int = 100,
    groups: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    ties: str = "trec",
    lenient: bool = False,
) -> pools.Uniques:
    """What each system would score without the judgments that only it brought into the pool."""
    opinions = _judgments(judgments, lenient)
    several = opinions.frame.select("query", "item").is_duplicated().any()
    policy = Policy(assessors="mean" if several else "one")
    return pools.leave_out_uniques(
        _run(run, ties, lenient), opinions, measure, depth=depth, groups=groups, policy=policy, progress=progress
    )


def _run(source: Any, ties: str, lenient: bool) -> Run:
    if is_nothing(source):
        raise no_run()
    return run_of(source, settings_of({"ties": ties, "lenient": lenient}))


def _judgments(source: Any, lenient: bool) -> Opinions:
    """Judgments, of one person or of several; anything else is refused."""
    reference: Reference = reference_of(source, settings_of({"assessors": "mean", "lenient": lenient}))
    if reference.kind != "judgments" or not isinstance(reference.table, Opinions):
        raise CallError(f"pools are made of judgments, not of {reference.kind}")
    return reference.table
