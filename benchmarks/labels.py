"""A few labels: what a page waits for after one answer, beside doing everything from scratch.

Refit after one answer (learn, P(best), every pair) and the choice of the next pair, on 36 runs x 30 topics x 1,000
items with 150 labels; each must stay below half a second.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.doubt import DEPTH, TOPICS, field
from benchmarks.no_judgments import SYSTEMS
from endoxa.beliefs.learned import Universe
from endoxa.io.read import read
from endoxa.measures.grammar import parse
from endoxa.pools.deciding import Deciding, Question

LABELS, LIMIT = 150, 0.5  # seconds


def timed(act: Callable[[], object], times: int) -> float:
    """The median of the seconds that it takes."""
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        act()
        found.append(time.perf_counter() - begun)
    return statistics.median(found)


def main(times: int = 5) -> None:
    """The medians, and their ratio to starting from the runs."""
    run = read([path for path in field() if int(Path(path).stem[1:]) < SYSTEMS], kind="run")
    question, rng = Question(parse("AP")), np.random.default_rng(0)
    universe = Universe.of(run)
    rows = np.sort(rng.choice(universe.rows.height, LABELS + 1, replace=False))
    said = (rng.random(LABELS + 1) < 0.5).astype(float)
    before = Deciding.of(universe, question).answered(rows[:-1], said[:-1])

    def again() -> object:
        return before.answered(rows[-1:], said[-1:]).verdict

    def scratch() -> object:
        return Deciding.of(Universe.of(run), question).answered(rows, said).verdict

    def following() -> object:
        return before.ask(1, number=2, rng=rng)

    refit, whole, choice = (timed(act, times) for act in (again, scratch, following))
    print(
        f"\nlabels: {SYSTEMS} runs x {TOPICS} topics x {DEPTH:,} items, {LABELS} labels, {universe.rows.height:,} pairs"
    )
    print(f"  refit after one answer, with P(best) and every pair  {refit:.3f} s")
    print(f"  the same from scratch                                {whole:.3f} s  ({whole / refit:.1f}x)")
    print(f"  choice of the next pair                              {choice:.3f} s")
    print(f"  each is below {LIMIT} s: {refit < LIMIT and choice < LIMIT}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
