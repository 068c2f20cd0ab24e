"""From scores to runs: the best items of each query, computed in blocks of queries."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from endoxa.engines import Index, Material
from endoxa.errors import TableError, TextError
from endoxa.frozen import dataclass
from endoxa.tables import Floats, Ints, Run

BLOCK = 64  # queries scored together
DEPTH = 100


@dataclass(frozen=True, eq=False)
class Ranked:
    """A system's run, the seconds that it took, and how many pairs of query and item have no score, and have one."""

    run: Run
    seconds: float
    undefined: int
    scored: int


def rank(
    index: Index, queries: Material, *, depth: int = DEPTH, itself: bool = False, system: str | None = None
) -> Ranked:
    """The first `depth` items for each query. A query never retrieves itself, unless itself=True.

    Equal scores are ordered by the rule of `Run`. If equal scores straddle the cut-off, the items that come first by
    this rule are kept. Pairs with score NaN are left out and counted.
    """
    own = {} if itself else {item: at for at, item in enumerate(index.items)}

    def scored(block: range) -> Floats:
        scores = index.engine.score(index, queries.take(block))
        for row, number in zip(scores, block, strict=True):
            if queries.items[number] in own:
                row[own[queries.items[number]]] = -np.inf
        return scores

    return _ranked(index, queries.items, scored, depth, system)


def rank_texts(
    index: Index, texts: Sequence[tuple[str, tuple[str, ...]]], *, depth: int = DEPTH, system: str | None = None
) -> Ranked:
    """The first `depth` items for each text: (name of the query, its words)."""

    def scored(block: range) -> Floats:
        return index.engine.score_words(index, [texts[number][1] for number in block])

    return _ranked(index, [name for name, _ in texts], scored, depth, system)


def _ranked(
    index: Index, names: Sequence[str], scored: Callable[[range], Floats], depth: int, system: str | None
) -> Ranked:
    if depth < 1:
        raise TextError(f"depth is the number of items to return, 1 or more, not {depth}")
    if not names:
        raise TableError("there is no query to rank for", remedy="give one or more")
    frames, undefined, defined = [], 0, 0
    begun = time.perf_counter()
    items = pl.Series("item", index.items, dtype=pl.String)
    for start in range(0, len(names), BLOCK):
        block = range(start, min(start + BLOCK, len(names)))
        scores = scored(block)
        kept = [best(row, depth, items) for row in scores]
        undefined += int(np.isnan(scores).sum())
        defined += int((scores > -np.inf).sum())
        queries = [names[number] for number, at in zip(block, kept, strict=True) for _ in at]
        found = np.concatenate([row[at] for row, at in zip(scores, kept, strict=True)])
        columns = [pl.Series("query", queries, dtype=pl.String), items[np.concatenate(kept)], pl.Series("score", found)]
        frames.append(pl.DataFrame(columns))
    run = Run.of(pl.concat(frames), system=system or index.engine.name)
    return Ranked(run, time.perf_counter() - begun, undefined, defined)


def cost(
    system: str, phase: str, each: Floats, seconds: float, size: int, items: int | None = None
) -> tuple[str, str, int, float, int, float | None, float | None]:
    """A row of costs; `each` holds the seconds of single items."""
    middle = (float(np.median(each)), float(np.quantile(each, 0.95))) if len(each) else (None, None)
    return system, phase, len(each) if items is None else items, seconds, size, *middle


def latency(index: Index, queries: Material, *, sample: int = 25) -> Floats:
    """Seconds per query, one query at a time, for the first `sample` queries."""
    taken = []
    for number in range(-1, min(sample, len(queries))):  # the first call loads and compiles, and is not counted
        begun = time.perf_counter()
        index.engine.score(index, queries.take([max(number, 0)]))
        taken.append(time.perf_counter() - begun)
    return np.array(taken[1:])


def best(scores: Floats, depth: int, items: pl.Series) -> Ints:
    """The positions of the `depth` greatest scores; ties at the cut-off go by item id descending, as in a Run."""
    scored = np.flatnonzero(scores > -np.inf)  # this excludes NaN too
    if len(scored) <= depth:
        return scored
    least = np.partition(scores[scored], len(scored) - depth)[len(scored) - depth]
    above = scored[scores[scored] > least]
    tied = scored[scores[scored] == least]
    names = items[tied].to_list()
    order = sorted(range(len(tied)), key=lambda at: names[at].encode(), reverse=True)
    return np.concatenate([above, tied[order[: depth - len(above)]]])
