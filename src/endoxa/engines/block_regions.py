"""Regions of a picture as in SIMPLIcity: clusters of 4 × 4 blocks that are similar in colour and texture."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import cv2
import numba
import numpy as np
import numpy.typing as npt

from endoxa.engines.histogram_features import check_background, seen
from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.images import Mask, Picture
from endoxa.tables import Floats, Ints

BLOCK = 4
ZONES = 4  # along a side: 16 in all
TEXTURED = 0.32
ROUNDS = 30  # Lloyd's steps for each number of clusters
# The normalised inertia of a disk, of order 1, 2, 3: 2 / ((γ + 2) π^(γ/2)), the minimum.
DISK = tuple(2 / ((order + 2) * math.pi ** (order / 2)) for order in (1, 2, 3))


@dataclass(frozen=True)
class BlockRegions:
    """The regions of a picture: one row each, the largest first.

    features  nine numbers: mean L, u, v; mean energies of the bands HL, LH, HH; inertia of order 1, 2, 3 over a disk's
    area      share of the picture's blocks; sums to 1
    textured  whether the whole picture is one texture rather than a scene of objects; the same in all its rows

    From the paper: the blocks, the six features, k-means with k growing from 2 until the distortion is small, or its
    decrease is small beside the mean decrease at k = 2 and 3, or k is 16; inertia; χ² over 16 zones below .32.
    Ours: the figures of the first two rules, `distortion` (the mean squared distance of a block from its region, in
    units of Luv) and `decrease`; Haar wavelets, whose coefficients stay within the block, not Daubechies-4; k-means
    starts each k from the centres of k - 1, with the worst cluster split across its widest feature, so that nothing is
    random; pictures are reduced to `side` pixels (the authors' have 384 × 256); a remainder of fewer than four pixels
    at the right and the bottom is cut off; zones expect their share of the blocks; `background="opaque"` leaves out
    blocks that are more than half transparent (unless all are). The paper's classifier of graphs is left out.
    The paper was not available when this was written: check .32, 16 and the rules against it before citing them.
    Source: Wang, Li and Wiederhold, SIMPLIcity, IEEE PAMI 23 (2001) 947-963, sections 3 and 4.
    """

    side: int = 384
    most: int = 16
    distortion: float = 25.0
    decrease: float = 0.02
    background: str = "white"

    name: ClassVar[str] = "block-regions"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_background(self.background)
        if self.side < BLOCK or self.most < 1:
            raise TextError(
                f"side is {self.side} and most is {self.most}",
                remedy="expected at least 4 pixels and at least 1 region",
            )
        if not (self.distortion >= 0 and self.decrease >= 0):
            raise TextError(
                f"distortion is {self.distortion} and decrease is {self.decrease}",
                remedy="expected numbers of at least 0",
            )

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """One row for each region."""
        fitted = picture.fitted(self.side)
        height, width = fitted.shape
        if min(height, width) < BLOCK:
            fitted = fitted.resized(max(height, BLOCK), max(width, BLOCK))
        blocks = block_features(fitted)
        shown = shown_blocks(fitted, self.background)
        observations = np.ascontiguousarray(blocks[shown])
        found = clusters(observations, self.most, self.distortion, self.decrease)
        areas = np.bincount(found)
        # The largest first; ties go to the earlier cluster.
        order = np.argsort(-areas, kind="stable")
        labels = np.argsort(order)[found]
        areas = areas[order]
        sums = np.stack([np.bincount(labels, weights=feature) for feature in observations.T], axis=1)
        rows, columns = np.nonzero(shown)
        zones = rows * ZONES // shown.shape[0] * ZONES + columns * ZONES // shown.shape[1]
        return {
            "features": np.concatenate([sums / areas[:, None], inertia(labels, rows, columns)], axis=1),
            "area": areas / areas.sum(),
            "textured": np.full(len(areas), scatter(labels, zones) < TEXTURED),
        }


def block_features(picture: Picture) -> Floats:
    """Mean L, u, v and the energies of HL, LH, HH of each whole block: rows × columns × 6.

    One step of the Haar transform of L gives each band 2 × 2 coefficients in a block; its energy is √(mean of their
    squares). L runs from 0 to 100.
    """
    rows, columns = picture.shape[0] // BLOCK, picture.shape[1] // BLOCK
    whole = np.ascontiguousarray(picture.pixels[: rows * BLOCK, : columns * BLOCK])
    luv = cv2.cvtColor(whole.astype(np.float32) / np.float32(255), cv2.COLOR_RGB2Luv).astype(np.float64)
    means = luv.reshape(rows, BLOCK, columns, BLOCK, 3).mean(axis=(1, 3))
    light = luv[:, :, 0]
    a, b, c, d = light[::2, ::2], light[::2, 1::2], light[1::2, ::2], light[1::2, 1::2]
    bands = np.stack([a - b + c - d, a + b - c - d, a - b - c + d], axis=-1) / 2
    half = BLOCK // 2
    energies = np.sqrt((bands**2).reshape(rows, half, columns, half, 3).mean(axis=(1, 3)))
    return np.concatenate([means, energies], axis=-1)


def shown_blocks(picture: Picture, background: str) -> Mask:
    """The blocks that are described: those at least half visible, or all if there is none."""
    rows, columns = picture.shape[0] // BLOCK, picture.shape[1] // BLOCK
    opaque = seen(picture, background)[: rows * BLOCK, : columns * BLOCK]
    shown: Mask = opaque.reshape(rows, BLOCK, columns, BLOCK).mean(axis=(1, 3)) >= 0.5
    return shown if shown.any() else np.ones_like(shown)


def clusters(observations: Floats, most: int, distortion: float, decrease: float) -> Ints:
    """The cluster of each observation, by k-means with growing k until a rule of the paper stops it.

    D(k) = Σ |x - its centre|². Stop at k where D(k) / n ≤ `distortion`; where D(k - 1) - D(k) is below `decrease` times
    the mean of D(1) - D(2) and D(2) - D(3); or at `most`. One cluster if all observations are equal.
    """
    count = len(observations)
    centres = observations.mean(0, keepdims=True)
    labels = np.zeros(count, np.int64)
    distortions = [float(((observations - centres) ** 2).sum())]
    while len(centres) < most and distortions[-1] > distortion * count:
        halves = cut(observations, labels, centres)
        if halves is None:
            break
        worst, (one, other) = halves
        centres = np.concatenate([centres, other[None]])
        centres[worst] = one
        labels, centres, total = lloyd(observations, centres, ROUNDS)
        distortions.append(float(total))
        if len(distortions) > 2:
            first = (distortions[0] - distortions[2]) / 2
            if distortions[-2] - distortions[-1] < decrease * first:
                break
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def cut(observations: Floats, labels: Ints, centres: Floats) -> tuple[int, tuple[Floats, Floats]] | None:
    """The cluster of greatest distortion, and the means of its halves along its widest feature; None if constant."""
    squares = (observations - centres[labels]) ** 2
    worst = int(np.bincount(labels, weights=squares.sum(1), minlength=len(centres)).argmax())
    members = observations[labels == worst]
    if not len(members):
        return None
    feature = int(members.var(axis=0).argmax())
    above = members[:, feature] > members[:, feature].mean()
    # Members that differ by rounding only may all lie on one side.
    if not above.any() or above.all():
        return None
    return worst, (members[~above].mean(0), members[above].mean(0))


@numba.njit(cache=True)
def lloyd(observations: Floats, centres: Floats, rounds: int) -> tuple[Ints, Floats, float]:
    """Lloyd's steps from these centres: labels, centres, and the distortion; an empty cluster keeps its centre."""
    count, width = observations.shape
    k = centres.shape[0]
    centres = centres.copy()
    labels = np.full(count, -1, np.int64)
    total = 0.0
    for _ in range(rounds):
        moved = 0
        total = 0.0
        for i in range(count):
            best, nearest = np.inf, 0
            for j in range(k):
                distance = 0.0
                for f in range(width):
                    difference = observations[i, f] - centres[j, f]
                    distance += difference * difference
                if distance < best:
                    best, nearest = distance, j
            total += best
            if labels[i] != nearest:
                labels[i] = nearest
                moved += 1
        # If no label changes, the centres do not change either: it has converged.
        if moved == 0:
            break
        sums, sizes = np.zeros((k, width)), np.zeros(k)
        for i in range(count):
            sizes[labels[i]] += 1
            for f in range(width):
                sums[labels[i], f] += observations[i, f]
        for j in range(k):
            if sizes[j] > 0:
                centres[j] = sums[j] / sizes[j]
    return labels, centres, total


def scatter(labels: Ints, zones: Ints) -> float:
    """The mean over regions of χ² = Σ (p - q)² / q; small if every region is spread evenly over the zones.

    p is the share of the region's blocks in a zone, q the share of all blocks there; zones without blocks are left out.
    """
    counts = np.zeros((int(labels.max()) + 1, ZONES * ZONES))
    np.add.at(counts, (labels, zones), 1)
    expected = counts.sum(0) / counts.sum()
    used = expected > 0
    p, q = (counts / counts.sum(1, keepdims=True))[:, used], expected[used]
    return float(((p - q) ** 2 / q).sum(1).mean())


def inertia(labels: Ints, rows: Ints, columns: Ints) -> Floats:
    """Σ |x - centroid|^γ / V^(1 + γ/2) over the pixels of each region, γ = 1, 2, 3, divided by that of a disk.

    V is the number of pixels. It is 1 for a disk (1.02, 1.05, 1.09 for a square), and greater for regions that are
    more spread out. It does not depend on size, up to the grid, or on rotation.
    """
    step = np.arange(BLOCK)
    y = (rows[:, None, None] * BLOCK + step[:, None] + 0 * step).reshape(-1).astype(np.float64)
    x = (columns[:, None, None] * BLOCK + 0 * step[:, None] + step).reshape(-1).astype(np.float64)
    each = np.repeat(labels, BLOCK * BLOCK)
    volume = np.bincount(each)
    centre_y, centre_x = np.bincount(each, weights=y) / volume, np.bincount(each, weights=x) / volume
    radius = np.hypot(y - centre_y[each], x - centre_x[each])
    powers = (radius, radius**2, radius**3)
    normalised = [
        np.bincount(each, weights=power) / volume ** (1 + order / 2) / disk
        for order, (power, disk) in enumerate(zip(powers, DISK, strict=True), start=1)
    ]
    return np.stack(normalised, axis=1)
