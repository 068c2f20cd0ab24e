"""Rounds of one interactive search, which a run lists as systems: they are no rivals, and this is what is said of them.

A picture that was seen does not return, so each round has less left to find; a better ranking later on may find less.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from endoxa.formatting import counted

ROUND = re.compile(r"round-\d{2,}")  # as `searches.outcomes.run` names the system of a round


def are_rounds(systems: Sequence[str]) -> bool:
    """Whether all systems are rounds of a search, of which there are two or more."""
    return len(systems) > 1 and all(map(ROUND.fullmatch, systems))


def answer(systems: Sequence[str], searches: int, *, name: Callable[[str], str] = str) -> str:
    """What the systems are, instead of which of them leads, and what can be compared."""
    first, *_, last = sorted(systems, key=lambda system: int(system.partition("-")[2]))
    of = "one search" if searches < 2 else counted(searches, "search", "searches")
    return (
        f"{name(first)} to {name(last)} are {len(systems)} rounds of {of}, not rivals: pictures that were "
        "seen do not return, so that later rounds have less left to find. What can be compared: the course of P@k over "
        "the rounds, searches by the rounds and marks that they needed (endoxa search list), and learners with "
        "simulated people (endoxa search contest)."
    )
