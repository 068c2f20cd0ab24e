"""What two views of whole pictures say of their words: how they look, and their colours.

look    vectors of a network, scaled to length 1 (ridge λ = 3); without them the square roots of the shares of colours
        and of textures (λ = 1), which find colours and surfaces only
colour  square roots of the shares of 166 colours (λ = 1)

Each kernel is centred and scaled to the trace n, so that λ means the same for any collection.
"""

from __future__ import annotations

import numpy as np

from endoxa.frozen import dataclass
from endoxa.statistics.ridge import Smoother
from endoxa.tables import Floats, Ints

LOOK, COLOUR = 3.0, 1.0  # λ of vectors, and of histograms


@dataclass(frozen=True, eq=False)
class Views:
    """Descriptions of the same pictures, one row each.

    vectors  of a network, or one's own; None: none for every picture
    colour, texture  shares of colours and of bands of texture (`histogram-features`)
    copies   equal pictures have one number; they are left out together
    """

    vectors: Floats | None
    colour: Floats
    texture: Floats
    copies: Ints

    def take(self, at: Ints) -> Views:
        """The pictures at these places."""
        vectors = None if self.vectors is None else self.vectors[at]
        return Views(vectors, self.colour[at], self.texture[at], self.copies[at])

    def smoothers(self) -> tuple[Smoother, Smoother]:
        """Those of look and of colour."""
        colours = _roots(self.colour)
        if self.vectors is None:
            look = Smoother.of(np.hstack([_even(colours), _even(_roots(self.texture))]), COLOUR)
        else:
            lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)
            unit = np.divide(self.vectors, lengths, out=np.zeros(self.vectors.shape), where=lengths > 0)
            look = Smoother.of(unit, LOOK)
        return look, Smoother.of(colours, COLOUR)


def _roots(counts: Floats) -> Floats:
    total = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.sqrt(np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)))


def _even(rows: Floats) -> Floats:
    """Scaled so that several kernels count alike."""
    spread = np.sqrt(((rows - rows.mean(axis=0)) ** 2).sum())
    return np.asarray(rows / spread) if spread > 0 else rows
