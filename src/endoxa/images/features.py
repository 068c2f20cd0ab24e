"""Features of regions: size and position, colour, texture, outline, surroundings.

The groups are those of Barnard et al., section 3.4. A region is all pixels of one label. Its outline is the outer
boundary of its largest 8-connected piece, so that small fragments and holes do not affect it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import cv2
import numpy as np
import numpy.typing as npt
from scipy import ndimage

from endoxa.errors import TableError, TextError, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.images import LabelMap, Picture
from endoxa.images.filters import DIFFERENCE_NAMES, ENERGY_NAMES, differences_of_gaussians, grey_of, oriented_energies
from endoxa.images.segment import available, borders, largest, segment
from endoxa.tables import Floats, Ints

PROFILE = 16
WEDGES = ("top", "right", "bottom", "left")
# Barnard et al. use a wedge of the surroundings if it holds more pixels than this.
ENOUGH = 100

NAMES: dict[str, tuple[str, ...]] = {
    "base": ("size", "x", "y", "first_moment", "compactness"),
    "rgb": tuple(f"{what}_{channel}" for what in ("mean", "variance") for channel in ("R", "G", "B")),
    "lab": tuple(f"{what}_{channel}" for what in ("mean", "variance") for channel in ("L", "a", "b")),
    "rgs": tuple(f"{what}_{channel}" for what in ("mean", "variance") for channel in ("r", "g", "S")),
    "texture": ENERGY_NAMES + DIFFERENCE_NAMES,
    "shape": tuple(f"distance_{step}" for step in range(PROFILE)),
    "context": tuple(f"{wedge}_{channel}" for wedge in WEDGES for channel in ("R", "G", "B")),
}
GROUPS = tuple(NAMES)


@dataclass(frozen=True, eq=False)
class Outline:
    """The outer boundary of a region's largest piece: clockwise, through the centres of its boundary pixels.

    `points` are (x, y), each one step from the next; the first is the piece's first pixel in reading order. `area` is
    the number of pixels, `sums` are the sums of their x and y, so that the centre of mass is sums / area.
    """

    points: Ints
    area: int
    sums: tuple[int, int]

    @property
    def centre(self) -> Floats:
        """Centre of mass of the piece, (x, y) in pixels; (0, 0) is the centre of the first pixel."""
        return np.array(self.sums, dtype=np.float64) / self.area

    @property
    def distances(self) -> Floats:
        """Distance of each point from the centre of mass, in pixels."""
        x, y = (self.points - self.centre).T
        return np.asarray(np.hypot(x, y))

    @property
    def steps(self) -> Floats:
        """Distance from each point to the next."""
        x, y = (np.roll(self.points, -1, axis=0) - self.points).T
        return np.asarray(np.hypot(x, y))

    @property
    def length(self) -> float:
        """Length of the path through the pixels' centres, plus 4: exact for rectangles, 5 % too long for discs."""
        return float(self.steps.sum()) + 4.0

    def profile(self, samples: int = PROFILE) -> Floats:
        """Distance from the centre of mass at equal steps along the boundary, over the length of the boundary.

        It starts at the highest boundary point on the vertical through the centre of mass and runs clockwise. Size
        cancels, rotation does not: a rotated shape has the same profile with another start. For a disc it is 1/2π.
        """
        walked = np.concatenate([np.zeros(1), np.cumsum(self.steps)])
        if walked[-1] == 0:
            return np.zeros(samples)
        at = (_start(self, walked) + np.arange(samples) / samples * walked[-1]) % walked[-1]
        # The distance is computed at the point itself, not interpolated between the distances of its neighbours.
        round_trip = np.concatenate([self.points, self.points[:1]])
        x = np.interp(at, walked, round_trip[:, 0]) - self.centre[0]
        y = np.interp(at, walked, round_trip[:, 1]) - self.centre[1]
        return np.asarray(np.hypot(x, y) / self.length)


