"""Binarisation of pages: which pixels are ink.

A pixel is ink if its grey value is at most a threshold T. Otsu's T is one number for the page; the others follow the
mean m and the standard deviation s of a square window around each pixel, reflected at the border:

    niblack     m - .2 s                                    Niblack 1986; it finds ink in the noise of empty paper
    sauvola     m (1 + .2 (s/128 - 1))                      Sauvola & Pietikäinen 2000; it loses faint ink
    wolf        .5 m + .5 M + .5 (s/s_max) (m - M)          Wolf & Jolion 2004; M is the darkest pixel
    nick        m - .1 √(s² + m²)                           Khurshid et al. 2009; it keeps empty paper clean
    phansalkar  m (1 + 3 exp(-10 m) + .25 (s/.5 - 1))       Phansalkar et al. 2011; on grey values from 0 to 1
    mean        .85 m
    otsu        between the two classes that differ most    Otsu 1979

A page of one grey value has no ink, whatever the threshold. `grey` leaves the page as it is: the OCR binarises it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from endoxa.documents.defaults import WINDOW
from endoxa.errors import TextError, refuse_unknown
from endoxa.tables import Bools, Floats

Grey = npt.NDArray[np.uint8]
PAPER, INK = 255, 0
AS_IT_IS = "grey"


def binarise(grey: Grey, name: str, *, window: int = WINDOW) -> Grey:
    """The page in black and white: ink is 0, paper 255. `grey` gives the page unchanged."""
    refuse_unknown("binariser", name, NAMES, listed=True)
    if name == AS_IT_IS:
        return grey
    return np.where(ink(grey, name, window=window), INK, PAPER).astype(np.uint8)


def ink(grey: Grey, name: str, *, window: int = WINDOW) -> Bools:
    """Which pixels are ink."""
    if grey.size == 0 or grey.min() == grey.max():
        return np.zeros(grey.shape, dtype=bool)
    return np.asarray(grey <= threshold(grey, name, window=window))


def threshold(grey: Grey, name: str, *, window: int = WINDOW) -> Floats:
    """The threshold at every pixel."""
    if name == "otsu":
        return np.full(grey.shape, _otsu(grey))
    if window < 3 or window % 2 == 0:
        raise TextError(f"the window of a binariser has an odd number of pixels, 3 or more, not {window}")
    m, s = moments(grey, window)
    return THRESHOLDS[name](m, s, grey)


def moments(grey: Grey, window: int) -> tuple[Floats, Floats]:
    """Mean and standard deviation (of the population) of the window around each pixel."""
    import cv2

    size: Any = (window, window)
    m = cv2.boxFilter(grey, cv2.CV_64F, size, borderType=cv2.BORDER_REFLECT)
    squares = cv2.sqrBoxFilter(grey, cv2.CV_64F, size, borderType=cv2.BORDER_REFLECT)
    return np.asarray(m), np.sqrt(np.maximum(squares - m * m, 0.0))


def _otsu(grey: Grey) -> float:
    import cv2

    return float(cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)[0])


def wolf_of(m: Floats, s: Floats, darkest: float, most: float) -> Floats:
    """Wolf's threshold for a darkest pixel and a greatest deviation; without any deviation the last term is 0.

    Misleads: one black stain lowers it everywhere.
    """
    share = s / most if most > 0 else np.zeros_like(s)
    return 0.5 * m + 0.5 * darkest + 0.5 * share * (m - darkest)


def phansalkar(m: Floats, s: Floats, _grey: Grey) -> Floats:
    """m (1 + 3 exp(-10 m) + .25 (s/.5 - 1)) on grey values from 0 to 1. It was made for dark pictures."""
    m, s = m / 255, s / 255
    return 255 * m * (1 + 3 * np.exp(-10 * m) + 0.25 * (s / 0.5 - 1))


THRESHOLDS: dict[str, Callable[[Floats, Floats, Grey], Floats]] = {
    "sauvola": lambda m, s, _: m * (1 + 0.2 * (s / 128 - 1)),
    "wolf": lambda m, s, grey: wolf_of(m, s, float(grey.min()), float(s.max())),
    "niblack": lambda m, s, _: m - 0.2 * s,
    "nick": lambda m, s, _: m - 0.1 * np.sqrt(s * s + m * m),
    "phansalkar": phansalkar,
    "mean": lambda m, s, _: 0.85 * m,
}
NAMES = ("otsu", *THRESHOLDS, AS_IT_IS)
