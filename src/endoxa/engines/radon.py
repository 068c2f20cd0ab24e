"""The Radon transform of a shape, reduced to a signature that does not change when the shape is turned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import cv2
import numpy as np
import numpy.typing as npt

from endoxa.engines.ink import SIDE, ink_of
from endoxa.frozen import dataclass
from endoxa.images import Picture
from endoxa.tables import Floats

ANGLES = np.arange(0, 180, 2)
HARMONICS = 30


@dataclass(frozen=True)
class RadonSignature:
    """30 numbers: the harmonics of the R-transform.

    The shape is moved to its centre and scaled by its greatest radius. R(θ) = Σ_ρ T(ρ, θ)², where T is the sum of ink
    along the line at distance ρ and angle θ, for 90 angles. R is divided by its sum; turning the shape shifts it, and
    the magnitudes 1 to 30 of its Fourier transform stay.
    Misleads: R forgets where on the line the ink is, so that different shapes may have the same signature.
    Source: Tabbone, Wendling and Salmon, Computer Vision and Image Understanding 102 (2006).
    """

    name: ClassVar[str] = "radon"
    version: ClassVar[int] = 1

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """One row of 30 numbers."""
        ink = ink_of(picture)
        R = r_transform(ink.mask.astype(np.float32), ink.centre, (SIDE / 2 - 1) / ink.radius, SIDE)
        whole = max(float(R.sum()), 1e-12)
        return {"shape": np.abs(np.fft.rfft(R / whole))[None, 1 : HARMONICS + 1].astype(np.float32)}


def r_transform(
    image: npt.NDArray[np.float32], centre: Sequence[float] | Floats, scale: float, side: int,
    angles: npt.NDArray[Any] = ANGLES,
) -> Floats:  # fmt: skip
    """R(θ) = Σ_ρ T(ρ, θ)² for each angle in degrees; the image is turned about `centre`, into side × side pixels."""
    x, y = float(centre[0]), float(centre[1])
    found = np.empty(len(angles))
    for at, angle in enumerate(angles.tolist()):
        turned = np.asarray(cv2.getRotationMatrix2D((x, y), angle, scale), dtype=np.float64)
        turned[:, 2] += (side - 1) / 2 - np.array([x, y])
        sums = cv2.warpAffine(image, turned, (side, side)).sum(axis=0, dtype=np.float64)
        found[at] = sums @ sums
    return found
