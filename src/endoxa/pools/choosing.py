"""What to judge next: pairs drawn by chance, more often where the belief is unsure and the systems disagree."""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.beliefs.reliability import chances
from endoxa.errors import JoinError, TextError
from endoxa.tables import Belief, Floats, Opinions, Run


def choose(
    run: Run, belief: Belief, count: int, *, judged: Opinions | None = None, mixing: float = 0.5, depth: int = 100,
    rng: np.random.Generator,
) -> pl.DataFrame:  # fmt: skip
    """About `count` pairs to judge, in random order: order, query, item, p, influence, systems, propensity.

    Poisson sampling: every pair of propensities() is drawn by itself with its own propensity, so that the number drawn
    has mean `count` and a standard deviation of at most √count. Keep the propensity with the label:
    comparisons.prediction computes valid intervals from it, even if the belief is wrong. `order` is random: a judge who
    stops after a share s of the list has a sample with propensities s times as large.
    Further rounds: hand over what is `judged`. A later estimate then holds, given the earlier rounds, with propensity
    1 for pairs judged in them and the propensity of the last round for its own, even if earlier labels made the
    belief of the later round; only the labels of the last round must not. Finish a round before the next.
    Source: Zrnic and Candès, arXiv:2403.03208; METHODS F.2, A.6.
    """
    table = propensities(run, belief, count, judged=judged, mixing=mixing, depth=depth)
    drawn = table.filter(pl.Series(rng.random(table.height)) < pl.col("propensity"))
    order = pl.Series("order", rng.permutation(drawn.height) + 1, dtype=pl.Int64)
    return drawn.with_columns(order).sort("order").select("order", *table.columns)


def propensities(
    run: Run, belief: Belief, count: int, *, judged: Opinions | None = None, mixing: float = 0.5, depth: int = 100
) -> pl.DataFrame:
    """The pairs that may be drawn, with their chances: query, item, p, influence, systems, propensity.

    These are the pairs the belief mentions, that some system has in its first `depth`, and that are not judged yet:
    the universe of estimate().
        p            Pr(grade >= 1) under the belief
        influence    standard deviation over systems of 1/log2(rank + 1), 0 where an item is beyond depth: an item
                     that all systems rank alike cannot tell them apart (symmetric difference, A.6)
        systems      how many have it within depth
        propensity   min(1, c √(p (1 - p)) influence + mixing · count / pairs), c such that they sum to `count`
    Where the scores of too few pairs are above 0 to spend the count on, what is left goes evenly to the others.
    A mixing near 0 relies on the belief: a pair that the belief calls certain is hardly ever drawn, and if the belief
    is wrong there, that one label has a large weight. Mostly even mixing has been found best (arXiv:2604.18569).
    """
    if count < 1:
        raise TextError(f"at least 1 pair is chosen, not {count}")
    if not 0 < mixing <= 1:
        raise TextError(
            f"mixing must be above 0 and at most 1, not {mixing}; at 0 some pairs could never be drawn, and no "
            "estimate would be valid"
        )
    if depth < 1:
        raise TextError(f"the depth of a pool is at least 1, not {depth}")
    table = chances(belief).join(_influence(run, depth), on=["query", "item"], how="inner")
    if not table.height:
        raise JoinError(
            f"the belief mentions no pair that a system has in its first {depth}; do run and belief belong together?"
        )
    if judged is not None:
        known = judged.frame.filter(pl.col("grade") >= 0).select("query", "item")
        pairs, table = table.height, table.join(known, on=["query", "item"], how="anti")
        if not table.height:
            raise JoinError(f"all {pairs:,} pairs are judged; there is nothing left to choose from: raise the depth")
    table = table.sort("query", "item")
    p = table["p"].to_numpy()
    score = np.sqrt(p * (1 - p)) * table["influence"].to_numpy()
    return table.with_columns(pl.Series("propensity", filled(score, count, mixing)))


def filled(score: Floats, count: float, mixing: float) -> Floats:
    """Chances that sum to `count`: min(1, c·score + mixing·count/n), c found exactly (water-filling).

    All are 1 where there are no more than `count`. Where even c = ∞ falls short, because few scores are above 0, the
    others share the rest evenly.
    """
    score = np.asarray(score, dtype=np.float64)
    n = len(score)
    if n <= count:
        return np.ones(n)
    even = mixing * count / n
    positive = int((score > 0).sum())
    if positive + (n - positive) * even <= count:
        return np.where(score > 0, 1.0, (count - positive) / max(n - positive, 1))
    order = np.argsort(-score, kind="stable")
    falling = score[order]
    rest = np.cumsum(falling[::-1])[::-1]  # sum of the scores from here on
    full = np.arange(n)  # how many are at 1 before this one
    c = np.divide(count - full - (n - full) * even, rest, out=np.zeros(n), where=rest > 0)
    first = int(np.argmax(c * falling <= 1 - even))  # the least number at 1 with which no other goes beyond it
    return np.asarray(np.minimum(1.0, c[first] * score + even))


def _influence(run: Run, depth: int) -> pl.DataFrame:
    """query, item, influence, systems of everything within depth."""
    S = len(run.systems)
    weight = 1 / (pl.col("rank") + 1.0).log(2)
    mean = weight.sum() / S
    n = pl.len()
    spread = ((weight - mean) ** 2).sum() + (S - n) * mean**2
    alike = (n == S) & (pl.col("rank").min() == pl.col("rank").max())  # exactly 0, not what rounding leaves
    return (
        run.frame.filter(pl.col("rank") <= depth)
        .group_by("query", "item")
        .agg(
            pl.when(alike).then(0.0).otherwise((spread / S).sqrt()).alias("influence"),
            n.cast(pl.Int64).alias("systems"),
        )
    )
