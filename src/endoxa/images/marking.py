"""Regions as polygons with a place for a word, to be drawn over a picture."""

from __future__ import annotations

import cv2
import numpy as np
from scipy import ndimage

from endoxa.frozen import dataclass
from endoxa.images import LabelMap
from endoxa.images.features import outline_of

COARSE = 1.5  # pixels that a polygon may be off


@dataclass(frozen=True)
class Mark:
    """The outline of a region's largest piece as a polygon, and its innermost pixel; (x, y) in pixels."""

    polygon: tuple[tuple[int, int], ...]
    centre: tuple[int, int]


def marks_of(labels: LabelMap) -> list[Mark]:
    """A mark for each region 0 … n − 1 of a label map."""
    found = []
    for label, box in enumerate(ndimage.find_objects(labels.astype(np.int64) + 1)):
        points = outline_of(labels, label, box).points.astype(np.int32)[:, None]
        polygon = cv2.approxPolyDP(points, COARSE, True)[:, 0]
        inside = np.pad((labels[box] == label).astype(np.uint8), 1)  # the edge of the picture is an edge
        depth = cv2.distanceTransform(inside, cv2.DIST_L2, 3)
        y, x = divmod(int(np.argmax(depth)), inside.shape[1])
        centre = (box[1].start + x - 1, box[0].start + y - 1)
        found.append(Mark(tuple((int(a), int(b)) for a, b in polygon), centre))
    return found
