"""The score of predicted words: M words for a picture with M words, beside the words that are frequent anyway."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.tables import Floats, Ints

Truths = npt.NDArray[np.bool_]  # pictures × vocabulary
DIGITS = 9  # of a probability; words that always occur together differ in later digits only


@dataclass(frozen=True, eq=False)
class Scored:
    """What was right: per picture with a word of the vocabulary, and per word.

    at        the places of the pictures that were scored, among those given
    words     M, the words of each
    correct   of the M words predicted, and `expected`: of the M most frequent words in training
    present   per word: on how many pictures it is; predicted, hit: how often it was chosen, and rightly; usual: how
              often it was rightly chosen by frequency
    """

    at: Ints
    words: Ints
    correct: Ints
    expected: Ints
    present: Ints
    predicted: Ints
    hit: Ints
    usual: Ints

    @property
    def score(self) -> Floats:
        """Correct words / M of each picture."""
        return self.correct / self.words

    @property
    def baseline(self) -> Floats:
        """The same for the most frequent words."""
        return self.expected / self.words

    @property
    def lift(self) -> Floats:
        """Score minus baseline of each picture."""
        return self.score - self.baseline

    def normalised(self, correct: Ints) -> Floats:
        """r/M − (M − r)/(V − M) of each picture: 0 by chance, 1 if all are right; NaN where M is the vocabulary."""
        left = len(self.present) - self.words
        wrong = np.divide(self.words - correct, left, out=np.full(len(left), np.nan), where=left > 0)
        return np.asarray(correct / self.words - wrong)


def score(chances: Floats, truths: Truths, frequencies: Floats) -> Scored:
    """Predict for each picture the M most probable words, M being the number of its own words.

    score = correct / M, baseline = the same for the M words with the greatest training `frequencies`. Ties go to the
    word that comes first in the vocabulary. A picture without a word of the vocabulary, or without regions (NaN), is
    left out.
    Misleads: where a picture has the frequent words only, nothing can be gained over the baseline.
    Source: Barnard et al. 3.2; docs/methods/words.md, Word prediction.
    """
    if chances.shape != truths.shape or frequencies.shape != truths.shape[1:]:
        raise TableError(
            f"chances of shape {chances.shape}, truths of {truths.shape} and {len(frequencies)} frequencies do not fit"
        )
    at = np.flatnonzero(truths.any(axis=1) & np.isfinite(chances).all(axis=1))
    own, m = truths[at], truths[at].sum(axis=1)
    chosen = first(chances[at], m)
    usual = first(np.broadcast_to(frequencies, own.shape), m)
    hits, base = chosen & own, usual & own
    return Scored(
        at, m, hits.sum(axis=1), base.sum(axis=1), own.sum(axis=0), chosen.sum(axis=0), hits.sum(axis=0),
        base.sum(axis=0),
    )  # fmt: skip


def first(chances: Floats, m: Ints) -> Truths:
    """Whether each word is among the M first of its picture; ties by the order of the vocabulary."""
    order = np.argsort(-np.round(chances, DIGITS), axis=1, kind="stable")
    chosen = np.zeros(chances.shape, np.bool_)
    np.put_along_axis(chosen, order, np.arange(chances.shape[1]) < m[:, None], axis=1)
    return chosen


def truths_of(words: list[list[int]], vocabulary: int) -> Truths:
    """Which words each picture has, from their places in the vocabulary."""
    truths = np.zeros((len(words), vocabulary), np.bool_)
    for row, places in zip(truths, words, strict=True):
        row[places] = True
    return truths
