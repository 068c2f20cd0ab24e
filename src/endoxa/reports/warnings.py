"""What a reader must know before trusting the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from endoxa.tables import Scores

TIED = 0.05  # share of items with equal scores from which the order of ties matters
JUDGED = 0.5  # share of retrieved items with a judgment below which "not relevant" is mostly a guess
SPREAD = 2.0  # ratio of generalities from which curves should not be compared
NAMED = 4  # systems that a sentence names before it only counts them

TIES = {
    "trec": "item id decides their order",
    "input": "the order read decides",
    "average": "values are means over their orders",
    "range": "least and most show the worst and best order",
}
MISSING = {"empty": "they count as empty lists", "skip": "they are left out", "error": ""}


def warnings_of(scores: Scores, curves: pl.DataFrame | None = None) -> list[str]:
    """Sentences on ties, missing topics, unjudged items, undefined values and differing generality."""
    policy = scores.policy
    said: list[str] = []

    def tell(
        what: str,
        value: Callable[[dict[str, Any]], float],
        wrong: Callable[[float], bool],
        form: str,
        *,
        few: bool = False,  # the smallest number is the worst
    ) -> None:
        found = [(row["system"], value(row)) for row in scores.coverage.iter_rows(named=True) if wrong(value(row))]
        if found:
            found.sort(key=lambda pair: pair[1], reverse=not few)
            named = ", ".join(f"{system} {form.format(number)}" for system, number in found[:NAMED])
            rest = f" and {len(found) - NAMED} more systems" if len(found) > NAMED else ""
            said.append(f"{what}: {named}{rest}.")

    def share(name: str) -> Callable[[dict[str, Any]], float]:
        return lambda row: row[name] / max(row["items"], 1)

    tell(f"Judged topics that a run lacks ({MISSING[policy.missing]})", lambda row: row["missing"], bool, "{:,.0f}")
    tell("Topics without judgments (ignored)", lambda row: row["unknown"], bool, "{:,.0f}")
    tell(f"Items with tied scores ({TIES[policy.ties]})", share("tied"), lambda x: x > TIED, "{:.1%}")
    if policy.unjudged != "condensed":
        tell(
            "Few of the retrieved items were judged (the rest counts as not relevant)",
            share("judged"),
            lambda x: x < JUDGED,
            "{:.1%}",
            few=True,
        )
    if policy.unjudged == "bounds" or policy.ties == "range":
        closed = [
            name for name in scores.measures if scores.frame.filter(pl.col("measure") == name)["lo"].is_null().all()
        ]
        if closed:
            said.append(
                f"No least and greatest value is known for {', '.join(closed)}; unjudged items count as misses."
            )
    undefined = (
        scores.frame.group_by("measure", maintain_order=True)
        .agg((pl.col("undefined") > 0).sum().alias("count"), pl.len().alias("all"))
        .filter(pl.col("count") > 0)
    )
    for measure, count, every in undefined.iter_rows():
        said.append(f"{measure} is undefined (0/0) for {count:,} of {every:,} lists; left out of the means.")
    if curves is not None and curves.height:
        low, high = curves["generality_low"][0], curves["generality_high"][0]
        if high > SPREAD * max(low, 1e-12):
            said.append(
                f"The queries differ in generality: the share of relevant items runs from {low:.3f} to {high:.3f} "
                "(10th and 90th percentile). Precision-recall curves over such queries, or over collections that "
                "differ as much, cannot be compared by eye; the dashed line shows what a random ranking would reach."
            )
    return said
