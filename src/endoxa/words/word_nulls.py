"""What excess and entropy are for words that mean nothing: the same number of pictures, drawn at random.

Pictures  A word of n pictures is n pictures drawn at random. The first n of a permutation of all pictures are such a
          draw for every n at once, so that each size has its exact null, without interpolation between sizes.
Topics    A word clings to topics, and pictures of a topic look alike. Its counts per topic are given to topics drawn
          at random among those that are large enough, and in each as many pictures are drawn at random. A word is then
          visual only if its pictures have more in common than those of so many other topics would.

Misleads: under the null of pictures nearly every word of a corpus with topics looks visual (on Corel 141 of 153 words
have p ≤ .05, under the null of topics 49). A word that is on all pictures of one topic is compared with single topics:
with T of them, its p is hardly below 1/T.
Source: docs/methods/words.md, Random words.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from scipy.sparse import csr_array

from endoxa.frozen import dataclass
from endoxa.progress import Progress
from endoxa.tables import Floats, Ints
from endoxa.words.profiles import Contrast, Has, Profiles

DRAWS = 199
STAGE = "drawing words at random"


@dataclass(frozen=True, eq=False)
class Null:
    """Excess and entropy of random words: draws × words."""

    excess: Floats
    entropy: Floats


@dataclass(frozen=True, eq=False)
class Against:
    """Values beside their null: its mean and standard deviation, z and p. Greater is more visual."""

    mean: Floats
    sd: Floats
    z: Floats
    p: Floats


def against(observed: Floats, null: Floats) -> Against:
    """z = (observed - mean)/sd, sd with n; p = (1 + #{null ≥ observed}) / (draws + 1). No spread gives a z of NaN."""
    mean, sd = null.mean(axis=0), null.std(axis=0)
    still = sd <= 1e-12 * np.maximum(np.abs(mean), 1e-12)
    z = np.divide(observed - mean, sd, out=np.full_like(mean, np.nan), where=~still)
    # Equal sets of pictures may differ by rounding.
    reached = (null >= observed - 1e-12).sum(axis=0)
    return Against(mean, np.where(still, 0.0, sd), z, (1 + reached) / (len(null) + 1))


def picture_null(
    profiles: Profiles, has: Has, *, draws: int = DRAWS, rng: np.random.Generator, progress: Progress | None = None
) -> Null:
    """The null of words that are spread over pictures at random; it depends on the number of pictures only."""
    sizes, place = np.unique(has.sum(axis=1), return_inverse=True)
    excess, entropy = np.zeros((draws, len(sizes))), np.zeros((draws, len(sizes)))
    starts = np.concatenate([np.zeros(1, np.int64), sizes[:-1]])
    for draw in range(draws):
        chosen = rng.permutation(len(profiles))[: sizes[-1]]
        regions = np.cumsum(np.add.reduceat(profiles.counts[chosen], starts))
        for sums, total in zip(profiles.sums, profiles.totals, strict=True):
            inside = np.cumsum(np.add.reduceat(sums[chosen], starts, axis=0), axis=0)
            one = Contrast.of(inside, regions, total, profiles.regions)
            excess[draw] += one.excess
            entropy[draw] += one.entropy
        if progress is not None:
            progress(STAGE, draw + 1, draws)
    return Null(excess[:, place] / len(profiles.sums), entropy[:, place] / len(profiles.sums))


def topic_null(
    profiles: Profiles, has: Has, topics: Ints, words: Sequence[str], *, draws: int = DRAWS, seed: int,
    progress: Progress | None = None,
) -> Null:  # fmt: skip
    """The null of words that are spread over topics at random, with the word's own counts per topic.

    The topics of a word are drawn from the seed and the word, so that its null does not depend on the other words.
    """
    sizes = np.bincount(topics)
    starts = np.cumsum(sizes) - sizes
    ends = []
    for row, word in zip(has, words, strict=True):
        chance = np.random.default_rng([seed, 1, crc32(word.encode())])
        counts, chosen = placed(np.bincount(topics[row], minlength=len(sizes)), sizes, draws, rng=chance)
        ends.append(starts[chosen] + counts - 1)
    pointers = np.concatenate([np.zeros(1, np.int64), np.cumsum([one.shape[1] for one in ends])])
    shuffling = np.random.default_rng([seed, 2])
    excess, entropy = np.zeros((draws, len(has))), np.zeros((draws, len(has)))
    for draw in range(draws):
        shuffled = shuffling.permutation(len(topics))
        order = shuffled[np.argsort(topics[shuffled], kind="stable")]
        taken = np.concatenate([one[draw] for one in ends])
        pick = csr_array((np.ones(len(taken)), taken, pointers), shape=(len(has), len(topics)))
        regions = pick @ _within(profiles.counts[order].astype(np.float64)[:, None], starts, sizes)[:, 0]
        for sums, total in zip(profiles.sums, profiles.totals, strict=True):
            one = Contrast.of(pick @ _within(sums[order], starts, sizes), regions, total, profiles.regions)
            excess[draw] += one.excess
            entropy[draw] += one.entropy
        if progress is not None:
            progress(STAGE, draw + 1, draws)
    return Null(excess / len(profiles.sums), entropy / len(profiles.sums))


def placed(counts: Ints, sizes: Ints, draws: int, *, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The counts above 0, largest first, and for every draw the topics that get them: draws × counts.

    Larger counts choose first among the topics that can hold them. The topics already taken can hold every later count
    too, so that there is always one left, and every way to place the counts is equally probable.
    """
    wanted = np.sort(counts[counts > 0])[::-1]
    values, repeats = np.unique(wanted, return_counts=True)
    free, chosen = np.ones((draws, len(sizes)), np.bool_), []
    for value, repeat in zip(values[::-1], repeats[::-1], strict=True):
        keys = np.where(free & (sizes >= value), rng.random(free.shape), -1.0)
        topics = np.argsort(-keys, axis=1)[:, :repeat]
        np.put_along_axis(free, topics, values=False, axis=1)
        chosen.append(topics)
    return wanted, np.concatenate(chosen, axis=1)


def _within(rows: Floats, starts: Ints, sizes: Ints) -> Floats:
    """Sums from the first row of each topic to each row; the rows are sorted by topic."""
    whole = np.cumsum(rows, axis=0)
    before = np.concatenate([np.zeros((1, rows.shape[1])), whole])[starts]
    return np.asarray(whole - np.repeat(before, sizes, axis=0))
