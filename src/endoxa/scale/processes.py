"""Many tasks at once on this machine; results come as they finish, and few tasks are submitted at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from typing import TypeVar

from endoxa.errors import EndoxaError

Name = TypeVar("Name")
Task = TypeVar("Task")
Result = TypeVar("Result")


def finished(
    pool: Executor, work: Callable[[Task], Result], tasks: Mapping[Name, Task], most: int
) -> Iterator[tuple[Name, Future[Result]]]:
    """The name of each task with what has become of it; at most so many tasks are submitted at a time."""
    waiting, under_way = iter(tasks.items()), dict[Future[Result], Name]()
    while True:
        under_way |= {pool.submit(work, task): name for name, task in islice(waiting, most - len(under_way))}
        if not under_way:
            return
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            yield under_way.pop(future), future


def in_processes(
    work: Callable[[Task], Result], tasks: Mapping[Name, Task], workers: int, *, most: int,
    killed: Callable[[Name], EndoxaError],
) -> Iterator[tuple[Name, Result]]:  # fmt: skip
    """The results by processes of one thread each. `killed` gives the error for a task whose process was killed.

    One thread is enough, because tasks run in parallel; libraries read this when they are loaded.
    """
    with _one_thread(), ProcessPoolExecutor(workers, get_context("spawn"), _limit_opencv) as pool:
        for name, future in finished(pool, work, tasks, most):
            try:
                yield name, future.result()
            except BrokenProcessPool:
                raise killed(name) from None


def _limit_opencv() -> None:
    import cv2

    cv2.setNumThreads(1)


@contextmanager
def _one_thread() -> Iterator[None]:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    before = {name: os.environ[name] for name in names if name in os.environ}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]
        os.environ.update(before)
