"""Interactive search: what a person waits for after pressing Enter, beside plain NumPy.

A round: learn from 20 new marks (half of them liked), expected values, a page of 20 with exploring places. Over 100,000
pictures everything is looked at; over 1,000,000 a pool is, and plain NumPy looks at the same pool's groups in full.
The data are drawn: 300 kinds of pictures in the four groups of features, with as many numbers as real ones have.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from endoxa.io.search_features import FOLDER, Stored, load, save
from endoxa.io.search_maps import open_map
from endoxa.searches.arms import Features, group_of
from endoxa.searches.kernels import Rows
from endoxa.searches.learner import Evidence, learn
from endoxa.searches.paging import choose_page
from endoxa.searches.seeking import Search

KINDS, PAGE, ROUNDS, OPENED = 300, 20, 6, 10_000
LIMITS = {100_000: 0.25, 1_000_000: 1.0}  # seconds of a round on a quiet machine
WIDTHS = {"look": 128, "colours": 166, "texture": 120, "layout": 192}


def collection(count: int) -> tuple[Features, np.ndarray]:
    """Pictures of 300 kinds, and the kind of each."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, KINDS, count)
    groups = []
    for name, width in WIDTHS.items():
        if name == "look":
            centres = rng.normal(size=(KINDS, width)).astype(np.float32) * 2
            values = centres[kind] + rng.standard_normal((count, width), dtype=np.float32)
        else:
            centres = rng.integers(60, 195, (KINDS, width)).astype(np.uint8)
            values = centres[kind] + rng.integers(-60, 60, (count, width), dtype=np.int8).view(np.uint8)
        groups.append(group_of(name, values))
    items = tuple(f"{at:07d}" for at in range(count))
    return Features(items, tuple(groups), ((),) * count, "bench", np.arange(count)), kind


def session(features: Features, kind: np.ndarray) -> tuple[list[float], list[Evidence]]:
    """The seconds of each round after the first, and what was known in it."""
    rng, kept = np.random.default_rng(1), Rows(features)
    unseen = np.ones(len(features), np.bool_)
    rows, y, seconds, known = np.zeros(1, np.int64), np.ones(1), [], []
    metrics: dict[str, str] = {}
    for number in range(ROUNDS + 1):
        evidence = Evidence(rows, y, np.full(len(y), 0.1))
        begun = time.perf_counter()
        model = learn(features, evidence, rows=kept, metrics=metrics)
        page = choose_page(features, model, unseen, PAGE, 4)
        seconds += [time.perf_counter() - begun] if number else []
        known.append(evidence)
        metrics = dict(model.metrics)
        unseen[page.places] = False
        liked = (kind[page.places] == kind[0]) & (rng.random(len(page)) < 0.5)
        rows, y = np.append(rows, page.places), np.append(y, np.where(liked, 1.0, rng.choice([-1.0, -0.5], len(page))))
    return seconds, known


def plain(features: Features, before: Evidence, evidence: Evidence, kept: list[np.ndarray]) -> float:
    """The seconds of the same round in NumPy: L1 rows of the new marks by broadcasting, kept ones combined."""
    begun = time.perf_counter()
    new = evidence.rows[len(before) :]
    for at, group in enumerate(features.groups):
        values = group.values.astype(np.float32)
        far = np.stack([np.abs(values - values[row]).sum(1) for row in new])
        near = 0.5 * (np.exp(-far / group.taus["l1"]) + np.exp(-far / (4 * group.taus["l1"])))
        kept[at] = np.concatenate([kept[at], near]) if len(kept) > at else near
    whole = np.mean(kept, axis=0)
    among = whole[:, evidence.rows[-len(whole) :]]
    alpha = np.linalg.solve(among + np.diag(np.full(len(among), 0.1)), evidence.y[-len(whole) :] + 1)
    np.argsort(-(alpha @ whole))
    return time.perf_counter() - begun


def opening() -> None:
    """The features of 10,000 pictures from the disk and the first page; a map of them, laid out and stored."""
    features, _ = collection(OPENED)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        save(Stored(features, {}, {"look": "", "descriptors": {}}), home / FOLDER)
        begun = time.perf_counter()
        Search(load(home / FOLDER).features).show()
        first = time.perf_counter() - begun
        begun = time.perf_counter()
        found = open_map(load(home / FOLDER).features, home)
        for tile in found.sheet().tiles:
            if tile.count > 1:
                found.sheet((tile.cell,))
        laid = time.perf_counter() - begun
    print(f"\nsearch: {OPENED:,} pictures")
    print(f"  features from the disk, and the first page  {first:.3f} s  (limit 1)")
    print(f"  the map, two levels of it, laid out once    {laid:.3f} s  (limit 30)")


def main(sizes: tuple[int, ...] = tuple(LIMITS)) -> None:
    """Medians per size, and the ratio to plain NumPy in the same run."""
    session(*collection(2_000))  # what is compiled at the first call is not a cost
    opening()
    for count in sizes:
        features, kind = collection(count)
        seconds, known = session(features, kind)
        ours = statistics.median(seconds)
        print(f"\nsearch: {count:,} pictures, a round with {PAGE} new marks, {len(known[-1])} rows at the end")
        print(f"  endoxa       {ours:.3f} s  (longest {max(seconds):.3f}, limit {LIMITS.get(count, 1):.2f})")
        empty = [np.zeros((0, count), np.float32) for _ in features.groups]
        other = plain(features, known[1], known[2], empty)
        print(f"  plain NumPy  {other:.3f} s  ({other / ours:.1f}x), one round, L1 only, nothing explored")


if __name__ == "__main__":
    main(tuple(int(one) for one in sys.argv[1:]) or tuple(LIMITS))
