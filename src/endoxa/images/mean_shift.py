"""Segmentation by mean shift in colour space: find the modes, use them as a palette, assign every pixel.

The three options of Comaniciu and Meer's program (over-segmentation, under-segmentation, quantisation) are three sets
of parameters of the procedure in their paper of 1997, not of their later EDISON (2002).
"""

from __future__ import annotations

import math

import cv2
import numpy as np
import numpy.typing as npt
from numba import njit
from numpy.lib.stride_tricks import sliding_window_view
from skimage.measure import label as connected

from endoxa.images import LabelMap, Mask, Picture
from endoxa.images.segment import checked, normalised
from endoxa.tables import Floats, Ints

Luv = npt.NDArray[np.float32]
THUMBNAIL = 384 * 256  # pixels of the pictures that the counts of the paper refer to
CLOSE = 0.1  # a shorter shift ends the search
SHIFTS = 100  # mean shift needs ten or twenty steps; this bounds slow cases
FLAT = 1.0  # a difference of one unit of L*u*v* is invisible; no window is narrower


def mean_shift(
    picture: Picture, *, radius: float = 0.4, significant: float = 400, contiguous: int = 10, candidates: int = 25,
    seed: int = 0,
) -> LabelMap:  # fmt: skip
    """Label each pixel by its colour in the palette, and remove small parts.

    Window radius r = radius · σ, σ² the trace of the covariance of the colours in L*u*v*; N = significant pixels for a
    picture of 384 x 256, in proportion for others.
    1. Of `candidates` pixels drawn at random, take the 3 x 3 mean around each; start at the densest window.
    2. Move the window to the mean of its content until it moves by less than 0.1; that is a mode.
    3. Remove the pixels in it, and in the picture their 8 neighbours, whose colours are mixed; repeat from 1 until a
       window holds fewer than N.
    4. The palette: the modes whose pixels (the neighbours removed with them too) form a connected part of at least N.
    5. Pixels within r of a mode of the palette get the nearest one; windows grow to double volume, r · 2^(1/3), and
       take pixels that touch a pixel of their colour; the mean of each is its final colour; the remaining pixels get
       the nearest final colour.
    6. Connected parts of fewer than `contiguous` pixels join the neighbour nearest in colour (`normalised`); in the
       paper, the majority of 3 x 3.

    under  radius 0.4, significant 400, contiguous 10     over  0.3, 100, 10     quantised  0.2, 50, 0: none pruned

    An empty palette (all colours differ) gives one label.
    Misleads: the radius is relative to the spread of colours: a dull picture is split along invisible differences, a
    colourful one is split too little. Texture counts as noise. Gradual shading is split into bands.
    Source: Comaniciu and Meer, Robust analysis of feature spaces: color image segmentation, CVPR 1997, table 1.
    """
    share = checked("radius", radius, 1e-3, 100)
    count = checked("significant", significant, 1, 1e9)
    fewest = checked("contiguous", contiguous, 0, 1e9, whole=True)
    draws = int(checked("candidates", candidates, 1, 10_000, whole=True))
    rng = np.random.default_rng(int(checked("seed", seed, 0, 2**63, whole=True)))
    inside: Mask = np.ones(picture.shape, np.bool_) if picture.mask is None else picture.mask
    if not inside.any():
        return np.full(picture.shape, -1, np.int32)
    colours = luv(picture)
    spread = math.sqrt(float(colours[inside].astype(np.float64).var(axis=0).sum()))
    width = max(share * spread, FLAT)
    least = max(1, round(count * int(inside.sum()) / THUMBNAIL))
    modes = palette(colours, _means(colours, inside), inside, width, least, draws, rng)
    if not len(modes):
        return np.where(inside, np.int32(0), np.int32(-1))
    labels = allocated(colours, inside, modes, width)
    return normalised(labels, picture, smallest=min(1.0, fewest / int(inside.sum()))) if fewest > 1 else labels


def luv(picture: Picture) -> Luv:
    """L*u*v* under D65: L* from 0 to 100, float32."""
    return np.asarray(cv2.cvtColor(picture.pixels.astype(np.float32) / 255, cv2.COLOR_RGB2LUV), dtype=np.float32)


