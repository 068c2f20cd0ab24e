"""TREC tracks with labels drawn as `endoxa next` draws them, answered by the official judgments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import endoxa
from endoxa.beliefs.learned import Judged, Learned, Universe, learn
from endoxa.comparisons import orders
from endoxa.measures.grammar import parse
from endoxa.pools.choosing import choose
from endoxa.tables import Floats, Opinions, Run

SETS = {"covid-r1": "qrels.txt", "robust03": "qrels.txt.gz"}


class Track:
    """Runs, judgments, the universe of the runs, and the official means; the unjudged is not relevant.

    With `condensed` the lists hold judged items only.
    """

    def __init__(self, name: str, folder: Path, *, condensed: bool = False) -> None:
        self.name = name
        self.run = endoxa.read(sorted(map(str, (folder / "runs").iterdir())))
        self.judged = endoxa.read(folder / SETS[name], kind="qrels")
        if condensed:
            pairs = self.judged.frame.filter(pl.col("grade") >= 0).select("query", "item")
            kept = self.run.frame.join(pairs, on=["query", "item"], how="semi", maintain_order="left")
            self.run = Run.of(kept.select("system", "query", "item", (-pl.col("rank").cast(pl.Float64)).alias("score")))
        self.universe = Universe.of(self.run)
        given = {(q, d): max(g, 0.0) for q, d, g in self.judged.frame.select("query", "item", "grade").iter_rows()}
        self.truth = np.array([given.get(pair, 0.0) for pair in self.universe.rows.iter_rows()])
        self.prior = learn(self.universe, Judged.of(self.universe, None), [1.0])

    def official(self, measure: str) -> Floats:
        return np.nanmean(endoxa.measure(self.run, self.judged, [measure]).matrix(measure)[2], axis=1)

    def labels(self, measure: str, count: int, seed: int) -> Opinions:
        """So many labels a topic, drawn from the consensus."""
        m = parse(measure)
        drawn = choose(self.prior, m, count * len(self.universe.queries), rng=np.random.default_rng(seed))
        rows = drawn.join(self.universe.rows.with_row_index("row"), on=["query", "item"], how="left")
        deep = m.linear.k or self.universe.depth  # type: ignore[union-attr]
        return Opinions.of(
            drawn.select(
                "query", "item", "propensity", pl.Series("grade", self.truth[rows["row"].to_numpy()]),
                pl.lit("next").alias("selected_by"), pl.lit(1).alias("draw"), pl.lit(deep).alias("draw_depth"),
            )
        )  # fmt: skip

    def learned(self, measure: str, labels: Opinions | None, universe: Universe | None = None) -> Learned:
        universe = self.universe if universe is None else universe
        judged = Judged.of(universe, labels)
        return learn(universe, judged, sorted({1.0, *judged.levels}))


def taus(mean: Floats, official: Floats) -> tuple[float, float]:
    """Kendall's tau to the official order, of all and of the best quarter by it."""
    best = np.argsort(-official)[: max(3, len(official) // 4)]
    return orders.tau(mean, official), orders.tau(mean[best], official[best])
