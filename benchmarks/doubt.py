"""Speed where the truth is in doubt: each part beside its peer, or beside the time it takes to read the files."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

HERE = Path(__file__).parent
PEERS = HERE.parent / ".venv-peers" / "bin" / "python"
FOLDER = HERE / "data" / "field"
SYSTEMS, TOPICS, DEPTH = 143, 30, 1000


def timed(work: Callable[[], object]) -> float:
    """Seconds by the wall."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def poisson_binomial(times: int) -> None:
    """10,000 queries of 100 items: pmfs at once against a loop over SciPy's."""
    from scipy import stats

    from endoxa.statistics.poisson_binomial import pmf

    p = np.random.default_rng(0).random((10_000, 100))
    made: list[np.ndarray] = []
    ours = statistics.median(timed(lambda: made.append(pmf(p))) for _ in range(times))
    support = np.arange(101)
    theirs: list[np.ndarray] = []
    loop = timed(lambda: theirs.extend(stats.poisson_binom.pmf(support, row) for row in p))
    gap = float(np.abs(made[0] - np.array(theirs)).max())
    print("\nPoisson-binomial, 10,000 lists of 100 items (at least 50x is asked for)")
    print(f"  endoxa {ours:.3f} s, loop over scipy.stats {loop:.2f} s: {loop / ours:.0f}x; largest gap {gap:.1e}")


def raters(times: int) -> None:
    """Dawid-Skene on a million votes against crowd-kit, each in a process of its own."""
    script = str(HERE / "tools" / "raters_bench.py")
    tools = {"endoxa": sys.executable, "crowd-kit": str(PEERS)}
    saved = {name: HERE / "data" / f"posterior-{name}.npy" for name in tools}
    found: dict[str, list[float]] = {name: [] for name in tools}
    for _ in range(max(1, times // 2)):
        for name, python in tools.items():
            done = subprocess.run([python, script, str(saved[name])], capture_output=True, text=True, check=True)
            found[name].append(json.loads(done.stdout.splitlines()[-1])["seconds"])
    ours, theirs = (statistics.median(seconds) for seconds in found.values())
    gap = float(np.abs(np.load(saved["endoxa"]) - np.load(saved["crowd-kit"])).max())
    print("\nDawid-Skene, 1,000,000 votes, 1,000 raters, 5 grades, same iterations (at least 10x is asked for)")
    print(f"  endoxa {ours:.2f} s, crowd-kit {theirs:.2f} s: {theirs / ours:.1f}x; largest gap of posteriors {gap:.1e}")


def field() -> list[str]:
    """Runs of 143 systems on 30 topics, 1,000 items each; systems share most of what they find."""
    paths = [FOLDER / f"s{number:03}.run" for number in range(SYSTEMS)]
    if not all(path.exists() for path in paths):
        FOLDER.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(0)
        worth = rng.gumbel(size=(TOPICS, 10_000))
        for number, path in enumerate(paths):
            lines = []
            for topic in range(TOPICS):
                seen = worth[topic] + rng.normal(0, 1 + number / 70, 10_000)
                best = np.argsort(-seen)[:DEPTH]
                lines += [
                    f"{topic + 1} Q0 doc{item:05} {rank} {DEPTH - rank} s{number:03}\n"
                    for rank, item in enumerate(best)
                ]
            path.write_text("".join(lines))
    return [str(path) for path in paths]


def consensus(times: int) -> None:
    """Votes of 143 runs of 1,000 items on 30 topics, beside the time to read them."""
    from endoxa import read
    from endoxa.beliefs.consensus import believe

    paths = field()
    runs: list[object] = []
    reading = statistics.median(timed(lambda: runs.append(read(paths, kind="run"))) for _ in range(times))
    run = runs[-1]
    print(f"\nConsensus of {SYSTEMS} runs x {TOPICS} topics x {DEPTH:,} items ({SYSTEMS * TOPICS * DEPTH:,} lines)")
    for depth in (100, 1000):
        work = statistics.median(timed(lambda depth=depth: believe(run, depth=depth, people=0)) for _ in range(times))  # type: ignore[misc, arg-type]
        print(
            f"  reading {reading:.2f} s; believing at depth {depth} {work:.2f} s, {work / reading:.2f} of the reading"
        )


def worlds(times: int) -> None:
    """400 worlds of AP and nDCG@10 for 20 systems x 100 topics x 1,000 items: a minute and 2 GB are allowed."""
    from endoxa.beliefs.consensus import believe
    from endoxa.measures.uncertain import measure_belief
    from endoxa.tables import Run

    rng = np.random.default_rng(0)
    names = np.array([f"d{item:04}" for item in range(3000)])
    parts = [
        pl.DataFrame(
            {
                "system": f"s{s}",
                "query": f"q{q:03}",
                "item": names[rng.permutation(3000)[:1000]],
                "score": -np.arange(1000.0),
            }
        )
        for s in range(20)
        for q in range(100)
    ]
    run = Run.of(pl.concat(parts))
    belief = believe(run, depth=1000, people=0)
    seconds = [
        timed(lambda: measure_belief(run, belief, ["AP", "nDCG@10"], worlds=400)) for _ in range(max(1, times // 2))
    ]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("\n400 worlds of AP and nDCG@10, 20 systems x 100 topics x 1,000 items (a minute and 2,000 MB are allowed)")
    middle, spread = statistics.median(seconds), f"{min(seconds):.1f}-{max(seconds):.1f}"
    print(f"  {middle:.1f} s ({spread}), exact means and intervals included; peak {peak:.0f} MB, the data included")


PARTS = {"poisson-binomial": poisson_binomial, "raters": raters, "consensus": consensus, "worlds": worlds}


def main(times: int = 3) -> None:
    """Each part in a process of its own, so that the peak of memory is its own."""
    for name in PARTS:
        subprocess.run([sys.executable, "-m", "benchmarks.doubt", name, str(times)], check=True)


if __name__ == "__main__":
    PARTS[sys.argv[1]](int(sys.argv[2])) if len(sys.argv) > 1 else main()
