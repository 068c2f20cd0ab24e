"""Zernike moments: the projections of a shape on orthogonal polynomials of the disc."""

from __future__ import annotations

from math import factorial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from endoxa.engines.ink import ink_of
from endoxa.frozen import dataclass
from endoxa.images import Picture
from endoxa.tables import Floats

ORDER = 12


@dataclass(frozen=True)
class ZernikeMoments:
    """48 numbers: the magnitudes of the moments of order 1 to 12, divided by the number of ink pixels.

    A(n, m) = (n + 1)/π · Σ R(n, m; ρ) e^(-imθ) over the ink, in polar coordinates from the centre of the shape, with
    the greatest radius as unit. n - m is even and 0 ≤ m ≤ n. A turn of the shape changes only the phase of A.
    Source: Khotanzad and Hong, PAMI 12 (1990) 489-497.
    """

    name: ClassVar[str] = "zernike"
    version: ClassVar[int] = 1

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """One row of 48 numbers."""
        ink = ink_of(picture)
        x, y = ((ink.points - ink.centre) / ink.radius).T
        found = moments(np.hypot(x, y), np.arctan2(y, x), ORDER)
        return {"shape": (found / max(len(ink.points), 1))[None].astype(np.float32)}


def indices(order: int) -> list[tuple[int, int]]:
    """(n, m) of the moments from order 1 on."""
    return [(n, m) for n in range(1, order + 1) for m in range(n % 2, n + 1, 2)]


def moments(radii: Floats, angles: Floats, order: int) -> Floats:
    """|A(n, m)| of points of weight 1, in the order of `indices`."""
    powers = radii ** np.arange(order + 1)[:, None]
    turns = np.exp(-1j * np.arange(order + 1)[:, None] * angles)
    sums = powers @ turns.T  # Σ ρ^p e^(-imθ) for each p and m
    return np.array([(n + 1) / np.pi * abs(_radial(n, m) @ sums[: n + 1, m]) for n, m in indices(order)])


def _radial(n: int, m: int) -> Floats:
    """The coefficients of R(n, m; ρ) by the power of ρ."""
    coefficients = np.zeros(n + 1)
    for s in range((n - m) // 2 + 1):
        divisor = factorial(s) * factorial((n + m) // 2 - s) * factorial((n - m) // 2 - s)
        coefficients[n - 2 * s] = (-1) ** s * factorial(n - s) / divisor
    return coefficients
