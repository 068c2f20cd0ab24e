"""Evaluation without judgments: the consensus of the runs' votes, and every system scored within it."""

from __future__ import annotations

import math
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
from endoxa.comparisons.posterior import levels_of
from endoxa.errors import JoinError, TextError, refuse_unknown
from endoxa.evaluations import believed, decided
from endoxa.evaluations.believed import EVERYTHING
from endoxa.evaluations.decided import Standing
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.sentences import lacking
from endoxa.evaluations.settings import WEIGHTS, Settings
from endoxa.measures.gather import NOT_COVERED
from endoxa.measures.grammar import Measure
from endoxa.measures.linear import Places
from endoxa.measures.lists import BEYOND
from endoxa.measures.own_votes import left_out
from endoxa.measures.placing import Placed, Placement, place
from endoxa.measures.uncertain import Mapper, Progress, expectations, mean_over_queries
from endoxa.notes import Note, note, warning
from endoxa.tables import Belief, Bools, Floats, Ints, Opinions, Run, Scores

DEPTHS = (10, 30, 100, 1000)
LONELY = 0.5  # share of unique items from which a warning is due
UNSTABLE = 0.8  # Kendall's tau below which the ranking is said to depend on the vote depth


def evaluate(
    run: Run, measures: Sequence[Measure], settings: Settings, *, depths: Sequence[int] = DEPTHS,
    progress: Progress | None = None, mapper: Mapper = map,
) -> Evaluation:  # fmt: skip
    """Rank systems without any judgment: by the learned belief as it is before the first label.

    Values, order, P(better) and P(best) come from one posterior, that of `decided` with no label, so that the first
    label continues what is said here. No interval stands beside a value: a consensus says nothing about sizes.
    `consensus` is the expected value within the consensus of all, `without_own_vote` the same excluding the system's
    own votes (or its family's), `unique` the share of its votes that no other system shares. ⊤ (everything in random
    order) is a virtual system. tables["depths"] says how the order on the first measure changes with the vote depth.
    """
    ballots = Ballots.of(run)
    counted = ballots.tally(settings.depth, prior=settings.prior, weights=settings.weights)
    standing = _standing(run, ballots, measures, settings)
    evaluation = decided.of_standing(standing, run, settings)
    whole = with_everything(run, counted, settings.seed)
    held = _belief_of(counted, settings.changed(people=0), settings.depth)
    placement = place(whole, held, settings.policy)
    summary = _with_everything(evaluation.summary, standing, settings)
    within = _expected(whole, held, measures, settings, placement, mapper)
    alone = left_out(
        run, counted, measures, settings.policy, families=settings.families, mapper=mapper, placement=placement
    ).rename({"value": "without_own_vote"})
    unique = pl.DataFrame({"system": counted.systems, "unique": counted.unique})
    for more, key in ((within, ["system", "measure"]), (alone, ["system", "measure"]), (unique, ["system"])):
        summary = summary.join(more, on=key, how="left", maintain_order="left")
    first = dict(within.filter(pl.col("measure") == str(measures[0])).select("system", "consensus").iter_rows())
    shown = np.array([first[system] for system in run.systems])
    table = _by_depth(run, ballots, measures[0], shown, settings, depths, None, progress, mapper)
    scores = evaluation.scores
    assert scores is not None
    return replace(
        evaluation, kind="consensus", summary=summary, belief=held, virtual=EVERYTHING,
        tables={} if table is None else {"depths": table},
        warnings=(
            *_of_consensus(summary, counted, table, measures[0]), *lacking(scores, believed.TOPICS["consensus"]),
            *_few_queries(len(scores.queries)),
        ),
        notes=(*held.lines(), note("doubt.everything", system=EVERYTHING), *evaluation.notes,
               note("consensus.limits")),
    )  # fmt: skip


def score(run: Run, measures: Sequence[Measure], settings: Settings) -> Scores:
    """Values per system, query and measure as `evaluate` takes them."""
    return decided.score_standing(_standing(run, Ballots.of(run), measures, settings), run, settings)


