"""Pictures as arrays: segmentation, features, and scenes whose truth is known. Nothing here opens a file."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from endoxa.frozen import dataclass

Pixels = npt.NDArray[np.uint8]
LabelMap = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Picture:
    """A decoded picture: height × width × 3 bytes of sRGB, transparent parts white, and a mask of the opaque pixels."""

    pixels: Pixels
    mask: Mask | None = None  # None: all are opaque

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.pixels.shape[0], self.pixels.shape[1]

    def fitted(self, side: int) -> Picture:
        """The picture with its long side reduced to `side` pixels; it is never enlarged."""
        height, width = self.shape
        if max(height, width) <= side:
            return self
        scale = side / max(height, width)
        return self.resized(max(1, round(height * scale)), max(1, round(width * scale)))

    def resized(self, height: int, width: int) -> Picture:
        """The picture at another size: area means where it shrinks, linear interpolation where it grows."""
        mask = None if self.mask is None else _resized(self.mask.astype(np.float32), height, width) >= 0.5
        return Picture(_resized(self.pixels, height, width).astype(np.uint8, copy=False), mask)


def _resized(plane: npt.NDArray[Any], height: int, width: int) -> npt.NDArray[Any]:
    """Shrink first, then enlarge: OpenCV would use one interpolation for both sides."""
    import cv2

    smaller = min(height, plane.shape[0]), min(width, plane.shape[1])
    if smaller != plane.shape[:2]:
        plane = cv2.resize(plane, smaller[::-1], interpolation=cv2.INTER_AREA)
    if smaller != (height, width):
        plane = cv2.resize(plane, (width, height), interpolation=cv2.INTER_LINEAR)
    return plane
