"""Which words a model should learn: those that training pictures show to be visual.

Source: docs/methods/words.md, Pruned words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from endoxa.engines.region_mixtures import numbered, vocabulary_of
from endoxa.errors import JoinError
from endoxa.tables import Ints
from endoxa.words.scoring import truths_of
from endoxa.words.seeing import seen
from endoxa.words.topics import Topics
from endoxa.words.views import Views


def visual_words(
    views: Views, words: Sequence[Sequence[str]], train: Ints, topics: Topics, *, visual: float, least: int
) -> tuple[tuple[str, ...], int]:
    """The words with V ≥ `visual` on the training pictures, and the number of words that could be learnt there.

    Held-out pictures are not looked at: a choice that had seen them would flatter the lift. A word on every training
    picture has no V and is dropped.
    """
    known = [words[at] for at in train]
    vocabulary = vocabulary_of(known, least)
    has = truths_of(numbered(known, vocabulary), len(vocabulary)).T
    apart = np.flatnonzero(~has.all(axis=1))
    kept: tuple[str, ...] = ()
    if len(apart):
        found = seen(views.take(train), has[apart], range(len(apart)), topics.of[train] if topics.enough else None)
        kept = tuple(vocabulary[at] for at, v in zip(apart, found.sight.v, strict=True) if v >= visual)
    if not kept:
        raise JoinError(
            f"none of the {len(vocabulary):,} words has V of {visual:g} or more on {len(train):,} training pictures",
            remedy="lower --visual, or give more pictures",
        )
    return kept, len(vocabulary)
