"""What systems returned: the query and the first results of each system side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from endoxa.formatting import clean, number
from endoxa.frozen import dataclass
from endoxa.tables import Belief, Run

DEPTH = 8
QUERIES = 30
Probabilities = Mapping[tuple[str, str], float]  # (query, item) to the probability of being relevant


@dataclass(frozen=True)
class Result:
    """One picture in a strip: its caption, the system's score, and the probabilities that it is relevant."""

    item: str
    caption: str
    score: str
    probabilities: Sequence[tuple[str, str, float]]  # name of the belief, as text, as number
    tied: bool


@dataclass(frozen=True)
class Asked:
    """One query with the first results of all systems; `agreed` is how much of them they share, 0 to 1."""

    query: str
    caption: str
    category: str
    pictured: bool
    agreed: float
    strips: Mapping[str, Sequence[Result]]


@dataclass(frozen=True)
class Gallery:
    """The content of a gallery. `pictures` is JSON: a data address for each item."""

    queries: Sequence[Asked]
    beliefs: Sequence[tuple[str, str]]
    pictures: str
    depth: int
    total: int
    systems: int


def gallery(
    run: Run, *, pictures: Mapping[str, str], captions: Mapping[str, str], categories: Mapping[str, str] | None = None,
    beliefs: Mapping[str, tuple[str, Probabilities]] | None = None, queries: int = QUERIES, depth: int = DEPTH,
) -> Gallery:  # fmt: skip
    """The queries on which systems agree least, `queries` of them at most, and the first `depth` results of each.

    `pictures` gives a data address (data:image/…) for each item; `beliefs` by name: a line that explains the name, and
    the probability of each pair (0 for a pair that is absent).
    """
    top = run.frame.filter(pl.col("rank") <= depth)
    shared = agreement(top)
    order = sorted(shared, key=lambda query: (shared[query], query))[:queries]
    named = dict(beliefs or {})
    blocks = run.frame.group_by("system", "query", "block").len().filter(pl.col("len") > 1)
    tied = set(blocks.select("system", "query", "block").iter_rows())
    by_query: dict[str, dict[str, list[Result]]] = {query: {s: [] for s in run.systems} for query in order}
    rows = top.filter(pl.col("query").is_in(order)).sort("rank")
    for system, query, item, block, score in rows.select("system", "query", "item", "block", "score").iter_rows():
        known = [(name, p_of.get((query, item), 0.0)) for name, (_, p_of) in named.items()]
        chances = [(name, f"{p:g}" if p in {0, 1} else number(p, 2), p) for name, p in known]
        tie = (system, query, block) in tied
        one = Result(item, clean(captions.get(item, item)), _score(score), chances, tie)
        by_query[query][system].append(one)
    kinds = categories or {}
    asked = [
        Asked(
            query, clean(captions.get(query, query.replace("_", " "))), clean(kinds.get(query, "")), query in pictures,
            shared[query], by_query[query],
        )
        for query in order
    ]  # fmt: skip
    shown = {one.query for one in asked} | {r.item for one in asked for results in one.strips.values() for r in results}
    data = json.dumps({item: pictures[item] for item in sorted(shown) if item in pictures}, ensure_ascii=True)
    safe = data.replace("<", "\\u003c")  # nothing in it may end the script element
    return Gallery(
        asked, [(name, line) for name, (line, _) in named.items()], safe, depth, len(shared), len(run.systems)
    )


def agreement(top: pl.DataFrame) -> dict[str, float]:
    """For each query, the mean share of first results that two systems have in common (Jaccard)."""
    found = {}
    for (query,), rows in top.group_by("query", maintain_order=True):
        sets = [set(items) for items in rows.group_by("system", maintain_order=True).agg("item")["item"].to_list()]
        pairs = [len(a & b) / len(a | b) for number_, a in enumerate(sets) for b in sets[:number_] if a or b]
        found[str(query)] = float(np.mean(pairs)) if pairs else 1.0
    return found


def probabilities_of(belief: Belief, *, rel: float = 1.0) -> dict[tuple[str, str], float]:
    """The probability that a pair is relevant (grade at least `rel`), readings weighted."""
    frame = belief.frame.filter(pl.col("grade") >= rel)
    sums = frame.group_by("query", "item").agg((pl.col("weight") * pl.col("p")).sum().alias("p"))
    return {(query, item): p for query, item, p in sums.select("query", "item", "p").iter_rows()}


def _score(score: float) -> str:
    """Three significant digits; scores of systems have no common scale."""
    return number(score, max(0, 2 - math.floor(math.log10(abs(score)))) if 1e-4 < abs(score) < 1e4 else 3)
