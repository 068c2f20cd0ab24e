"""Where the colours of a picture are: the mean colour of 8 × 8 cells."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from skimage.color import rgb2lab

from endoxa.frozen import dataclass
from endoxa.images import Picture, Pixels
from endoxa.tables import Floats

SIDE = 64
CELLS = 8  # along a side
ZERO = np.array([0, 128, 128])  # what is added to L*, a*, b*, so that they are bytes


@dataclass(frozen=True)
class Layout:
    """The mean CIE L*a*b* (white D65) of 8 × 8 cells, row by row: 192 bytes, L*, a* + 128, b* + 128 of each cell.

    The picture is resized to 64 × 64 by means of areas first, whatever its shape; transparent parts are white. A step
    of a byte is a unit of L*a*b*, so that distances of rows are in these units.
    """

    name: ClassVar[str] = "layout"
    version: ClassVar[int] = 1

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """One row of 192 bytes."""
        cells = split(lab(picture.resized(SIDE, SIDE).pixels)).mean(axis=1)
        return {"layout": (np.rint(cells) + ZERO).astype(np.uint8).reshape(1, -1)}


def lab(pixels: Pixels) -> Floats:
    """CIE L* (0 to 100), a*, b* of each pixel, white D65."""
    return np.asarray(rgb2lab(pixels), dtype=np.float64)


def split(plane: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The pixels of each cell: 64 cells × pixels × whatever a pixel holds. The sides must be divisible by 8."""
    height, width, *rest = plane.shape
    tiles = plane.reshape(CELLS, height // CELLS, CELLS, width // CELLS, *rest)
    return tiles.swapaxes(1, 2).reshape(CELLS * CELLS, -1, *rest)


def colours(rows: npt.NDArray[np.uint8]) -> Floats:
    """L*, a*, b* of each cell in rows of bytes: rows × cells × 3."""
    cells: Floats = rows.reshape(len(rows), -1, 3).astype(np.float64) - ZERO
    return cells
