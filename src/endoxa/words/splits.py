"""Splits of pictures by topic: those that models learn from, held-out ones of the same topics, novel topics."""

from __future__ import annotations

import numpy as np

from endoxa.errors import JoinError, TextError
from endoxa.frozen import dataclass
from endoxa.tables import Ints
from endoxa.words.topics import Topics

TRAIN, HELD_OUT, NOVEL = "train", "held-out", "novel"
PARTS = (TRAIN, HELD_OUT, NOVEL)


@dataclass(frozen=True, eq=False)
class Split:
    """One resample: the places of the pictures of each part, sorted. Without novel topics `novel` is empty."""

    train: Ints
    held_out: Ints
    novel: Ints

    def parts(self) -> dict[str, Ints]:
        """The parts by name."""
        return dict(zip(PARTS, (self.train, self.held_out, self.novel), strict=True))


def refuse_shares(share: float, train: float) -> None:
    """Refuse shares that leave nothing to learn from or to test on."""
    if not 0 < share <= 1:
        raise TextError(f"share is {share:g}", remedy="expected a share of the topics above 0, 1 at most")
    if not 0 < train < 1:
        raise TextError(f"train is {train:g}", remedy="expected a share of the pictures between 0 and 1")


def draw(topics: Topics, *, share: float = 0.5, train: float = 0.75, rng: np.random.Generator) -> Split:
    """One resample: ⌊share · topics⌉ topics, of each the share `train` to learn from; other topics are novel.

    How a topic's last picture falls is drawn, so that small topics keep the share too. With a share of 1, or fewer
    than four topics, all are used, and none is novel.
    Source: Barnard et al. 3.2; docs/methods/words.md, Splits by topic.
    """
    refuse_shares(share, train)
    count = len(topics.names)
    chosen = np.arange(count)
    if topics.enough and share < 1:
        wanted = min(max(1, round(share * count)), count - 1)
        chosen = np.sort(rng.choice(count, wanted, replace=False))
    learnt, tested = [], []
    for topic in chosen:
        pictures = rng.permutation(np.flatnonzero(topics.of == topic))
        cut = int(train * len(pictures) + rng.random())
        learnt.append(pictures[:cut])
        tested.append(pictures[cut:])
    novel = np.flatnonzero(~np.isin(topics.of, chosen))
    split = Split(np.sort(np.concatenate(learnt)), np.sort(np.concatenate(tested)), novel)
    if not len(split.train) or not len(split.held_out):
        raise JoinError(
            f"{len(topics.of):,} pictures in {count} topics are too few: a resample has {len(split.train)} to learn "
            f"from and {len(split.held_out)} held out",
            remedy="give more pictures, or another share",
        )
    return split


def resamples(topics: Topics, count: int, *, share: float = 0.5, train: float = 0.75, seed: int = 0) -> list[Split]:
    """As many splits; each depends on the seed and its number only."""
    if count < 1:
        raise TextError(f"{count} resamples", remedy="expected at least 1")
    return [draw(topics, share=share, train=train, rng=np.random.default_rng((seed, 0, at))) for at in range(count)]
