"""Region mixture models: an item is similar to a query if its concepts can generate the regions of the query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from endoxa.engines import Index, Material
from endoxa.errors import TableError, TextError
from endoxa.frozen import dataclass
from endoxa.images.features import Regions
from endoxa.statistics import mixtures
from endoxa.statistics.mixtures import Correspondence, Images, MixtureModel, Rules
from endoxa.tables import Floats

ROWS_PER_COMPONENT = 10
ENTRIES = 2**22  # query regions × items scored together
# How words and regions belong together in learning, for retrieval and for words. `pair`, the exact EM, lets the densest
# region take every word; docs/words.md has the figures.
CORRESPONDENCE: Correspondence = "average"
LEARNT = ("p_l", "means", "variances", "words", "history")  # what is kept of the model


@dataclass(frozen=True)
class Mixture:
    """The engine: ROMM learns from regions only, RWMM (words=True) from regions and words.

    score(d|q) = mean_{b in q} log Σ_l p(b|l) p(l|d), p(l|d) = (1 - lam) mean_{b in d} p(l|b) + lam p(l): how well the
    concepts of item d explain the regions of the query. Words are used in learning only; a query of words is answered
    by the mean of log p(w|d), p(w|d) = mean_b Σ_l p(w|l) p(l|b).
    Trained on the items themselves this is the ALL of the source, trained on others (`train`) its TEST; a `label`
    distinguishes their runs (rwmm-test).

    components  500 in the source, for about 40,000 regions; never more than one per ten training regions
    groups      groups of region features, joined by commas; `whiten` decorrelates them (PCA), because the model
                assumes independence, which does not hold for colour channels
    least_count a word is learnt if at least this many pictures have it. 0: one picture in a hundred, at least 2 and
                at most the 20 of the source
    The rest are settings of `endoxa.statistics.mixtures.Rules` and of `endoxa.images.features.Regions`.
    Misleads: scores are log densities, comparable between items for one query, not between queries. They also depend
    on the starting points: each seed gives another model.
    Source: Barnard et al. 2.2, Tables 5 and 6 (features); docs/methods/pictures.md, Region mixtures.
    """

    words: bool = True
    components: int = 100
    correspondence: str = CORRESPONDENCE
    kappa: float = 1.0
    eta: float = 0.01
    lam: float = 0.1
    floor: float = 1e-3
    restarts: int = 3
    iterations: int = 50
    tolerance: float = 1e-5
    precision: str = "single"
    groups: str = "base,rgs,texture"
    whiten: bool = True
    least_count: int = 0
    segmenter: str = "ncuts"
    count: int = 8
    side: int = 384
    label: str = ""

    def __post_init__(self) -> None:
        _ = self.rules, self.descriptor  # they check their settings
        if not 0 < self.lam <= 1:
            raise TextError(f"lam is {self.lam}", remedy="expected a share above 0, 1 at most")
        for name, least in (("components", 1), ("restarts", 1), ("least_count", 0)):
            if getattr(self, name) < least:
                raise TextError(f"{name} is {getattr(self, name)}", remedy=f"expected at least {least}")

    @property
    def name(self) -> str:
        """The label, else `rwmm` or `romm`."""
        return self.label or ("rwmm" if self.words else "romm")

    @property
    def descriptor(self) -> Regions:
        """The largest regions, with the groups of features used."""
        return Regions(segmenter=self.segmenter, count=self.count, side=self.side, groups=self.groups)

    @property
    def takes_text(self) -> bool:
        """Whether the model has learnt words."""
        return self.words

    @property
    def rules(self) -> Rules:
        """The settings of EM."""
        return Rules(**{field.name: getattr(self, field.name) for field in fields(Rules)})

    def build(self, material: Material, *, train: Material | None = None, seed: int = 0) -> Index:
        """Learn the mixture, and find the concepts of the items."""
        learnt = material if train is None else train
        if not len(learnt):
            raise TableError(
                f"{self.name} has no picture to learn from", remedy="give training pictures, or learn from the items"
            )
        raw = self._raw(learnt)
        centre, turn = projection(raw, whiten=self.whiten)
        vocabulary = vocabulary_of(learnt.words, self.least_count) if self.words else ()
        known = numbered(learnt.words, vocabulary)
        model = mixtures.fit(
            (raw - centre) @ turn,
            min(self.components, max(1, len(raw) // ROWS_PER_COMPONENT)),
            Images.of(learnt.counts, known, len(vocabulary)) if vocabulary else None,
            rng=np.random.default_rng(seed),
            rules=self.rules,
            restarts=self.restarts,
        )
        rows = (self._raw(material) - centre) @ turn
        own = mixtures.concepts(model, rows, material.counts, lam=0.0).astype(np.float32)
        arrays = {"centre": centre, "turn": turn, "vocabulary": np.array(vocabulary, dtype=np.str_), "concepts": own}
        return Index(self, material, arrays | {name: getattr(model, name) for name in LEARNT})

    def score(self, index: Index, queries: Material) -> Floats:
        """Mean log density of the query's regions under the concepts of each item; blocks of whole queries."""
        arrays, model = index.arrays, model_of(index)
        own = (1 - self.lam) * arrays["concepts"] + self.lam * model.p_l
        across = np.ascontiguousarray(own.T, dtype=np.float64)
        rows = (self._raw(queries) - arrays["centre"]) @ arrays["turn"]
        found, offsets = np.empty((len(queries), len(index.items))), queries.offsets
        step = max(1, ENTRIES // max(1, max(len(index.items), len(model.p_l)) * int(queries.counts.max(initial=1))))
        for first in range(0, len(queries), step):
            at = offsets[first : first + step + 1]
            logs = mixtures.log_components(model, rows[at[0] : at[-1]])
            greatest = logs.max(axis=1, keepdims=True)
            fits = np.exp(logs - greatest) @ across
            fits = np.log(np.maximum(fits, np.finfo(np.float64).tiny)) + greatest
            found[first : first + step] = np.add.reduceat(fits, at[:-1] - at[0], axis=0) / np.diff(at)[:, None]
        return np.round(found, 8)  # further digits depend on the block size, and would separate equal scores

    def score_words(self, index: Index, texts: Sequence[tuple[str, ...]]) -> Floats:
        """Mean of log p(w|d) over the known words of the text; NaN if none is known."""
        if not self.words:
            raise TextError(f"{self.name} has not learnt words", remedy="give pictures, or use rwmm")
        number = {str(word): at for at, word in enumerate(index.arrays["vocabulary"])}
        found = np.full((len(texts), len(index.items)), np.nan)
        known = [[number[word] for word in dict.fromkeys(text) if word in number] for text in texts]
        asked = sorted({word for text in known for word in text})
        chances = index.arrays["concepts"].astype(np.float64) @ index.arrays["words"][:, asked]
        logs = np.log(np.maximum(chances, np.finfo(np.float64).tiny)).T
        place = {word: at for at, word in enumerate(asked)}
        for row, text in zip(found, known, strict=True):
            if text:
                row[:] = logs[[place[word] for word in text]].mean(axis=0)
        return found

    def _raw(self, material: Material) -> Floats:
        return features_of(material, self.groups.split(","), self.name)


def model_of(index: Index) -> MixtureModel:
    """The mixture of an index, in standardised features."""
    learnt: dict[str, Any] = {name: index.arrays[name] for name in LEARNT}
    return MixtureModel(objective=float(np.max(learnt["history"])), **learnt)


def predict_words(index: Index, material: Material) -> tuple[tuple[str, ...], Floats]:
    """The vocabulary, and p(w|picture) of pictures: pictures × vocabulary (docs/methods/words.md, Word prediction)."""
    engine = index.engine
    if not isinstance(engine, Mixture) or not engine.words:
        raise TextError(f"the index of {engine.name} has no words to predict", remedy="build one of rwmm")
    rows = (engine._raw(material) - index.arrays["centre"]) @ index.arrays["turn"]
    vocabulary = tuple(str(word) for word in index.arrays["vocabulary"])
    return vocabulary, mixtures.word_chances(model_of(index), rows, material.counts)


def features_of(material: Material, groups: Sequence[str], name: str) -> Floats:
    """The features of these groups, one row per region; `name` is who asks."""
    material.require(groups, name)
    columns = (np.asarray(material.columns[group], dtype=np.float64) for group in groups)
    raw = np.concatenate([column[:, None] if column.ndim == 1 else column for column in columns], axis=1)
    material.refuse_bad_regions(raw)
    return raw


def least_of(pictures: int, least_count: int = 0) -> int:
    """The pictures that a word must be on to be learnt; 0: one in a hundred, at least 2, at most 20."""
    return least_count or min(20, max(2, pictures // 100))


def vocabulary_of(words: Sequence[Sequence[str]], least_count: int = 0) -> tuple[str, ...]:
    """The words that are on enough of these pictures, sorted."""
    least = least_of(len(words), least_count)
    counts = Counter(word for one in words for word in set(one))
    return tuple(sorted(word for word, count in counts.items() if count >= least))


def numbered(words: Sequence[Sequence[str]], vocabulary: Sequence[str]) -> list[list[int]]:
    """The distinct words of each picture that are in the vocabulary, as their places there."""
    number = {word: at for at, word in enumerate(vocabulary)}
    return [[number[word] for word in dict.fromkeys(one) if word in number] for one in words]


def projection(raw: Floats, *, whiten: bool, most: int | None = None) -> tuple[Floats, Floats]:
    """Centre and matrix that give features variance 1, uncorrelated if asked; constant features become 0.

    `most` keeps that many principal components, those of greatest variance, where there are more features.
    """
    centre, spread = raw.mean(axis=0), raw.std(axis=0)
    varies = spread > 1e-9 * np.maximum(np.abs(centre), 1e-9)
    turn = np.diag(np.where(varies, 1 / np.where(varies, spread, 1.0), 0.0))
    few = most is not None and raw.shape[1] > most
    if not (whiten or few) or not varies.any():
        return centre, turn
    standard = (raw - centre) @ turn
    values, vectors = np.linalg.eigh(standard.T @ standard / len(raw))
    keep = values > 1e-6 * values[-1]
    if most is not None and few:
        keep[:-most] = False
    return centre, turn @ (vectors[:, keep] / (np.sqrt(values[keep]) if whiten else 1.0))
