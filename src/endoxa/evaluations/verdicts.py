"""One run judged in several ways: what each says, and where they disagree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from endoxa.comparisons.orders import tau
from endoxa.errors import TableError
from endoxa.evaluations.evaluation import Evaluation
from endoxa.measures.grammar import parse


@dataclass(frozen=True)
class Verdicts:
    """What several ways of judging say about the same systems, on one measure.

    standings   way, system, value, lo, hi, place (1 is best; equals share the better place), p_best
    agreement   way, other, tau: Kendall's tau-b of the two orders; NaN where one is all ties
    pairs       system, baseline, and for each way a column of its name: P(system better), ties counted half; the
                system is the one that the first way puts first
    """

    measure: str
    ways: Mapping[str, Evaluation]
    standings: pl.DataFrame
    agreement: pl.DataFrame
    pairs: pl.DataFrame


def verdicts(ways: Mapping[str, Evaluation], measure: str | None = None) -> Verdicts:
    """Evaluations of the same systems side by side, on the first measure of the first unless one is named.

    Probabilities include all doubts that a way knows. Virtual systems (⊤) are left out.
    """
    if not ways:
        raise TableError("there is nothing to compare; expected one evaluation or more")
    first = next(iter(ways.values()))
    name = measure or first.measures[0]
    systems = first.systems
    for way, one in ways.items():
        if set(one.systems) != set(systems):
            odd = sorted(set(one.systems) ^ set(systems))[0]
            raise TableError(f"{way!r} judges other systems than the first way ({odd!r} is in one only)")
        if name not in one.measures:
            raise TableError(f"{way!r} has no {name}; it has {', '.join(one.measures)}")
    lower = parse(name).definition.lower
    rows = [_standings(way, one, name, lower=lower) for way, one in ways.items()]
    standings = pl.concat(rows)
    values = {way: dict(part.select("system", "value").iter_rows()) for way, part in zip(ways, rows, strict=True)}
    agreed = [
        (a, b, tau(np.array([values[a][s] for s in systems]), np.array([values[b][s] for s in systems])))
        for a, b in combinations(ways, 2)
    ]
    schema = {"way": pl.String, "other": pl.String, "tau": pl.Float64}
    leading = next(iter(values.values()))
    order = sorted(systems, key=lambda system: (leading[system] if lower else -leading[system], system))
    return Verdicts(name, ways, standings, pl.DataFrame(agreed, schema=schema, orient="row"), _pairs(ways, name, order))


def _standings(way: str, one: Evaluation, measure: str, *, lower: bool) -> pl.DataFrame:
    own = one.summary.filter((pl.col("measure") == measure) & (pl.col("system") != (one.virtual or "")))
    return own.select(
        pl.lit(way).alias("way"),
        "system",
        "value",
        "lo",
        "hi",
        pl.col("value").rank("min", descending=not lower).cast(pl.Int64).alias("place"),
        "p_best",
    ).sort("place", "system")


def _pairs(ways: Mapping[str, Evaluation], measure: str, order: list[str]) -> pl.DataFrame:
    """P(better) of every pair under every way."""
    frame = pl.DataFrame(
        list(combinations(order, 2)), schema={"system": pl.String, "baseline": pl.String}, orient="row"
    )
    for way, one in ways.items():
        if one.comparison is None:
            return frame
        pairs = one.comparison.frame.filter((pl.col("measure") == measure) & (pl.col("doubt") == "all")).select(
            "system", "baseline", (pl.col("p_better") + 0.5 * pl.col("p_tie")).alias(way)
        )
        turned = pairs.select(
            pl.col("baseline").alias("system"), pl.col("system").alias("baseline"), (1 - pl.col(way)).alias(way)
        )
        both = pl.concat([pairs, turned])
        frame = frame.join(both, on=["system", "baseline"], how="left", maintain_order="left")
    return frame
