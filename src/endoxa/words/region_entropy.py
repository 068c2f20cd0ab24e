"""Image region entropy by iterated region selection, as the source has it; kept beside `profiles`, which works better.

Selection. Which regions of a word's pictures belong to the word X? P(X|r) starts at 1. Again and again a mixture f_X is
fitted to the regions of X weighted by P(X|r), another f_0 to all other regions and those of X weighted by 1 - P(X|r);
π is the mean of P(X|r), at least .05, and P(X|r) = π f_X / (π f_X + (1 - π) f_0). In the first round π is ½: with the
mean, which is 1 then, P(X|r) would be 1 for ever.

Entropy. p(j|X) = Σ_i P(X|r_i) γ_ij / Σ_i P(X|r_i) over the components j of a base mixture, E(X) = -Σ_j p log2 p.

Misleads: π f_X + (1 - π) f_0 is not identified (π = 1 always fits), the entropy grows with the number of regions, and
an entropy near 0 with few effective regions is a collapsed selection, not a visual word. Random regions with the same
weights were not selected, so that nearly every word beats them.
Source: Yanai and Barnard 2005, as Barnard et al. describe it; docs/methods/words.md, Image region entropy.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from endoxa.errors import refuse_unknown
from endoxa.frozen import dataclass
from endoxa.statistics import mixtures
from endoxa.statistics.mixtures import MixtureModel, Rules
from endoxa.tables import Floats
from endoxa.words.profiles import Has, entropy_of

Formula = Literal["responsibility", "density_normalised", "as_printed"]
FIRST, LEAST = 0.5, 0.05  # π of the first round, and the least π: a selection must not become empty
ROUNDS = 8
SETTLED = 1e-3  # greatest change of P(X|r) after which the selection ends
COMPONENTS = 8  # of f_X and f_0
ROWS_PER_COMPONENT = 10
STEPS = 5  # of EM in a round; the next round goes on from there
RULES = Rules(iterations=STEPS, floor=1e-2)


@dataclass(frozen=True, eq=False)
class Selection:
    """P(X|r) of the regions of X, and their mean π."""

    chances: Floats
    share: float

    @property
    def effective(self) -> float:
        """The effective number of regions, (Σ P)² / Σ P²."""
        return effective_number(self.chances)


def effective_number(weights: Floats) -> float:
    """(Σ w)² / Σ w²."""
    square = float((weights**2).sum())
    return float(weights.sum()) ** 2 / square if square > 0 else 0.0


def select(rows: Floats, own: Has, *, rng: np.random.Generator, rounds: int = ROUNDS) -> Selection:
    """Select the regions of a word by iteration; `own` says which of the rows are regions of its pictures."""
    chances = np.ones(int(own.sum()))
    weights = np.ones(len(rows))
    f_x: MixtureModel | None = None
    f_0: MixtureModel | None = None
    share = FIRST
    for _ in range(rounds):
        weights[own] = 1 - chances
        f_x, f_0 = _fitted(f_x, rows[own], chances, rng), _fitted(f_0, rows, weights, rng)
        ratio = mixtures.log_density(f_x, rows[own]) - mixtures.log_density(f_0, rows[own])
        odds = ratio + math.log(share) - math.log(max(1 - share, 1e-12))
        new = 1 / (1 + np.exp(-np.clip(odds, -500, 500)))
        change, chances = float(np.abs(new - chances).max()), new
        share = max(LEAST, float(chances.mean()))
        if change < SETTLED:
            break
    return Selection(chances, float(chances.mean()))


def _fitted(before: MixtureModel | None, rows: Floats, weights: Floats, rng: np.random.Generator) -> MixtureModel:
    """The mixture of weighted rows: a few steps of EM from the one before, or from a new start."""
    if weights.max() <= 0:
        weights = np.full(len(weights), 1e-6)  # nothing is left: the last mixture, or any, will do
    if before is not None:
        return mixtures.refine(before, rows, rules=RULES, weights=weights)
    components = min(COMPONENTS, max(1, int(effective_number(weights)) // ROWS_PER_COMPONENT))
    return mixtures.fit(rows, components, rng=rng, rules=RULES, weights=weights, restarts=1)


def region_shares(values: Floats, weights: Floats, formula: Formula = "responsibility") -> Floats:
    """p(j|X) of weighted regions, by one of three formulas. `values` are regions × components.

    responsibility      values are γ = p(j|r): the weighted mean, which sums to 1
    density_normalised  values are densities p(r|j): their weighted mean, divided by its sum
    as_printed          values are densities p(r|j): their weighted mean. It depends on units and does not sum to 1, so
                        that the "entropy" may be negative (erratum D-E18); for tests of the erratum only
    """
    refuse_unknown("formula", formula, get_args(Formula), listed=True)
    mean = weights @ values / weights.sum()
    return np.asarray(mean / mean.sum() if formula == "density_normalised" else mean)


def region_entropy(values: Floats, weights: Floats, formula: Formula = "responsibility") -> float:
    """E(X) = -Σ_j p(j|X) log2 p(j|X), in bits."""
    return float(entropy_of(region_shares(values, weights, formula)))
