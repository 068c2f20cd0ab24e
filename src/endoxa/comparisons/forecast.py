"""How many more labels a question needs, in closed form, from draws of what is known about the means.

In a draw w the winner l is ahead of system r by gap = worth_l - worth_r. The standard deviation of a difference falls
about as (n + 40)^-.5 with the number n of labels, and differences grow meanwhile, so

    f_w = max(1, max over r of z c sd_lr / (gap + .01)),   z = Φ⁻¹(until)
    N_w = (n + 40) f_w^(1/.6) - 40 + 25                     (25 more labels for the second look)

labels settle the question in that draw. Where the best must be known exactly (AP, or a comparison of two systems),
the margin .01 is left out and the exponent is 1/.7.
Misleads: it is a median. Half of the questions need more labels, one in ten three times as many.
Source: docs/methods/deciding.md, Forecast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from endoxa.comparisons.posterior import NEARLY, Posterior
from endoxa.frozen import dataclass
from endoxa.tables import Floats

OFFSET = 40  # the standard deviation falls about as (labels + 40)^-.5
NEAR_RATE, EXACT_RATE = 0.6, 0.7  # of the fall of sd by the growth of the differences
AGAIN = 25  # labels between two looks
SOON, LATER = 100, 300  # further labels whose probability of being enough is reported


@dataclass(frozen=True, eq=False)
class Forecast:
    """Further labels until a question is settled.

    median, low, high  the median and the quartiles
    soon, later        P(settled within 100 more labels), within 300
    """

    median: float
    low: float
    high: float
    soon: float
    later: float
    draws: Floats | None = None

    @classmethod
    def of(cls, further: Floats) -> Forecast:
        """From the further labels that each draw needs."""
        low, median, high = np.quantile(further, [0.25, 0.5, 0.75])
        soon, later = ((further <= count).mean() for count in (SOON, LATER))
        return cls(float(median), float(low), float(high), float(soon), float(later), further)

    def within(self, count: float) -> float:
        """P(settled within `count` more labels); NaN for a forecast that was read from a file."""
        return float("nan") if self.draws is None else float((self.draws <= count).mean())

    def facts(self) -> dict[str, Any]:
        """The numbers, as files and pages have them."""
        return {name: getattr(self, name) for name in ("median", "low", "high", "soon", "later")}


def forecast(
    posterior: Posterior, labels: int, *, until: float, margin: float = NEARLY, systems: Sequence[int] | None = None,
    least: int = 0,
) -> Forecast:  # fmt: skip
    """Further labels until the best is known, or within `margin` of it; of some systems, where they are named.

    Nothing is settled before `least` labels.
    """
    first = [place for place in range(len(posterior.systems)) if posterior.same[place] == place]
    kept = [place for place in (first if systems is None else systems) if not np.isnan(posterior.worth[place])]
    drawn, sd = posterior.drawn[:, kept], posterior.sd[np.ix_(kept, kept)]
    leader = drawn.argmax(1)
    gap = drawn[np.arange(len(drawn)), leader][:, None] - drawn + margin
    beside = np.arange(len(kept)) != leader[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(beside & (sd[leader] > 0), ndtri(until) * sd[leader] / gap, 0.0)
    factor = np.maximum(needed.max(1, initial=0.0), 1.0)
    whole = (labels + OFFSET) * factor ** (1 / (NEAR_RATE if margin else EXACT_RATE)) - OFFSET + AGAIN
    return Forecast.of(np.maximum(whole, least) - labels)
