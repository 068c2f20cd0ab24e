"""Words from regions: learning and prediction over 10,000 pictures, beside the plainest NumPy way, in the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

PICTURES, REGIONS, FEATURES, COMPONENTS, VOCABULARY, WORDS = 10_000, 8, 23, 500, 150, 4
PLAIN = 500  # pictures that the plain way does; its time is scaled up


def timed(work: Callable[[], object]) -> float:
    """Seconds by the wall."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def plain_prediction(model: Any, rows: Any) -> Any:
    """p(w|picture) of docs/methods/pictures.md, Region mixtures: picture by picture."""
    found = []
    for at in range(0, len(rows), REGIONS):
        own = rows[at : at + REGIONS]
        logs = np.log(model.p_l) - 0.5 * (
            ((own[:, None] - model.means) ** 2 / model.variances).sum(2) + np.log(2 * np.pi * model.variances).sum(1)
        )
        shares = np.exp(logs - logs.max(1, keepdims=True))
        found.append(((shares / shares.sum(1, keepdims=True)) @ model.words).mean(0))
    return np.array(found)


def main(times: int) -> None:
    """An EM step with words by average, the words of all pictures, and their scores."""
    from endoxa.statistics.mixtures import Images, MixtureModel, Rules, refine, word_chances
    from endoxa.words.scoring import score, truths_of

    rng = np.random.default_rng(0)
    total = PICTURES * REGIONS
    centres = rng.standard_normal((COMPONENTS, FEATURES)) * 2
    rows = centres[rng.integers(COMPONENTS, size=total)] + rng.standard_normal((total, FEATURES))
    spoken = [sorted(set(rng.integers(VOCABULARY, size=WORDS).tolist())) for _ in range(PICTURES)]
    counts = np.full(PICTURES, REGIONS)
    images = Images.of(counts, spoken, VOCABULARY)
    table = rng.random((COMPONENTS, VOCABULARY)) + 0.5
    model = MixtureModel(
        np.full(COMPONENTS, 1 / COMPONENTS), rows[rng.choice(total, COMPONENTS, replace=False)],
        np.ones((COMPONENTS, FEATURES)), table / table.sum(1, keepdims=True),
    )  # fmt: skip
    print(f"\nwords: {PICTURES:,} pictures, {total:,} regions x {FEATURES} features, {COMPONENTS} components")

    def steps(count: int) -> Any:
        return refine(model, rows, images, rules=Rules("average", iterations=count, tolerance=0.0))

    steps(1)
    many, few = (statistics.median(timed(lambda n=n: steps(n)) for _ in range(max(1, times // 2))) for n in (6, 1))  # type: ignore[misc]
    each = (many - few) / 5
    # The benchmark of pictures asks for a second per step of 40,000 regions x 40 features; this is the same per region.
    print(f"  an EM step by average: {each:.3f} s (asked for: under {total / 40_000:.0f} s)")
    chances = word_chances(model, rows, counts, precision="single")
    ours = statistics.median(timed(lambda: word_chances(model, rows, counts, precision="single")) for _ in range(times))
    begun = time.perf_counter()
    expected = plain_prediction(model, rows[: PLAIN * REGIONS])
    plain = (time.perf_counter() - begun) * PICTURES / PLAIN
    off = float(np.abs(chances[:PLAIN] - expected).max())
    print(
        f"  words of all pictures: {ours:.3f} s (asked for: under 2 s); plain NumPy {plain:.1f} s: {plain / ours:.0f}x "
        f"(plain: {PLAIN} pictures, scaled up; greatest difference {off:.0e})"
    )
    truths, frequencies = truths_of(spoken, VOCABULARY), rng.random(VOCABULARY)
    scoring = statistics.median(timed(lambda: score(chances, truths, frequencies)) for _ in range(times))
    print(f"  their scores: {scoring:.3f} s (asked for: under 1 s)")
