"""Which pictures a page shows: the best, a few that would teach most, and on request one drawn by chance."""

from __future__ import annotations

from typing import Literal

import numpy as np

from endoxa.frozen import dataclass
from endoxa.searches.arms import Features
from endoxa.searches.learner import Fitted, Model
from endoxa.tables import Bools, Floats, Ints

Slot = Literal["best", "explore", "audit", "map"]  # map: nothing is known yet, it stands for others
DIGITS = 9  # to which expected values are rounded before they are ranked
NOISE = 0.1  # of a mark that an exploring picture would get
FIRST, SPREAD = 4_096, 8_192  # of the best, and of the others, how many may explore


@dataclass(frozen=True, eq=False)
class Page:
    """The pictures of a page, in order.

    items       their ids
    slots       why each is there: best, explore, audit, map
    mean        its expected value, -1 to 1; NaN if nothing is known yet
    deviation   the doubt about it; NaN if the learner knows none
    propensity  the chance by which it was drawn; 1 unless it was
    """

    places: Ints
    slots: tuple[Slot, ...]
    mean: Floats
    deviation: Floats
    propensity: Floats
    items: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.places)


def exploring(size: int, liked: int, share: float) -> int:
    """How many places of a page explore.

    liked  marks above neutral so far
    share  of the last page, the share that was marked above neutral
    """
    if not liked:
        return round(0.4 * size)
    return 0 if share >= 0.5 else round(0.2 * size)


def choose_page(
    features: Features, fitted: Fitted, unseen: Bools, size: int, explore: int = 0, *,
    audit: np.random.Generator | None = None,
) -> Page:  # fmt: skip
    """A page of `size` pictures among the unseen ones: the best by expected value, then those that explore.

    An exploring picture has the best sum of expected value and deviation; each one that is chosen lowers the deviation
    of those like it. Up to 12,000 pictures all may explore, beyond that the best and an even part of the others. A
    learner without deviations explores nothing. Equal values go by item id, descending. With
    `audit` the last place goes to a picture that is drawn evenly from the rest; its propensity is 1/rest.
    """
    values = np.round(fitted.mean, DIGITS)
    open_ = np.flatnonzero(unseen & np.isfinite(values))
    order = open_[np.lexsort((features.order[open_], -values[open_]))]
    size = min(size, len(order))
    drawn = 1 if audit is not None and size > 1 else 0
    explores = explore if isinstance(fitted, Model) else 0
    explores = min(explores, size - drawn)
    best = order[: size - drawn - explores]
    rest = order[len(best) :]
    found = np.concatenate([best, _exploring(features, fitted, values, rest, explores)])  # type: ignore[arg-type]
    chance = np.ones(size)
    if audit is not None and drawn:
        left = np.flatnonzero(unseen & ~np.isin(np.arange(len(unseen)), found))
        found = np.concatenate([found, [audit.choice(left)]])
        chance[-1] = 1 / len(left)
    found = found.astype(np.int64)
    slots: list[Slot] = ["best"] * len(best)
    slots += ["explore"] * explores
    slots += ["audit"] * drawn
    items = tuple(features.items[at] for at in found)
    return Page(found, tuple(slots), fitted.mean[found], fitted.deviation(found), chance, items)


def _exploring(features: Features, model: Model, values: Floats, rest: Ints, count: int) -> Ints:
    """One picture after another with the best value + deviation, among `rest`, which is ordered by value.

    Of very many, they are looked for among the best and every k-th of the others.
    """
    if not count:
        return rest[:0]
    step = max(1, -(-(len(rest) - FIRST) // SPREAD))
    among = np.sort(np.concatenate([rest[:FIRST], rest[FIRST::step]]))
    reduced, similar = model.reduced(among), model.similar(among)
    variance = np.maximum(model.own(among) - (reduced**2).sum(0), 0.0)
    chosen: list[int] = []
    moved: list[Floats] = []  # what each chosen picture explains of the others
    for _ in range(count):
        sums = np.round(values[among] + np.sqrt(variance), DIGITS)
        sums[chosen] = -np.inf
        top = np.flatnonzero(sums == sums.max())
        z = int(top[np.argmin(features.order[among[top]])])
        covariance = similar(z) - reduced[:, z] @ reduced
        for earlier in moved:
            covariance -= earlier * earlier[z]
        share = covariance / np.sqrt(variance[z] + NOISE)
        variance = np.maximum(variance - share**2, 0.0)
        chosen.append(z)
        moved.append(share)
    return among[chosen]
