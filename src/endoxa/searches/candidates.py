"""Which pictures of a very large collection may matter: near to what was liked, or drawn by chance.

Up to 100,000 pictures all are looked at. Beyond that the model is exact on a pool: the nearest pictures, by each group
of features, of every picture that was liked, those that a sketch or words hint at, and a background to explore.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from endoxa.searches.arms import Features, Group, Values
from endoxa.searches.distances import distances, each_block
from endoxa.tables import Floats, Ints

ALL = 100_000  # pictures up to which all are looked at
NEAREST = 2_000  # pictures that a liked picture adds, per group
BACKGROUND = 20_000
SPARE = 1.5  # how many more than the nearest a first bound should let through


def needs_pool(features: Features) -> bool:
    """Whether there are too many pictures to look at all of them."""
    return len(features) > ALL


def background(features: Features) -> Ints:
    """The pictures that a pool begins with."""
    rng = np.random.default_rng(int.from_bytes(features.digest.encode()[:8].ljust(8, b"\0")))
    return np.sort(rng.choice(len(features), BACKGROUND, replace=False)).astype(np.int64)


def hinted(hint: Floats | None) -> Ints:
    """The places that a sketch or words speak for most."""
    if hint is None:
        return np.zeros(0, np.int64)
    top = np.argpartition(-hint, min(NEAREST, len(hint) - 1))[:NEAREST]
    return np.sort(top[hint[top] > 0]).astype(np.int64)


def scan(group: Group, points: Values, count: int) -> list[Ints]:
    """The nearest pictures exactly, in one pass over all.

    A sample of the collection gives a distance that about 1.5 times as many pictures stay below; only these are kept
    while blocks pass, and all are ranked only if too few were.
    """
    n = len(group.values)
    count = min(count, n)
    bounds = _bounds(group, points, count)
    found: list[list[tuple[Ints, npt.NDArray[np.float32]]]] = [[] for _ in points]

    def keep(where: Any, far: npt.NDArray[np.float32]) -> None:
        start = where[1].start
        for j in range(len(points)):
            at = np.flatnonzero(far[j] <= bounds[j])
            found[j].append((at + start, far[j][at]))

    each_block(group.metrics[0], group.values, points, keep)
    return [_least(group, points[[j]], parts, count) for j, parts in enumerate(found)]


def _bounds(group: Group, points: Values, count: int) -> npt.NDArray[np.float32]:
    step = max(1, len(group.values) // BACKGROUND)
    sample = np.ascontiguousarray(group.values[::step])
    far = distances(group.metrics[0], sample, points)
    at = min(len(sample) - 1, int(SPARE * count / step) + 1)
    return np.asarray(np.partition(np.nan_to_num(far, nan=np.inf), at, axis=1)[:, at])


def _least(group: Group, point: Values, parts: list[tuple[Ints, npt.NDArray[np.float32]]], count: int) -> Ints:
    places, far = (np.concatenate(part) for part in zip(*parts, strict=True))
    if len(places) < count:
        far = np.nan_to_num(distances(group.metrics[0], group.values, point)[0], nan=np.inf)
        places = np.arange(len(far))
    if len(places) > count:  # equal distances go by place, whatever the order in which blocks came
        places = places[np.lexsort((places, far))[:count]]
    return np.sort(places).astype(np.int64)
