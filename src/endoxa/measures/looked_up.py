"""Lists as the native core finds them: ranked, with their judged items looked up, without a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from endoxa.frozen import dataclass
from endoxa.later import np
from endoxa.policies import Policy
from endoxa.tables import Ints

T = TypeVar("T")


@dataclass(frozen=True)
class LookedUp:
    """Lists, and their judged items sorted by list and rank.

    systems  the names, in the order of their first list
    system, place, size, tied        one per list: number of the system; place of the query among the judgments, -1
             where it is not judged; items, and how many of them share their score with a neighbour
    owner, rank, block, length, row  one per judged item: number of its list, rank, first rank and size of the run of
             equal scores around it, row of the judgments
    """

    systems: list[str]
    system: Ints
    place: Ints
    size: Ints
    tied: Ints
    owner: Ints
    rank: Ints
    block: Ints
    length: Ints
    row: Ints

    @classmethod
    def of(cls, found: tuple[Any, ...]) -> LookedUp:
        """From the buffers of the native core."""
        return cls(found[0], *(np.frombuffer(part, dtype=np.int64) for part in found[1:]))


@dataclass(frozen=True)
class Sought(Generic[T]):
    """What the native core is to look up, how it ranks, and what is made of what it finds.

    plain  the numbers of the judgments and the measures, where the native core gives values; NumPy is not needed then
    """

    table: Any
    policy: Policy
    score: Callable[[tuple[Any, ...]], T]
    plain: tuple[Any, ...] | None = None

    def close(self, native: Any, readers: list[Any], threads: int) -> Any:
        """What was found, the names of the systems first; or a status."""
        if self.plain is None:
            return native.close_runs(readers, threads)
        return native.close_scores(readers, threads, *self.plain)

    def reader(self, native: Any, system: str | None = None, *, gather: bool = False) -> Any:
        """A native reader of a run; `gather` groups a text by query that is not."""
        policy = self.policy
        by_input = policy.ties == "input"
        single = policy.compat != "none" and not by_input  # trec_eval has no order of the input
        return native.run(self.table, system, by_input, single, gather, policy.cut or 0)
