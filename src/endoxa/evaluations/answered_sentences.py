"""What an evaluation against subjects' answers says in words of the subjects themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endoxa.evaluations.standings import contenders
from endoxa.formatting import number

if TYPE_CHECKING:
    from endoxa.evaluations.evaluation import Evaluation

NAMED = 3  # systems of which the line says what they reach


def among_people(evaluation: Evaluation) -> str:
    """How far people agree with each other, and what part of that a system reaches; empty if people were not scored.

    A part is given where both are better than chance: order is 0 by chance, so that shares of it mean something.
    """
    found = evaluation.tables.get("agreement")
    if found is None:
        return ""
    value, lo, hi = found.select("value", "lo", "hi").row(0)
    between = "" if lo != lo else f" [{number(lo, 2)}, {number(hi, 2)}]"  # noqa: PLR0124
    known = [one for one in contenders(evaluation, evaluation.measures[0]) if one.value == one.value]
    share = {
        one.system: f": {100 * one.value / value:.0f} % of that" if min(value, one.value) > 0 else "" for one in known
    }
    parts = [f"{one.system} reaches {number(one.value, 2)}{share[one.system]}" for one in known[:NAMED]]
    better = "" if value > 0 else ", no better than by chance"
    reached = "".join(f"; {part}" for part in parts)
    return f"People agree with each other to {number(value, 2)}{between} on order{better}{reached}."
