"""Words for pictures by a region mixture model: learnt from pictures with words, predicted from regions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from endoxa.engines import Material
from endoxa.engines.region_mixtures import (
    CORRESPONDENCE,
    ROWS_PER_COMPONENT,
    features_of,
    least_of,
    numbered,
    projection,
    vocabulary_of,
)
from endoxa.errors import JoinError, TextError
from endoxa.frozen import dataclass
from endoxa.statistics import mixtures
from endoxa.statistics.mixtures import Correspondence, Images, MixtureModel, Rules
from endoxa.tables import Floats, Ints
from endoxa.words.merging import NEIGHBOURS, SIZE
from endoxa.words.scoring import truths_of

FEATURES = "features"  # the column that a model learns from
ROWS, FEWEST, MOST = 100, 10, 500  # regions per component, and its bounds
DIMENSIONS = 32  # principal components of vectors; a diagonal mixture cannot learn more from some thousand pictures


@dataclass(frozen=True)
class Learning:
    """Settings of the model.

    components      0: one per hundred regions, at least 10, at most the 500 of the source
    correspondence  how words and regions belong together in learning (`endoxa.statistics.mixtures.Rules`). `average`
                    is the default where words are predicted: on photographs `pair` gains .007 over the frequencies,
                    `average` .107, with the same features, splits and seeds
    least           a word is learnt if it is on this many pictures; 0: one in a hundred, at least 2, at most 20
    whiten          decorrelate the features; the model treats them as independent
    most            keep this many principal components of the features; 0: all features
    """

    components: int = 0
    correspondence: Correspondence = CORRESPONDENCE
    least: int = 0
    whiten: bool = True
    most: int = 0
    iterations: int = 30
    restarts: int = 1
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        _ = self.rules
        for name, least in (("components", 0), ("least", 0), ("most", 0), ("restarts", 1)):
            if getattr(self, name) < least:
                raise TextError(f"{name} is {getattr(self, name)}", remedy=f"expected at least {least}")

    @property
    def rules(self) -> Rules:
        """The settings of EM."""
        return Rules(correspondence=self.correspondence, iterations=self.iterations, tolerance=self.tolerance)

    def components_of(self, rows: int) -> int:
        """The number of components for so many rows; never more than one per ten."""
        wanted = self.components or min(MOST, max(FEWEST, rows // ROWS))
        return min(wanted, max(1, rows // ROWS_PER_COMPONENT))


@dataclass(frozen=True, eq=False)
class Annotator:
    """A model that has learnt words, and the number of training pictures that each word is on."""

    vocabulary: tuple[str, ...]
    frequencies: Floats
    pictures: int
    centre: Floats
    turn: Floats
    model: MixtureModel

    def of_pictures(self, material: Material) -> Floats:
        """p(w|picture) = mean over its regions of Σ_l p(w|l) p(l|b); pictures × vocabulary."""
        return mixtures.word_chances(self.model, self._rows(material), material.counts, precision="single")

    def of_regions(self, material: Material) -> Floats:
        """p(w|region) = Σ_l p(w|l) p(l|b); regions × vocabulary."""
        return np.asarray(mixtures.responsibilities(self.model, self._rows(material)) @ self.model.words)

    def _rows(self, material: Material) -> Floats:
        return (features_of(material, [FEATURES], "the model") - self.centre) @ self.turn


def select(material: Material, groups: Sequence[str], regions: int = 0) -> Material:
    """These features of the first (largest) regions of each picture as one column; 0 regions: all.

    Areas and neighbours are kept where neighbours are known.
    """
    raw = features_of(material, groups, "the study").astype(np.float32)
    counts, columns = material.counts, {FEATURES: raw}
    if {SIZE, NEIGHBOURS} <= set(material.columns):
        columns |= {name: material.columns[name] for name in (SIZE, NEIGHBOURS)}
    if regions:
        within = np.arange(len(raw)) - np.repeat(material.offsets[:-1], counts)
        columns, counts = {name: one[within < regions] for name, one in columns.items()}, np.minimum(counts, regions)
    return Material(material.items, material.words, columns, counts)


def learn(material: Material, learning: Learning, *, seed: Sequence[int]) -> Annotator:
    """The model of these pictures; `material` has the column that `select` makes."""
    vocabulary = vocabulary_of(material.words, learning.least)
    if not vocabulary:
        least = least_of(len(material), learning.least)
        raise JoinError(
            f"no word is on {least} or more of the {len(material):,} pictures to learn from",
            remedy="give more pictures with words, or a smaller least count (--least)",
        )
    known = numbered(material.words, vocabulary)
    raw = features_of(material, [FEATURES], "the model")
    centre, turn = projection(raw, whiten=learning.whiten, most=learning.most or None)
    model = mixtures.fit(
        (raw - centre) @ turn, learning.components_of(len(raw)), Images.of(material.counts, known, len(vocabulary)),
        rng=np.random.default_rng(seed), rules=learning.rules, restarts=learning.restarts,
    )  # fmt: skip
    counts: Ints = truths_of(known, len(vocabulary)).sum(axis=0)
    return Annotator(vocabulary, counts.astype(np.float64), len(material), centre, turn, model)
