"""The generic Fourier descriptor: the Fourier transform of a shape in polar coordinates."""

from __future__ import annotations

from typing import Any, ClassVar

import cv2
import numpy as np
import numpy.typing as npt

from endoxa.engines.ink import ink_of
from endoxa.frozen import dataclass
from endoxa.images import Picture
from endoxa.tables import Floats

RADII, ANGLES = 32, 64
RADIAL, ANGULAR = 4, 9  # frequencies that are kept


@dataclass(frozen=True)
class GenericFourier:
    """36 numbers: magnitudes of four radial and nine angular frequencies.

    The shape is read in polar coordinates, 32 radii × 64 angles, from its centre to its greatest radius. The first
    number is |PF(0, 0)| / πR², the share of the disc that is ink; the others are |PF(ρ, φ)| / |PF(0, 0)|. A turn of the
    shape changes only the phase of PF.
    Source: Zhang and Lu, Signal Processing: Image Communication 17 (2002) 825-848.
    """

    name: ClassVar[str] = "generic-fourier"
    version: ClassVar[int] = 1

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """One row of 36 numbers."""
        ink = ink_of(picture)
        x, y = ink.centre.tolist()
        # Without WARP_FILL_OUTLIERS, what lies outside the picture is memory that nobody has written to.
        flags = cv2.INTER_LINEAR | cv2.WARP_FILL_OUTLIERS | cv2.WARP_POLAR_LINEAR
        polar = cv2.warpPolar(ink.mask.astype(np.float32), (RADII, ANGLES), (x, y), ink.radius, flags)
        return {"shape": magnitudes(polar, RADIAL, ANGULAR)[None].astype(np.float32)}


def magnitudes(polar: npt.NDArray[Any], radial: int, angular: int) -> Floats:
    """|PF(ρ, φ)| of a polar picture (angles × radii), by ρ and then φ, normalised; 0 without ink."""
    spectrum = np.abs(np.fft.fft2(polar.T))[:radial, :angular].ravel()
    whole = spectrum[0]
    if whole <= 0:
        return np.zeros(len(spectrum))
    return np.concatenate([[whole / (np.pi * polar.shape[1] ** 2)], spectrum[1:] / whole])