def describe_regions(
    picture: Picture, labels: LabelMap, groups: Sequence[str] = GROUPS
) -> dict[str, npt.NDArray[np.float32]]:
    """One array per group, one row per region 0 … n - 1 of the label map (-1: no region); columns as in NAMES.

    base     size: pixels of the region / pixels of the frame; x, y: centre of mass / width and height, from 0 to 1;
             first_moment: mean distance of the pixels from the centre of mass / √pixels (a disc: .376);
             compactness: area / length² of the outline (a disc: 1/4π less about 10 % on the grid; a square: 1/16)
    rgb      mean and variance of sRGB bytes / 255
    lab      mean and variance of CIE L* (0 to 100), a*, b*, white D65
    rgs      mean and variance of r = R/S, g = G/S and S = R + G + B (0 to 3); black has r = g = 1/3
    texture  mean of 12 oriented energies and mean absolute value of 4 differences of Gaussians (`filters`), brightness
             from 0 to 1
    shape    16 distances from the centre of mass along the outline (`Outline.profile`)
    context  mean RGB / 255 of the pixels around it: above, right, below, left (`surroundings`)

    Variances divide by the number of pixels. Misleads: filters reach beyond the region's edge, which matters most in
    small regions. Transparent pixels count as white there; they are left out of context.
    Source: Barnard et al. 3.4; docs/methods/pictures.md, Region features.
    """
    for group in groups:
        refuse_unknown("group of region features", group, GROUPS, listed=True)
    regions = _Regions.of(picture, labels)
    labels, n = regions.labels, len(regions.counts)
    boxes = [] if {"base", "shape", "context"}.isdisjoint(groups) else ndimage.find_objects(labels + 1)
    outlines = [outline_of(labels, label, box) for label, box in enumerate(boxes)]
    described: dict[str, Floats] = {}
    for group in groups:
        if group == "base":
            described[group] = _base(regions, outlines)
        elif group == "texture":
            grey = grey_of(picture.pixels)
            described[group] = regions.means([*oriented_energies(grey), *np.abs(differences_of_gaussians(grey))])
        elif group == "shape":
            described[group] = np.array([outline.profile() for outline in outlines]).reshape(n, PROFILE)
        elif group == "context":
            own = regions.means([picture.pixels[..., channel] for channel in range(3)]) / 255
            rows = [surroundings(picture, labels, k, outline, own[k]) for k, outline in enumerate(outlines)]
            described[group] = np.array(rows).reshape(n, len(NAMES[group]))
        else:
            described[group] = regions.moments(_COLOURS[group](picture.pixels))
    return {group: described[group].astype(np.float32) for group in groups}


@dataclass(frozen=True, eq=False)
class _Regions:
    """A label map, the flat positions of all labelled pixels, their labels, and the number of pixels of each."""

    labels: LabelMap
    at: npt.NDArray[np.intp]
    label: npt.NDArray[np.intp]
    counts: Ints

    @classmethod
    def of(cls, picture: Picture, labels: LabelMap) -> _Regions:
        """Of a label map, which must fit the picture and be numbered without gaps."""
        height, width = picture.shape
        if not height * width:
            raise TableError(f"a picture of {height} × {width} pixels cannot be described", remedy="leave it out")
        if labels.shape != picture.shape or not np.issubdtype(labels.dtype, np.integer):
            raise TableError(
                f"a label map of shape {labels.shape} and type {labels.dtype} does not fit a picture of {height} × "
                f"{width} pixels",
                remedy="expected one whole number per pixel",
            )
        if labels.min() < -1:
            raise TableError(f"label {labels.min()} is no region", remedy="expected -1 for none and regions from 0")
        labels = np.ascontiguousarray(labels, dtype=np.int32)
        at = np.flatnonzero(labels >= 0)
        label = labels.ravel()[at].astype(np.intp)
        counts = np.bincount(label)
        if not counts.all():
            raise TableError(
                f"region {int(np.argmin(counts))} of 0 to {len(counts) - 1} has no pixel",
                remedy="number the regions without gaps (endoxa.images.segment does)",
            )
        return cls(labels, at, label, counts)

    def sums(self, values: npt.NDArray[np.generic]) -> Floats:
        """Sum over each region of one value per labelled pixel."""
        return np.bincount(self.label, weights=values, minlength=len(self.counts)).astype(np.float64, copy=False)

    def means(self, planes: Sequence[npt.NDArray[np.generic]] | npt.NDArray[np.generic]) -> Floats:
        """Mean over each region of every plane: regions × planes."""
        return np.stack([self.sums(plane.ravel()[self.at]) / self.counts for plane in planes], axis=1)

    def moments(self, planes: Sequence[npt.NDArray[np.generic]]) -> Floats:
        """Means, then variances, over each region."""
        means, variances = [], []
        for plane in planes:
            values = plane.ravel()[self.at].astype(np.float64)
            mean = self.sums(values) / self.counts
            means.append(mean)
            # Around the mean, not E[x²] - E[x]², which can be negative after rounding.
            variances.append(self.sums((values - mean[self.label]) ** 2) / self.counts)
        return np.stack(means + variances, axis=1)


