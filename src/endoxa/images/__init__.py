"""Pictures as arrays: cut into regions, described by numbers, composed where the truth must be known.

Nothing here opens a file; `endoxa.io.images` decodes, `endoxa.io.corpora` finds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
LabelMap = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Picture:
    """A decoded picture: height × width × 3 bytes of sRGB, and which of them are opaque (None: all are).

    Where it was transparent it is laid on white, so that whoever ignores the mask sees what a page shows.
    """

    pixels: Pixels
    mask: Mask | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.pixels.shape[0], self.pixels.shape[1]

    def fitted(self, side: int) -> Picture:
        """The same picture with its long side brought down to `side` pixels; never made larger."""
        height, width = self.shape
        if max(height, width) <= side:
            return self
        scale = side / max(height, width)
        return self.resized(max(1, round(height * scale)), max(1, round(width * scale)))

    def resized(self, height: int, width: int) -> Picture:
        """The same picture at another size: means of areas where it shrinks, linear where it grows."""
        import cv2

        shrinks = height <= self.shape[0] and width <= self.shape[1]
        how = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        pixels = cv2.resize(self.pixels, (width, height), interpolation=how).astype(np.uint8, copy=False)
        if self.mask is None:
            return Picture(pixels)
        share = cv2.resize(self.mask.astype(np.float32), (width, height), interpolation=how)
        return Picture(pixels, share >= 0.5)
