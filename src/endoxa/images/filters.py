"""Two banks of filters for texture: 12 oriented energies and 4 differences of Gaussians, as in Barnard et al.

They give no constants. A filter rotated by 180 degrees gives the same energy, so that 12 steps of 30 degrees are 6
orientations; they are used at two scales.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import cv2
import numpy as np
import numpy.typing as npt

from endoxa.errors import TableError

Plane = npt.NDArray[np.float32]
Planes = npt.NDArray[np.float32]

ORIENTATIONS = (0, 30, 60, 90, 120, 150)
SCALES = (1.0, 2.0)
# Successive Gaussians: at the ratio 1.6 their difference is nearest to the Laplacian (Marr and Hildreth).
GAUSSIANS = (1.0, 1.6, 2.56, 4.096, 6.5536)
ENERGY_NAMES = tuple(f"energy_{scale:g}_{angle}" for scale in SCALES for angle in ORIENTATIONS)
DIFFERENCE_NAMES = tuple(f"difference_{inner:.2g}_{outer:.2g}" for inner, outer in pairwise(GAUSSIANS))

# Third-order polynomial whose product with a Gaussian is nearly the Hilbert transform of the second derivative.
_HILBERT = 2.254
# Beyond its edge the picture is reflected, the edge itself repeated: no false edges, and any size is allowed.
_BORDER = cv2.BORDER_REFLECT
_PIECE = 8192


def grey_of(pixels: npt.NDArray[np.uint8]) -> Plane:
    """Brightness from 0 to 1 of sRGB bytes, not linearised: .299 R + .587 G + .114 B."""
    grey = cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2GRAY)
    return np.asarray(grey, dtype=np.float32) / np.float32(255)


def oriented_energies(grey: Plane) -> Planes:
    """Energy of the picture around each pixel in 6 orientations at 2 scales: 12 × height × width.

    energy = (picture ∗ G)² + (picture ∗ H)², G the second derivative of a Gaussian across the orientation and H its
    Hilbert transform (a quadrature pair, so that the energy of stripes does not depend on their phase). Planes 0 to 5
    have the fine scale (σ = 1 pixel), planes 6 to 11 the coarse one (σ = 2). Within a scale the angles are 0, 30, …
    150 degrees, clockwise from the axis to the right. An angle is the direction in which brightness changes: 0 for
    vertical stripes, 90 for horizontal ones. Stripes of 4.4 σ pixels and amplitude a give a² at their angle.
    Misleads: an edge between two regions gives energy to both; energy grows with the square of contrast.
    Source: Freeman and Adelson, The design and use of steerable filters, 1991, tables III and V;
    Barnard et al. 3.4.
    """
    plane = _checked(grey)
    energies = np.empty((len(SCALES), len(ORIENTATIONS), plane.size), np.float32)
    even, odd = np.empty((3, *plane.shape), np.float32), np.empty((4, *plane.shape), np.float32)
    even_turns, odd_turns = _turns()
    for at_scale, scale in enumerate(SCALES):
        for filtered, pairs in zip((even, odd), _quadrature(scale), strict=True):
            for into, (along, down) in zip(filtered, pairs, strict=True):
                cv2.sepFilter2D(plane, cv2.CV_32F, along, down, dst=into, borderType=_BORDER)
        # Pieces that fit into the cache take half the time of the whole picture at once.
        for begin in range(0, plane.size, _PIECE):
            piece = slice(begin, begin + _PIECE)
            g, h = even_turns @ even.reshape(3, -1)[:, piece], odd_turns @ odd.reshape(4, -1)[:, piece]
            np.add(np.square(g, out=g), np.square(h, out=h), out=energies[at_scale, :, piece])
    return energies.reshape(-1, *plane.shape)


def differences_of_gaussians(grey: Plane) -> Planes:
    """Slightly smoothed picture minus more smoothed picture, for 4 pairs of widths: 4 × height × width, signed.

    difference = picture ∗ N(σ) - picture ∗ N(1.6 σ), σ = 1, 1.6, 2.56 and 4.1 pixels. It is positive on
    bright spots of about that size, negative on dark ones, and 0 where brightness is constant or changes linearly.
    Source: Marr and Hildreth, Theory of edge detection, 1980 (the ratio); Barnard et al. 3.4 (that there are four).
    """
    plane = _checked(grey)
    smooth = [cv2.GaussianBlur(plane, (0, 0), sigma, borderType=_BORDER) for sigma in GAUSSIANS]
    return np.stack([inner - outer for inner, outer in pairwise(smooth)])


def _checked(grey: Plane) -> Plane:
    """The picture as one plane of float32."""
    plane = np.ascontiguousarray(grey, dtype=np.float32)
    if plane.ndim != 2 or not plane.size:
        raise TableError(f"filters take one plane of height × width pixels, not an array of shape {plane.shape}")
    return plane


@lru_cache(maxsize=8)
def _quadrature(scale: float) -> tuple[tuple[tuple[Plane, Plane], ...], tuple[tuple[Plane, Plane], ...]]:
    """Separable filters (along rows, along columns) whose sums give G (3 filters) and H (4) at any angle.

    With x in units of σ√2 and g = exp(-x²): G = (2x² - 1) g at angle 0, H = (x³ - 2.254 x) g.
    """
    pixels = np.arange(-int(np.ceil(4 * scale)), int(np.ceil(4 * scale)) + 1)
    x = pixels / (scale * np.sqrt(2))
    g = np.exp(-(x**2))
    # Truncated and sampled, the second derivative does not sum to 0; a constant picture must have no energy.
    second = (2 * x**2 - 1) * g
    second -= second.sum() / g.sum() * g
    third, square, line = (x**3 - _HILBERT * x) * g, (x**2 - _HILBERT / 3) * g, x * g
    # At its best frequency √2/σ each filter of the pair has gain 1.
    wave = np.sqrt(2) / scale * pixels
    even = 1 / abs((second * np.cos(wave)).sum() * g.sum())
    odd = 1 / abs((third * np.sin(wave)).sum() * g.sum())
    g_pairs = [(even * a, b) for a, b in ((second, g), (4 * line, line), (g, second))]
    h_pairs = [(odd * a, b) for a, b in ((third, g), (3 * square, line), (3 * line, square), (g, third))]
    g_filters, h_filters = (
        tuple((a.astype(np.float32), b.astype(np.float32)) for a, b in pairs) for pairs in (g_pairs, h_pairs)
    )
    return g_filters, h_filters


@lru_cache(maxsize=1)
def _turns() -> tuple[Planes, Planes]:
    """The weight of each separable filter in G and H at each orientation: (6 × 3, 6 × 4)."""
    angle = np.deg2rad(np.array(ORIENTATIONS))
    c, s = np.cos(angle), np.sin(angle)
    even = np.stack([c**2, c * s, s**2], axis=1)
    odd = np.stack([c**3, c**2 * s, c * s**2, s**3], axis=1)
    return even.astype(np.float32), odd.astype(np.float32)
