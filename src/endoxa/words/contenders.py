"""Contenders of a study of words: a segmentation, a number of regions, features; and what each scores on a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from endoxa.engines import Material
from endoxa.engines.region_mixtures import numbered
from endoxa.frozen import dataclass
from endoxa.images.features import NAMES
from endoxa.words.annotating import FEATURES, Annotator, Learning, learn
from endoxa.words.merging import at_random, by_words
from endoxa.words.scoring import Scored, score, truths_of
from endoxa.words.splits import Split


@dataclass(frozen=True)
class Contender:
    """What is tried: the regions of `source` (a segmenter, or vectors of one's own), and features of the largest.

    regions  the number of the largest regions that are used; 0: all
    groups   groups of features (`endoxa.images.features.GROUPS`), or `vector`
    pruned   learn the words of the task only
    merge    merge neighbouring regions whose word posteriors agree by so much (Bhattacharyya); 0: none are merged
    shuffled merge random neighbours instead, until as many regions are left
    """

    name: str
    source: str
    groups: tuple[str, ...]
    regions: int = 8
    learning: Learning = field(default_factory=Learning)
    pruned: bool = False
    merge: float = 0.0
    shuffled: bool = False


@dataclass(frozen=True, eq=False)
class Task:
    """A contender and a resample: the pictures with the column `features`, the split, and the seed of the model.

    words  those that are scored; None: all that were learnt
    """

    contender: Contender
    resample: int
    material: Material
    split: Split
    seed: int
    words: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a contender scored on a resample: each part with the places of its pictures in the material.

    train       pictures learnt from
    everywhere  words that are on every one of them: nothing can be gained on these
    regions     of a picture, in the mean
    """

    vocabulary: tuple[str, ...]
    train: int
    everywhere: int
    parts: Mapping[str, Scored]
    sizes: Mapping[str, int]  # pictures of each part, with those that were left out
    regions: float = np.nan


def outcome(task: Task) -> Outcome:
    """Learn from the training part and score every part. The same start for every contender of a resample."""
    material, seed = task.material, (task.seed, 1, task.resample)
    if task.contender.pruned and task.words is not None:
        wanted = set(task.words)
        words = tuple(tuple(word for word in own if word in wanted) for own in material.words)
        material = replace(material, words=words)
    annotator = learn(material.take(task.split.train), task.contender.learning, seed=seed)
    if task.contender.merge:
        material = _merged(task, material, annotator)
        annotator = learn(material.take(task.split.train), task.contender.learning, seed=seed)
    vocabulary = annotator.vocabulary if task.words is None else task.words
    parts, sizes = {}, {}
    for name, places in task.split.parts().items():
        if len(places):
            found = scored(annotator, material.take(places), vocabulary)
            parts[name] = Scored(places[found.at], *(getattr(found, part) for part in KEPT[1:]))
            sizes[name] = len(places)
    everywhere = int((annotator.frequencies == annotator.pictures).sum())
    regions = float(material.counts.mean())
    return Outcome(vocabulary, annotator.pictures, everywhere, parts, sizes, regions)


def _merged(task: Task, material: Material, annotator: Annotator) -> Material:
    """The regions of all pictures, merged by what a first model says of their words, or as many at random."""
    before = task.contender.groups
    added = None
    if "base" in before:
        added = sum(len(NAMES[group]) for group in before[: before.index("base")]) + NAMES["base"].index("size")
    merged = by_words(material, annotator.of_regions(material), task.contender.merge, FEATURES, added)
    if not task.contender.shuffled:
        return merged
    rng = np.random.default_rng((task.seed, 4, task.resample))
    return at_random(material, merged.counts, FEATURES, added, rng=rng)


KEPT = ("at", "words", "correct", "expected", "present", "predicted", "hit", "usual")


def scored(annotator: Annotator, material: Material, vocabulary: Sequence[str]) -> Scored:
    """The score of the words that a model predicts for these pictures, among those of a vocabulary that it learnt."""
    place = {word: at for at, word in enumerate(annotator.vocabulary)}
    own = [place[word] for word in vocabulary]
    known = numbered(material.words, vocabulary)
    chances = np.asarray(annotator.of_pictures(material), dtype=np.float64)[:, own]
    return score(chances, truths_of(known, len(own)), annotator.frequencies[own])
