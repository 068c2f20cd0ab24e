"""Colours and textures of a picture and of its blocks, as the GNU Image-Finding Tool (GIFT) computes them."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, ClassVar

import cv2
import numba
import numpy as np
import numpy.typing as npt

from endoxa.errors import TextError, advice, did_you_mean
from endoxa.frozen import dataclass
from endoxa.images import Mask, Picture, Pixels
from endoxa.tables import Floats, Ints

Codes = npt.NDArray[np.uint8]

SIDE = 256
BLOCK = 16
HUES, SATURATIONS, VALUES, GREYS = 18, 3, 3, 4
COLOURS = HUES * SATURATIONS * VALUES + GREYS
SCALES = (16, 8, 4, 2)  # blocks along a side, of 16, 32, 64 and 128 pixels
KERNELS = (9, 17, 35)
ORIENTATIONS = 4
FILTERS = len(KERNELS) * ORIENTATIONS
EDGES = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
BANDS = len(EDGES) + 1
WHOLE = 255  # a share of 1, stored in a byte
NOTHING = 255  # the code of a block without an opaque pixel
BACKGROUNDS = ("white", "opaque")


@dataclass(frozen=True)
class HistogramFeatures:
    """The four groups of features of GIFT, in bytes. The picture is resized to 256 × 256 first, whatever its shape.

    colour_histogram   166 colours: share of the pixels, in 255ths
    colour_blocks      340 blocks of 16, 32, 64, 128 pixels, rows first: the commonest of the 166 colours
    texture_histogram  12 filters × 10 bands of energy: share of the 256 blocks, in 255ths
    texture_blocks     12 filters × 256 blocks of 16 pixels: the band of energy, 0 to 9

    Ours: the picture is resized by means of areas, not by ImageMagick's filter; with `background="opaque"` only opaque
    pixels are counted (all, if none is), and a block without any has the code 255, which is not a feature. Gabor
    filters see the picture on white in both cases, so that the outline of a cut-out object is texture.
    Source: gnu_gift 0.1.15, FeatureExtraction/; Squire, Müller, Müller and Pun, Pattern Recognition Letters 21 (2000).
    """

    background: str = "white"

    name: ClassVar[str] = "histogram-features"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_background(self.background)

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """One row of each of the four groups."""
        square = picture.resized(SIDE, SIDE)
        opaque = seen(square, self.background)
        colours = quantised(square.pixels)
        counts = block_counts(colours, opaque)
        bands = banded(block_energies(square.pixels.max(-1)))
        shown = opaque.reshape(SCALES[0], BLOCK, SCALES[0], BLOCK).any(axis=(1, 3)).ravel()
        return {
            "colour_histogram": shares(counts[-4:].sum(0))[None],
            "colour_blocks": modes(counts)[None],
            "texture_histogram": texture_histogram(bands[:, shown])[None],
            "texture_blocks": np.where(shown, bands, NOTHING).astype(np.uint8).reshape(1, -1),
        }


def check_background(background: str) -> None:
    """A TextError unless the setting is `white` or `opaque`."""
    if background not in BACKGROUNDS:
        expected = "expected white (transparent parts become white) or opaque (transparent parts are left out)"
        remedy = advice(expected, did_you_mean(background, BACKGROUNDS))
        raise TextError(f"no background is called {background!r}", remedy=remedy)


def seen(picture: Picture, background: str) -> Mask:
    """The pixels that are counted: all, or (opaque) those of the mask; all if the mask is empty."""
    if background == "opaque" and picture.mask is not None and picture.mask.any():
        return picture.mask
    return np.ones(picture.shape, np.bool_)


@numba.njit(cache=True)
def quantised(pixels: Pixels) -> Codes:
    """The 166 colours: 18 hues × 3 saturations × 3 values, hue fastest, then 4 greys.

    Hue, saturation and value are rounded to bytes first, as GIFT does; a colour is a grey when both its hue and its
    saturation round to 0. A table of all colours would need 16 megabytes, NumPy ten passes.
    """
    height, width = pixels.shape[:2]
    codes = np.empty((height, width), np.uint8)
    below_one = 0.99999999
    for y in range(height):
        for x in range(width):
            red, green, blue = pixels[y, x, 0] / 255.0, pixels[y, x, 1] / 255.0, pixels[y, x, 2] / 255.0
            value = max(red, green, blue)
            spread = value - min(red, green, blue)
            hue, saturation = 0.0, 0.0
            if spread > 0:
                saturation = spread / value
                if blue == value:
                    hue = 4 + (red - green) / spread
                elif green == value:
                    hue = 2 + (blue - red) / spread
                else:
                    hue = (green - blue) / spread
                hue *= 60
                if hue < 0:
                    hue += 360
            h, s, v = np.rint(hue / 360 * 255) / 255, np.rint(saturation * 255) / 255, np.rint(value * 255) / 255
            if h == 0 and s == 0:
                codes[y, x] = HUES * SATURATIONS * VALUES + int(below_one * v * GREYS)
            else:
                at_hue, at_saturation = int(below_one * h * HUES), int(below_one * s * SATURATIONS)
                codes[y, x] = at_hue + HUES * (at_saturation + SATURATIONS * int(below_one * v * VALUES))
    return codes


def block_counts(colours: Codes, opaque: Mask) -> Ints:
    """The number of opaque pixels of each colour in each of the 340 blocks: small blocks first, row by row."""
    rows, columns = np.nonzero(opaque)
    side = SCALES[0]
    block = rows // BLOCK * side + columns // BLOCK
    cells = np.bincount(block * COLOURS + colours[rows, columns], minlength=side * side * COLOURS)
    finest = cells.reshape(side, side, COLOURS)
    levels = [finest]
    for _ in SCALES[1:]:
        last = levels[-1]
        half = last.shape[0] // 2
        levels.append(last.reshape(half, 2, half, 2, COLOURS).sum(axis=(1, 3)))
    return np.concatenate([level.reshape(-1, COLOURS) for level in levels])


def modes(counts: Ints) -> Codes:
    """The most frequent colour of each block, the lowest number in ties; 255 if nothing is counted."""
    return np.where(counts.any(-1), counts.argmax(-1), NOTHING).astype(np.uint8)


def shares(counts: Ints) -> Codes:
    """Counts as shares of their total along the last axis, rounded to 255ths."""
    rounded: Codes = np.rint(WHOLE * counts / counts.sum(-1, keepdims=True)).astype(np.uint8)
    return rounded


@cache
def kernels() -> tuple[tuple[Floats, Floats, Floats, Floats, Floats], ...]:
    """For each scale: the Gaussian, its cosine and sine at the full frequency, and both at the diagonal's.

    g(x) = exp(-x²/2σ²) / (σ√2π); frequencies u = .375, halved at each scale; σ = 3 √(2 ln 2) / (2πu).
    """
    found = []
    for scale, size in enumerate(KERNELS):
        u = 0.375 / 2**scale
        sigma = 3 * math.sqrt(2 * math.log(2)) / (2 * math.pi * u)
        x = np.arange(size) - size // 2
        gauss = np.exp(-(x**2) / (2 * sigma**2)) / (math.sqrt(2 * math.pi) * sigma)
        full, diagonal = 2 * math.pi * u * x, 2 * math.pi * u * math.sqrt(0.5) * x
        found.append(
            (gauss, gauss * np.cos(full), gauss * np.sin(full), gauss * np.cos(diagonal), gauss * np.sin(diagonal))
        )
    return tuple(found)


def block_energies(values: Codes) -> Floats:
    """The root mean square of each Gabor filter in each block: 12 filters × 256 blocks.

    Only the even part is used, cos(ux + vy) under a Gaussian, at 0°, 45°, 90°, 135°, on values from 0 to 255. Beyond
    its border the picture is black, as in GIFT. The diagonals are sum and difference of two separable filters.
    """
    plane = values.astype(np.float32)
    energies = np.empty((FILTERS, SCALES[0] ** 2))
    for scale, (gauss, cosine, _, across, sine) in enumerate(kernels()):
        even, odd = _filtered(plane, across, across), _filtered(plane, sine, sine)
        answers = (_filtered(plane, cosine, gauss), even - odd, _filtered(plane, gauss, cosine), even + odd)
        for orientation, answer in enumerate(answers):
            mean = cv2.resize(answer * answer, (SCALES[0], SCALES[0]), interpolation=cv2.INTER_AREA)
            energies[scale * ORIENTATIONS + orientation] = np.sqrt(np.maximum(mean, 0)).ravel()
    return energies


def _filtered(plane: npt.NDArray[np.float32], along: Floats, down: Floats) -> npt.NDArray[np.float32]:
    filtered = cv2.sepFilter2D(plane, cv2.CV_32F, along, down, borderType=cv2.BORDER_CONSTANT)
    return filtered.astype(np.float32, copy=False)


def banded(energies: Floats) -> Codes:
    """The band of each energy: 0 below 2, then one per unit, 9 from 10; a limit belongs to the band above it."""
    return np.searchsorted(EDGES, energies, side="right").astype(np.uint8)


def texture_histogram(bands: Codes) -> Codes:
    """The share of the blocks in each band, filter by filter: 120 bytes."""
    counts = (bands[:, :, None] == np.arange(BANDS)).sum(1)
    return shares(counts).reshape(-1)
