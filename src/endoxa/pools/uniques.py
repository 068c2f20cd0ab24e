"""Leave out uniques: how much of a score a system owes to being in the pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from endoxa.comparisons.orders import tau
from endoxa.errors import refuse_unknown
from endoxa.frozen import dataclass
from endoxa.measures.evaluate import measure as score
from endoxa.measures.grammar import Measure, parse
from endoxa.policies import Policy
from endoxa.pools.pooling import pool
from endoxa.tables import Opinions, Run


@dataclass(frozen=True)
class Uniques:
    """The bias per system, and what it does to the order.

    frame: system, group, uniques, relevant_uniques, value, value_without, drop, place, place_without, tau.
    `value_without` and the places are under judgments that lack what only the system's group contributed;
    `tau` compares the order of all systems before and after (Kendall's tau-b).
    """

    frame: pl.DataFrame
    measure: str
    depth: int

    @property
    def largest(self) -> float:
        """The largest drop."""
        drops = self.frame["drop"].drop_nans()
        return float(drops.max()) if len(drops) else float("nan")  # type: ignore[arg-type]


def leave_out_uniques(
    run: Run, opinions: Opinions, measure: str | Measure = "AP", *, depth: int = 100,
    groups: Mapping[str, str] | None = None, policy: Policy | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Uniques:  # fmt: skip
    """Re-score all systems with judgments that lack what only one group put into the pool.

    `groups` names the team of each system; without it each stands alone. A system that falls far would have
    scored that much less had it not contributed: so would a new system.
    Source: Zobel 1998.
    """
    wanted = parse(measure) if isinstance(measure, str) else measure
    systems = run.systems
    team = {system: system for system in systems} | dict(groups or {})
    for name in groups or {}:
        refuse_unknown("system", name, systems)
    contributors = pool(run, depth).select(
        "query", "item", pl.col("by").list.eval(pl.element().replace_strict(team)).list.unique().alias("teams")
    )
    alone = contributors.filter(pl.col("teams").list.len() == 1).select(
        "query", "item", pl.col("teams").list.first().alias("team")
    )
    before = _means(run, opinions, wanted, policy)
    rows = []
    names = sorted({team[system] for system in systems})
    level = dict(wanted.settings).get("rel", 1)
    for number, name in enumerate(names):
        unique = alone.filter(pl.col("team") == name).join(opinions.frame, on=["query", "item"], how="inner")
        rest = Opinions(opinions.frame.join(unique, on=["query", "item"], how="anti"))
        after = _means(run, rest, wanted, policy) if unique.height else before
        agreement = tau(np.array([before[s] for s in systems]), np.array([after[s] for s in systems]))
        judged = unique.filter(pl.col("grade") >= 0)
        for system in (s for s in systems if team[s] == name):
            rows.append(
                {
                    "system": system, "group": name, "uniques": judged.height,
                    "relevant_uniques": judged.filter(pl.col("grade") >= level).height, "value": before[system],
                    "value_without": after[system], "drop": before[system] - after[system],
                    "place": _place(before, system), "place_without": _place(after, system), "tau": agreement,
                }
            )  # fmt: skip
        if progress is not None:
            progress(number + 1, len(names))
    frame = pl.DataFrame(rows).sort("value", descending=True, maintain_order=True)
    return Uniques(frame, str(wanted), depth)


def _means(run: Run, opinions: Opinions, wanted: Measure, policy: Policy | None) -> dict[str, float]:
    scores = score(run, opinions, [wanted], policy)
    _, _, values = scores.matrix(str(wanted))
    defined = ~np.isnan(values)
    sums = np.where(defined, values, 0.0).sum(1)
    means = np.divide(sums, defined.sum(1), out=np.full(len(sums), np.nan), where=defined.any(1))
    return dict(zip(scores.systems, means.tolist(), strict=True))


def _place(means: dict[str, float], system: str) -> int:
    """1 for the best; equals share the better place."""
    return 1 + sum(value > means[system] for value in means.values())
