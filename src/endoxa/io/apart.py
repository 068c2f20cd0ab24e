"""Work on files of strangers in a process of its own, so that a file can neither stop nor break the server.

The process has a limit of time and of memory, and few threads. A module that works like this calls `answer(work)` when
it is run: `work` gets the fields of a JSON object, and returns a JSON value.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from endoxa.errors import EndoxaError, FileError

SECONDS = 60.0  # a run of a million lines takes less than two
MEMORY = 4 << 30  # bytes; a run of 256 MB takes 1.6 GB of addresses, and the slower reader 3 GB
THREADS = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")
log = logging.getLogger("endoxa")


def run_apart(module: str, given: Mapping[str, Any], label: str, *, remedy: str, times: int = 1) -> Any:
    """The answer of a module to what is given; `label` is the file in errors, `times` lengthens the time limit.

    What takes longer than the limit, and what ends the process, is refused.
    """
    limit = SECONDS * times
    try:
        done = subprocess.run(
            [sys.executable, "-m", module], input=json.dumps(given).encode(), capture_output=True, timeout=limit,
            env=os.environ | THREADS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise FileError(label, f"cannot be read within {limit:g} s", remedy) from None
    if done.returncode == 0:
        return json.loads(done.stdout)
    if done.returncode == 1 and (problem := done.stdout.decode("utf-8", "replace").strip()):
        raise EndoxaError(problem)
    said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
    log.warning("%s ended with %d: %r", module, done.returncode, said)
    raise FileError(label, "cannot be read", f"check that it is not damaged, and {remedy}")


def answer(work: Callable[..., Any]) -> None:
    """Answer with what the work returns or, with status 1, with what is wrong."""
    _limit()
    try:
        found = work(**json.load(sys.stdin.buffer))
    except EndoxaError as error:
        sys.stdout.buffer.write(str(error).encode())
        sys.exit(1)
    sys.stdout.buffer.write(json.dumps(found).encode())


def _limit() -> None:
    """Take no more memory than allowed."""
    with suppress(ImportError, AttributeError, OSError, ValueError):  # not on every system
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        most = MEMORY if hard == resource.RLIM_INFINITY else min(hard, MEMORY)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
