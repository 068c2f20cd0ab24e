"""Small collections for the tests of searches."""

from __future__ import annotations

import numpy as np

from endoxa.searches.arms import Features, Group, group_of
from endoxa.searches.learner import Evidence


def worked() -> tuple[Features, Evidence, dict[tuple[str, str], float]]:
    """A worked example (docs/methods/search.md, Learner): items A to F, two groups of one number, four marks."""
    x1 = np.array([0.10, 0.20, 0.90, 0.15, 0.80, 0.50], np.float32)[:, None]
    x2 = np.array([1, 5, 2, 4, 9, 1.5], np.float32)[:, None]
    groups = (Group("one", x1, ("l1",), {"l1": 0.2}), Group("two", x2, ("l1",), {"l1": 2.0}))
    evidence = Evidence(np.array([0, 1, 2, 4]), np.array([1, 0.5, -1, -0.5]), np.full(4, 0.1))
    return Features(tuple("ABCDEF"), groups), evidence, {("one", "l1"): 3.0, ("two", "l1"): 1.0}


def clusters(count: int = 60, kinds: int = 3, seed: int = 0) -> tuple[Features, np.ndarray]:
    """Pictures of a few kinds, which look and layout tell apart and colours do not; and the kind of each."""
    rng = np.random.default_rng(seed)
    kind = np.arange(count) % kinds
    centres = rng.normal(size=(kinds, 6)) * 3
    look = (centres[kind] + rng.normal(size=(count, 6))).astype(np.float32)
    colours = rng.integers(1, 255, size=(count, 8)).astype(np.uint8)
    layout = np.clip(60 + 40 * kind[:, None] + rng.integers(-25, 25, size=(count, 12)), 0, 255).astype(np.uint8)
    groups = (group_of("look", look), group_of("colours", colours), group_of("layout", layout))
    items = tuple(f"p{at:03d}" for at in range(count))
    words = tuple(("kind", f"kind{one}") for one in kind)
    return Features(items, groups, words, f"clusters-{count}-{kinds}-{seed}", np.arange(count)), kind
