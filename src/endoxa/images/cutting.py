"""A region of a picture as a small picture of its own: outlined, what is around it dimmed."""

from __future__ import annotations

import cv2
import numpy as np

from endoxa.errors import TableError
from endoxa.images import LabelMap, Picture

SIDE = 128  # pixels of the long side
DIM = 0.3  # share of their colour that pixels around the region keep; the rest is white
AROUND = 1.5  # the part that is shown, in sizes of the region
LEAST = 0.4  # and at least this share of the picture's long side
LINE = (213, 94, 0)


def cut_out(picture: Picture, labels: LabelMap, label: int, *, side: int = SIDE) -> Picture:
    """The part of the picture around a region, the region outlined, the rest dimmed; its long side is `side`."""
    rows, columns = (np.flatnonzero((labels == label).any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        raise TableError(
            f"the label map has no region {label}", remedy=f"its labels are {labels.min()} to {labels.max()}"
        )
    window = tuple(
        _part(int(at[0]), int(at[-1]) + 1, size, max(picture.shape))
        for at, size in zip((rows, columns), picture.shape, strict=True)
    )
    pixels, inside = picture.pixels[window], (labels[window] == label).astype(np.uint8)
    scale = side / max(inside.shape)
    height, width = (max(1, round(size * scale)) for size in inside.shape)
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    pixels = cv2.resize(pixels, (width, height), interpolation=method).astype(np.uint8, copy=False)
    inside = cv2.resize(inside, (width, height), interpolation=cv2.INTER_NEAREST).astype(np.uint8, copy=False)
    dimmed = np.rint(255 - DIM * (255 - pixels.astype(np.float32))).astype(np.uint8)
    shown = np.ascontiguousarray(np.where(inside[..., None] > 0, pixels, dimmed))
    outlines, _ = cv2.findContours(inside, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(shown, outlines, -1, (255, 255, 255), 3)
    shown = np.where(inside[..., None] > 0, pixels, shown)  # the white rim is around the region only
    return Picture(np.asarray(cv2.drawContours(shown, outlines, -1, LINE, 1), dtype=np.uint8))


def _part(first: int, end: int, size: int, longest: int) -> slice:
    """The part of an axis that is shown: around first … end, inside 0 … size."""
    wanted = min(size, max(round(AROUND * (end - first)), round(LEAST * longest), 1))
    start = min(max(0, (first + end - wanted) // 2), size - wanted)
    return slice(start, start + wanted)
