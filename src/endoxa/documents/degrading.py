"""Damage to a clean page, by a level λ from 0 (new) to 1 (hardly legible), as old letters have it.

blur          σ = .5 + .7 λ pixels
fading ink    patches in which up to .75 λ of the ink is gone
back page     another page, mirrored and blurred by σ = 2.2, that shines through with a strength up to .55 λ
light         a gradient across the page that takes up to .62 λ of the light
stains        darker patches with a rim
noise         standard deviation .02 + .05 λ of the range
"""

from __future__ import annotations

import numpy as np

from endoxa.documents.binarisers import Grey
from endoxa.errors import TextError
from endoxa.tables import Floats

STAINS = 5  # at level 1
FADED = 0.75


def degrade(page: Grey, back: Grey, level: float, rng: np.random.Generator) -> Grey:
    """The page (dark ink on white), damaged; `back` is what is written on its other side, of the same size."""
    if not 0 <= level <= 1:
        raise TextError(f"the level of damage lies between 0 and 1, not {level:g}")
    ink = _blurred(1 - page / 255.0, 0.5 + 0.7 * level)
    ink = ink * (1 - FADED * level * _patches(page.shape, rng))
    through = _blurred(1 - back[:, ::-1] / 255.0, 2.2)
    ink = np.maximum(ink, 0.55 * level * rng.uniform(0.6, 1.0) * through)
    light = 1 - 0.62 * level * _gradient(page.shape, rng)
    paper = 0.93 * light * (1 - _stains(page.shape, level, rng))
    noise = rng.normal(0.0, 0.02 + 0.05 * level, page.shape)
    return np.rint(255 * np.clip(paper * (1 - 0.9 * ink) + noise, 0.0, 1.0)).astype(np.uint8)


def _blurred(values: Floats, sigma: float) -> Floats:
    import cv2

    return np.asarray(cv2.GaussianBlur(values, (0, 0), sigma))


def _patches(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """A smooth random field from 0 to 1."""
    import cv2

    height, width = shape
    coarse = rng.random((max(2, height // 130), max(2, width // 130)))
    smooth = np.clip(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC), 0.0, 1.0)
    return np.asarray(smooth)


def _gradient(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """From 0 to 1 across the page, in a direction drawn by chance."""
    height, width = shape
    angle = rng.uniform(0, 2 * np.pi)
    y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    slope = np.cos(angle) * x + np.sin(angle) * y
    return np.asarray((slope - slope.min()) / (slope.max() - slope.min()))


def _stains(shape: tuple[int, ...], level: float, rng: np.random.Generator) -> Floats:
    """What stains take of the light: discs with a darker rim."""
    height, width = shape
    taken = np.zeros(shape)
    y, x = np.mgrid[0:height, 0:width]
    for _ in range(rng.poisson(STAINS * level)):
        radius = rng.uniform(0.04, 0.14) * width
        away = np.hypot(y - rng.uniform(0, height), (x - rng.uniform(0, width)) * rng.uniform(0.7, 1.4)) / radius
        stain = 0.5 * (away < 1) + 0.5 * np.exp(-(((away - 1) / 0.08) ** 2))
        taken = np.maximum(taken, rng.uniform(0.1, 0.45) * level * _blurred(stain, 2.0))
    return taken
