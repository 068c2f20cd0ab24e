"""Many blocks at once on this machine, by threads: NumPy and Polars let other threads run while they work."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from endoxa.errors import TextError

if TYPE_CHECKING:
    from concurrent.futures import Future

Item = TypeVar("Item")
Result = TypeVar("Result")
WORKERS = 1  # short steps of NumPy wait for one another: a second thread takes more processor time and saves no time


def mapped(function: Callable[[Item], Result], items: Iterable[Item], workers: int = WORKERS) -> Iterator[Result]:
    """Results of the function in the order of the items, like `map`, with `workers` threads.

    At most two items per worker are taken in advance, so that memory stays bounded. An error ends the iteration: it
    is raised in its place, and what has not begun is cancelled.
    """
    if workers < 1:
        raise TextError(f"workers must be at least 1, not {workers}")
    if workers == 1:
        yield from map(function, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(workers, thread_name_prefix="endoxa")
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
