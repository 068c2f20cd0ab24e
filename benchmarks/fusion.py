"""Fusion beside ranx: the same scores on random fields, and the time for seven million lines.

python -m benchmarks.fusion
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import endoxa
from benchmarks.data import SHAPES, make

HERE = Path(__file__).parent
PEERS = HERE.parent / ".venv-peers" / "bin" / "python"
METHODS = ("rrf", "sum", "mnz", "anz", "max", "min", "med", "borda")
NORMS = ("min-max", "max", "sum", "zmuv", "rank", "none")
FIELDS = 300
TIMED = ("rrf", "sum", "mnz", "med")


def cases(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Random fields of two to five systems.

    Scores of a list differ, because ranx has no rule for ties. Ids are equally long, because ranx 0.3.21 loses the
    items of a run whose longest id is longer than those of the others.
    """
    found = []
    for _ in range(FIELDS):
        queries = [f"q{n}" for n in range(rng.integers(1, 4))]
        runs = []
        for _ in range(rng.integers(2, 6)):
            lists = {}
            for query in queries:
                items = rng.permutation(12)[: rng.integers(1, 11)]
                scores = rng.choice(np.arange(1, 400), len(items), replace=False) / 8
                lists[query] = {f"d{item:02d}": float(score) for item, score in zip(items, scores, strict=True)}
            runs.append(lists)
        found.append({"method": str(rng.choice(METHODS)), "norm": str(rng.choice(NORMS)), "runs": runs})
    return found


def agree() -> None:
    """Every field must be fused to the same scores, or the comparison is void."""
    fields = cases(np.random.default_rng(11))
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(one) + "\n" for one in fields)
        file.flush()
        told = _ranx("cases", file.name)
    for case, theirs in zip(fields, told, strict=True):
        runs = {f"s{n}": lists for n, lists in enumerate(case["runs"])}
        ours = endoxa.fuse(runs, case["method"], norm=case["norm"]).to_dict()[case["method"]]
        for query, scored in theirs.items():
            if scored.keys() != ours[query].keys() or any(
                abs(value - ours[query][item]) > 1e-9 * max(1, abs(value)) for item, value in scored.items()
            ):
                raise SystemExit(f"{case['method']}, {case['norm']}: ranx gives {scored}, endoxa {ours[query]}")
    print(
        f"\nfusion: {len(fields)} random fields, {len(METHODS)} methods, {len(NORMS)} norms: the scores of ranx to 1e-9"
    )


def main() -> None:
    """Agreement, then twenty runs of 350,000 lines."""
    agree()
    _, runs = make(SHAPES["many"])
    begun = time.perf_counter()
    table = endoxa.read([str(path) for path in runs])
    read = time.perf_counter() - begun
    print(f"{len(runs)} runs, {SHAPES['many'].lines:,} lines; endoxa reads them in {read:.2f} s")
    print(f"{'method':10} {'endoxa s':>9} {'ranx s':>9} {'ratio':>7}   ranx reads in")
    for method in TIMED:
        begun = time.perf_counter()
        endoxa.fuse(table, method)
        ours = time.perf_counter() - begun
        theirs = _ranx("runs", method, *map(str, runs))[0]
        print(f"{method:10} {ours:9.2f} {theirs['fuse']:9.2f} {theirs['fuse'] / ours:6.1f}x   {theirs['read']:.1f} s")


def _ranx(*words: str) -> list[dict[str, Any]]:
    command = [str(PEERS), str(HERE / "tools" / "ranx_fuse.py"), *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    main()
