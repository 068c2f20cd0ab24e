"""Dawid-Skene on a million votes: Endoxa, or crowd-kit, whichever this Python has; one line of JSON.

    python benchmarks/tools/raters_bench.py endoxa.npy
    python-with-crowd-kit benchmarks/tools/raters_bench.py crowdkit.npy
    python benchmarks/tools/raters_bench.py endoxa.npy crowdkit.npy   # compares the two posteriors

Both make the same votes from the same seed, start at the vote shares, and do the same number of steps: crowd-kit's
n_iter counts E steps, as ours does, and a negative tol never stops it early. Timed is the fit alone, from numbered
votes (Endoxa) or from a data frame of numbers (crowd-kit) to posteriors.
"""

import json
import resource
import sys
import time
from importlib.util import find_spec

import numpy as np

VOTES, RATERS, CLASSES, ITEMS, STEPS = 1_000_000, 1_000, 5, 200_000, 20


def made(seed: int = 1):
    """Item, rater and label of each vote; each item has five raters, each rater a matrix of their own."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(CLASSES, p=[0.35, 0.25, 0.2, 0.12, 0.08], size=ITEMS)
    rows = rng.dirichlet(np.ones(CLASSES), size=(RATERS, CLASSES)) + 1.5 * np.eye(CLASSES)
    reach = np.cumsum(rows / rows.sum(-1, keepdims=True), axis=-1)
    each = VOTES // ITEMS
    item = np.repeat(np.arange(ITEMS), each)
    first = rng.integers(RATERS, size=ITEMS)
    step = rng.integers(1, RATERS // each, size=ITEMS)
    rater = (first[:, None] + step[:, None] * np.arange(each)).ravel() % RATERS
    label = (rng.random(VOTES)[:, None] > reach[rater, truth[item]]).sum(-1).clip(max=CLASSES - 1)
    return item, rater, label, truth


def endoxa(item, rater, label):
    """Seconds on the clock and of the processor, and the posterior."""
    from endoxa.beliefs.raters import Votes, fit

    votes = Votes(
        item=item, rater=rater, label=label, weight=None, items=[str(at) for at in range(ITEMS)],
        raters=[str(at) for at in range(RATERS)], classes=np.arange(CLASSES, dtype=float),
        pinned=np.full(ITEMS, -1),
    )  # fmt: skip
    start, work = time.perf_counter(), time.process_time()
    found = fit(votes, prior="flat", iterations=STEPS, tolerance=0)
    return time.perf_counter() - start, time.process_time() - work, found.posterior


def crowdkit(item, rater, label):
    """Seconds on the clock and of the processor, and the posterior."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    frame = pd.DataFrame({"task": item, "worker": rater, "label": label})
    model = DawidSkene(n_iter=STEPS, tol=-np.inf)
    start, work = time.perf_counter(), time.process_time()
    model.fit(frame)
    seconds, cpu = time.perf_counter() - start, time.process_time() - work
    return seconds, cpu, model.probas_.sort_index()[list(range(CLASSES))].to_numpy()


def main(paths: list[str]) -> None:
    """Fit and save the posterior, or compare two that were saved."""
    if len(paths) == 2:
        difference = np.abs(np.load(paths[0]) - np.load(paths[1])).max()
        print(json.dumps({"largest_difference": float(difference)}))
        return
    item, rater, label, truth = made()
    tool = "crowd-kit" if find_spec("crowdkit") else "endoxa"
    seconds, cpu, posterior = (crowdkit if tool == "crowd-kit" else endoxa)(item, rater, label)
    if paths:
        np.save(paths[0], posterior)
    print(
        json.dumps(
            {
                "tool": tool,
                "seconds": round(seconds, 3),
                "cpu_seconds": round(cpu, 3),
                "votes": VOTES,
                "raters": RATERS,
                "classes": CLASSES,
                "items": ITEMS,
                "steps": STEPS,
                "accuracy": round(float((posterior.argmax(1) == truth).mean()), 5),
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1:])
