"""What a backtest says about how its numbers were made."""

from __future__ import annotations

from collections.abc import Sequence

from endoxa.wording.phrases import Template


def _scarce(levels: Sequence[int]) -> str:
    named = " and ".join(map(str, levels))
    return f"The judgments do not suffice for {named} labels a topic, so these levels are left out."


NOTES: dict[str, Template] = {
    "backtest.right":
        "Right means the order by all judgments on these topics. Draws share topics and systems, so the counts are not "
        "independent.",
    "backtest.true_quarter":
        "Users see the best quarter by the estimate. Nobody can see the true best quarter; choosing by the truth picks "
        "the systems that were underrated.",
    "backtest.scarce": _scarce,
    "backtest.unjudged": "Of the drawn labels, {share:.1%} had no judgment and counted as not relevant.",
}  # fmt: skip
