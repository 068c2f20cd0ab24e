"""Precision at every recall when the same relevant items lie among more and more irrelevant ones.

Curves of precision against recall can be compared only under a common generality, the share of relevant items
(Gimel'farb, "Generality Vs. Performance"). Irrelevant items are left out at random, of each query as many as bring it
to that generality, so that all queries and systems of a curve share one line: the precision of a random ranking.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TextError
from endoxa.formatting import counted, listed, number
from endoxa.frozen import dataclass
from endoxa.measures.evaluate import measure
from endoxa.measures.grammar import make
from endoxa.policies import Policy
from endoxa.progress import Progress
from endoxa.tables import Opinions, Run

RECALLS = tuple(level / 10 for level in range(11))
LEVELS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
MOST = 0.5  # generality above which a query has too few irrelevant items to take part
DRAWS = 20  # of the irrelevant items that stay
NAMED = 3  # queries that a note names before it only counts them


@dataclass(frozen=True)
class Growing:
    """Curves of every system at every common generality.

    curves   system, generality, irrelevant (mean number per query), recall, precision: interpolated, mean over queries
             and draws; generality is what a random ranking reaches at every recall
    means    system, generality, irrelevant, precision: the mean over the eleven recalls
    queries  number of queries of every curve
    size     items of the collection
    notes    what was left out, and where the size of the collection comes from
    """

    curves: pl.DataFrame
    queries: int
    size: int
    notes: tuple[str, ...]

    @property
    def means(self) -> pl.DataFrame:
        """The mean of each curve over the eleven recalls."""
        groups = self.curves.group_by("system", "generality", "irrelevant", maintain_order=True)
        return groups.agg(pl.col("precision").mean())


def growing(
    run: Run, judgments: Opinions, *, levels: Sequence[float] | None = None, size: int | None = None, rel: float = 1,
    draws: int = DRAWS, seed: int = 0, progress: Progress | None = None,
) -> Growing:  # fmt: skip
    """Curves at common generalities, from the greatest to that of the collection.

    Formula: of a query with R relevant of `size` items, each irrelevant item stays with the chance
    R (1 - G) / (G (size - R)), so that R / G items are expected. An item that stays at one G stays at all smaller ones.
    The least common G is the greatest of all queries; without `levels`, steps of 1, 2, 5 above it and itself are taken.
    Misleads: items left out at random are as easy or hard as the rest; a collection that grows otherwise may add harder
    ones. Unjudged items count as irrelevant. Without `size`, the items judged or retrieved for any query stand for it.
    """
    relevant = judgments.frame.filter(pl.col("grade") >= rel).group_by("query").agg(pl.col("item").unique())
    counts = {query: len(items) for query, items in relevant.iter_rows()}
    known = pl.concat([judgments.frame["item"], run.frame["item"]]).n_unique()
    if size is not None and size < known:
        raise TextError(f"the collection has {size:,} items, and {known:,} are judged or retrieved", remedy="check -N")
    notes = [] if size is not None else [
        f"The collection is taken to have {known:,} items, those judged or retrieved; -N gives its size."
    ]  # fmt: skip
    size = size or known
    own = {query: count / size for query, count in sorted(counts.items())}
    if crowded := [query for query, share in own.items() if share > MOST]:
        notes.append(
            f"{counted(len(crowded), 'query is', 'queries are')} left out ({listed(crowded, NAMED)}): more than half "
            "of all items are relevant."
        )
    own = {query: share for query, share in own.items() if share <= MOST}
    if not own:
        what = "no query has a relevant item among at least as many irrelevant ones"
        raise JoinError(what, remedy="give judgments with grades above 0, and the size of the collection (-N)")
    least = max(own.values())
    wanted = _levels(levels, least)
    rows = []
    for place, level in enumerate(wanted):
        if progress is not None:
            progress("leaving out irrelevant items", place, len(wanted))
        shares = {query: counts[query] * (1 - level) / (level * (size - counts[query])) for query in own}
        irrelevant = float(np.mean([counts[query] * (1 - level) / level for query in own]))
        for system, recall, precision in _curves(run, judgments, list(own), relevant, shares, rel, draws, seed):
            rows.append((system, level, irrelevant, recall, precision))
    schema = ["system", "generality", "irrelevant", "recall", "precision"]
    return Growing(pl.DataFrame(rows, schema=schema, orient="row"), len(own), size, tuple(notes))


def _levels(asked: Sequence[float] | None, least: float) -> list[float]:
    """The generalities, the greatest first; none below that of the collection."""
    if not asked:
        return [*(level for level in LEVELS if level > least * 1.05), least]
    for level in asked:
        if not least * (1 - 1e-9) <= level < 1:
            raise TextError(
                f"a common generality of {level:g} cannot be reached by leaving out irrelevant items",
                remedy=f"expected {number(least, 4)}, which is that of the collection, to below 1",
            )
    return sorted({max(level, least) for level in asked}, reverse=True)


def _curves(
    run: Run, judgments: Opinions, queries: list[str], relevant: pl.DataFrame, shares: dict[str, float], rel: float,
    draws: int, seed: int,
) -> list[tuple[str, float, float]]:  # fmt: skip
    """system, recall, precision: interpolated precision of what is left, mean over draws and queries."""
    asked = Opinions(judgments.frame.filter(pl.col("query").is_in(queries)))
    right = relevant.explode("item").with_columns(right=pl.lit(value=True))
    rows = run.frame.filter(pl.col("query").is_in(queries)).join(right, on=["query", "item"], how="left")
    rows = rows.with_columns(pl.col("right").fill_null(value=False), share=pl.col("query").replace_strict(shares))
    others = rows.filter(~pl.col("right")).select("query", "item").unique().sort("query", "item")
    names = {level: str(make("IPrec", {"recall": level, "rel": rel})) for level in RECALLS}
    measures = [make("IPrec", {"recall": level, "rel": rel}) for level in RECALLS]
    sums = np.zeros((len(run.systems), len(RECALLS)))
    times = draws if max(shares.values()) > 0 and min(shares.values()) < 1 - 1e-9 else 1
    for draw in range(times):
        chance = pl.Series("u", np.random.default_rng((seed, draw)).random(others.height))
        kept = rows.join(others.with_columns(chance), on=["query", "item"], how="left").filter(
            pl.col("right") | (pl.col("u") < pl.col("share"))
        )
        if kept.is_empty():
            continue
        left = Run.of(kept.select("system", "query", "item", "score"), ties=run.ties)
        scores = measure(left, asked, measures, Policy(ties=run.ties))
        for column, level in enumerate(RECALLS):
            systems, _, values = scores.matrix(names[level])
            found = dict(zip(systems, values.mean(axis=1), strict=True))
            sums[:, column] += [found.get(system, 0.0) for system in run.systems]
    return [
        (system, level, float(sums[row, column] / times))
        for row, system in enumerate(run.systems)
        for column, level in enumerate(RECALLS)
    ]
