"""Index some of the scenes of a manifest: MANIFEST COUNT HOME; prints the peak memory of itself and of a worker, MB."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

if __name__ == "__main__":
    from endoxa.io.opening import open_corpus
    from endoxa.verbs.index import index

    manifest, count, home = sys.argv[1:]
    corpus = open_corpus(manifest).take(range(int(count)))
    index(corpus, ["keywords", "histograms", "integrated-regions"], home=home)
    # Not ru_maxrss of itself: it begins with that of the process that started it.
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(round(int(peak.split()[1]) / 1024), round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024))
