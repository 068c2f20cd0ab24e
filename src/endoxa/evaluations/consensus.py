"""Evaluation without judgments: the consensus of the runs' votes, and every system scored within it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from zlib import crc32

import numpy as np
import polars as pl

from endoxa.beliefs import consensus
from endoxa.beliefs.consensus import Ballots, Tally
from endoxa.beliefs.votes import pinned
from endoxa.beliefs.worlds import Readings
from endoxa.comparisons import orders
from endoxa.evaluations import believed
from endoxa.evaluations.believed import EVERYTHING
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.settings import Settings
from endoxa.measures.gather import NOT_COVERED
from endoxa.measures.grammar import Measure
from endoxa.measures.lists import BEYOND
from endoxa.measures.own_votes import left_out
from endoxa.measures.placing import Placed, Placement, place
from endoxa.measures.uncertain import Mapper, Progress, expectations
from endoxa.notes import Note, note, warning
from endoxa.tables import Belief, Bools, Floats, Opinions, Run

DEPTHS = (10, 30, 100, 1000)
LONELY = 0.5  # share of unique items from which a warning is due
UNSTABLE = 0.8  # Kendall's tau below which the ranking is said to depend on the vote depth


def evaluate(
    run: Run, measures: Sequence[Measure], settings: Settings, *, votes: Opinions | None = None,
    labels: Opinions | None = None, depths: Sequence[int] = DEPTHS, progress: Progress | None = None,
    mapper: Mapper = map,
) -> Evaluation:  # fmt: skip
    """Score every system within the consensus of all, with ⊤ (everything in random order) as virtual system.

    One belief with all votes serves worlds, ranking, P(better) and P(best); `without_own_vote` is each system's score
    excluding its own votes (or its family's), `unique` the share of its votes that no other system shares.
    tables["depths"] says how the ranking on the first measure changes with the vote depth. `votes` are given where
    systems said yes, no or unknown to named items instead of ranking them: then depth plays no part. `labels` are
    judged pairs: the belief holds them certain; `believed.with_labels` adds what they say on their own.
    """
    ballots: Ballots | None = None
    if votes is None:
        ballots = Ballots.of(run)
        counted = ballots.tally(settings.depth, prior=settings.prior, weights=settings.weights)
    else:
        counted = consensus.tally(votes, prior=settings.prior, weights=settings.weights)
    held = _belief_of(counted, settings, settings.depth if ballots else None)
    held = held if labels is None else pinned(held, labels)
    whole = with_everything(run, counted, settings.seed)
    placement = None if settings.plugin or held.certain else place(whole, held, settings.policy)
    scores = believed.score(whole, held, measures, settings, progress=progress, mapper=mapper, placement=placement)
    evaluation = believed.of_scores(scores, held, settings, kind="consensus" if ballots else "votes")
    summary = evaluation.summary
    if labels is None and not settings.plugin:
        alone = left_out(
            run, counted, measures, settings.policy, families=settings.families, mapper=mapper, placement=placement
        ).rename({"value": "without_own_vote"})
        summary = summary.join(alone, on=["system", "measure"], how="left", maintain_order="left")
    unique = pl.DataFrame({"system": counted.systems, "unique": counted.unique})
    summary = summary.join(unique, on="system", how="left", maintain_order="left")
    table = None
    if ballots is not None:
        rows = summary.filter(pl.col("measure") == str(measures[0])).select("system", "value")
        known = dict(rows.iter_rows())
        shown = np.array([known[system] for system in run.systems])
        table = _by_depth(run, ballots, measures[0], shown, settings, depths, labels, progress, mapper)
    return replace(
        evaluation, summary=summary, tables={} if table is None else {"depths": table},
        warnings=(*_of_consensus(summary, counted, table, measures[0]), *evaluation.warnings),
        notes=(*evaluation.notes, note("consensus.limits")),
    )  # fmt: skip


def belief(source: Run | Opinions, settings: Settings) -> Belief:
    """The consensus of runs, or of votes of systems: the only place where one is made from settings."""
    ranked = isinstance(source, Run)
    given = consensus.votes(source, settings.depth) if isinstance(source, Run) else source
    counted = consensus.tally(given, prior=settings.prior, weights=settings.weights)
    return _belief_of(counted, settings, settings.depth if ranked else None)


def _belief_of(counted: Tally, settings: Settings, depth: int | None) -> Belief:
    people = consensus.PEOPLE if settings.people is None else settings.people
    rng = np.random.default_rng(settings.seed)
    return consensus.belief_of(counted, people=people, rng=rng, depth=depth, weights=settings.weights)


def with_everything(run: Run, counted: Tally, seed: int) -> Run:
    """The run and ⊤: all items of the universe, in an order drawn from the seed."""
    rank = np.empty(counted.rows.height, dtype=np.uint32)
    bounds = np.searchsorted(counted.place, np.arange(len(counted.queries) + 1))
    for number, query in enumerate(counted.queries):
        rng = np.random.default_rng((seed, crc32(query.encode()), 2))
        rank[bounds[number] : bounds[number + 1]] = rng.permutation(bounds[number + 1] - bounds[number]) + 1
    frame = counted.rows.with_columns(pl.Series("rank", rank)).sort("query", "rank")
    frame = frame.select(
        pl.lit(EVERYTHING).alias("system"), "query", "item", "rank", pl.col("rank").alias("block"),
        (-pl.col("rank").cast(pl.Float64)).alias("score"),
    )  # fmt: skip
    rows = pl.concat([run.frame, frame.cast(dict(run.frame.schema))])  # type: ignore[arg-type]
    return replace(run, frame=rows)


def _by_depth(
    run: Run, ballots: Ballots, first: Measure, shown: Floats, settings: Settings, depths: Sequence[int],
    labels: Opinions | None, progress: Progress | None, mapper: Mapper,
) -> pl.DataFrame | None:  # fmt: skip
    """depth, tau, leader: the ranking on the first measure where votes are taken at other depths.

    `shown` are the values of the summary, which are those of the depth that counts; tau is to their order. There is no
    leader where the measure is undefined for every system.
    """
    deepest = int(ballots.rank.max(initial=0))
    asked = {settings.depth, *(depth for depth in depths if depth <= deepest)}
    asked |= {deepest} if deepest < max(depths, default=0) else set()
    if len(asked) < 2:
        return None
    means: dict[int, Floats] = {settings.depth: shown}
    for number, depth in enumerate(sorted(asked - {settings.depth}), 1):
        counted = ballots.tally(depth, prior=settings.prior, weights=settings.weights)
        belief = consensus.belief_of(counted)
        placement = None
        if labels is None:
            placement = _placed(ballots, counted, ballots.universe(depth), settings.cut).some(run.systems)
        else:
            belief = pinned(belief, labels)
        means[depth] = expectations(run, belief, first, settings.policy, mapper=mapper, placement=placement)[0]
        if progress is not None:
            progress("depths", number, len(asked) - 1)
    sign = -1 if first.definition.lower else 1
    rows = [
        (depth, orders.tau(sign * mean, sign * shown), _leader(run.systems, sign * mean))
        for depth, mean in sorted(means.items())
    ]
    return pl.DataFrame(rows, schema={"depth": pl.Int64, "tau": pl.Float64, "leader": pl.String}, orient="row")


def _leader(systems: Sequence[str], values: Floats) -> str | None:
    return None if np.isnan(values).all() else systems[int(np.nanargmax(values))]


def _placed(ballots: Ballots, counted: Tally, universe: Bools, cut: int | None) -> Placement:
    """The lists placed in the consensus of the counted votes, as `place` does, without comparing any names."""
    queries, p = counted.queries, counted.p()
    bounds = np.searchsorted(counted.place, np.arange(len(queries) + 1))
    shape = (len(queries), len(ballots.systems))
    within = ballots.rank <= (BEYOND - 1 if cut is None else cut)
    lists = (ballots.query * shape[1] + ballots.voter)[within]
    retrieved = np.bincount(lists, minlength=shape[0] * shape[1]).reshape(shape)
    kept = universe[ballots.pair] & within
    query, voter, rank = ballots.query[kept], ballots.voter[kept], ballots.rank[kept]
    at = (np.cumsum(universe) - 1)[ballots.pair[kept]] - bounds[query]
    begins = np.searchsorted(query, np.arange(shape[0] + 1))
    readings, placed = [], []
    for number, name in enumerate(queries):
        items = slice(int(bounds[number]), int(bounds[number + 1]))
        readings.append(Readings(name, counted.rows["item"][items], np.ones(1), np.ones(1), p[items][None, :, None]))
        rows = slice(begins[number], begins[number + 1])
        hits = np.bincount(voter[rows], minlength=shape[1])
        column = np.arange(hits.sum()) - np.repeat(np.cumsum(hits) - hits, hits)
        ranks = np.full((shape[1], int(hits.max(initial=0))), BEYOND, dtype=np.int64)
        places = np.zeros(ranks.shape, dtype=np.int64)
        ranks[voter[rows], column], places[voter[rows], column] = rank[rows], at[rows]
        placed.append(Placed(ranks, places, retrieved[number]))
    return Placement(ballots.systems, readings, placed, NOT_COVERED)


def _of_consensus(summary: pl.DataFrame, counted: Tally, depths: pl.DataFrame | None, first: Measure) -> list[Note]:
    """When not to trust a consensus."""
    warnings = []
    lonely = {
        system: share
        for system, share in sorted(zip(counted.systems, counted.unique, strict=True), key=lambda pair: -pair[1])
        if share >= LONELY
    }
    if lonely:
        warnings.append(warning("consensus.unique", systems=lonely))
    groups = {tuple(group) for group in counted.families() if len(group) > 1}
    if groups and (counted.weights == 1).all():
        names = [[counted.systems[place] for place in group] for group in sorted(groups)]
        warnings.append(warning("consensus.clones", groups=names))
    warnings += _of_everything(summary, len(counted.systems), first)
    if depths is not None and (unstable := depths.filter(pl.col("tau") < UNSTABLE)).height:
        warnings.append(warning("consensus.depth", depths=unstable["depth"].to_list(), taus=unstable["tau"].to_list()))
    if len(counted.systems) < 4:
        warnings.append(warning("consensus.few_voters", systems=len(counted.systems)))
    return warnings


def _of_everything(summary: pl.DataFrame, systems: int, first: Measure) -> list[Note]:
    """Which systems do not beat ⊤."""
    own = summary.filter(pl.col("measure") == str(first))
    everything = own.filter(pl.col("system") == EVERYTHING)
    if not everything.height:
        return []
    mark = everything["value"][0]
    worse = (pl.col("value") >= mark) if first.definition.lower else (pl.col("value") <= mark)
    below = own.filter((pl.col("system") != EVERYTHING) & pl.col("value").is_not_nan() & worse)["system"].to_list()
    if len(below) == systems:
        return [warning("consensus.none_better", measure=str(first), everything=EVERYTHING)]
    if not below:
        return []
    return [warning("consensus.not_better", systems=below, measure=str(first), everything=EVERYTHING)]
