"""Evaluation without judgments: processor time of `endoxa eval` on 36 runs, beside the time of an old commit.

The old time was recorded with this script's data and command, so that no second checkout is needed:
`PYTHONPATH=OLD/src python -m benchmarks.no_judgments` measures it again.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.doubt import DEPTH, TOPICS, field

SYSTEMS = 36
OLD_COMMIT, OLD_PROCESSOR = "03915d2", 21.5  # seconds, user and system
OLD_MACHINE = "2 virtual cores of an AMD EPYC, shared with other work"
COMMAND = "from endoxa.cli import main; main()"


def once(runs: list[str]) -> tuple[float, float]:
    """Seconds by the wall and by the processor of one cold process."""
    begun = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", COMMAND, "eval", *runs], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("endoxa eval failed")
    return time.perf_counter() - begun, usage.ru_utime + usage.ru_stime


def main(times: int = 3) -> None:
    """The median, and its ratio to the old time."""
    runs = [path for path in field() if int(Path(path).stem[1:]) < SYSTEMS]
    found = [once(runs) for _ in range(max(1, times // 2))]
    wall, processor = (statistics.median(column) for column in zip(*found, strict=True))
    print(f"\nendoxa eval of {SYSTEMS} runs x {TOPICS} topics x {DEPTH:,} items without judgments (10x is asked for)")
    print(f"  {processor:.1f} s of processor time ({wall:.1f} s by the wall)")
    print(f"  commit {OLD_COMMIT}: {OLD_PROCESSOR:.1f} s ({OLD_MACHINE}); {OLD_PROCESSOR / processor:.1f}x faster now")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
