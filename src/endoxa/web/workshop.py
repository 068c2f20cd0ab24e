"""Work on uploads, which other processes do: a few at once, while the server answers other requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import field
from typing import Any

from anyio import CapacityLimiter, to_thread

from endoxa.frozen import dataclass

AT_ONCE = 2  # processes that work


@dataclass
class Workshop:
    """Places for such work: few at once; the uploads of a person in turn; the same work never twice at a time."""

    places: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(AT_ONCE))
    turns: dict[int, asyncio.Lock] = field(default_factory=dict)
    under_way: dict[Hashable, asyncio.Future[Any]] = field(default_factory=dict)

    def turn(self, person: int) -> asyncio.Lock:
        """The lock of a person who uploads."""
        return self.turns.setdefault(person, asyncio.Lock())

    async def do(self, work: Callable[[], Any]) -> Any:
        """Do the work in a thread of its own kind, so that it does not take those of other requests."""
        return await to_thread.run_sync(work, limiter=self.places)

    async def share(self, key: Hashable, work: Callable[[], Any]) -> Any:
        """Do the work, or wait for another request that does; it goes on if the first one is given up."""
        if key not in self.under_way:
            self.under_way[key] = asyncio.ensure_future(self.do(work))
            self.under_way[key].add_done_callback(lambda _: self.under_way.pop(key))
        return await asyncio.shield(self.under_way[key])
