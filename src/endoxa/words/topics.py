"""Topics of pictures: their categories, cut at a level of their paths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.tables import Ints

LEAST_TOPICS = 4  # below it topics say too little about chance
WITHOUT = "(no category)"


@dataclass(frozen=True, eq=False)
class Topics:
    """The topic of each picture, as a number, and the names of the topics; `level` is the depth of their paths."""

    of: Ints
    names: tuple[str, ...]
    level: int

    @property
    def enough(self) -> bool:
        """Whether there are four topics or more."""
        return len(self.names) >= LEAST_TOPICS


def topics_of(categories: Sequence[str | None], level: int = 0) -> Topics:
    """The categories, cut at a level of their paths; 0: the top level that has four topics or more.

    Pictures without a category are a topic of their own. If no level has four topics, the deepest one counts.
    """
    if level < 0:
        raise TextError(
            f"topics are at level {level}", remedy="expected 1 for the top of the categories, 2 for the next …"
        )
    paths = [tuple((category or WITHOUT).split("/")) for category in categories]
    deepest = max((len(path) for path in paths), default=1)
    if level > deepest:
        raise TextError(f"the categories have {deepest} levels, not {level}", remedy=f"give a level of 1 to {deepest}")
    names: list[str] = []
    depth = 1
    for depth in range(1, deepest + 1) if level == 0 else [level]:
        names = sorted({"/".join(path[:depth]) for path in paths})
        if len(names) >= LEAST_TOPICS:
            break
    number = {name: at for at, name in enumerate(names)}
    return Topics(np.array([number["/".join(path[:depth])] for path in paths], np.int64), tuple(names), depth)