def outline_of(labels: LabelMap, label: int, box: tuple[slice, slice]) -> Outline:
    """The outline of a region within a box; of pieces of equal size, that of the first in reading order."""
    piece = (labels[box] == label).astype(np.uint8)
    count, parts, statistics, _ = cv2.connectedComponentsWithStats(piece, connectivity=8)
    if count > 2:
        areas = statistics[:, cv2.CC_STAT_AREA] * (np.arange(count) > 0)
        # OpenCV numbers pieces by blocks of pixels; we need the first in reading order.
        first = int(np.argmax((areas == areas.max())[parts]))
        piece = (parts == parts.flat[first]).astype(np.uint8)
    contours, _ = cv2.findContours(piece, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    top, left = box[0].start, box[1].start
    # OpenCV runs counterclockwise; the first pixel in reading order stays first.
    points = np.roll(contours[0][::-1, 0].astype(np.int64), 1, axis=0) + np.array([left, top])
    area = int(np.count_nonzero(piece))
    across, down = piece.sum(axis=0, dtype=np.int64), piece.sum(axis=1, dtype=np.int64)
    x = int(across @ np.arange(left, left + len(across)))
    y = int(down @ np.arange(top, top + len(down)))
    return Outline(points, area, (x, y))


def _start(outline: Outline, walked: Floats) -> float:
    """The position along the outline of its highest crossing of the vertical through the centre of mass."""
    x, y = outline.points.T
    next_x, next_y = np.roll(x, -1), np.roll(y, -1)
    # Integers avoid rounding in deciding on which side a point lies.
    side = np.sign(x * outline.area - outline.sums[0])
    crosses = side * np.roll(side, -1) <= 0
    run = next_x - x
    share = np.where(run == 0, 0.0, (outline.centre[0] - x) / np.where(run == 0, 1, run)).clip(0, 1)
    height = np.where(crosses, np.round(y + share * (next_y - y), 9), np.inf)
    # Where the piece is one pixel thick the outline passes twice at one height; its upper side runs to the right.
    # Remaining ties go to the first point along the outline.
    first = int(np.lexsort((-run, height))[0])
    return float(walked[first] + share[first] * (walked[first + 1] - walked[first]))


def _base(regions: _Regions, outlines: Sequence[Outline]) -> Floats:
    """Size, place, first moment and compactness of each region."""
    height, width = regions.labels.shape
    y, x = np.divmod(regions.at, width)
    cx, cy = regions.sums(x) / regions.counts, regions.sums(y) / regions.counts
    away = regions.sums(np.hypot(x - cx[regions.label], y - cy[regions.label])) / regions.counts
    compactness = np.array([outline.area / outline.length**2 for outline in outlines])
    size, moment = regions.counts / (height * width), away / np.sqrt(regions.counts)
    return np.stack([size, (cx + 0.5) / width, (cy + 0.5) / height, moment, compactness], axis=1)


def rgb(pixels: npt.NDArray[np.uint8]) -> list[npt.NDArray[np.floating]]:
    """Planes of R, G and B from 0 to 1."""
    return [pixels[..., channel] / 255.0 for channel in range(3)]


def lab(pixels: npt.NDArray[np.uint8]) -> list[npt.NDArray[np.floating]]:
    """Planes of CIE L* (0 to 100), a*, b*, white D65, linearised by a table: OpenCV's own way errs by up to .4."""
    planes = cv2.cvtColor(cv2.LUT(np.ascontiguousarray(pixels), _LINEAR), cv2.COLOR_LRGB2Lab)
    return list(np.moveaxis(np.asarray(planes, dtype=np.float32), -1, 0))


def rgs(pixels: npt.NDArray[np.uint8]) -> list[npt.NDArray[np.floating]]:
    """Planes of r = R/S, g = G/S and S = R + G + B (0 to 3); where S = 0, r = g = 1/3."""
    red, green = pixels[..., 0].astype(np.float64), pixels[..., 1].astype(np.float64)
    total = red + green + pixels[..., 2]
    black = total == 0
    safe = np.where(black, 1.0, total)
    return [np.where(black, 1 / 3, red / safe), np.where(black, 1 / 3, green / safe), total / 255.0]


_BYTES = np.arange(256) / 255
_LINEAR = np.where(_BYTES <= 0.04045, _BYTES / 12.92, ((_BYTES + 0.055) / 1.055) ** 2.4).astype(np.float32)
_COLOURS = {"rgb": rgb, "lab": lab, "rgs": rgs}


def surroundings(picture: Picture, labels: LabelMap, label: int, outline: Outline, own: Floats) -> Floats:
    """Mean RGB (0 to 1) above, right of, below and left of a region: 12 numbers.

    The means are over pixels within twice the mean distance of the outline from the centre of mass, in four wedges
    between the diagonals through that centre, without pixels of the region itself and transparent ones. A wedge of
    100 such pixels or fewer has the region's `own` colour. A pixel on a diagonal belongs to the next wedge clockwise;
    the centre belongs to none.
    Source: Barnard et al. 3.4; docs/methods/pictures.md, Region features.
    """
    height, width = labels.shape
    radius = 2 * float(outline.distances.mean())
    cx, cy = outline.centre
    top, bottom = max(0, int(np.ceil(cy - radius))), min(height, int(np.floor(cy + radius)) + 1)
    left, right = max(0, int(np.ceil(cx - radius))), min(width, int(np.floor(cx + radius)) + 1)
    mean = np.tile(own, (len(WEDGES), 1))
    if top >= bottom or left >= right:
        return mean.ravel()
    box = slice(top, bottom), slice(left, right)
    x, y = np.arange(left, right), np.arange(top, bottom)[:, None]
    counts = (labels[box] != label) & ((x - cx) ** 2 + (y - cy) ** 2 <= radius**2)
    if picture.mask is not None:
        counts &= picture.mask[box]
    # Integers decide exactly which pixels lie on a diagonal.
    x_side, y_side = x * outline.area - outline.sums[0], y * outline.area - outline.sums[1]
    rising, falling = x_side + y_side, x_side - y_side
    wedges = (
        (rising < 0) & (falling >= 0), (rising >= 0) & (falling > 0), (rising > 0) & (falling <= 0),
        (rising <= 0) & (falling < 0),
    )  # fmt: skip
    pixels = picture.pixels[box]
    for row, wedge in zip(mean, wedges, strict=True):
        chosen = (wedge & counts).astype(np.uint8)
        if cv2.countNonZero(chosen) > ENOUGH:
            row[:] = np.array(cv2.mean(pixels, mask=chosen)[:3]) / 255
    return mean.ravel()


@dataclass(frozen=True)
class Regions:
    """The `count` largest regions of a picture, largest first, each described by groups of features.

    segmenter  the method of segmentation (`endoxa.images.segment`)
    count      the number of regions kept at most; Barnard et al. keep 8, and try 2 to 12
    side       the picture is first reduced to this long side, because sizes in pixels (of filters, of the smallest
               wedge) are comparable at one scale only
    groups     names of `GROUPS`, joined by commas

    A picture that is completely transparent counts as one region of all its pixels, so that there is always a row.
    Source: Barnard et al. 3.3, 3.4; docs/methods/pictures.md, Region features.
    """

    name: ClassVar[str] = "regions"
    version: ClassVar[int] = 1

    segmenter: str = "slic"
    count: int = 8
    side: int = 384
    groups: str = ",".join(GROUPS)

    def __post_init__(self) -> None:
        for setting in ("count", "side"):
            if getattr(self, setting) < 1:
                raise TextError(f"{setting} = {getattr(self, setting)} of the regions is not at least 1")
        refuse_unknown("segmenter", self.segmenter, available(), listed=True)
        for group in self.groups.split(","):
            refuse_unknown("group of region features", group, GROUPS, listed=True)

    def regions(self, picture: Picture) -> tuple[Picture, LabelMap]:
        """The picture as it is described, and the number of each pixel's region; -1 for pixels of none."""
        picture = picture.fitted(self.side)
        labels = largest(segment(picture, self.segmenter), self.count)
        return picture, labels if (labels >= 0).any() else np.zeros(picture.shape, np.int32)

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """One row per region: an array for each group, and `size`, the region's share of the frame."""
        return self.described(*self.regions(picture))

    def described(self, picture: Picture, labels: LabelMap) -> dict[str, npt.NDArray[Any]]:
        """The same of regions that are cut already."""
        described: dict[str, npt.NDArray[Any]] = dict(describe_regions(picture, labels, self.groups.split(",")))
        counts = np.bincount(labels[labels >= 0])
        return described | {"size": (counts / labels.size).astype(np.float32)}


@dataclass(frozen=True)
class Touching(Regions):
    """The same with `neighbours`: a bit for each region (0 to 61) that the region touches."""

    name: ClassVar[str] = "touching-regions"

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """One row per region, as `Regions`, and its neighbours."""
        picture, labels = self.regions(picture)
        return self.described(picture, labels) | {"neighbours": neighbours_of(labels)}


@dataclass(frozen=True)
class Cells(Regions):
    """The grid of `count` cells, or of the nearest number that a grid of that shape has (`cells_near`)."""

    name: ClassVar[str] = "cells"

    segmenter: str = "grid"

    def regions(self, picture: Picture) -> tuple[Picture, LabelMap]:
        """Rows and columns are exchanged for an upright picture."""
        picture = picture.fitted(self.side)
        rows, columns = shape_near(self.count)
        if picture.shape[0] > picture.shape[1]:
            rows, columns = columns, rows
        labels = largest(segment(picture, self.segmenter, rows=rows, columns=columns), rows * columns)
        return picture, labels if (labels >= 0).any() else np.zeros(picture.shape, np.int32)


LONGEST = 2.5  # columns of a grid for each row


def shape_near(count: int) -> tuple[int, int]:
    """Rows and columns of the grid nearest to so many cells: columns between the rows and 2.5 times the rows.

    Of two as near the larger one, of two with as many cells the squarer one: 6 are 2 × 3, 7 are 2 × 4, 12 are 3 × 4.
    """
    wide = range(1, count + 2)
    shapes = [(rows, columns) for rows in wide if rows * rows <= 2 * count + 2 for columns in wide
              if rows <= columns <= LONGEST * rows]  # fmt: skip
    return min(shapes, key=lambda shape: (abs(shape[0] * shape[1] - count), -shape[0] * shape[1], -shape[0]))


def cells_near(count: int) -> int:
    """The number of cells of that grid."""
    rows, columns = shape_near(count)
    return rows * columns


def neighbours_of(labels: LabelMap) -> npt.NDArray[np.int64]:
    """A bit for each region that a region shares a border with; regions from 0 without gaps."""
    one, other, _ = borders(labels)
    found = np.zeros(int(labels.max()) + 1, np.int64)
    for at, beside in ((one, other), (other, one)):
        np.bitwise_or.at(found, at, np.int64(1) << beside.astype(np.int64))
    return found
