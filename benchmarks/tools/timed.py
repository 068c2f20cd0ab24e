"""Runs a command and prints seconds, processor time and peak memory of it alone, as JSON on stderr.

A process that is started by a large one has at least its peak memory; this one is small.
"""

import os
import sys
import time

begun = time.perf_counter()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
seconds = time.perf_counter() - begun
processor = usage.ru_utime + usage.ru_stime
print(f"[{status}, {seconds}, {processor}, {usage.ru_maxrss / 1024}]", file=sys.stderr)
