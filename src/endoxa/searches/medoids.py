"""A few pictures that stand for all: where a search without any query begins."""

from __future__ import annotations

import numpy as np

from endoxa.searches.arms import Features, Group
from endoxa.searches.distances import distances
from endoxa.tables import Bools, Floats, Ints

SAMPLE = 2_000  # pictures among which medoids are chosen
STEPS = 8  # of moving a medoid to the middle of its cluster


def medoids(features: Features, among: Bools, count: int, *, rng: np.random.Generator) -> Ints:
    """Up to `count` places among these, that lie apart and in the middle of others, by the look of the pictures.

    k-medoids on a sample: k-means++ chooses the first ones, then each moves to the member of its cluster with the
    least sum of distances, until nothing changes. Without a group that tells pictures apart: the first by id.
    """
    places = np.flatnonzero(among)
    group = next((group for group in _looks_first(features) if group.audible), None)
    if len(places) <= count or group is None:
        return places[np.argsort(features.order[places])][:count]
    sample = np.sort(rng.choice(places, size=min(SAMPLE, len(places)), replace=False))
    values = np.ascontiguousarray(group.values[sample])
    far = np.nan_to_num(np.asarray(distances(group.audible[0], values, values), np.float64), nan=0.0)
    return np.asarray(sample[_settled(far, _spread(far, count, rng))])


def _looks_first(features: Features) -> list[Group]:
    return sorted(features.groups, key=lambda group: group.name != "look")


def _spread(far: Floats, count: int, rng: np.random.Generator) -> Ints:
    """k-means++: each next one is drawn by its squared distance to those chosen."""
    chosen = [int(rng.integers(len(far)))]
    nearest = far[chosen[0]] ** 2
    while len(chosen) < count:
        nearest[chosen] = 0.0
        total = nearest.sum()
        left = np.setdiff1d(np.arange(len(far)), chosen)
        chosen.append(int(rng.choice(len(far), p=nearest / total) if total > 0 else left[0]))
        nearest = np.minimum(nearest, far[chosen[-1]] ** 2)
    return np.array(chosen, np.int64)


def _settled(far: Floats, chosen: Ints) -> Ints:
    """Each medoid in the middle of its cluster, in the order of the sizes of the clusters, the largest first."""
    for _ in range(STEPS):
        cluster = far[chosen].argmin(0)
        cluster[chosen] = np.arange(len(chosen))
        moved = chosen.copy()
        for number in range(len(chosen)):
            members = np.flatnonzero(cluster == number)
            moved[number] = members[far[np.ix_(members, members)].sum(1).argmin()]
        if (moved == chosen).all():
            break
        chosen = moved
    sizes = np.bincount(far[chosen].argmin(0), minlength=len(chosen))
    return np.asarray(chosen[np.lexsort((chosen, -sizes))])
