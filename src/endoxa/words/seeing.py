"""V: how well a word can be told from pictures alone, and from what they say beyond the other words.

    f = prediction of the word from a view, without the picture (or its topic), by ridge regression
    t = the same from the other words of the picture;  f⊥ = f - β t, both centred, β = ⟨f,t⟩/⟨t,t⟩
    A = AUC(f of look), B = AUC(f⊥ of look), D = AUC(f⊥ of colour)
    V = 2 (.4 A + .3 B + .3 D - ½) · n_w/(n_w + 5),  0 by chance, 1 at most;  own = max(B, D) - ½

Random words have V with a mean of about 0 and a standard deviation of about .55/√n_w. A word is called visual if
V - .55/√n_w ≥ .20 and own ≥ .15; visual by its company if only the first holds: the other words explain it.
Misleads: the weights, k = 5 and the limits were chosen on captions of photographs. Visual means visual to these two
views and in these pictures. Without topics that exist in fact, a word may only know the look of a topic.
Source: docs/methods/words.md, Visualness.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import numpy as np
from scipy.stats import rankdata

from endoxa.errors import JoinError
from endoxa.frozen import dataclass
from endoxa.progress import Progress
from endoxa.statistics.ridge import Fold, LeftOut, Smoother, folds_of, from_others
from endoxa.tables import Floats, Ints
from endoxa.words.profiles import Has
from endoxa.words.views import Views

Call = Literal["visual", "visual by its company", "not visual", "too rare to say", "one topic only"]
VISUAL, COMPANY, NOT, RARE, ONE_TOPIC = get_args(Call)
WEIGHTS = (0.4, 0.3, 0.3)
SHRINKING = 5  # k of n_w/(n_w + k)
SPREAD = 0.55  # standard deviation of V of random words, times √n_w
LEAST, OWN = 0.20, 0.15  # of V less its spread, and of own, in a visual word
FEW = 20  # pictures of a word below which it is not called "not visual"
TOPICS = 3  # with fewer a word cannot be learnt from other topics: pictures are left out one by one
COMPANIONS = 3
DIGITS = 10  # of a prediction; later ones depend on the order of sums
STAGE = "shuffling pictures"


@dataclass(frozen=True, eq=False)
class Sight:
    """A, B, D and V of each word."""

    a: Floats
    b: Floats
    d: Floats
    v: Floats

    @property
    def own(self) -> Floats:
        """max(B, D) - ½: what pictures say beyond the other words."""
        return np.asarray(np.maximum(self.b, self.d) - 0.5)


@dataclass(frozen=True, eq=False)
class Seen:
    """What was found of each word.

    topics      the topics that have it (0 where topics are not used); `by_topic`: topics were left out, not pictures
    companions  per word, the places of the words that predict it most
    null        V of the same word on shuffled pictures, draws × words
    """

    sight: Sight
    topics: Ints
    by_topic: Has
    companions: list[list[int]]
    null: Floats


def seen(
    views: Views, every: Has, asked: Sequence[int] | Ints, topics: Ints | None = None, *, draws: int = 0, seed: int = 0,
    progress: Progress | None = None,
) -> Seen:  # fmt: skip
    """Look for the words `asked` (rows of `every`, words × pictures); all others take part in predicting them.

    Every word is on some pictures and lacks on some. Under the null, rows of word and text prediction are shuffled
    together over pictures, so that what the other words know of the word stays.
    """
    at = np.asarray(asked, dtype=np.int64)
    counts = np.zeros(len(at), np.int64)
    if topics is not None:
        counts = np.array([len(np.unique(topics[every[word]])) for word in at], np.int64)
    by_topic = counts >= TOPICS
    whole = {name: np.full(len(at), np.nan) for name in "abdv"}
    companions: list[list[int]] = [[] for _ in at]
    null = np.full((draws, len(at)), np.nan)
    shuffled = _Tracked(progress, draws * len({bool(one) for one in by_topic}))
    smoothers = views.smoothers()
    for chosen, groups in ((~by_topic, views.copies), (by_topic, topics)):
        if groups is None or not chosen.any():
            continue
        folds = folds_of(groups, views.copies)
        if max(len(fold.left) for fold in folds) == every.shape[1]:
            raise JoinError(
                "without the copies of a picture, no other picture is left to learn from", remedy="give more pictures"
            )
        part = _Part(smoothers, every, at[chosen], folds)
        own = part.sight(part.y, part.text)
        for name, values in whole.items():
            values[chosen] = getattr(own, name)
        for place, names in zip(np.flatnonzero(chosen), part.companions, strict=True):
            companions[place] = names
        for draw, order in enumerate(_orders(len(part.y), draws, seed)):
            null[draw, chosen] = part.sight(part.y[order], part.text[order]).v
            shuffled.step()
    return Seen(Sight(**whole), counts, by_topic, companions, null)


def _orders(n: int, draws: int, seed: int) -> Iterator[Ints]:
    rng = np.random.default_rng([seed, 7])
    return (rng.permutation(n) for _ in range(draws))


class _Tracked:
    """Counts the draws of all parts."""

    def __init__(self, progress: Progress | None, whole: int) -> None:
        self.progress, self.whole, self.done = progress, whole, 0

    def step(self) -> None:
        """One more."""
        self.done += 1
        if self.progress is not None:
            self.progress(STAGE, self.done, self.whole)


class _Part:
    """Words whose predictions leave out the same groups of pictures."""

    def __init__(self, smoothers: tuple[Smoother, Smoother], every: Has, at: Ints, folds: Sequence[Fold]) -> None:
        self.look, self.colour = (LeftOut(one, folds) for one in smoothers)
        self.y = every[at].T.astype(np.float64)
        whole = every.T.astype(np.float64)
        spread = whole.std(axis=0) * np.sqrt(len(every))
        text, coefficients = from_others(whole / spread, folds)
        self.text = (text * spread)[:, at]
        self.companions = [
            [int(one) for one in np.argsort(-coefficients[:, word], kind="stable")[:COMPANIONS]
             if coefficients[one, word] > 0]
            for word in at
        ]  # fmt: skip

    def sight(self, y: Floats, text: Floats) -> Sight:
        """A, B, D and V of words, from who has them and what the other words say of them."""
        look, colour = self.look(y), self.colour(y)
        a, b, d = auc(look, y), auc(beyond(look, text), y), auc(beyond(colour, text), y)
        n = y.sum(axis=0)
        mean = sum(weight * one for weight, one in zip(WEIGHTS, (a, b, d), strict=True))
        return Sight(a, b, d, np.asarray(2 * (mean - 0.5) * n / (n + SHRINKING)))


def beyond(f: Floats, t: Floats) -> Floats:
    """f - β t, both centred: what f says that t does not; columns are words."""
    f, t = f - f.mean(axis=0), t - t.mean(axis=0)
    square = (t**2).sum(axis=0)
    beta = np.divide((f * t).sum(axis=0), square, out=np.zeros(len(square)), where=square > 0)
    return np.asarray(f - beta * t)


def auc(scores: Floats, y: Floats) -> Floats:
    """The area under the ROC curve of every column, by midranks: P(positive above negative), a tie counts half."""
    ranks = rankdata(np.ascontiguousarray(np.round(scores, DIGITS).T), axis=1)
    n, positive = len(y), y.sum(axis=0)
    pairs = positive * (n - positive)
    above = (ranks * y.T).sum(axis=1) - positive * (positive + 1) / 2
    return np.asarray(np.divide(above, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0))


def spread_of(n: Ints) -> Floats:
    """.55/√n_w: the standard deviation of V of random words on as many pictures."""
    return np.asarray(SPREAD / np.sqrt(n))


def calls(found: Sight, n: Ints, topics: Ints) -> list[Call]:
    """What every word is called; `topics` are those that have the word, 0 where topics are not used."""
    found_visual = found.v - spread_of(n) >= LEAST
    return [
        ONE_TOPIC if k == 1 else VISUAL if clear and own >= OWN else COMPANY if clear else RARE if count < FEW else NOT
        for clear, own, count, k in zip(found_visual, found.own, n, topics, strict=True)
    ]
