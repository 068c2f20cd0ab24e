"""What earlier searches of a collection taught: which groups and metrics order marks well, as Beta counts per arm."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.searches.arms import Arm, Features

START = {"look": (2.55, 1.45)}  # other groups begin with (2, 2)
EVEN = (2.0, 2.0)
SHARPNESS = 8.0
DRAWS = 1_000  # from which the chance of a choice by Thompson sampling is estimated


@dataclass(frozen=True)
class Counts:
    """(a, b) of each arm: a grows with the concordance of an arm in each search, b with what it lacks to 1."""

    of: Mapping[Arm, tuple[float, float]]

    def __post_init__(self) -> None:
        for arm, (a, b) in self.of.items():
            if not (np.isfinite(a) and np.isfinite(b) and a > 0 and b > 0):
                raise TableError(
                    f"the counts of {'/'.join(arm)} are {a:g} and {b:g}", remedy="expected numbers above 0"
                )

    @classmethod
    def start(cls, features: Features) -> Counts:
        """What holds before any search: the look of a picture says a little more than the other groups."""
        return cls({arm: START.get(arm[0], EVEN) for arm in features.arms})

    def add(self, concordance: Mapping[Arm, float]) -> Counts:
        """The counts after a search in which each arm ordered the marks so well; called once per search."""
        changed = dict(self.of)
        for arm, r in concordance.items():
            a, b = changed.get(arm, EVEN)
            changed[arm] = (a + r, b + 1 - r)
        return Counts(changed)

    def weights(self) -> dict[Arm, float]:
        """π of each arm: exp(8 a/(a + b)), divided by the number of metrics in its group."""
        return _weights({arm: a / (a + b) for arm, (a, b) in self.of.items()})

    def thompson(self, rng: np.random.Generator) -> tuple[dict[Arm, float], dict[str, float]]:
        """π with each share drawn from its Beta, and the chance of the metric that leads in each group.

        Misleads: drawing costs. Every arm's worth is known from the marks without trying it, so nothing is explored.
        """
        a, b = np.array(list(self.of.values())).T if self.of else np.ones((2, 0))
        drawn = rng.beta(a, b, size=(DRAWS, len(a)))
        arms = list(self.of)
        chosen = dict(zip(arms, drawn[0].tolist(), strict=True))
        chances = {}
        for group in dict.fromkeys(name for name, _ in arms):
            mine = [at for at, arm in enumerate(arms) if arm[0] == group]
            leads = drawn[:, mine].argmax(1)
            chances[group] = float((leads == leads[0]).mean())
        return _weights(chosen), chances


def _weights(share: Mapping[Arm, float]) -> dict[Arm, float]:
    groups = [group for group, _ in share]
    return {arm: float(np.exp(SHARPNESS * theta)) / groups.count(arm[0]) for arm, theta in share.items()}