def between(run: Run, pair: tuple[str, str], measures: Sequence[Measure], settings: Settings) -> Evaluation:
    """Two systems by the consensus of all the others, as before the first label."""
    ballots = Ballots.of(run)
    for name in pair:
        refuse_unknown("system", name, ballots.systems)
    if pair[0] == pair[1]:
        raise TextError(f"{pair[0]!r} is compared with itself", remedy="name two systems")
    if len(ballots.systems) < 4:
        raise JoinError(
            "with both left out, fewer than two systems are left to vote", remedy="add the outputs of others"
        )
    standing = _standing(run, ballots, measures, settings, without=pair)
    evaluation = decided.of_standing(standing, run, settings.changed(baseline=pair[1]))
    both, scores, comparison = pl.col("system").is_in(pair), evaluation.scores, evaluation.comparison
    assert scores is not None and comparison is not None
    pairs = comparison.frame.filter(pl.col("system") == pair[0])
    won = {(pair[0], m): p for m, p in pairs.select("measure", "superiority").iter_rows()}
    won |= {(pair[1], m): 1 - p for (_, m), p in won.items()}
    summary = evaluation.summary.filter(both)
    best = [won[key] for key in summary.select("system", "measure").iter_rows()]
    return replace(
        evaluation, kind="consensus", summary=summary.with_columns(p_best=pl.Series(best), consensus=pl.col("value")),
        scores=replace(scores, frame=scores.frame.filter(both), coverage=scores.coverage.filter(both)),
        compared=replace(comparison, frame=pairs), baseline=None,
        warnings=(), notes=(note("belief.votes_left_out", systems=list(pair)), note("consensus.limits")),
    )  # fmt: skip


def of_votes(
    run: Run, measures: Sequence[Measure], settings: Settings, votes: Opinions, *, labels: Opinions | None = None,
    progress: Progress | None = None, mapper: Mapper = map,
) -> Evaluation:  # fmt: skip
    """Score systems that said yes, no or unknown to named items within the consensus of all their votes.

    `labels` are judged pairs: the belief holds them certain; `believed.with_labels` adds what they say on their own.
    """
    counted = consensus.tally(votes, prior=settings.prior, weights=settings.weights)
    held = _belief_of(counted, settings, None)
    held = held if labels is None else pinned(held, labels)
    whole = with_everything(run, counted, settings.seed)
    placement = None if settings.plugin or held.certain else place(whole, held, settings.policy)
    scores = believed.score(whole, held, measures, settings, progress=progress, mapper=mapper, placement=placement)
    evaluation = believed.of_scores(scores, held, settings, kind="votes")
    summary = evaluation.summary
    if labels is None and not settings.plugin:
        alone = left_out(
            run, counted, measures, settings.policy, families=settings.families, mapper=mapper, placement=placement
        ).rename({"value": "without_own_vote"})
        summary = summary.join(alone, on=["system", "measure"], how="left", maintain_order="left")
    return _within(evaluation, _with_unique(summary, counted), counted, None, measures[0])


def with_labels(
    run: Run, measures: Sequence[Measure], settings: Settings, labels: Opinions, *, depths: Sequence[int] = DEPTHS,
    progress: Progress | None = None, mapper: Mapper = map,
) -> Evaluation:  # fmt: skip
    """Score every system within the consensus of all, in which some judged pairs are certain.

    The labels teach nothing about other pairs, and no probability is given: it would be that of a consensus.
    """
    ballots = Ballots.of(run)
    counted = ballots.tally(settings.depth, prior=settings.prior, weights=settings.weights)
    held = pinned(_belief_of(counted, settings, settings.depth), labels)
    whole = with_everything(run, counted, settings.seed)
    scores = believed.score(whole, held, measures, settings, progress=progress, mapper=mapper)
    evaluation = believed.without_chances(believed.of_scores(scores, held, settings, kind="consensus"))
    summary = _with_unique(evaluation.summary, counted)
    first = dict(summary.filter(pl.col("measure") == str(measures[0])).select("system", "value").iter_rows())
    shown = np.array([first[system] for system in run.systems])
    table = _by_depth(run, ballots, measures[0], shown, settings, depths, labels, progress, mapper)
    return _within(evaluation, summary, counted, table, measures[0])


def _with_unique(summary: pl.DataFrame, counted: Tally) -> pl.DataFrame:
    unique = pl.DataFrame({"system": counted.systems, "unique": counted.unique})
    return summary.join(unique, on="system", how="left", maintain_order="left")


def _within(
    evaluation: Evaluation, summary: pl.DataFrame, counted: Tally, depths: pl.DataFrame | None, first: Measure
) -> Evaluation:
    """The evaluation with what is known about a consensus: the order at other vote depths, and when not to trust it."""
    return replace(
        evaluation, summary=summary, tables={} if depths is None else {"depths": depths},
        warnings=(*_of_consensus(summary, counted, depths, first), *evaluation.warnings),
        notes=(*evaluation.notes, note("consensus.limits")),
    )  # fmt: skip


