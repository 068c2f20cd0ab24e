"""Similarity of pictures by the words that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from endoxa.engines import Index, Material
from endoxa.errors import refuse_unknown
from endoxa.frozen import dataclass
from endoxa.tables import Floats, Ints

# The denominator of each match, from |W_Q ∩ W_R|, |W_Q| and |W_R|.
BELOW: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "jaccard": lambda shared, query, item: query + item - shared,
    "dice": lambda _, query, item: (query + item) / 2,
    "overlap": lambda _, query, item: np.minimum(query, item),
    "cosine": lambda _, query, item: np.sqrt(query * item),
    "coverage": lambda _, query, _item: query,
    "precision": lambda _, _query, item: item,
}
MATCHES = tuple(BELOW)
BLOCK = 512  # queries scored together


@dataclass(frozen=True)
class Keywords:
    """The engine: the overlap of the words of a query, W_Q, and of an item, W_R.

    With I = |W_Q ∩ W_R|: jaccard I / |W_Q ∪ W_R|, dice 2I / (|W_Q| + |W_R|), overlap I / min(|W_Q|, |W_R|),
    cosine I / √(|W_Q| |W_R|), coverage I / |W_Q|, precision I / |W_R|. Words that no item has count in |W_Q|.
    0/0 is NaN: the similarity of two pictures without words is undefined.
    The formula of the source is lost; its legend, sets of words and their sizes, fits all of these. Dice = 2J/(1 + J)
    is a monotone function of jaccard J, so that both give the same ranking.
    Source: Barnard et al. 2.2 ("Keywords"); docs/methods/pictures.md, Keywords.
    """

    descriptor: ClassVar[None] = None  # it does not look at pictures
    takes_text: ClassVar[bool] = True

    match: str = "jaccard"

    def __post_init__(self) -> None:
        refuse_unknown("match of words", self.match, MATCHES, listed=True)

    @property
    def name(self) -> str:
        """`keywords`, with the match if it is not jaccard: `keywords-cosine`."""
        return "keywords" if self.match == "jaccard" else f"keywords-{self.match}"

    def build(self, material: Material, *, train: Material | None = None, seed: int = 0) -> Index:
        """Arrange the words as a sparse matrix, words × items; nothing is learnt or random."""
        vocabulary = sorted({word for words in material.words for word in words})
        number = {word: at for at, word in enumerate(vocabulary)}
        _, at, offsets = _numbered(material.words, number)
        arrays = {"vocabulary": np.array(vocabulary, dtype=np.str_), "words": at, "offsets": offsets}
        return Index(self, material, arrays)

    def score(self, index: Index, queries: Material) -> Floats:
        """The match of each query's words with those of each item; an item without a common word is not returned."""
        return self.score_words(index, queries.words)

    def score_words(self, index: Index, texts: Sequence[tuple[str, ...]]) -> Floats:
        """The match of each text with the words of each item; an item without a common word is not returned."""
        arrays = index.arrays
        number = {str(word): at for at, word in enumerate(arrays["vocabulary"])}
        lengths, at, offsets = _numbered(texts, number)
        items = _incidence(arrays["words"], arrays["offsets"], len(number)).T.tocsr()
        queries = _incidence(at, offsets, len(number))
        sizes = np.diff(arrays["offsets"]).astype(np.float64)
        found = np.full((len(texts), len(index.items)), np.nan)
        for first in range(0, len(texts), BLOCK):
            block = slice(first, first + BLOCK)
            shared = (queries[block] @ items).toarray()
            below = BELOW[self.match](shared, lengths[block, None].astype(np.float64), sizes)
            np.divide(shared, below, out=found[block], where=below > 0)
        found[found == 0] = -np.inf
        return found


def _numbered(texts: Iterable[Sequence[str]], number: dict[str, int]) -> tuple[Ints, Ints, Ints]:
    """The number of distinct words of each text, the numbers of known words, and the offset of each text."""
    sets = [set(text) for text in texts]
    known = [sorted(number[word] for word in words if word in number) for words in sets]
    lengths = np.array([len(words) for words in sets], dtype=np.int64)
    offsets = np.cumsum([0, *map(len, known)], dtype=np.int64)
    return lengths, np.array([word for words in known for word in words], dtype=np.int64), offsets


def _incidence(words: Ints, offsets: Ints, vocabulary: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(words)), words, offsets), shape=(len(offsets) - 1, vocabulary))
