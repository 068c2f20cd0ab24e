"""From runs and judgments to scores.

The unit of work is a block of whole queries: `score_block` maps one block to values, `gather` joins the blocks.
Blocks are independent, so a file reader, a process pool or a cluster can feed the same function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TableError
from endoxa.measures.grammar import Measure, parse_all
from endoxa.measures.judgments import Judgments, keys_of
from endoxa.measures.lists import BEYOND, Lists
from endoxa.policies import Policy
from endoxa.tables import DuplicateJudgmentError, Floats, Ints, Opinions, Run, Scores

CELLS = 2_000_000  # the greatest padded array that is made at once: memory stays bounded


@dataclass(frozen=True)
class Block:
    """Scores of a block: one entry per list, values as [measure, list]."""

    systems: list[str]
    places: Ints
    values: Floats
    spread: Floats | None  # [3, measure, list]: sd, lo, hi
    texts: list[list[str]]
    coverage: pl.DataFrame  # system, unknown, items, judged, tied


@dataclass(frozen=True)
class _Found:
    """The judged items of a block, and the lists they stand in."""

    lists: pl.DataFrame  # system, place, size; one row per list of a judged query
    rows: pl.DataFrame  # list, rank, block, grade, stratum; sorted by list and rank
    length: Ints | None  # per row: size of its run of equal scores


def measure(
    run: Run, opinions: Opinions, measures: str | Measure | Iterable[str | Measure], policy: Policy | None = None
) -> Scores:
    """Score every list of the run against the judgments.

    Formula: one value per system, query and measure; averages are made by `summarise`.
    """
    policy = policy or Policy(ties=run.ties if run.ties == "input" else "trec")
    wanted = parse_all(measures)
    panel = prepare(opinions, policy)
    blocks = [[score_block(run, judgments, wanted, policy)] for judgments in panel.values()]
    return gather(panel, blocks, wanted, policy, systems=run.systems)


def prepare(opinions: Opinions, policy: Policy) -> dict[str, Judgments]:
    """Judgments by assessor; a single entry unless each assessor is to be scored apart."""
    if policy.assessors == "mean":
        return {
            source: Judgments.of(Opinions(opinions.frame.filter(pl.col("source") == source)))
            for source in opinions.sources
        }
    pairs = opinions.frame.select("query", "item")
    twice = pairs.filter(pairs.is_duplicated())
    if twice.height:
        raise DuplicateJudgmentError("", twice["query"][0], twice["item"][0])
    return {"": Judgments.of(opinions)}


def score_block(run: Run, judgments: Judgments, measures: Sequence[Measure], policy: Policy) -> Block:
    """Score one block of whole queries. Pure; the same for every feeder."""
    found, coverage = _look_up(run, judgments, policy)
    numeric = [m for m in measures if not m.definition.text]
    count = found.lists.height
    values = np.full((len(numeric), count), np.nan)
    spread = np.full((3, len(numeric), count), np.nan)
    texts = [[""] * count for m in measures if m.definition.text]
    uncertain = policy.ties in {"average", "range"} or policy.unjudged == "bounds"
    for chosen, lists in _batches(found, judgments, policy):
        plain = replace(lists, block=None, length=None)
        for row, wanted in enumerate(m for m in measures if m.definition.text):
            for place, text in zip(chosen, wanted(plain), strict=True):
                texts[row][place] = text
        if not uncertain:
            for row, wanted in enumerate(numeric):
                values[row, chosen] = wanted(plain, compat=policy.compat)
            continue
        for row, wanted in enumerate(numeric):
            values[row, chosen], spread[:, row, chosen] = _uncertain(wanted, lists, policy)
    if policy.undefined == "zero":
        values = np.nan_to_num(values, nan=0.0)
    return Block(
        found.lists["system"].to_list(),
        found.lists["place"].to_numpy(),
        values,
        spread if uncertain else None,
        texts,
        coverage,
    )


def _look_up(run: Run, judgments: Judgments, policy: Policy) -> tuple[_Found, pl.DataFrame]:
    """Which rows of the block are judged. Hashes sift the rows; names decide."""
    frame = run.frame
    if policy.depth is not None:
        frame = frame.filter(pl.col("rank") <= policy.depth)
    rank = frame["rank"].to_numpy().astype(np.int64)
    heads = np.flatnonzero(rank == 1)
    sizes = np.diff(np.append(heads, len(rank)))
    lists = frame[heads].select("system", "query").join(judgments.places, on="query", how="left", maintain_order="left")
    lists = lists.with_columns(pl.Series("size", sizes, dtype=pl.Int64), pl.col("place").fill_null(-1))
    place = np.repeat(lists["place"].to_numpy(), sizes)
    number = np.repeat(np.arange(len(heads)), sizes)
    sifted = pl.Series(keys_of(frame["item"], place)).is_in(judgments.keys.implode())
    rows = np.flatnonzero(sifted.to_numpy() & (place >= 0))
    block = frame["block"].to_numpy().astype(np.int64)
    candidates = pl.DataFrame(
        {
            "place": place[rows],
            "item": frame["item"][rows],
            "list": number[rows],
            "rank": rank[rows],
            "block": block[rows],
            "row": rows,
        }
    )
    judged = candidates.join(judgments.frame, on=["place", "item"], how="inner").sort("list", "rank")
    tied = _tied(block, number)
    length = None
    if policy.ties in {"average", "range"}:
        starts = np.flatnonzero(np.append(True, (block[1:] != block[:-1]) | (number[1:] != number[:-1])))
        lengths = np.repeat(np.diff(np.append(starts, len(block))), np.diff(np.append(starts, len(block))))
        length = lengths[judged["row"].to_numpy()]
    known = lists["place"].to_numpy() >= 0
    coverage = pl.DataFrame(
        {
            "system": lists["system"],
            "unknown": (~known).astype(np.int64),
            "items": np.where(known, sizes, 0),
            "judged": np.bincount(
                judged.filter(pl.col("grade") >= 0)["list"].to_numpy(), minlength=len(heads)
            ),
            "tied": np.where(known, np.bincount(number, weights=tied, minlength=len(heads)), 0).astype(np.int64),
        }
    )
    kept = np.cumsum(known) - 1
    found = _Found(
        lists.filter(known),
        judged.select(pl.Series("list", kept[judged["list"].to_numpy()]), "rank", "block", "grade", "stratum"),
        length,
    )
    return found, coverage.group_by("system", maintain_order=True).sum()


def _tied(block: Ints, number: Ints) -> Floats:
    """1 for every row that shares its score with a neighbour."""
    same = np.zeros(len(block), dtype=bool)
    same[1:] = (block[1:] == block[:-1]) & (number[1:] == number[:-1])
    tied = same.copy()
    tied[:-1] |= same[1:]
    return tied.astype(float)


def _batches(found: _Found, judgments: Judgments, policy: Policy) -> Iterator[tuple[Ints, Lists]]:
    """Padded arrays of lists with about the same number of judged items, none larger than CELLS."""
    count = found.lists.height
    if not count:
        return
    owner = found.rows["list"].to_numpy()
    hits = np.bincount(owner, minlength=count)
    starts = np.concatenate([[0], np.cumsum(hits)])
    places = found.lists["place"].to_numpy()
    width = np.maximum(np.maximum(hits, np.diff(judgments.offsets)[places]), 1)
    order = np.argsort(width, kind="stable")
    columns = {name: found.rows[name].to_numpy() for name in ("rank", "block", "grade", "stratum")}
    begin = 0
    while begin < count:
        end = begin + 1
        reach = np.searchsorted(np.arange(1, count - begin + 1) * width[order[begin:]], CELLS, side="right")
        end = begin + max(int(reach), 1)
        chosen = np.sort(order[begin:end])
        begin = end
        at = np.arange(int(hits[chosen].max(initial=0)))
        real = at < hits[chosen][:, None]
        rows = np.where(real, starts[chosen][:, None] + at, 0)

        def padded(values: Ints | Floats, filler: float, rows: Ints = rows, real: Ints = real) -> Ints | Floats:
            return np.where(real, values[rows], filler) if len(values) else np.full(real.shape, filler)

        pool, pool_stratum = judgments.pools(places[chosen])
        sampled = judgments.sizes.shape[1] > 0
        lists = Lists(
            rank=padded(columns["rank"], BEYOND).astype(np.int64),
            grade=padded(columns["grade"], np.nan).astype(float),
            retrieved=found.lists["size"].to_numpy()[chosen],
            pool=pool,
            top=judgments.top,
            block=padded(columns["block"], BEYOND).astype(np.int64) if found.length is not None else None,
            length=padded(found.length, 1).astype(np.int64) if found.length is not None else None,
            stratum=padded(columns["stratum"], -1).astype(np.int64) if sampled else None,
            pool_stratum=pool_stratum if sampled else None,
            stratum_size=judgments.sizes[places[chosen]] if sampled else None,
        )
        yield chosen, lists if policy.unjudged != "condensed" or uncertain_ties(policy) else lists.condensed()


def uncertain_ties(policy: Policy) -> bool:
    """Whether equal scores give more than one order."""
    return policy.ties in {"average", "range"}


def _uncertain(wanted: Measure, lists: Lists, policy: Policy) -> tuple[Floats, Floats]:
    """Value and (sd, lo, hi) where the order of equal scores, or unjudged items, leave it open."""
    condense = policy.unjudged == "condensed"

    def score(some: Lists) -> Floats:
        return wanted(some.condensed() if condense else some, compat=policy.compat)

    plain = replace(lists, block=None, length=None)
    nothing = np.full(lists.retrieved.shape, np.nan)
    if policy.unjudged == "bounds":
        if wanted.definition.bounds is None:
            return score(plain), np.stack([nothing, nothing, nothing])
        low, high = wanted.definition.bounds(plain, **wanted.keywords(compat=policy.compat))
        return score(plain), np.stack([nothing, low, high])
    if policy.ties == "range":
        ends = np.stack([score(_ordered(lists, best=False)), score(_ordered(lists, best=True))])
        return score(plain), np.stack([nothing, ends.min(0), ends.max(0)])
    if wanted.definition.additive and not condense:
        return wanted(lists, compat=policy.compat), np.stack([np.zeros_like(nothing), nothing, nothing])
    rng = np.random.default_rng(policy.seed)
    draws = np.stack([score(_shuffled(lists, rng)) for _ in range(policy.shuffles)])
    mean = draws.mean(0)
    error = draws.std(0, ddof=1) / np.sqrt(policy.shuffles)
    return mean, np.stack([error, mean - 1.96 * error, mean + 1.96 * error])


def _reranked(lists: Lists, rank: Ints) -> Lists:
    """The lists with other ranks, sorted again."""
    order = np.argsort(rank, -1, kind="stable")
    stratum = None if lists.stratum is None else np.take_along_axis(lists.stratum, order, -1)
    return replace(
        lists,
        rank=np.take_along_axis(rank, order, -1),
        grade=np.take_along_axis(lists.grade, order, -1),
        stratum=stratum,
        block=None,
        length=None,
    )


def _ordered(lists: Lists, *, best: bool) -> Lists:
    """Equal scores with the highest grades first (best) or last (worst).

    Between items with a gain and items judged worthless stand those without a judgment.
    """
    assert lists.block is not None
    assert lists.length is not None
    real = lists.rank < BEYOND
    gain = np.where(lists.grade > 0, lists.grade, 0.0)
    order = np.lexsort((-gain, lists.block), axis=-1)
    block = np.take_along_axis(lists.block, order, -1)
    length = np.take_along_axis(lists.length, order, -1)
    sorted_gain = np.take_along_axis(gain, order, -1)
    place = _place_in_group(block)
    # worthless items are counted from the other end
    reverse = np.flip(_place_in_group(np.flip(block, -1)), -1)
    from_front = block + place
    from_back = block + length - 1 - reverse
    best_rank = np.where(sorted_gain > 0, from_front, from_back)
    rank = best_rank if best else block + (length - 1 - (best_rank - block))
    back = np.empty_like(rank)
    np.put_along_axis(back, order, rank, -1)
    return _reranked(lists, np.where(real, back, BEYOND))


def _place_in_group(group: Ints) -> Ints:
    """0, 1, 2 … within each run of equal values on the last axis."""
    if not group.shape[-1]:
        return group
    at = np.broadcast_to(np.arange(group.shape[-1]), group.shape)
    first = np.ones(group.shape, dtype=bool)
    first[..., 1:] = group[..., 1:] != group[..., :-1]
    return np.asarray(at - np.maximum.accumulate(np.where(first, at, 0), axis=-1))


def _shuffled(lists: Lists, rng: np.random.Generator) -> Lists:
    """Equal scores in random order: each judged item takes a random free place of its run."""
    assert lists.block is not None
    assert lists.length is not None
    rank = lists.rank.copy()
    tied = np.argwhere((lists.length > 1) & (lists.rank < BEYOND))
    if not len(tied):
        return replace(lists, block=None, length=None)
    rows, columns = tied.T
    block, length = lists.block[rows, columns], lists.length[rows, columns]
    starts = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]) | (block[1:] != block[:-1])))
    sizes = np.diff(np.append(starts, len(rows)))
    drawn = [
        rng.permutation(places)[:size] for places, size in zip(length[starts], sizes, strict=True)
    ]
    rank[rows, columns] = block + np.concatenate(drawn)
    return _reranked(lists, rank)


def gather(
    panel: dict[str, Judgments],
    blocks: Sequence[Sequence[Block]],
    measures: Sequence[Measure],
    policy: Policy,
    *,
    systems: Sequence[str],
) -> Scores:
    """Join the blocks of all assessors into one table, with missing topics treated as the policy says."""
    parts, texts, coverages = [], [], []
    for (source, judgments), some in zip(panel.items(), blocks, strict=True):
        frame, coverage, text = _gather_one(judgments, some, measures, policy, systems)
        parts.append(frame.with_columns(pl.lit(source).alias("source")))
        coverages.append(coverage)
        texts.append(text)
    frame = parts[0].drop("source")
    if policy.assessors == "mean":
        order = {str(m): place for place, m in enumerate(measures)}
        frame = (
            pl.concat(parts)
            .group_by("system", "query", "measure", maintain_order=True)
            .agg(
                pl.col("value").drop_nans().mean().fill_null(float("nan")),
                pl.col("value").drop_nans().std().alias("sd"),
                pl.lit(None, dtype=pl.Float64).alias("lo"),
                pl.lit(None, dtype=pl.Float64).alias("hi"),
                pl.col("undefined").min(),
            )
            .sort(
                pl.col("system").replace_strict(list(systems), list(range(len(systems)))),
                "query",
                pl.col("measure").replace_strict(order),
            )
        )
    if policy.undefined == "skip":
        bad = frame.filter(pl.col("undefined") > 0)["query"].unique()
        frame = frame.filter(~pl.col("query").is_in(bad.implode()))
    return Scores(frame, policy, coverages[0], texts[0])


def _gather_one(
    judgments: Judgments, blocks: Sequence[Block], measures: Sequence[Measure], policy: Policy, systems: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame | None]:
    numeric = list(dict.fromkeys(str(m) for m in measures if not m.definition.text))
    first = {str(m): row for row, m in reversed(list(enumerate(m for m in measures if not m.definition.text)))}
    rows = [first[name] for name in numeric]
    names = [system for block in blocks for system in block.systems]
    places = np.concatenate([block.places for block in blocks] or [np.zeros(0, dtype=np.int64)])
    values = np.concatenate([block.values[rows] for block in blocks] or [np.zeros((len(rows), 0))], axis=1)
    spreads = [block.spread for block in blocks if block.spread is not None]
    spread = np.concatenate([part[:, rows] for part in spreads], axis=2) if spreads else None
    number = {system: place for place, system in enumerate(systems)}
    owner = np.array([number[name] for name in names], dtype=np.int64)
    coverage = _coverage([block.coverage for block in blocks], systems)
    seen = np.zeros((len(systems), len(judgments.queries)), dtype=bool)
    if len(owner):
        seen[owner, places] = True
    if not seen.any() and policy.missing != "empty":
        raise JoinError(_nothing_shared(judgments, coverage))
    if not seen.any(1).all():
        barren = systems[int(np.flatnonzero(~seen.any(1))[0])]
        raise JoinError(f"run {barren!r} has no topic with judgments: {_nothing_shared(judgments, coverage)}")
    absent = np.argwhere(~seen)
    if len(absent) and policy.missing == "error":
        system, query = systems[absent[0][0]], judgments.queries[absent[0][1]]
        raise JoinError(
            f"run {system!r} lacks judged topic {query!r} ({len(absent)} in all); "
            "allow it with missing=empty (counts as an empty list) or missing=skip"
        )
    coverage = coverage.with_columns(pl.Series("missing", (~seen).sum(1), dtype=pl.Int64))
    text = _texts(blocks, measures, judgments)
    if len(absent) and policy.missing == "empty":
        empty = _score_empty(judgments, absent[:, 1], measures, policy)[rows]
        owner, places = np.append(owner, absent[:, 0]), np.append(places, absent[:, 1])
        values = np.concatenate([values, empty], axis=1)
        if spread is not None:
            spread = np.concatenate([spread, np.full((3, len(rows), len(absent)), np.nan)], axis=2)
    order = np.lexsort((places, owner))
    count = len(rows)
    flat = values[:, order].T.ravel()
    columns = {
        "system": pl.Series(systems)[np.repeat(owner[order], count)],
        "query": pl.Series(judgments.queries)[np.repeat(places[order], count)],
        "measure": pl.Series(numeric * len(order), dtype=pl.String),
        "value": flat,
    }
    for place, name in enumerate(("sd", "lo", "hi")):
        column = pl.Series(name, spread[place][:, order].T.ravel()) if spread is not None else None
        columns[name] = (
            column.fill_nan(None)
            if column is not None
            else pl.repeat(None, len(flat), dtype=pl.Float64, eager=True)
        )
    columns["undefined"] = np.isnan(flat).astype(float)
    scored = np.bincount(owner, minlength=len(systems))
    coverage = coverage.with_columns(pl.Series("queries", scored, dtype=pl.Int64)).select(
        "system", "queries", "missing", "unknown", "items", "judged", "tied"
    )
    return pl.DataFrame(columns), coverage, text


def _nothing_shared(judgments: Judgments, coverage: pl.DataFrame) -> str:
    return (
        f"the judgments know topics like {judgments.queries[0]!r}, "
        f"the run has {int(coverage['unknown'].sum())} topics that are not among them; do the two belong together?"
    )


def _coverage(parts: list[pl.DataFrame], systems: Sequence[str]) -> pl.DataFrame:
    order = pl.DataFrame({"system": list(systems)}, schema={"system": pl.String})
    if not parts:
        return order.with_columns(pl.lit(0).alias(name) for name in ("unknown", "items", "judged", "tied"))
    summed = pl.concat(parts).group_by("system").sum()
    return order.join(summed, on="system", how="left", maintain_order="left").fill_null(0)


def _score_empty(judgments: Judgments, places: Ints, measures: Sequence[Measure], policy: Policy) -> Floats:
    """Values of an empty list for these queries."""
    size = len(places)
    pool, pool_stratum = judgments.pools(places)
    sampled = judgments.sizes.shape[1] > 0
    lists = Lists(
        rank=np.zeros((size, 0), dtype=np.int64),
        grade=np.zeros((size, 0)),
        retrieved=np.zeros(size, dtype=np.int64),
        pool=pool,
        top=judgments.top,
        stratum=np.zeros((size, 0), dtype=np.int64) if sampled else None,
        pool_stratum=pool_stratum if sampled else None,
        stratum_size=judgments.sizes[places] if sampled else None,
    )
    numeric = [m for m in measures if not m.definition.text]
    values = np.array([m(lists, compat=policy.compat) for m in numeric]).reshape(len(numeric), size)
    return np.nan_to_num(values, nan=0.0) if policy.undefined == "zero" else values


def _texts(blocks: Sequence[Block], measures: Sequence[Measure], judgments: Judgments) -> pl.DataFrame | None:
    wanted = [str(m) for m in measures if m.definition.text]
    if not wanted:
        return None
    rows = [
        (system, judgments.queries[place], name, block.texts[row][at])
        for block in blocks
        for row, name in enumerate(wanted)
        for at, (system, place) in enumerate(zip(block.systems, block.places, strict=True))
    ]
    return pl.DataFrame(rows, schema=["system", "query", "measure", "text"], orient="row")


__all__ = ["Block", "TableError", "gather", "measure", "prepare", "score_block"]