def palette(
    colours: Luv, around: Luv, inside: Mask, width: float, least: int, draws: int, rng: np.random.Generator
) -> Floats:
    """The modes that are significant in feature space and in the picture: modes x 3."""
    left = inside.copy()
    modes: list[Floats] = []
    square = np.ones((3, 3), np.uint8)
    while True:
        places = np.flatnonzero(left.ravel())
        if len(places) < least:
            break
        points = colours.reshape(-1, 3)[places]
        starts = around.reshape(-1, 3)[rng.choice(places, size=draws)].astype(np.float64)
        mode, holds = seek(points, starts, width)
        within = ((points - mode) ** 2).sum(axis=1) <= width * width
        if holds < least or not within.any():
            break
        found = np.zeros(left.size, np.uint8)
        found[places[within]] = 1
        grown = (cv2.dilate(found.reshape(left.shape), square) > 0) & left
        parts: Ints = connected(grown, background=0, connectivity=2)  # type: ignore[no-untyped-call]
        if np.bincount(parts.ravel())[1:].max() >= least:
            modes.append(mode)
        left &= ~grown
    return np.array(modes).reshape(-1, 3)


def allocated(colours: Luv, inside: Mask, modes: Floats, width: float) -> LabelMap:
    """Assign every pixel to a mode: within the window, then in the doubled window by contact, then the nearest."""
    nearest, distance = _nearest(colours, modes)
    labels = np.where(inside & (distance <= width), nearest, -1).astype(np.int32)
    wide = inside & (labels < 0) & (distance <= width * 2 ** (1 / 3))
    around = sliding_window_view(np.pad(labels, 1, constant_values=-1), (3, 3))
    touched = wide & (around == nearest[..., None, None]).any(axis=(2, 3))
    labels[touched] = nearest[touched]
    known = labels >= 0
    counts = np.bincount(labels[known], minlength=len(modes))
    final = modes.copy()
    for channel in range(3):
        sums = np.bincount(labels[known], weights=colours[..., channel][known], minlength=len(modes))
        final[:, channel] = np.where(counts > 0, sums / np.maximum(counts, 1), modes[:, channel])
    rest = inside & ~known
    if rest.any():
        labels[rest] = _nearest(colours, final)[0][rest]
    return labels


def _means(colours: Luv, inside: Mask) -> Luv:
    """The mean colour of the opaque pixels of 3 x 3 around each pixel."""
    weight = inside.astype(np.float32)
    total = cv2.boxFilter(weight, -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)
    sums = cv2.boxFilter(colours * weight[..., None], -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)
    return np.asarray(sums / np.maximum(total, 1)[..., None], dtype=np.float32)


def seek(points: Luv, starts: Floats, width: float) -> tuple[Floats, int]:
    """The mode that mean shift reaches from the densest window of `starts`, with a flat ball of radius `width`.

    m ← mean of the colours within `width` of m, until it moves by less than 0.1. Returns m and its number of pixels.
    """
    counts = _dense(points, starts, width)
    best = int(np.argmax(counts))
    if not counts[best]:  # the mean of a mixed neighbourhood may be far from every colour
        return starts[best], 0
    mode, holds = _shifted(points, starts[best], width, CLOSE, SHIFTS)
    return mode, int(holds)


@njit(cache=True)
def _dense(points: Luv, starts: Floats, width: float) -> Ints:
    counts = np.zeros(len(starts), np.int64)
    limit = np.float32(width * width)
    for k in range(len(starts)):
        a, b, c = np.float32(starts[k, 0]), np.float32(starts[k, 1]), np.float32(starts[k, 2])
        count = 0
        for i in range(len(points)):
            x, y, z = points[i, 0] - a, points[i, 1] - b, points[i, 2] - c
            count += x * x + y * y + z * z <= limit
        counts[k] = count
    return counts


@njit(cache=True)
def _shifted(points: Luv, start: Floats, width: float, close: float, shifts: int) -> tuple[Floats, int]:
    mode = start.copy()
    limit = width * width
    count = 0
    for _ in range(shifts):
        count, a, b, c = 0, 0.0, 0.0, 0.0
        for i in range(len(points)):
            x, y, z = points[i, 0] - mode[0], points[i, 1] - mode[1], points[i, 2] - mode[2]
            if x * x + y * y + z * z <= limit:
                count += 1
                a += x
                b += y
                c += z
        if count == 0:
            break
        a, b, c = a / count, b / count, c / count
        mode[0] += a
        mode[1] += b
        mode[2] += c
        if a * a + b * b + c * c < close * close:
            break
    return mode, count


@njit(cache=True)
def _nearest(colours: Luv, modes: Floats) -> tuple[LabelMap, Floats]:
    height, width = colours.shape[:2]
    label = np.zeros((height, width), np.int32)
    distance = np.zeros((height, width), np.float64)
    for i in range(height):
        for j in range(width):
            best = np.inf
            for k in range(len(modes)):
                x, y, z = colours[i, j, 0] - modes[k, 0], colours[i, j, 1] - modes[k, 1], colours[i, j, 2] - modes[k, 2]
                d = x * x + y * y + z * z
                if d < best:
                    best = d
                    label[i, j] = k
            distance[i, j] = math.sqrt(best)
    return label, distance
