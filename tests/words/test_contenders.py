"""A contender on a resample: it learns from the training part only, and scores every part."""

from __future__ import annotations

import numpy as np
from word_samples import pictures

from endoxa.engines import Material
from endoxa.words.annotating import Learning, select
from endoxa.words.contenders import Contender, Task, outcome
from endoxa.words.splits import HELD_OUT, NOVEL, TRAIN, Split

SPLIT = Split(np.arange(60), np.arange(60, 80), np.arange(80, 100))
LEARNER = Contender("base", "made", ("base",), 4, Learning(components=12))


def test_every_part_is_scored_at_its_places() -> None:
    found = outcome(Task(LEARNER, 0, select(pictures(100), ["base"]), SPLIT, 1))
    assert list(found.parts) == [TRAIN, HELD_OUT, NOVEL] and found.train == 60
    for part, places in SPLIT.parts().items():
        assert set(found.parts[part].at) <= set(places) and found.sizes[part] == len(places)
    assert found.parts[HELD_OUT].lift.mean() > 0.2


def test_the_other_parts_are_not_learnt_from() -> None:
    """Words and regions of held-out pictures change nothing about the vocabulary or the scores of training pictures."""
    material = select(pictures(100), ["base"])
    words = (*material.words[:60], *((("unheard",),) * 40))
    rows = material.columns["features"].copy()
    rows[240:] += 100
    other = Material(material.items, words, {"features": rows}, material.counts)
    one, two = (outcome(Task(LEARNER, 0, each, SPLIT, 1)) for each in (material, other))
    assert one.vocabulary == two.vocabulary and "unheard" not in two.vocabulary
    np.testing.assert_array_equal(one.parts[TRAIN].correct, two.parts[TRAIN].correct)
    assert len(two.parts[HELD_OUT].at) == 0 and two.sizes[HELD_OUT] == 20


def test_a_word_on_every_picture_is_counted() -> None:
    material = select(pictures(100), ["base"])
    words = tuple((*own, "thing") for own in material.words)
    found = outcome(Task(LEARNER, 0, Material(material.items, words, material.columns, material.counts), SPLIT, 1))
    assert found.everywhere == 1


def test_without_novel_pictures_there_is_no_such_part() -> None:
    split = Split(np.arange(60), np.arange(60, 100), np.zeros(0, np.int64))
    assert list(outcome(Task(LEARNER, 0, select(pictures(100), ["base"]), split, 1)).parts) == [TRAIN, HELD_OUT]
