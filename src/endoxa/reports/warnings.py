"""What a reader must know before trusting the numbers."""

from __future__ import annotations

import polars as pl

from endoxa.tables import Scores

TIED = 0.05  # share of items with equal scores from which the order of ties matters
JUDGED = 0.5  # share of retrieved items with a judgment below which "not relevant" is mostly a guess
SPREAD = 2.0  # ratio of generalities from which curves should not be compared


def warnings_of(scores: Scores, curves: pl.DataFrame | None = None) -> list[str]:
    """Sentences on ties, missing topics, unjudged items, undefined values and differing generality."""
    said: list[str] = []
    for row in scores.coverage.iter_rows(named=True):
        system, items = row["system"], max(row["items"], 1)
        if row["missing"]:
            how = {"empty": "they count as empty lists", "skip": "they are left out", "error": ""}[
                scores.policy.missing
            ]
            said.append(f"{system} lacks {_count(row['missing'], 'judged topic')}; {how}.")
        if row["unknown"]:
            said.append(f"{system} answers {_count(row['unknown'], 'topic')} without judgments; ignored.")
        if row["tied"] / items > TIED:
            order = {
                "trec": "item id decides their order",
                "input": "the order read decides",
                "average": "values are means over their orders",
                "range": "lo and hi show the worst and best order",
            }[scores.policy.ties]
            said.append(f"{row['tied'] / items:.1%} of the items of {system} have tied scores; {order}.")
        if row["judged"] / items < JUDGED and scores.policy.unjudged == "nonrelevant":
            said.append(
                f"Only {row['judged'] / items:.1%} of what {system} retrieved was judged; "
                "the rest counts as not relevant."
            )
    undefined = (
        scores.frame.group_by("measure", maintain_order=True).agg((pl.col("undefined") > 0).sum().alias("count"))
    ).filter(pl.col("count") > 0)
    for measure, count in undefined.iter_rows():
        treated = "counted as 0" if scores.policy.undefined == "zero" else "left out of the mean"
        said.append(f"{measure} is undefined (0/0) for {_count(count, 'list')}; {treated}.")
    if curves is not None and curves.height:
        low, high = curves["generality_low"][0], curves["generality_high"][0]
        if high > SPREAD * max(low, 1e-12):
            said.append(
                f"The queries differ in generality: the share of relevant items runs from {low:.3f} to {high:.3f} "
                "(10th and 90th percentile). Precision-recall curves over such queries, or over collections that "
                "differ as much, cannot be compared by eye; the dashed line shows what a random ranking would reach."
            )
    return said


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
