"""Sampling of pairs to ask, with known propensities.

A task shows one query with a few results. In Barnard's design each result is drawn by another system, from a proposal
that favours high ranks. The propensity of each pair is stored, and estimates are weighted by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from endoxa.errors import JoinError, TableError, TextError, did_you_mean
from endoxa.frozen import dataclass
from endoxa.notes import Note, note, text
from endoxa.pools.pooling import pool
from endoxa.statistics.propensity import effective
from endoxa.tables import DRAW, Floats, Ints, Run, refuse_null, rename_known, require, with_draws

TASKS = {
    "task": pl.Int64, "query": pl.String, "item": pl.String, "place": pl.Int64, "propensity": pl.Float64,
    "selected_by": pl.String, **dict.fromkeys(DRAW, pl.Int64), "round": pl.Int64,
}  # fmt: skip
DRAWS = {"task": pl.Int64, "query": pl.String, "system": pl.String, "item": pl.String}


@dataclass(frozen=True, eq=False)
class Plan:
    """The plan of a study.

    tasks   task, query, item, place, propensity, selected_by, draw, draw_after, draw_depth, round: one row per pair;
            tasks and places count from 0. Task numbers are in random order: if tasks are given out by number, any first
            part is a random sample.
    draws   task, query, system, item: one row per draw of a system, including repeated ones; task asks the pair
    notes   for the organiser: what was drawn, and warnings
    """

    tasks: pl.DataFrame
    draws: pl.DataFrame
    notes: tuple[Note, ...] = ()


def proposal(ranks: npt.ArrayLike, *, gamma: float = 1.0, floor: float = 0.1, size: int) -> Floats:
    """Probability of each item in one draw of a system: q = (1 - floor) rank^-gamma / Z + floor / size.

    Z = Σ_{r <= size} r^-gamma over a universe of `size` items. The last axis is the item. Rank 0 means that the system
    did not return the item; these items share the rest of Z equally, as if they followed in random order.
    Over a complete universe q sums to 1.
    Misleads: gamma = 5 and floor = 0, as published by Barnard et al., draw rank 1 in 96 of 100 draws (erratum D-E3).
    Source: docs/methods/studies.md, Sampling.
    """
    if not (math.isfinite(gamma) and gamma >= 0):
        raise TextError(f"gamma is at least 0 (uniform), not {gamma}", remedy="1 is usual")
    if not 0 <= floor <= 1:
        raise TextError(f"the floor lies between 0 and 1, not {floor:g}", remedy="0.1 is usual")
    if size < 1:
        raise TextError(f"a universe has at least 1 item, not {size}")
    r = np.asarray(ranks, dtype=np.float64)
    if r.shape[-1:] > (size,) or (r > size).any() or (r < 0).any():
        raise TableError(f"ranks lie between 1 and {size:,} (the items of the universe), or are 0 if not returned")
    returned = r > 0
    mass = np.where(returned, np.where(returned, r, 1.0) ** -gamma, 0.0)
    Z = float((np.arange(1, size + 1, dtype=np.float64) ** -gamma).sum())
    behind = size - returned.sum(axis=-1, keepdims=True)
    rest = np.maximum(Z - mass.sum(axis=-1, keepdims=True), 0.0) / np.maximum(behind, 1)
    return np.asarray((1 - floor) * np.where(returned, mass, rest) / Z + floor / size)


def effective_size(gamma: float, size: int, draws: int, *, floor: float = 0.0) -> float:
    """The effective sample size of `draws` draws for a mean over the whole universe: draws · size² / Σ 1/q.

    It is the number of draws with equal probabilities that are as informative.
    Source: after Kish 1965; docs/methods/studies.md, Sampling.
    """
    q = np.arange(1, size + 1, dtype=np.float64) ** -gamma
    q = (1 - floor) * q / q.sum() + floor / size
    return float(draws * float(size) ** 2 / (1 / q).sum())


def warning(gamma: float, floor: float, *, size: int, draws: int) -> str | None:
    """A warning if the proposal is too steep (gamma > 1) or its floor too low (floor < 0.1)."""
    if gamma <= 1 and floor >= 0.1:
        return None
    worth = effective_size(gamma, size, draws, floor=floor)
    return (
        f"gamma {gamma:g} and floor {floor:g}: over {size:,} items, {draws:,} draws have an effective "
        f"sample size of {worth:.2g}; use gamma of at most 1 and a floor of at least 0.1, or rely on estimates for the "
        "first ranks only"
    )


def plan(
    run: Run, *, queries: Iterable[str] | None = None, query_share: float = 1.0, per_task: int = 4,
    tasks_per_query: int = 1, gamma: float = 1.0, floor: float = 0.1, depth: int | None = None,
    collection: Iterable[str] | None = None, rng: np.random.Generator,
) -> Plan:  # fmt: skip
    """Barnard's design: every task shows one query with results that different systems drew.

    The universe of a query is the union of its lists (of their first `depth`), or the `collection`; each system with
    a list for the query ranks the items that it returned. In each task, min(per_task, systems) systems, chosen at
    random, draw one item each. A pair drawn twice in a query is asked once, in the first task that drew it.

    pi = Pr(query sampled) · (1 - s^tasks), s = mean over the sets of k systems of Π (1 - q_m). This is exact, unlike a
    product over all systems with q_m·k/M. round(query_share · queries) queries are sampled, at least one.
    Misleads: an item outside the universe has propensity 0, and no estimate covers it.
    Source: Barnard et al.; docs/methods/studies.md, Sampling.
    """
    refuse_tasks(per_task)
    if tasks_per_query < 1:
        raise TextError(f"a query has at least 1 task, not {tasks_per_query}")
    if not 0 < query_share <= 1:
        raise TextError(f"the share of queries is above 0 and at most 1, not {query_share:g}")
    if depth is not None and depth < 1:
        raise TextError(f"the depth of a pool is at least 1, not {depth}")
    frame = lists_of(run, queries)
    if not frame.height:
        raise JoinError("there is no list to draw from", remedy="give a run with at least one query")
    names = frame["query"].unique(maintain_order=True).to_list()
    sampled = np.sort(rng.permutation(len(names))[: max(1, round(query_share * len(names)))])
    chance = len(sampled) / len(names)
    items, code = _coded(frame, collection)
    systems = run.systems
    number = frame["system"].replace_strict(systems, list(range(len(systems))), return_dtype=pl.Int64).to_numpy()
    at = frame["query"].replace_strict(names, list(range(len(names))), return_dtype=pl.Int64).to_numpy()
    order = np.argsort(at, kind="stable")  # lists stay contiguous and in rank order
    ends = np.searchsorted(at[order], np.arange(len(names) + 1))
    rank = frame["rank"].to_numpy()
    parts: list[tuple[Ints, Ints, Ints, Ints, Floats]] = []
    sizes: list[int] = []
    for query in sampled.tolist():
        rows = order[ends[query] : ends[query + 1]]
        kept = rows if depth is None else rows[rank[rows] <= depth]
        universe = np.arange(len(items)) if collection is not None else np.unique(code[kept])
        present, q = _proposals(number[rows], code[rows], universe, gamma, floor)
        task, who, item = _drawn(q, min(per_task, len(present)), tasks_per_query, rng)
        missed = _missed(q[:, np.unique(item)], min(per_task, len(present)))
        pi = chance * (1 - missed**tasks_per_query)
        chosen = np.searchsorted(np.unique(item), item)
        parts.append((np.full(len(item), query), task, present[who], universe[item], pi[chosen]))
        sizes.append(len(universe))
    query_at, turn, system_at, item_at, propensity = map(np.concatenate, zip(*parts, strict=True))
    of_query, of_system = pl.Series(names, dtype=pl.String)[query_at], pl.Series(systems, dtype=pl.String)[system_at]
    drawn = pl.DataFrame(
        {"query": of_query, "turn": turn, "system": of_system, "item": items[item_at], "propensity": propensity}
    )
    tasks = drawn.group_by("query", "item", maintain_order=True).agg(
        pl.col("turn").min(),
        pl.col("propensity").first(),
        pl.col("system").unique().sort().str.join("+").alias("selected_by"),
    )
    tasks = _numbered(tasks, rng)
    draws = drawn.join(tasks.select("query", "item", "task"), on=["query", "item"], how="left", maintain_order="left")
    notes = [
        warning(gamma, floor, size=int(np.median(sizes)), draws=drawn.height) or "",
        f"{len(sampled):,} of {len(names):,} queries, {tasks['task'].n_unique():,} tasks, {tasks.height:,} pairs from "
        f"{drawn.height:,} draws; {drawn.height - tasks.height:,} draws repeated a pair, which is asked once",
    ]
    worth = note("plan.worth", pairs=tasks.height, effective=effective(1 / tasks["propensity"].to_numpy()))
    draws = draws.select(list(DRAWS)).sort("task", maintain_order=True)
    return Plan(tasks, draws, (*map(text, filter(None, notes)), worth))


def pool_plan(run: Run, depth: int, per_task: int = 4, *, rng: np.random.Generator) -> Plan:
    """A plan with every pair of the depth pool: propensity 1, selected by the systems that pooled it.

    `draws` has one row per system and pair among its own first `depth`, so that a verdict compares mean ratings there.
    """
    refuse_tasks(per_task)
    pooled = pool(run, depth)
    pairs = pooled.select(
        "query", "item", pl.lit(1.0).alias("propensity"), pl.col("by").list.join("+").alias("selected_by")
    )
    tasks = in_tasks(pairs, per_task, rng)
    draws = pooled.select("query", "item", pl.col("by").alias("system")).explode("system")
    draws = draws.join(tasks.select("query", "item", "task"), on=["query", "item"], how="left")
    words = (
        f"the pool of depth {depth}: {tasks.height:,} pairs in {tasks['task'].n_unique():,} tasks, all of them asked"
    )
    return Plan(tasks, draws.select(list(DRAWS)).sort(list(DRAWS)), (text(words),))


def pairs_plan(frame: pl.DataFrame, per_task: int = 4, *, rng: np.random.Generator) -> Plan:
    """A plan with the given pairs: query, item, and if known propensity, selected_by (otherwise `pairs`) and the draw.

    A pair without a propensity can be asked, but estimates cannot weight it.
    """
    refuse_tasks(per_task)
    frame = rename_known(frame, ("query", "item", "propensity"))
    require(frame, ("query", "item"), "table of pairs")
    absent = {"propensity": pl.lit(None, dtype=pl.Float64), "selected_by": pl.lit("pairs")}
    frame = frame.with_columns(value.alias(name) for name, value in absent.items() if name not in frame.columns)
    types = {name: TASKS[name] for name in ("query", "item", "propensity", "selected_by")}
    frame = with_draws(frame.with_columns(pl.col(name).cast(dtype) for name, dtype in types.items()), "table of pairs")
    pairs = frame.select(*types, *DRAW)
    refuse_null(pairs, ("query", "item"), "table of pairs")
    if not pairs.height:
        raise TableError("the table of pairs is empty; there is nothing to ask")
    if (twice := pairs.filter(pairs.select("query", "item").is_duplicated())).height:
        raise TableError(f"item {twice['item'][0]!r} of query {twice['query'][0]!r} occurs twice", remedy="ask it once")
    if (outside := pairs.filter(~pl.col("propensity").is_between(0, 1, closed="right"))).height:
        raise TableError(f"propensity {outside['propensity'][0]:g} of item {outside['item'][0]!r} is not in (0, 1]")
    tasks = in_tasks(pairs, per_task, rng)
    notes = [f"{tasks.height:,} pairs in {tasks['task'].n_unique():,} tasks"]
    if bare := pairs["propensity"].null_count():
        notes.append(f"{bare:,} pairs have no propensity; weighted estimates cannot use them")
    return Plan(tasks, pl.DataFrame(schema=DRAWS), tuple(map(text, notes)))


def lists_of(run: Run, queries: Iterable[str] | None) -> pl.DataFrame:
    """The rows of these queries (by default of all); a query without a list is refused."""
    if queries is None:
        return run.frame
    wanted, known = list(queries), run.frame["query"].unique().to_list()
    for query in sorted(set(wanted) - set(known)):
        raise JoinError(f"no system has a list for query {query!r}", remedy=did_you_mean(query, known))
    return run.frame.filter(pl.col("query").is_in(wanted))


def _coded(frame: pl.DataFrame, collection: Iterable[str] | None) -> tuple[pl.Series, Ints]:
    """All items, and the index of the item of each row."""
    items = frame["item"] if collection is None else pl.Series("item", list(collection), dtype=pl.String)
    items = items.unique().sort()
    numbers = pl.DataFrame({"item": items, "code": np.arange(len(items))})
    code = frame.select("item").join(numbers, on="item", how="left", maintain_order="left")
    if code["code"].null_count():
        item = code.filter(pl.col("code").is_null())["item"][0]
        raise JoinError(
            f"item {item!r} of the run is not in the collection of {len(items):,}", remedy="do they belong together?"
        )
    return items, code["code"].to_numpy()


def _proposals(number: Ints, code: Ints, universe: Ints, gamma: float, floor: float) -> tuple[Ints, Floats]:
    """The systems with a list for the query, and their probabilities of drawing the items of the universe."""
    present = np.unique(number)
    at = np.minimum(np.searchsorted(universe, code), len(universe) - 1)
    inside = universe[at] == code
    ranks = np.zeros((len(present), len(universe)))
    for row, system in enumerate(present.tolist()):
        mine = at[(number == system) & inside]
        ranks[row, mine] = np.arange(1, len(mine) + 1)
    return present, proposal(ranks, gamma=gamma, floor=floor, size=len(universe))


def _drawn(q: Floats, places: int, tasks: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Task, system and item of every draw: per task `places` different systems, one independent draw each."""
    who = rng.random((tasks, len(q))).argsort(axis=1)[:, :places].ravel()
    u = rng.random(len(who))
    item = np.empty(len(who), dtype=np.int64)
    for system in np.unique(who).tolist():
        reached = np.cumsum(q[system])
        mine = who == system
        item[mine] = np.searchsorted(reached, u[mine] * reached[-1], side="right")
    return np.repeat(np.arange(tasks), places), who, np.minimum(item, q.shape[1] - 1)


