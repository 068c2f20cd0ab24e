"""A sketch as a query: colours painted on a canvas, compared with the layouts of pictures where it is painted."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from endoxa.engines.colour_layout import CELLS, ZERO, colours, lab, split
from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.searches.arms import Group, Values, scale_between
from endoxa.tables import Floats

SIDE = 256  # pixels of the canvas
LEAST = 0.1  # the share of a cell that must be painted
SKETCH = "sketch"  # the name of its scale among those of the layout


@dataclass(frozen=True, eq=False)
class Sketch:
    """The share of each cell that is painted (0 if less than a tenth), and the mean L*, a*, b* of the painted part."""

    shares: Floats
    colours: Floats

    @classmethod
    def of(cls, pixels: npt.NDArray[np.uint8]) -> Sketch:
        """From a canvas of 256 × 256 pixels, red, green, blue, alpha; a pixel is painted if its alpha is above 0."""
        if pixels.shape != (SIDE, SIDE, 4):
            shape = " × ".join(map(str, pixels.shape))
            raise TextError(f"a sketch has {SIDE} × {SIDE} pixels of red, green, blue and alpha, not {shape}")
        painted = split(pixels[..., 3] > 0)
        counts = painted.sum(axis=1)
        shares = counts / painted.shape[1]
        shares[shares < LEAST] = 0.0
        if not shares.any():
            raise TextError(
                "the sketch is empty", remedy=f"paint a little more, at least a tenth of one of its {CELLS**2} parts"
            )
        sums = (split(lab(pixels[..., :3])) * painted[..., None]).sum(axis=1)
        return cls(shares, sums / np.maximum(counts, 1)[:, None])


def relevance(sketch: Sketch, layout: Group) -> Floats:
    """How well each picture fits the sketch, from 0 to 1: ½(exp(-d/τ) + exp(-d/4τ)).

    d = Σ a ΔE / Σ a over the cells, with the painted share a and the distance ΔE = √(ΔL² + Δa² + Δb²). τ is the scale
    of the layout for sketches. A picture without a layout has 0, and so has every picture if τ is 0: then no sketch can
    tell them apart.
    """
    tau = layout.taus[SKETCH] if SKETCH in layout.taus else sketch_scale(layout.values)
    if not tau > 0:
        return np.zeros(len(layout.values))
    d = cell_distances(layout.values, sketch.colours[None], sketch.shares[None])[0]
    u = (np.exp(-d / tau) + np.exp(-d / (4 * tau))) / 2
    return np.where(np.isnan(u), 0.0, u)


def sketch_scale(values: Values, seed: int = 0) -> float:
    """The scale for sketches: the 5 % quantile of the mean ΔE of random pairs of pictures."""
    equal = np.ones(values.shape[1] // 3)
    return scale_between(
        len(values),
        lambda left, right: cell_distances(
            values[right], colours(values[left]), np.broadcast_to(equal, (len(left), len(equal)))
        ),
        seed,
    )


def cell_distances(values: Values, painted: Floats, shares: Floats) -> Floats:
    """Σ a ΔE / Σ a of each sketch to each row of bytes, sketches × rows; NaN for a row of zeros.

    `painted` holds the colours of sketches × cells × 3, `shares` the a of sketches × cells.
    """
    found = np.empty((len(painted), len(values)))
    for at, (colour, share) in enumerate(zip(painted, shares, strict=True)):
        used = np.flatnonzero(share)
        _compare(values, used, np.ascontiguousarray(colour[used] + ZERO), share[used] / share.sum(), found[at])
    return found


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _compare(values: npt.NDArray[Any], cells: npt.NDArray[np.int64], colour: Floats, share: Floats, d: Floats) -> None:
    for i in range(len(values)):
        total, known = 0.0, False
        for c in range(len(cells)):
            at = 3 * cells[c]
            x, y, z = float(values[i, at]), float(values[i, at + 1]), float(values[i, at + 2])
            known = known or x + y + z > 0
            total += share[c] * np.sqrt((x - colour[c, 0]) ** 2 + (y - colour[c, 1]) ** 2 + (z - colour[c, 2]) ** 2)
        d[i] = total if known else np.nan
