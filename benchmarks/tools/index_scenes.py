"""Index some of the scenes of a manifest: MANIFEST COUNT HOME; prints the peak memory of itself and of a worker, MB."""

from __future__ import annotations

import resource
import sys

if __name__ == "__main__":
    from endoxa import pictures

    manifest, count, home = sys.argv[1:]
    corpus = pictures.open_corpus(manifest).take(range(int(count)))
    pictures.index(corpus, ["keywords", "histograms", "integrated-regions"], home=home)
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        print(round(resource.getrusage(who).ru_maxrss / 1024))
