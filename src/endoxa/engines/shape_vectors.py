"""Shape recognisers that compare one vector per drawing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from endoxa.engines import Descriptor, Index, Material, takes_no_words, unchanged
from endoxa.engines.generic_fourier import GenericFourier
from endoxa.engines.radon import RadonSignature
from endoxa.engines.structure import Structure
from endoxa.engines.zernike import ZernikeMoments
from endoxa.errors import refuse_unknown
from endoxa.frozen import dataclass
from endoxa.tables import Floats

# By name: what describes a drawing, and the distance between two of them, as SciPy calls it.
SHAPES: Mapping[str, tuple[Descriptor, str]] = {
    "radon": (RadonSignature(), "cityblock"),
    "gfd": (GenericFourier(), "cityblock"),
    "zernike": (ZernikeMoments(), "cityblock"),
    "structure": (Structure(), "euclidean"),
}


@dataclass(frozen=True)
class ShapeVectors:
    """The engine: score = -d, d the distance of two vectors: Σ|a - b|, or √Σ(a - b)² for `structure`.

    shape  radon      Radon's transform; unchanged by moving, scaling and turning
           gfd        generic Fourier descriptor; the same
           zernike    Zernike moments; the same
           structure  a bag of relations between points of the drawing; unchanged by moving
    For drawings of dark lines on light paper; of a photograph, the dark parts are taken for the shape.
    """

    takes_text: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("shape",)
    build = unchanged
    score_words = takes_no_words

    shape: str = "radon"

    def __post_init__(self) -> None:
        refuse_unknown("shape", self.shape, SHAPES, listed=True)

    @property
    def name(self) -> str:
        """The name of the shape descriptor."""
        return self.shape

    @property
    def descriptor(self) -> Descriptor:
        """What turns a drawing into a vector."""
        return SHAPES[self.shape][0]

    def score(self, index: Index, queries: Material) -> Floats:
        """The negative distance of each query from each item; 0 for identical drawings."""
        queries.require_regions(self.needs, self.name)
        both = (one.columns["shape"].astype(np.float64) for one in (queries, index.material))
        distance = cdist(*both, SHAPES[self.shape][1])
        return np.asarray(-distance + 0.0)  # avoid -0.0, which would be printed as such