def _standing(
    run: Run, ballots: Ballots, measures: Sequence[Measure], settings: Settings, without: Sequence[str] = ()
) -> Standing:
    """What is believed before the first label, with the prior and the weights of the votes, where they are given."""
    universe = decided.universe_of(run, settings)
    if without or (settings.prior, settings.weights) != ((1.0, 1.0), WEIGHTS):
        counted = ballots.tally(universe.depth, prior=settings.prior, weights=settings.weights)
        p = counted.rows.with_columns(pl.Series("p", counted.p([counted.systems.index(name) for name in without])))
        universe = replace(universe, consensus=universe.rows.join(p, on=["query", "item"], how="left")["p"].to_numpy())
    return decided.stand(universe, None, measures)


def _expected(
    whole: Run, held: Belief, measures: Sequence[Measure], settings: Settings, placement: Placement, mapper: Mapper
) -> pl.DataFrame:
    """system, measure, consensus: the expected value within the consensus; with plugin that of expected grades."""
    if settings.plugin:
        scores = believed.score(whole, held, measures, settings, mapper=mapper)
        frame = scores.frame.group_by("system", "measure", maintain_order=True).agg(
            pl.col("value").fill_nan(None).mean()
        )
        return frame.rename({"value": "consensus"})
    values = expectations(whole, held, measures, settings.policy, mapper=mapper, placement=placement)
    rows = [
        (system, str(m), float(value))
        for m, row in zip(measures, values, strict=True)
        for system, value in zip(placement.systems, row, strict=True)
    ]
    return pl.DataFrame(rows, schema={"system": pl.String, "measure": pl.String, "consensus": pl.Float64}, orient="row")


def _with_everything(summary: pl.DataFrame, standing: Standing, settings: Settings) -> pl.DataFrame:
    """The summary with ⊤: all pairs of the universe in an order drawn from the seed; on measures with a linear form."""
    learned, rows = standing.learned, []
    universe = learned.universe
    row, rank = _shuffled(universe.topic, universe.queries, settings.seed)
    places = Places(np.zeros(len(row), np.int64), row, rank, universe.topic, 1, len(universe.queries))
    for m in standing.measures:
        value = math.nan
        if m.linear is not None:
            levels, steps = levels_of(m, learned)
            value = float(mean_over_queries(m.linear.slopes(places, learned.tails[levels], steps).value)[0])
        rows.append({"system": EVERYTHING, "measure": str(m), "value": value, "queries": len(universe.queries)})
    return pl.concat(
        [summary, pl.DataFrame(rows, schema_overrides={"queries": summary.schema["queries"]})], how="diagonal"
    )


def _shuffled(topic: Ints, queries: Sequence[str], seed: int) -> tuple[Ints, Ints]:
    """The rows of every topic in an order drawn from the seed and the name of the query, and their ranks."""
    bounds = np.searchsorted(topic, np.arange(len(queries) + 1))
    row, rank = np.empty(len(topic), dtype=np.int64), np.empty(len(topic), dtype=np.int64)
    for number, query in enumerate(queries):
        at = slice(int(bounds[number]), int(bounds[number + 1]))
        size = at.stop - at.start
        order = np.random.default_rng((seed, crc32(query.encode()), 2)).permutation(size)
        row[at.start + order], rank[at] = np.arange(at.start, at.stop), np.arange(size) + 1
    return row, rank


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
    row, rank = _shuffled(counted.place, counted.queries, seed)
    frame = counted.rows[row.tolist()].with_columns(pl.Series("rank", rank, dtype=pl.UInt32)).select(
        pl.lit(EVERYTHING).alias("system"), "query", "item", "rank", pl.col("rank").alias("block"),
        (-pl.col("rank").cast(pl.Float64)).alias("score"),
    )  # fmt: skip
    rows = pl.concat([run.frame, frame.cast(dict(run.frame.schema))])
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


def _few_queries(queries: int) -> list[Note]:
    """A warning where there are few queries: what holds for these need not hold for others."""
    return [warning("consensus.few_queries", queries=queries)] if queries < believed.FEW else []


def _of_everything(summary: pl.DataFrame, systems: int, first: Measure) -> list[Note]:
    """Which systems do not beat ⊤."""
    own = summary.filter(pl.col("measure") == str(first))
    everything = own.filter(pl.col("system") == EVERYTHING)
    if not everything.height:
        return []
    value = "consensus" if "consensus" in own.columns else "value"
    mark = everything[value][0]
    worse = (pl.col(value) >= mark) if first.definition.lower else (pl.col(value) <= mark)
    below = own.filter((pl.col("system") != EVERYTHING) & pl.col(value).is_not_nan() & worse)["system"].to_list()
    if len(below) == systems:
        return [warning("consensus.none_better", measure=str(first), everything=EVERYTHING)]
    if not below:
        return []
    return [warning("consensus.not_better", systems=below, measure=str(first), everything=EVERYTHING)]
