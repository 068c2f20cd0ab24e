"""The ink of a line drawing: which pixels are dark, where they lie, and how far they reach."""

from __future__ import annotations

from functools import cached_property

import cv2
import numpy as np
from skimage.morphology import skeletonize

from endoxa.frozen import dataclass
from endoxa.images import Mask, Picture
from endoxa.tables import Floats

SIDE = 128  # pixels of the long side at which drawings are described


@dataclass(frozen=True, eq=False)
class Ink:
    """The dark pixels of a drawing.

    points  x and y of each, in rows from the top
    centre  their mean; the middle of the picture if there is no ink
    radius  the distance of the farthest one from the centre, at least half a pixel
    """

    mask: Mask

    @cached_property
    def points(self) -> Floats:
        """The coordinates of the dark pixels."""
        return np.argwhere(self.mask)[:, ::-1].astype(np.float64)

    @cached_property
    def centre(self) -> Floats:
        """The mean of the points."""
        if len(self.points):
            return np.asarray(self.points.mean(axis=0))
        return (np.array(self.mask.shape[::-1]) - 1) / 2

    @cached_property
    def radius(self) -> float:
        """The greatest distance of a point from the centre."""
        return max(0.5, float(np.linalg.norm(self.points - self.centre, axis=1).max(initial=0)))


def ink_of(picture: Picture) -> Ink:
    """The pixels that are darker than Otsu's threshold, of the picture reduced to 128 pixels.

    A picture of one colour is all paper, unless it is black.
    Misleads: a drawing is dark on light; of a light one on a dark ground, the ground is taken for the shape.
    """
    grey = cv2.cvtColor(picture.fitted(SIDE).pixels, cv2.COLOR_RGB2GRAY)
    threshold, _ = cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    return Ink(grey <= threshold)


def skeleton_of(mask: Mask) -> Mask:
    """The lines in the middle of the ink, one pixel wide."""
    return np.asarray(skeletonize(mask), dtype=np.bool_)  # type: ignore[no-untyped-call]