def _missed(q: Floats, places: int) -> Floats:
    """Probability that a task does not draw an item: the mean over all sets of `places` systems of Π (1 - q_m).

    It is the elementary symmetric polynomial of the 1 - q_m divided by the number of sets, by the usual recursion.
    """
    sums = np.zeros((places + 1, q.shape[1]))
    sums[0] = 1
    for row in 1 - q:
        sums[1:] += sums[:-1] * row
    return np.asarray(np.clip(sums[places] / math.comb(len(q), places), 0, 1))


def in_tasks(pairs: pl.DataFrame, per_task: int, rng: np.random.Generator, round: int = 1) -> pl.DataFrame:  # noqa: A002
    """Pairs as tasks of one query each, with the columns `TASKS`, in random order."""
    return _numbered(_chunked(pairs, per_task, rng), rng, round)


def _chunked(pairs: pl.DataFrame, per_task: int, rng: np.random.Generator) -> pl.DataFrame:
    """The pairs of each query in random order, split into turns of `per_task`."""
    mixed = pairs.sort("query", "item")[rng.permutation(pairs.height)].sort("query", maintain_order=True)
    return mixed.with_columns((pl.int_range(pl.len()).over("query") // per_task).alias("turn"))


def _numbered(pairs: pl.DataFrame, rng: np.random.Generator, round: int = 1) -> pl.DataFrame:  # noqa: A002
    """Tasks in random order from pairs with query and turn, with items in random order."""
    mixed = pairs.sort("query", "item")[rng.permutation(pairs.height)]
    turns = mixed.select("query", "turn").unique().sort("query", "turn")
    turns = turns.with_columns(pl.Series("task", rng.permutation(turns.height)))
    return (
        mixed.join(turns, on=["query", "turn"], how="left", maintain_order="left")
        .with_columns(pl.int_range(pl.len()).over("task").alias("place"), pl.lit(round).alias("round"))
        .pipe(shaped, TASKS)
        .sort("task", "place")
    )


def shaped(tasks: pl.DataFrame, types: Mapping[str, Any]) -> pl.DataFrame:
    """The tasks with these columns; those of the draw are null where nothing was drawn."""
    absent = [pl.lit(None, pl.Int64).alias(name) for name in DRAW if name not in tasks.columns]
    return tasks.with_columns(absent).select(pl.col(name).cast(dtype) for name, dtype in types.items())


def refuse_tasks(per_task: int) -> None:
    """Refuse a task without results."""
    if per_task < 1:
        raise TextError(f"a task shows at least 1 result, not {per_task}")
