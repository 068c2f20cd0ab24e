"""Contenders of a study of words: a segmentation, a number of regions, features; and what each scores on a split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from endoxa.engines import Material
from endoxa.engines.region_mixtures import numbered
from endoxa.frozen import dataclass
from endoxa.words.annotating import Annotator, Learning, learn
from endoxa.words.scoring import Scored, score, truths_of
from endoxa.words.splits import Split


@dataclass(frozen=True)
class Contender:
    """What is tried: the regions of `source` (a segmenter, or vectors of one's own), and features of the largest.

    regions  the number of the largest regions that are used; 0: all
    groups   groups of features (`endoxa.images.features.GROUPS`), or `vector`
    """

    name: str
    source: str
    groups: tuple[str, ...]
    regions: int = 8
    learning: Learning = field(default_factory=Learning)


@dataclass(frozen=True, eq=False)
class Task:
    """A contender and a resample: the pictures with the column `features`, the split, and the seed of the model."""

    contender: Contender
    resample: int
    material: Material
    split: Split
    seed: int


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a contender scored on a resample: each part with the places of its pictures in the material.

    train       pictures learnt from
    everywhere  words that are on every one of them: nothing can be gained on these
    """

    vocabulary: tuple[str, ...]
    train: int
    everywhere: int
    parts: Mapping[str, Scored]
    sizes: Mapping[str, int]  # pictures of each part, with those that were left out


def outcome(task: Task) -> Outcome:
    """Learn from the training part and score every part. The same start for every contender of a resample."""
    annotator = learn(task.material.take(task.split.train), task.contender.learning, seed=(task.seed, 1, task.resample))
    parts, sizes = {}, {}
    for name, places in task.split.parts().items():
        if len(places):
            found = scored(annotator, task.material.take(places))
            parts[name] = Scored(places[found.at], *(getattr(found, part) for part in KEPT[1:]))
            sizes[name] = len(places)
    everywhere = int((annotator.frequencies == annotator.pictures).sum())
    return Outcome(annotator.vocabulary, annotator.pictures, everywhere, parts, sizes)


KEPT = ("at", "words", "correct", "expected", "present", "predicted", "hit", "usual")


def scored(annotator: Annotator, material: Material) -> Scored:
    """The score of the words that a model predicts for these pictures."""
    known = numbered(material.words, annotator.vocabulary)
    chances = np.asarray(annotator.of_pictures(material), dtype=np.float64)
    return score(chances, truths_of(known, len(annotator.vocabulary)), annotator.frequencies)
