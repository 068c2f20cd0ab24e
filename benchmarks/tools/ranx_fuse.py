"""ranx fuses: `cases FILE` prints the fused scores of many small fields; `runs METHOD FILE…` fuses files, timed."""

import json
import sys
import time

from ranx import Run, fuse

NAMES = {"borda": "bordafuse"}


def cases(path: str) -> None:
    """One line of JSON for each of the cases: method, norm, fused scores."""
    with open(path) as lines:
        for line in lines:
            case = json.loads(line)
            runs = [Run(scored) for scored in case["runs"]]
            norm = None if case["norm"] == "none" else case["norm"]
            fused = fuse(runs, norm=norm, method=NAMES.get(case["method"], case["method"]))
            print(json.dumps({query: dict(scored) for query, scored in fused.run.items()}))


def files(method: str, paths: list[str]) -> None:
    """Seconds of reading, and of fusing without the time that Numba takes to compile."""
    begun = time.perf_counter()
    runs = [Run.from_file(path, kind="trec") for path in paths]
    read = time.perf_counter() - begun
    small = [Run({"q": {"a": 1.0, "b": 0.5}}), Run({"q": {"b": 1.0}})]
    fuse(small, norm="min-max", method=NAMES.get(method, method))
    begun = time.perf_counter()
    fuse(runs, norm="min-max", method=NAMES.get(method, method))
    print(json.dumps({"read": read, "fuse": time.perf_counter() - begun}))


if __name__ == "__main__":
    if sys.argv[1] == "cases":
        cases(sys.argv[2])
    else:
        files(sys.argv[2], sys.argv[3:])
